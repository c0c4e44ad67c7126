"""HTTP responses: what status and headers say about freshness and rate limits, and the error for each failure. Pure."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from copydesk.errors import (
    FetchError,
    GoneError,
    LoginRequiredError,
    PageNotFoundError,
    RateLimitedError,
    ResponseStatusError,
)
from copydesk.model.serialization import Struct
from copydesk.network import RETRY_HINT
from copydesk.text.formatting import DAY_SECONDS, format_duration

MAX_WAIT = 31.0 * DAY_SECONDS
"""Upper limit for any wait that a server requests."""
_MAX_HEADER_LENGTH = 4096
# Reddit's spelling, then X's: for 15 minutes, for the user's day and for the app's day. The limits of a day can be
# exhausted while the first one is not.
_RATE_LIMITS = ("x-ratelimit", "x-rate-limit", "x-user-limit-24hour", "x-app-limit-24hour")
_MAX_AGE = re.compile(r'(?:^|[,\s])max-age\s*=\s*"?(\d{1,18})', re.IGNORECASE)

Headers = Mapping[str, str]
"""Lower-case names; values decoded as latin-1, so that they can be sent back byte for byte."""

DEFAULT_RETRY_AFTER = 900.0
"""Seconds to wait after a 429 that names no time."""

_RETAINED_HEADERS = (
    "link",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-used",
    "x-rate-limit-limit",
    "x-rate-limit-remaining",
    "x-rate-limit-reset",
)
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE | re.ASCII)
_MEDIA_TYPE = re.compile(r"\s*([\w.+-]{1,60}/[\w.+-]{1,60})", re.ASCII)


def header_map(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return `raw` with lower-case names; values of a repeated header are joined with a comma."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def location(headers: Headers) -> str:
    """Return the Location header, empty if there is none.

    Servers send UTF-8 in it although only ASCII is allowed (RFC 9110, 10.2.2).
    """
    return headers.get("location", "").encode("latin-1").decode("utf-8", "replace")


def fresh_for(headers: Headers, now: datetime) -> float | None:
    """Return the seconds for which a response stays fresh: the longer of max-age and Expires (RFC 9111, 4.2)."""
    lifetimes = []
    if age := _MAX_AGE.search(headers.get("cache-control", "")[:_MAX_HEADER_LENGTH]):
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
    """Return the seconds until requests are allowed again if a rate limit is exhausted, else None.

    Of several exhausted limits the one that is renewed last counts. Reddit's `x-ratelimit-reset` counts the remaining
    seconds; X and others send an epoch time.
    """
    waits = []
    for prefix in _RATE_LIMITS:
        remaining, reset = (
            _parse_number(headers.get(f"{prefix}-remaining")),
            _parse_number(headers.get(f"{prefix}-reset")),
        )
        if remaining is None or reset is None or remaining >= 1:
            continue
        # Values above 1e9 (September 2001) can only be epoch times.
        wait = reset - _server_time(headers, now).timestamp() if reset > 1e9 else reset
        waits.append(min(max(wait, 1.0), MAX_WAIT))
    return max(waits, default=None)


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
    if not value:  # nearly always: few servers send these headers
        return None
    digits = value.strip()
    return float(digits) if re.fullmatch(r"\d{1,15}(?:\.\d{1,15})?", digits, re.ASCII) else None


class Response(Struct, frozen=True):
    """A successful response. Durations are in seconds."""

    url: str
    """The final URL, after redirects."""
    status: int
    """200 for every success with a body, or 304."""
    body: bytes = b""
    charset: str | None = None
    """As named by Content-Type, in lower case; not checked to exist."""
    content_type: str | None = None
    """The media type without parameters, in lower case."""
    etag: str | None = None
    last_modified: str | None = None
    """Both validators are stored verbatim, to be sent back unchanged."""
    not_modified: bool = False
    fresh_for: float | None = None
    """Freshness lifetime by Cache-Control or Expires: polling earlier is useless."""
    retry_after: float | None = None
    moved_to: str | None = None
    """The final URL if every redirect was permanent (301 or 308), else None."""
    headers: dict[str, str] = {}
    """`Link` and the rate limit headers, with lower-case names."""


def build_response(
    url: str, status: int, headers: Headers, body: bytes, now: datetime, moved_to: str | None
) -> Response:
    """Build the response for a 304 or a success."""
    content_type = headers.get("content-type", "")
    media_type, charset = _MEDIA_TYPE.match(content_type), _CHARSET.search(content_type)
    return Response(
        url=url,
        status=304 if status == 304 else 200,
        body=body,
        charset=charset[1].lower() if charset else None,
        content_type=media_type[1].lower() if media_type else None,
        etag=_within_limit(headers.get("etag")),
        last_modified=_within_limit(headers.get("last-modified")),
        not_modified=status == 304,
        fresh_for=fresh_for(headers, now),
        retry_after=retry_after(headers, now),
        moved_to=moved_to,
        headers={name: headers[name] for name in _RETAINED_HEADERS if name in headers and _within_limit(headers[name])},
    )


def host_cooldown(status: int, headers: Headers, now: datetime, *, forbidden_means_throttled: bool) -> float | None:
    """Return the seconds during which the whole host must be left alone, or None.

    Set `forbidden_means_throttled` for hosts that answer 403 where they mean 429, as Reddit does without credentials.
    """
    quota_wait = rate_limit_wait(headers, now)
    if status == 429 or (status == 403 and forbidden_means_throttled):
        return retry_after(headers, now) or quota_wait or DEFAULT_RETRY_AFTER
    # A success may also use up the quota: then wait until it is renewed instead of provoking a 429.
    return quota_wait


def error_for_status(status: int, headers: Headers, host: str, cooldown: float | None, now: datetime) -> FetchError:
    """Return the error for a response that is not a success; `cooldown` is the result of `host_cooldown`."""
    if cooldown is not None and status in (403, 429):
        return throttled_error(host, cooldown)
    later = retry_after(headers, now)
    if status == 503 and later is not None:
        return throttled_error(host, later)
    if status in (401, 403):
        return _needs_login(status, headers, host)
    if status == 404:
        return PageNotFoundError(
            f"Page not found on {host} (404).",
            hint="Check the address; the site may have moved its feed.",
        )
    if status == 410:
        return GoneError(
            f"{host} removed this address permanently (410).",
            hint="Remove the source, change its address, or test it: if it works again, it is fetched again.",
        )
    hint = f"The site has a problem. {RETRY_HINT}" if status >= 500 else "Check the address."
    return ResponseStatusError(f"{host} answered with {status_phrase(status)}.", hint=hint, retry_after=later)


def throttled_error(host: str, seconds: float) -> RateLimitedError:
    """Return the error for a host that must be left alone for `seconds`."""
    return RateLimitedError(f"{host} asks to wait {format_duration(seconds)}.", hint=RETRY_HINT, retry_after=seconds)


def _needs_login(status: int, headers: Headers, host: str) -> LoginRequiredError:
    # Cloudflare's challenge page: only a browser passes it, whatever credentials are sent.
    if status == 403 and headers.get("cf-mitigated") == "challenge":
        return LoginRequiredError(f"{host} admits browsers only (403).", hint="Use another feed of the site.")
    return LoginRequiredError(
        f"{host} requires credentials or blocks programs ({status}).",
        hint="Check the credentials of this source, or use a public address.",
    )


def _within_limit(value: str | None) -> str | None:
    """Return `value` unless it is empty or over-long: it is stored and sent back to the host."""
    return value if value and len(value) <= _MAX_HEADER_LENGTH else None
