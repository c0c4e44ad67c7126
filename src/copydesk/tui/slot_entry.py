"""Weekly slots as they are typed: a minute, a time, or days with a time. Pure."""

import re
from collections.abc import Sequence

from copydesk.model.schedule import Slot

_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
"""By `day_of_week`: 0 is Sunday."""
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
_FILLING = frozenset({"every", "and", "at"})
_SHORTEST = 3
"""Letters of a day, at least."""
_MINUTE = re.compile(r"(?:(\d{1,2})[:.])?(\d{1,2})", re.ASCII)
_CLOCK = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?", re.ASCII)


def slots_read(text: str, here: Slot) -> tuple[Slot, ...]:
    """The slots that are meant, Monday first; none where it cannot be read.

    Nothing is `here` itself, `30` and `4:30` are another minute or time of its day. After days a number is an hour:
    `weekdays 9:30`, `daily 9`, `mon,wed 9:30`, `sat-sun 10`; days alone have the time of `here`.
    """
    words = re.sub(r"\s*([-–])\s*", r"\1", text.lower()).replace(",", " ").split()
    if not words:
        return (here,)
    times, days = [word for word in words if word[0].isdigit()], [word for word in words if not word[0].isdigit()]
    if len(times) > 1:
        return ()
    named = _days(days)
    clock = _time(times, here, with_days=bool(days))
    if clock is None or (days and not named):
        return ()
    return tuple(Slot(day_of_week=day, hour=clock[0], minute=clock[1]) for day in named or (here.day_of_week,))


def _time(times: Sequence[str], here: Slot, *, with_days: bool) -> tuple[int, int] | None:
    """The hour and the minute; None where there are none such."""
    if not times:
        return here.hour, here.minute
    match = (_CLOCK if with_days else _MINUTE).fullmatch(times[0])
    if match is None:
        return None
    hour, minute = (match[1], match[2] or 0) if with_days else (match[1] or here.hour, match[2])
    return (int(hour), int(minute)) if int(hour) < 24 and int(minute) < 60 else None


def _days(words: Sequence[str]) -> tuple[int, ...]:
    """The days, Monday first; none where one of the words is no day."""
    found: set[int] = set()
    for word in words:
        some = _day_or_days(word)
        if not some and word not in _FILLING:
            return ()
        found.update(some)
    return tuple(day for day in _WEEK if day in found)


def _day_or_days(word: str) -> Sequence[int]:
    first, *last = re.split("[-–]", word)
    if word in _GROUPS or not last:
        return _GROUPS.get(word) or _day(word)
    begin, end = _day(first), _day(last[0])
    if len(last) > 1 or not begin or not end:
        return ()
    at, days = _WEEK.index(begin[0]), (_WEEK.index(end[0]) - _WEEK.index(begin[0])) % 7 + 1
    return [_WEEK[(at + number) % 7] for number in range(days)]


def _day(word: str) -> Sequence[int]:
    """`mon`, `monday`, `mondays`."""
    if len(word) < _SHORTEST:
        return ()
    return [at for at, name in enumerate(_NAMES) if name.startswith(word) or word == f"{name}s"]
