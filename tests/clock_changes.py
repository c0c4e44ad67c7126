"""Every clock change of a zone, found by looking at its offset hour by hour, and what its clocks show around one."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

FIRST, LAST = datetime(2026, 1, 1, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


class Change(NamedTuple):
    """The first instant of the new offset, and by how much the clocks go forward."""

    at: datetime
    forward: timedelta


def changes(zone: ZoneInfo, first: datetime = FIRST, last: datetime = LAST) -> Iterator[Change]:
    """Every change between the two."""
    at, offset = first, first.astimezone(zone).utcoffset()
    while at < last:
        later = at + 6 * HOUR
        new = later.astimezone(zone).utcoffset()
        if new != offset:
            yield Change(_bisected(at, later, offset, zone), new - offset)
        at, offset = later, new


def _bisected(early, late, offset, zone):
    while late - early > MINUTE:
        middle = early + (late - early) // MINUTE // 2 * MINUTE
        early, late = (middle, late) if middle.astimezone(zone).utcoffset() == offset else (early, middle)
    return late


def shown_by_clock(zone: ZoneInfo, first: datetime, last: datetime) -> dict[datetime, datetime]:
    """Each minute that the clocks show from `first` to `last`, with the instant at which they first show it."""
    seen: dict[datetime, datetime] = {}
    at = first
    while at <= last:
        seen.setdefault(at.astimezone(zone).replace(tzinfo=None, fold=0), at)
        at += MINUTE
    return seen


def is_shown(wall: datetime, zone: ZoneInfo) -> bool:
    """Whether the clocks show `wall` at all: by the offset of the day before, or of the day after."""
    about = wall.replace(tzinfo=UTC)
    offsets = {(about + shift).astimezone(zone).utcoffset() for shift in (-24 * HOUR, 24 * HOUR)}
    return any((about - offset).astimezone(zone).replace(tzinfo=None) == wall for offset in offsets)
