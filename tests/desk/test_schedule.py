"""Slots, the time zone, the next free slot, and what is close together."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from copydesk.errors import ConflictError, InvalidError, NotFoundError
from desk_fixtures import NOW, Watch, open_at, rows
from schedule_fixtures import FRI, MON, SUN, TUE, WED, put, put_at, put_one, slot, status_of

MINUTE = timedelta(minutes=1)
# NOW is Tuesday, 10 February 2026, 12:00 UTC.


async def test_slots_are_replaced_as_a_whole(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        assert await desk.schedule.slots() == ()
        kept = await desk.schedule.set_slots([slot(WED, 14, 30), slot(MON, 9), slot(SUN, 20)])
        assert kept == await desk.schedule.slots() == (slot(SUN, 20), slot(MON, 9), slot(WED, 14, 30))
        await desk.schedule.set_slots([slot(FRI, 8)])
        assert await desk.schedule.slots() == (slot(FRI, 8),)
        await desk.schedule.set_slots([])
        assert await desk.schedule.slots() == ()


@pytest.mark.parametrize(
    ("slots", "field"),
    [
        ([slot(7, 0)], "slots[0].dayOfWeek"),
        ([slot(MON, 9), slot(MON, 24)], "slots[1].hour"),
        ([slot(MON, 9, 60)], "slots[0].minute"),
        ([{"dayOfWeek": 1, "hour": 9}], "slots[0].minute"),
        ([{"dayOfWeek": "1", "hour": 9, "minute": 0}], "slots[0].dayOfWeek"),
        ([{"dayOfWeek": 1, "hour": True, "minute": 0}], "slots[0].hour"),
        ([{"dayOfWeek": 1, "hour": 9, "minute": 0, "zone": "UTC"}], "slots[0].zone"),
        (["mon 9"], "slots[0]"),
        ("mon 9", "slots"),
        ({"dayOfWeek": 1, "hour": 9, "minute": 0}, "slots"),
        ([slot(MON, hour % 24, hour // 24) for hour in range(501)], "slots"),
        ([slot(MON, 9), slot(TUE, 9), slot(MON, 9)], "slots[2]"),
    ],
)
async def test_a_wrong_slot_is_named_and_the_old_ones_stay(tmp_path: Path, slots: list, field: str) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots([slot(FRI, 8)])
        with pytest.raises(InvalidError) as refused:
            await desk.schedule.set_slots(slots)
        assert refused.value.errors[0].field == field
        assert await desk.schedule.slots() == (slot(FRI, 8),)


async def test_slots_may_come_as_objects(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        kept = await desk.schedule.set_slots([{"dayOfWeek": 5, "hour": 8, "minute": 0}, slot(MON, 9)])
        assert kept == (slot(MON, 9), slot(FRI, 8))


async def test_the_next_slot_is_on_the_clock_of_the_users_zone(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_zone("America/New_York")
        await desk.schedule.set_slots([slot(TUE, 9)])
        draft = await desk.schedule.next_for(await put_one(desk))
        assert (draft.status, draft.scheduled_at) == ("scheduled", datetime(2026, 2, 10, 14, 0, tzinfo=UTC))
    assert rows(tmp_path, "SELECT scheduled_wall, scheduled_zone FROM draft") == [
        ("2026-02-10T09:00", "America/New_York")
    ]


async def test_a_slot_keeps_its_wall_time_across_a_clock_change(tmp_path: Path) -> None:
    async with open_at(tmp_path, clock=Watch(datetime(2026, 3, 27, 12, tzinfo=UTC))) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        # On Sunday the 29th the clocks go from 02:00 to 03:00.
        await desk.schedule.set_slots([slot(FRI, 20), slot(SUN, 2, 30), slot(SUN, 9)])
        found = [await desk.schedule.next_for(draft) for draft in await put(desk, 3)]
        expected = ["2026-03-27T19:00", "2026-03-29T01:00", "2026-03-29T07:00"]
        assert [f"{each.scheduled_at:%Y-%m-%dT%H:%M}" for each in found] == expected


async def test_a_slot_in_the_hour_that_is_repeated_happens_once(tmp_path: Path) -> None:
    async with open_at(tmp_path, clock=Watch(datetime(2026, 10, 24, 12, tzinfo=UTC))) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        await desk.schedule.set_slots([slot(SUN, 2, 30)])
        first, second = [await desk.schedule.next_for(draft) for draft in await put(desk, 2)]
        assert first.scheduled_at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
        assert second.scheduled_at == datetime(2026, 11, 1, 1, 30, tzinfo=UTC)


async def test_a_draft_that_is_not_approved_gets_no_slot(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_slots([slot(MON, 9)])
        draft = await put_one(desk, status="pending_review")
        with pytest.raises(ConflictError) as refused:
            await desk.schedule.next_for(draft)
        assert refused.value.current_status == "pending_review"
        with pytest.raises(NotFoundError):
            await desk.schedule.next_for("nobody")
        assert await status_of(desk, draft) == "pending_review"


async def test_without_slots_there_is_no_next_one(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        draft = await put_one(desk)
        with pytest.raises(ConflictError, match="no slots"):
            await desk.schedule.next_for(draft)
        assert await status_of(desk, draft) == "approved"


async def test_a_zone_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        before = await desk.schedule.zone()
        for name in ("Europe/Pragu", "", "../../etc/passwd", "/etc/localtime", "localtime"):
            with pytest.raises(InvalidError) as refused:
                await desk.schedule.set_zone(name)
            assert refused.value.errors[0].field == "timeZone"
        assert await desk.schedule.zone() == before


async def test_another_zone_leaves_what_is_scheduled_where_it_was_meant(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        await desk.schedule.set_slots([slot(WED, 9)])
        first, second = await put(desk, 2)
        before = await desk.schedule.next_for(first)
        assert await desk.schedule.set_zone("Asia/Tokyo") == "Asia/Tokyo"
        assert (await desk.drafts.get(first)).scheduled_at == before.scheduled_at
        # The slots are times on the user's clock, wherever that is.
        assert (await desk.schedule.next_for(second)).scheduled_at == datetime(2026, 2, 11, 0, 0, tzinfo=UTC)
    async with open_at(tmp_path) as desk:
        assert await desk.schedule.zone() == desk.ground.user.time_zone == "Asia/Tokyo"


async def test_drafts_within_half_an_hour_are_conflicts(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        at = NOW + timedelta(days=1)
        early = await put_at(desk, at - 30 * MINUTE, text="First line.\nSecond line.")
        late = await put_at(desk, at + 30 * MINUTE, format="BLOG")
        posting = await put_one(desk, status="posting", scheduled_at=at + MINUTE)
        await put_at(desk, at + 31 * MINUTE)
        await put_at(desk, at - 31 * MINUTE)
        await put_one(desk, status="missed", scheduled_at=at)
        found = await desk.schedule.conflicts(at)
        assert (found.has_conflict, found.count) == (True, 3)
        assert [each.id for each in found.conflicts] == [early, posting, late]
        assert [each.minutes for each in found.conflicts] == [-30, 1, 30]
        assert found.conflicts[0].text == "First line."
        assert found.conflicts[2].format == "BLOG"


async def test_a_draft_is_no_conflict_of_itself(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        at = NOW + timedelta(days=1)
        draft = await put_at(desk, at)
        assert not (await desk.schedule.conflicts(at, exclude=draft)).has_conflict
        assert (await desk.schedule.conflicts(at, exclude="nobody")).count == 1
        there = at.astimezone(timezone(timedelta(hours=-5)))
        assert (await desk.schedule.conflicts(there)).count == 1


@pytest.mark.parametrize("at", [NOW.replace(tzinfo=None), datetime.max.replace(tzinfo=UTC)])
async def test_a_time_that_is_none_has_no_conflicts_but_an_error(tmp_path: Path, at: datetime) -> None:
    async with open_at(tmp_path) as desk:
        with pytest.raises(InvalidError) as refused:
            await desk.schedule.conflicts(at)
        assert refused.value.errors[0].field == "scheduledAt"


async def test_times_are_read_on_the_users_clock_and_shown_back(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        read = await desk.schedule.read_time("fri 14:30")
        assert read.at == datetime(2026, 2, 13, 13, 30, tzinfo=UTC)
        assert read.shown == "Fri 13 Feb 2026 14:30 CET, UTC+01:00 (in 3 days)"
        assert read.note == ""
        skipped = await desk.schedule.read_time("29 mar 2:30")
        assert "02:30 does not exist on that day" in skipped.note
        assert await desk.schedule.shown(read.at) == (read.shown,)
        with pytest.raises(InvalidError):
            await desk.schedule.read_time("yesterday")
