"""A list whose rows tell how long ago something was: it goes with the time."""

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from copydesk.tui.widgets.line_list import LineList, Row


class Aged(LineList[Row]):
    """Rows that are drawn by `clock`, which gives the time in UTC."""

    SIGNS: ClassVar[int] = 1
    """Cells before each row, for what marks it."""

    def __init__(self, clock: Callable[[], datetime], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.clock = clock

    def tell_time(self) -> None:
        """Draw the rows on the screen anew, where the time has changed a word of them."""
        width = self.room.width
        if any(self._row(at, width).text[self.SIGNS :].rstrip() != self._now(at, width) for at in self.on_screen()):
            self.forget_lines()

    def _now(self, at: int, width: int) -> str:
        return self.draw(self.rows[at], width - self.SIGNS).plain.rstrip()
