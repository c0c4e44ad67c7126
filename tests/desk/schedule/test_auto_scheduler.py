"""Tests for automatic scheduling: best drafts first, one per slot; the dry run plans the same."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from copydesk.desk import schedule
from copydesk.errors import InvalidError, StoreFullError
from desk_fixtures import NOW, open_desk_at, query_db
from schedule_fixtures import (
    FRI,
    MON,
    WED,
    draft_status,
    insert_draft,
    insert_drafts,
    insert_scheduled,
    make_slot,
    scheduled_times,
)

DAILY = [make_slot(day, 9) for day in range(7)]


async def test_best_then_oldest_draft_first(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        young, old = [await insert_draft(desk, confidence=0.5, created_at=NOW - timedelta(days=age)) for age in (1, 2)]
        best = await insert_draft(desk, confidence=0.9)
        outcome = await desk.schedule.auto_schedule()
        assert [assignment.draft_id for assignment in outcome.scheduled] == [best, old, young]
        days = [datetime(2026, 2, day, 9, tzinfo=UTC) for day in (11, 12, 13)]
        assert [assignment.scheduled_at for assignment in outcome.scheduled] == days
        assert (outcome.skipped, outcome.reason) == (0, "")
        assert await scheduled_times(desk) == {
            assignment.draft_id: assignment.scheduled_at for assignment in outcome.scheduled
        }


async def test_dry_run_returns_plan_only(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots([make_slot(MON, 9), make_slot(WED, 14, 30)])
        await insert_drafts(desk, 5)
        await insert_scheduled(desk, datetime(2026, 2, 16, 9, tzinfo=UTC))
        before = query_db(tmp_path, "SELECT * FROM draft ORDER BY id")
        planned = await desk.schedule.auto_schedule(dry_run=True)
        assert query_db(tmp_path, "SELECT * FROM draft ORDER BY id") == before
        assert query_db(tmp_path, "SELECT count(*) FROM draft_event") == [(0,)]
        applied = await desk.schedule.auto_schedule()
        assert applied.scheduled == planned.scheduled
        assert (planned.bulk_id, applied.bulk_id is None) == (None, False)


async def test_occupied_slots_are_skipped(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots([make_slot(FRI, 9)])
        # A slot is a minute wide: a draft anywhere within it occupies it.
        await insert_scheduled(desk, datetime(2026, 2, 13, 9, 0, 30, tzinfo=UTC))
        await insert_draft(desk, status="missed", scheduled_at=datetime(2026, 2, 20, 9, tzinfo=UTC))
        draft_id = await insert_draft(desk)
        (assignment,) = (await desk.schedule.auto_schedule()).scheduled
        assert (assignment.draft_id, assignment.scheduled_at) == (draft_id, datetime(2026, 2, 20, 9, tzinfo=UTC))


async def test_only_given_approved_drafts_are_scheduled(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        first, second, other = await insert_drafts(desk, 3)
        rejected = await insert_draft(desk, status="rejected")
        archived = await insert_draft(desk, archived_at=NOW)
        outcome = await desk.schedule.auto_schedule([second, first, rejected, archived, "nobody", second])
        assert {assignment.draft_id for assignment in outcome.scheduled} == {first, second}
        assert (outcome.skipped, outcome.reason) == (3, "3 are not approved")
        assert await draft_status(desk, other) == "approved"
        assert await draft_status(desk, archived) == "approved"


async def test_default_is_approved_and_not_archived(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        await insert_draft(desk, status="pending_review")
        await insert_draft(desk, archived_at=NOW)
        outcome = await desk.schedule.auto_schedule()
        assert (outcome.scheduled, outcome.skipped, outcome.reason) == ((), 0, "")


async def test_no_slots_skips_all(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await insert_drafts(desk, 2)
        outcome = await desk.schedule.auto_schedule()
        assert (outcome.scheduled, outcome.skipped) == ((), 2)
        assert outcome.reason == "no weekly slots yet"


async def test_slots_of_one_year_are_used(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots([make_slot(FRI, 9)])
        await insert_drafts(desk, 55)
        outcome = await desk.schedule.auto_schedule()
        assert (len(outcome.scheduled), outcome.skipped) == (52, 3)
        assert "all slots in the next 366 days are taken" in outcome.reason


@pytest.mark.parametrize(
    ("ids", "field"),
    [
        ([], "draftIds"),
        (["x"] * 10_001, "draftIds"),
        ("01a16dc8", "draftIds"),
        ({"id": 1}, "draftIds"),
        (["x", 7], "draftIds[1]"),
        ([""], "draftIds[0]"),
        (["\x00"], "draftIds[0]"),
        (["\ud800"], "draftIds[0]"),
    ],
)
async def test_invalid_ids_are_refused(tmp_path: Path, ids: list[str], field: str) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        draft_id = await insert_draft(desk)
        with pytest.raises(InvalidError) as refused:
            await desk.schedule.auto_schedule(ids)
        assert refused.value.errors[0].field == field
        assert await draft_status(desk, draft_id) == "approved"


async def test_foreign_draft_is_unknown(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        draft_id = await insert_draft(desk)
        user = desk._context.user
        foreign_user = await desk._context.write(_create_foreign_user)
        desk._context.user = foreign_user
        assert (await desk.schedule.auto_schedule([draft_id])).reason == "1 is not approved"
        assert (await desk.schedule.conflicts(NOW)).count == 0
        assert await desk.schedule.slots() == ()
        desk._context.user = user
        assert await draft_status(desk, draft_id) == "approved"


def _create_foreign_user(conn: Connection, user_id: str) -> object:
    from copydesk.model.user import User
    from store_fixtures import add_user

    return User(id=add_user(conn, "Bea"), name="Bea", time_zone="UTC", created_at=NOW)


async def test_auto_schedule_is_undone_at_once(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        ids = await insert_drafts(desk, 3)
        outcome = await desk.schedule.auto_schedule()
        events = query_db(tmp_path, "SELECT who, kind, action, bulk_id FROM draft_event")
        assert events == [("user", "change", "schedule", outcome.bulk_id)] * 3
        undone = await desk.drafts.undo()
        assert (undone.action, set(undone.succeeded), undone.failed) == ("schedule", set(ids), ())
        assert await scheduled_times(desk) == {}
        assert {await draft_status(desk, draft_id) for draft_id in ids} == {"approved"}


async def test_slot_taken_concurrently_is_replanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_desk_at(tmp_path) as desk, open_desk_at(tmp_path) as other:
        await desk.schedule.set_slots(DAILY)
        ids = await insert_drafts(desk, 3)
        planned = await desk.schedule.auto_schedule(dry_run=True)
        plan = schedule.plan_drafts

        def plan_then_race(*args: object) -> object:
            monkeypatch.setattr(schedule, "plan_drafts", plan)
            result = plan(*args)
            # Between planning and writing, the other desk schedules a draft to the second planned slot.
            raced_times.append(result.scheduled[1].at)
            return result

        raced_times: list[datetime] = []
        monkeypatch.setattr(schedule, "plan_drafts", plan_then_race)
        write_batch = desk._context.write_batch

        async def write_after_other(*args: object) -> object:
            monkeypatch.setattr(desk._context, "write_batch", write_batch)
            await insert_scheduled(other, raced_times[0])
            return await write_batch(*args)

        monkeypatch.setattr(desk._context, "write_batch", write_after_other)
        outcome = await desk.schedule.auto_schedule()
        assert {assignment.draft_id for assignment in outcome.scheduled} == set(ids)
        assert outcome.reason == ""
        times = sorted((await scheduled_times(desk)).values())
        assert len(set(times)) == 4
        assert planned.scheduled[1].scheduled_at in times


async def test_draft_rejected_concurrently_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_desk_at(tmp_path) as desk, open_desk_at(tmp_path) as other:
        await desk.schedule.set_slots(DAILY)
        first, second = await insert_drafts(desk, 2)
        write_batch = desk._context.write_batch

        async def write_after_other(*args: object) -> object:
            monkeypatch.setattr(desk._context, "write_batch", write_batch)
            await other.drafts.reject(first, "No.")
            return await write_batch(*args)

        monkeypatch.setattr(desk._context, "write_batch", write_after_other)
        outcome = await desk.schedule.auto_schedule()
        assert [assignment.draft_id for assignment in outcome.scheduled] == [second]
        assert (outcome.skipped, outcome.reason) == (1, "1 is not approved")
        assert await draft_status(desk, first) == "rejected"


async def test_drafts_without_slot_are_counted_after_replanning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_desk_at(tmp_path) as desk, open_desk_at(tmp_path) as other:
        await desk.schedule.set_slots([make_slot(FRI, 9)])
        best = await insert_draft(desk, confidence=0.9)
        await insert_drafts(desk, 53)
        write_batch = desk._context.write_batch

        async def write_after_other(*args: object) -> object:
            monkeypatch.setattr(desk._context, "write_batch", write_batch)
            await other.drafts.reject(best, "No.")
            return await write_batch(*args)

        monkeypatch.setattr(desk._context, "write_batch", write_after_other)
        outcome = await desk.schedule.auto_schedule()
        # The year has 52 Fridays; the rejected draft's slot went to one that had found none.
        assert (len(outcome.scheduled), outcome.skipped) == (52, 2)
        no_slot = "no free slot for 1 draft: all slots in the next 366 days are taken"
        assert outcome.reason == f"{no_slot}; 1 is not approved"


async def test_full_disk_keeps_completed_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        await insert_drafts(desk, 3)
        monkeypatch.setattr(schedule, "PLAN_BATCH_SIZE", 2)
        write_batch = desk._context.write_batch

        async def write_until_full(work: Any, arguments: Sequence[Any]) -> list[Any]:
            return [StoreFullError()] if len(arguments) == 1 else await write_batch(work, arguments)

        monkeypatch.setattr(desk._context, "write_batch", write_until_full)
        with pytest.raises(StoreFullError):
            await desk.schedule.auto_schedule()
        assert len(await scheduled_times(desk)) == 2


async def test_two_thousand_drafts_are_planned(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots(
            [make_slot(day, hour, minute) for day in range(7) for hour in range(24) for minute in (0, 30)]
        )
        await insert_drafts(desk, 2000)
        outcome = await desk.schedule.auto_schedule(dry_run=True)
        assert (len(outcome.scheduled), outcome.skipped) == (2000, 0)
