"""HTTP responses of sources: the values taken from status and headers, and the error for each failure. Pure."""

import re
from datetime import datetime

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
from copydesk.network.headers import Headers, fresh_for, rate_limit_wait, retry_after, status_phrase
from copydesk.text.formatting import format_duration

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
_MAX_HEADER_LENGTH = 4096
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE | re.ASCII)
_MEDIA_TYPE = re.compile(r"\s*([\w.+-]{1,60}/[\w.+-]{1,60})", re.ASCII)


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
            hint="Remove the source, or change its address.",
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
