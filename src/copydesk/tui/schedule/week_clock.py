"""The wall clock of one zone over a week: which hours exist, which are skipped, which occur twice. Pure.

Clock changes happen at quarters of an hour in every zone, so nothing finer is examined.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
_QUARTERS = (0, 15, 30, 45)
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""Not strftime's names, which depend on the machine's locale."""
WEEKDAY_RANGE = 7
"""Days within which a weekday identifies a date."""


class Hour(NamedTuple):
    """A row of the week."""

    hour: int
    is_repeat: bool = False
    """True for the second of two equal hours at a clock change."""


class GridPosition(NamedTuple):
    """The position of a cell in the week."""

    day: date
    hour: Hour


class ClockSpan(NamedTuple):
    """The part of an hour that the clocks show on one day."""

    start: datetime
    """The first instant, in UTC."""
    first: int
    """Its minute."""
    end: int
    """The minute after the last one: 60 unless the hour is cut short."""

    @property
    def is_complete(self) -> bool:
        """True for an hour of 60 minutes."""
        return self.end - self.first == 60


class ClockChange(NamedTuple):
    """A clock change of a day: forward, skipping the times from `first` to `last`, or back, repeating them."""

    day: date
    forward: bool
    first: time
    last: time


def grid_position(at: datetime, zone: tzinfo) -> GridPosition:
    """Return the position of an instant."""
    local = at.astimezone(zone)
    return GridPosition(local.date(), Hour(local.hour, is_repeat=bool(local.fold)))


def clock_span(position: GridPosition, zone: tzinfo) -> ClockSpan | None:
    """Return the part of the hour that exists; None if clocks skip all of it, or do not repeat it."""
    minutes = [minute for minute in _QUARTERS if _exists(position, minute, zone)]
    if not minutes:
        return None
    local = datetime.combine(position.day, time(position.hour.hour, minutes[0]), zone).replace(
        fold=position.hour.is_repeat
    )
    return ClockSpan(local.astimezone(UTC), minutes[0], minutes[-1] + 15)


def _exists(position: GridPosition, minute: int, zone: tzinfo) -> bool:
    # Clocks go back (before > after): the time occurs twice. Clocks go forward (before < after): it is skipped.
    before, after = _offsets(datetime.combine(position.day, time(position.hour.hour, minute)), zone)
    return before > after if position.hour.is_repeat else before >= after


def _offsets(wall: datetime, zone: tzinfo) -> tuple[timedelta, timedelta]:
    """Return the UTC offsets before and after a clock change at a wall time (PEP 495, by fold); else twice the same."""
    local = wall.replace(tzinfo=zone)
    return _offset(local.replace(fold=0)), _offset(local.replace(fold=1))


def _offset(local: datetime) -> timedelta:
    return local.utcoffset() or timedelta(0)


def instant(wall: datetime, zone: tzinfo) -> datetime:
    """Return the first instant at which clocks show `wall`.

    If a clock change skips it, return the first full minute after the change.
    """
    before, after = _offsets(wall, zone)
    while before < after:
        wall = wall.replace(second=0, microsecond=0) + MINUTE
        before, after = _offsets(wall, zone)
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)


def shift_time(at: datetime, zone: tzinfo, *, days: int = 0, hours: int = 0) -> datetime:
    """Return the instant `hours` later in elapsed time, then `days` later by the wall clock."""
    later = at + hours * HOUR
    if not days:
        return later
    return instant(later.astimezone(zone).replace(tzinfo=None, fold=0) + days * DAY, zone)


def clock_changes(monday: date, zone: tzinfo) -> Iterator[ClockChange]:
    """Yield the clock changes of the week, in order."""
    start, end = (instant(datetime.combine(day, time()), zone) for day in (monday, monday + 7 * DAY))
    current = start - 15 * MINUTE  # there may be a change at the first midnight itself
    while current < end:
        following = current + 15 * MINUTE
        before, after = _offset(current.astimezone(zone)), _offset(following.astimezone(zone))
        first, last = (
            (following + before, following + after) if after > before else (following + after, following + before)
        )
        if before != after and monday <= first.date() < monday + 7 * DAY:
            yield ClockChange(first.date(), forward=after > before, first=first.time(), last=last.time())
        current = following


def utc_offsets(monday: date, zone: tzinfo) -> list[tuple[date, str]]:
    """Return the UTC offset at the end of the first day, and of each day on which it differs from the day before."""
    result: list[tuple[date, str]] = []
    for index in range(7):
        day = monday + index * DAY
        formatted = format_utc_offset(datetime.combine(day, time(23, 59), zone).replace(fold=1))
        if not result or result[-1][1] != formatted:
            result.append((day, formatted))
    return result


def format_utc_offset(local: datetime) -> str:
    """Format the UTC offset as `UTC+05:45`."""
    return f"UTC{local.isoformat(timespec='minutes')[16:]}"


def format_day(day: date) -> str:
    """Format a date as `Mon 23 Mar`."""
    return f"{DAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]}"


def format_time(at: datetime, zone: tzinfo, now: datetime) -> str:
    """Format `at` in at most nine characters: `14:30`, `Mon 14:30` within a week, `12 Feb`, `Feb 2027`."""
    local, today = at.astimezone(zone), now.astimezone(zone).date()
    days = abs((local.date() - today).days)
    if days < WEEKDAY_RANGE:
        return f"{DAYS[local.weekday()]} {local:%H:%M}" if days else f"{local:%H:%M}"
    month = MONTHS[local.month - 1]
    return f"{local.day} {month}" if local.year == today.year else f"{month} {local.year}"
