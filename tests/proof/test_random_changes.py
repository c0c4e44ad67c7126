"""Stateful test: any sequence of changes to drafts from two desks matches a small model.

The model is `reference_model`; after each step everything visible of the drafts is compared with it.
"""

from datetime import timedelta

from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from copydesk.errors import InvalidError
from copydesk.model.draft import BULK_ACTIONS, Action, Status
from copydesk.model.requests import ChangeDraft
from desk_state_machine import TwoDeskMachine
from draft_consistency import load_drafts
from reference_model import Refusal
from reference_tables import ALLOWED_FROM, GENERATING, POSTING, REGENERATING, STATES, STATUS_AFTER_EVENT, UNKNOWN
from sampling import EXHAUSTIVE
from state_machine_fixtures import (
    INITIAL_STATES,
    apply_system_event,
    assert_matches,
    build_change,
    leave_deliveries_unknown,
    result_or_error,
)

MINUTE = timedelta(minutes=1)
desks = st.integers(0, 1)
positions = st.integers(0, len(INITIAL_STATES) - 1)
feedbacks = st.none() | st.sampled_from(["Shorter, please.", "Another sentence."])
texts = st.integers(0, 5).map("These are the words of edition {}.".format)
hours = st.integers(1, 50) | st.sampled_from([21, 29, 45])  # 9, 17 and 9 o'clock at first
actions = st.sampled_from([action.value for action in Action])


