"""Scheduled times as wall times in a zone, stored along with the instant.

The instant decides when a draft goes out. The wall time records the user's intent: a draft for nine o'clock stays at
nine when a country changes its clocks at short notice and the time zone database is updated.
"""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from copydesk.errors import FieldError, InvalidError
from copydesk.model.wire import Struct
from copydesk.scheduling.zones import get_zone, instant_of_wall, is_repeated, is_skipped

SECOND_OCCURRENCE = "#2"
"""Suffix of a wall time that a clock change repeats, if the second occurrence is meant."""
_WALL_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{6})?)?)(#2)?", re.ASCII)


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
        return f"{wall:%H:%M} does not exist on that day in {zone.key}: it will be {actual:%H:%M}"
    if is_repeated(wall, zone):
        other = instant_of_wall(wall, zone, second=not second).astimezone(zone).isoformat()
        this, that = ("second", "first") if second else ("first", "second")
        return f"{wall:%H:%M} comes twice on that day in {zone.key}: this is the {this}, and {other} is the {that}"
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
    return InvalidError(FieldError("wall", f"{wall_time.wall[:40]!r} is no wall time such as 2026-11-30T14:30"))
