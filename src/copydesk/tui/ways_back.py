"""What was done on a screen and how it is undone: by the desk where drafts changed, else by the step itself."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from copydesk.tui.words import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.history import Undone


class Step(NamedTuple):
    """A change of something that the desk keeps no history of."""

    words: str
    """`slot Mon 09:00 made`."""
    back: "Callable[[Desk], Awaitable[object]]"
    again: "Callable[[Desk], Awaitable[object]]"


class WaysBack:
    """Steps in the order in which they were made. None stands for a change of drafts, of which the desk knows more."""

    def __init__(self) -> None:
        self._done: list[Step | None] = []
        self._undone: list[Step | None] = []

    def did(self, step: Step | None = None) -> None:
        """Remember a step; what was undone before cannot be done again any more."""
        self._done.append(step)
        self._undone.clear()

    async def undo(self, desk: "Desk") -> str:
        """Take the last step back, or where there is none here the user's last change of drafts; what it was."""
        step = self._done.pop() if self._done else None
        if step is None:
            words = _told(await desk.drafts.undo())
        else:
            await step.back(desk)
            words = step.words
        self._undone.append(step)
        return f"Undone: {words}"

    async def redo(self, desk: "Desk") -> str:
        """Do again what was undone last; what it was."""
        step = self._undone.pop() if self._undone else None
        if step is None:
            words = _told(await desk.drafts.redo())
        else:
            await step.again(desk)
            words = step.words
        self._done.append(step)
        return f"Done again: {words}"


def _told(undone: "Undone") -> str:
    """What was undone or done again: `reschedule`, `schedule of 12 drafts, 1 not: …`."""
    action, count = undone.action.replace("_", " "), len(undone.succeeded)
    words = action if undone.bulk_id is None else f"{action} of {plural(count, 'draft')}"
    if not undone.failed:
        return words
    return f"{words}, {len(undone.failed)} not: {undone.failed[0].error}"
