"""A list with column headings and a titled border."""

from collections.abc import Callable, Iterable

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from copydesk.tui.widgets.drawn import StaticLines


class ColumnHeadings(StaticLines):
    """The column headings for the available width; the first cell is the cursor's."""

    def __init__(self, format_headings: Callable[[int], str]) -> None:
        super().__init__()
        self._format_headings = format_headings

    def lines(self, width: int) -> list[Content]:
        return [Content.styled(" " + self._format_headings(width - 1), "dim").truncate(max(width, 1))]


class ListPane(Vertical):
    """Column headings above a list; the title is in the border."""

    def __init__(self, format_headings: Callable[[int], str], rows: Widget, *, id: str) -> None:
        super().__init__(id=id)
        self._headings = ColumnHeadings(format_headings)
        self._rows = rows

    def compose(self) -> Iterable[Widget]:
        """Yield the headings and the list, both created by the constructor."""
        yield self._headings
        yield self._rows

    def set_title(self, title: str) -> None:
        """Set the title, which may be untrusted text: as a Content it is not parsed as markup."""
        self.border_title = Content(f" {title} ")

    def show_headings(self, *, visible: bool) -> None:
        """Show or hide the headings; without rows there are no columns."""
        self._headings.display = visible
