"""Run actions on drafts.

The row changes at once, the desk is updated in the background, and a failure restores the row.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.timer import Timer

from copydesk.errors import ConflictError, CopydeskError
from copydesk.model.change import TAKES_TIME, ChangeDraft
from copydesk.model.draft import Draft, ListedDraft, Status
from copydesk.model.history import EventKind, named
from copydesk.model.transitions import after, after_edit
from copydesk.tui.chosen import Chosen
from copydesk.tui.deciding import outcomes
from copydesk.tui.deciding.begun import Begun
from copydesk.tui.deciding.outcomes import Outcome, name_of, words_of
from copydesk.tui.deciding.standing import Mine, Standing
from copydesk.tui.going_back import GoingBack
from copydesk.tui.keeping import keep
from copydesk.tui.messages import Decided, Worked
from copydesk.tui.saying import is_refusal

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.screens.deciding import Decides, Rows

Then = Callable[[Sequence[str]], object]
"""Called after an action with the ids of the drafts that were changed."""
IN_A_ROW = 0.5
"""Seconds within which single actions share one toast."""
KEPT = 5_000
"""Maximum number of drafts whose local changes are remembered."""
FEW = 100
"""Up to this many drafts are reloaded after an undo."""


class Acts:
    """Actions on the drafts of a screen."""

    def __init__(self, screen: "Decides") -> None:
        self.screen = screen
        self.app = screen.app
        self._changes: dict[str, Mine] = {}
        self.begun = Begun()
        self._undo_skip_list = GoingBack()
        self._row: Counter[str] = Counter()
        """Actions by past participle since the last pause, for the toast."""
        self._has_unreported = False
        self._toast_timer: Timer | None = None

    @property
    def rows(self) -> "Rows":
        """The displayed drafts."""
        return self.screen.rows

    def standing(self, draft: ListedDraft) -> Standing:
        """Return the current state of a draft, including changes made here that its row does not have yet."""
        change = self._changes.get(draft.id)
        if change is not None and change.version > draft.version:
            return change.now
        return Standing.of(draft)

    def is_older(self, draft: ListedDraft) -> bool:
        """Return True if the draft was loaded before it was changed here, even if that change is not written yet."""
        change = self._changes.get(draft.id)
        return self.begun.leads_to(draft.id) is not None or (change is not None and change.version > draft.version)

    # Applying.

    def act(
        self,
        *steps: ChangeDraft,
        on: Chosen | None = None,
        then: Then | None = None,
    ) -> None:
        """Apply the steps in order to `target`, by default the selection.

        `on_success` is called with the ids of the changed drafts.

        A single draft's row fades to its new status at once. If it seems not to allow the steps, the row stays as it
        is, and the desk reports the reason.
        """
        selection = on or self.screen.chosen()
        if selection is None:
            return
        if selection.draft is None:
            if self.app.desk is not None:
                # Without a desk the write fails at once, and the marks must stay.
                selection.begin()
            self.app.carry_out(lambda desk: self._change_many(desk, steps[-1], selection, then), keys_wait=True)
            return
        draft = selection.draft
        status = self._status_after(draft, steps)
        on_finished = None
        if status is not None:
            # Before the write, so that the effect is visible at once.
            self.rows.fade([draft.id], status)
            self.begun.begin(draft.id, status)
            on_finished = partial(self.begun.end, draft.id)
            self._move_on(draft)
        self.app.carry_out(lambda desk: self._change_one(desk, draft, steps, status, then), ended=on_finished)

    def _move_on(self, draft: ListedDraft) -> None:
        current = self.rows.current
        # The cursor may have moved while a prompt was open.
        if current is not None and current.id == draft.id:
            self.rows.action_move(1)

    def _status_after(self, draft: ListedDraft, steps: Sequence[ChangeDraft]) -> Status | None:
        """Return the status after the steps; None if the draft's status does not seem to allow them."""
        status, archived = self.standing(draft)
        try:
            for step in steps:
                if step.text is not None:
                    status = after_edit(status, archived=archived)
                if step.action is not None:
                    status = after(step.action, status, archived=archived, feedback=step.feedback)
        except ConflictError:
            return None
        return status

    async def _change_one(
        self,
        desk: "Desk",
        draft: ListedDraft,
        steps: Sequence[ChangeDraft],
        displayed_status: Status | None,
        then: Then | None,
    ) -> None:
        request, names = steps[-1], {draft.id: name_of(draft.text)}
        try:
            changed = await self._apply_steps(desk, draft, steps)
            time_text = await self._time_text(desk, changed, request)
        except Exception as error:
            failed = {draft.id: words_of(error)}
            refused = is_refusal(error)
            self.screen.post_message(Decided(Outcome(named(request.action), (), failed, names=names, refused=refused)))
            return
        self.remember(draft, changed)
        outcome = Outcome(named(request.action), (draft.id,), how=time_text, names=names)
        self.screen.post_message(Decided(outcome, {draft.id: changed.status}, shown=displayed_status, then=then))

    async def _apply_steps(self, desk: "Desk", draft: ListedDraft, steps: Sequence[ChangeDraft]) -> Draft:
        """Apply the steps; if a later one fails, undo the earlier ones and re-raise."""
        first, *rest = steps
        changed = await self._apply_first_step(desk, draft, first)
        for step in rest:
            try:
                changed = await desk.drafts.change(draft.id, step)
            except CopydeskError:
                await desk.drafts.undo(draft.id)
                raise
        return changed

    async def _apply_first_step(self, desk: "Desk", draft: ListedDraft, step: ChangeDraft) -> Draft:
        """Change the draft in the version that the user saw.

        Another version counts as the same if the user would see no difference: equal text, status and archived state.
        """
        base_version = self._changes[draft.id].version if draft.id in self._changes else draft.version
        try:
            return await desk.drafts.change(draft.id, step, expected_version=max(base_version, draft.version))
        except ConflictError:
            current = await desk.drafts.get(draft.id)
            if current.text != draft.text or Standing.of(current) != self.standing(draft):
                raise
            return await desk.drafts.change(draft.id, step, expected_version=current.version)

    async def _time_text(self, desk: "Desk", changed: Draft, request: ChangeDraft) -> str:
        if request.action not in TAKES_TIME or changed.scheduled_at is None:
            return ""
        (formatted,) = await desk.schedule.shown(changed.scheduled_at)
        return f"for {formatted}"

    async def _change_many(self, desk: "Desk", request: ChangeDraft, selection: Chosen, then: Then | None) -> None:
        try:
            await self._change_resolved(desk, request, selection, then)
        except BaseException:
            # Nothing is known about any of the drafts: keep all of their marks.
            self.screen.call_later(selection.keep, None)
            raise

    async def _change_resolved(self, desk: "Desk", request: ChangeDraft, selection: Chosen, then: Then | None) -> None:
        assert request.action is not None
        assert selection.find is not None
        ids, skipped = await selection.find(desk)
        action = request.action.value

        def on_progress(count: int) -> None:
            self.screen.post_message(Worked(f"{action} {count:,}/{len(ids):,}"))

        try:
            result = await desk.drafts.act(
                request.action, ids, request, on_progress=on_progress, stopped=lambda: self.app.hurries
            )
        finally:
            self.screen.post_message(Worked(""))
        failed = {failure.id: failure.error for failure in result.results.failed}
        if (attempted := len(result.results.succeeded) + len(failed)) < len(ids):
            message = outcomes.stopped(action, len(result.results.succeeded), len(ids) - attempted)
            self.app.last_words = self.app.advice(message)
        failed_drafts = await desk.drafts.these(tuple(outcomes.named_failures(failed)))
        names = {draft.id: name_of(draft.text) for draft in failed_drafts}
        outcome = Outcome(action, result.results.succeeded, failed, names=names, left=skipped)
        self.screen.post_message(Decided(outcome, many=True, then=then, keep=selection.keep))

    def remember(self, draft: ListedDraft, changed: Draft) -> None:
        """Record that a draft was changed here."""
        previous = self._changes.get(draft.id)
        first = previous.first if previous and previous.version > draft.version else Standing.of(draft)
        keep(self._changes, draft.id, Mine(first, Standing.of(changed), changed.version), KEPT)

    # Undo and redo.

    def step_back(self, kind: EventKind) -> None:
        """Undo or redo the user's last change."""
        self.app.carry_out(lambda desk: self._undo_or_redo(desk, kind), keys_wait=True)

    async def _undo_or_redo(self, desk: "Desk", kind: EventKind) -> None:
        undo, should_stop = kind is EventKind.UNDO, lambda: self.app.hurries
        result = await (self._undo_skip_list.undo(desk, should_stop) if undo else desk.drafts.redo(stopped=should_stop))
        if result.left:
            self.app.last_words = self.app.advice(outcomes.stopped_back(result, undo=undo))
        failed = {failure.id: failure.error for failure in result.failed}
        reloaded_ids = result.succeeded if len(result.succeeded) <= FEW else ()
        drafts = await desk.drafts.these((*reloaded_ids, *outcomes.named_failures(failed)))
        names = {draft.id: name_of(draft.text) for draft in drafts}
        outcome = Outcome(result.action, result.succeeded, failed, kind=kind, names=names)
        for draft in drafts:
            if change := self._changes.get(draft.id):
                self._changes[draft.id] = Mine(change.first, Standing.of(draft), draft.version)
        self.screen.post_message(
            Decided(outcome, {draft.id: draft.status for draft in drafts}, many=result.bulk_id is not None)
        )

    # Results.

    def show(self, message: Decided) -> None:
        """Show the result of an action in the rows, and notify."""
        outcome = message.outcome
        if outcome.kind is not EventKind.CHANGE:
            self._show_undone(message)
            return
        # Usually the row displays the new status already.
        if message.shown is None or set(message.statuses.values()) != {message.shown}:
            self._show_rows(outcome.succeeded, message.statuses, outcome.status)
        for draft_id in outcome.failed:
            self._bring_back(draft_id)
        if message.many:
            if message.keep is not None:
                message.keep(tuple(outcome.failed))
            self.app.notify(outcomes.bulk(outcome), severity="warning" if outcome.failed else "information")
        elif outcome.failed:
            self.app.notify(outcomes.failures(outcome), severity="warning" if outcome.refused else "error")
        else:
            self._notify_action(outcomes.word_of(outcome))
        if message.then is not None and outcome.succeeded:
            message.then(outcome.succeeded)

    def _show_rows(self, ids: Sequence[str], statuses: Mapping[str, Status], default: Status | None) -> None:
        by_status: dict[Status, list[str]] = {}
        for draft_id in ids:
            if status := statuses.get(draft_id, default):
                by_status.setdefault(status, []).append(draft_id)
        for status, draft_ids in by_status.items():
            self.rows.fade(draft_ids, status)

    def _show_undone(self, message: Decided) -> None:
        outcome = message.outcome
        unchanged = [draft_id for draft_id in outcome.succeeded if self._is_unchanged(draft_id)]
        undone = outcome.kind is EventKind.UNDO and not message.statuses
        self.rows.unfade(outcome.succeeded if undone else unchanged)
        if not undone:
            changed = [draft_id for draft_id in outcome.succeeded if draft_id not in set(unchanged)]
            self._show_rows(changed, message.statuses, outcome.status)
        if outcome.kind is EventKind.UNDO and len(outcome.succeeded) == 1:
            self.screen.go_to(outcome.succeeded[0])
        self._row.clear()
        self.app.say(outcomes.back(outcome))

    def _is_unchanged(self, draft_id: str) -> bool:
        change = self._changes.get(draft_id)
        return change is not None and change.now == change.first

    def _bring_back(self, draft_id: str) -> None:
        """Restore the row of a draft that was not changed."""
        change = self._changes.get(draft_id)
        # A later change of the same draft may still be pending.
        if pending := self.begun.leads_to(draft_id):
            self.rows.fade([draft_id], pending)
        elif change is None or change.now == change.first:
            self.rows.unfade([draft_id])
        else:
            self.rows.fade([draft_id], change.now.status)

    def _notify_action(self, word: str) -> None:
        """Notify about a single action; further ones within TOAST_INTERVAL share one toast.

        A toast costs as much as an action.
        """
        self._row[word] += 1
        if self._toast_timer is not None:
            self._has_unreported = True
            return
        self.app.say(outcomes.done(self._row))
        self._toast_timer = self.screen.set_timer(IN_A_ROW, self._say_rest)

    def _say_rest(self) -> None:
        self._toast_timer = None
        if self._has_unreported and self._row:
            self._has_unreported = False
            self.app.say(outcomes.done(self._row))
            self._toast_timer = self.screen.set_timer(IN_A_ROW, self._say_rest)
        else:
            self._row.clear()
