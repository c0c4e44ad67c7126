"""In every zone of the world, on the days around every clock change of three years, each slot gets its one time."""

import os
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import takewhile
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import given
from hypothesis import strategies as st

from clock_changes import FIRST, LAST, MINUTE, changes, is_shown, shown_by_clock
from copydesk.model.schedule import Slot
from copydesk.scheduling.meant import instant_of, meant_at, moved
from copydesk.scheduling.plan import Approved, plan
from copydesk.scheduling.slots import HORIZON, occurrences
from copydesk.scheduling.zones import instant_of_wall

ZONES = sorted(available_timezones() - {"localtime"})
AROUND = timedelta(hours=4)
DAY = timedelta(days=1)
PROVE = os.environ.get("COPYDESK_PROVE", "") not in {"", "0"}


@cache
def zones_with_changes():
    """Each zone with its changes. Zones that have the same offsets throughout are tried once: Prague stands for Berlin.

    With COPYDESK_PROVE set, every name is tried for itself.
    """
    found = {}
    for name in ZONES:
        zone = ZoneInfo(name)
        start = FIRST.astimezone(zone).utcoffset()
        found.setdefault((start, tuple(changes(zone)), name if PROVE else ""), zone)
    return [(zone, key[1]) for key, zone in found.items()]


def every_change():
    return [(zone, change) for zone, all_of_it in zones_with_changes() for change in all_of_it]


def slots_around(zone, change):
    """The walls of every quarter of an hour, and of the minutes beside the change, and the slots that they make."""
    first = (change.at - AROUND).astimezone(zone).replace(tzinfo=None)
    last = (change.at + AROUND).astimezone(zone).replace(tzinfo=None)
    edge = (change.at - MINUTE).astimezone(zone).replace(tzinfo=None)
    ends = {edge + beside * MINUTE + shift for beside in range(-1, 4) for shift in (timedelta(0), change.forward)}
    quarters = {first + count * 15 * MINUTE for count in range((last - first) // (15 * MINUTE))}
    walls = sorted(wall for wall in quarters | ends if first <= wall <= last)
    slots = [Slot(day_of_week=wall.isoweekday() % 7, hour=wall.hour, minute=wall.minute) for wall in walls]
    return list(dict.fromkeys(walls)), slots


def until(end, times):
    return list(takewhile(lambda each: each.at < end, times))


def expected(wall, seen):
    """By the clock alone: the first time that it shows `wall`, else the first minute that it shows after it."""
    return seen.get(wall) or seen[min(shown for shown in seen if shown > wall)]


def test_the_database_has_what_these_tests_are_about():
    forwards = {abs(change.forward) for _, change in every_change()}
    assert timedelta(hours=1) in forwards
    assert timedelta(minutes=30) in forwards  # Lord Howe
    assert timedelta(hours=2) in forwards  # Troll
    assert len(every_change()) >= 150


def test_a_wall_time_is_the_first_instant_at_which_the_clocks_show_it_or_the_first_minute_after_the_gap():
    for zone, change in every_change():
        seen = shown_by_clock(zone, change.at - 2 * AROUND, change.at + 2 * AROUND)
        walls, _ = slots_around(zone, change)
        for wall in walls:
            assert instant_of_wall(wall, zone) == expected(wall, seen), (zone, wall)


def test_around_every_change_each_slot_comes_round_once_in_order_and_on_its_wall_time():
    for zone, change in every_change():
        seen = shown_by_clock(zone, change.at - 2 * AROUND, change.at + 2 * AROUND)
        walls, slots = slots_around(zone, change)
        now = change.at - AROUND - DAY
        came = until(change.at + AROUND + DAY, occurrences(slots, zone, now))
        assert [each.at for each in came] == sorted({expected(wall, seen) for wall in walls}), zone
        assert all(each.at > now for each in came)
        for each in came:
            wall = datetime.fromisoformat(each.meant.wall)
            assert wall not in seen or each.at.astimezone(zone).replace(tzinfo=None) == wall


def test_around_every_change_a_plan_puts_one_draft_on_each_slot_and_none_in_the_past():
    for zone, change in every_change():
        _, slots = slots_around(zone, change)
        now = change.at + MINUTE / 2
        drafts = [Approved(id=f"{count:04}", confidence=0.5, created_at=now) for count in range(2 * len(slots))]
        planned = plan(drafts, slots, zone, (), now).scheduled
        instants = [each.at for each in planned]
        assert len(planned) == len(drafts)
        assert instants == sorted(set(instants))
        assert instants[0] > now
        assert all(instant_of(each.meant) == each.at for each in planned)


def test_every_slot_of_three_years_keeps_its_wall_time_in_every_zone():
    """Slots on the days and near the hours at which the world changes its clocks, from the first to the last day."""
    days, clocks = (0, 5, 6), [(hour, minute) for hour in (0, 2, 23) for minute in (0, 30)]
    slots = [Slot(day_of_week=day, hour=hour, minute=minute) for day in days for hour, minute in clocks]
    dates = [FIRST.replace(tzinfo=None) + count * DAY for count in range(2, (LAST - FIRST).days - 2)]
    walls = {
        day.replace(hour=hour, minute=minute)
        for day in dates
        if day.isoweekday() % 7 in days
        for hour, minute in clocks
    }
    for zone, _ in zones_with_changes():
        came = {}
        for each in until(LAST, occurrences(slots, zone, FIRST)):
            came[datetime.fromisoformat(each.meant.wall)] = each.at
        assert list(came.values()) == sorted(set(came.values()))
        assert all(not is_shown(wall, zone) for wall in walls - came.keys()), zone
        off = [wall for wall, at in came.items() if at.astimezone(zone).replace(tzinfo=None) != wall]
        assert all(not is_shown(wall, zone) for wall in off), zone


def test_an_instant_survives_being_written_on_the_wall_of_every_zone():
    for zone, change in every_change():
        for count in range(-150, 150):
            at = change.at + count * MINUTE
            assert instant_of(meant_at(at, zone)) == at
            assert moved(meant_at(at, zone), at) is None


@given(
    st.sampled_from(ZONES),
    st.datetimes(FIRST.replace(tzinfo=None), LAST.replace(tzinfo=None), timezones=st.just(UTC)),
    st.lists(
        st.builds(Slot, day_of_week=st.integers(0, 6), hour=st.integers(0, 23), minute=st.integers(0, 59)),
        min_size=1,
        max_size=20,
        unique=True,
    ),
    st.integers(0, 60),
)
def test_whatever_the_slots_and_the_moment_no_draft_is_early_doubled_or_in_the_past(name, now, slots, count):
    zone = ZoneInfo(name)
    drafts = [Approved(id=f"{number:03}", confidence=number / 100, created_at=now) for number in range(count)]
    first = plan(drafts, slots, zone, (), now)
    instants = [each.at for each in first.scheduled]
    assert len(instants) + first.skipped == count
    assert instants == sorted(set(instants))
    assert all(now < at <= now + HORIZON for at in instants)
    again = plan(drafts, slots, zone, instants, now)
    assert not set(instants) & {each.at for each in again.scheduled}
