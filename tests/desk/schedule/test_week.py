"""Tests for a week of the schedule: slot times and drafts."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from copydesk.errors import InvalidError
from copydesk.model.schedule import MAX_WEEK_DRAFTS
from desk_fixtures import NOW, Watch, open_desk_at
from schedule_fixtures import MON, SUN, TUE, insert_drafts, insert_scheduled, make_slot

MINUTE = timedelta(minutes=1)
# NOW is Tuesday, 10 February 2026, 12:00 UTC.


async def test_current_week_starts_on_monday(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_zone("Asia/Kathmandu")
        week = await desk.schedule.week()
        assert (week.zone, week.monday, week.drafts, week.more) == ("Asia/Kathmandu", date(2026, 2, 9), (), False)


async def test_week_is_in_users_zone(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, clock=Watch(datetime(2026, 2, 8, 20, tzinfo=UTC))) as desk:
        for zone, monday in (("UTC", date(2026, 2, 2)), ("Australia/Lord_Howe", date(2026, 2, 9))):
            await desk.schedule.set_zone(zone)
            assert (await desk.schedule.week()).monday == monday


async def test_slots_occur_on_their_days(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_zone("UTC")
        stored = await desk.schedule.set_slots([make_slot(MON, 0), make_slot(TUE, 9, 30), make_slot(SUN, 23, 59)])
        week = await desk.schedule.week(date(2026, 2, 15))
        assert week.every_slot == stored
        assert [f"{slot_time.at:%d %H:%M}" for slot_time in week.slots] == ["09 00:00", "10 09:30", "15 23:59"]


async def test_skipped_slot_moves_to_first_valid_minute(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        await desk.schedule.set_slots([make_slot(SUN, 2, 30)])
        (skipped,) = (await desk.schedule.week(date(2026, 3, 29))).slots
        assert (skipped.slot, skipped.at) == (make_slot(SUN, 2, 30), datetime(2026, 3, 29, 1, tzinfo=UTC))
        (repeated,) = (await desk.schedule.week(date(2026, 10, 25))).slots
        assert repeated.at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


async def test_drafts_within_half_an_hour_of_week(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_zone("UTC")
        start, end = datetime(2026, 2, 9, tzinfo=UTC), datetime(2026, 2, 16, tzinfo=UTC)
        inside = [
            await insert_scheduled(desk, time) for time in (start - 30 * MINUTE, start, end - MINUTE, end + 30 * MINUTE)
        ]
        await insert_scheduled(desk, start - 31 * MINUTE)
        await insert_scheduled(desk, end + 31 * MINUTE)
        assert [draft.id for draft in (await desk.schedule.week(NOW.date())).drafts] == inside


async def test_missed_and_posted_drafts_without_archived(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        time = NOW - 60 * MINUTE
        (missed_id,) = await insert_drafts(desk, status="missed", scheduled_at=time, text="\nFirst\nsecond")
        (posted_id,) = await insert_drafts(desk, status="posted", scheduled_at=time, posted_at=time + MINUTE)
        await insert_drafts(desk, status="posted", scheduled_at=NOW, posted_at=NOW - timedelta(days=30))
        await insert_drafts(desk, status="missed", scheduled_at=time, archived_at=NOW)
        first, second = (await desk.schedule.week()).drafts
        assert (first.id, first.status, first.text) == (missed_id, "missed", "First")
        assert (second.id, second.at) == (posted_id, time + MINUTE)


async def test_truncated_week_is_marked(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await insert_drafts(desk, MAX_WEEK_DRAFTS + 1, status="scheduled", scheduled_at=NOW)
        week = await desk.schedule.week()
        assert (len(week.drafts), week.more) == (MAX_WEEK_DRAFTS, True)


@pytest.mark.parametrize("day", [date.min, date.max])
async def test_end_of_calendar_is_refused(tmp_path: Path, day: date) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots([make_slot(MON, 9)])
        with pytest.raises(InvalidError, match="outside the supported date range"):
            await desk.schedule.week(day)
