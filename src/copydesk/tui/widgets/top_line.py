"""The line above every screen: where we are, and what is under way."""

from typing import TYPE_CHECKING

from textual.content import Content

from copydesk.tui.keys import SCREEN_NAMES
from copydesk.tui.widgets.drawn import Standing

if TYPE_CHECKING:
    from copydesk.tui.run_view import RunView


class TopLine(Standing):
    """The screens with their numbers, this one standing out; the desk's name; at the right the run."""

    def __init__(self, desk_name: str, screen: str) -> None:
        super().__init__()
        self._screen = screen.lower()
        self._desk_name = desk_name
        self._right = Content("")

    def show_run(self, view: "RunView | None") -> None:
        """Say in a few words how the run gets on."""
        self._right = Content.styled(_words(view), "accent") if view and view.under_way else Content("")
        self.refresh()

    def show_work(self, words: str) -> None:
        """Say how far something else is that is under way; nothing where it is over."""
        self._right = Content.styled(words, "accent")
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """Left and right; the right one gives way."""
        left = self._tabs(width).truncate(width)
        room = width - left.cell_length - 2
        right = self._right if self._right.cell_length <= room else Content("")
        return [left.pad_right(max(width - left.cell_length - right.cell_length, 0)) + right]

    def _tabs(self, width: int) -> Content:
        """As much of it as there is room for: of the other screens only the numbers, where their names do not fit."""
        name = Content.styled("Copydesk", "accent")
        desk = Content.styled(f"  {self._desk_name}" if self._desk_name else "", "dim")
        whole, short = self._each(named=True), self._each(named=False)
        for line in (name + "  " + whole + desk, name + "  " + whole, whole, name + "  " + short + desk):
            if line.cell_length <= width:
                return line
        return short

    def _each(self, *, named: bool) -> Content:
        tabs = []
        for number, screen in enumerate(SCREEN_NAMES, 1):
            here = screen == self._screen
            words = f"{number} {screen.capitalize()}" if named or here else f"{number}"
            tabs.append(Content.styled(words, "strong" if here else "dim"))
        return Content("  ").join(tabs)


def _words(view: "RunView") -> str:
    from copydesk.tui.run_view import figures  # noqa: PLC0415 - there is no run when the console starts

    if view.cancelling:
        return "cancelling the run …"
    if view.current is None:
        return "run begins …"
    return f"{view.current.stage.value} {figures(view.current)}"
