"""Interpret the status and headers of a response: freshness and rate limits. Pure functions."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

DAY = 86_400.0
MAX_WAIT = 31 * DAY
"""Upper limit for any wait that a server requests."""
_MAX_HEADER = 4096
_MAX_AGE = re.compile(r'(?:^|[,\s])max-age\s*=\s*"?(\d{1,18})', re.IGNORECASE)

Headers = Mapping[str, str]
"""Lower-case names; values decoded as latin-1, so that they can be sent back byte for byte."""


def header_map(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return `raw` with lower-case names; values of a repeated header are joined with a comma."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def fresh_for(headers: Headers, now: datetime) -> float | None:
    """Return the seconds for which a response stays fresh: the longer of max-age and Expires (RFC 9111, 4.2)."""
    lifetimes = []
    if age := _MAX_AGE.search(headers.get("cache-control", "")[:_MAX_HEADER]):
        lifetimes.append(float(age[1]))
    expires = _parse_date(headers.get("expires"))
    if expires is not None:
        lifetimes.append((expires - _server_time(headers, now)).total_seconds())
    return min(max(*lifetimes, 0.0), MAX_WAIT) if lifetimes else None


def retry_after(headers: Headers, now: datetime) -> float | None:
    """Return the seconds to wait according to Retry-After, None without a valid one.

    A date is compared with the server's own clock (RFC 9110, 10.2.3).
    """
    value = headers.get("retry-after", "").strip()
    if value.isdecimal():
        return min(float(value[:18]), MAX_WAIT)
    date = _parse_date(value)
    if date is None:
        return None
    return min(max((date - _server_time(headers, now)).total_seconds(), 0.0), MAX_WAIT)


def rate_limit_wait(headers: Headers, now: datetime) -> float | None:
    """Return the seconds until requests are allowed again if the rate limit headers say that none is left, else None.

    Reddit's `x-ratelimit-reset` counts the remaining seconds; X and others send an epoch time.
    """
    # Reddit's spelling, then X's.
    for prefix in ("x-ratelimit", "x-rate-limit"):
        remaining, reset = (
            _parse_number(headers.get(f"{prefix}-remaining")),
            _parse_number(headers.get(f"{prefix}-reset")),
        )
        if remaining is None or reset is None or remaining >= 1:
            continue
        # Values above 1e9 (September 2001) can only be epoch times.
        wait = reset - _server_time(headers, now).timestamp() if reset > 1e9 else reset
        return min(max(wait, 1.0), MAX_WAIT)
    return None


def status_phrase(status: int) -> str:
    """Return a status with its phrase: `status 404 (not found)`."""
    try:
        return f"status {status} ({HTTPStatus(status).phrase.lower()})"
    except ValueError:
        return f"status {status}"


def _server_time(headers: Headers, now: datetime) -> datetime:
    return _parse_date(headers.get("date")) or now


def _parse_date(value: str | None) -> datetime | None:
    """Parse an HTTP date; None if it is invalid."""
    if not value or len(value) > 64:
        return None
    try:
        date = parsedate_to_datetime(value)
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _parse_number(value: str | None) -> float | None:
    """Parse a decimal number; None if it is invalid."""
    digits = (value or "").strip()
    return float(digits) if re.fullmatch(r"\d{1,15}(?:\.\d{1,15})?", digits, re.ASCII) else None
