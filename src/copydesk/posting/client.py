"""HTTP client for platforms, with forms and multipart/form-data (RFC 7578) as request bodies.

It tells requests that certainly created nothing from requests that may have created something. Redirects are not
followed and no request is repeated. Errors contain neither the request nor the response, so no token can leak through
them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from copydesk.errors import CopydeskError, FetchError
from copydesk.model.serialization import Struct
from copydesk.network import user_agent
from copydesk.network.response import Headers, rate_limit_wait, retry_after, status_phrase
from copydesk.posting.platform import (
    RECONNECT_HINT,
    LoginError,
    NotSentError,
    PostImage,
    PostingError,
    RefusedPostError,
    UnknownOutcomeError,
)
from copydesk.text import clean

if TYPE_CHECKING:
    import httpx

    from copydesk.network.client import HttpResponse


T = TypeVar("T")

REQUEST_TIMEOUT = 30.0
"""Seconds until the complete response has arrived."""
CONNECT_TIMEOUT = 10.0
"""Seconds to establish a connection."""
MAX_BODY = 4 * 2**20
"""Bytes of a response."""
MAX_ERROR_TEXT = 300
"""Characters of a platform's error message that are shown to the user."""
DEFAULT_RETRY_DELAY = timedelta(minutes=15)
"""Used for "too many requests" responses that name no time."""

_LOGIN = frozenset({401, 403})
_REFUSED = frozenset({400, 404, 413, 415, 422})
"""Documented by every platform as: the request was checked and nothing was created."""


class Response(Struct, frozen=True):
    """The response of a server."""

    status: int
    headers: Headers
    """With lower-case names."""
    body: bytes

    @property
    def is_success(self) -> bool:
        """True for a 2xx status."""
        return 200 <= self.status < 300

    def decode(self, response_type: type[T]) -> T:
        """Return the JSON body decoded as `response_type`.

        Raise `UnknownOutcomeError` if it does not match: it is then not known what the server did.
        """
        try:
            return msgspec.json.decode(self.body, type=response_type)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise UnknownOutcomeError("Unreadable response.") from None


class Transport(Protocol):
    """Sends a request to a server: an httpx transport or a test double."""

    async def handle_async_request(self, request: "httpx.Request", /) -> "httpx.Response":
        """Return the response to `request`."""
        ...


class PlatformClient:
    """HTTP client of one platform over `transport`, which is the guarded one or a test double."""

    def __init__(self, transport: Transport, *, timeout: float = REQUEST_TIMEOUT) -> None:
        self._transport = transport
        self._timeout = timeout
        self._send: Callable[..., Awaitable[HttpResponse]] | None = None

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        json: object = None,
        form: Mapping[str, str] | None = None,
        content: bytes | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Response:
        """Send one request and return its response, whatever its status; `error_for_write` interprets it.

        `json` is sent as JSON, `form` URL-encoded, `content` as it is. Raise `NotSentError` if no byte was sent,
        `UnknownOutcomeError` if no complete response arrived.
        """
        address = f"{url}?{urlencode(params)}" if params else url
        all_headers = {"user-agent": user_agent(), "accept": "application/json", **(headers or {})}
        if json is not None:
            all_headers["content-type"], content = "application/json", msgspec.json.encode(json)
        elif form is not None:
            all_headers["content-type"], content = "application/x-www-form-urlencoded", urlencode(form).encode()
        valid_headers = _validate_headers(all_headers)
        if self._send is None:
            # httpx is slow to import: import it on first use, in a thread so that the interface stays responsive.
            self._send = (await asyncio.to_thread(import_module, "copydesk.network.client")).send_new
        # Raise outside of the handlers: otherwise `__context__` would keep the request, and the token in it.
        try:
            response = await self._send(
                self._transport,
                method,
                address,
                headers=valid_headers,
                content=content or b"",
                max_body=MAX_BODY,
                timeout_seconds=self._timeout,
                connect_seconds=CONNECT_TIMEOUT,
            )
            return Response(status=response.status, headers=response.headers, body=response.body)
        except FetchError as error:
            # Also for a response that is too large or corrupt: the request was processed.
            failure: PostingError = UnknownOutcomeError(error.message)
            if error.not_sent:
                failure = NotSentError(error.message, hint=error.hint)
        except ValueError:
            host = urlsplit(url).netloc
            failure = NotSentError(f"Cannot send the request to {host}: invalid address.")
        raise failure


