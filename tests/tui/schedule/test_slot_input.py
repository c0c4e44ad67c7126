"""Tests for parsing weekly slots as users type them."""

import pytest

from copydesk.model.schedule import Slot
from copydesk.tui.schedule.actions import parse_slots
from schedule_fixtures import FRI, MON, SAT, SUN, THU, TUE, WED, make_slot

CURSOR_SLOT = Slot(day_of_week=WED, hour=12, minute=0)
WEEKDAYS = (MON, TUE, WED, THU, FRI)
ALL_DAYS = (*WEEKDAYS, SAT, SUN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", CURSOR_SLOT),
        ("30", make_slot(WED, 12, 30)),
        ("9", make_slot(WED, 12, 9)),
        ("4:5", make_slot(WED, 4, 5)),
        ("23.59", make_slot(WED, 23, 59)),
    ],
)
def test_minute_or_time_uses_current_day(text: str, expected: Slot) -> None:
    assert parse_slots(text, CURSOR_SLOT) == (expected,)


@pytest.mark.parametrize(
    ("text", "days", "time"),
    [
        ("weekdays 9:30", WEEKDAYS, (9, 30)),
        ("Daily 9", ALL_DAYS, (9, 0)),
        ("every day at 9", ALL_DAYS, (9, 0)),
        ("weekends", (SAT, SUN), (12, 0)),
        ("mon,wed 9:30", (MON, WED), (9, 30)),
        ("wed, mon and wednesday 9.30", (MON, WED), (9, 30)),
        ("9:30 mondays", (MON,), (9, 30)),
        ("tue - thu 7", (TUE, WED, THU), (7, 0)),
        ("sat\u2013mon 7", (MON, SAT, SUN), (7, 0)),
    ],
)
def test_days_share_one_time(text: str, days: tuple[int, ...], time: tuple[int, int]) -> None:
    assert parse_slots(text, CURSOR_SLOT) == tuple(make_slot(day, *time) for day in days)


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("9:00 13:30", [make_slot(WED, 9, 0), make_slot(WED, 13, 30)]),
        ("9:00, 13:30", [make_slot(WED, 9, 0), make_slot(WED, 13, 30)]),
        ("15 and 45", [make_slot(WED, 12, 15), make_slot(WED, 12, 45)]),
        ("mon, tue 9 13:30", [make_slot(day, *time) for time in ((9, 0), (13, 30)) for day in (MON, TUE)]),
        ("weekends 10, mon 9:30", [make_slot(SAT, 10, 0), make_slot(SUN, 10, 0), make_slot(MON, 9, 30)]),
        ("9:30 mondays, 11 sat", [make_slot(MON, 9, 30), make_slot(SAT, 11, 0)]),
        ("mon 9, mon 9", [make_slot(MON, 9, 0)]),
    ],
)
def test_several_times(text: str, slots: list[Slot]) -> None:
    assert parse_slots(text, CURSOR_SLOT) == tuple(slots)


@pytest.mark.parametrize(
    "text",
    [
        "60",
        "24:00",
        "mon 9:60",
        "mon 24",
        "mo 9",
        "someday 9",
        "mon-someday 9",
        "mon-tue-wed 9",
        "mon 9 30",
        "9:30 mon 10",
        "weekdays 9:30, someday 11",
        "-",
        "every",
    ],
)
def test_invalid_text_gives_no_slots(text: str) -> None:
    assert parse_slots(text, CURSOR_SLOT) == ()
