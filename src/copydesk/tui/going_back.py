"""Undo of the last change of drafts. A change that cannot be undone is reported once; the next undo skips it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from copydesk.errors import ConflictError, UndoNotAllowedError
from copydesk.tui.naming import key_label

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.history import UndoResult


class UndoSkipList:
    """Remembers the changes whose undo was refused, so that the next undo skips them."""

    def __init__(self) -> None:
        self._skipped: set[int] = set()

    async def undo(self, desk: "Desk", should_stop: Callable[[], bool]) -> "UndoResult":
        """Undo the last change that was not refused before, and return what was undone.

        Raise ConflictError if it cannot be undone; the change is skipped next time.
        """
        try:
            return await desk.drafts.undo(skip=self._skipped, is_cancelled=should_stop)
        except UndoNotAllowedError as error:
            self._skipped.add(error.change_id)
            raise ConflictError(
                error.message, hint=f"{key_label('review.undo')} undoes the change before it."
            ) from error
