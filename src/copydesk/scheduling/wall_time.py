"""Scheduled times as wall times in a zone, stored along with the instant, and the conversion between the two.

The instant decides when a draft goes out. The wall time records the user's intent: a draft for nine o'clock stays at
nine when a country changes its clocks at short notice and the time zone database is updated.
"""

import re
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from copydesk.errors import FieldError, InvalidError, UnknownTimeZoneError
from copydesk.model.serialization import Struct
from copydesk.text import clean

MAX_NAME_LENGTH = 64
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)

SECOND_OCCURRENCE = "#2"
"""Suffix of a wall time that a clock change repeats, if the second occurrence is meant."""
_WALL_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{6})?)?)(#2)?", re.ASCII)


def get_zone(name: str) -> ZoneInfo:
    """Return the time zone with this IANA name, such as `Europe/Prague`.

    Raise UnknownTimeZoneError, an InvalidError with similar names as the hint, if it does not exist.
    """
    # Only listed names become a path: neither ../etc nor, on a case-insensitive file system, europe/prague.
    if name not in _zone_names():
        # The name comes from a file or a request and is printed in a terminal.
        quoted = f"“{clean(name[:MAX_NAME_LENGTH])}”"
        similar = _similar_names(name)
        hint = (
            f"Did you mean {' or '.join(similar)}?"
            if similar
            else "Use a name such as Europe/Prague or America/New_York."
        )
        raise UnknownTimeZoneError(FieldError("timeZone", f"{quoted} is not an IANA time zone"), similar, hint=hint)
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
    # Historical zones changed at odd seconds; a draft is scheduled by the minute.
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
        # Names with a region sort first, so that they win over old aliases such as `Singapore`.
        by_word.setdefault(zone_name.lower(), zone_name)
        by_word.setdefault(zone_name.lower().rpartition("/")[2], zone_name)
    return list(dict.fromkeys(by_word[word] for word in get_close_matches(normalized, by_word, n=3, cutoff=0.7)))


class WallTime(Struct, frozen=True):
    wall: str
    """`YYYY-MM-DDTHH:MM`, with `:SS` and `.ffffff` only if they are not zero.

    A repeated time is the first occurrence unless `#2` follows. A suffix rather than the UTC offset, because it stays
    right when the zone's offset changes, and is ignored when the hour is no longer repeated.
    """
    zone: str
    """IANA name."""


class ScheduledTime(Struct, frozen=True):
    """An instant with its wall time."""

    at: datetime
    """In UTC."""
    wall_time: WallTime


def scheduled_at_instant(at: datetime, zone: ZoneInfo) -> ScheduledTime:
    """Return the scheduled time of a given instant; its wall time is what clocks in `zone` show then."""
    return ScheduledTime(at=at.astimezone(UTC), wall_time=wall_time_at(at, zone))


def scheduled_at_wall_time(wall: datetime, zone: ZoneInfo) -> ScheduledTime:
    """Return the scheduled time at which clocks in `zone` show `wall`, a naive datetime.

    The wall time stays `wall` even if a clock change skips it and the instant is the first minute after the gap.
    """
    return ScheduledTime(
        at=instant_of_wall(wall, zone), wall_time=WallTime(wall=_format_wall_time(wall), zone=zone.key)
    )


def next_at_wall_time(wall: datetime, zone: ZoneInfo, now: datetime) -> ScheduledTime:
    """Return the scheduled time at `wall`; of a repeated one the second occurrence if only that is after `now`."""
    first = scheduled_at_wall_time(wall, zone)
    if first.at > now or not is_repeated(wall, zone):
        return first
    second = instant_of_wall(wall, zone, second=True)
    # If both are past, the first is what a wall time without a suffix stands for.
    return scheduled_at_instant(second, zone) if second > now else first


def wall_time_at(at: datetime, zone: ZoneInfo) -> WallTime:
    """Return the wall time in `zone` at the instant `at`; `instant_of` returns exactly that instant."""
    local = at.astimezone(zone)
    # The fold is expressed by the suffix instead.
    wall = local.replace(tzinfo=None, fold=0)
    suffix = SECOND_OCCURRENCE if local.fold and is_repeated(wall, zone) else ""
    return WallTime(wall=_format_wall_time(wall) + suffix, zone=zone.key)


def instant_of(wall_time: WallTime) -> datetime:
    """Return the instant (UTC) of a wall time by the current rules of its zone.

    Raise InvalidError if the wall time is malformed or the zone does not exist.
    """
    wall, second = _parse_wall_time(wall_time)
    try:
        return instant_of_wall(wall, get_zone(wall_time.zone), second=second)
    except OverflowError:
        raise _invalid_wall_time_error(wall_time) from None


def moved_instant(wall_time: WallTime, stored: datetime) -> datetime | None:
    """Return the new instant if the zone's rules have changed, None if `stored` still holds.

    A zone that is no longer in the database moves nothing: the stored instant is the best estimate.
    """
    try:
        current = instant_of(wall_time)
    except InvalidError:
        return None
    return None if current == stored else current


def describe_clock_change(scheduled: ScheduledTime) -> str:
    """Describe how a clock change affects the wall time, skipped or repeated; empty if it does not."""
    wall, second = _parse_wall_time(scheduled.wall_time)
    zone = get_zone(scheduled.wall_time.zone)
    if is_skipped(wall, zone):
        actual = scheduled.at.astimezone(zone)
        return f"{wall:%H:%M} does not exist on that day in {zone.key} (clock change); scheduled for {actual:%H:%M}"
    if is_repeated(wall, zone):
        other = instant_of_wall(wall, zone, second=not second).astimezone(zone).isoformat()
        this, that = ("second", "first") if second else ("first", "second")
        return f"{wall:%H:%M} occurs twice on that day in {zone.key}: this is the {this}; {other} is the {that}"
    return ""


def _format_wall_time(wall: datetime) -> str:
    return wall.isoformat(timespec="auto" if wall.second or wall.microsecond else "minutes")


def _parse_wall_time(wall_time: WallTime) -> tuple[datetime, bool]:
    match = _WALL_TIME.fullmatch(wall_time.wall)
    if match is None:
        raise _invalid_wall_time_error(wall_time)
    try:
        return datetime.fromisoformat(match[1]), match[2] is not None
    except ValueError:
        raise _invalid_wall_time_error(wall_time) from None


def _invalid_wall_time_error(wall_time: WallTime) -> InvalidError:
    return InvalidError(FieldError("wall", f"{wall_time.wall[:40]!r} is not a local time such as 2026-11-30T14:30"))
