"""The drafts that wait for review."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from textual.content import Content

from copydesk.tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft


class Queue(LineList["ListedDraft"]):
    """One line a draft, the best first."""

    def __init__(self, clock: Callable[[], datetime], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock

    def draw(self, row: "ListedDraft", width: int) -> Content:
        """One draft in `width` cells."""
        from copydesk.tui.pages.row import draft_row  # noqa: PLC0415 - what the first paint does not need waits

        return draft_row(row, self._clock(), width)
