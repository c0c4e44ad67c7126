"""Tests for slots around every clock change of three years, in every time zone."""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import takewhile
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.schedule import Slot
from copydesk.scheduling.slots import HORIZON, ApprovedDraft, occurrences, plan_drafts
from copydesk.scheduling.time_text import parse_time
from copydesk.scheduling.wall_time import instant_of, instant_of_wall, moved_instant, wall_time_at
from dst_transitions import FIRST, LAST, MINUTE, find_transitions, first_instants, wall_time_exists
from sampling import EXHAUSTIVE

ZONES = sorted(available_timezones() - {"localtime"})
AROUND = timedelta(hours=4)
DAY = timedelta(days=1)


@cache
def zones_with_changes():
    """Return (zone, changes) pairs. Zones with the same offsets throughout are tested once: Prague stands for Berlin.

    With COPYDESK_PROVE set, every name is tested.
    """
    zones_by_changes = {}
    for name in ZONES:
        zone = ZoneInfo(name)
        start = FIRST.astimezone(zone).utcoffset()
        zones_by_changes.setdefault((start, tuple(find_transitions(zone)), name if EXHAUSTIVE else ""), zone)
    return [(zone, key[1]) for key, zone in zones_by_changes.items()]


def all_changes():
    return [(zone, change) for zone, zone_changes in zones_with_changes() for change in zone_changes]


def slots_around(zone, change):
    """Return the wall times of every quarter of an hour and of the minutes next to the change, and their slots."""
    first = (change.at - AROUND).astimezone(zone).replace(tzinfo=None)
    last = (change.at + AROUND).astimezone(zone).replace(tzinfo=None)
    edge = (change.at - MINUTE).astimezone(zone).replace(tzinfo=None)
    ends = {edge + distance * MINUTE + shift for distance in range(-1, 4) for shift in (timedelta(0), change.shift)}
    quarters = {first + count * 15 * MINUTE for count in range((last - first) // (15 * MINUTE))}
    walls = sorted(wall for wall in quarters | ends if first <= wall <= last)
    slots = [Slot(day_of_week=wall.isoweekday() % 7, hour=wall.hour, minute=wall.minute) for wall in walls]
    return list(dict.fromkeys(walls)), slots


def occurrences_before(end, times):
    return list(takewhile(lambda occurrence: occurrence.at < end, times))


def expected_instant(wall, instants_by_wall):
    """Return the first instant at which the clock displays `wall`, else that of the first minute after it."""
    return (
        instants_by_wall.get(wall)
        or instants_by_wall[min(displayed for displayed in instants_by_wall if displayed > wall)]
    )


def test_zone_database_has_relevant_changes():
    forwards = {abs(change.shift) for _, change in all_changes()}
    assert timedelta(hours=1) in forwards
    assert timedelta(minutes=30) in forwards  # Lord Howe
    assert timedelta(hours=2) in forwards  # Troll
    assert len(all_changes()) >= 150


def test_wall_time_maps_to_first_displayed_instant():
    """A wall time within a gap maps to the first minute after it."""
    for zone, change in all_changes():
        instants_by_wall = first_instants(zone, change.at - 2 * AROUND, change.at + 2 * AROUND)
        walls, _ = slots_around(zone, change)
        for wall in walls:
            assert instant_of_wall(wall, zone) == expected_instant(wall, instants_by_wall), (zone, wall)


def test_typed_time_is_the_next_one_around_changes():
    """Two instants show a repeated time, and either may be the next."""
    for zone, change in all_changes():
        for now in (change.at + count * 10 * MINUTE - MINUTE / 2 for count in range(-6, 7)):
            for at in (now + count * 10 * MINUTE + MINUTE / 2 for count in range(12)):
                wall = at.astimezone(zone).replace(tzinfo=None)
                shown = [at + shift for shift in (-abs(change.shift), timedelta(0)) if at + shift > now]
                expected = next(early for early in shown if early.astimezone(zone).replace(tzinfo=None) == wall)
                assert parse_time(f"{wall:%H:%M}", zone, now).at == expected, (zone, now, wall)


def test_slots_occur_once_around_changes():
    for zone, change in all_changes():
        instants_by_wall = first_instants(zone, change.at - 2 * AROUND, change.at + 2 * AROUND)
        walls, slots = slots_around(zone, change)
        now = change.at - AROUND - DAY
        found = occurrences_before(change.at + AROUND + DAY, occurrences(slots, zone, now))
        assert [occurrence.at for occurrence in found] == sorted(
            {expected_instant(wall, instants_by_wall) for wall in walls}
        ), zone
        assert all(occurrence.at > now for occurrence in found)
        for occurrence in found:
            wall = datetime.fromisoformat(occurrence.wall_time.wall)
            assert wall not in instants_by_wall or occurrence.at.astimezone(zone).replace(tzinfo=None) == wall


def test_plan_uses_slots_once_around_changes():
    for zone, change in all_changes():
        _, slots = slots_around(zone, change)
        now = change.at + MINUTE / 2
        drafts = [
            ApprovedDraft(id=f"{count:04}", confidence=0.5, score=None, created_at=now)
            for count in range(2 * len(slots))
        ]
        planned = plan_drafts(drafts, slots, zone, (), now).scheduled
        instants = [assignment.at for assignment in planned]
        assert len(planned) == len(drafts)
        assert instants == sorted(set(instants))
        assert instants[0] > now
        assert all(instant_of(assignment.wall_time) == assignment.at for assignment in planned)


def test_slots_hold_wall_time_for_three_years():
    """Uses slots on the days and near the hours at which clocks change, over the whole period."""
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
        instants_by_wall = {}
        for occurrence in occurrences_before(LAST, occurrences(slots, zone, FIRST)):
            instants_by_wall[datetime.fromisoformat(occurrence.wall_time.wall)] = occurrence.at
        assert list(instants_by_wall.values()) == sorted(set(instants_by_wall.values()))
        assert all(not wall_time_exists(wall, zone) for wall in walls - instants_by_wall.keys()), zone
        moved_walls = [
            wall for wall, at in instants_by_wall.items() if at.astimezone(zone).replace(tzinfo=None) != wall
        ]
        assert all(not wall_time_exists(wall, zone) for wall in moved_walls), zone


def test_instant_round_trips_in_all_zones():
    for zone, change in all_changes():
        for count in range(-150, 150):
            at = change.at + count * MINUTE
            assert instant_of(wall_time_at(at, zone)) == at
            assert moved_instant(wall_time_at(at, zone), at) is None


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
def test_plan_has_no_early_or_double_slots(name, now, slots, count):
    zone = ZoneInfo(name)
    drafts = [
        ApprovedDraft(id=f"{number:03}", confidence=number / 100, score=None, created_at=now) for number in range(count)
    ]
    first = plan_drafts(drafts, slots, zone, (), now)
    instants = [assignment.at for assignment in first.scheduled]
    assert len(instants) + first.skipped == count
    assert instants == sorted(set(instants))
    assert all(now < at <= now + HORIZON for at in instants)
    second = plan_drafts(drafts, slots, zone, instants, now)
    assert not set(instants) & {assignment.at for assignment in second.scheduled}
