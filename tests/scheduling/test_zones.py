"""Tests for time zone names, and for wall times at unusual clock changes."""

from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import InvalidError
from copydesk.scheduling.wall_time import get_zone, instant_of_wall, is_repeated, is_skipped


def wall(text):
    return datetime.fromisoformat(text)


@pytest.mark.parametrize("name", ["Europe/Prague", "America/Argentina/Buenos_Aires", "UTC", "Etc/GMT+8"])
def test_zone_is_found_by_name(name):
    assert get_zone(name).key == name


@pytest.mark.parametrize(
    "name",
    [
        "", " ", ".", "..", "../etc/passwd", "/etc/localtime", "Europe/../Europe/Prague", "Europe", "europe/prague",
        "localtime", "posixrules", "tzdata.zi", "zone.tab", "Europe/Prague\0", "Europe/Prague\n", "\ud800", "é" * 9000,
    ],
)  # fmt: skip
def test_invalid_zone_name_is_refused(name):
    with pytest.raises(InvalidError) as caught:
        get_zone(name)
    assert [error.field for error in caught.value.errors] == ["timeZone"]
    assert len(str(caught.value)) < 250


@given(st.text())
def test_any_text_is_zone_or_refused(name):
    with suppress(InvalidError):
        assert get_zone(name).key == name


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("europe/prague", "Europe/Prague"),
        ("Prague", "Europe/Prague"),
        ("Europe/Pragu", "Europe/Prague"),
        ("new york", "America/New_York"),
        ("utc", "UTC"),
    ],
)
def test_misspelled_zone_gets_suggestion(name, suggestion):
    with pytest.raises(InvalidError) as caught:
        get_zone(name)
    assert suggestion in caught.value.hint


def test_invalid_zone_name_is_sanitized():
    with pytest.raises(InvalidError) as caught:
        get_zone("\x1b[2JEurope")
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("zone", "skipped", "instant"),
    [
        ("Europe/Prague", "2027-03-28T02:00", "2027-03-28T01:00"),
        ("Europe/Prague", "2027-03-28T02:59:59.999999", "2027-03-28T01:00"),
        ("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-03T15:30"),
        ("Africa/Cairo", "2026-04-24T00:30", "2026-04-23T22:00"),
        ("Antarctica/Troll", "2027-03-28T01:30", "2027-03-28T01:00"),
        ("Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00"),  # a whole day
        ("Africa/Monrovia", "1972-01-07T00:10", "1972-01-07T00:45"),  # 44 minutes and 30 seconds
    ],
)
def test_skipped_time_moves_after_gap(zone, skipped, instant):
    assert is_skipped(wall(skipped), ZoneInfo(zone))
    assert instant_of_wall(wall(skipped), ZoneInfo(zone)) == datetime.fromisoformat(instant).replace(tzinfo=UTC)


def test_repeated_time_is_first_by_default():
    prague, night = ZoneInfo("Europe/Prague"), wall("2027-10-31T02:30")
    assert is_repeated(night, prague)
    assert instant_of_wall(night, prague) == datetime(2027, 10, 31, 0, 30, tzinfo=UTC)
    assert instant_of_wall(night, prague, second=True) == datetime(2027, 10, 31, 1, 30, tzinfo=UTC)


def test_unambiguous_time_ignores_second():
    prague, noon = ZoneInfo("Europe/Prague"), wall("2027-10-31T12:00")
    assert instant_of_wall(noon, prague, second=True) == instant_of_wall(noon, prague)
