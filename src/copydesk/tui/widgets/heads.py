"""A list in a pane, with the names of its columns above it."""

from collections.abc import Callable, Iterable

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from copydesk.tui.widgets.drawn import Standing


class Heads(Standing):
    """The names of the columns, drawn for the width that there is; one cell is the cursor's."""

    def __init__(self, words: Callable[[int], str]) -> None:
        super().__init__()
        self._words = words

    def lines(self, width: int) -> list[Content]:
        """One line."""
        return [Content.styled(" " + self._words(width - 1), "dim").truncate(max(width, 1))]


class ListPane(Vertical):
    """The names of the columns, and the list; its title is in the line above both."""

    def __init__(self, heads: Callable[[int], str], rows: Widget, *, id: str) -> None:
        super().__init__(id=id)
        self._heads = Heads(heads)
        self._rows = rows

    def compose(self) -> Iterable[Widget]:
        """Each is made once."""
        yield self._heads
        yield self._rows

    def set_title(self, title: str) -> None:
        """The words in the line above; they may come from outside."""
        self.border_title = Content(f" {title} ")

    def show_heads(self, *, shown: bool) -> None:
        """Without rows there are no columns."""
        self._heads.display = shown
