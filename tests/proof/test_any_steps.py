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
from sqlalchemy import Connection

from copydesk.desk import open_desk
from copydesk.desk.picking_up import Accounts
from copydesk.errors import ConflictError, CopydeskError, InvalidError, NotFoundError
from copydesk.model.change import BulkChange, ChangeDraft
from copydesk.model.draft import BULK_ACTIONS, Action, Status
from copydesk.model.history import SYSTEM as BY_ITSELF
from copydesk.model.history import EventKind
from copydesk.model.schedule import Slot
from copydesk.store import changes
from desk_fixtures import Watch, rows, settings_at
from proof_desk import PROVE, assert_agrees, drafts_in, furnish
from small_desk import (
    FROM,
    GENERATING,
    HOURS,
    POSTING,
    REGENERATING,
    STATES,
    SYSTEM,
    UNKNOWN,
    WITH_TIME,
    Back,
    Refused,
    Small,
    SmallDesk,
    Values,
)

FORMATS = ("SHORT", "BLOG", "THREAD")
# What is waiting or posted takes little, and the rest of the states are come to.
STARTS = (
    *("pending_review", "approved", "awaiting_review", "approved", "rejected", "changes_requested"),
    *("generation_failed", "pending_generation"),
)
TAKES_FEEDBACK = {"reject", "unapprove", "regenerate"}
UNDO_TOPS = """SELECT draft.id, undo.version, redo.version FROM draft
    LEFT JOIN draft_event AS undo ON undo.rid = draft.undo_rid
    LEFT JOIN draft_event AS redo ON redo.rid = draft.redo_rid"""

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
        self._changed(which, draft_id, predicted, _change(action, text, asked))

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
        asked = _change(action, None, self._asked(action, None, later, how))
        self._changed(which, "nobody", Refused(UNKNOWN), asked)

    @rule(which=desks, place=places, hours_ago=st.integers(0, 3), action=st.sampled_from(["schedule", "reschedule"]))
    def schedule_into_the_past(self, which, place, hours_ago, action) -> None:
        at = self.clock() - timedelta(hours=hours_ago)
        error = self._answer(self.desks[which].drafts.change(self.ids[place], _change(action, None, {"at": at})))
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
            predicted = (seen.refused() if mine != "post" else _unconnected(saw)) if may else saw
        write = slow.ground.write
        answers = []

        async def late(*args):
            slow.ground.write = write
            answers.append(await _answered(fast.drafts.change(draft_id, _change(theirs, None, theirs_asked))))
            return await write(*args)

        slow.ground.write = late
        self._changed(which, draft_id, predicted, _change(mine, None, mine_asked))
        _check(answers[0], theirs_refused)

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
        given = _change(action, None, asked)
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
                _check(answer, predicted)
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
        self.runner.run(self.desks[which].ground.write(_happen, draft_id, what, self.clock()))

    # What is seen.

    @invariant()
    def both_see_what_the_model_says(self) -> None:
        predicted = {draft_id: (draft.values, draft.version) for draft_id, draft in self.model.drafts.items()}
        for desk in self.desks:
            seen = self.runner.run(desk.drafts.list(limit=100)).items
            assert {draft.id: (_values(draft), draft.version) for draft in seen} == predicted
            counts = self.runner.run(desk.drafts.counts())
            assert {**counts.by_status, "archived": counts.archived} == self.model.counts()
        tops = {draft_id: (undo, redo) for draft_id, undo, redo in rows(self.home, UNDO_TOPS)}
        assert tops == {
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
        _check(answer, predicted)
        if predicted is None:
            draft = self.model.drafts[draft_id]
            assert (_values(answer), answer.version) == (draft.values, draft.version)

    def _answer(self, asked):
        return self.runner.run(_answered(asked))


async def _answered(asked):
    """What is answered, or the error."""
    try:
        return await asked
    except CopydeskError as error:
        return error


def _check(answer, predicted) -> None:
    """The answer is no error, or the one that was predicted, which names the state and what is allowed."""
    if predicted is None:
        assert not isinstance(answer, Exception), answer
    elif predicted.status == UNKNOWN:
        assert isinstance(answer, NotFoundError), answer
    else:
        assert isinstance(answer, ConflictError), answer
        assert (answer.current_status, set(answer.allowed_actions)) == predicted, answer


def _unconnected(refused):
    return Refused(refused.status, refused.allowed - {"post"})


def _change(action, text, asked):
    return ChangeDraft(
        action=Action(action),
        text=text,
        feedback=asked.get("feedback"),
        scheduled_at=asked.get("at"),
        smart_schedule=asked.get("smart", False),
    )


def _values(draft):
    return Values(
        draft.status,
        draft.text,
        draft.scheduled_at,
        draft.archived_at is not None,
        draft.feedback,
        draft.rejection_feedback,
    )


def _happen(conn: Connection, user_id: str, draft_id: str, what: str, now) -> None:
    """What those do who post and write, in their place: a change that stands."""
    seen = changes.one_seen(conn, user_id, draft_id)
    after = {"status": SYSTEM[what][seen.status]}
    if after["status"] not in WITH_TIME:
        after |= dict.fromkeys(("scheduled_at", "scheduled_wall", "scheduled_zone"))
    step = changes.Step(kind=EventKind.FIXED, action=what, after=after, at=now, who=BY_ITSELF)
    changes.put(conn, user_id, seen, step)


_FURNISHED: list[tempfile.TemporaryDirectory] = []


def furnished() -> Path:
    """A desk with its drafts, made once: each course begins with a copy."""
    if not _FURNISHED:
        _FURNISHED.append(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        asyncio.run(_furnish(Path(_FURNISHED[0].name)))
    return Path(_FURNISHED[0].name)


async def _furnish(home: Path) -> None:
    async with open_desk(settings_at(home), clock=Watch()) as desk:
        await furnish(desk, STARTS, FORMATS)
        await desk.schedule.set_zone("UTC")
        await desk.schedule.set_slots(
            [Slot(day_of_week=day, hour=hour, minute=0) for day in range(7) for hour in HOURS]
        )


TestAnySteps = AnySteps.TestCase
TestAnySteps.settings = settings(max_examples=800 if PROVE else 40, stateful_step_count=60 if PROVE else 40)


def test_the_model_has_every_state_and_every_action():
    assert set(STATES) == set(Status)
    assert set(FROM) == set(Action)
