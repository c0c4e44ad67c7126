"""Tests for wall times: they stay as intended even when the rules of a zone change."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import InvalidError
from copydesk.scheduling.meant import Meant, about_the_change, instant_of, meant_at, moment_at, moment_on, moved
from copydesk.scheduling.zones import zone_named

PRAGUE = ZoneInfo("Europe/Prague")


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_wall_time_uses_the_users_clock():
    assert meant_at(utc("2026-11-30T13:30"), PRAGUE) == Meant(wall="2026-11-30T14:30", zone="Europe/Prague")


def test_seconds_are_omitted_when_zero():
    assert meant_at(utc("2026-11-30T13:30:05"), PRAGUE).wall == "2026-11-30T14:30:05"
    assert meant_at(utc("2026-11-30T13:30:05.123"), PRAGUE).wall == "2026-11-30T14:30:05.123000"


def test_second_repeated_time_is_marked():
    first, second = utc("2027-10-31T00:30"), utc("2027-10-31T01:30")
    assert meant_at(first, PRAGUE).wall == "2027-10-31T02:30"
    assert meant_at(second, PRAGUE).wall == "2027-10-31T02:30#2"
    assert [instant_of(meant_at(instant, PRAGUE)) for instant in (first, second)] == [first, second]


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    # Some systems list `localtime` as a zone; IANA does not.
    st.timezone_keys(allow_prefix=False).filter(lambda name: name != "localtime"),
)
def test_any_instant_round_trips_in_any_zone(at, name):
    zone = zone_named(name)
    assert instant_of(meant_at(at, zone)) == at
    assert moved(moment_at(at, zone).meant, at) is None


def test_skipped_time_keeps_its_wall_time():
    scheduled = moment_on(datetime.fromisoformat("2027-03-28T02:30"), PRAGUE)
    assert scheduled.meant.wall == "2027-03-28T02:30"
    assert scheduled.at == instant_of(scheduled.meant) == utc("2027-03-28T01:00")
    assert about_the_change(scheduled) == "02:30 does not exist on that day in Europe/Prague: it will be 03:00"


def test_repeated_time_warning_names_both():
    first = about_the_change(moment_on(datetime.fromisoformat("2027-10-31T02:30"), PRAGUE))
    assert first == (
        "02:30 comes twice on that day in Europe/Prague: this is the first, and 2027-10-31T02:30:00+01:00 is the second"
    )
    second = about_the_change(moment_at(utc("2027-10-31T01:30"), PRAGUE))
    assert second.endswith("this is the second, and 2027-10-31T02:30:00+02:00 is the first")


def test_unambiguous_time_has_no_warning():
    assert about_the_change(moment_on(datetime.fromisoformat("2027-10-31T03:30"), PRAGUE)) == ""
    assert about_the_change(moment_at(utc("2027-10-30T23:30"), PRAGUE)) == ""


def test_rule_change_moves_instant_not_wall_time():
    """Without summer time in the Czech Republic, a post planned for 9:00 in July goes out an hour later in UTC."""
    stored = utc("2027-07-01T07:00")
    without_summer_time = Meant(wall=meant_at(stored, PRAGUE).wall, zone="Etc/GMT-1")
    assert moved(without_summer_time, stored) == utc("2027-07-01T08:00")


def test_second_mark_is_ignored_without_repeat():
    assert moved(Meant(wall="2027-10-31T02:30#2", zone="Etc/GMT-1"), utc("2027-10-31T01:30")) is None
    assert instant_of(Meant(wall="2027-10-31T02:30#2", zone="Etc/GMT-2")) == utc("2027-10-31T00:30")


def test_removed_zone_moves_nothing():
    assert moved(Meant(wall="2027-10-31T02:30", zone="Mars/Olympus"), utc("2027-10-31T01:30")) is None


@pytest.mark.parametrize(
    "wall",
    ["", "2026-11-30", "2026-11-30 14:30", "2026-02-30T10:00", "2026-11-30T24:00", "2026-11-30T14:30Z",
     "٢٠٢٦-11-30T14:30",
     "2026-11-30T14:30#3", "2026-11-30T14:30\n", "0001-01-01T00:00", "9999-12-31T23:59"],
)  # fmt: skip
def test_invalid_wall_time_is_refused(wall):
    with pytest.raises(InvalidError, match="wall"):
        instant_of(Meant(wall=wall, zone="Asia/Tokyo" if wall.startswith("0001") else "Pacific/Niue"))
