"""Taking back the last change of drafts; one that cannot be is said once, and next time it is the one before it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from copydesk.errors import ConflictError, OutOfReachError
from copydesk.tui.naming import key

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.history import Undone


class GoingBack:
    """Remembers of which changes the user was told that they cannot be taken back."""

    def __init__(self) -> None:
        self._told: set[int] = set()

    async def undo(self, desk: "Desk", stopped: Callable[[], bool]) -> "Undone":
        """Take the last change back that can be, after every later one was said not to be; ConflictError says it."""
        try:
            return await desk.drafts.undo(passing=self._told, stopped=stopped)
        except OutOfReachError as error:
            self._told.add(error.change)
            raise ConflictError(error.message, hint=f"{key('review.undo')} undoes the change before it.") from error
