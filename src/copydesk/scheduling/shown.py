"""An instant as the user is told it before it counts: nothing about it is left open."""

from datetime import datetime
from zoneinfo import ZoneInfo

from copydesk.scheduling.daytime import DAYS, MONTHS


def shown(at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """`at` as `Fri 27 Nov 2026 14:30 CET, UTC+01:00 (in 6 days)`: with the offset, for an hour may come twice."""
    here = at.astimezone(zone)
    # Not strftime's names of days and months: they follow the machine's language.
    day = f"{DAYS[here.isoweekday() % 7][:3].title()} {here.day} {MONTHS[here.month - 1][:3].title()} {here.year}"
    clock = f"{here:%H:%M:%S}" if here.second else f"{here:%H:%M}"
    return f"{day} {clock} {_zone_shown(here)} ({_distance(here, now.astimezone(zone))})"


def _zone_shown(here: datetime) -> str:
    name, offset = here.tzname() or "", f"UTC{here.isoformat(timespec='minutes')[16:]}"
    if name == "UTC":
        return name
    # Many zones have no letters of their own, only their offset once more.
    return f"{name}, {offset}" if name.isalpha() else offset


def _distance(here: datetime, now: datetime) -> str:
    """How far `here` is from `now`, both in one zone: in days of the calendar where it is two days or more."""
    seconds = here.timestamp() - now.timestamp()
    minutes = int(abs(seconds) // 60)
    if minutes < 1:
        amount = "less than a minute"
    elif minutes < 120:
        amount = _counted(minutes, "minute")
    elif minutes < 48 * 60:
        amount = _counted(round(minutes / 60), "hour")
    else:
        amount = _counted(abs((here.date() - now.date()).days), "day")
    return f"in {amount}" if seconds > 0 else f"{amount} ago"


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
