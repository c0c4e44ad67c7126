"""A list whose rows contain relative times, and are redrawn as time passes."""

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from copydesk.tui.widgets.line_list import LineList, Row


class TimestampedList(LineList[Row]):
    """Rows drawn relative to the time of `clock`, which returns UTC."""

    SIGN_WIDTH: ClassVar[int] = 1
    """Cells before each row for cursor and mark."""

    def __init__(self, clock: Callable[[], datetime], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.clock = clock

    def refresh_times(self) -> None:
        """Redraw the rows on screen if the text of any of them has changed."""
        width = self.drawable_size.width
        if any(
            self._render_row(index, width).text[self.SIGN_WIDTH :].rstrip() != self._current_text(index, width)
            for index in self.visible_range()
        ):
            self.redraw()

    def _current_text(self, index: int, width: int) -> str:
        return self.draw(self.rows[index], width - self.SIGN_WIDTH).plain.rstrip()
