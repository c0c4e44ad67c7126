"""The drafts that wait for review."""

from collections.abc import Callable
from datetime import datetime

from textual.content import Content

from copydesk.model.draft import ListedDraft
from copydesk.tui.pages.row import draft_row
from copydesk.tui.widgets.line_list import LineList


class Queue(LineList[ListedDraft]):
    """One line a draft, the best first."""

    def __init__(self, clock: Callable[[], datetime], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock

    def draw(self, row: ListedDraft, width: int) -> Content:
        """One draft in `width` cells."""
        return draft_row(row, self._clock(), width)
