"""The automatic schedule: the best drafts first, one to a slot, and a plan that is the same thing without doing it."""

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


async def test_the_best_draft_goes_first_and_then_the_oldest(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        young, old = [await put_one(desk, confidence=0.5, created_at=NOW - timedelta(days=age)) for age in (1, 2)]
        best = await put_one(desk, confidence=0.9)
        outcome = await desk.schedule.auto()
        assert [each.draft_id for each in outcome.scheduled] == [best, old, young]
        days = [datetime(2026, 2, day, 9, tzinfo=UTC) for day in (11, 12, 13)]
        assert [each.scheduled_at for each in outcome.scheduled] == days
        assert (outcome.skipped, outcome.reason) == (0, "")
        assert await times(desk) == {each.draft_id: each.scheduled_at for each in outcome.scheduled}


async def test_a_dry_run_says_the_same_and_changes_nothing(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots([slot(MON, 9), slot(WED, 14, 30)])
        await put(desk, 5)
        await put_at(desk, datetime(2026, 2, 16, 9, tzinfo=UTC))
        before = rows(tmp_path, "SELECT * FROM draft ORDER BY id")
        planned = await desk.schedule.auto(dry_run=True)
        assert rows(tmp_path, "SELECT * FROM draft ORDER BY id") == before
        assert rows(tmp_path, "SELECT count(*) FROM draft_event") == [(0,)]
        done = await desk.schedule.auto()
        assert done.scheduled == planned.scheduled
        assert (planned.bulk_id, done.bulk_id is None) == (None, False)


async def test_what_is_taken_stays_taken(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots([slot(FRI, 9)])
        # A slot is a minute: a draft anywhere in it takes it.
        await put_at(desk, datetime(2026, 2, 13, 9, 0, 30, tzinfo=UTC))
        await put_one(desk, status="missed", scheduled_at=datetime(2026, 2, 20, 9, tzinfo=UTC))
        draft = await put_one(desk)
        (placed,) = (await desk.schedule.auto()).scheduled
        assert (placed.draft_id, placed.scheduled_at) == (draft, datetime(2026, 2, 20, 9, tzinfo=UTC))


async def test_only_the_given_drafts_and_only_approved_ones(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        one, two, other = await put(desk, 3)
        rejected = await put_one(desk, status="rejected")
        away = await put_one(desk, archived_at=NOW)
        outcome = await desk.schedule.auto([two, one, rejected, away, "nobody", two])
        assert {each.draft_id for each in outcome.scheduled} == {one, two}
        assert (outcome.skipped, outcome.reason) == (3, "3 are no approved drafts")
        assert await status_of(desk, other) == "approved"
        assert await status_of(desk, away) == "approved"


async def test_all_means_the_approved_that_are_not_archived(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        await put_one(desk, status="pending_review")
        await put_one(desk, archived_at=NOW)
        outcome = await desk.schedule.auto()
        assert (outcome.scheduled, outcome.skipped, outcome.reason) == ((), 0, "")


async def test_without_slots_all_are_skipped_and_it_says_why(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await put(desk, 2)
        outcome = await desk.schedule.auto()
        assert (outcome.scheduled, outcome.skipped) == ((), 2)
        assert outcome.reason == "there are no slots to schedule to"


async def test_a_year_of_slots_and_no_more(tmp_path: Path) -> None:
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
async def test_what_is_no_list_of_ids_is_refused(tmp_path: Path, ids: list[str], field: str) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        draft = await put_one(desk)
        with pytest.raises(InvalidError) as refused:
            await desk.schedule.auto(ids)
        assert refused.value.errors[0].field == field
        assert await status_of(desk, draft) == "approved"


async def test_somebody_elses_draft_is_as_unknown_as_none(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        draft = await put_one(desk)
        mine = desk.ground.user
        other = await desk.ground.write(_another_user)
        desk.ground.user = other
        assert (await desk.schedule.auto([draft])).reason == "1 is no approved draft"
        assert (await desk.schedule.conflicts(NOW)).count == 0
        assert await desk.schedule.slots() == ()
        desk.ground.user = mine
        assert await status_of(desk, draft) == "approved"


def _another_user(conn: Connection, user_id: str) -> object:
    from copydesk.store.users import User
    from store_fixtures import add_user

    return User(id=add_user(conn, "Bea"), name="Bea", time_zone="UTC", created_at=NOW)


async def test_it_is_undone_as_one(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        ids = await put(desk, 3)
        outcome = await desk.schedule.auto()
        events = rows(tmp_path, "SELECT who, kind, action, bulk_id FROM draft_event")
        assert events == [("user", "change", "schedule", outcome.bulk_id)] * 3
        undone = await desk.drafts.undo()
        assert (undone.action, set(undone.succeeded), undone.failed) == ("schedule", set(ids), ())
        assert await times(desk) == {}
        assert {await status_of(desk, draft) for draft in ids} == {"approved"}


async def test_a_slot_that_another_process_took_is_planned_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_at(tmp_path) as desk, open_at(tmp_path) as other:
        await desk.schedule.set_slots(DAILY)
        mine = await put(desk, 3)
        planned = await desk.schedule.auto(dry_run=True)
        plan = auto.plan

        def and_then_the_other_comes(*args: object) -> object:
            monkeypatch.setattr(auto, "plan", plan)
            made = plan(*args)
            # While this one plans, the other schedules a draft to the second of its slots.
            raced.append(made.scheduled[1].at)
            return made

        raced: list[datetime] = []
        monkeypatch.setattr(auto, "plan", and_then_the_other_comes)
        write_each = desk.ground.write_each

        async def after_the_other(*args: object) -> object:
            monkeypatch.setattr(desk.ground, "write_each", write_each)
            await put_at(other, raced[0])
            return await write_each(*args)

        monkeypatch.setattr(desk.ground, "write_each", after_the_other)
        outcome = await desk.schedule.auto()
        assert {each.draft_id for each in outcome.scheduled} == set(mine)
        assert outcome.reason == ""
        at = sorted((await times(desk)).values())
        assert len(set(at)) == 4
        assert planned.scheduled[1].scheduled_at in at


async def test_a_draft_that_was_taken_back_meanwhile_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_at(tmp_path) as desk, open_at(tmp_path) as other:
        await desk.schedule.set_slots(DAILY)
        one, two = await put(desk, 2)
        write_each = desk.ground.write_each

        async def after_the_other(*args: object) -> object:
            monkeypatch.setattr(desk.ground, "write_each", write_each)
            await other.drafts.reject(one, "No.")
            return await write_each(*args)

        monkeypatch.setattr(desk.ground, "write_each", after_the_other)
        outcome = await desk.schedule.auto()
        assert [each.draft_id for each in outcome.scheduled] == [two]
        assert (outcome.skipped, outcome.reason) == (1, "1 is no approved draft")
        assert await status_of(desk, one) == "rejected"


async def test_who_found_no_slot_is_counted_though_others_were_planned_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_at(tmp_path) as desk, open_at(tmp_path) as other:
        await desk.schedule.set_slots([slot(FRI, 9)])
        best = await put_one(desk, confidence=0.9)
        await put(desk, 53)
        write_each = desk.ground.write_each

        async def after_the_other(*args: object) -> object:
            monkeypatch.setattr(desk.ground, "write_each", write_each)
            await other.drafts.reject(best, "No.")
            return await write_each(*args)

        monkeypatch.setattr(desk.ground, "write_each", after_the_other)
        outcome = await desk.schedule.auto()
        # The year has 52 Fridays: the slot of the rejected draft went to one that had found none.
        assert (len(outcome.scheduled), outcome.skipped) == (52, 2)
        no_slot = "no slot was left for 1 draft: every slot of the next 366 days is taken"
        assert outcome.reason == f"{no_slot}; 1 is no approved draft"


async def test_a_full_disk_is_an_error_and_what_was_done_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(DAILY)
        await put(desk, 3)
        monkeypatch.setattr(auto, "AT_ONCE", 2)
        write_each = desk.ground.write_each

        async def full(work: Any, every: Sequence[Any]) -> list[Any]:
            return [StoreFullError()] if len(every) == 1 else await write_each(work, every)

        monkeypatch.setattr(desk.ground, "write_each", full)
        with pytest.raises(StoreFullError):
            await desk.schedule.auto()
        assert len(await times(desk)) == 2


async def test_two_thousand_drafts_are_planned_at_once(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots(
            [slot(day, hour, minute) for day in range(7) for hour in range(24) for minute in (0, 30)]
        )
        await put(desk, 2000)
        outcome = await desk.schedule.auto(dry_run=True)
        assert (len(outcome.scheduled), outcome.skipped) == (2000, 0)
