"""Run actions on drafts, and describe their results in one sentence for a toast.

The row changes at once, the desk follows, and a failure restores the row.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace
from textual.timer import Timer

from copydesk.errors import ConflictError, CopydeskError, InvalidError
from copydesk.model.draft import APPROVED_STATUSES, TO_REVIEW, Action, Draft, ListedDraft, Status
from copydesk.model.requests import TIME_ACTIONS, ChangeDraft
from copydesk.model.role import scope_of_edit
from copydesk.model.transitions import (
    ACTIONS,
    COUNTERSIGN,
    EventKind,
    UndoResult,
    change_name,
    next_status,
    status_after_edit,
)
from copydesk.text import clean
from copydesk.text.formatting import plural
from copydesk.tui import labels
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.review.local_changes import DraftState, LocalChanges
from copydesk.tui.review.marks import ResolvedDrafts, Selection
from copydesk.tui.review.queue_pane import QueuePane
from copydesk.tui.review.refusals import EDIT_KEYS, refusal, split
from copydesk.tui.runtime.desk_tasks import DRAFT_DELETED_MESSAGE, to_copydesk_error
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.runtime.notifications import is_refusal
from copydesk.tui.undo_stack import UndoStack, UndoStep

if TYPE_CHECKING:
    from copydesk.desk import Desk


MAX_LOGGED = 500
"""Drafts of a bulk action that the log lists by name, with why they were not changed."""
OnSuccess = Callable[[Sequence[str]], object]
"""Called after an action with the ids of the drafts that were changed."""
TOAST_INTERVAL = 0.5
"""Seconds within which single actions share one toast."""
MAX_RELOADED = 100
"""Up to this many drafts are reloaded after an undo."""


class Outcome(NamedTuple):
    """The result of an action on one or more drafts."""

    action: str
    succeeded: tuple[str, ...]
    failed: Mapping[str, str] = {}
    """Errors by draft id."""
    detail: str = ""
    """Appended to the action: `for Thu 12 Feb, 09:00`; for an undo the time that the draft has again."""
    kind: EventKind = EventKind.CHANGE
    names: Mapping[str, str] = {}
    """Names of some of the drafts by id."""
    newer: int = 0
    """Number of drafts left unchanged because they arrived after the list was loaded."""
    skipped: Mapping[str, str] = {}
    """Why their state did not allow the action, by draft id."""
    refused: bool = False
    """True if it failed only because the draft's status does not allow the action."""
    approved_first: bool = False
    """True if the action needed an approval, which is a change of its own for undo."""
    moved: int = 0
    """Number of scheduled drafts that had another time before."""

    @property
    def status(self) -> Status | None:
        """The status that the action leads to; None if it does not change the status."""
        return ACTIONS[Action(self.action)].to_status if self.action in ACTIONS else None


def describe_action(outcome: Outcome) -> str:
    """Return the result of the action and its details: `approved`, `approved and scheduled for Thu 12 Feb 09:00`."""
    return labels.action_done(outcome.action, outcome.detail, approved_first=outcome.approved_first)


def describe_bulk(outcome: Outcome) -> str:
    """Describe a bulk action: `53 approved, 8 skipped: 6 archived, 2 already approved · u undo`."""
    skipped = Counter(outcome.skipped.values())
    if not outcome.succeeded and not outcome.failed and not outcome.newer:
        return labels.nothing_done(describe_action(outcome), skipped)
    count, word = len(outcome.succeeded), describe_action(outcome)
    if outcome.moved:
        word = labels.action_done(Action.RESCHEDULE, outcome.detail)
        if others := count - outcome.moved:
            count, word = others, f"{labels.DONE[outcome.action]}, {outcome.moved:,} {word}"
    return labels.bulk_done(
        count,
        word,
        newer=outcome.newer,
        skipped=dict(skipped.most_common()),
        failures=_failures_by_reason(outcome),
    )


def describe_restored(outcome: Outcome) -> str:
    """Describe what was restored from the archive: `Restored “A missing index…” · u undo`, or as a bulk action."""
    if len(outcome.succeeded) + len(outcome.failed) == 1 and not outcome.skipped:
        names = list(outcome.names.values())
        if outcome.failed:
            return format_failures(outcome)
        if names:
            return labels.draft_restored(names[0])
    return describe_bulk(outcome)


