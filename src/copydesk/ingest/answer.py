"""What a server answered: what its status and headers mean for us. Pure."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from copydesk.errors import AnswerError, FetchError, GoneError, MissingError, NeedsLoginError, ThrottledError
from copydesk.model.wire import Struct

DAY = 86_400.0
LONGEST_WAIT = 31 * DAY
"""Seconds; no server makes us wait longer than this, whatever it says."""
USUAL_WAIT = 900.0
"""Seconds that we wait where a server says "too many requests" and not how long."""

_KEPT = (
    "link",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-used",
    "x-rate-limit-limit",
    "x-rate-limit-remaining",
    "x-rate-limit-reset",
)
_MAX_HEADER = 4096
_MAX_AGE = re.compile(r'(?:^|[,\s])max-age\s*=\s*"?(\d{1,18})', re.IGNORECASE)
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE | re.ASCII)
_MEDIA_TYPE = re.compile(r"\s*([\w.+-]{1,60}/[\w.+-]{1,60})", re.ASCII)

Headers = Mapping[str, str]
"""Lower-case names; values as latin-1, so that they can be sent back byte for byte."""


class Answer(Struct, frozen=True):
    """What a fetch brought. Spans are seconds."""

    url: str
    """Where the answer came from in the end."""
    status: int
    """200, or 304 for one that has no body because nothing changed."""
    body: bytes = b""
    charset: str | None = None
    """As the Content-Type names it, in lower case; not checked to exist."""
    content_type: str | None = None
    """The media type alone, in lower case."""
    etag: str | None = None
    last_modified: str | None = None
    """The validators as they came, to be sent back as they are."""
    not_modified: bool = False
    fresh_for: float | None = None
    """For how long the server says that asking again is of no use."""
    retry_after: float | None = None
    moved_to: str | None = None
    """The final address, where every redirect on the way was a permanent one."""
    headers: dict[str, str] = {}
    """Link and the rate limit headers, with lower-case names."""


def header_map(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """`raw` with lower-case names; the values of a repeated one are joined with a comma."""
    found: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def answer(url: str, status: int, headers: Headers, body: bytes, now: datetime, moved_to: str | None) -> Answer:
    """The answer that status, headers and body make; `status` is 304 or a success."""
    content_type = headers.get("content-type", "")
    media, charset = _MEDIA_TYPE.match(content_type), _CHARSET.search(content_type)
    return Answer(
        url=url,
        status=304 if status == 304 else 200,
        body=body,
        charset=charset[1].lower() if charset else None,
        content_type=media[1].lower() if media else None,
        etag=_short(headers.get("etag")),
        last_modified=_short(headers.get("last-modified")),
        not_modified=status == 304,
        fresh_for=fresh_for(headers, now),
        retry_after=retry_after(headers, now),
        moved_to=moved_to,
        headers={name: headers[name] for name in _KEPT if name in headers and _short(headers[name])},
    )


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


def host_wait(status: int, headers: Headers, now: datetime, *, shy: bool) -> float | None:
    """Seconds for which the whole host is to be left alone, None where it need not be.

    `shy` is a host that answers 403 where it means 429, as Reddit does to those who come without credentials.
    """
    rest = used_up(headers, now)
    if status == 429 or (status == 403 and shy):
        return retry_after(headers, now) or rest or USUAL_WAIT
    return rest


def refusal(status: int, headers: Headers, host: str, wait: float | None, now: datetime) -> FetchError:
    """The error for an answer that is no success; `wait` is what `host_wait` said."""
    if wait is not None and status in (403, 429):
        return throttled(host, wait)
    later = retry_after(headers, now)
    if status == 503 and later is not None:
        return throttled(host, later)
    if status in (401, 403):
        return _needs_login(status, headers, host)
    if status == 404:
        return MissingError(
            f"There is nothing at this address of {host} (404).",
            hint="Check the address; the site may have moved its feed.",
        )
    if status == 410:
        return GoneError(
            f"{host} says that this address is gone for good (410).",
            hint="Remove the source, or give it a new address.",
        )
    whose = "This is the site's trouble; Copydesk tries again by itself." if status >= 500 else "Check the address."
    return AnswerError(f"{host} answered with {_named(status)}.", hint=whose, retry_after=later)


def throttled(host: str, wait: float) -> ThrottledError:
    """The error for a host that is to be left alone for `wait` seconds."""
    return ThrottledError(
        f"{host} asks us to wait {span(wait)}.", hint="Copydesk tries again by itself.", retry_after=wait
    )


def span(seconds: float) -> str:
    """A span of time in words: `45 seconds`, `15 minutes`, `6 hours`, `3 days`."""
    for size, name in ((DAY, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= 2 * size or seconds == size:
            return _counted(round(seconds / size), name)
    return _counted(max(1, round(seconds)), "second")


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def _needs_login(status: int, headers: Headers, host: str) -> NeedsLoginError:
    if status == 403 and headers.get("cf-mitigated") == "challenge":
        return NeedsLoginError(
            f"{host} lets only people with a browser in (403).", hint="Look for another feed of the same site."
        )
    return NeedsLoginError(
        f"{host} wants credentials, or does not let programs in ({status}).",
        hint="Check the credentials of this source, or use a public address.",
    )


def _named(status: int) -> str:
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


def _short(value: str | None) -> str | None:
    return value if value and len(value) <= _MAX_HEADER else None
