"""Tests for bulk actions: each draft wholly changed or not at all, results in request order, errors per draft."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from copydesk.errors import InvalidError, StoreFullError
from copydesk.model.draft import Action
from copydesk.model.requests import ChangeDraft
from copydesk.model.schedule import Slot
from copydesk.model.serialization import to_json_value
from copydesk.store import draft_updates, schedule
from desk_fixtures import NOW, FakeWeb, execute_sql, open_desk_at, query_db

UNKNOWN_ID = "019c4a5e-0000-7000-8000-000000000000"
MONDAY_9 = Slot(day_of_week=1, hour=9, minute=0)


@pytest.fixture
async def desk(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        yield desk


async def create_drafts(desk, count: int) -> list[str]:
    return [(await desk.drafts.create({"text": f"Text {number}."})).drafts[0].id for number in range(count)]


def statuses(home) -> list[object]:
    return [status for (status,) in query_db(home, "SELECT status FROM draft ORDER BY id")]


async def test_results_keep_request_order(desk, tmp_path):
    first, second, third = await create_drafts(desk, 3)
    await desk.drafts.reject(second)
    await desk.drafts.archive(third)
    result = await desk.drafts.bulk(
        {"action": "reject", "ids": [third, UNKNOWN_ID, first, second, first], "feedback": "No."}
    )

    assert to_json_value(result) == {
        "action": "reject",
        "total": 4,
        "succeeded": 1,
        "failed": 3,
        "results": {
            "succeeded": [first],
            "failed": [
                {
                    "id": third,
                    "error": "Cannot reject an archived draft.",
                    "type": "/problems/conflict",
                    "hint": "Restore it first: copydesk draft restore ID",
                },
                {
                    "id": UNKNOWN_ID,
                    "error": f"No draft '{UNKNOWN_ID}'.",
                    "type": "/problems/not-found",
                    "hint": "List all drafts: `copydesk draft list`.",
                },
                {
                    "id": second,
                    "error": "Already rejected.",
                    "type": "/problems/conflict",
                    "hint": "Use approve, regenerate or archive instead.",
                },
            ],
        },
    }
    assert query_db(tmp_path, "SELECT rejection_feedback FROM draft ORDER BY id") == [("No.",), (None,), (None,)]


async def test_bulk_writes_one_event_per_draft(desk, tmp_path):
    ids = await create_drafts(desk, 60)
    result = await desk.drafts.bulk({"action": "approve", "ids": ids[::-1]})

    assert result.results.succeeded == tuple(ids[::-1])
    assert statuses(tmp_path) == ["approved"] * 60
    events = query_db(tmp_path, "SELECT draft_id, version FROM draft_event WHERE action = 'approve' ORDER BY rid")
    assert events == [(draft_id, 2) for draft_id in ids[::-1]]
    assert len(query_db(tmp_path, "SELECT DISTINCT bulk_id FROM draft_event WHERE action = 'approve'")) == 1


async def test_schedule_assigns_slots_in_request_order(desk):
    await desk._context.write(schedule.replace_slots, [MONDAY_9])
    ids = await create_drafts(desk, 55)
    await desk.drafts.bulk({"action": "approve", "ids": ids})
    result = await desk.drafts.bulk({"action": "schedule", "ids": [ids[1], UNKNOWN_ID, *ids[2:], ids[0]]})
    scheduled_at = [(await desk.drafts.get(draft_id)).scheduled_at for draft_id in result.results.succeeded]

    monday = datetime(2026, 2, 16, 9, 0, tzinfo=UTC)
    assert scheduled_at == [monday + timedelta(weeks=week) for week in range(52)]
    assert result.results.succeeded == tuple(ids[1:53])
    assert [failure.id for failure in result.results.failed] == [UNKNOWN_ID, ids[53], ids[54], ids[0]]
    assert result.results.failed[1].error.startswith("All slots in the next 366 days are taken.")


async def test_given_time_applies_to_all_drafts(desk):
    ids = await create_drafts(desk, 2)
    await desk.drafts.bulk({"action": "approve", "ids": ids})
    time = NOW + timedelta(days=1)
    await desk.drafts.bulk({"action": "schedule", "ids": ids, "scheduledAt": time})
    request = {"action": "reschedule", "ids": ids, "scheduledAt": time + timedelta(hours=1)}

    assert (await desk.drafts.bulk(request)).succeeded == 2
    assert [(await desk.drafts.get(draft_id)).scheduled_at for draft_id in ids] == [time + timedelta(hours=1)] * 2
    assert (await desk.drafts.bulk({"action": "cancel_schedule", "ids": ids})).succeeded == 2


INVALID_REQUESTS = {
    "ids": [{"action": "approve"}, {"action": "approve", "ids": []}, {"action": "approve", "ids": ["x"] * 101}],
    "ids[1]": [{"action": "approve", "ids": ["x", ""]}, {"action": "approve", "ids": ["x", 5]}],
    "action": [{"ids": ["x"]}, *({"action": name, "ids": ["x"]} for name in ("post", "regenerate", "unapprove"))],
    "scheduledAt": [
        {"action": "reschedule", "ids": ["x"]},
        {"action": "schedule", "ids": ["x"], "scheduledAt": NOW},
        {"action": "schedule", "ids": ["x"], "scheduledAt": "9999-01-01T00:00:00Z"},
    ],
    "feedback": [{"action": "approve", "ids": ["x"], "feedback": "Good."}],
}


@pytest.mark.parametrize(
    ("field", "payload"), [(field, payload) for field, payloads in INVALID_REQUESTS.items() for payload in payloads]
)
async def test_invalid_request_names_field(desk, field, payload):
    with pytest.raises(InvalidError) as refused:
        await desk.drafts.bulk(payload)

    assert field in [error.field for error in refused.value.errors]


async def test_full_disk_keeps_completed_parts(desk, tmp_path, monkeypatch):
    ids = await create_drafts(desk, 60)
    apply_updates, count = draft_updates.apply_updates, 0

    def apply_until_full(conn, user_id, changes):
        nonlocal count
        count += len(changes)
        apply_updates(conn, user_id, changes)
        if count > 55:
            raise StoreFullError

    monkeypatch.setattr(draft_updates, "apply_updates", apply_until_full)
    result = await desk.drafts.bulk({"action": "approve", "ids": ids})

    assert result.results.succeeded == tuple(ids[:50])
    assert {failure.error for failure in result.results.failed} == {str(StoreFullError())}
    assert statuses(tmp_path) == ["approved"] * 50 + ["awaiting_review"] * 10
    assert query_db(tmp_path, "SELECT count(*) FROM draft_event") == [(60 + 50,)]


async def test_full_disk_ends_an_action_on_all_drafts(desk, tmp_path, monkeypatch):
    ids = await create_drafts(desk, 250)
    apply_updates, count = draft_updates.apply_updates, 0

    def apply_until_full(conn, user_id, changes):
        nonlocal count
        count += len(changes)
        if count >= 120:
            raise StoreFullError
        apply_updates(conn, user_id, changes)

    monkeypatch.setattr(draft_updates, "apply_updates", apply_until_full)
    result = await desk.drafts.bulk_all(Action.APPROVE, ids)

    assert (result.succeeded, result.failed, result.stopped_by) == (100, 150, str(StoreFullError()))
    # The third batch was not tried.
    assert count == 150
    monkeypatch.undo()
    assert (await desk.drafts.undo()).succeeded == tuple(ids[:100][::-1])


async def test_read_that_fails_later_keeps_the_outcome(desk, monkeypatch):
    ids = await create_drafts(desk, 150)
    load_snapshots, count = draft_updates.load_snapshots, 0

    def load_once(*args):
        nonlocal count
        count += 1
        # Each batch of 100 reads once, and then in each of its two transactions.
        if count == 4:
            raise StoreFullError
        return load_snapshots(*args)

    monkeypatch.setattr(draft_updates, "load_snapshots", load_once)
    result = await desk.drafts.bulk_all(Action.APPROVE, ids)

    assert (result.succeeded, result.failed, result.stopped_by) == (100, 50, str(StoreFullError()))


async def test_full_disk_ends_an_undo(desk, monkeypatch):
    ids = await create_drafts(desk, 250)
    await desk.drafts.bulk_all(Action.APPROVE, ids)

    def fail(*_):
        raise StoreFullError

    monkeypatch.setattr(draft_updates, "apply_updates", fail)
    result = await desk.drafts.undo()

    assert (len(result.succeeded), len(result.failed), result.stopped_by) == (0, 250, str(StoreFullError()))


async def test_two_desks_share_the_drafts(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb()) as first_desk, open_desk_at(tmp_path, FakeWeb()) as second_desk:
        ids = await create_drafts(first_desk, 80)
        request = {"action": "approve", "ids": ids}
        results = await asyncio.gather(
            first_desk.drafts.bulk(request), second_desk.drafts.bulk({**request, "ids": ids[::-1]})
        )

    assert sum(result.succeeded for result in results) == 80
    assert statuses(tmp_path) == ["approved"] * 80
    assert query_db(tmp_path, "SELECT count(*) FROM draft_event WHERE action = 'approve'") == [(80,)]


async def test_act_accepts_actions_not_in_bulk_request(desk):
    first, second, third = await create_drafts(desk, 3)
    result = await desk.drafts.bulk_all(
        Action.REGENERATE, [second, UNKNOWN_ID, first, second], ChangeDraft(feedback="Shorter.")
    )

    assert (result.action, result.total, result.results.succeeded) == ("regenerate", 3, (second, first))
    assert [failure.id for failure in result.results.failed] == [UNKNOWN_ID]
    assert [(await desk.drafts.get(draft_id)).feedback for draft_id in (first, second, third)] == [
        "Shorter.",
        "Shorter.",
        None,
    ]
    with pytest.raises(InvalidError, match="scheduledAt: is missing"):
        await desk.drafts.bulk_all(Action.RESCHEDULE, [first])


async def test_matching_returns_filtered_ids(desk, tmp_path):
    ids = await create_drafts(desk, 5)
    await desk.drafts.approve(ids[3])
    await desk.drafts.archive(ids[4])

    assert await desk.drafts.matching_ids() == tuple(ids[::-1])
    assert await desk.drafts.matching_ids(status="approved") == (ids[3],)
    assert await desk.drafts.matching_ids(status="awaiting_review", archived="exclude") == tuple(ids[2::-1])
    execute_sql(tmp_path, "DELETE FROM draft")
    assert await desk.drafts.matching_ids() == ()


async def test_bulk_does_not_post(desk, tmp_path):
    ids = await create_drafts(desk, 2)
    await desk.drafts.bulk({"action": "approve", "ids": ids})
    with pytest.raises(InvalidError, match="post drafts one at a time") as refused:
        await desk.drafts.bulk_all(Action.POST, ids)
    assert [problem.field for problem in refused.value.errors] == ["action"]
    assert statuses(tmp_path) == ["approved"] * 2
