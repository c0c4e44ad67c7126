"""The posts that are live."""

from collections.abc import Callable
from datetime import datetime

from textual.content import Content

from copydesk.model.trend import LivePost
from copydesk.tui.pages.post import post_row
from copydesk.tui.widgets.line_list import LineList


class Posts(LineList[LivePost]):
    """One line a post, the best first."""

    def __init__(self, clock: Callable[[], datetime], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock

    def draw(self, row: LivePost, width: int) -> Content:
        """One post in `width` cells."""
        return post_row(row, self._clock(), width)
