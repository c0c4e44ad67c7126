"""Carrying out decisions: the row changes at once, the desk is told behind it, and what fails comes back."""

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
"""What goes on after an action, with the ids of the drafts that it was done to."""
IN_A_ROW = 0.5
"""Seconds within which single decisions are said in one toast."""
KEPT = 5_000
"""Drafts of which it is kept what was done to them here."""
FEW = 100
"""So many drafts are looked at again after an undo."""


class Acts:
    """What is done to the drafts of a screen."""

    def __init__(self, screen: "Decides") -> None:
        self.screen = screen
        self.app = screen.app
        self._mine: dict[str, Mine] = {}
        self.begun = Begun()
        self._back = GoingBack()
        self._row: Counter[str] = Counter()
        """What was decided in a row, for the toast."""
        self._unsaid = False
        self._said: Timer | None = None

    @property
    def rows(self) -> "Rows":
        """The drafts that are shown."""
        return self.screen.rows

    def standing(self, draft: ListedDraft) -> Standing:
        """Where a draft stands by now, as far as it is known here."""
        mine = self._mine.get(draft.id)
        if mine is not None and mine.version > draft.version:
            return mine.now
        return Standing.of(draft)

    def is_older(self, draft: ListedDraft) -> bool:
        """Whether it was read before it was changed from here, be it that this is still to be written."""
        mine = self._mine.get(draft.id)
        return self.begun.leads_to(draft.id) is not None or (mine is not None and mine.version > draft.version)

    # Carrying out.

    def act(
        self,
        *steps: ChangeDraft,
        on: Chosen | None = None,
        then: Then | None = None,
    ) -> None:
        """Do this, one step after the other, to what is chosen; what is done behind it hears of it in `then`."""
        chosen = on or self.screen.chosen()
        if chosen is None:
            return
        if chosen.draft is None:
            if self.app.desk is not None:
                chosen.begin()
            self.app.carry_out(lambda desk: self._change_many(desk, steps[-1], chosen, then), keys_wait=True)
            return
        draft = chosen.draft
        status = self._leads_to(draft, steps)
        ended = None
        if status is not None:
            self.rows.fade([draft.id], status)
            self.begun.begin(draft.id, status)
            ended = partial(self.begun.end, draft.id)
            self._move_on(draft)
        self.app.carry_out(lambda desk: self._change_one(desk, draft, steps, status, then), ended=ended)

    def _move_on(self, draft: ListedDraft) -> None:
        current = self.rows.current
        if current is not None and current.id == draft.id:
            self.rows.action_move(1)

    def _leads_to(self, draft: ListedDraft, steps: Sequence[ChangeDraft]) -> Status | None:
        """The state that the steps lead to; None where the draft's does not seem to allow them: the desk says why."""
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
        self, desk: "Desk", draft: ListedDraft, steps: Sequence[ChangeDraft], shown: Status | None, then: Then | None
    ) -> None:
        asked, names = steps[-1], {draft.id: name_of(draft.text)}
        try:
            changed = await self._each_step(desk, draft, steps)
            how = await self._time(desk, changed, asked)
        except Exception as error:
            failed = {draft.id: words_of(error)}
            refused = is_refusal(error)
            self.screen.post_message(Decided(Outcome(named(asked.action), (), failed, names=names, refused=refused)))
            return
        self.remember(draft, changed)
        outcome = Outcome(named(asked.action), (draft.id,), how=how, names=names)
        self.screen.post_message(Decided(outcome, {draft.id: changed.status}, shown=shown, then=then))

    async def _each_step(self, desk: "Desk", draft: ListedDraft, steps: Sequence[ChangeDraft]) -> Draft:
        """Carry out the steps; where a later one fails, what was done before it is taken back."""
        first, *rest = steps
        changed = await self._first_step(desk, draft, first)
        for step in rest:
            try:
                changed = await desk.drafts.change(draft.id, step)
            except CopydeskError:
                await desk.drafts.undo(draft.id)
                raise
        return changed

    async def _first_step(self, desk: "Desk", draft: ListedDraft, step: ChangeDraft) -> Draft:
        """Change the draft that was seen. Another version is the same to the user where nothing else is to be seen."""
        seen = self._mine[draft.id].version if draft.id in self._mine else draft.version
        try:
            return await desk.drafts.change(draft.id, step, expected_version=max(seen, draft.version))
        except ConflictError:
            now = await desk.drafts.get(draft.id)
            if now.text != draft.text or Standing.of(now) != self.standing(draft):
                raise
            return await desk.drafts.change(draft.id, step, expected_version=now.version)

    async def _time(self, desk: "Desk", changed: Draft, asked: ChangeDraft) -> str:
        if asked.action not in TAKES_TIME or changed.scheduled_at is None:
            return ""
        (shown,) = await desk.schedule.shown(changed.scheduled_at)
        return f"for {shown}"

    async def _change_many(self, desk: "Desk", asked: ChangeDraft, chosen: Chosen, then: Then | None) -> None:
        try:
            await self._change_these(desk, asked, chosen, then)
        except BaseException:
            self.screen.call_later(chosen.keep, None)
            raise

    async def _change_these(self, desk: "Desk", asked: ChangeDraft, chosen: Chosen, then: Then | None) -> None:
        assert asked.action is not None
        assert chosen.find is not None
        ids, left = await chosen.find(desk)
        action = asked.action.value

        def progressed(ready: int) -> None:
            self.screen.post_message(Worked(f"{action} {ready:,}/{len(ids):,}"))

        try:
            done = await desk.drafts.act(
                asked.action, ids, asked, on_progress=progressed, stopped=lambda: self.app.hurries
            )
        finally:
            self.screen.post_message(Worked(""))
        failed = {each.id: each.error for each in done.results.failed}
        if (tried := len(done.results.succeeded) + len(failed)) < len(ids):
            words = outcomes.stopped(action, len(done.results.succeeded), len(ids) - tried)
            self.app.last_words = self.app.advice(words)
        named_ones = await desk.drafts.these(tuple(outcomes.named_failures(failed)))
        names = {each.id: name_of(each.text) for each in named_ones}
        outcome = Outcome(action, done.results.succeeded, failed, names=names, left=left)
        self.screen.post_message(Decided(outcome, many=True, then=then, keep=chosen.keep))

    def remember(self, draft: ListedDraft, changed: Draft) -> None:
        """A draft was changed from here."""
        mine = self._mine.get(draft.id)
        first = mine.first if mine and mine.version > draft.version else Standing.of(draft)
        keep(self._mine, draft.id, Mine(first, Standing.of(changed), changed.version), KEPT)

    # Taking back.

    def step_back(self, kind: EventKind) -> None:
        """Undo, or redo, the user's last change."""
        self.app.carry_out(lambda desk: self._step_back(desk, kind), keys_wait=True)

    async def _step_back(self, desk: "Desk", kind: EventKind) -> None:
        undo, stopped = kind is EventKind.UNDO, lambda: self.app.hurries
        done = await (self._back.undo(desk, stopped) if undo else desk.drafts.redo(stopped=stopped))
        if done.left:
            self.app.last_words = self.app.advice(outcomes.stopped_back(done, undo=undo))
        failed = {each.id: each.error for each in done.failed}
        few = done.succeeded if len(done.succeeded) <= FEW else ()
        looked_at = await desk.drafts.these((*few, *outcomes.named_failures(failed)))
        names = {each.id: name_of(each.text) for each in looked_at}
        outcome = Outcome(done.action, done.succeeded, failed, kind=kind, names=names)
        for each in looked_at:
            if mine := self._mine.get(each.id):
                self._mine[each.id] = Mine(mine.first, Standing.of(each), each.version)
        self.screen.post_message(
            Decided(outcome, {each.id: each.status for each in looked_at}, many=done.bulk_id is not None)
        )

    # What came of it.

    def show(self, message: Decided) -> None:
        """Show on the rows what became of it, and say it."""
        outcome = message.outcome
        if outcome.kind is not EventKind.CHANGE:
            self._show_back(message)
            return
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
            self._say(outcomes.word_of(outcome))
        if message.then is not None and outcome.succeeded:
            message.then(outcome.succeeded)

    def _show_rows(self, ids: Sequence[str], statuses: Mapping[str, Status], otherwise: Status | None) -> None:
        by_status: dict[Status, list[str]] = {}
        for draft_id in ids:
            if status := statuses.get(draft_id, otherwise):
                by_status.setdefault(status, []).append(draft_id)
        for status, some in by_status.items():
            self.rows.fade(some, status)

    def _show_back(self, message: Decided) -> None:
        outcome = message.outcome
        as_read = [each for each in outcome.succeeded if self._stands_as_read(each)]
        undone = outcome.kind is EventKind.UNDO and not message.statuses
        self.rows.unfade(outcome.succeeded if undone else as_read)
        if not undone:
            others = [each for each in outcome.succeeded if each not in set(as_read)]
            self._show_rows(others, message.statuses, outcome.status)
        if outcome.kind is EventKind.UNDO and len(outcome.succeeded) == 1:
            self.screen.go_to(outcome.succeeded[0])
        self._row.clear()
        self.app.say(outcomes.back(outcome))

    def _stands_as_read(self, draft_id: str) -> bool:
        mine = self._mine.get(draft_id)
        return mine is not None and mine.now == mine.first

    def _bring_back(self, draft_id: str) -> None:
        """Nothing was done to the draft: its row is what it was."""
        mine = self._mine.get(draft_id)
        if later := self.begun.leads_to(draft_id):
            self.rows.fade([draft_id], later)
        elif mine is None or mine.now == mine.first:
            self.rows.unfade([draft_id])
        else:
            self.rows.fade([draft_id], mine.now.status)

    def _say(self, word: str) -> None:
        """Say what was decided; what follows at once is said together, for a toast costs as much as a decision."""
        self._row[word] += 1
        if self._said is not None:
            self._unsaid = True
            return
        self.app.say(outcomes.done(self._row))
        self._said = self.screen.set_timer(IN_A_ROW, self._say_rest)

    def _say_rest(self) -> None:
        self._said = None
        if self._unsaid and self._row:
            self._unsaid = False
            self.app.say(outcomes.done(self._row))
            self._said = self.screen.set_timer(IN_A_ROW, self._say_rest)
        else:
            self._row.clear()
