"""Find every clock change of a time zone day by day, without the code under test."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

FIRST, LAST = datetime(2026, 1, 1, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC)
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


class Transition(NamedTuple):
    """The first instant of the new offset, and by how much the wall clock moves forward."""

    at: datetime
    shift: timedelta


def find_transitions(zone: ZoneInfo, first: datetime = FIRST, last: datetime = LAST) -> Iterator[Transition]:
    """Yield every clock change between `first` and `last`, in order."""
    at, offset = first, first.astimezone(zone).utcoffset()
    while at < last:
        next_at = at + DAY
        new_offset = next_at.astimezone(zone).utcoffset()
        if new_offset != offset:
            yield Transition(_bisect(at, next_at, offset, zone), new_offset - offset)
        at, offset = next_at, new_offset


def _bisect(before, after, offset, zone):
    while after - before > MINUTE:
        middle = before + (after - before) // MINUTE // 2 * MINUTE
        before, after = (middle, after) if middle.astimezone(zone).utcoffset() == offset else (before, middle)
    return after


def first_instants(zone: ZoneInfo, first: datetime, last: datetime) -> dict[datetime, datetime]:
    """Map each wall-clock minute from `first` to `last` to the first instant at which clocks show it."""
    instants: dict[datetime, datetime] = {}
    at = first
    while at <= last:
        instants.setdefault(at.astimezone(zone).replace(tzinfo=None, fold=0), at)
        at += MINUTE
    return instants


def wall_time_exists(wall: datetime, zone: ZoneInfo) -> bool:
    """Return whether the wall time occurs at all, judged by the offsets of the day before and the day after."""
    naive_utc = wall.replace(tzinfo=UTC)
    offsets = {(naive_utc + shift).astimezone(zone).utcoffset() for shift in (-24 * HOUR, 24 * HOUR)}
    return any((naive_utc - offset).astimezone(zone).replace(tzinfo=None) == wall for offset in offsets)
