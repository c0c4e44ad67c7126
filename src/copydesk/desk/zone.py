"""The time zone of this machine."""

import os
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones


def local_zone() -> str:
    """The IANA name of the machine's zone; `UTC` where it does not say."""
    candidates = [os.environ.get("TZ", "").lstrip(":"), _read("/etc/timezone"), _link("/etc/localtime")]
    return next((name for name in candidates if _exists(name)), "UTC")


def _exists(name: str) -> bool:
    return bool(name) and name in available_timezones() and ZoneInfo(name) is not None


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _link(path: str) -> str:
    target = os.path.realpath(path)
    return target.partition("/zoneinfo/")[2]
