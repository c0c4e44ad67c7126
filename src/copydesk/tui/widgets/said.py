"""A few lines of text that can be replaced."""

from collections.abc import Iterable

from textual.content import Content

from copydesk.tui.widgets.drawn import StaticLines


class MessageLines(StaticLines):
    """Shows the lines that were set last."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: list[Content] = []

    def set_lines(self, lines: Iterable[Content]) -> None:
        """Show these lines; those that do not fit are cut off."""
        self._lines = list(lines)
        self.redraw()

    def lines(self, width: int) -> list[Content]:
        return [line.truncate(width, ellipsis=True) for line in self._lines]
