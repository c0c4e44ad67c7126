"""Tests for numbers, durations and times as text."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from copydesk.text.formatting import format_age, format_duration, format_relative, plural

NOW = datetime(2026, 2, 11, 9, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (0, "draft", "0 drafts"),
        (1, "draft", "1 draft"),
        (2, "draft", "2 drafts"),
        (4083, "draft", "4,083 drafts"),
        (1, "entry", "1 entry"),
        (2, "entry", "2 entries"),
        (2, "day", "2 days"),
    ],
)
def test_plural_depends_on_count(count: int, noun: str, text: str) -> None:
    assert plural(count, noun) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1 second"),
        (1, "1 second"),
        (59.6, "60 seconds"),
        (60, "1 minute"),
        (90, "90 seconds"),
        (900, "15 minutes"),
        (3600, "1 hour"),
        (5400, "90 minutes"),
        (21600, "6 hours"),
        (86400, "1 day"),
        (31 * 86400, "31 days"),
    ],
)
def test_duration_as_text(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
    assert format_duration(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (timedelta(0), "just now"),
        (timedelta(seconds=-59), "just now"),
        (timedelta(seconds=1), "in less than a minute"),
        (timedelta(minutes=-1), "1 min ago"),
        (timedelta(minutes=-60), "1 h ago"),
        (timedelta(minutes=59), "in 59 min"),
        (timedelta(minutes=-77), "1 h 17 min ago"),
        (timedelta(minutes=-120), "2 h ago"),
        (timedelta(hours=23, minutes=59), "in 23 h 59 min"),
        (timedelta(hours=24, minutes=20), "in 24 h"),
        (timedelta(hours=47), "in 47 h"),
        (timedelta(days=2), "in 2 days"),
        (timedelta(days=-13), "13 days ago"),
        (timedelta(days=-15), "2 weeks ago"),
    ],
)
def test_relative_time(distance: timedelta, expected: str) -> None:
    assert format_relative(NOW + distance, NOW) == expected


def test_relative_days_are_calendar_days_of_the_zone() -> None:
    now = datetime(2026, 2, 11, 22, tzinfo=ZoneInfo("Europe/Berlin"))
    assert format_relative(datetime(2026, 2, 14, 9, tzinfo=ZoneInfo("Europe/Berlin")), now) == "in 3 days"


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(seconds=-5), "now"),
        (timedelta(seconds=59), "now"),
        (timedelta(minutes=5), "5m"),
        (timedelta(minutes=119), "1h"),
        (timedelta(hours=47), "1d"),
        (timedelta(days=400), "57w"),
    ],
)
def test_age_is_abbreviated(age: timedelta, expected: str) -> None:
    assert format_age(NOW - age, NOW) == expected
