"""The line above every screen: where we are, and what is under way."""

from typing import TYPE_CHECKING

from textual.content import Content

from copydesk.tui.widgets.drawn import Standing

if TYPE_CHECKING:
    from copydesk.tui.run_view import RunView


class TopLine(Standing):
    """The name, the desk's name, the screen; at the right the run."""

    def __init__(self, desk_name: str, screen: str) -> None:
        super().__init__()
        self._left = Content.assemble(("Copydesk", "accent"), f"  {screen}", (f"  {desk_name}", "dim"))
        self._right = Content("")

    def show_run(self, view: "RunView | None") -> None:
        """Say in a few words how the run gets on."""
        self._right = Content.styled(_words(view), "accent") if view and view.under_way else Content("")
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """Left and right; the right one gives way."""
        left = self._left.truncate(width)
        room = width - left.cell_length - 2
        right = self._right if self._right.cell_length <= room else Content("")
        return [left.pad_right(max(width - left.cell_length - right.cell_length, 0)) + right]


def _words(view: "RunView") -> str:
    from copydesk.tui.run_view import figures  # noqa: PLC0415 - there is no run when the console starts

    if view.cancelling:
        return "cancelling the run …"
    if view.current is None:
        return "run begins …"
    return f"{view.current.stage.value} {figures(view.current)}"
