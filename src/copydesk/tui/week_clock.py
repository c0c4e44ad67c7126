"""The clock of one zone over the days of a week: which hours there are, which are skipped, which come twice. Pure.

Clocks change at quarters of an hour, wherever they do: finer than that nothing is looked at.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
_QUARTERS = (0, 15, 30, 45)
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""Not strftime's names: they follow the machine's language."""
NEAR = 7
"""Days within which a day of the week names one day."""


class Hour(NamedTuple):
    """A row of the week."""

    hour: int
    again: bool = False
    """The second of two that a clock change makes."""


class Place(NamedTuple):
    """Where something stands in a week."""

    day: date
    hour: Hour


class Span(NamedTuple):
    """How much of an hour the clocks show on one day."""

    start: datetime
    """The first instant, in UTC."""
    first: int
    """Its minute."""
    end: int
    """The minute after the last one: 60 where the hour is not cut short."""

    @property
    def whole(self) -> bool:
        """Whether it is as long as any other hour."""
        return self.end - self.first == 60


class Change(NamedTuple):
    """The clocks of a day go forward and skip the times from `first` to `last`, or back and show them again."""

    day: date
    forward: bool
    first: time
    last: time


def place(at: datetime, zone: tzinfo) -> Place:
    """Where an instant stands."""
    here = at.astimezone(zone)
    return Place(here.date(), Hour(here.hour, again=bool(here.fold)))


def span(where: Place, zone: tzinfo) -> Span | None:
    """How much of the hour there is; None where the clocks skip all of it, or do not show it again."""
    minutes = [minute for minute in _QUARTERS if _shown(where, minute, zone)]
    if not minutes:
        return None
    wall = datetime.combine(where.day, time(where.hour.hour, minutes[0]), zone).replace(fold=where.hour.again)
    return Span(wall.astimezone(UTC), minutes[0], minutes[-1] + 15)


def _shown(where: Place, minute: int, zone: tzinfo) -> bool:
    before, after = _offsets(datetime.combine(where.day, time(where.hour.hour, minute)), zone)
    return before > after if where.hour.again else before >= after


def _offsets(wall: datetime, zone: tzinfo) -> tuple[timedelta, timedelta]:
    """The offsets before and after a clock change at a wall time, which PEP 495 tells by the fold; else the same."""
    here = wall.replace(tzinfo=zone)
    return _offset(here.replace(fold=0)), _offset(here.replace(fold=1))


def _offset(here: datetime) -> timedelta:
    return here.utcoffset() or timedelta(0)


def instant(wall: datetime, zone: tzinfo) -> datetime:
    """When the clocks show `wall`, the first time; the first full minute after where a clock change skips it."""
    before, after = _offsets(wall, zone)
    while before < after:
        wall = wall.replace(second=0, microsecond=0) + MINUTE
        before, after = _offsets(wall, zone)
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)


def moved(at: datetime, zone: tzinfo, *, days: int = 0, hours: int = 0) -> datetime:
    """So many hours later by the instant, then so many days later by the clock."""
    later = at + hours * HOUR
    if not days:
        return later
    return instant(later.astimezone(zone).replace(tzinfo=None, fold=0) + days * DAY, zone)


def changes(monday: date, zone: tzinfo) -> Iterator[Change]:
    """The clock changes of the week, in order."""
    start, end = (instant(datetime.combine(day, time()), zone) for day in (monday, monday + 7 * DAY))
    at = start - 15 * MINUTE  # at the first midnight itself there may be one
    while at < end:
        later = at + 15 * MINUTE
        before, after = _offset(at.astimezone(zone)), _offset(later.astimezone(zone))
        first, last = (later + before, later + after) if after > before else (later + after, later + before)
        if before != after and monday <= first.date() < monday + 7 * DAY:
            yield Change(first.date(), forward=after > before, first=first.time(), last=last.time())
        at = later


def offsets(monday: date, zone: tzinfo) -> list[tuple[date, str]]:
    """The offset from UTC at the end of the first day, and of each day on which it is another one."""
    found: list[tuple[date, str]] = []
    for number in range(7):
        day = monday + number * DAY
        shown = offset(datetime.combine(day, time(23, 59), zone).replace(fold=1))
        if not found or found[-1][1] != shown:
            found.append((day, shown))
    return found


def offset(here: datetime) -> str:
    """The offset from UTC, as `UTC+05:45`."""
    return f"UTC{here.isoformat(timespec='minutes')[16:]}"


def day_shown(day: date) -> str:
    """A day as `Mon 23 Mar`."""
    return f"{DAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]}"


def time_shown(at: datetime, zone: tzinfo, now: datetime) -> str:
    """`at` on a clock, in at most nine characters: `14:30`, `Mon 14:30` less than a week off, `12 Feb`, `Feb 2027`."""
    here, today = at.astimezone(zone), now.astimezone(zone).date()
    days = abs((here.date() - today).days)
    if days < NEAR:
        return f"{DAYS[here.weekday()]} {here:%H:%M}" if days else f"{here:%H:%M}"
    month = MONTHS[here.month - 1]
    return f"{here.day} {month}" if here.year == today.year else f"{month} {here.year}"
