"""Time zones by IANA name, and the conversion of wall times to instants across clock changes."""

from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from copydesk.errors import FieldError, UnknownTimeZoneError
from copydesk.text import clean

MAX_NAME_LENGTH = 64
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def get_zone(name: str, *, field: str = "timeZone") -> ZoneInfo:
    """Return the time zone with this IANA name, such as `Europe/Prague`.

    Raise NoZoneError, an InvalidError with similar names as the hint, if it does not exist.
    """
    # Only listed names become a path: neither ../etc nor, on a case-insensitive file system, europe/prague.
    if name not in _zone_names():
        quoted = clean(name[:MAX_NAME_LENGTH]) or "nothing"
        similar = _similar_names(name)
        hint = (
            f"Did you mean {' or '.join(similar)}?"
            if similar
            else "It is a name such as Europe/Prague or America/New_York."
        )
        raise UnknownTimeZoneError(
            FieldError(field, f"{quoted} is no time zone of the IANA database"), similar, hint=hint
        )
    return ZoneInfo(name)


def instant_of_wall(wall: datetime, zone: ZoneInfo, *, second: bool = False) -> datetime:
    """Return the instant (UTC) at which clocks in `zone` show the naive datetime `wall`.

    A wall time in a gap becomes the first full minute after the gap. A repeated one is its first occurrence, or the
    second if `second` is set.
    """
    local = wall.replace(tzinfo=zone, fold=int(second))
    if _is_in_gap(local):
        return _first_minute_after_gap(local)
    return local.astimezone(UTC)


def is_repeated(wall: datetime, zone: ZoneInfo) -> bool:
    """Return True if a clock change makes clocks in `zone` show `wall` twice."""
    before, after = _offsets(wall.replace(tzinfo=zone))
    return before > after


def is_skipped(wall: datetime, zone: ZoneInfo) -> bool:
    """Return True if a clock change makes clocks in `zone` skip `wall`."""
    return _is_in_gap(wall.replace(tzinfo=zone))


def _is_in_gap(local: datetime) -> bool:
    before, after = _offsets(local)
    return before < after


def _offsets(local: datetime) -> tuple[timedelta, timedelta]:
    """Return the UTC offsets before and after a clock change at this wall time (PEP 495's fold); equal without one."""
    before, after = local.replace(fold=0).utcoffset(), local.replace(fold=1).utcoffset()
    assert before is not None
    assert after is not None
    return before, after


def _first_minute_after_gap(local: datetime) -> datetime:
    """Return the first full minute after the gap that contains `local`."""
    before, after = _offsets(local)
    as_utc = local.replace(tzinfo=UTC, microsecond=0, fold=0)
    # The change is between these two: the gap is as wide as they are apart. Bisect to the second.
    low, high = as_utc - after, as_utc - before
    while high - low > SECOND:
        middle = low + timedelta(seconds=(high - low) // SECOND // 2)
        if middle.astimezone(local.tzinfo).utcoffset() == before:
            low = middle
        else:
            high = middle
    seconds_past_minute = timedelta(seconds=high.astimezone(local.tzinfo).second)
    return high + (MINUTE - seconds_past_minute) % MINUTE


@cache
def _zone_names() -> frozenset[str]:
    # Some systems list `localtime` as a zone; its meaning differs from machine to machine.
    return frozenset(available_timezones() - {"localtime"})


def _similar_names(name: str) -> list[str]:
    """Return names similar to `name` as a whole or in their last part, which is the city."""
    normalized = name[:MAX_NAME_LENGTH].strip().lower().replace(" ", "_")
    by_word: dict[str, str] = {}
    for zone_name in sorted(_zone_names(), key=lambda zone_name: ("/" not in zone_name, zone_name)):
        by_word.setdefault(zone_name.lower(), zone_name)
        by_word.setdefault(zone_name.lower().rpartition("/")[2], zone_name)
    return list(dict.fromkeys(by_word[word] for word in get_close_matches(normalized, by_word, n=3, cutoff=0.7)))
