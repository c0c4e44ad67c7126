"""Tests for draft status transitions, against tables written out independently."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import ConflictError
from copydesk.model.draft import BULK_ACTIONS, Action, Status
from copydesk.model.transitions import (
    NEW_VERSION,
    SystemEvent,
    allowed_actions,
    can_edit,
    next_status,
    status_after_edit,
    status_after_event,
)

REVIEW = "pending_review awaiting_review changes_requested"
ACTION_TABLE = {
    "approve": (f"{REVIEW} rejected", "approved"),
    "reject": (f"generation_failed {REVIEW} approved missed", "rejected"),
    "regenerate": (f"generation_failed {REVIEW} rejected", "pending_regeneration"),
    "unapprove": ("approved", "awaiting_review"),
    "schedule": ("approved", "scheduled"),
    "reschedule": ("scheduled missed", "scheduled"),
    "cancel_schedule": ("scheduled missed", "approved"),
    "post": ("approved scheduled missed posted", "posting"),
    "archive": (f"generation_failed {REVIEW} approved rejected missed posted", "unchanged"),
}
EDIT_TABLE = {
    "generation_failed": "awaiting_review",
    "changes_requested": "awaiting_review",
    "pending_review": "pending_review",
    "awaiting_review": "awaiting_review",
    "approved": "approved",
    "scheduled": "scheduled",
    "missed": "missed",
}
SYSTEM_TABLE = {
    "text_written": ("pending_generation", "pending_review"),
    "writing_failed": ("pending_generation pending_regeneration", "generation_failed"),
    "new_version_written": ("pending_regeneration", "changes_requested"),
    "picked_up": ("scheduled", "posting"),
    "late": ("scheduled", "missed"),
    "source_changed": ("approved scheduled", "awaiting_review"),
    "ended_live": ("posting", "posted"),
    "ended_not_live": ("posting", "approved"),
}
STATUSES = st.sampled_from(Status)


def expected_status(action: Action, status: Status) -> str | None:
    """Return the status after `action` by the table, or None if it is refused."""
    origins, target = ACTION_TABLE[action]
    if status not in origins.split():
        return None
    return status.value if target == "unchanged" else target


def test_tables_cover_all_actions_and_events():
    assert set(ACTION_TABLE) == set(Action)
    assert set(SYSTEM_TABLE) == set(SystemEvent)


@pytest.mark.parametrize(("action", "status"), product(Action, Status))
def test_action_follows_table_or_is_refused(action, status):
    target = expected_status(action, status)
    if target is None:
        with pytest.raises(ConflictError):
            next_status(action, status, archived=False)
    else:
        assert next_status(action, status, archived=False) == target


@pytest.mark.parametrize("status", Status)
def test_allowed_actions_are_those_not_refused(status):
    assert list(allowed_actions(status, archived=False)) == [
        action for action in Action if expected_status(action, status)
    ]


@pytest.mark.parametrize(("action", "status"), product(Action, Status))
def test_archived_draft_refuses_actions(action, status):
    assert allowed_actions(status, archived=True) == ()
    with pytest.raises(ConflictError) as caught:
        next_status(action, status, archived=True)
    verb = "unschedule" if action is Action.CANCEL_SCHEDULE else action
    assert str(caught.value) == f"Cannot {verb} an archived draft. Restore it first: copydesk draft restore ID"
    assert (caught.value.current_status, caught.value.allowed_actions) == (status, ())


@pytest.mark.parametrize("status", Status)
def test_edit_follows_table_or_is_refused(status):
    assert can_edit(status, archived=False) == (status in EDIT_TABLE)
    if status in EDIT_TABLE:
        assert status_after_edit(status, archived=False) == EDIT_TABLE[status]
    else:
        with pytest.raises(ConflictError, match="Cannot edit a"):
            status_after_edit(status, archived=False)


@pytest.mark.parametrize("status", Status)
def test_archived_draft_refuses_edits(status):
    assert not can_edit(status, archived=True)
    with pytest.raises(ConflictError, match="Restore it first"):
        status_after_edit(status, archived=True)


@pytest.mark.parametrize(("happening", "status"), product(SystemEvent, Status))
def test_system_event_follows_table(happening, status):
    origins, target = SYSTEM_TABLE[happening]
    if status in origins.split():
        assert status_after_event(happening, status) == target
    else:
        with pytest.raises(ConflictError):
            status_after_event(happening, status)


def test_new_version_awaits_review():
    assert NEW_VERSION == "awaiting_review"


def test_unapprove_with_feedback_requests_changes():
    def status_after_unapprove(feedback: str | None) -> Status:
        return next_status(Action.UNAPPROVE, Status.APPROVED, archived=False, feedback=feedback)

    assert status_after_unapprove("shorter, please") == "changes_requested"
    assert [status_after_unapprove(blank) for blank in (None, "", " \n")] == ["awaiting_review"] * 3


@given(st.sampled_from([action for action in Action if action != "unapprove"]), STATUSES)
def test_feedback_affects_unapprove_only(action, status):
    if action in allowed_actions(status, archived=False):
        with_feedback = next_status(action, status, archived=False, feedback="because")
        assert with_feedback == next_status(action, status, archived=False)


def test_refusal_names_status_and_allowed_actions():
    with pytest.raises(ConflictError) as caught:
        next_status(Action.APPROVE, Status.POSTED, archived=False)
    assert str(caught.value) == "Cannot approve a draft with the status “posted”. Use archive or post instead."
    assert caught.value.current_status == "posted"
    assert caught.value.allowed_actions == ("archive", "post")


def test_repeated_action_names_time():
    with pytest.raises(ConflictError) as caught:
        next_status(Action.SCHEDULE, Status.SCHEDULED, archived=False, scheduled_for="Mon 30 Nov 09:00")
    assert str(caught.value) == "Already scheduled for Mon 30 Nov 09:00. Use reschedule, unschedule or post instead."


@given(STATUSES)
def test_status_has_action_or_names_what_to_wait_for(status):
    for action in set(Action) - set(allowed_actions(status, archived=False)):
        with pytest.raises(ConflictError) as caught:
            next_status(action, status, archived=False)
        assert caught.value.hint.startswith(("Use ", "Wait until ", "Unfinished deliveries "))
        assert not caught.value.hint.endswith("Use  instead.")


@given(STATUSES)
def test_archive_is_refused_during_system_work(status):
    """System events therefore never meet an archived draft; a change of its source leaves it alone."""
    events = {name: move for name, move in SYSTEM_TABLE.items() if name != "source_changed"}
    working = {origin for origins, _ in events.values() for origin in origins.split()}
    assert ("archive" in allowed_actions(status, archived=False)) == (status not in working)


@given(STATUSES, st.lists(st.sampled_from([*Action, *SystemEvent, "edit"]), max_size=30))
def test_no_status_is_a_dead_end(status, steps):
    for step in steps:
        try:
            if step == "edit":
                status = status_after_edit(status, archived=False)
            elif step in set(Action):
                status = next_status(Action(step), status, archived=False)
            else:
                status = status_after_event(SystemEvent(step), status)
        except ConflictError:
            continue
    events = [event for event, (origins, _) in SYSTEM_TABLE.items() if status in origins.split()]
    assert allowed_actions(status, archived=False) or events


def test_bulk_actions_are_those_of_the_interface():
    assert BULK_ACTIONS == ("approve", "reject", "archive", "schedule", "reschedule", "cancel_schedule")
