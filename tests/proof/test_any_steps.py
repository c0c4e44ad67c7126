"""Stateful test: any sequence of changes to drafts from two desks matches a small model.

The model is `small_desk`; after each step everything visible of the drafts is compared with it.
"""

from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from copydesk.errors import InvalidError
from copydesk.model.change import ChangeDraft
from copydesk.model.draft import BULK_ACTIONS, Action, Status
from proof_desk import PROVE, drafts_in
from small_desk import Refused
from small_tables import FROM, GENERATING, POSTING, REGENERATING, STATES, SYSTEM, UNKNOWN
from steps_fixtures import (
    STARTS,
    answered,
    change_of,
    check,
    happen,
    unconnected,
    under_way,
)
from two_desks import TwoDesks

MINUTE = timedelta(minutes=1)
desks = st.integers(0, 1)
places = st.integers(0, len(STARTS) - 1)
words = st.none() | st.sampled_from(["Shorter, please.", "The figure is wrong."])
texts = st.integers(0, 5).map("These are the words of edition {}.".format)
hours = st.integers(1, 50) | st.sampled_from([21, 29, 45])  # 9, 17 and 9 o'clock at first
actions = st.sampled_from([action.value for action in Action])


class AnySteps(TwoDesks):
    """The rules: everything that may happen, in any order."""

    # Changes of one draft by a user.

    @rule(which=desks, place=places, text=st.none() | texts, feedback=words, later=hours, how=st.data())
    def change(self, which, place, text, feedback, later, how) -> None:
        draft_id = self.ids[place]
        action = self.action(draft_id, how)
        request = self.asking(action, feedback, later, how)
        predicted = self.model.change(draft_id, self.clock(), action=action, text=text, **request)
        self.change_one(which, draft_id, predicted, change_of(action, text, request))

    @rule(which=desks, place=places, text=texts)
    def edit(self, which, place, text) -> None:
        predicted = self.model.change(self.ids[place], self.clock(), text=text)
        self.change_one(which, self.ids[place], predicted, ChangeDraft(text=text))

    @rule(which=desks, place=places, action=st.sampled_from(["approve", "archive", "reject"]), back=st.integers(1, 3))
    def change_what_was_seen_before(self, which, place, action, back) -> None:
        draft = self.model.drafts[self.ids[place]]
        request = ChangeDraft(action=Action(action))
        self.change_one(which, self.ids[place], draft.refused(), request, expected_version=draft.version - back)

    @rule(which=desks, action=actions, later=hours, how=st.data())
    def change_what_is_not_there(self, which, action, later, how) -> None:
        request = change_of(action, None, self.asking(action, None, later, how))
        self.change_one(which, "nobody", Refused(UNKNOWN), request)

    @rule(which=desks, place=places, hours_ago=st.integers(0, 3), action=st.sampled_from(["schedule", "reschedule"]))
    def schedule_into_the_past(self, which, place, hours_ago, action) -> None:
        at = self.clock() - timedelta(hours=hours_ago)
        error = self.answer(self.desks[which].drafts.change(self.ids[place], change_of(action, None, {"at": at})))
        assert isinstance(error, InvalidError)
        assert [failure.field for failure in error.errors] == ["scheduledAt"]

    @rule(which=desks, place=places, later=hours, how=st.data())
    def change_between_the_look_and_the_change_of_another(self, which, place, later, how) -> None:
        """One desk reads the draft, the other changes it, then the first one writes."""
        draft_id, now = self.ids[place], self.clock()
        own_action, theirs = self.action(draft_id, how), self.action(draft_id, how)
        slow, fast = self.desks[which], self.desks[1 - which]
        own_fields, their_fields = self.asking(own_action, None, later, how), self.asking(theirs, "No.", later, how)
        snapshot = self.model.drafts[draft_id]
        allowed = own_action in snapshot.allowed
        before, refusal_before = snapshot.version, snapshot.refused()
        theirs_refused = self.model.change(draft_id, now, action=theirs, **their_fields)
        if snapshot.version == before:
            predicted = self.model.change(draft_id, now, action=own_action, **own_fields)
        else:
            # Refused either by the snapshot it read or by what has become of the draft.
            predicted = (
                (snapshot.refused() if own_action != "post" else unconnected(refusal_before))
                if allowed
                else refusal_before
            )
        write = slow.ground.write
        answers = []

        async def late(*args):
            slow.ground.write = write
            answers.append(await answered(fast.drafts.change(draft_id, change_of(theirs, None, their_fields))))
            return await write(*args)

        slow.ground.write = late
        self.change_one(which, draft_id, predicted, change_of(own_action, None, own_fields))
        check(answers[0], theirs_refused)

    # Bulk changes by a user.

    @rule(
        which=desks,
        some=st.lists(places | st.just(-1), max_size=3),
        action=st.sampled_from([action.value for action in BULK_ACTIONS]),
        feedback=words,
        later=hours,
        how=st.data(),
    )
    def bulk(self, which, some, action, feedback, later, how) -> None:
        ids = how.draw(st.lists(st.sampled_from(self.taking(action) or self.ids), min_size=1, max_size=6))
        ids += [self.ids[place] if place >= 0 else "nobody" for place in some]
        self.do_bulk(which, ids, action, self.asking(action, feedback, later, how))

    @rule(which=desks)
    def schedule_all(self, which) -> None:
        # The model does not predict how the checks rate an edited text.
        for draft_id, row in drafts_in(self.home).items():
            self.model.drafts[draft_id].confidence = row["confidence"]
        predicted = self.model.auto(self.clock())
        outcome = self.runner.run(self.desks[which].schedule.auto())
        assert {failure.draft_id: failure.scheduled_at for failure in outcome.scheduled} == predicted

    # Undo and redo.

    @rule(which=desks, place=st.none() | places)
    def undo(self, which, place) -> None:
        self.take_back(which, "undo", place)

    @precondition(lambda self: any(draft.redo for draft in self.model.drafts.values()))
    @rule(which=desks, place=st.none() | places)
    def redo(self, which, place) -> None:
        self.take_back(which, "redo", place)

    @precondition(lambda self: self.taking("cancel_schedule"))
    @rule(which=desks, how=st.data())
    def undo_a_cancelling_when_the_time_has_passed(self, which, how) -> None:
        draft_id = how.draw(st.sampled_from(self.taking("cancel_schedule")))
        self.clock.now = max(self.clock.now, self.model.drafts[draft_id].values.scheduled_at - MINUTE)
        predicted = self.model.change(draft_id, self.clock(), action="cancel_schedule")
        self.change_one(which, draft_id, predicted, change_of("cancel_schedule", None, {}))
        self.clock.now += how.draw(st.sampled_from([0, 1, 2])) * MINUTE
        self.take_back(1 - which, "undo", self.ids.index(draft_id))

    @precondition(lambda self: len(self.taking("schedule")) > 1)
    @rule(which=desks, how=st.data())
    def undo_a_bulk_of_which_some_are_missed(self, which, how) -> None:
        at = self.clock() + timedelta(hours=5)
        self.do_bulk(which, self.taking("schedule"), "schedule", {"at": at})
        self.clock.now = at + timedelta(minutes=40)
        self.late_ones_are_missed(which)
        self.take_back(1 - which, "undo", None)

    # Changes made by the system.

    @precondition(lambda self: self.times())
    @rule(minutes=st.sampled_from([-60, 0, 20, 31, 60, 1440, 1441]), how=st.data())
    def time_passes(self, minutes, how) -> None:
        """Advance to about a time that a draft has, or would get back."""
        then = how.draw(st.sampled_from(self.times())) + timedelta(minutes=minutes)
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
        taken = {failure.draft_id for failure in self.runner.run(self.desks[which].schedule.picking_up.pick_up())}
        # An account takes one post in five minutes, whichever of the two desks sends it.
        assert len(taken) == (0 if self.model.rests(self.clock()) else min(1, len(fit)))
        assert taken <= fit
        self.runner.run(self.desks[which].ground.write(under_way))
        for draft_id in taken:
            self.model.pick_up(draft_id, self.clock())

    @precondition(lambda self: self.those_in(POSTING, REGENERATING, GENERATING))
    @rule(which=desks, how=st.data())
    def what_is_under_way_ends(self, which, how) -> None:
        draft_id = how.draw(st.sampled_from(self.those_in(POSTING, REGENERATING, GENERATING)))
        status = self.model.drafts[draft_id].values.status
        ends = sorted(what for what, moves in SYSTEM.items() if status in moves)
        what = how.draw(st.sampled_from(ends))
        self.model.happen(draft_id, what)
        self.runner.run(self.desks[which].ground.write(happen, draft_id, what, self.clock()))


TestAnySteps = AnySteps.TestCase
TestAnySteps.settings = settings(max_examples=500 if PROVE else 50, stateful_step_count=60 if PROVE else 40)


def test_model_covers_all_statuses_and_actions():
    assert set(STATES) == set(Status)
    assert set(FROM) == set(Action)
