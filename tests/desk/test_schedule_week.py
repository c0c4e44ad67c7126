"""A week of the schedule: the slots as they come round, and the drafts that stand in it."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from copydesk.errors import InvalidError
from copydesk.model.schedule import MOST_IN_WEEK
from desk_fixtures import NOW, Watch, open_at
from schedule_fixtures import MON, SUN, TUE, put, put_at, slot

MINUTE = timedelta(minutes=1)
# NOW is Tuesday, 10 February 2026, 12:00 UTC.


async def test_the_week_that_is_now_begins_on_monday(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_zone("Asia/Kathmandu")
        week = await desk.schedule.week()
        assert (week.zone, week.monday, week.drafts, week.more) == ("Asia/Kathmandu", date(2026, 2, 9), (), False)


async def test_the_week_is_that_of_the_users_zone(tmp_path: Path) -> None:
    async with open_at(tmp_path, clock=Watch(datetime(2026, 2, 8, 20, tzinfo=UTC))) as desk:
        for zone, monday in (("UTC", date(2026, 2, 2)), ("Australia/Lord_Howe", date(2026, 2, 9))):
            await desk.schedule.set_zone(zone)
            assert (await desk.schedule.week()).monday == monday


async def test_slots_come_round_on_each_of_the_seven_days(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_zone("UTC")
        kept = await desk.schedule.set_slots([slot(MON, 0), slot(TUE, 9, 30), slot(SUN, 23, 59)])
        week = await desk.schedule.week(date(2026, 2, 15))
        assert week.every_slot == kept
        assert [f"{each.at:%d %H:%M}" for each in week.slots] == ["09 00:00", "10 09:30", "15 23:59"]


async def test_a_slot_that_the_clocks_skip_is_at_the_first_minute_after(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        await desk.schedule.set_slots([slot(SUN, 2, 30)])
        (skipped,) = (await desk.schedule.week(date(2026, 3, 29))).slots
        assert (skipped.slot, skipped.at) == (slot(SUN, 2, 30), datetime(2026, 3, 29, 1, tzinfo=UTC))
        (twice,) = (await desk.schedule.week(date(2026, 10, 25))).slots
        assert twice.at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


async def test_drafts_of_the_week_and_of_half_an_hour_around_it(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_zone("UTC")
        start, end = datetime(2026, 2, 9, tzinfo=UTC), datetime(2026, 2, 16, tzinfo=UTC)
        inside = [await put_at(desk, at) for at in (start - 30 * MINUTE, start, end - MINUTE, end + 30 * MINUTE)]
        await put_at(desk, start - 31 * MINUTE)
        await put_at(desk, end + 31 * MINUTE)
        assert [each.id for each in (await desk.schedule.week(NOW.date())).drafts] == inside


async def test_what_is_missed_or_posted_is_shown_and_what_was_put_away_is_not(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        at = NOW - 60 * MINUTE
        (missed,) = await put(desk, status="missed", scheduled_at=at, text="\nFirst\nsecond")
        (posted,) = await put(desk, status="posted", scheduled_at=at, posted_at=at + MINUTE)
        await put(desk, status="posted", scheduled_at=NOW, posted_at=NOW - timedelta(days=30))
        await put(desk, status="missed", scheduled_at=at, archived_at=NOW)
        first, second = (await desk.schedule.week()).drafts
        assert (first.id, first.status, first.text) == (missed, "missed", "First")
        assert (second.id, second.at) == (posted, at + MINUTE)


async def test_a_week_with_too_many_drafts_says_so(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await put(desk, MOST_IN_WEEK + 1, status="scheduled", scheduled_at=NOW)
        week = await desk.schedule.week()
        assert (len(week.drafts), week.more) == (MOST_IN_WEEK, True)


@pytest.mark.parametrize("day", [date.min, date.max])
async def test_an_end_of_the_calendar_is_refused(tmp_path: Path, day: date) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots([slot(MON, 9)])
        with pytest.raises(InvalidError, match="end of the calendar"):
            await desk.schedule.week(day)