class AnySteps(TwoDeskMachine):
    """The rules: everything that may happen, in any order."""

    # Changes of one draft by a user.

    @rule(which=desks, position=positions, text=st.none() | texts, feedback=feedbacks, later=hours, data=st.data())
    def change(self, which, position, text, feedback, later, data) -> None:
        draft_id = self.ids[position]
        action = self.draw_action(draft_id, data)
        request = self.draw_arguments(action, feedback, later, data)
        predicted = self.model.change(draft_id, self.clock(), action=action, text=text, **request)
        self.change_and_check(which, draft_id, predicted, build_change(action, text, request))

    @rule(which=desks, position=positions, text=texts)
    def edit(self, which, position, text) -> None:
        predicted = self.model.change(self.ids[position], self.clock(), text=text)
        self.change_and_check(which, self.ids[position], predicted, ChangeDraft(text=text))

    @rule(
        which=desks,
        position=positions,
        action=st.sampled_from(["approve", "archive", "reject"]),
        back=st.integers(1, 3),
    )
    def change_outdated_version(self, which, position, action, back) -> None:
        draft = self.model.drafts[self.ids[position]]
        request = ChangeDraft(action=Action(action))
        self.change_and_check(
            which, self.ids[position], draft.refusal(), request, expected_version=draft.version - back
        )

    @rule(which=desks, action=actions, later=hours, data=st.data())
    def change_missing_draft(self, which, action, later, data) -> None:
        request = build_change(action, None, self.draw_arguments(action, None, later, data))
        self.change_and_check(which, "nobody", Refusal(UNKNOWN), request)

    @rule(
        which=desks, position=positions, hours_ago=st.integers(0, 3), action=st.sampled_from(["schedule", "reschedule"])
    )
    def schedule_in_past(self, which, position, hours_ago, action) -> None:
        at = self.clock() - timedelta(hours=hours_ago)
        error = self.run(self.desks[which].drafts.change(self.ids[position], build_change(action, None, {"at": at})))
        assert isinstance(error, InvalidError)
        assert [failure.field for failure in error.errors] == ["scheduledAt"]

    @rule(which=desks, position=positions, later=hours, data=st.data())
    def change_between_read_and_write(self, which, position, later, data) -> None:
        """One desk reads the draft, the other changes it, then the first one writes."""
        draft_id, now = self.ids[position], self.clock()
        own_action, theirs = self.draw_action(draft_id, data), self.draw_action(draft_id, data)
        # What the other desk does may allow it, and then it would send.
        assume(own_action != "post")
        slow, fast = self.desks[which], self.desks[1 - which]
        own_fields, their_fields = (
            self.draw_arguments(own_action, None, later, data),
            self.draw_arguments(theirs, "Longer.", later, data),
        )
        snapshot = self.model.drafts[draft_id]
        allowed = own_action in snapshot.allowed
        before, refusal_before = snapshot.version, snapshot.refusal()
        theirs_refused = self.model.change(draft_id, now, action=theirs, **their_fields)
        if snapshot.version == before:
            predicted = self.model.change(draft_id, now, action=own_action, **own_fields)
        else:
            # Refused either by the snapshot it read or by what has become of the draft.
            predicted = snapshot.refusal() if allowed else refusal_before
        write = slow._context.write_durable
        answers = []

        async def late(*args, **options):
            slow._context.write_durable = write
            answers.append(
                await result_or_error(fast.drafts.change(draft_id, build_change(theirs, None, their_fields)))
            )
            return await write(*args, **options)

        slow._context.write_durable = late
        self.change_and_check(which, draft_id, predicted, build_change(own_action, None, own_fields))
        assert_matches(answers[0], theirs_refused)

    # Bulk changes by a user.

    @rule(
        which=desks,
        some=st.lists(positions | st.just(-1), max_size=3),
        action=st.sampled_from([action.value for action in BULK_ACTIONS]),
        feedback=feedbacks,
        later=hours,
        data=st.data(),
    )
    def bulk(self, which, some, action, feedback, later, data) -> None:
        ids = data.draw(st.lists(st.sampled_from(self.drafts_accepting(action) or self.ids), min_size=1, max_size=6))
        ids += [self.ids[place] if place >= 0 else "nobody" for place in some]
        self.bulk_and_check(which, ids, action, self.draw_arguments(action, feedback, later, data))

    @rule(which=desks)
    def schedule_all(self, which) -> None:
        # The model does not predict how the checks rate an edited text.
        for draft_id, row in load_drafts(self.home).items():
            self.model.drafts[draft_id].confidence = row["confidence"] if row["confidence_known"] else None
        predicted = self.model.auto_schedule(self.clock())
        outcome = self.runner.run(self.desks[which].schedule.auto_schedule())
        assert {failure.draft_id: failure.scheduled_at for failure in outcome.scheduled} == predicted

    # Undo and redo.

    @rule(which=desks, position=st.none() | positions)
    def undo(self, which, position) -> None:
        self.revert_and_check(which, "undo", position)

    @precondition(lambda self: any(draft.redo for draft in self.model.drafts.values()))
    @rule(which=desks, position=st.none() | positions)
    def redo(self, which, position) -> None:
        self.revert_and_check(which, "redo", position)

    @precondition(lambda self: self.drafts_accepting("cancel_schedule"))
    @rule(which=desks, data=st.data())
    def undo_cancelled_schedule_after_its_time(self, which, data) -> None:
        draft_id = data.draw(st.sampled_from(self.drafts_accepting("cancel_schedule")))
        self.clock.now = max(self.clock.now, self.model.drafts[draft_id].values.scheduled_at - MINUTE)
        predicted = self.model.change(draft_id, self.clock(), action="cancel_schedule")
        self.change_and_check(which, draft_id, predicted, build_change("cancel_schedule", None, {}))
        self.clock.now += data.draw(st.sampled_from([0, 1, 2])) * MINUTE
        self.revert_and_check(1 - which, "undo", self.ids.index(draft_id))

    @precondition(lambda self: len(self.drafts_accepting("schedule")) > 1)
    @rule(which=desks, data=st.data())
    def undo_bulk_with_missed_drafts(self, which, data) -> None:
        at = self.clock() + timedelta(hours=5)
        self.bulk_and_check(which, self.drafts_accepting("schedule"), "schedule", {"at": at})
        self.clock.now = at + timedelta(minutes=40)
        self.mark_late_as_missed(which)
        self.revert_and_check(1 - which, "undo", None)

    # Changes made by the system.

    @precondition(lambda self: self.scheduled_times())
    @rule(minutes=st.sampled_from([-60, 0, 20, 31, 60, 1440, 1441]), data=st.data())
    def time_passes(self, minutes, data) -> None:
        """Advance to about a time that a draft has, or would get back."""
        then = data.draw(st.sampled_from(self.scheduled_times())) + timedelta(minutes=minutes)
        self.clock.now = max(then, self.clock.now + timedelta(minutes=1))

    @precondition(lambda self: self.model.due_drafts(self.clock()))
    @rule(which=desks)
    def mark_late_as_missed(self, which) -> None:
        late = self.model.late_drafts(self.clock())
        for draft_id in late:
            self.model.apply_system_event(draft_id, "late")
        assert set(self.runner.run(self.desks[which].schedule.due_drafts.mark_missed())) == late

    @precondition(lambda self: self.model.due_drafts(self.clock()))
    @rule(which=desks)
    def dispatch_due(self, which) -> None:
        fit = self.model.due_drafts(self.clock()) - self.model.late_drafts(self.clock())
        taken = {failure.draft_id for failure in self.runner.run(self.desks[which].schedule.due_drafts.dispatch_due())}
        # An account takes one post in five minutes, whichever of the two desks sends it.
        assert len(taken) == (0 if self.model.is_paced(self.clock()) else min(1, len(fit)))
        assert taken <= fit
        self.runner.run(self.desks[which]._context.write(leave_deliveries_unknown))
        for draft_id in taken:
            self.model.start_posting(draft_id, self.clock())

    @precondition(lambda self: self.drafts_in(POSTING, REGENERATING, GENERATING))
    @rule(which=desks, data=st.data())
    def finish_work_in_progress(self, which, data) -> None:
        draft_id = data.draw(st.sampled_from(self.drafts_in(POSTING, REGENERATING, GENERATING)))
        status = self.model.drafts[draft_id].values.status
        ends = sorted(what for what, moves in STATUS_AFTER_EVENT.items() if status in moves)
        what = data.draw(st.sampled_from(ends))
        # Work takes time: a change at the instant of a post would count as a change before it.
        self.clock.now += MINUTE
        self.model.apply_system_event(draft_id, what)
        self.runner.run(self.desks[which]._context.write(apply_system_event, draft_id, what, self.clock()))


TestAnySteps = AnySteps.TestCase
TestAnySteps.settings = settings(max_examples=500 if EXHAUSTIVE else 10, stateful_step_count=60 if EXHAUSTIVE else 40)


def test_model_covers_all_statuses_and_actions():
    assert set(STATES) == set(Status)
    assert set(ALLOWED_FROM) == set(Action)
