"""Tests that no change is lost when two processes change the same fifty drafts as fast as they can."""

from copydesk.model.draft import Status
from desk_fixtures import open_desk_at
from draft_consistency import HOURLY_SLOTS, assert_consistent, insert_drafts, load_drafts, load_events
from racing_changes import run_racers
from sampling import EXHAUSTIVE

DRAFTS = 50
STEPS = 5000 if EXHAUSTIVE else 250
"""Operations of each process: a number of them, because the time that they take depends on the machine."""
STATES = [status for status in Status if status not in {Status.POSTING, Status.SCHEDULED, Status.PENDING_GENERATION}]


async def test_concurrent_changes_are_neither_lost_nor_repeated(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        await insert_drafts(desk, (STATES * DRAFTS)[:DRAFTS])
        await desk.schedule.set_slots(HOURLY_SLOTS)
    before = load_drafts(tmp_path)

    answers = run_racers(tmp_path, ["desk", "desk"], STEPS)

    assert [answer["wrong"] for answer in answers] == [[], []]
    # Each draft has one chain of versions, and each change follows from the state before it.
    assert_consistent(tmp_path, before)
    events = load_events(tmp_path)
    assert sum(len(draft_events) - 1 for draft_events in events.values()) == sum(answer["done"] for answer in answers)
    changed = [tuple(change) for answer in answers for change in answer["changed"]]
    assert len({(draft_id, version) for draft_id, version, _ in changed}) == len(changed)
    for draft_id, version, text in changed:
        event = events[draft_id][version - 1]
        assert event["kind"] == "change"
        assert event["action"] != "edit" or event["after"].get("text", text) == text
    # A refusal is a conflict naming the draft's current state, or says that there is nothing to undo.
    refusals = [error for answer in answers for error in answer["refused"]]
    # A few hundred steps need not meet.
    assert not EXHAUSTIVE or any("changed in the meantime" in error for error in refusals)
    assert_slots_were_free(before, events)


def assert_slots_were_free(before, events):
    """Assert that each automatically assigned slot was free. An undo may return a draft to a slot taken since."""
    slots = dict.fromkeys(before)
    rows = {draft_id: dict(row) for draft_id, row in before.items()}
    assigned = 0
    for event in sorted(
        (event for draft_events in events.values() for event in draft_events), key=lambda event: event["rid"]
    ):
        draft_id, row = event["draft_id"], rows[event["draft_id"]]
        row |= event["after"]
        slots[draft_id] = row["scheduled_at"] if row["status"] == "scheduled" else None
        if event["kind"] == "change" and event["action"] == "schedule":
            assigned += 1
            assert list(slots.values()).count(row["scheduled_at"]) == 1, event
    assert assigned > 20
