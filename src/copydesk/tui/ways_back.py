"""What was done on a screen and how it is undone: by the desk where drafts changed, else by the step itself."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from copydesk.errors import ConflictError, CopydeskError, NotFoundError
from copydesk.text import clean
from copydesk.tui.deciding.outcomes import TAKEN
from copydesk.tui.going_back import GoingBack
from copydesk.tui.naming import key
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


DraftIds = tuple[str, ...]
"""Drafts that were changed, of which the desk knows more; none stands for the user's last change of any."""
Stopped = Callable[[], bool]
"""Whether no more is to be begun of what goes draft by draft."""


class WaysBack:
    """Steps in the order in which they were made. One that cannot be taken back is tried once more, then left out."""

    def __init__(self) -> None:
        self._done: list[Step | DraftIds] = []
        self._undone: list[Step | DraftIds] = []
        self._refused: Step | DraftIds = ()
        """The step of which it was said that it cannot be taken back."""
        self._back = GoingBack()

    def did(self, step: Step | DraftIds) -> None:
        """Remember a step; what was undone before cannot be done again any more."""
        self._done.append(step)
        self._undone.clear()

    async def undo(self, desk: "Desk", stopped: Stopped) -> str:
        """Take the last step back, or where there is none here the user's last change of drafts; what it was.

        ConflictError where it cannot be; the next time the one before it is taken back, if that is still so.
        """
        while True:
            step = self._done[-1] if self._done else ()
            try:
                words = await self._take_back(desk, step, stopped)
            except (ConflictError, NotFoundError) as error:
                self._say_refused(step, error)
                del self._done[-1]
            else:
                del self._done[-1:]
                self._undone.append(step)
                return f"Undone: {words}"

    async def _take_back(self, desk: "Desk", step: Step | DraftIds, stopped: Stopped) -> str:
        if isinstance(step, Step):
            await step.back(desk)
            return step.words
        return await _each(desk.drafts.undo, step, stopped) if step else _told(await self._back.undo(desk, stopped))

    def _say_refused(self, step: Step | DraftIds, error: CopydeskError) -> None:
        """Raise it, the first time that it is so; of what the desk alone knows the desk says it."""
        if not step:
            raise error
        if step is not self._refused:
            self._refused = step
            before = f"{key('schedule.undo')} undoes the change before it."
            raise ConflictError(error.message, hint=before) from error

    async def redo(self, desk: "Desk", stopped: Stopped) -> str:
        """Do again what was undone last; what it was."""
        step = self._undone[-1] if self._undone else ()
        if isinstance(step, Step):
            await step.again(desk)
            words = step.words
        else:
            words = await _each(desk.drafts.redo, step, stopped)
        del self._undone[-1:]
        self._done.append(step)
        return f"Done again: {words}"


async def _each(way: "Callable[[str | None], Awaitable[Undone]]", ids: DraftIds, stopped: Stopped) -> str:
    """Take back, or do again, the last change of each of these; raises where nothing came of it for any."""
    if len(ids) <= 1:
        return _told(await way(ids[0] if ids else None))
    done: list[Undone] = []
    failed: list[CopydeskError] = []
    for draft_id in ids:
        if done and stopped():
            break
        try:
            done.append(await way(draft_id))
        except CopydeskError as error:
            failed.append(error)
    if not done:
        raise failed[0]
    words = _words(f"{_action(done[0])} of {plural(len(done), 'draft')}", [str(error) for error in failed])
    left = len(ids) - len(done) - len(failed)
    return f"{words}, {left} left" if left else words


def _told(undone: "Undone") -> str:
    """What was undone or done again: `the other time`, `the time of 12 drafts, 1 not: …`."""
    of = "" if undone.bulk_id is None else f" of {plural(len(undone.succeeded), 'draft')}"
    return _words(_action(undone) + of, [failure.error for failure in undone.failed])


def _action(undone: "Undone") -> str:
    return TAKEN.get(undone.action, clean(undone.action))


def _words(done: str, failures: Sequence[str]) -> str:
    return f"{done}, {len(failures)} not: {failures[0]}" if failures else done
