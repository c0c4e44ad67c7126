"""A few lines that say something, and say something else later."""

from collections.abc import Iterable

from textual.content import Content

from copydesk.tui.widgets.drawn import Standing


class Said(Standing):
    """Stands there with the lines that it was given last."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._said: list[Content] = []

    def say(self, lines: Iterable[Content]) -> None:
        """Show these lines; those for which there is no room are cut off."""
        self._said = list(lines)
        self.forget_lines()

    def lines(self, width: int) -> list[Content]:
        """What was said last."""
        return [line.truncate(width, ellipsis=True) for line in self._said]
