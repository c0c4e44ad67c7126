"""Tests for parsing weekly slots as users type them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.schedule import Slot
from copydesk.tui.schedule.actions import is_ambiguous, parse_slots
from schedule_fixtures import FRI, MON, SAT, SUN, THU, TUE, WED, make_slot

CURSOR_SLOT = Slot(day_of_week=WED, hour=12, minute=0)
WEEKDAYS = (MON, TUE, WED, THU, FRI)
ALL_DAYS = (*WEEKDAYS, SAT, SUN)
DAY_NAMES = {MON: "mon", TUE: "tue", WED: "wed", THU: "thu", FRI: "fri", SAT: "sat", SUN: "sun"}


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
        ("mon,wed 9, sat 11", [make_slot(MON, 9, 0), make_slot(WED, 9, 0), make_slot(SAT, 11, 0)]),
        ("weekdays 9:30 15", [make_slot(day, *time) for time in ((9, 30), (15, 0)) for day in WEEKDAYS]),
        ("mon, 9, wed, 10", [make_slot(MON, 9, 0), make_slot(WED, 10, 0)]),
        ("mon 9, 10, 11 and sat 12", [*(make_slot(MON, hour, 0) for hour in (9, 10, 11)), make_slot(SAT, 12, 0)]),
        ("10 sat, mon 9, 11 sun", [make_slot(SAT, 10, 0), make_slot(MON, 9, 0), make_slot(SUN, 11, 0)]),
        ("10 sat and mon 9 and 11 sun", [make_slot(SAT, 10, 0), make_slot(MON, 9, 0), make_slot(SUN, 11, 0)]),
        ("9:30 mon, wed 10", [make_slot(MON, 9, 30), make_slot(WED, 10, 0)]),
    ],
)
def test_several_times(text: str, slots: list[Slot]) -> None:
    assert parse_slots(text, CURSOR_SLOT) == tuple(slots)


@st.composite
def _groups(draw: st.DrawFn) -> tuple[str, list[Slot], bool]:
    """Draw days with their times as text in either order, with the slots; True if no comma is ambiguous."""
    texts, slots, orders, separators = [], [], set(), set()
    for _ in range(draw(st.integers(1, 4))):
        days = draw(st.lists(st.sampled_from(ALL_DAYS), min_size=1, max_size=3, unique=True))
        hours = draw(st.lists(st.integers(0, 23), min_size=1, max_size=3, unique=True))
        separator, is_reversed = draw(st.sampled_from([" ", ", ", " and "])), draw(st.booleans())
        words = [separator.join(DAY_NAMES[day] for day in days), separator.join(map(str, hours))]
        texts.append(" ".join(words[::-1] if is_reversed else words))
        slots += [make_slot(day, hour, 0) for hour in hours for day in ALL_DAYS if day in days]
        orders.add(is_reversed)
        separators.add(separator)
    return ", ".join(texts), list(dict.fromkeys(slots)), len(orders) == 1 or separators == {" "}


@given(_groups())
def test_days_get_the_times_beside_them(groups: tuple[str, list[Slot], bool]) -> None:
    text, slots, is_unambiguous = groups
    assert parse_slots(text, CURSOR_SLOT) in ((tuple(slots),) if is_unambiguous else (tuple(slots), ()))


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
        "9:30, mon 10",
        "mon, 10 sat",
        "9, mon 10, tue",
        "mon 9, 10, 11 sat",
        "9 mon, tue, wed 10",
        "9 mon 10 tue 11, wed 12",
        ",",
        "weekdays 9:30, someday 11",
        "-",
        "every",
    ],
)
def test_invalid_text_gives_no_slots(text: str) -> None:
    assert parse_slots(text, CURSOR_SLOT) == ()


@pytest.mark.parametrize(
    ("text", "ambiguous"),
    [
        ("09:00 mon tue 10:00", True),
        ("mon 9 10 tue", True),
        ("9:30, mon 10", True),
        ("mon 9, tue 10", False),
        ("someday 9", False),
        ("mon", False),
        ("60", False),
        ("", False),
    ],
)
def test_mixed_order_is_ambiguous(text: str, *, ambiguous: bool) -> None:
    assert is_ambiguous(text) is ambiguous
