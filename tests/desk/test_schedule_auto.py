"""Tests for automatic scheduling: best drafts first, one per slot; the dry run plans the same."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from copydesk.desk import auto
from copydesk.errors import InvalidError, StoreFullError
from desk_fixtures import NOW, open_at, rows
from schedule_fixtures import FRI, MON, WED, put, put_at, put_one, slot, status_of, times

DAILY = [slot(day, 9) for day in range(7)]


async def test_best_then_oldest_draft_first(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        young, old = [await put_one(desk, confidence=0.5, created_at=NOW - timedelta(days=age)) for age in (1, 2)]
        best = await put_one(desk, confidence=0.9)
        outcome = await desk.schedule.auto()
        assert [assignment.draft_id for assignment in outcome.scheduled] == [best, old, young]
        days = [datetime(2026, 2, day, 9, tzinfo=UTC) for day in (11, 12, 13)]
        assert [assignment.scheduled_at for assignment in outcome.scheduled] == days
        assert (outcome.skipped, outcome.reason) == (0, "")
        assert await times(desk) == {assignment.draft_id: assignment.scheduled_at for assignment in outcome.scheduled}


async def test_dry_run_returns_plan_only(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots([slot(MON, 9), slot(WED, 14, 30)])
        await put(desk, 5)
        await put_at(desk, datetime(2026, 2, 16, 9, tzinfo=UTC))
        before = rows(tmp_path, "SELECT * FROM draft ORDER BY id")
        planned = await desk.schedule.auto(dry_run=True)
        assert rows(tmp_path, "SELECT * FROM draft ORDER BY id") == before
        assert rows(tmp_path, "SELECT count(*) FROM draft_event") == [(0,)]
        applied = await desk.schedule.auto()
        assert applied.scheduled == planned.scheduled
        assert (planned.bulk_id, applied.bulk_id is None) == (None, False)


async def test_occupied_slots_are_skipped(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots([slot(FRI, 9)])
        # A slot is a minute wide: a draft anywhere within it occupies it.
        await put_at(desk, datetime(2026, 2, 13, 9, 0, 30, tzinfo=UTC))
        await put_one(desk, status="missed", scheduled_at=datetime(2026, 2, 20, 9, tzinfo=UTC))
        draft_id = await put_one(desk)
        (assignment,) = (await desk.schedule.auto()).scheduled
        assert (assignment.draft_id, assignment.scheduled_at) == (draft_id, datetime(2026, 2, 20, 9, tzinfo=UTC))


async def test_only_given_approved_drafts_are_scheduled(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        first, second, other = await put(desk, 3)
        rejected = await put_one(desk, status="rejected")
        archived = await put_one(desk, archived_at=NOW)
        outcome = await desk.schedule.auto([second, first, rejected, archived, "nobody", second])
        assert {assignment.draft_id for assignment in outcome.scheduled} == {first, second}
        assert (outcome.skipped, outcome.reason) == (3, "3 are no approved drafts")
        assert await status_of(desk, other) == "approved"
        assert await status_of(desk, archived) == "approved"


async def test_default_is_approved_and_not_archived(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        await put_one(desk, status="pending_review")
        await put_one(desk, archived_at=NOW)
        outcome = await desk.schedule.auto()
        assert (outcome.scheduled, outcome.skipped, outcome.reason) == ((), 0, "")


async def test_no_slots_skips_all(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await put(desk, 2)
        outcome = await desk.schedule.auto()
        assert (outcome.scheduled, outcome.skipped) == ((), 2)
        assert outcome.reason == "there are no slots to schedule to"


async def test_slots_of_one_year_are_used(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots([slot(FRI, 9)])
        await put(desk, 55)
        outcome = await desk.schedule.auto()
        assert (len(outcome.scheduled), outcome.skipped) == (52, 3)
        assert "every slot of the next 366 days is taken" in outcome.reason


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
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        draft_id = await put_one(desk)
        with pytest.raises(InvalidError) as refused:
            await desk.schedule.auto(ids)
        assert refused.value.errors[0].field == field
        assert await status_of(desk, draft_id) == "approved"


async def test_foreign_draft_is_unknown(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        draft_id = await put_one(desk)
        user = desk.ground.user
        foreign_user = await desk.ground.write(_create_foreign_user)
        desk.ground.user = foreign_user
        assert (await desk.schedule.auto([draft_id])).reason == "1 is no approved draft"
        assert (await desk.schedule.conflicts(NOW)).count == 0
        assert await desk.schedule.slots() == ()
        desk.ground.user = user
        assert await status_of(desk, draft_id) == "approved"


def _create_foreign_user(conn: Connection, user_id: str) -> object:
    from copydesk.store.users import User
    from store_fixtures import add_user

    return User(id=add_user(conn, "Bea"), name="Bea", time_zone="UTC", created_at=NOW)


async def test_auto_schedule_is_undone_at_once(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        ids = await put(desk, 3)
        outcome = await desk.schedule.auto()
        events = rows(tmp_path, "SELECT who, kind, action, bulk_id FROM draft_event")
        assert events == [("user", "change", "schedule", outcome.bulk_id)] * 3
        undone = await desk.drafts.undo()
        assert (undone.action, set(undone.succeeded), undone.failed) == ("schedule", set(ids), ())
        assert await times(desk) == {}
        assert {await status_of(desk, draft_id) for draft_id in ids} == {"approved"}


async def test_slot_taken_concurrently_is_replanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_at(tmp_path) as desk, open_at(tmp_path) as other:
        await desk.schedule.set_slots(DAILY)
        ids = await put(desk, 3)
        planned = await desk.schedule.auto(dry_run=True)
        plan = auto.plan

        def plan_then_race(*args: object) -> object:
            monkeypatch.setattr(auto, "plan", plan)
            result = plan(*args)
            # Between planning and writing, the other desk schedules a draft to the second planned slot.
            raced_times.append(result.scheduled[1].at)
            return result

        raced_times: list[datetime] = []
        monkeypatch.setattr(auto, "plan", plan_then_race)
        write_batch = desk.ground.write_each

        async def write_after_other(*args: object) -> object:
            monkeypatch.setattr(desk.ground, "write_each", write_batch)
            await put_at(other, raced_times[0])
            return await write_batch(*args)

        monkeypatch.setattr(desk.ground, "write_each", write_after_other)
        outcome = await desk.schedule.auto()
        assert {assignment.draft_id for assignment in outcome.scheduled} == set(ids)
        assert outcome.reason == ""
        scheduled_times = sorted((await times(desk)).values())
        assert len(set(scheduled_times)) == 4
        assert planned.scheduled[1].scheduled_at in scheduled_times


async def test_draft_rejected_concurrently_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_at(tmp_path) as desk, open_at(tmp_path) as other:
        await desk.schedule.set_slots(DAILY)
        first, second = await put(desk, 2)
        write_batch = desk.ground.write_each

        async def write_after_other(*args: object) -> object:
            monkeypatch.setattr(desk.ground, "write_each", write_batch)
            await other.drafts.reject(first, "No.")
            return await write_batch(*args)

        monkeypatch.setattr(desk.ground, "write_each", write_after_other)
        outcome = await desk.schedule.auto()
        assert [assignment.draft_id for assignment in outcome.scheduled] == [second]
        assert (outcome.skipped, outcome.reason) == (1, "1 is no approved draft")
        assert await status_of(desk, first) == "rejected"


async def test_drafts_without_slot_are_counted_after_replanning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_at(tmp_path) as desk, open_at(tmp_path) as other:
        await desk.schedule.set_slots([slot(FRI, 9)])
        best = await put_one(desk, confidence=0.9)
        await put(desk, 53)
        write_batch = desk.ground.write_each

        async def write_after_other(*args: object) -> object:
            monkeypatch.setattr(desk.ground, "write_each", write_batch)
            await other.drafts.reject(best, "No.")
            return await write_batch(*args)

        monkeypatch.setattr(desk.ground, "write_each", write_after_other)
        outcome = await desk.schedule.auto()
        # The year has 52 Fridays; the rejected draft's slot went to one that had found none.
        assert (len(outcome.scheduled), outcome.skipped) == (52, 2)
        no_slot = "no slot was left for 1 draft: every slot of the next 366 days is taken"
        assert outcome.reason == f"{no_slot}; 1 is no approved draft"


async def test_full_disk_keeps_completed_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        await put(desk, 3)
        monkeypatch.setattr(auto, "AT_ONCE", 2)
        write_batch = desk.ground.write_each

        async def write_until_full(work: Any, arguments: Sequence[Any]) -> list[Any]:
            return [StoreFullError()] if len(arguments) == 1 else await write_batch(work, arguments)

        monkeypatch.setattr(desk.ground, "write_each", write_until_full)
        with pytest.raises(StoreFullError):
            await desk.schedule.auto()
        assert len(await times(desk)) == 2


async def test_two_thousand_drafts_are_planned(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(
            [slot(day, hour, minute) for day in range(7) for hour in range(24) for minute in (0, 30)]
        )
        await put(desk, 2000)
        outcome = await desk.schedule.auto(dry_run=True)
        assert (len(outcome.scheduled), outcome.skipped) == (2000, 0)
