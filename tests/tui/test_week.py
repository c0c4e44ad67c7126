"""A week as cells: what stands where, and what clock changes make of the hours."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clock_changes
from copydesk.model.draft import Status
from copydesk.scheduling.zones import instant_of_wall
from copydesk.tui.week import Cell, Grid, days_at_once, lay_out, near
from copydesk.tui.week_clock import (
    Change,
    Hour,
    Place,
    Span,
    changes,
    instant,
    moved,
    offsets,
    place,
    span,
    time_shown,
)
from week_fixtures import AUTUMN, NOW, SPRING, draft, free, wall, week

MINUTE = timedelta(minutes=1)
PRAGUE, NEW_YORK, LORD_HOWE, KATHMANDU = "Europe/Prague", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"
ZONES = (PRAGUE, NEW_YORK, LORD_HOWE, KATHMANDU, "Africa/Cairo", "America/Havana", "Asia/Beirut", "Africa/Casablanca")


def cell(grid: Grid, day: date, hour: int, *, again: bool = False) -> Cell:
    return grid.cells[Place(day, Hour(hour, again))]


# What stands where.


def test_a_draft_stands_in_its_hour_of_its_day_on_the_users_clock() -> None:
    one = draft(datetime(2026, 3, 24, 20, 50, tzinfo=UTC))
    grid = lay_out(week(SPRING, KATHMANDU, one), NOW)
    (thing,) = cell(grid, date(2026, 3, 25), 2).things
    assert (thing.draft, thing.minute) == (one, 35)


def test_a_slot_with_a_draft_in_its_minute_is_not_free() -> None:
    at = wall("2026-03-25 14:30")
    grid = lay_out(week(SPRING, "UTC", free(at), draft(at + timedelta(seconds=20)), free(at + MINUTE)), NOW)
    taken, other = cell(grid, date(2026, 3, 25), 14).things
    assert (taken.slot, taken.draft is None) == (free(at), False)
    assert (other.slot, other.draft) == (free(at + MINUTE), None)


def test_drafts_of_one_cell_are_in_the_order_of_time() -> None:
    drafts = [draft(wall(f"2026-03-25 14:{minute}")) for minute in ("50", "05", "30")]
    grid = lay_out(week(SPRING, "UTC", *drafts), NOW)
    assert [thing.minute for thing in cell(grid, date(2026, 3, 25), 14).things] == [5, 30, 50]


def test_what_is_just_outside_the_week_is_not_in_it_but_conflicts() -> None:
    before, inside = draft(wall("2026-03-22 23:45")), draft(wall("2026-03-23 00:10"))
    grid = lay_out(week(SPRING, "UTC", before, inside), NOW)
    assert [thing.close for each in grid.cells.values() for thing in each.things] == [-25]


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
def test_drafts_no_farther_apart_than_half_an_hour_are_conflicts(
    minutes: list[int], conflicts: list[int | None]
) -> None:
    drafts = [draft(NOW + minute * MINUTE) for minute in minutes]
    found = near(drafts)
    assert [found.get(each.id) for each in drafts] == conflicts


def test_what_is_posted_or_missed_conflicts_with_nothing() -> None:
    assert near([draft(NOW), draft(NOW, status=Status.POSTED), draft(NOW, status=Status.MISSED)]) == {}


def test_hours_before_six_are_shown_where_something_stands_in_them_or_there_is_room() -> None:
    plain, early = week(SPRING), week(SPRING, "UTC", free(wall("2026-03-25 03:15")))
    assert [hour.hour for hour in lay_out(plain, NOW).hours] == list(range(6, 24))
    assert [hour.hour for hour in lay_out(early, NOW).hours] == [3, *range(6, 24)]
    assert [hour.hour for hour in lay_out(plain, NOW, rows=24).hours] == list(range(24))
    assert [hour.hour for hour in lay_out(plain, wall("2026-03-25 01:20")).hours] == [1, *range(6, 24)]


def test_an_hour_is_past_when_it_is_over_and_now_is_in_one_cell() -> None:
    grid = lay_out(week(SPRING), NOW)
    today = [cell(grid, date(2026, 3, 25), hour) for hour in (8, 9, 10)]
    assert [(each.past, each.now) for each in today] == [(True, False), (False, True), (False, False)]
    assert sum(each.now for each in grid.cells.values()) == 1


@pytest.mark.parametrize(("width", "days"), [(40, 1), (62, 1), (63, 7), (79, 7), (200, 7)])
def test_a_narrow_terminal_has_room_for_one_day(width: int, days: int) -> None:
    assert days_at_once(width) == days


def test_an_hour_that_is_not_shown_gives_way_to_the_one_before() -> None:
    grid = lay_out(week(SPRING, "UTC", free(wall("2026-03-25 02:00"))), NOW)
    day = date(2026, 3, 25)
    assert grid.nearest(Place(day, Hour(4))) == Place(day, Hour(2))
    assert grid.nearest(Place(day, Hour(1))) == Place(day, Hour(2))
    assert grid.nearest(Place(day, Hour(9))) == Place(day, Hour(9))


# Clock changes.


@pytest.mark.parametrize(
    ("zone", "monday", "found"),
    [
        (PRAGUE, SPRING, [Change(date(2026, 3, 29), forward=True, first=time(2), last=time(3))]),
        (PRAGUE, AUTUMN, [Change(date(2026, 10, 25), forward=False, first=time(2), last=time(3))]),
        (PRAGUE, date(2026, 3, 30), []),
        (NEW_YORK, date(2026, 3, 2), [Change(date(2026, 3, 8), forward=True, first=time(2), last=time(3))]),
        (NEW_YORK, date(2026, 10, 26), [Change(date(2026, 11, 1), forward=False, first=time(1), last=time(2))]),
        (LORD_HOWE, date(2026, 3, 30), [Change(date(2026, 4, 5), forward=False, first=time(1, 30), last=time(2))]),
        (LORD_HOWE, date(2026, 9, 28), [Change(date(2026, 10, 4), forward=True, first=time(2), last=time(2, 30))]),
        (KATHMANDU, SPRING, []),
        # At midnight itself: the day begins at one, or its last hour comes twice.
        ("Africa/Cairo", date(2026, 4, 20), [Change(date(2026, 4, 24), forward=True, first=time(0), last=time(1))]),
        ("Africa/Cairo", date(2026, 10, 26), [Change(date(2026, 10, 29), forward=False, first=time(23), last=time(0))]),
        ("Asia/Beirut", SPRING, [Change(date(2026, 3, 29), forward=True, first=time(0), last=time(1))]),
    ],
)
def test_the_clock_changes_of_a_week(zone: str, monday: date, found: list[Change]) -> None:
    assert list(changes(monday, ZoneInfo(zone))) == found


def test_prague_in_spring_has_no_two_oclock_on_sunday() -> None:
    grid = lay_out(week(SPRING, PRAGUE), NOW)
    saturday, sunday = cell(grid, date(2026, 3, 28), 2), cell(grid, date(2026, 3, 29), 2)
    assert (saturday.skipped, saturday.span) == (False, Span(wall("2026-03-28 02:00", PRAGUE), 0, 60))
    assert (sunday.skipped, sunday.span) == (True, None)
    assert Hour(2) in grid.hours
    assert Hour(2, again=True) not in grid.hours


def test_prague_in_autumn_has_two_oclock_twice_on_sunday_with_its_offsets() -> None:
    first, second = draft(datetime(2026, 10, 25, 0, 30, tzinfo=UTC)), draft(datetime(2026, 10, 25, 1, 30, tzinfo=UTC))
    grid = lay_out(week(AUTUMN, PRAGUE, first, second), NOW)
    at = grid.hours.index(Hour(2))
    assert grid.hours[at + 1] == Hour(2, again=True)
    one, other = cell(grid, date(2026, 10, 25), 2), cell(grid, date(2026, 10, 25), 2, again=True)
    assert [thing.draft for thing in one.things] == [first]
    assert [thing.draft for thing in other.things] == [second]
    assert (one.twice, other.twice) == ("+02:00", "+01:00")
    saturday = cell(grid, date(2026, 10, 24), 2, again=True)
    assert (saturday.span, saturday.skipped, saturday.twice) == (None, False, "")


def test_lord_howe_skips_half_an_hour() -> None:
    grid = lay_out(week(date(2026, 9, 28), LORD_HOWE), NOW)
    half = cell(grid, date(2026, 10, 4), 2)
    assert half.span is not None
    assert (half.span.first, half.span.end, half.span.whole, half.skipped) == (30, 60, False, False)
    assert half.span.start == datetime(2026, 10, 3, 15, 30, tzinfo=UTC)


def test_lord_howe_shows_half_an_hour_again() -> None:
    grid = lay_out(week(date(2026, 3, 30), LORD_HOWE), NOW)
    first, again = cell(grid, date(2026, 4, 5), 1), cell(grid, date(2026, 4, 5), 1, again=True)
    assert (first.twice, again.twice) == ("+11:00", "+10:30")
    assert first.span == Span(datetime(2026, 4, 4, 14, 0, tzinfo=UTC), 0, 60)
    assert again.span == Span(datetime(2026, 4, 4, 15, 0, tzinfo=UTC), 30, 60)


@pytest.mark.parametrize(
    ("zone", "monday", "shown"),
    [
        (KATHMANDU, SPRING, ["UTC+05:45"]),
        ("UTC", SPRING, ["UTC+00:00"]),
        (PRAGUE, SPRING, ["UTC+01:00", "UTC+02:00"]),
        (NEW_YORK, date(2026, 10, 26), ["UTC-04:00", "UTC-05:00"]),
        (LORD_HOWE, date(2026, 3, 30), ["UTC+11:00", "UTC+10:30"]),
    ],
)
def test_the_offsets_of_a_week(zone: str, monday: date, shown: list[str]) -> None:
    assert [offset for _, offset in offsets(monday, ZoneInfo(zone))] == shown


# Every minute of the weeks with a change, as it is and not as the rules say.


def weeks_with_a_change() -> Iterator[tuple[str, date]]:
    for name in ZONES:
        zone = ZoneInfo(name)
        for change in clock_changes.changes(zone, datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)):
            day = change.at.astimezone(zone).date()
            yield name, day - timedelta(days=day.weekday())


@pytest.mark.parametrize(("name", "monday"), weeks_with_a_change())
def test_the_cells_hold_every_quarter_of_the_week_exactly_once(name: str, monday: date) -> None:
    zone = ZoneInfo(name)
    grid = lay_out(week(monday, name), NOW)
    of_cells = [
        each.span.start + minute * MINUTE
        for each in grid.cells.values()
        if each.span
        for minute in range(0, each.span.end - each.span.first, 15)
    ]
    start, end = (instant_of_wall(datetime.combine(day, time()), zone) for day in (monday, monday + timedelta(days=7)))
    assert sorted(of_cells) == [start + number * 15 * MINUTE for number in range((end - start) // (15 * MINUTE))]
    for each in grid.cells.values():
        if each.span:
            assert place(each.span.start, zone) == each.where


FIRST, LAST = datetime.fromisoformat("2026-01-01"), datetime.fromisoformat("2029-01-01")
moments = st.datetimes(FIRST, LAST).map(lambda at: at.replace(microsecond=0))


@settings(max_examples=150, derandomize=True)
@given(moments, st.sampled_from(ZONES))
def test_every_instant_stands_in_a_cell_that_is_there(at: datetime, name: str) -> None:
    zone, instant_ = ZoneInfo(name), at.replace(tzinfo=UTC)
    found = span(place(instant_, zone), zone)
    assert found is not None
    assert found.start <= instant_ < found.start + (found.end - found.first) * MINUTE


@settings(max_examples=150, derandomize=True)
@given(moments, st.sampled_from(ZONES))
def test_a_wall_time_is_the_instant_that_the_desk_means(at: datetime, name: str) -> None:
    assert instant(at, ZoneInfo(name)) == instant_of_wall(at, ZoneInfo(name))


# Moving.


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
def test_a_day_keeps_the_time_of_the_clock_and_an_hour_is_an_hour(at: str, by: dict[str, int], then: str) -> None:
    zone = ZoneInfo(PRAGUE)
    assert moved(wall(at, PRAGUE), zone, **by) == wall(then, PRAGUE)


def test_an_hour_later_than_the_first_half_past_two_is_the_second() -> None:
    zone = ZoneInfo(PRAGUE)
    first = wall("2026-10-25 02:30", PRAGUE)
    second = moved(first, zone, hours=1)
    assert place(first, zone) == Place(date(2026, 10, 25), Hour(2))
    assert place(second, zone) == Place(date(2026, 10, 25), Hour(2, again=True))


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("2026-03-25 00:05", "00:05"),
        ("2026-03-26 00:05", "Thu 00:05"),
        ("2026-03-24 23:55", "Tue 23:55"),
        ("2026-03-31 09:30", "Tue 09:30"),
        ("2026-04-01 09:30", "1 Apr"),
        ("2027-01-02 09:30", "Jan 2027"),
    ],
)
def test_a_time_is_told_shortly_and_never_of_another_day_as_of_this_one(at: str, said: str) -> None:
    now = wall("2026-03-25 23:30", KATHMANDU)
    assert time_shown(wall(at, KATHMANDU), ZoneInfo(KATHMANDU), now) == said
