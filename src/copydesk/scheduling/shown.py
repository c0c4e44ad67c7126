"""Format an instant for confirmation, unambiguously."""

from datetime import datetime
from zoneinfo import ZoneInfo

from copydesk.scheduling.daytime import DAYS, MONTHS


def format_time(at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """Return `at` as `Fri 27 Nov 2026 14:30 CET, UTC+01:00 (in 6 days)`.

    The offset is included because an hour may occur twice.
    """
    local = at.astimezone(zone)
    # Not strftime's names, which follow the machine's locale.
    day = f"{DAYS[local.isoweekday() % 7][:3].title()} {local.day} {MONTHS[local.month - 1][:3].title()} {local.year}"
    clock = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return f"{day} {clock} {_format_zone(local)} ({_format_distance(local, now.astimezone(zone))})"


def _format_zone(local: datetime) -> str:
    name, offset = local.tzname() or "", f"UTC{local.isoformat(timespec='minutes')[16:]}"
    if name == "UTC":
        return name
    # Many zones have no abbreviation, and tzname() repeats the offset.
    return f"{name}, {offset}" if name.isalpha() else offset


def _format_distance(local: datetime, now: datetime) -> str:
    """Return the time from `now` to `local`, both in one zone; in calendar days from two days on."""
    seconds = local.timestamp() - now.timestamp()
    minutes = int(abs(seconds) // 60)
    if minutes < 1:
        amount = "less than a minute"
    elif minutes < 120:
        amount = _pluralize(minutes, "minute")
    elif minutes < 48 * 60:
        amount = _pluralize(round(minutes / 60), "hour")
    else:
        amount = _pluralize(abs((local.date() - now.date()).days), "day")
    return f"in {amount}" if seconds > 0 else f"{amount} ago"


def _pluralize(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