def error_for_write(
    response: Response, host: str, now: datetime, *, explanation: str = "", login_statuses: frozenset[int] = _LOGIN
) -> PostingError:
    """Return the error that an unsuccessful response to a write request means.

    `explanation` is the platform's own error message. `login_statuses` are those that concern the account and not the
    post. Every status that is not known to mean "nothing was created" is an `UnknownOutcomeError`.
    """
    message = (
        f"{host} says: {as_sentence(explanation)}"
        if explanation.strip()
        else f"{host} answered with {status_phrase(response.status)}."
    )
    if response.status in login_statuses:
        return LoginError(message, hint=RECONNECT_HINT)
    if response.status == 429:
        return NotSentError(message, retry_after=retry_at(response.headers, now) or now + DEFAULT_RETRY_DELAY)
    # A 403 that is no login problem (see `login_statuses`) is a rejection of this post.
    if response.status in _REFUSED or response.status == 403:
        return RefusedPostError(message)
    return UnknownOutcomeError(message)


def error_for_read(response: Response, host: str, now: datetime, *, explanation: str = "") -> CopydeskError:
    """Return the error that an unsuccessful response to a read request means; such a request created nothing."""
    error = error_for_write(response, host, now, explanation=explanation)
    if isinstance(error, LoginError | NotSentError):
        return error
    return NotSentError(error.message, retry_after=retry_at(response.headers, now))


def retry_at(headers: Headers, now: datetime) -> datetime | None:
    """Return the earliest time for another request, from Retry-After or the rate limit headers, else None."""
    wait = retry_after(headers, now)
    if wait is None:
        wait = rate_limit_wait(headers, now)
    # Bluesky sends an epoch time here, where the IETF draft counts seconds; values beyond a day are not believed.
    if wait is None and (reset := headers.get("ratelimit-reset", "")).isdecimal():
        seconds = int(reset[:12]) - now.timestamp()
        wait = seconds if 0 < seconds < timedelta(days=1).total_seconds() else None
    if wait is None and headers.get("x-ratelimit-remaining") == "0":
        wait = _seconds_until(headers.get("x-ratelimit-reset", ""), now)
    return None if wait is None else (now + timedelta(seconds=wait)).astimezone(UTC)


def _seconds_until(timestamp: str, now: datetime) -> float | None:
    """Return the seconds until a time in Mastodon's format, `2026-02-10T09:05:00.000000Z`.

    Return None if it is invalid, past or more than a day away.
    """
    try:
        # Bound the untrusted value before parsing it.
        seconds = (datetime.fromisoformat(timestamp[:40]) - now).total_seconds()
    except (ValueError, TypeError):
        return None
    return seconds if 0 < seconds < timedelta(days=1).total_seconds() else None


def shorten(text: str) -> str:
    """Return text received from a server as one short line without control characters."""
    # Cut first: the text is untrusted and may be megabytes long.
    line = clean(text[: 4 * MAX_ERROR_TEXT]).strip()
    return line if len(line) <= MAX_ERROR_TEXT else line[: MAX_ERROR_TEXT - 1] + "…"


def as_sentence(text: str) -> str:
    """Return text received from a server as one line that ends like a sentence."""
    line = shorten(text)
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."


def _validate_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return `headers` if all are valid; raise `NotSentError` otherwise.

    A line break in a token would start a new header.
    """
    if not all(value.isascii() and value.isprintable() for value in headers.values()):
        raise NotSentError("Cannot send the request: invalid header value.", hint="Check the key.")
    return dict(headers)


# Some servers decide by the file name's extension, whatever the media type says.
_EXTENSIONS = {"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp"}


def image_file_name(image: PostImage, stem: str) -> str:
    """Return `stem` with the file extension of the image's media type."""
    return f"{stem}.{_EXTENSIONS.get(image.media_type, 'bin')}"


def encode_form_with_image(fields: Mapping[str, str], image: PostImage, name: str) -> tuple[str, bytes]:
    """Return the content type and the body of a form with `fields` and the image as its `file` field, named `name`.

    The same arguments give the same bytes, so that a repeated upload can be recognized: httpx's random boundary is
    replaced by a hash of the image, which the image cannot contain.
    """
    import httpx  # noqa: PLC0415 - slow to import, and most posts have no image

    boundary = f"copydesk-{sha256(image.content).hexdigest()[:32]}"
    form = httpx.Request(
        "POST",
        "https://form.invalid/",  # never sent; only its body is used
        headers={"content-type": f"multipart/form-data; boundary={boundary}"},
        data=fields,
        files={"file": (name, image.content, image.media_type)},
    )
    return form.headers["content-type"], form.read()
