"""Undo and redo on a screen: by the desk if drafts changed, else by the step itself.

A change that cannot be undone or redone is reported once; the next undo or redo skips it.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from copydesk.errors import ConflictError, CopydeskError, NotFoundError, UndoNotAllowedError
from copydesk.model.transitions import EventKind
from copydesk.text import clean
from copydesk.tui import labels

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.transitions import NextUndo, UndoResult


class UndoSkipList:
    """Remembers the changes whose undo was refused, so that the next undo skips them."""

    def __init__(self) -> None:
        self.skipped: set[int] = set()

    async def undo(self, desk: "Desk", should_stop: "ShouldStop", on_progress: "OnProgress") -> "UndoResult":
        """Undo the last change that was not refused before, and return what was undone.

        Raise ConflictError if it cannot be undone; the change is skipped next time.
        """
        try:
            return await desk.drafts.undo(skip=self.skipped, on_progress=on_progress, is_cancelled=should_stop)
        except UndoNotAllowedError as error:
            # The user is told once, and the next press goes on to the change before.
            self.skipped.add(error.change_id)
            raise ConflictError(error.message, hint=labels.undo_next_hint("review.undo")) from error


class UndoStep(NamedTuple):
    """A change of which the desk keeps no history, or not as a change."""

    description: str
    """Description, such as `slot Mon 09:00 made`; empty if `undo` and `redo` report what they did."""
    undo: "Callable[[Desk], Awaitable[object]]"
    redo: "Callable[[Desk], Awaitable[object]]"


DraftIds = tuple[str, ...]
"""Changed drafts, whose history the desk keeps; an empty tuple stands for the user's last change of any draft."""
ShouldStop = Callable[[], bool]
"""Returns True if no further draft of a bulk change should be started."""
OnProgress = Callable[[int, int], None]
"""Called with the number of drafts of a bulk change that were processed, and of all of them."""


DraftHistory = Callable[["Desk", EventKind], Awaitable[None]]
"""Undoes or redoes the user's last change of drafts, and reports it."""


class _Entry(NamedTuple):
    step: UndoStep | DraftIds
    at: int
    """The newest event of drafts when the step was done or undone."""


