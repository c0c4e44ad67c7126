"""Parse weekly slots as typed: a minute, a time, or days with a time. Pure."""

import re
from collections.abc import Sequence

from copydesk.model.schedule import Slot

_DAY_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
"""Indexed by `day_of_week`: 0 is Sunday."""
_WEEK = (1, 2, 3, 4, 5, 6, 0)
_GROUPS = {
    "daily": _WEEK,
    "everyday": _WEEK,
    "day": _WEEK,
    "weekdays": _WEEK[:5],
    "weekday": _WEEK[:5],
    "weekends": _WEEK[5:],
    "weekend": _WEEK[5:],
}
_FILLER_WORDS = frozenset({"every", "and", "at"})
_MIN_LETTERS = 3
"""Minimum letters of a day's abbreviation."""
_MINUTE = re.compile(r"(?:(\d{1,2})[:.])?(\d{1,2})", re.ASCII)
_CLOCK = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?", re.ASCII)


def parse_slots(text: str, default: Slot) -> tuple[Slot, ...]:
    """Return the slots that `text` describes, Monday first; an empty tuple if it is invalid.

    An empty text means `default` itself; `30` and `4:30` are another minute or time of its day. After days a number is
    an hour: `weekdays 9:30`, `daily 9`, `mon,wed 9:30`, `sat-sun 10`; days without a time take the time of `default`.
    """
    # Remove blanks around hyphens, so that a range of days is one token.
    tokens = re.sub(r"\s*([-–])\s*", r"\1", text.lower()).replace(",", " ").split()
    if not tokens:
        return (default,)
    times, days = (
        [token for token in tokens if token[0].isdigit()],
        [token for token in tokens if not token[0].isdigit()],
    )
    if len(times) > 1:
        return ()
    day_numbers = _parse_days(days)
    clock = _parse_time(times, default, with_days=bool(days))
    if clock is None or (days and not day_numbers):
        return ()
    return tuple(Slot(day_of_week=day, hour=clock[0], minute=clock[1]) for day in day_numbers or (default.day_of_week,))


def _parse_time(times: Sequence[str], default: Slot, *, with_days: bool) -> tuple[int, int] | None:
    """Return (hour, minute); None if invalid."""
    if not times:
        return default.hour, default.minute
    match = (_CLOCK if with_days else _MINUTE).fullmatch(times[0])
    if match is None:
        return None
    hour, minute = (match[1], match[2] or 0) if with_days else (match[1] or default.hour, match[2])
    return (int(hour), int(minute)) if int(hour) < 24 and int(minute) < 60 else None


def _parse_days(tokens: Sequence[str]) -> tuple[int, ...]:
    """Return the days, Monday first; an empty tuple if a word is not a day."""
    day_numbers: set[int] = set()
    for token in tokens:
        parsed = _parse_days_word(token)
        if not parsed and token not in _FILLER_WORDS:
            return ()
        day_numbers.update(parsed)
    return tuple(day for day in _WEEK if day in day_numbers)


def _parse_days_word(token: str) -> Sequence[int]:
    first, *last = re.split("[-–]", token)
    if token in _GROUPS or not last:
        return _GROUPS.get(token) or _parse_day(token)
    start, end = _parse_day(first), _parse_day(last[0])
    if len(last) > 1 or not start or not end:
        return ()
    # Modulo 7: a range such as sat-mon continues after Sunday.
    first_index, days = _WEEK.index(start[0]), (_WEEK.index(end[0]) - _WEEK.index(start[0])) % 7 + 1
    return [_WEEK[(first_index + offset) % 7] for offset in range(days)]


def _parse_day(token: str) -> Sequence[int]:
    """Parse `mon`, `monday` or `mondays`; return a sequence of one day, or an empty one."""
    if len(token) < _MIN_LETTERS:
        return ()
    return [number for number, name in enumerate(_DAY_NAMES) if name.startswith(token) or token == f"{name}s"]
