"""Tests for the week grid: the content of each cell, and the hours at clock changes."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import dst_transitions
from copydesk.model.draft import Status
from copydesk.scheduling.wall_time import instant_of_wall
from copydesk.tui import labels
from copydesk.tui.schedule.week import (
    ClockChange,
    ClockSpan,
    GridPosition,
    Hour,
    HourCell,
    WeekLayout,
    clock_changes,
    clock_span,
    find_conflicts,
    grid_position,
    instant,
    lay_out_week,
    shift_time,
    utc_offsets,
    visible_days,
)
from copydesk.tui.schedule.week_pane import cell_details
from sampling import sample_size
from week_fixtures import AUTUMN, NOW, SPRING, at_wall_time, make_free_slot, make_week, make_week_draft

MINUTE = timedelta(minutes=1)
PRAGUE, NEW_YORK, LORD_HOWE, KATHMANDU = "Europe/Prague", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"
ZONES = (PRAGUE, NEW_YORK, LORD_HOWE, KATHMANDU, "Africa/Cairo", "America/Havana", "Asia/Beirut", "Africa/Casablanca")


def cell_at(grid: WeekLayout, day: date, hour: int, *, repeated: bool = False) -> HourCell:
    return grid.cells[GridPosition(day, Hour(hour, repeated))]


# Cells


def test_draft_is_in_its_local_hour() -> None:
    scheduled_draft = make_week_draft(datetime(2026, 3, 24, 20, 50, tzinfo=UTC))
    grid = lay_out_week(make_week(SPRING, KATHMANDU, scheduled_draft), NOW)
    (entry,) = cell_at(grid, date(2026, 3, 25), 2).entries
    assert (entry.draft, entry.minute) == (scheduled_draft, 35)


def test_held_draft_tells_its_reason() -> None:
    at = datetime(2026, 3, 25, 9, 30, tzinfo=UTC)
    held_draft = replace(make_week_draft(at, status=Status.AWAITING_REVIEW), held="Held: its source deleted it.")
    cell = cell_at(lay_out_week(make_week(SPRING, "UTC", held_draft), NOW), date(2026, 3, 25), 9)
    lines = cell_details(cell, ZoneInfo("UTC"), cell.entries[0], 60, 5)
    assert [line.plain.strip() for line in lines[1:]] == ["", "Held: its source deleted it."]


def test_slot_with_draft_is_not_free() -> None:
    slot_time = at_wall_time("2026-03-25 14:30")
    grid = lay_out_week(
        make_week(
            SPRING,
            "UTC",
            make_free_slot(slot_time),
            make_week_draft(slot_time + timedelta(seconds=20)),
            make_free_slot(slot_time + MINUTE),
        ),
        NOW,
    )
    taken, other = cell_at(grid, date(2026, 3, 25), 14).entries
    assert (taken.slot, taken.draft is None) == (make_free_slot(slot_time), False)
    assert (other.slot, other.draft) == (make_free_slot(slot_time + MINUTE), None)


def test_drafts_in_cell_are_ordered() -> None:
    drafts = [make_week_draft(at_wall_time(f"2026-03-25 14:{minute}")) for minute in ("50", "05", "30")]
    grid = lay_out_week(make_week(SPRING, "UTC", *drafts), NOW)
    assert [entry.minute for entry in cell_at(grid, date(2026, 3, 25), 14).entries] == [5, 30, 50]


def test_draft_outside_week_conflicts_but_is_not_displayed() -> None:
    earlier, inside = (
        make_week_draft(at_wall_time("2026-03-22 23:45")),
        make_week_draft(at_wall_time("2026-03-23 00:10")),
    )
    grid = lay_out_week(make_week(SPRING, "UTC", earlier, inside), NOW)
    assert [entry.conflict_minutes for cell_ in grid.cells.values() for entry in cell_.entries] == [-25]


@pytest.mark.parametrize(
    ("minutes", "conflicts"),
    [
        ([0, 30], [30, -30]),
        ([0, 31], [None, None]),
        ([0, 20, 30], [20, 10, -10]),
        ([0, 0], [0, 0]),
        ([0, 10, 30], [10, -10, -20]),
    ],
)
def test_drafts_within_half_hour_conflict(minutes: list[int], conflicts: list[int | None]) -> None:
    drafts = [make_week_draft(NOW + minute * MINUTE) for minute in minutes]
    distances = find_conflicts(drafts)
    assert [distances.get(draft_.id) for draft_ in drafts] == conflicts


def test_posted_and_missed_drafts_do_not_conflict() -> None:
    assert (
        find_conflicts(
            [
                make_week_draft(NOW),
                make_week_draft(NOW, status=Status.POSTED),
                make_week_draft(NOW, status=Status.MISSED),
            ]
        )
        == {}
    )


def test_empty_early_hours_are_hidden() -> None:
    plain, early = make_week(SPRING), make_week(SPRING, "UTC", make_free_slot(at_wall_time("2026-03-25 03:15")))
    assert [hour.hour for hour in lay_out_week(plain, NOW).hours] == list(range(6, 24))
    assert [hour.hour for hour in lay_out_week(early, NOW).hours] == [3, *range(6, 24)]
    assert [hour.hour for hour in lay_out_week(plain, NOW, rows=24).hours] == list(range(24))
    assert [hour.hour for hour in lay_out_week(plain, at_wall_time("2026-03-25 01:20")).hours] == [1, *range(6, 24)]


def test_early_hours_fill_the_rows_that_are_left() -> None:
    plain, early = make_week(SPRING), make_week(SPRING, "UTC", make_free_slot(at_wall_time("2026-03-25 01:15")))
    assert [hour.hour for hour in lay_out_week(plain, NOW, rows=21).hours] == list(range(3, 24))
    assert [hour.hour for hour in lay_out_week(early, NOW, rows=21).hours] == [1, *range(4, 24)]
    assert [hour.hour for hour in lay_out_week(early, NOW, rows=5).hours] == [1, *range(6, 24)]


def test_past_and_current_hours_are_flagged() -> None:
    grid = lay_out_week(make_week(SPRING), NOW)
    today = [cell_at(grid, date(2026, 3, 25), hour) for hour in (8, 9, 10)]
    assert [(cell_.is_past, cell_.is_now) for cell_ in today] == [(True, False), (False, True), (False, False)]
    assert sum(cell_.is_now for cell_ in grid.cells.values()) == 1


@pytest.mark.parametrize(("width", "days"), [(40, 1), (62, 1), (63, 7), (79, 7), (200, 7)])
def test_narrow_terminal_has_one_day(width: int, days: int) -> None:
    assert visible_days(width) == days


def test_hidden_hour_maps_to_nearest() -> None:
    grid = lay_out_week(make_week(SPRING, "UTC", make_free_slot(at_wall_time("2026-03-25 02:00"))), NOW)
    day = date(2026, 3, 25)
    assert grid.nearest_visible(GridPosition(day, Hour(4))) == GridPosition(day, Hour(2))
    assert grid.nearest_visible(GridPosition(day, Hour(1))) == GridPosition(day, Hour(2))
    assert grid.nearest_visible(GridPosition(day, Hour(9))) == GridPosition(day, Hour(9))


# Clock changes


@pytest.mark.parametrize(
    ("zone", "monday", "found"),
    [
        (PRAGUE, SPRING, [ClockChange(date(2026, 3, 29), forward=True, first=time(2), last=time(3))]),
        (PRAGUE, AUTUMN, [ClockChange(date(2026, 10, 25), forward=False, first=time(2), last=time(3))]),
        (PRAGUE, date(2026, 3, 30), []),
        (NEW_YORK, date(2026, 3, 2), [ClockChange(date(2026, 3, 8), forward=True, first=time(2), last=time(3))]),
        (NEW_YORK, date(2026, 10, 26), [ClockChange(date(2026, 11, 1), forward=False, first=time(1), last=time(2))]),
        (LORD_HOWE, date(2026, 3, 30), [ClockChange(date(2026, 4, 5), forward=False, first=time(1, 30), last=time(2))]),
        (LORD_HOWE, date(2026, 9, 28), [ClockChange(date(2026, 10, 4), forward=True, first=time(2), last=time(2, 30))]),
        (KATHMANDU, SPRING, []),
        # At midnight: the day starts at 01:00, or its last hour is repeated.
        (
            "Africa/Cairo",
            date(2026, 4, 20),
            [ClockChange(date(2026, 4, 24), forward=True, first=time(0), last=time(1))],
        ),
        (
            "Africa/Cairo",
            date(2026, 10, 26),
            [ClockChange(date(2026, 10, 29), forward=False, first=time(23), last=time(0))],
        ),
        ("Asia/Beirut", SPRING, [ClockChange(date(2026, 3, 29), forward=True, first=time(0), last=time(1))]),
    ],
)
def test_clock_changes_of_week(zone: str, monday: date, found: list[ClockChange]) -> None:
    assert list(clock_changes(monday, ZoneInfo(zone))) == found


def test_spring_change_skips_hour() -> None:
    grid = lay_out_week(make_week(SPRING, PRAGUE), NOW)
    saturday, sunday = cell_at(grid, date(2026, 3, 28), 2), cell_at(grid, date(2026, 3, 29), 2)
    assert (saturday.is_skipped, saturday.span) == (False, ClockSpan(at_wall_time("2026-03-28 02:00", PRAGUE), 0, 60))
    assert (sunday.is_skipped, sunday.span) == (True, None)
    assert Hour(2) in grid.hours
    assert Hour(2, is_repeat=True) not in grid.hours


def test_autumn_change_repeats_hour_with_offsets() -> None:
    first, second = (
        make_week_draft(datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        make_week_draft(datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
    )
    grid = lay_out_week(make_week(AUTUMN, PRAGUE, first, second), NOW)
    index = grid.hours.index(Hour(2))
    assert grid.hours[index + 1] == Hour(2, is_repeat=True)
    first_cell, second_cell = cell_at(grid, date(2026, 10, 25), 2), cell_at(grid, date(2026, 10, 25), 2, repeated=True)
    assert [entry.draft for entry in first_cell.entries] == [first]
    assert [entry.draft for entry in second_cell.entries] == [second]
    assert (first_cell.repeated_offset, second_cell.repeated_offset) == ("+02:00", "+01:00")
    saturday = cell_at(grid, date(2026, 10, 24), 2, repeated=True)
    assert (saturday.span, saturday.is_skipped, saturday.repeated_offset) == (None, False, "")


def test_lord_howe_skips_half_hour() -> None:
    grid = lay_out_week(make_week(date(2026, 9, 28), LORD_HOWE), NOW)
    half = cell_at(grid, date(2026, 10, 4), 2)
    assert half.span is not None
    assert (half.span.first, half.span.end, half.span.is_complete, half.is_skipped) == (30, 60, False, False)
    assert half.span.start == datetime(2026, 10, 3, 15, 30, tzinfo=UTC)


def test_lord_howe_repeats_half_hour() -> None:
    grid = lay_out_week(make_week(date(2026, 3, 30), LORD_HOWE), NOW)
    first, repeated = cell_at(grid, date(2026, 4, 5), 1), cell_at(grid, date(2026, 4, 5), 1, repeated=True)
    assert (first.repeated_offset, repeated.repeated_offset) == ("+11:00", "+10:30")
    assert first.span == ClockSpan(datetime(2026, 4, 4, 14, 0, tzinfo=UTC), 0, 60)
    assert repeated.span == ClockSpan(datetime(2026, 4, 4, 15, 0, tzinfo=UTC), 30, 60)


@pytest.mark.parametrize(
    ("zone", "monday", "expected"),
    [
        (KATHMANDU, SPRING, ["UTC+05:45"]),
        ("UTC", SPRING, ["UTC+00:00"]),
        (PRAGUE, SPRING, ["UTC+01:00", "UTC+02:00"]),
        (NEW_YORK, date(2026, 10, 26), ["UTC-04:00", "UTC-05:00"]),
        (LORD_HOWE, date(2026, 3, 30), ["UTC+11:00", "UTC+10:30"]),
    ],
)
def test_offsets_of_week(zone: str, monday: date, expected: list[str]) -> None:
    assert [offset for _, offset in utc_offsets(monday, ZoneInfo(zone))] == expected


# Every quarter hour of the weeks with a clock change, computed independently of the zone's rules.


def weeks_with_clock_change() -> Iterator[tuple[str, date]]:
    for name in ZONES:
        zone = ZoneInfo(name)
        for change in dst_transitions.find_transitions(
            zone, datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
        ):
            day = change.at.astimezone(zone).date()
            yield name, day - timedelta(days=day.weekday())


@pytest.mark.parametrize(("name", "monday"), weeks_with_clock_change())
def test_cells_cover_quarter_hours_once(name: str, monday: date) -> None:
    zone = ZoneInfo(name)
    grid = lay_out_week(make_week(monday, name), NOW)
    quarter_hours = [
        cell_.span.start + minute * MINUTE
        for cell_ in grid.cells.values()
        if cell_.span
        for minute in range(0, cell_.span.end - cell_.span.first, 15)
    ]
    start, end = (instant_of_wall(datetime.combine(day, time()), zone) for day in (monday, monday + timedelta(days=7)))
    assert sorted(quarter_hours) == [start + number * 15 * MINUTE for number in range((end - start) // (15 * MINUTE))]
    for cell_ in grid.cells.values():
        if cell_.span:
            assert grid_position(cell_.span.start, zone) == cell_.position


FIRST, LAST = datetime.fromisoformat("2026-01-01"), datetime.fromisoformat("2029-01-01")
local_times = st.datetimes(FIRST, LAST).map(lambda at: at.replace(microsecond=0))


@settings(max_examples=sample_size(150), derandomize=True)
@given(local_times, st.sampled_from(ZONES))
def test_any_instant_has_a_cell(at: datetime, name: str) -> None:
    zone, utc_instant = ZoneInfo(name), at.replace(tzinfo=UTC)
    hour_span = clock_span(grid_position(utc_instant, zone), zone)
    assert hour_span is not None
    assert hour_span.start <= utc_instant < hour_span.start + (hour_span.end - hour_span.first) * MINUTE


@settings(max_examples=sample_size(150), derandomize=True)
@given(local_times, st.sampled_from(ZONES))
def test_local_time_resolves_like_desk(at: datetime, name: str) -> None:
    assert instant(at, ZoneInfo(name)) == instant_of_wall(at, ZoneInfo(name))


# Moves


@pytest.mark.parametrize(
    ("at", "by", "then"),
    [
        ("2026-03-28 02:30", {"days": 1}, "2026-03-29 03:00"),
        ("2026-03-29 03:00", {"days": 1}, "2026-03-30 03:00"),
        ("2026-03-29 01:30", {"hours": 1}, "2026-03-29 03:30"),
        ("2026-03-30 01:30", {"hours": -2}, "2026-03-29 23:30"),
        ("2026-03-25 23:30", {"hours": 1}, "2026-03-26 00:30"),
        ("2026-03-25 09:15", {"days": -7}, "2026-03-18 09:15"),
    ],
)
def test_day_moves_keep_wall_time(at: str, by: dict[str, int], then: str) -> None:
    zone = ZoneInfo(PRAGUE)
    assert shift_time(at_wall_time(at, PRAGUE), zone, **by) == at_wall_time(then, PRAGUE)


def test_hour_move_enters_repeated_hour() -> None:
    zone = ZoneInfo(PRAGUE)
    first = at_wall_time("2026-10-25 02:30", PRAGUE)
    second = shift_time(first, zone, hours=1)
    assert grid_position(first, zone) == GridPosition(date(2026, 10, 25), Hour(2))
    assert grid_position(second, zone) == GridPosition(date(2026, 10, 25), Hour(2, is_repeat=True))


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("2026-03-25 00:05", "00:05"),
        ("2026-03-26 00:05", "Thu 00:05"),
        ("2026-03-24 23:55", "Tue 23:55"),
        ("2026-03-31 09:30", "Tue 09:30"),
        ("2026-04-01 09:30", "1 Apr"),
        ("2027-01-02 09:30", "Jan 2027"),
    ],
)
def test_time_is_abbreviated_unambiguously(at: str, expected: str) -> None:
    now = at_wall_time("2026-03-25 23:30", KATHMANDU)
    assert labels.format_time(at_wall_time(at, KATHMANDU), ZoneInfo(KATHMANDU), now) == expected
