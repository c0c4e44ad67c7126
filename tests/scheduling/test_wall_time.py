"""Tests for wall times: they stay as intended even when the rules of a zone change."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import InvalidError
from copydesk.scheduling.wall_time import (
    WallTime,
    describe_clock_change,
    get_zone,
    instant_of,
    moved_instant,
    scheduled_at_instant,
    scheduled_at_wall_time,
    wall_time_at,
)

PRAGUE = ZoneInfo("Europe/Prague")


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_wall_time_uses_the_users_clock():
    assert wall_time_at(utc("2026-11-30T13:30"), PRAGUE) == WallTime(wall="2026-11-30T14:30", zone="Europe/Prague")


def test_seconds_are_omitted_when_zero():
    assert wall_time_at(utc("2026-11-30T13:30:05"), PRAGUE).wall == "2026-11-30T14:30:05"
    assert wall_time_at(utc("2026-11-30T13:30:05.123"), PRAGUE).wall == "2026-11-30T14:30:05.123000"


def test_second_repeated_time_is_marked():
    first, second = utc("2027-10-31T00:30"), utc("2027-10-31T01:30")
    assert wall_time_at(first, PRAGUE).wall == "2027-10-31T02:30"
    assert wall_time_at(second, PRAGUE).wall == "2027-10-31T02:30#2"
    assert [instant_of(wall_time_at(instant, PRAGUE)) for instant in (first, second)] == [first, second]


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    # Some systems list `localtime` as a zone; IANA does not.
    st.timezone_keys(allow_prefix=False).filter(lambda name: name != "localtime"),
)
def test_any_instant_round_trips_in_any_zone(at, name):
    zone = get_zone(name)
    assert instant_of(wall_time_at(at, zone)) == at
    assert moved_instant(scheduled_at_instant(at, zone).wall_time, at) is None


def test_skipped_time_keeps_its_wall_time():
    scheduled = scheduled_at_wall_time(datetime.fromisoformat("2027-03-28T02:30"), PRAGUE)
    assert scheduled.wall_time.wall == "2027-03-28T02:30"
    assert scheduled.at == instant_of(scheduled.wall_time) == utc("2027-03-28T01:00")
    assert (
        describe_clock_change(scheduled)
        == "02:30 does not exist on that day in Europe/Prague (clock change); scheduled for 03:00"
    )


def test_repeated_time_warning_names_both():
    first = describe_clock_change(scheduled_at_wall_time(datetime.fromisoformat("2027-10-31T02:30"), PRAGUE))
    assert first == (
        "02:30 occurs twice on that day in Europe/Prague: this is the first; 2027-10-31T02:30:00+01:00 is the second"
    )
    second = describe_clock_change(scheduled_at_instant(utc("2027-10-31T01:30"), PRAGUE))
    assert second.endswith("this is the second; 2027-10-31T02:30:00+02:00 is the first")


def test_unambiguous_time_has_no_warning():
    assert describe_clock_change(scheduled_at_wall_time(datetime.fromisoformat("2027-10-31T03:30"), PRAGUE)) == ""
    assert describe_clock_change(scheduled_at_instant(utc("2027-10-30T23:30"), PRAGUE)) == ""


def test_rule_change_moves_instant_not_wall_time():
    """Without summer time in the Czech Republic, a post planned for 9:00 in July goes out an hour later in UTC."""
    stored = utc("2027-07-01T07:00")
    without_summer_time = WallTime(wall=wall_time_at(stored, PRAGUE).wall, zone="Etc/GMT-1")
    assert moved_instant(without_summer_time, stored) == utc("2027-07-01T08:00")


def test_second_mark_is_ignored_without_repeat():
    assert moved_instant(WallTime(wall="2027-10-31T02:30#2", zone="Etc/GMT-1"), utc("2027-10-31T01:30")) is None
    assert instant_of(WallTime(wall="2027-10-31T02:30#2", zone="Etc/GMT-2")) == utc("2027-10-31T00:30")


def test_removed_zone_moves_nothing():
    assert moved_instant(WallTime(wall="2027-10-31T02:30", zone="Mars/Olympus"), utc("2027-10-31T01:30")) is None


@pytest.mark.parametrize(
    "wall",
    ["", "2026-11-30", "2026-11-30 14:30", "2026-02-30T10:00", "2026-11-30T24:00", "2026-11-30T14:30Z",
     "٢٠٢٦-11-30T14:30",
     "2026-11-30T14:30#3", "2026-11-30T14:30\n", "0001-01-01T00:00", "9999-12-31T23:59"],
)  # fmt: skip
def test_invalid_wall_time_is_refused(wall):
    with pytest.raises(InvalidError, match="wall"):
        instant_of(WallTime(wall=wall, zone="Asia/Tokyo" if wall.startswith("0001") else "Pacific/Niue"))