def list_unchanged(outcome: Outcome) -> str:
    """Return every draft that a bulk action did not change, one a line with the reason, for the log."""
    # The failures first: they ask for attention, and the list is cut.
    reasons = {**outcome.failed, **outcome.skipped}
    lines = [_failure(outcome, draft_id, reason) for draft_id, reason in list(reasons.items())[:MAX_LOGGED]]
    return "\n".join([*lines, labels.and_more(len(reasons) - len(lines)).strip()]).strip()


def describe_interrupted_undo(undone: UndoResult, *, undo: bool) -> str:
    """Describe an undo, a redo or a restore that was interrupted because the console exited."""
    if undone.action == labels.RESTORE:
        word = labels.DONE[Action.ARCHIVE if undo else labels.RESTORE]
        return labels.restore_interrupted(len(undone.succeeded), word, undone.left)
    return labels.undo_interrupted(_undo_name(undone.action), len(undone.succeeded), undone.left, undo=undo)


def describe_undo(outcome: Outcome) -> str:
    """Describe an undo or redo: `Undid approval of “A missing index…” · Ctrl+R redo`."""
    names = list(outcome.names.values())
    drafts = names[0] if len(outcome.succeeded) == 1 and names else plural(len(outcome.succeeded), "draft")
    return labels.undo_done(
        _undo_name(outcome.action),
        drafts,
        outcome.detail,
        undo=outcome.kind is EventKind.UNDO,
        failed=len(outcome.failed),
        failures=format_failures(outcome),
    )


def _undo_name(action: str) -> str:
    # Actions of newer versions of Copydesk are not in the table.
    return labels.UNDO_NAMES.get(action, clean(action))


def format_failures(outcome: Outcome) -> str:
    """Return a single failure with the draft's name, several by their reasons."""
    return labels.grouped_failures(_failures_by_reason(outcome))


def _failures_by_reason(outcome: Outcome) -> dict[str, int]:
    if len(outcome.failed) == 1:
        ((draft_id, reason),) = outcome.failed.items()
        return {_failure(outcome, draft_id, reason): 1}
    return dict(Counter(outcome.failed.values()).most_common())


def _failure(outcome: Outcome, draft_id: str, reason: str) -> str:
    """Return one failure; a draft without a name was deleted."""
    name = outcome.names.get(draft_id)
    return f"{name}: {reason}" if name and reason != DRAFT_DELETED_MESSAGE else DRAFT_DELETED_MESSAGE


def error_message(error: Exception) -> str:
    """Return the error message for the user, without the name that a prompt's only line has in the interface."""
    known = to_copydesk_error(error)
    return str(known).removeprefix("feedback: ") if isinstance(known, InvalidError) else str(known)


class ActionResult(NamedTuple):
    """The result of an action on drafts, or of its undo."""

    outcome: Outcome
    states: Mapping[str, DraftState] = {}
    """The new states by draft id, as far as known."""
    is_bulk: bool = False
    displayed_state: DraftState | None = None
    """The state that the row of a single draft already displays."""
    on_success: OnSuccess | None = None
    """Called with the ids of the drafts that were changed."""
    on_failure: Callable[[], object] | None = None
    """Called if no draft was changed."""
    on_unchanged: Callable[[Sequence[str] | None], None] | None = None
    """Called with the ids of the selected drafts that were not changed."""
    is_quiet: bool = False
    """True if a success is not notified: what follows it is."""


class SingleChange(NamedTuple):
    """A change of one draft, whose row usually displays the result already."""

    draft: ListedDraft
    steps: Sequence[ChangeDraft]
    decided_in: float | None
    """Seconds from showing the draft to the decision; None if it is none, or the draft is not displayed."""
    displayed_state: DraftState | None
    """The state that its row displays already."""
    on_success: OnSuccess | None
    on_failure: Callable[[], object] | None
    moved_to: ListedDraft | None
    """The draft from which the cursor returns if the change fails; None if it does not."""
    is_quiet: bool
    """True if its success is not notified."""


class BulkChange(NamedTuple):
    """A change of several drafts, which are found when it runs."""

    request: ChangeDraft
    selection: Selection
    on_success: OnSuccess | None
    on_failure: Callable[[], object] | None
    moves: bool
    """True if drafts that have a time are moved to that of the request."""


