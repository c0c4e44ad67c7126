"""Whatever is done to drafts, in whatever order and by whichever of two desks: it is what a small model says.

The model is `small_desk`; after each step all that can be seen of the drafts is compared with it.
"""

import asyncio
import shutil
import tempfile
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from copydesk.desk import open_desk
from copydesk.desk.picking_up import Accounts
from copydesk.errors import ConflictError, InvalidError
from copydesk.model.change import BulkChange, ChangeDraft
from copydesk.model.draft import BULK_ACTIONS, Action, Status
from desk_fixtures import Watch, settings_at
from proof_desk import PROVE, assert_agrees, drafts_in
from small_desk import Back, Refused, Small, SmallDesk
from small_tables import FROM, GENERATING, POSTING, REGENERATING, STATES, SYSTEM, UNKNOWN, Values
from steps_fixtures import STARTS, answered, change_of, check, furnished, happen, tops, unconnected, values_of

TAKES_FEEDBACK = {"reject", "unapprove", "regenerate"}

desks = st.integers(0, 1)
places = st.integers(0, len(STARTS) - 1)
words = st.none() | st.sampled_from(["Shorter, please.", "The figure is wrong."])
texts = st.integers(0, 5).map("These are the words of edition {}.".format)
hours = st.integers(1, 50) | st.sampled_from([21, 29, 45])  # 9, 17 and 9 o'clock at first
actions = st.sampled_from([action.value for action in Action])


