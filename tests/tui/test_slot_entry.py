"""Tests for parsing weekly slots as users type them."""

import pytest

from copydesk.model.schedule import Slot
from copydesk.tui.slot_entry import slots_read
from schedule_fixtures import FRI, MON, SAT, SUN, THU, TUE, WED, slot

HERE = Slot(day_of_week=WED, hour=12, minute=0)
WORK = (MON, TUE, WED, THU, FRI)
WEEK = (*WORK, SAT, SUN)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("", HERE),
        ("30", slot(WED, 12, 30)),
        ("9", slot(WED, 12, 9)),
        ("4:5", slot(WED, 4, 5)),
        ("23.59", slot(WED, 23, 59)),
    ],
)
def test_minute_or_time_uses_current_day(text: str, made: Slot) -> None:
    assert slots_read(text, HERE) == (made,)


@pytest.mark.parametrize(
    ("text", "days", "at"),
    [
        ("weekdays 9:30", WORK, (9, 30)),
        ("Daily 9", WEEK, (9, 0)),
        ("every day at 9", WEEK, (9, 0)),
        ("weekends", (SAT, SUN), (12, 0)),
        ("mon,wed 9:30", (MON, WED), (9, 30)),
        ("wed, mon and wednesday 9.30", (MON, WED), (9, 30)),
        ("9:30 mondays", (MON,), (9, 30)),
        ("tue - thu 7", (TUE, WED, THU), (7, 0)),
        ("sat\u2013mon 7", (MON, SAT, SUN), (7, 0)),
    ],
)
def test_days_share_one_time(text: str, days: tuple[int, ...], at: tuple[int, int]) -> None:
    assert slots_read(text, HERE) == tuple(slot(day, *at) for day in days)


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
        "mon 9 10",
        "-",
        "every",
    ],
)
def test_invalid_text_gives_no_slots(text: str) -> None:
    assert slots_read(text, HERE) == ()