class ActionRunner:
    """Runs actions on the drafts of a queue, and shows the results in its rows."""

    def __init__(self, screen: DeskScreen, pane: QueuePane, changes: LocalChanges) -> None:
        self.screen = screen
        self.app = screen.app
        self.pane = pane
        self.queue = pane.queue
        self.changes = changes
        self.undo_stack = UndoStack("review.undo", self._undo_or_redo_drafts)
        """Changes of stories, and restored drafts; the desk keeps the history of drafts."""
        self._recent_actions: Counter[str] = Counter()
        """Actions by past participle since the last pause, for the toast."""
        self._has_unreported = False
        self._toast_timer: Timer | None = None

    # Applying.

    def apply(
        self,
        *steps: ChangeDraft,
        target: Selection | None = None,
        on_success: OnSuccess | None = None,
        on_failure: Callable[[], object] | None = None,
        moves: bool = False,
        returns: bool = False,
        quiet: bool = False,
    ) -> None:
        """Apply the steps in order to `target`, by default the selection.

        `on_success` is called with the ids of the changed drafts, `on_failure` if none was. With `moves`, several
        drafts are scheduled at a time, and those that have a time already are moved to it.

        A single draft's row fades to its new status at once, and the cursor moves on. If it seems not to allow the
        steps, both stay as they are, and the desk reports the reason. With `returns`, the cursor is put back on a draft
        that could not be changed, if the user has not moved it since. With `quiet`, the success of a single draft's
        change is not notified.
        """
        selection = target or self.pane.selection()
        if selection is None:
            return
        if selection.draft is None:
            if self.app.desk is not None:
                # Without a desk the write fails at once, and the marks must stay.
                selection.on_start()
            change = BulkChange(steps[-1], selection, on_success, on_failure, moves)
            self.app.enqueue_write(lambda desk: self._change_many(desk, change), hold_keys=Hold.RESULT)
            return
        draft = selection.draft
        state = self._state_after(draft, steps)
        on_finished = decided_in = moved_to = None
        if state is not None:
            # Before the write, so that the effect is visible at once.
            self.queue.fade([draft.id], state.status, archived=state.archived)
            self.changes.pending.add(draft.id, state)
            if draft.status in TO_REVIEW and (state.archived or state.status not in TO_REVIEW):
                decided_in = self.changes.seconds_displayed(draft.id)
            on_finished = partial(self.changes.pending.remove_first, draft.id)
            self._move_on(draft)
            moved_to = self.queue.current if returns else None
        single = SingleChange(draft, steps, decided_in, state, on_success, on_failure, moved_to, quiet)
        self.app.enqueue_write(lambda desk: self._change_one(desk, single), on_finished=on_finished)

    def refusal(self, key_id: str, draft: ListedDraft) -> str:
        """Return why a key does nothing to the draft, and which keys do; empty if it does something."""
        state = self.changes.current_state(draft)
        needed = scope_of_edit(state.status, draft.last_error) if key_id in EDIT_KEYS else None
        return self.app.role_refusal(key_id, needed) or refusal(key_id, state.status, archived=state.archived)

    def ask_if_possible(
        self, key_id: str, actions: Sequence[Action], ask: Callable[[Selection, int, str], object]
    ) -> None:
        """Call `ask` with the selection, the number of drafts that allow one of the actions, and what is skipped.

        If none allows them, say why instead: nothing is typed in vain.
        """
        selection = self.pane.selection()
        if selection is None:
            return
        if selection.draft is None:
            self.app.run_desk_task(
                lambda desk: self._ask_about_many(desk, actions, selection, ask), hold_keys=Hold.SCREEN
            )
        elif reason := self.refusal(key_id, selection.draft):
            self.app.notify(reason, severity="warning")
        else:
            ask(selection, 1, "")

    async def _ask_about_many(
        self,
        desk: "Desk",
        actions: Sequence[Action],
        selection: Selection,
        ask: Callable[[Selection, int, str], object],
    ) -> None:
        ids = (await _resolve(desk, selection)).ids
        possible, skipped = split(actions, ids, await desk.drafts.views.states(ids))
        reasons = dict(Counter(skipped.values()).most_common())
        if not possible:
            self.app.notify(labels.nothing_done(labels.DONE[actions[0]], reasons), severity="warning")
            return
        ask(selection, len(possible), labels.skipped_drafts(reasons) if reasons else "")

    def _move_on(self, draft: ListedDraft) -> None:
        current = self.queue.current
        # The cursor may have moved while a prompt was open.
        if current is not None and current.id == draft.id:
            self.queue.action_move(1)

    def _return_to(self, draft: ListedDraft, moved_to: ListedDraft) -> None:
        current = self.queue.current
        if current is not None and current.id == moved_to.id:
            self.pane.move_cursor_to(draft.id)

    def _state_after(self, draft: ListedDraft, steps: Sequence[ChangeDraft]) -> DraftState | None:
        """Return the state after the steps; None if the draft's state does not seem to allow them."""
        status, archived = self.changes.current_state(draft)
        try:
            for step in steps:
                if step.text is not None:
                    status = status_after_edit(status, archived=archived)
                if step.action is not None:
                    status = next_status(step.action, status, archived=archived, feedback=step.feedback)
                    archived = step.action is Action.ARCHIVE
        except ConflictError:
            return None
        return DraftState(status, archived)

    async def _change_one(self, desk: "Desk", change: SingleChange) -> None:
        draft, request = change.draft, change.steps[-1]
        names = {draft.id: labels.draft_name(draft.text)}
        try:
            changed = await self._apply_steps(desk, change)
            detail = await self._detail(desk, changed, request)
        except Exception as error:
            # Any error has to restore the row, which was dimmed before the write.
            failed = {draft.id: error_message(error)}
            refused = is_refusal(error)
            outcome = Outcome(change_name(request.action), (), failed, names=names, refused=refused)
            self.finish(ActionResult(outcome, on_failure=change.on_failure))
            if change.moved_to is not None:
                self.screen.call_later(self._return_to, draft, change.moved_to)
            return
        self.changes.record(draft, changed)
        outcome = Outcome(
            change_name(request.action), (draft.id,), detail=detail, names=names, approved_first=len(change.steps) > 1
        )
        states = {draft.id: DraftState.of(changed)}
        self.finish(
            ActionResult(
                outcome,
                states,
                displayed_state=change.displayed_state,
                on_success=change.on_success,
                is_quiet=change.is_quiet,
            )
        )

    async def _apply_steps(self, desk: "Desk", change: SingleChange) -> Draft:
        """Apply the steps; if a later one fails, undo the earlier ones and re-raise."""
        draft = change.draft
        changed = await self._apply_first_step(desk, change)
        for step in change.steps[1:]:
            has_time = step.action is Action.SCHEDULE and changed.status is Status.SCHEDULED
            if has_time and step.scheduled_at is None:
                # A held draft, whose approval has restored its time.
                continue
            try:
                changed = await _change(desk, draft, replace(step, action=Action.RESCHEDULE) if has_time else step)
            except CopydeskError:
                # The reason of the refusal is what the user needs, even if the earlier steps cannot be undone.
                with suppress(Exception):
                    await desk.drafts.undo(draft.id)
                raise
        return changed

    async def _apply_first_step(self, desk: "Desk", change: SingleChange) -> Draft:
        """Change the draft in the version that the user saw.

        Another version counts as the same if the user would see no difference: equal text, status and archived state.
        """
        draft, step, decided_in = change.draft, change.steps[0], change.decided_in
        try:
            return await _change(desk, draft, step, self.changes.current_version(draft), decided_in)
        except ConflictError:
            current = await desk.drafts.get(draft.id)
            if current.text != draft.text or DraftState.of(current) != self.changes.current_state(draft):
                raise
            return await _change(desk, draft, step, current.version, decided_in)

    async def _detail(self, desk: "Desk", changed: Draft, request: ChangeDraft) -> str:
        """Return the time of a scheduled draft, or the approvals that an approved one has of those it needs."""
        if request.action is Action.APPROVE and self.app.needs_approvals:
            reviewed = await desk.drafts.activity.overview(changed.id)
            count = len(reviewed.activity.approvals)
            return labels.approval_count(count, reviewed.required) if reviewed.required > 1 else ""
        if request.action not in TIME_ACTIONS or changed.scheduled_at is None:
            return ""
        (formatted,) = await desk.schedule.format_times(changed.scheduled_at, short=True)
        return f"for {formatted}"

    async def _change_many(self, desk: "Desk", change: BulkChange) -> None:
        try:
            await self._change_resolved(desk, change)
        except BaseException:
            # Nothing is known about any of the drafts: keep all of their marks.
            self.screen.call_later(change.selection.on_finish, None)
            if change.on_failure is not None:
                self.screen.call_later(change.on_failure)
            raise

    async def _change_resolved(self, desk: "Desk", change: BulkChange) -> None:
        request = change.request
        assert request.action is not None
        selected, newer = await _resolve(desk, change.selection)
        actions = (request.action, Action.RESCHEDULE) if change.moves else (request.action,)
        states = await desk.drafts.views.states(selected)
        ids, skipped = split(actions, selected, states)
        action = request.action.value
        if request.action is Action.APPROVE and self.app.needs_approvals:
            skipped = await self._countersign_many(desk, skipped, states)
            if not ids and len(skipped) < len(selected):
                # There was nothing else to do, and that was reported.
                self.screen.call_later(change.selection.on_finish, tuple(skipped))
                return

        with self.screen.report_progress(labels.IN_PROGRESS[request.action]) as report:

            def on_progress(count: int) -> None:
                report(count, len(ids))

            if change.moves:
                assert request.scheduled_at is not None
                result = await desk.drafts.schedule_all_at(
                    ids, request.scheduled_at, on_progress=on_progress, is_cancelled=lambda: self.app.stopping
                )
            else:
                result = await desk.drafts.bulk_all(
                    request.action, ids, request, on_progress=on_progress, is_cancelled=lambda: self.app.stopping
                )
        failed = {failure.id: failure.text for failure in result.results.failed}
        if (attempted := len(result.results.succeeded) + len(failed)) < len(ids):
            message = labels.bulk_interrupted(action, len(result.results.succeeded), len(ids) - attempted)
            self.app.exit_message = self.app.qualify_commands(message)
        unchanged_drafts = await desk.drafts.views.by_ids((*failed, *skipped)[:MAX_LOGGED])
        outcome = Outcome(
            action,
            result.results.succeeded,
            failed,
            detail=await self._bulk_time_text(desk, request),
            names={draft.id: labels.draft_name(draft.text) for draft in unchanged_drafts},
            newer=newer,
            skipped=skipped,
            moved=sum(
                states[draft_id][0] in ACTIONS[Action.RESCHEDULE].from_statuses
                for draft_id in result.results.succeeded
                if change.moves
            ),
        )
        self.finish(
            ActionResult(
                outcome,
                is_bulk=True,
                on_success=change.on_success,
                on_failure=change.on_failure,
                on_unchanged=change.selection.on_finish,
            )
        )

    async def _countersign_many(
        self, desk: "Desk", skipped: Mapping[str, str], states: Mapping[str, tuple[Status, bool]]
    ) -> Mapping[str, str]:
        """Countersign those of the skipped drafts that lack an approval; return the others with the reasons."""
        signed = await desk.drafts.activity.countersign_all(tuple(skipped))
        if signed.succeeded:
            outcome = Outcome(
                COUNTERSIGN, signed.succeeded, skipped=dict.fromkeys(signed.failed, labels.APPROVED_BY_YOU)
            )
            displayed = {draft_id: DraftState(*states[draft_id]) for draft_id in signed.succeeded}
            self.finish(ActionResult(outcome, displayed, is_bulk=True))
        rest = {draft_id: reason for draft_id, reason in skipped.items() if draft_id not in signed.succeeded}
        return rest | dict.fromkeys(signed.failed, labels.APPROVED_BY_YOU)

    async def _bulk_time_text(self, desk: "Desk", request: ChangeDraft) -> str:
        if request.scheduled_at is None:
            return ""
        (formatted,) = await desk.schedule.format_times(request.scheduled_at, short=True)
        return f"for {formatted}"

    # A second approval.

    def approve(self, on_success: OnSuccess) -> None:
        """Approve the selection; a draft that another reviewer has approved is countersigned."""
        selection = self.pane.selection()
        if selection is None:
            return
        draft = selection.draft
        if draft is not None and self.app.needs_approvals:
            state = self.changes.current_state(draft)
            if state.status in APPROVED_STATUSES and not state.archived:
                self.app.enqueue_write(lambda desk: self._countersign(desk, draft), hold_keys=Hold.RESULT)
                return
        self.apply(ChangeDraft(action=Action.APPROVE), target=selection, on_success=on_success)

    async def _countersign(self, desk: "Desk", draft: ListedDraft) -> None:
        names = {draft.id: labels.draft_name(draft.text)}
        try:
            if not (await desk.drafts.activity.overview(draft.id)).lacks_approvals:
                # Nothing is lacking: the desk says which status it has.
                await desk.drafts.approve(draft.id)
            reviewed = await desk.drafts.activity.countersign(draft.id)
            required = (await desk.drafts.activity.overview(draft.id)).required
        except CopydeskError as error:
            failed = {draft.id: error_message(error)}
            self.finish(ActionResult(Outcome(COUNTERSIGN, (), failed, names=names, refused=is_refusal(error))))
            return
        changed = await desk.drafts.get(draft.id)
        self.changes.record(draft, changed)
        detail = labels.approval_count(len(reviewed.approvals), required)
        outcome = Outcome(COUNTERSIGN, (draft.id,), detail=detail, names=names)
        state = DraftState.of(changed)
        self.finish(ActionResult(outcome, {draft.id: state}, displayed_state=state))
        self.screen.call_later(self._move_on, draft)

    # Undo and redo.

    def undo_or_redo(self, kind: EventKind) -> None:
        """Undo or redo the user's last change."""
        self.app.enqueue_write(lambda desk: self._undo_or_redo(desk, kind), hold_keys=Hold.RESULT)

    async def _undo_or_redo(self, desk: "Desk", kind: EventKind) -> None:
        run = self.undo_stack.undo if kind is EventKind.UNDO else self.undo_stack.redo
        if description := await run(desk, lambda: self.app.stopping):
            # The result of what is undone no longer holds.
            self.app.dismiss_toasts()
            self.app.notify(description)

    def restore(self) -> None:
        """Restore the selection from the archive."""
        if selection := self.pane.selection():
            if self.app.desk is not None:
                selection.on_start()
            self.app.enqueue_write(lambda desk: self._restore(desk, selection), hold_keys=Hold.RESULT)

    async def _restore(self, desk: "Desk", selection: Selection) -> None:
        newer, skipped = 0, dict[str, str]()
        try:
            if selection.draft is not None:
                ids: Sequence[str] = [selection.draft.id]
            else:
                selected, newer = await _resolve(desk, selection)
                states = await desk.drafts.views.states(selected)
                skipped = dict.fromkeys(
                    (draft_id for draft_id in selected if draft_id in states and not states[draft_id][1]),
                    labels.IS_NOT_ARCHIVED,
                )
                ids = [draft_id for draft_id in selected if draft_id not in skipped]
            result = await self._restore_all(desk, ids)
        except BaseException:
            self.screen.call_later(selection.on_finish, None)
            raise
        self.screen.call_later(selection.on_finish, (*(failure.id for failure in result.failed), *skipped))
        if result.succeeded:
            await self._record_restored(desk, result.succeeded)
        await self._finish_undo(desk, result, EventKind.CHANGE, skipped=skipped, newer=newer)

    async def _restore_all(self, desk: "Desk", ids: Sequence[str]) -> UndoResult:
        with self.screen.report_progress(labels.RESTORE_IN_PROGRESS) as on_progress:
            result = await desk.drafts.restore(ids, on_progress=on_progress, is_cancelled=lambda: self.app.stopping)
        return replace(result, action=labels.RESTORE)

    async def _record_restored(self, desk: "Desk", ids: Sequence[str]) -> None:
        """Let the next undo archive these drafts again. The desk knows the restoring as the undo of their archiving."""
        restored = tuple(ids)

        async def undo(desk: "Desk") -> None:
            nonlocal restored
            result = await self._archive_again(desk, restored)
            restored = _any_succeeded(result)
            await self._finish_undo(desk, result, EventKind.UNDO)

        async def redo(desk: "Desk") -> None:
            nonlocal restored
            result = await self._restore_all(desk, restored)
            restored = _any_succeeded(result)
            await self._finish_undo(desk, result, EventKind.REDO)

        self.undo_stack.record(UndoStep("", undo, redo), (await desk.drafts.history_position()).newest)

    async def _archive_again(self, desk: "Desk", ids: Sequence[str]) -> UndoResult:
        with self.screen.report_progress(labels.UNDO_IN_PROGRESS[EventKind.UNDO]) as report:
            outcome = await desk.drafts.bulk_all(
                Action.ARCHIVE,
                ids,
                on_progress=lambda count: report(count, len(ids)),
                is_cancelled=lambda: self.app.stopping,
            )
        results = outcome.results
        left = len(ids) - len(results.succeeded) - len(results.failed)
        return UndoResult(labels.RESTORE, None, results.succeeded, results.failed, left)

    async def _undo_or_redo_drafts(self, desk: "Desk", kind: EventKind) -> None:
        def should_stop() -> bool:
            return self.app.stopping

        with self.screen.report_progress(labels.UNDO_IN_PROGRESS[kind]) as on_progress:
            result = await (
                self.undo_stack.skip_list.undo(desk, should_stop, on_progress)
                if kind is EventKind.UNDO
                else desk.drafts.redo(on_progress=on_progress, is_cancelled=should_stop)
            )
        await self._finish_undo(desk, result, kind)

    async def _finish_undo(
        self, desk: "Desk", result: UndoResult, kind: EventKind, *, skipped: Mapping[str, str] = {}, newer: int = 0
    ) -> None:
        """Show what was undone, redone or restored."""
        undo = kind is EventKind.UNDO
        if result.left:
            self.app.exit_message = self.app.qualify_commands(describe_interrupted_undo(result, undo=undo))
        failed = {failure.id: failure.text for failure in result.failed}
        reloaded_ids = result.succeeded if len(result.succeeded) <= MAX_RELOADED else ()
        drafts = await desk.drafts.views.by_ids((*reloaded_ids, *[*failed, *skipped][:MAX_LOGGED]))
        names = {draft.id: labels.draft_name(draft.text) for draft in drafts}
        outcome = Outcome(
            result.action,
            result.succeeded,
            failed,
            result.scheduled_for,
            kind=kind,
            names=names,
            newer=newer,
            skipped=skipped,
        )
        for draft in drafts:
            self.changes.update(draft)
        self.finish(
            ActionResult(outcome, {draft.id: DraftState.of(draft) for draft in drafts}, is_bulk=bool(result.bulk_id))
        )

    # Results.

    def finish(self, result: ActionResult) -> None:
        """Show the result of an action; called from the action's task, which touches no widgets."""
        self.screen.call_later(self._show_result, result)

    def _show_result(self, result: ActionResult) -> None:
        """Show the result of an action in the rows, and notify."""
        # Restored rows are back in the state that they had, as after an undo.
        if result.outcome.kind is EventKind.CHANGE and result.outcome.action != labels.RESTORE:
            self._show_changed(result)
        else:
            self._show_undone(result)
        self._record_progress(result)
        # A draft was deleted elsewhere, so the list on the screen is out of date.
        if DRAFT_DELETED_MESSAGE in result.outcome.failed.values():
            self.screen.refresh_data()

    def _record_progress(self, result: ActionResult) -> None:
        outcome = result.outcome
        for draft_id in outcome.succeeded:
            state = result.states.get(draft_id)
            if state is not None:
                self.changes.record_decisions([draft_id], state.status, archived=state.archived)
        # Of a bulk the states are not loaded, but the action says where it leads, and its undo leads back.
        rest = [draft_id for draft_id in outcome.succeeded if draft_id not in result.states]
        is_change = outcome.kind is EventKind.CHANGE
        is_archived = is_change and outcome.action == Action.ARCHIVE
        self.changes.record_decisions(rest, outcome.status if is_change else None, archived=is_archived)
        self.pane.show_progress()

    def _show_changed(self, result: ActionResult) -> None:
        outcome = result.outcome
        # Usually the row displays the new status already.
        if result.displayed_state is None or set(result.states.values()) != {result.displayed_state}:
            self._show_rows(result)
        for draft_id in outcome.failed:
            self.restore_row(draft_id)
        if result.is_bulk:
            if result.on_unchanged is not None:
                result.on_unchanged((*outcome.failed, *outcome.skipped))
            self.app.notify(describe_bulk(outcome), severity="warning" if outcome.failed else "information")
            self._log_unchanged(outcome)
        elif outcome.failed:
            self.app.notify(format_failures(outcome), severity="warning" if outcome.refused else "error")
        elif not result.is_quiet:
            self._notify_action(describe_action(outcome))
        if result.on_success is not None and outcome.succeeded:
            result.on_success(outcome.succeeded)
        elif result.on_failure is not None and not outcome.succeeded:
            result.on_failure()

    def _show_rows(self, result: ActionResult, excluded: Collection[str] = ()) -> None:
        outcome, by_state = result.outcome, dict[DraftState | None, list[str]]()
        for draft_id in outcome.succeeded:
            if draft_id not in excluded:
                by_state.setdefault(result.states.get(draft_id), []).append(draft_id)
        # Of a bulk only the action is known.
        for draft_id in by_state.pop(None, ()):
            self.queue.fade([draft_id], outcome.status, archived=outcome.action == Action.ARCHIVE)
        for state, draft_ids in by_state.items():
            assert state is not None
            self.queue.fade(draft_ids, state.status, archived=state.archived)

    def _show_undone(self, result: ActionResult) -> None:
        outcome = result.outcome
        unchanged = {draft_id for draft_id in outcome.succeeded if self.changes.is_reverted(draft_id)}
        undone = outcome.kind is EventKind.UNDO and not result.states
        self.queue.unfade(outcome.succeeded if undone else unchanged)
        if not undone:
            self._show_rows(result, unchanged)
        if outcome.kind is EventKind.UNDO:
            self.pane.show_undone(outcome.succeeded)
        self._recent_actions.clear()
        # The result of what is undone no longer holds.
        self.app.dismiss_toasts()
        if outcome.kind is EventKind.CHANGE:
            self.app.notify(describe_restored(outcome), severity="warning" if outcome.failed else "information")
            self._log_unchanged(outcome)
        else:
            self.app.notify_latest(describe_undo(outcome))

    def _log_unchanged(self, outcome: Outcome) -> None:
        if len(outcome.failed) + len(outcome.skipped) > 1:
            self.app.log_details(list_unchanged(outcome))

    def restore_row(self, draft_id: str) -> None:
        """Restore the row of a draft that was not changed."""
        # Another change of the same draft may still be pending, or written after its row was loaded.
        row, state = self.queue.original_row(draft_id), self.changes.pending.final_state(draft_id)
        if state is None and (row is None or self.changes.is_outdated(row)):
            state = self.changes.changed_state(draft_id)
        if state is not None:
            self.queue.fade([draft_id], state.status, archived=state.archived)
        else:
            self.queue.unfade([draft_id])

    def _notify_action(self, word: str) -> None:
        """Notify about a single action; further ones within TOAST_INTERVAL share one toast.

        A toast costs as much as an action.
        """
        self._recent_actions[word] += 1
        if self._toast_timer is not None:
            self._has_unreported = True
            return
        self.app.notify_latest(labels.actions_done(self._recent_actions))
        self._toast_timer = self.screen.set_timer(TOAST_INTERVAL, self._notify_rest)

    def _notify_rest(self) -> None:
        self._toast_timer = None
        if self._has_unreported and self._recent_actions:
            self._has_unreported = False
            self.app.notify_latest(labels.actions_done(self._recent_actions))
            self._toast_timer = self.screen.set_timer(TOAST_INTERVAL, self._notify_rest)
        else:
            self._recent_actions.clear()


def _any_succeeded(result: UndoResult) -> tuple[str, ...]:
    """Return the drafts that were changed. Raise ConflictError if none was."""
    if not result.succeeded:
        raise ConflictError(result.failed[0].text)
    return result.succeeded


async def _resolve(desk: "Desk", selection: Selection) -> ResolvedDrafts:
    assert selection.resolve is not None, "several drafts"
    return await selection.resolve(desk)


async def _change(
    desk: "Desk",
    draft: ListedDraft,
    request: ChangeDraft,
    expected_version: int | None = None,
    decided_in: float | None = None,
) -> Draft:
    changed = await desk.drafts.change(draft.id, request, expected_version=expected_version, decided_in=decided_in)
    assert isinstance(changed, Draft), "posting has its own dialog"
    return changed