class AnySteps(RuleBasedStateMachine):
    """Two desks on one file, and the model."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp()) / "home"
        self.clock = Watch()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()

    @initialize()
    def begin(self) -> None:
        shutil.copytree(furnished(), self.home)
        self.first = drafts_in(self.home)
        self.ids = list(self.first)
        self.desks = [self.runner.run(self._open()) for _ in range(2)]
        drafts = {}
        for place, (draft_id, row) in enumerate(self.first.items()):
            values = Values(row["status"], row["text"], rejection_feedback=row["rejection_feedback"])
            drafts[draft_id] = Small(values, row["format"], row["confidence"], place)
        self.model = SmallDesk(drafts)

    async def _open(self):
        desk = await self.stack.enter_async_context(open_desk(settings_at(self.home), clock=self.clock))
        desk.schedule.picking_up.accounts = Accounts(connected=("somewhere",))
        return desk

    def teardown(self) -> None:
        try:
            if hasattr(self, "first"):
                assert_agrees(self.home, self.first)
        finally:
            self.runner.run(self.stack.aclose())
            self.runner.close()
            shutil.rmtree(self.home.parent)

    # What a person does to one draft.

    @rule(which=desks, place=places, text=st.none() | texts, feedback=words, later=hours, how=st.data())
    def change(self, which, place, text, feedback, later, how) -> None:
        draft_id = self.ids[place]
        action = self._action(draft_id, how)
        asked = self._asked(action, feedback, later, how)
        predicted = self.model.change(draft_id, self.clock(), action=action, text=text, **asked)
        self._changed(which, draft_id, predicted, change_of(action, text, asked))

    @rule(which=desks, place=places, text=texts)
    def edit(self, which, place, text) -> None:
        predicted = self.model.change(self.ids[place], self.clock(), text=text)
        self._changed(which, self.ids[place], predicted, ChangeDraft(text=text))

    @rule(which=desks, place=places, action=st.sampled_from(["approve", "archive", "reject"]), back=st.integers(1, 3))
    def change_what_was_seen_before(self, which, place, action, back) -> None:
        draft = self.model.drafts[self.ids[place]]
        asked = ChangeDraft(action=Action(action))
        self._changed(which, self.ids[place], draft.refused(), asked, expected_version=draft.version - back)

    @rule(which=desks, action=actions, later=hours, how=st.data())
    def change_what_is_not_there(self, which, action, later, how) -> None:
        asked = change_of(action, None, self._asked(action, None, later, how))
        self._changed(which, "nobody", Refused(UNKNOWN), asked)

    @rule(which=desks, place=places, hours_ago=st.integers(0, 3), action=st.sampled_from(["schedule", "reschedule"]))
    def schedule_into_the_past(self, which, place, hours_ago, action) -> None:
        at = self.clock() - timedelta(hours=hours_ago)
        error = self._answer(self.desks[which].drafts.change(self.ids[place], change_of(action, None, {"at": at})))
        assert isinstance(error, InvalidError)
        assert [each.field for each in error.errors] == ["scheduledAt"]

    @rule(which=desks, place=places, later=hours, how=st.data())
    def change_between_the_look_and_the_change_of_another(self, which, place, later, how) -> None:
        """One reads the draft; the other changes it; then the first one writes."""
        draft_id, now = self.ids[place], self.clock()
        mine, theirs = self._action(draft_id, how), self._action(draft_id, how)
        slow, fast = self.desks[which], self.desks[1 - which]
        mine_asked, theirs_asked = self._asked(mine, None, later, how), self._asked(theirs, "No.", later, how)
        seen = self.model.drafts[draft_id]
        may = mine in seen.allowed
        before, saw = seen.version, seen.refused()
        theirs_refused = self.model.change(draft_id, now, action=theirs, **theirs_asked)
        if seen.version == before:
            predicted = self.model.change(draft_id, now, action=mine, **mine_asked)
        else:
            # Refused for what was seen, or for what became of it.
            predicted = (seen.refused() if mine != "post" else unconnected(saw)) if may else saw
        write = slow.ground.write
        answers = []

        async def late(*args):
            slow.ground.write = write
            answers.append(await answered(fast.drafts.change(draft_id, change_of(theirs, None, theirs_asked))))
            return await write(*args)

        slow.ground.write = late
        self._changed(which, draft_id, predicted, change_of(mine, None, mine_asked))
        check(answers[0], theirs_refused)

    # What a person does to many.

    @rule(
        which=desks,
        some=st.lists(places | st.just(-1), max_size=3),
        action=st.sampled_from([action.value for action in BULK_ACTIONS]),
        feedback=words,
        later=hours,
        how=st.data(),
    )
    def bulk(self, which, some, action, feedback, later, how) -> None:
        fit = [draft_id for draft_id, draft in self.model.drafts.items() if action in draft.allowed]
        ids = how.draw(st.lists(st.sampled_from(fit or self.ids), min_size=1, max_size=6))
        ids += [self.ids[place] if place >= 0 else "nobody" for place in some]
        asked = self._asked(action, feedback, later, how)
        predicted = self.model.bulk(ids, self.clock(), action=action, **asked)
        given = change_of(action, None, asked)
        each = {"feedback": given.feedback, "scheduled_at": given.scheduled_at, "smart_schedule": given.smart_schedule}
        change = BulkChange(action=Action(action), ids=tuple(ids), **each)
        outcome = self.runner.run(self.desks[which].drafts.bulk(change))
        wanted = list(dict.fromkeys(ids))
        assert list(outcome.results.succeeded) == [draft_id for draft_id in wanted if draft_id not in predicted]
        assert [failure.id for failure in outcome.results.failed] == [each for each in wanted if each in predicted]
        for failure in outcome.results.failed:
            assert self._named(failure.id, predicted[failure.id]) in failure.error

    @rule(which=desks)
    def schedule_all(self, which) -> None:
        # What the checks think of an edited text is not the model's business.
        for draft_id, row in drafts_in(self.home).items():
            self.model.drafts[draft_id].confidence = row["confidence"]
        predicted = self.model.auto(self.clock())
        outcome = self.runner.run(self.desks[which].schedule.auto())
        assert {each.draft_id: each.scheduled_at for each in outcome.scheduled} == predicted

    # Back, and forth again.

    @rule(which=desks, place=st.none() | places)
    def undo(self, which, place) -> None:
        self._take_back(which, "undo", place)

    @precondition(lambda self: any(draft.redo for draft in self.model.drafts.values()))
    @rule(which=desks, place=st.none() | places)
    def redo(self, which, place) -> None:
        self._take_back(which, "redo", place)

    def _take_back(self, which, kind, place) -> None:
        draft_id = None if place is None else self.ids[place]
        predicted = self.model.take_back(kind, self.clock(), draft_id)
        answer = self._answer(getattr(self.desks[which].drafts, kind)(draft_id))
        if isinstance(predicted, Refused):
            assert isinstance(answer, ConflictError), answer
            if predicted.status != UNKNOWN:
                check(answer, predicted)
        else:
            assert not isinstance(answer, Exception), answer
            failed = frozenset(failure.id for failure in answer.failed)
            assert Back(frozenset(answer.succeeded), failed) == predicted

    # What happens by itself.

    @precondition(lambda self: self._times())
    @rule(minutes=st.sampled_from([-60, 0, 20, 31, 60, 1440, 1441]), how=st.data())
    def time_passes(self, minutes, how) -> None:
        """To about the time that a draft has, or would get back."""
        then = how.draw(st.sampled_from(self._times())) + timedelta(minutes=minutes)
        self.clock.now = max(then, self.clock.now + timedelta(minutes=1))

    @precondition(lambda self: self.model.due(self.clock()))
    @rule(which=desks)
    def late_ones_are_missed(self, which) -> None:
        late = self.model.late(self.clock())
        for draft_id in late:
            self.model.happen(draft_id, "late")
        assert set(self.runner.run(self.desks[which].schedule.picking_up.miss())) == late

    @precondition(lambda self: self.model.due(self.clock()))
    @rule(which=desks)
    def due_ones_are_picked_up(self, which) -> None:
        fit = self.model.due(self.clock()) - self.model.late(self.clock())
        taken = {each.draft_id for each in self.runner.run(self.desks[which].schedule.picking_up.pick_up())}
        # One account takes one post in five minutes.
        assert len(taken) == min(1, len(fit))
        assert taken <= fit
        for draft_id in taken:
            self.model.happen(draft_id, "picked_up")

    @precondition(lambda self: self._in(POSTING, REGENERATING, GENERATING))
    @rule(which=desks, how=st.data())
    def what_is_under_way_ends(self, which, how) -> None:
        draft_id = how.draw(st.sampled_from(self._in(POSTING, REGENERATING, GENERATING)))
        status = self.model.drafts[draft_id].values.status
        ends = sorted(what for what, moves in SYSTEM.items() if status in moves)
        what = how.draw(st.sampled_from(ends))
        self.model.happen(draft_id, what)
        self.runner.run(self.desks[which].ground.write(happen, draft_id, what, self.clock()))

    # What is seen.

    @invariant()
    def both_see_what_the_model_says(self) -> None:
        predicted = {draft_id: (draft.values, draft.version) for draft_id, draft in self.model.drafts.items()}
        for desk in self.desks:
            seen = self.runner.run(desk.drafts.list(limit=100)).items
            assert {draft.id: (values_of(draft), draft.version) for draft in seen} == predicted
            counts = self.runner.run(desk.drafts.counts())
            assert {**counts.by_status, "archived": counts.archived} == self.model.counts()
        assert tops(self.home) == {
            draft_id: tuple(stack[-1].version if stack else None for stack in (draft.undo, draft.redo))
            for draft_id, draft in self.model.drafts.items()
        }

    def _times(self):
        stacks = [stack for draft in self.model.drafts.values() for stack in (draft.undo, draft.redo)]
        back = [stack[-1].before for stack in stacks if stack]
        values = [draft.values for draft in self.model.drafts.values()]
        return sorted({each.scheduled_at for each in [*back, *values] if each.scheduled_at})

    def _in(self, *statuses):
        return [draft_id for draft_id, draft in self.model.drafts.items() if draft.values.status in statuses]

    def _action(self, draft_id, how):
        """Mostly one that the draft takes."""
        allowed = sorted(self.model.drafts[draft_id].allowed)
        fit = [action for action in allowed if action not in {"archive", "post"}]
        return how.draw(st.sampled_from(fit * 4 + allowed) | actions if allowed else actions)

    def _asked(self, action, feedback, later, how):
        """What goes with an action: only what it takes."""
        if action in TAKES_FEEDBACK:
            return {"feedback": feedback}
        at = self.clock() + timedelta(hours=later)
        if action == "reschedule":
            return {"at": at}
        if action == "schedule":
            at, smart = how.draw(st.sampled_from([(at, False), (at, True), (None, True), (None, False)]))
            return {"at": at, "smart": smart}
        return {}

    def _named(self, draft_id, refused):
        """What a refusal says of the draft."""
        if refused.status == UNKNOWN:
            return "no draft"
        return "archived" if self.model.drafts[draft_id].values.archived else refused.status

    def _changed(self, which, draft_id, predicted, asked, **options) -> None:
        answer = self._answer(self.desks[which].drafts.change(draft_id, asked, **options))
        check(answer, predicted)
        if predicted is None:
            draft = self.model.drafts[draft_id]
            assert (values_of(answer), answer.version) == (draft.values, draft.version)

    def _answer(self, asked):
        return self.runner.run(answered(asked))


TestAnySteps = AnySteps.TestCase
TestAnySteps.settings = settings(max_examples=500 if PROVE else 40, stateful_step_count=60 if PROVE else 40)


def test_the_model_has_every_state_and_every_action():
    assert set(STATES) == set(Status)
    assert set(FROM) == set(Action)
