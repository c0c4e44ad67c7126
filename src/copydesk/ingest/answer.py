"""What a server answered: what its status and headers mean for us. Pure."""

import re
from datetime import datetime

from copydesk.errors import AnswerError, FetchError, GoneError, MissingError, NeedsLoginError, ThrottledError
from copydesk.model.wire import Struct
from copydesk.network import TRIES_AGAIN
from copydesk.network.headers import Headers, fresh_for, named, retry_after, span, used_up

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
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE | re.ASCII)
_MEDIA_TYPE = re.compile(r"\s*([\w.+-]{1,60}/[\w.+-]{1,60})", re.ASCII)


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
    whose = f"This is the site's trouble; {TRIES_AGAIN}" if status >= 500 else "Check the address."
    return AnswerError(f"{host} answered with {named(status)}.", hint=whose, retry_after=later)


def throttled(host: str, wait: float) -> ThrottledError:
    """The error for a host that is to be left alone for `wait` seconds."""
    return ThrottledError(f"{host} asks us to wait {span(wait)}.", hint=TRIES_AGAIN, retry_after=wait)


def _needs_login(status: int, headers: Headers, host: str) -> NeedsLoginError:
    if status == 403 and headers.get("cf-mitigated") == "challenge":
        return NeedsLoginError(
            f"{host} lets only people with a browser in (403).", hint="Look for another feed of the same site."
        )
    return NeedsLoginError(
        f"{host} wants credentials, or does not let programs in ({status}).",
        hint="Check the credentials of this source, or use a public address.",
    )


def _short(value: str | None) -> str | None:
    return value if value and len(value) <= _MAX_HEADER else None
