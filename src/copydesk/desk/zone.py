"""Time zone of this machine."""

import os
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones


def local_zone() -> str:
    """Return the IANA name of the machine's time zone: from TZ, /etc/timezone or /etc/localtime, else `UTC`."""
    # Debian has /etc/timezone; elsewhere /etc/localtime links into the zone database.
    candidates = [os.environ.get("TZ", "").lstrip(":"), _read_text("/etc/timezone"), _zone_of_link("/etc/localtime")]
    return next((name for name in candidates if _is_valid_zone(name)), "UTC")


def _is_valid_zone(name: str) -> bool:
    return bool(name) and name in available_timezones() and ZoneInfo(name) is not None


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _zone_of_link(path: str) -> str:
    target = os.path.realpath(path)
    return target.partition("/zoneinfo/")[2]