class UndoStack:
    """The steps in order. One that cannot be undone is tried once more, then skipped."""

    def __init__(self, action_id: str, history: DraftHistory | None = None) -> None:
        """With `history`, changes of drafts are undone in order of time with the steps, wherever they were made."""
        self._action_id = action_id
        self._history = history
        self._undo_steps: list[_Entry] = []
        self._redo_steps: list[_Entry] = []
        self._refused: UndoStep | DraftIds = ()
        """The step that was reported as impossible to undo."""
        self.skip_list = UndoSkipList()
        self.changed_drafts: DraftIds = ()
        """The drafts of the last undo or redo, for a cursor that follows them."""

    def record(self, step: UndoStep | DraftIds, at: int = 0) -> None:
        """Record a step made after event number `at`; steps that were undone can no longer be redone."""
        self._undo_steps.append(_Entry(step, at))
        # A new change starts another line of history, as in every editor.
        self._redo_steps.clear()

    async def undo(self, desk: "Desk", should_stop: ShouldStop, on_progress: OnProgress = lambda *_: None) -> str:
        """Undo the last step, or the user's last change of drafts if there is none; return its description.

        The description is empty if `history` or the step has reported it. Raise ConflictError if the step cannot be
        undone; the next call skips it if that is still so.
        """
        while True:
            step = await self._next_step(desk, EventKind.UNDO)
            if not step and self._history is not None:
                await self._history(desk, EventKind.UNDO)
                return ""
            try:
                # The step stays on the stack until this succeeds, so that it can be tried again.
                description = await self._run(desk, step, should_stop, on_progress, undo=True)
            except (ConflictError, NotFoundError) as error:
                self._raise_if_first_refusal(step, error)
                # Refused a second time: drop the step and try the one before it.
                del self._undo_steps[-1]
            else:
                # A slice, because the stack is empty if the user's last change of drafts was undone.
                del self._undo_steps[-1:]
                self._redo_steps.append(_Entry(step, await self._newest_event(desk)))
                return labels.undone(description) if description else ""

    async def _next_step(self, desk: "Desk", kind: EventKind) -> UndoStep | DraftIds:
        """Return the next step to undo or redo; empty if the turn is of the user's last change of drafts."""
        entries = self._undo_steps if kind is EventKind.UNDO else self._redo_steps
        if entries and self._history is not None:
            position = await desk.drafts.history_position(skip=self.skip_list.skipped)
            # Something was changed since, here or by another process: redoing would overwrite it.
            if kind is EventKind.REDO and position.change > entries[-1].at:
                entries.clear()
            elif (position.undo if kind is EventKind.UNDO else position.redo) > entries[-1].at:
                return ()
        return entries[-1].step if entries else ()

    async def next_draft_undo(self, desk: "Desk") -> "NextUndo | None":
        """Return which change of drafts `undo` takes back next; None if it takes back a step."""
        if await self._next_step(desk, EventKind.UNDO):
            return None
        return await desk.drafts.next_undo(skip=self.skip_list.skipped)

    async def _newest_event(self, desk: "Desk") -> int:
        return (await desk.drafts.history_position()).newest if self._history is not None else 0

    async def _run(
        self,
        desk: "Desk",
        step: UndoStep | DraftIds,
        should_stop: ShouldStop,
        on_progress: OnProgress,
        *,
        undo: bool,
    ) -> str:
        """Undo or redo the step; return its description."""
        self.changed_drafts = ()
        if isinstance(step, UndoStep):
            await (step.undo if undo else step.redo)(desk)
            return step.description
        if step:
            operation = desk.drafts.undo if undo else desk.drafts.redo
            description = await _run_for_drafts(operation, step, should_stop, on_progress, undo=undo)
            self.changed_drafts = step
            return description
        if undo:
            undone = await self.skip_list.undo(desk, should_stop, on_progress)
            self.changed_drafts = undone.succeeded
        else:
            undone = await desk.drafts.redo(on_progress=on_progress, is_cancelled=should_stop)
        return _describe(undone, undo=undo)

    def _raise_if_first_refusal(self, step: UndoStep | DraftIds, error: CopydeskError) -> None:
        """Raise the error the first time a step is refused; for changes known only to the desk, every time."""
        if not step:
            raise error
        # By identity: an equal step that was recorded later has not been reported yet.
        if step is not self._refused:
            self._refused = step
            hint = labels.undo_next_hint(self._action_id)
            raise ConflictError(error.message, hint=hint) from error

    async def redo(self, desk: "Desk", should_stop: ShouldStop, on_progress: OnProgress = lambda *_: None) -> str:
        """Redo the step that was undone last; return its description, empty as that of `undo`."""
        step = await self._next_step(desk, EventKind.REDO)
        self.changed_drafts = ()
        if not step and self._history is not None:
            await self._history(desk, EventKind.REDO)
            return ""
        try:
            description = await self._run(desk, step, should_stop, on_progress, undo=False)
        except (ConflictError, NotFoundError):
            # The error is reported; the next redo skips the step, as all those behind it would wait for it.
            del self._redo_steps[-1:]
            raise
        # A slice, as the stack may be empty here, too.
        del self._redo_steps[-1:]
        self._undo_steps.append(_Entry(step, await self._newest_event(desk)))
        return labels.redone(description) if description else ""


async def _run_for_drafts(
    operation: "Callable[[str | None], Awaitable[UndoResult]]",
    ids: DraftIds,
    stopped: ShouldStop,
    on_progress: OnProgress,
    *,
    undo: bool,
) -> str:
    """Undo or redo the last change of each draft; raise the first error if all of them fail."""
    if len(ids) == 1:
        return _describe(await operation(ids[0]), undo=undo)
    results: list[UndoResult] = []
    failed: list[CopydeskError] = []
    for draft_id in ids:
        # Never stop before the first one: there would be no result to report.
        if results and stopped():
            break
        try:
            results.append(await operation(draft_id))
        except CopydeskError as error:
            failed.append(error)
        on_progress(len(results) + len(failed), len(ids))
    if not results:
        raise failed[0]
    description = labels.undo_description(
        _action_name(results[0]), "", undo=undo, drafts=len(results), failures=[str(error) for error in failed]
    )
    return labels.undo_remaining(description, len(ids) - len(results) - len(failed))


def _describe(undone: "UndoResult", *, undo: bool) -> str:
    """Describe what was undone or redone: `reschedule (back to Tue 24 Nov 10:30)`, `approval of 12 drafts`."""
    description = labels.undo_description(
        _action_name(undone),
        undone.scheduled_for,
        undo=undo,
        drafts=None if undone.bulk_id is None else len(undone.succeeded),
        failures=[failure.text for failure in undone.failed],
    )
    return labels.undo_remaining(description, undone.left)


def _action_name(undone: "UndoResult") -> str:
    return labels.UNDO_NAMES.get(undone.action, clean(undone.action))
