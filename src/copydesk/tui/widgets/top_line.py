"""The line above every screen: where we are, and what is under way."""

from textual.content import Content

from copydesk.tui.cells import cell, fit
from copydesk.tui.run_view import RunView, figures
from copydesk.tui.widgets.drawn import Standing


class TopLine(Standing):
    """The name, the desk's name, the screen; at the right the run."""

    def __init__(self, desk_name: str, screen: str) -> None:
        super().__init__()
        self._left = Content.assemble(("Copydesk", "accent"), f"  {screen}", (f"  {cell(desk_name)}", "dim"))
        self._right = Content("")

    def show_run(self, view: RunView | None) -> None:
        """Say in a few words how the run gets on."""
        self._right = Content.styled(_words(view), "accent") if view and view.under_way else Content("")
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """Left and right; the right one gives way."""
        left = self._left.truncate(width)
        room = width - left.cell_length - 2
        right = self._right if self._right.cell_length <= room else Content("")
        return [left + Content(fit("", width - left.cell_length - right.cell_length)) + right]


def _words(view: RunView) -> str:
    if view.cancelling:
        return "cancelling the run …"
    if view.current is None:
        return "run begins …"
    return f"{view.current.stage.value} {figures(view.current)}"
