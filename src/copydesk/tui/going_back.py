"""Undo of the last change of drafts. A change that cannot be undone is reported once; the next undo skips it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from copydesk.errors import ConflictError, OutOfReachError
from copydesk.tui.naming import key

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.history import Undone


class GoingBack:
    """Remembers the changes whose undo was refused, so that the next undo skips them."""

    def __init__(self) -> None:
        self._skipped: set[int] = set()

    async def undo(self, desk: "Desk", stopped: Callable[[], bool]) -> "Undone":
        """Undo the last change that was not refused before, and return what was undone.

        Raise ConflictError if it cannot be undone; the change is skipped next time.
        """
        try:
            return await desk.drafts.undo(passing=self._skipped, stopped=stopped)
        except OutOfReachError as error:
            self._skipped.add(error.change)
            raise ConflictError(error.message, hint=f"{key('review.undo')} undoes the change before it.") from error
