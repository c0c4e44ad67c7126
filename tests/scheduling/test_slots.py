"""Tests for weekly slots: parsing, validation, occurrences and the next free one."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import InvalidError
from copydesk.model.schedule import Slot
from copydesk.scheduling.slots import MAX_SLOTS, free_slots, next_free_slot, occurrences, validate_slots
from copydesk.scheduling.time_text import format_slot, parse_clock, parse_slot

PRAGUE = ZoneInfo("Europe/Prague")
NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)  # a Saturday, 11:00 in Prague


def slots(*texts):
    return [parse_slot(text) for text in texts]


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def first_times(count, weekly_slots, after, zone=PRAGUE):
    return [occurrence.at for occurrence in islice(occurrences(weekly_slots, zone, after), count)]


@pytest.mark.parametrize(
    ("text", "day", "hour", "minute"),
    [
        ("mon 09:00", 1, 9, 0),
        ("Wednesday 14:30", 3, 14, 30),
        ("MON 9", 1, 9, 0),
        ("sun 9:05", 0, 9, 5),
        ("thurs at 2:30pm", 4, 14, 30),
        ("  fri ,  9 am ", 5, 9, 0),
        ("sat 12am", 6, 0, 0),
        ("sat 12:15pm", 6, 12, 15),
        ("tue 0:00", 2, 0, 0),
    ],
)
def test_slot_is_parsed(text, day, hour, minute):
    assert parse_slot(text) == Slot(day_of_week=day, hour=hour, minute=minute)


@pytest.mark.parametrize(
    "text",
    ["", "mon", "9:00", "mo 9", "xyz 9", "mon 24:00", "mon 9:60", "mon 13pm", "mon 0am", "mon 9:5", "mon -1", "mon 900",
     "monday 9 10", "mon ٩", "mon 9:00\x1b[2J", "m" * 10_000 + " 9",
     "mon 9" + " " * 200 + "x"],
)  # fmt: skip
def test_invalid_slot_is_refused_with_example(text):
    with pytest.raises(InvalidError, match="mon 09:00") as caught:
        parse_slot(text, field="slots[1]")
    assert caught.value.errors[0].field == "slots[1]"
    assert "\x1b" not in str(caught.value)


@given(st.builds(Slot, day_of_week=st.integers(0, 6), hour=st.integers(0, 23), minute=st.integers(0, 59)))
def test_formatted_slot_parses_back(slot):
    assert parse_slot(format_slot(slot)) == slot


@pytest.mark.parametrize("text", ["", "nine", "9:", ":30", "9:00:00", "-9", "9 am pm"])
def test_invalid_clock_time_is_none(text):
    assert parse_clock(text) is None


def test_slots_are_sorted_by_week():
    assert validate_slots(slots("fri 9", "sun 10", "fri 8:30")) == tuple(slots("sun 10", "fri 8:30", "fri 9"))
    assert validate_slots([]) == ()


def test_duplicate_slot_is_reported():
    with pytest.raises(InvalidError) as caught:
        validate_slots(slots("mon 9", "tue 9", "mon 9:00"))
    assert caught.value.errors == (("slots[2]", "“mon 09:00” is given twice"),)


def test_out_of_range_values_are_reported():
    with pytest.raises(InvalidError) as caught:
        validate_slots([Slot(day_of_week=7, hour=0, minute=0), Slot(day_of_week=0, hour=24, minute=-1)])
    assert [error.field for error in caught.value.errors] == ["slots[0].dayOfWeek", "slots[1].hour", "slots[1].minute"]


def test_too_many_slots_are_refused():
    minute_slots = [Slot(day_of_week=0, hour=count // 60, minute=count % 60) for count in range(MAX_SLOTS + 1)]
    assert len(validate_slots(minute_slots[:-1])) == MAX_SLOTS
    with pytest.raises(InvalidError, match="500"):
        validate_slots(minute_slots)


def test_slots_recur_weekly_in_user_zone():
    assert first_times(4, slots("mon 9", "sat 12:00"), NOW) == [
        utc("2026-11-21T11:00"),
        utc("2026-11-23T08:00"),
        utc("2026-11-28T11:00"),
        utc("2026-11-30T08:00"),
    ]


def test_slot_at_current_time_comes_next_week():
    assert first_times(1, slots("sat 11:00"), NOW) == [NOW + timedelta(days=7)]
    assert first_times(1, slots("sat 11:00"), NOW - timedelta(microseconds=1)) == [NOW]


def test_week_starts_on_users_sunday():
    """Saturday 23:00 UTC is Sunday in Kathmandu."""
    assert first_times(1, slots("sun 9"), utc("2026-11-21T23:00"), ZoneInfo("Asia/Kathmandu")) == [
        utc("2026-11-22T03:15")
    ]


def test_no_slots_have_no_occurrences():
    assert first_times(1, [], NOW) == []


def test_slots_in_gap_collapse_into_one():
    gap_slots = slots("sun 02:15", "sun 02:45", "sun 03:00", "sun 03:01")
    night = list(islice(occurrences(gap_slots, PRAGUE, utc("2027-03-27T12:00")), 2))
    assert [occurrence.at for occurrence in night] == [utc("2027-03-28T01:00"), utc("2027-03-28T01:01")]
    assert night[0].wall_time.wall == "2027-03-28T03:00"


def test_slot_in_repeated_hour_comes_once():
    assert first_times(2, slots("sun 02:30"), utc("2027-10-30T12:00")) == [
        utc("2027-10-31T00:30"),
        utc("2027-11-07T01:30"),
    ]


def test_slot_is_over_within_repeated_hour():
    assert first_times(1, slots("sun 02:30"), utc("2027-10-31T00:45")) == [utc("2027-11-07T01:30")]


def test_next_free_slot_skips_taken_ones():
    taken = {utc("2026-11-23T08:00")}
    found = next_free_slot(slots("mon 9"), PRAGUE, taken, NOW)
    assert found is not None
    assert found.at == utc("2026-11-30T08:00")
    assert found.wall_time.wall == "2026-11-30T09:00"


def test_draft_within_minute_takes_slot():
    assert next_free_slot(slots("mon 9"), PRAGUE, [utc("2026-11-23T08:00:59")], NOW).at == utc("2026-11-30T08:00")
    assert next_free_slot(slots("mon 9"), PRAGUE, [utc("2026-11-23T08:01")], NOW).at == utc("2026-11-23T08:00")


def test_fully_taken_year_has_no_free_slot():
    weekly = slots("mon 9", "thu 18:00")
    taken = [occurrence.at for occurrence in free_slots(weekly, PRAGUE, (), NOW)]
    assert len(taken) == 105
    assert next_free_slot(weekly, PRAGUE, taken, NOW) is None
    assert next_free_slot(weekly, PRAGUE, taken[:-1], NOW).at == taken[-1]


def test_not_before_is_inclusive():
    monday = utc("2026-11-30T08:00")
    assert next_free_slot(slots("mon 9"), PRAGUE, (), NOW, not_before=monday).at == monday
    assert next_free_slot(slots("mon 9"), PRAGUE, (), NOW, not_before=monday + timedelta(microseconds=1)).at > monday
    assert next_free_slot(slots("mon 9"), PRAGUE, (), NOW, not_before=NOW - timedelta(days=99)).at == utc(
        "2026-11-23T08:00"
    )


def test_not_before_searches_a_year_ahead():
    far = NOW + timedelta(days=2 * 366)
    assert far <= next_free_slot(slots("mon 9"), PRAGUE, (), NOW, not_before=far).at < far + timedelta(days=7)
