"""HTTP client for platforms, with forms and multipart/form-data (RFC 7578) as request bodies.

It tells requests that certainly created nothing from requests that may have created something. Redirects are not
followed and no request is repeated.

Errors contain neither the request nor the response, so no token can leak through them. A server may repeat the request
in its own error message, though: whatever was sent as a credential is redacted in unsuccessful responses.
"""

import asyncio
import re
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, TypedDict, TypeVar
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit

import msgspec
from msgspec.structs import replace

from copydesk.errors import CopydeskError, FetchError
from copydesk.model.serialization import Struct
from copydesk.network import user_agent
from copydesk.network.response import Headers, location, rate_limit_wait, retry_after, status_phrase
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
from copydesk.text.links import postable_url
from copydesk.text.redaction import DEFAULT_REDACTION

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
MAX_ERROR_BODY = 64 * 2**10
"""Bytes of an unsuccessful response. A longer one holds no message worth reading and is dropped."""
MAX_ERROR_TEXT = 300
"""Characters of a platform's error message that are shown to the user."""
DEFAULT_RETRY_DELAY = timedelta(minutes=15)
"""Used for "too many requests" responses that name no time."""

_SECRET_NAME = re.compile(
    r"(?:token|secret|password|signature|authorization|verifier|(?:^|api[-_]?)key|^code)$", re.IGNORECASE
)
"""Name of a header or field whose value is a credential."""
_LOGIN = frozenset({401, 403})
_REFUSED = frozenset({400, 404, 413, 415, 422})
"""Documented by every platform as: the request was checked and nothing was created."""

# Some servers decide by the file name's extension, whatever the media type says.
_EXTENSIONS = {"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp"}


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
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise UnknownOutcomeError("Unreadable response.") from None

    def decode_or(self, default: T) -> T:
        """Return the JSON body decoded as the type of `default`, which is returned if it does not match."""
        try:
            return self.decode(type(default))
        except UnknownOutcomeError:
            return default


class Transport(Protocol):
    """Sends a request to a server: an httpx transport or a test double."""

    async def handle_async_request(self, request: "httpx.Request", /) -> "httpx.Response":
        """Return the response to `request`."""
        ...


class RequestOptions(TypedDict, total=False):
    """The optional parts of a request, as in `PlatformClient.request`."""

    headers: Mapping[str, str]
    json: object
    form: Mapping[str, str]
    content: bytes
    params: Mapping[str, str]


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
            DEFAULT_REDACTION.add(*sent_credentials(address, valid_headers, form or {}, json))
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
            return _redact(Response(status=response.status, headers=response.headers, body=response.body))
        except FetchError as error:
            # A proxy's message may repeat the request.
            message = DEFAULT_REDACTION.redact(error.message)
            # Also for a response that is too large or corrupt: the request was processed.
            failure: PostingError = UnknownOutcomeError(message)
            if error.not_sent:
                failure = NotSentError(message, hint=error.hint)
        except ValueError:
            host = urlsplit(url).netloc
            failure = NotSentError(f"Cannot send the request to {host}: invalid address.")
        raise failure


async def as_repeatable(request: Awaitable[T]) -> T:
    """Await a request that creates nothing visible, and raise `NotSentError` in place of `UnknownOutcomeError`.

    Such a request can simply be repeated.
    """
    try:
        return await request
    except UnknownOutcomeError as error:
        not_sent = NotSentError(error.message, hint=error.hint, retry_after=error.retry_after)
    raise not_sent


def sent_credentials(url: str, headers: Mapping[str, str], form: Mapping[str, str], json: object) -> Iterator[str]:
    """Yield the credentials that a request contains, as they are sent and decoded."""
    for name, value in headers.items():
        if _SECRET_NAME.search(name):
            # `Basic …` and `Bearer …`; keys have no scheme.
            scheme, separator, credentials = value.partition(" ")
            yield credentials if separator and name.lower() == "authorization" else value
            if scheme.lower() == "basic":
                with suppress(ValueError):
                    user_and_password = b64decode(credentials).decode(errors="replace")
                    yield from (user_and_password, user_and_password.partition(":")[2])
    for name, value in (*parse_qsl(urlsplit(url).query), *form.items()):
        if _SECRET_NAME.search(name):
            yield from (value, quote_plus(value))
    yield from _secret_fields(json)


def _secret_fields(json: object) -> Iterator[str]:
    """Yield the values of fields, at any depth, that are credentials by their name."""
    if isinstance(json, Mapping):
        for name, value in json.items():
            if isinstance(value, str):
                if _SECRET_NAME.search(name):
                    yield value
            else:
                yield from _secret_fields(value)
    elif isinstance(json, list | tuple):
        for value in json:
            yield from _secret_fields(value)


def _redact(response: Response) -> Response:
    """Return `response`, if it is unsuccessful without the credentials in its body."""
    if response.is_success:
        return response
    body = response.body if len(response.body) <= MAX_ERROR_BODY else b""
    # Bytes that are no text stay as they are.
    text = DEFAULT_REDACTION.redact(body.decode(errors="surrogateescape"))
    return replace(response, body=text.encode(errors="surrogateescape"))


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
    later = retry_at(response.headers, now)
    if response.status == 429:
        return NotSentError(message, retry_after=later or now + DEFAULT_RETRY_DELAY)
    # A 403 that is no login problem (see `login_statuses`) is a rejection of this post.
    if response.status in _REFUSED or response.status == 403:
        return RefusedPostError(message)
    return UnknownOutcomeError(message, retry_after=later)


def error_for_read(response: Response, host: str, now: datetime, *, explanation: str = "") -> CopydeskError:
    """Return the error that an unsuccessful response to a read request means; such a request created nothing."""
    if 300 <= response.status < 400 and (target := postable_url(location(response.headers))):
        hint = "Connect the account with that address."
        return NotSentError(f"{host} redirects to {shorten(target)}.", hint=hint)
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
    is_exhausted = headers.get("ratelimit-remaining", "0") == "0"
    if wait is None and is_exhausted and (reset := headers.get("ratelimit-reset", "")).isdecimal():
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
    """Return text received from a server as one short line without control characters and credentials."""
    # The text is untrusted and may be long. Redact before it is cut, or the beginning of a token would be left, and
    # after it is decoded and cleaned: a server may escape a token in its own way.
    line = DEFAULT_REDACTION.redact(clean(DEFAULT_REDACTION.redact(text[:MAX_ERROR_BODY]))).strip()
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
