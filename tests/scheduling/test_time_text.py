"""Tests for parsing and formatting times."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import InvalidError
from copydesk.model.validation import MAX_TIME_AHEAD, scheduled_time_problem
from copydesk.scheduling.time_text import TIME_EXAMPLES, format_short_time, format_time, parse_time

PRAGUE = ZoneInfo("Europe/Prague")
NOW = datetime(2026, 11, 21, 10, 38, 13, tzinfo=UTC)  # Saturday, 11:38:13 in Prague


def read(text, now=NOW, zone=PRAGUE):
    return parse_time(text, zone, now)


@pytest.mark.parametrize(
    ("text", "wall"),
    [
        ("fri 14:30", "2026-11-27T14:30"),
        ("Friday 9", "2026-11-27T09:00"),
        ("friday at 9 pm", "2026-11-27T21:00"),
        ("sat 14:30", "2026-11-21T14:30"),
        ("sat 11:38", "2026-11-28T11:38"),
        ("sat 9", "2026-11-28T09:00"),
        ("tomorrow 9", "2026-11-22T09:00"),
        ("9am tomorrow", "2026-11-22T09:00"),
        ("14:30 on monday", "2026-11-23T14:30"),
        ("today 18:00", "2026-11-21T18:00"),
        ("14:30", "2026-11-21T14:30"),
        ("at 11:38", "2026-11-22T11:38"),
        ("9am", "2026-11-22T09:00"),
        ("2:30 PM", "2026-11-21T14:30"),
        ("12am", "2026-11-22T00:00"),
        ("noon", "2026-11-21T12:00"),
        ("tomorrow at noon", "2026-11-22T12:00"),
        ("noon on friday", "2026-11-27T12:00"),
        ("30 nov noon", "2026-11-30T12:00"),
        ("midnight", "2026-11-22T00:00"),
        ("at Midnight", "2026-11-22T00:00"),
        ("14.30", "2026-11-21T14:30"),
        ("fri 14.30", "2026-11-27T14:30"),
        ("2.30pm tomorrow", "2026-11-22T14:30"),
        ("2026-11-30 14.30", "2026-11-30T14:30"),
        ("in 2 hours", "2026-11-21T13:39"),
        ("in 30 min", "2026-11-21T12:09"),
        ("in 2h 30min", "2026-11-21T14:09"),
        ("in 1 hour and 1 minute", "2026-11-21T12:40"),
        ("in 2 days", "2026-11-23T11:39"),
        ("in 1 week", "2026-11-28T11:39"),
        ("in 1 day 2 hours", "2026-11-22T13:39"),
        ("nov 30 9:00", "2026-11-30T09:00"),
        ("30 nov 9:00", "2026-11-30T09:00"),
        ("November 30th, 9am", "2026-11-30T09:00"),
        ("9:00 30 nov", "2026-11-30T09:00"),
        ("1st of may 2028 at 9:05", "2028-05-01T09:05"),
        ("nov 21 11:00", "2027-11-21T11:00"),
        ("jan 2 9:00", "2027-01-02T09:00"),
        ("29 feb 9:00", "2028-02-29T09:00"),
        ("Fri 27 Nov 2026 14:30", "2026-11-27T14:30"),
        ("2026-11-30 14:30", "2026-11-30T14:30"),
        ("2026-11-30 9am", "2026-11-30T09:00"),
        ("2026-11-30T14:30", "2026-11-30T14:30"),
        ("2026-11-30T14:30:05", "2026-11-30T14:30:05"),
        ("2026-11-30T14:30Z", "2026-11-30T15:30"),
        ("2026-11-30t14:30:00.000z", "2026-11-30T15:30"),
        ("2026-11-30T14:30+05:30", "2026-11-30T10:00"),
        ("2026-11-30 14:30 -0800", "2026-11-30T23:30"),
    ],
)
def test_time_is_parsed(text, wall):
    scheduled = read(text)
    assert scheduled.wall_time.wall == wall
    assert scheduled.at == datetime.fromisoformat(wall).replace(tzinfo=PRAGUE)


@pytest.mark.parametrize(
    "text",
    ["", " ", "now", "soon", "9", "at 9", "friday", "30 nov", "2026-11-30", "30/11 9:00", "11/30 9:00", "30.11. 9:00",
     "next fri 9", "9 nov 10", "2026-11-30 9", "nov 30 2026", "fri 24:00", "25:00", "9:60", "13pm", "0am", "fri 9 10",
     "fri midnight", "tomorrow midnight", "30.11", "30.11 9.00", "9.00 30.11", "14.3", "14.300", "noon 9",
     "31 nov 9:00", "2026-02-30 9:00", "2026-02-30T09:00", "in 5 m", "in two hours", "in 2 hours 3 hours",
     "in -2 hours", "in 2", "tomorrow tomorrow", "foo 27 nov 9:00", "1430", "٩:٣٠", "2026-11-30T14:30+25:00",
     "\x1b[2J9:00", "\ud800", "fri 9:00" + " " * 200 + "x"],
)  # fmt: skip
def test_ambiguous_text_is_refused_with_examples(text):
    with pytest.raises(InvalidError) as caught:
        read(text)
    ((field, message),) = caught.value.errors
    assert field == "scheduledAt"
    assert TIME_EXAMPLES in message
    assert "\x1b" not in message


def test_examples_can_be_parsed():
    assert all(read(example) for example in TIME_EXAMPLES.replace(" or ", ", ").split(", "))


def test_weekday_must_match_date():
    with pytest.raises(InvalidError, match="2026-11-27 is a Friday"):
        read("mon 27 nov 14:30")


@pytest.mark.parametrize(
    "text",
    ["today 9", "2026-11-21 11:00", "2020-01-01T00:00Z", "1 jan 2020 9:00", "0001-01-02 0:00", "sat 21 nov 11:00"],
)
def test_past_time_is_refused(text):
    with pytest.raises(InvalidError, match="is in the past"):
        read(text)


def test_past_time_is_allowed_on_request():
    assert parse_time("2020-01-01T00:00Z", PRAGUE, NOW, allow_past=True).at == datetime(2020, 1, 1, tzinfo=UTC)
    assert parse_time("today 9", PRAGUE, NOW, allow_past=True).wall_time.wall == "2026-11-21T09:00"
    assert parse_time("sat 21 nov 11:00", PRAGUE, NOW, allow_past=True).wall_time.wall == "2026-11-21T11:00"
    # What is left open is still the next one.
    assert parse_time("sat 9", PRAGUE, NOW, allow_past=True).wall_time.wall == "2026-11-28T09:00"
    for text, problem in (("9999-12-30 23:59", "ten years in the future"), ("0001-01-01 0:00", "date range")):
        with pytest.raises(InvalidError, match=problem):
            parse_time(text, PRAGUE, NOW, allow_past=True)


def test_past_time_is_displayed_in_user_zone():
    with pytest.raises(InvalidError) as caught:
        read("2026-11-21T09:00Z")
    ((_, message),) = caught.value.errors
    assert message == "is in the past: Sat 21 Nov 2026 10:00 CET, UTC+01:00 (1 h 38 min ago)"


@pytest.mark.parametrize("text", ["9999-12-30 23:59", "9999-12-31T23:59Z", "9999-12-31T23:59-12:00", "in 99999 weeks"])
def test_distant_time_is_refused(text):
    with pytest.raises(InvalidError, match="ten years in the future"):
        read(text)


def test_days_preserve_wall_time_but_hours_count():
    """Across a clock change."""
    now = datetime(2027, 3, 27, 11, 0, tzinfo=UTC)  # the day before the clocks go forward
    assert read("in 1 day", now).wall_time.wall == "2027-03-28T12:00"
    assert read("in 24 hours", now).wall_time.wall == "2027-03-28T13:00"


def test_skipped_and_repeated_times_are_resolved():
    assert read("2027-03-28 02:30").at == datetime(2027, 3, 28, 1, 0, tzinfo=UTC)
    assert read("2027-10-31 02:30").at == datetime(2027, 10, 31, 0, 30, tzinfo=UTC)


def test_offset_selects_second_repeated_time():
    scheduled = read("2027-10-31 02:30 +01:00")
    assert scheduled.at == datetime(2027, 10, 31, 1, 30, tzinfo=UTC)
    assert scheduled.wall_time.wall == "2027-10-31T02:30#2"


@pytest.mark.parametrize("text", ["2:45am", "today 2:45", "sun 2:45", "31 oct 2:45", "2027-10-31 2:45"])
def test_repeated_time_is_the_next_one(text):
    before, between, after = (datetime(2027, 10, 31, hour, 10, tzinfo=UTC) for hour in (0, 1, 2))
    assert read(text, before).at == datetime(2027, 10, 31, 0, 45, tzinfo=UTC)
    second = read(text, between)
    assert (second.at, second.wall_time.wall) == (datetime(2027, 10, 31, 1, 45, tzinfo=UTC), "2027-10-31T02:45#2")
    assert parse_time("2027-10-31 2:45", PRAGUE, after, allow_past=True).wall_time.wall == "2027-10-31T02:45"


def test_today_is_the_users_day():
    late = datetime(2026, 11, 21, 23, 30, tzinfo=UTC)  # Sunday in Prague, Saturday in New York
    assert read("tomorrow 9", late).wall_time.wall == "2026-11-23T09:00"
    assert read("tomorrow 9", late, ZoneInfo("America/New_York")).wall_time.wall == "2026-11-22T09:00"


@given(st.text(st.sampled_from("0123456789:+-tz apmfrisunovdehw"), max_size=30) | st.text())
def test_any_text_is_future_time_or_refused(text):
    with suppress(InvalidError):
        assert NOW < read(text).at <= NOW + MAX_TIME_AHEAD


@given(
    st.datetimes(datetime(2027, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    st.timezone_keys(allow_prefix=False).filter(lambda name: name != "localtime"),
)
def test_formatted_time_identifies_instant(at, name):
    at = at.replace(microsecond=0)
    day, _, clock = format_time(at, ZoneInfo(name), NOW).partition(" (")[0].partition(" UTC")
    names = day.split()[:5]
    local = datetime.strptime(" ".join(names).rstrip(","), "%a %d %b %Y %H:%M" + (":%S" if at.second else ""))  # noqa: DTZ007
    assert local.replace(tzinfo=timezone.utc if not clock else datetime.strptime(clock, "%z").tzinfo) == at  # noqa: UP017


@pytest.mark.parametrize(
    ("at", "zone", "text"),
    [
        ("2026-11-27T13:30", "Europe/Prague", "Fri 27 Nov 2026 14:30 CET, UTC+01:00 (in 6 days)"),
        ("2026-11-27T08:00", "Europe/Prague", "Fri 27 Nov 2026 09:00 CET, UTC+01:00 (in 6 days)"),
        ("2026-11-27T13:30:05", "UTC", "Fri 27 Nov 2026 13:30:05 UTC (in 6 days)"),
        ("2026-11-21T12:39", "Australia/Lord_Howe", "Sat 21 Nov 2026 23:39 UTC+11:00 (in 2 h)"),
        ("2026-11-21T10:40", "Asia/Kathmandu", "Sat 21 Nov 2026 16:25 UTC+05:45 (in 1 min)"),
        ("2026-11-21T10:38:30", "UTC", "Sat 21 Nov 2026 10:38:30 UTC (in less than a minute)"),
        ("2026-11-19T10:38:13", "UTC", "Thu 19 Nov 2026 10:38:13 UTC (2 days ago)"),
    ],
)
def test_time_is_formatted_unambiguously(at, zone, text):
    assert format_time(datetime.fromisoformat(at).replace(tzinfo=UTC), ZoneInfo(zone), NOW) == text


def test_repeated_times_are_formatted_differently():
    first, second = datetime(2027, 10, 31, 0, 30, tzinfo=UTC), datetime(2027, 10, 31, 1, 30, tzinfo=UTC)
    assert "02:30 CEST, UTC+02:00" in format_time(first, PRAGUE, NOW)
    assert "02:30 CET, UTC+01:00" in format_time(second, PRAGUE, NOW)
    assert format_short_time(first, PRAGUE, first) == f"{first.astimezone(PRAGUE):%a %-d %b} 02:30 CEST, UTC+02:00"
    assert format_short_time(second, PRAGUE, second).endswith("02:30 CET, UTC+01:00")


def test_short_time_has_the_year_if_it_is_not_this_one() -> None:
    at = datetime(2026, 11, 29, 8, tzinfo=UTC)
    assert format_short_time(at, PRAGUE, at) == "Sun 29 Nov 09:00"
    assert format_short_time(at, PRAGUE, at - timedelta(days=366)) == "Sun 29 Nov 2026 09:00"


def test_latest_allowed_time_is_accepted():
    at = NOW.replace(microsecond=0) + MAX_TIME_AHEAD - timedelta(days=1)
    assert read(f"{at:%Y-%m-%dT%H:%MZ}").at == at.replace(second=0)


@pytest.mark.parametrize(
    ("at", "message"),
    [
        (datetime(2026, 11, 30, 14, 30), "offset"),  # noqa: DTZ001
        (NOW, "is in the past"),
        (NOW - timedelta(days=1), "is in the past"),
        (NOW + MAX_TIME_AHEAD + timedelta(seconds=1), "ten years"),
        (datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-12))), "ten years"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=12))), "is in the past"),
    ],
)
def test_invalid_time_is_refused_with_reason(at, message):
    assert message in scheduled_time_problem(at, NOW)
