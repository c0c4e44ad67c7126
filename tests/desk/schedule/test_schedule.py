"""Tests for slots, the time zone, the next free slot and conflicts."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from copydesk.errors import ConflictError, InvalidError, NotFoundError
from desk_fixtures import NOW, Watch, open_desk_at, query_db
from schedule_fixtures import (
    FRI,
    MON,
    SUN,
    TUE,
    WED,
    draft_status,
    insert_draft,
    insert_drafts,
    insert_scheduled,
    make_slot,
)

MINUTE = timedelta(minutes=1)
# NOW is Tuesday, 10 February 2026, 12:00 UTC.


async def test_slots_are_replaced(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        assert await desk.schedule.slots() == ()
        stored = await desk.schedule.set_slots([make_slot(WED, 14, 30), make_slot(MON, 9), make_slot(SUN, 20)])
        assert stored == await desk.schedule.slots() == (make_slot(SUN, 20), make_slot(MON, 9), make_slot(WED, 14, 30))
        await desk.schedule.set_slots([make_slot(FRI, 8)])
        assert await desk.schedule.slots() == (make_slot(FRI, 8),)
        await desk.schedule.set_slots([])
        assert await desk.schedule.slots() == ()


@pytest.mark.parametrize(
    ("slots", "field"),
    [
        ([make_slot(7, 0)], "slots[0].dayOfWeek"),
        ([make_slot(MON, 9), make_slot(MON, 24)], "slots[1].hour"),
        ([make_slot(MON, 9, 60)], "slots[0].minute"),
        ([{"dayOfWeek": 1, "hour": 9}], "slots[0].minute"),
        ([{"dayOfWeek": "1", "hour": 9, "minute": 0}], "slots[0].dayOfWeek"),
        ([{"dayOfWeek": 1, "hour": True, "minute": 0}], "slots[0].hour"),
        ([{"dayOfWeek": 1, "hour": 9, "minute": 0, "zone": "UTC"}], "slots[0].zone"),
        (["mon 9"], "slots[0]"),
        ("mon 9", "slots"),
        ({"dayOfWeek": 1, "hour": 9, "minute": 0}, "slots"),
        ([make_slot(MON, hour % 24, hour // 24) for hour in range(501)], "slots"),
        ([make_slot(MON, 9), make_slot(TUE, 9), make_slot(MON, 9)], "slots[2]"),
    ],
)
async def test_invalid_slot_is_refused(tmp_path: Path, slots: list, field: str) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots([make_slot(FRI, 8)])
        with pytest.raises(InvalidError) as refused:
            await desk.schedule.set_slots(slots)
        assert refused.value.errors[0].field == field
        assert await desk.schedule.slots() == (make_slot(FRI, 8),)


async def test_slots_from_json(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        stored = await desk.schedule.set_slots([{"dayOfWeek": 5, "hour": 8, "minute": 0}, make_slot(MON, 9)])
        assert stored == (make_slot(MON, 9), make_slot(FRI, 8))


async def test_next_slot_is_in_users_zone(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_zone("America/New_York")
        await desk.schedule.set_slots([make_slot(TUE, 9)])
        draft = await desk.schedule.schedule_next(await insert_draft(desk))
        assert (draft.status, draft.scheduled_at) == ("scheduled", datetime(2026, 2, 10, 14, 0, tzinfo=UTC))
    assert query_db(tmp_path, "SELECT scheduled_wall, scheduled_zone FROM draft") == [
        ("2026-02-10T09:00", "America/New_York")
    ]


async def test_slot_keeps_wall_time_across_clock_change(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, clock=Watch(datetime(2026, 3, 27, 12, tzinfo=UTC))) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        # On Sunday the 29th clocks go from 02:00 to 03:00.
        await desk.schedule.set_slots([make_slot(FRI, 20), make_slot(SUN, 2, 30), make_slot(SUN, 9)])
        drafts = [await desk.schedule.schedule_next(draft_id) for draft_id in await insert_drafts(desk, 3)]
        expected = ["2026-03-27T19:00", "2026-03-29T01:00", "2026-03-29T07:00"]
        assert [f"{draft.scheduled_at:%Y-%m-%dT%H:%M}" for draft in drafts] == expected


async def test_slot_in_repeated_hour_occurs_once(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, clock=Watch(datetime(2026, 10, 24, 12, tzinfo=UTC))) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        await desk.schedule.set_slots([make_slot(SUN, 2, 30)])
        first, second = [await desk.schedule.schedule_next(draft_id) for draft_id in await insert_drafts(desk, 2)]
        assert first.scheduled_at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
        assert second.scheduled_at == datetime(2026, 11, 1, 1, 30, tzinfo=UTC)


async def test_unapproved_draft_gets_no_slot(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_slots([make_slot(MON, 9)])
        draft_id = await insert_draft(desk, status="pending_review")
        with pytest.raises(ConflictError) as refused:
            await desk.schedule.schedule_next(draft_id)
        assert refused.value.current_status == "pending_review"
        with pytest.raises(NotFoundError):
            await desk.schedule.schedule_next("nobody")
        assert await draft_status(desk, draft_id) == "pending_review"


async def test_no_slots(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        draft_id = await insert_draft(desk)
        with pytest.raises(ConflictError, match="No weekly slots"):
            await desk.schedule.schedule_next(draft_id)
        assert await draft_status(desk, draft_id) == "approved"


async def test_unknown_zone_is_refused(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        before = await desk.schedule.zone()
        for name in ("Europe/Pragu", "", "../../etc/passwd", "/etc/localtime", "localtime"):
            with pytest.raises(InvalidError) as refused:
                await desk.schedule.set_zone(name)
            assert refused.value.errors[0].field == "timeZone"
        assert await desk.schedule.zone() == before


async def test_zone_change_keeps_scheduled_times(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        await desk.schedule.set_slots([make_slot(WED, 9)])
        first, second = await insert_drafts(desk, 2)
        before = await desk.schedule.schedule_next(first)
        assert await desk.schedule.set_zone("Asia/Tokyo") == "Asia/Tokyo"
        assert (await desk.drafts.get(first)).scheduled_at == before.scheduled_at
        # Slots are wall times in the user's zone, so they move with it.
        assert (await desk.schedule.schedule_next(second)).scheduled_at == datetime(2026, 2, 11, 0, 0, tzinfo=UTC)
    async with open_desk_at(tmp_path) as desk:
        assert await desk.schedule.zone() == desk._context.user.time_zone == "Asia/Tokyo"


async def test_drafts_within_30_minutes_conflict(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        time = NOW + timedelta(days=1)
        early = await insert_scheduled(desk, time - 30 * MINUTE, text="First line.\nSecond line.")
        late = await insert_scheduled(desk, time + 30 * MINUTE, format="BLOG")
        posting = await insert_draft(desk, status="posting", scheduled_at=time + MINUTE)
        await insert_scheduled(desk, time + 31 * MINUTE)
        await insert_scheduled(desk, time - 31 * MINUTE)
        await insert_draft(desk, status="missed", scheduled_at=time)
        result = await desk.schedule.conflicts(time)
        assert (result.has_conflict, result.count) == (True, 3)
        assert [conflict.id for conflict in result.conflicts] == [early, posting, late]
        assert [conflict.minutes for conflict in result.conflicts] == [-30, 1, 30]
        assert result.conflicts[0].text == "First line."
        assert result.conflicts[2].format == "BLOG"


async def test_draft_does_not_conflict_with_itself(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        time = NOW + timedelta(days=1)
        draft_id = await insert_scheduled(desk, time)
        assert not (await desk.schedule.conflicts(time, exclude=draft_id)).has_conflict
        assert (await desk.schedule.conflicts(time, exclude="nobody")).count == 1
        other_offset = time.astimezone(timezone(timedelta(hours=-5)))
        assert (await desk.schedule.conflicts(other_offset)).count == 1


@pytest.mark.parametrize("at", [NOW.replace(tzinfo=None), datetime.max.replace(tzinfo=UTC)])
async def test_invalid_time_is_refused(tmp_path: Path, at: datetime) -> None:
    async with open_desk_at(tmp_path) as desk:
        with pytest.raises(InvalidError) as refused:
            await desk.schedule.conflicts(at)
        assert refused.value.errors[0].field == "scheduledAt"


async def test_time_is_parsed_and_formatted_in_users_zone(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        parsed = await desk.schedule.parse_time("fri 14:30")
        assert parsed.at == datetime(2026, 2, 13, 13, 30, tzinfo=UTC)
        assert parsed.shown == "Fri 13 Feb 2026 14:30 CET, UTC+01:00 (in 3 days)"
        assert parsed.note == ""
        skipped = await desk.schedule.parse_time("29 mar 2:30")
        assert "02:30 does not exist on that day" in skipped.note
        assert await desk.schedule.format_times(parsed.at) == (parsed.shown,)
        with pytest.raises(InvalidError):
            await desk.schedule.parse_time("yesterday")
