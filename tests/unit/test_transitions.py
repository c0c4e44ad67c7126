"""What a draft takes in which state: the tables of the decisions, written out again."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import ConflictError
from copydesk.model.draft import BULK_ACTIONS, Action, Status
from copydesk.model.transitions import (
    NEW_VERSION,
    Happening,
    after,
    after_edit,
    after_happening,
    allowed_actions,
    may_edit,
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
    "ended_live": ("posting", "posted"),
    "ended_not_live": ("posting", "approved"),
}
STATUSES = st.sampled_from(Status)


def expected(action: Action, status: Status) -> str | None:
    """Where the table says that `action` leads from `status`; None where it is refused."""
    origins, to = ACTION_TABLE[action]
    if status not in origins.split():
        return None
    return status.value if to == "unchanged" else to


def test_the_tables_name_every_action_and_every_happening():
    assert set(ACTION_TABLE) == set(Action)
    assert set(SYSTEM_TABLE) == set(Happening)


@pytest.mark.parametrize(("action", "status"), product(Action, Status))
def test_each_action_leads_where_the_table_says_or_is_refused(action, status):
    to = expected(action, status)
    if to is None:
        with pytest.raises(ConflictError):
            after(action, status, archived=False)
    else:
        assert after(action, status, archived=False) == to


@pytest.mark.parametrize("status", Status)
def test_the_allowed_actions_are_those_that_are_not_refused(status):
    assert list(allowed_actions(status, archived=False)) == [action for action in Action if expected(action, status)]


@pytest.mark.parametrize(("action", "status"), product(Action, Status))
def test_an_archived_draft_takes_nothing(action, status):
    assert allowed_actions(status, archived=True) == ()
    with pytest.raises(ConflictError) as refused:
        after(action, status, archived=True)
    assert str(refused.value) == f"This draft is archived; {action} is not possible. Undo the archiving first."
    assert (refused.value.current_status, refused.value.allowed_actions) == (status, ())


@pytest.mark.parametrize("status", Status)
def test_an_edit_leads_where_the_table_says_or_is_refused(status):
    assert may_edit(status, archived=False) == (status in EDIT_TABLE)
    if status in EDIT_TABLE:
        assert after_edit(status, archived=False) == EDIT_TABLE[status]
    else:
        with pytest.raises(ConflictError, match="edit is not possible"):
            after_edit(status, archived=False)


@pytest.mark.parametrize("status", Status)
def test_an_archived_draft_is_not_edited(status):
    assert not may_edit(status, archived=True)
    with pytest.raises(ConflictError, match="Undo the archiving first"):
        after_edit(status, archived=True)


@pytest.mark.parametrize(("happening", "status"), product(Happening, Status))
def test_what_the_system_does_leads_where_the_table_says(happening, status):
    origins, to = SYSTEM_TABLE[happening]
    if status in origins.split():
        assert after_happening(happening, status) == to
    else:
        with pytest.raises(ConflictError):
            after_happening(happening, status)


def test_a_new_version_waits_for_another_look():
    assert NEW_VERSION == "awaiting_review"


def test_unapprove_with_feedback_asks_for_changes_and_blank_feedback_is_none():
    def unapproved(feedback: str | None) -> Status:
        return after(Action.UNAPPROVE, Status.APPROVED, archived=False, feedback=feedback)

    assert unapproved("shorter, please") == "changes_requested"
    assert [unapproved(blank) for blank in (None, "", " \n")] == ["awaiting_review"] * 3


@given(st.sampled_from([action for action in Action if action != "unapprove"]), STATUSES)
def test_feedback_changes_the_way_of_no_other_action(action, status):
    if action in allowed_actions(status, archived=False):
        with_feedback = after(action, status, archived=False, feedback="because")
        assert with_feedback == after(action, status, archived=False)


def test_a_refusal_says_what_the_draft_is_and_what_it_takes():
    with pytest.raises(ConflictError) as refused:
        after(Action.APPROVE, Status.POSTED, archived=False)
    assert str(refused.value) == "This draft is posted; approve is not possible. Possible now: archive, post."
    assert refused.value.current_status == "posted"
    assert refused.value.allowed_actions == ("archive", "post")


@given(STATUSES)
def test_every_state_takes_an_action_or_says_what_to_wait_for(status):
    for action in set(Action) - set(allowed_actions(status, archived=False)):
        with pytest.raises(ConflictError) as refused:
            after(action, status, archived=False)
        assert refused.value.hint.startswith(("Possible now: ", "Wait until "))
        assert not refused.value.hint.endswith(": .")


@given(STATUSES)
def test_no_draft_is_archived_while_something_is_under_way(status):
    """So what the system does never meets an archived draft."""
    moving = {origin for origins, _ in SYSTEM_TABLE.values() for origin in origins.split()}
    assert ("archive" in allowed_actions(status, archived=False)) == (status not in moving)


@given(STATUSES, st.lists(st.sampled_from([*Action, *Happening, "edit"]), max_size=30))
def test_from_every_state_there_is_a_way_on(status, steps):
    for step in steps:
        try:
            if step == "edit":
                status = after_edit(status, archived=False)
            elif step in set(Action):
                status = after(Action(step), status, archived=False)
            else:
                status = after_happening(Happening(step), status)
        except ConflictError:
            continue
    happenings = [happening for happening, (origins, _) in SYSTEM_TABLE.items() if status in origins.split()]
    assert allowed_actions(status, archived=False) or happenings


def test_bulk_takes_the_actions_of_the_interface():
    assert BULK_ACTIONS == ("approve", "reject", "archive", "schedule", "reschedule", "cancel_schedule")
