"""What a scheduled time was meant as: a time on the wall clock of a zone, kept beside the instant.

The instant says when a draft goes out. The wall time says what the user wanted, so that a draft for nine o'clock
stays at nine when a country changes its clocks at short notice and the time zone database follows.
"""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from copydesk.errors import FieldError, InvalidError
from copydesk.model.wire import Struct
from copydesk.scheduling.zones import instant_of_wall, is_repeated, is_skipped, zone_named

AGAIN = "#2"
"""Ends a wall time that a clock change repeats, where the second of the two is meant."""
_WALL = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{6})?)?)(#2)?", re.ASCII)


class Meant(Struct, frozen=True):
    """A time on the wall clock of a zone."""

    wall: str
    """`YYYY-MM-DDTHH:MM`, with `:SS` and `.ffffff` only where they are not zero.

    A time that is shown twice is the first of the two, unless `#2` follows. The mark is used rather than the offset
    because it still says the right thing when the zone's offset is changed, and means nothing when the hour is no
    longer repeated.
    """
    zone: str
    """The IANA name."""


class Moment(Struct, frozen=True):
    """An instant, and what it was meant as."""

    at: datetime
    """In UTC."""
    meant: Meant


def moment_at(at: datetime, zone: ZoneInfo) -> Moment:
    """The moment of an instant that was given as such: meant is what the clocks of `zone` show then."""
    return Moment(at=at.astimezone(UTC), meant=meant_at(at, zone))


def moment_on(wall: datetime, zone: ZoneInfo) -> Moment:
    """The moment at which the clocks of `zone` show `wall`, a time without a zone.

    What is meant stays `wall` even where a clock change skips it and the instant is the first minute after.
    """
    return Moment(at=instant_of_wall(wall, zone), meant=Meant(wall=_written(wall), zone=zone.key))


def meant_at(at: datetime, zone: ZoneInfo) -> Meant:
    """What the clocks of `zone` show at the instant `at`; `instant_of` leads back to exactly that instant."""
    here = at.astimezone(zone)
    wall = here.replace(tzinfo=None, fold=0)
    again = AGAIN if here.fold and is_repeated(wall, zone) else ""
    return Meant(wall=_written(wall) + again, zone=zone.key)


def instant_of(meant: Meant) -> datetime:
    """The instant (UTC) that is meant, by today's rules of its zone.

    Raises InvalidError where the wall time is not one, or the zone does not exist.
    """
    wall, second = _read(meant)
    try:
        return instant_of_wall(wall, zone_named(meant.zone), second=second)
    except OverflowError:
        raise _no_wall_time(meant) from None


def moved(meant: Meant, stored: datetime) -> datetime | None:
    """The instant to which new rules of the zone move what is stored; None where it stays.

    A zone that is no longer in the database moves nothing: the instant is then the best that is known.
    """
    try:
        now_meant = instant_of(meant)
    except InvalidError:
        return None
    return None if now_meant == stored else now_meant


def about_the_change(moment: Moment) -> str:
    """In words what a clock change makes of the wall time, skipped or shown twice; empty where it does neither."""
    wall, second = _read(moment.meant)
    zone = zone_named(moment.meant.zone)
    if is_skipped(wall, zone):
        shown = moment.at.astimezone(zone)
        return f"{wall:%H:%M} does not exist on that day in {zone.key}: it will be {shown:%H:%M}"
    if is_repeated(wall, zone):
        other = instant_of_wall(wall, zone, second=not second).astimezone(zone).isoformat()
        this, that = ("second", "first") if second else ("first", "second")
        return f"{wall:%H:%M} comes twice on that day in {zone.key}: this is the {this}, and {other} is the {that}"
    return ""


def _written(wall: datetime) -> str:
    return wall.isoformat(timespec="auto" if wall.second or wall.microsecond else "minutes")


def _read(meant: Meant) -> tuple[datetime, bool]:
    match = _WALL.fullmatch(meant.wall)
    if match is None:
        raise _no_wall_time(meant)
    try:
        return datetime.fromisoformat(match[1]), match[2] is not None
    except ValueError:
        raise _no_wall_time(meant) from None


def _no_wall_time(meant: Meant) -> InvalidError:
    return InvalidError(FieldError("wall", f"{meant.wall[:40]!r} is no wall time such as 2026-11-30T14:30"))
