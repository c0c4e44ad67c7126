"""What the status and the headers of an answer say: how long it stays fresh, and when to ask again. Pure."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

DAY = 86_400.0
LONGEST_WAIT = 31 * DAY
"""Seconds; no server makes us wait longer than this, whatever it says."""
_MAX_HEADER = 4096
_MAX_AGE = re.compile(r'(?:^|[,\s])max-age\s*=\s*"?(\d{1,18})', re.IGNORECASE)

Headers = Mapping[str, str]
"""Lower-case names; values as latin-1, so that they can be sent back byte for byte."""


def header_map(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """`raw` with lower-case names; the values of a repeated one are joined with a comma."""
    found: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def fresh_for(headers: Headers, now: datetime) -> float | None:
    """Seconds for which the answer stays fresh: the longer of Cache-Control's max-age and Expires (RFC 9111, 4.2)."""
    spans = []
    if age := _MAX_AGE.search(headers.get("cache-control", "")[:_MAX_HEADER]):
        spans.append(float(age[1]))
    expires = _date(headers.get("expires"))
    if expires is not None:
        spans.append((expires - _server_time(headers, now)).total_seconds())
    return min(max(*spans, 0.0), LONGEST_WAIT) if spans else None


def retry_after(headers: Headers, now: datetime) -> float | None:
    """Seconds to wait as Retry-After has it; a date counts from the server's own clock (RFC 9110, 10.2.3)."""
    value = headers.get("retry-after", "").strip()
    if value.isdecimal():
        return min(float(value[:18]), LONGEST_WAIT)
    date = _date(value)
    if date is None:
        return None
    return min(max((date - _server_time(headers, now)).total_seconds(), 0.0), LONGEST_WAIT)


def used_up(headers: Headers, now: datetime) -> float | None:
    """Seconds until requests are allowed again, where the rate limit headers say that none is left.

    Reddit counts the seconds that are left (`x-ratelimit-reset`), X and others name the second of the epoch.
    """
    for prefix in ("x-ratelimit", "x-rate-limit"):
        remaining, reset = _number(headers.get(f"{prefix}-remaining")), _number(headers.get(f"{prefix}-reset"))
        if remaining is None or reset is None or remaining >= 1:
            continue
        wait = reset - _server_time(headers, now).timestamp() if reset > 1e9 else reset
        return min(max(wait, 1.0), LONGEST_WAIT)
    return None


def span(seconds: float) -> str:
    """A span of time in words: `45 seconds`, `15 minutes`, `6 hours`, `3 days`."""
    for size, name in ((DAY, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= 2 * size or seconds == size:
            return _counted(round(seconds / size), name)
    return _counted(max(1, round(seconds)), "second")


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def named(status: int) -> str:
    """A status in words."""
    try:
        return f"status {status} ({HTTPStatus(status).phrase.lower()})"
    except ValueError:
        return f"status {status}"


def _server_time(headers: Headers, now: datetime) -> datetime:
    return _date(headers.get("date")) or now


def _date(value: str | None) -> datetime | None:
    """The time that an HTTP date says."""
    if not value or len(value) > 64:
        return None
    try:
        found = parsedate_to_datetime(value)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _number(value: str | None) -> float | None:
    """A number of digits, which may have a fraction."""
    digits = (value or "").strip()
    return float(digits) if re.fullmatch(r"\d{1,15}(?:\.\d{1,15})?", digits, re.ASCII) else None
