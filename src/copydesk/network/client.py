"""The guarded HTTP client that sources, platforms and images share.

It sends one request and reads its response within a deadline and limits on size. It follows no redirects and repeats
nothing; `redirect_target` says where a redirect leads. Every failure is a `FetchError` that keeps neither the request
nor the response, so no token can leak through it.

httpx decompresses whatever a server sends: two megabytes of gzip become two gigabytes in memory. Here decompression
works in small pieces and stops at the limit.
"""

import asyncio
import errno
import re
import ssl
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Protocol, TypeVar

import httpx

from copydesk.errors import (
    FetchError,
    FetchTimeoutError,
    ResponseStatusError,
    ResponseTooLargeError,
    UnreachableError,
)
from copydesk.model.serialization import Struct
from copydesk.network import RETRY_HINT
from copydesk.network.response import Headers, header_map, location

MAX_URL_LENGTH = 4096
"""Characters, for redirect targets as well."""
REDIRECT_STATUSES = (301, 302, 303, 307, 308)
BASE_HEADERS = {"accept-encoding": "gzip, deflate"}
"""The encodings that `read_body` decompresses within limits."""

CONNECTION_HINT = "Check your internet connection."

_MAX_HOST_LENGTH = 253
_HOST = re.compile(r"[^:/?#]+://(?:[^/?#]*@)?([^/?#@:]*)")
"""The host in a URL, split off as httpx does it."""
_DOTS = re.compile("[.\u3002\uff0e\uff61]")
"""The characters that separate the labels of a name in IDNA."""
_LABEL = re.compile(rb"[a-z0-9_-]*")
_VALID_HOST = re.compile(rb"(?!\.)(?:[a-z0-9._-]{1,253}|[0-9a-f:.]{2,45})")
"""A name or an IP address; httpx accepts hosts that are neither. TLS takes no name that begins with a dot."""
_TLS_ALERT = re.compile(r"(?:SSLV3|TLSV1|TLSV13)_(?:ALERT_)?(\w+)")
"""OpenSSL's names of the alerts that a server sends before it closes a connection (RFC 8446, 6.2)."""
_CONNECT_ERRORS = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)
"""Raised before a byte of the request is sent."""
_TRANSPORT_ERRORS = (httpx.TransportError, OSError)  # TimeoutError is an OSError
T = TypeVar("T")

MAX_PIECE = 256 * 1024
"""Bytes that one decompression step may produce."""
MAX_MEMBERS = 1000
"""Members of one gzip stream: an empty member costs the reader more than the sender."""
CHUNKS_PER_YIELD = 256
"""Yield to the event loop after this many chunks: a server may send its body byte by byte."""

_GZIP, _ZLIB, _RAW = 31, 15, -15
_GZIP_MAGIC = b"\x1f\x8b"


class Transport(Protocol):
    """Sends a request to a server: the guarded transport, or a test double."""

    async def handle_async_request(self, request: httpx.Request, /) -> httpx.Response:
        """Return the response to `request`."""
        ...


class UnusableUrlError(ValueError):
    """A URL that is not requested: it is invalid, or neither http nor https."""


class UserInfoError(UnusableUrlError):
    """A URL with a user name or a password in it."""


class HttpResponse(Struct, frozen=True):
    """A response with its body."""

    status: int
    headers: Headers
    """With lower-case names."""
    body: bytes


class OpenResponse:
    """A response whose body has not been read yet."""

    def __init__(self, response: httpx.Response, host: str) -> None:
        self.status = response.status_code
        self.headers = header_map(response.headers.raw)
        self._stream = response.stream
        self._host = host

    async def pieces(self, *, max_body: int) -> AsyncIterator[bytes]:
        """Yield an uncompressed body as it arrives. Raise FetchError if it is compressed or longer than `max_body`."""
        assert isinstance(self._stream, httpx.AsyncByteStream)
        if self.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise _unsupported_compression(self._host)
        received = 0
        async for chunk in self._stream:
            received += len(chunk)
            if received > max_body:
                raise _too_large(self._host, max_body)
            yield chunk

    async def read(self, *, max_wire: int, max_body: int) -> bytes:
        """Return the body; see `read_body` for the limits. Raise FetchError."""
        assert isinstance(self._stream, httpx.AsyncByteStream)
        return await read_body(
            self._stream,
            host=self._host,
            encoding=self.headers.get("content-encoding", ""),
            length=self.headers.get("content-length", ""),
            max_wire=max_wire,
            max_body=max_body,
        )


async def exchange(
    transport: Transport,
    request: httpx.Request,
    handle: Callable[[OpenResponse], Awaitable[T]],
    *,
    timeout_seconds: float | None = None,
) -> T:
    """Send `request` once and return what `handle` makes of its response, within `timeout_seconds` in total.

    httpx's timeouts are per read: a server that sends a byte at a time would never hit them. Raise FetchError, whose
    `not_sent` tells whether the server may have processed the request.
    """
    host = host_of(request.url)
    # Raise outside of the handlers: otherwise `__context__` would keep the request, and the token in it.
    try:
        async with asyncio.timeout(timeout_seconds):
            response = await _start(transport, request)
            try:
                return await handle(OpenResponse(response, host))
            finally:
                assert isinstance(response.stream, httpx.AsyncByteStream)
                await response.stream.aclose()
    except _TRANSPORT_ERRORS as error:
        failure = _to_fetch_error(error, host)
    raise failure


async def _start(transport: Transport, request: httpx.Request) -> httpx.Response:
    try:
        return await transport.handle_async_request(request)
    except FetchError as error:  # the address guard's, which comes before the connection
        error.not_sent = True
        raise


async def send(
    transport: Transport, request: httpx.Request, *, max_body: int, timeout_seconds: float | None = None
) -> HttpResponse:
    """Send `request` once and return its response, whatever its status. The body of a redirect is not read.

    Both the transferred and the decompressed body may have `max_body` bytes. Raise FetchError.
    """

    async def read(response: OpenResponse) -> HttpResponse:
        # The body of a redirect is of no use, and its length is the server's choice.
        is_redirect = response.status in REDIRECT_STATUSES
        body = b"" if is_redirect else await response.read(max_wire=max_body, max_body=max_body)
        return HttpResponse(status=response.status, headers=response.headers, body=body)

    return await exchange(transport, request, read, timeout_seconds=timeout_seconds)


def new_request(
    method: str,
    url: httpx.URL,
    *,
    headers: Mapping[str, str],
    content: bytes = b"",
    extensions: Mapping[str, object] | None = None,
) -> httpx.Request:
    """Return a request. Raise ValueError or TypeError for headers that cannot be sent."""
    # Without a Host header httpx reads `url.host`, which raises for names with emoji.
    named = {"host": host_of(url), **headers}
    return httpx.Request(method, url, headers=named, content=content, extensions=dict(extensions or {}))


async def send_new(
    transport: Transport,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    content: bytes,
    max_body: int,
    timeout_seconds: float,
    connect_seconds: float,
) -> HttpResponse:
    """Build a request and `send` it; it is given up if there is no connection after `connect_seconds`.

    For callers that import this module late. Raise FetchError, or UnusableUrlError if there can be no such request.
    """
    # The connection has a limit of its own: until then nothing was sent, and a retry is safe.
    timeouts = {"timeout": {"connect": connect_seconds}}
    try:
        request = new_request(method, _to_url(url), headers=headers, content=content, extensions=timeouts)
    except (ValueError, TypeError):
        raise UnusableUrlError from None
    return await send(transport, request, max_body=max_body, timeout_seconds=timeout_seconds)


def parse_url(url: str) -> httpx.URL:
    """Return a URL without its fragment. Raise UnusableUrlError if it must not be requested."""
    return _validate_url(_to_url(url))


def _to_url(url: str) -> httpx.URL:
    try:
        return httpx.URL(url)
    except httpx.InvalidURL:
        pass
    match = _HOST.match(url)
    # Python's codec takes quadratic time.
    if match and len(match[1]) <= _MAX_HOST_LENGTH:
        try:
            host = ".".join(_encode_label(label) for label in _DOTS.split(match[1]))
            return httpx.URL(f"{url[: match.start(1)]}{host}{url[match.end(1) :]}")
        except (httpx.InvalidURL, ValueError):
            pass
    raise UnusableUrlError


def _encode_label(label: str) -> str:
    """Return a label of a name in ASCII. Raise ValueError if it cannot be one."""
    try:
        encoded = httpx.URL(host=label).raw_host
    except httpx.InvalidURL:
        # IDNA 2008, which httpx follows, has no emoji; IDNA 2003 has them, and browsers request such names.
        encoded = label.encode("idna")
    # IDNA 2003 turns some characters into a dot, a colon or a slash.
    if not _LABEL.fullmatch(encoded):
        raise UnusableUrlError
    return encoded.decode("ascii")


def redirect_target(base: httpx.URL, status: int, headers: Headers) -> httpx.URL | None:
    """Return the URL to which a response from `base` redirects, None if it does not.

    Raise UnusableUrlError if that URL must not be requested.
    """
    if status not in REDIRECT_STATUSES or "location" not in headers:
        return None
    try:
        target = base.join(location(headers))
    except (httpx.InvalidURL, ValueError):  # the latter from urllib, which reads brackets in its own way
        raise UnusableUrlError from None
    return _validate_url(target)


def host_of(url: httpx.URL) -> str:
    """Return the host, with any unusual port, for messages. The rest of the URL may contain a secret token."""
    return url.netloc.decode("ascii")


def host_name(url: httpx.URL) -> str:
    """Return the host without a port, as DNS has it."""
    # httpx's `host` raises for names that IDNA 2008 does not know, such as those with emoji.
    return url.raw_host.decode("ascii")


def _validate_url(url: httpx.URL) -> httpx.URL:
    is_supported = url.scheme in ("http", "https") and _VALID_HOST.fullmatch(url.raw_host)
    port = 80 if url.port is None else url.port
    if not is_supported or not 0 < port < 65536 or len(url.raw_path) > MAX_URL_LENGTH:
        raise UnusableUrlError
    if url.userinfo:
        raise UserInfoError(host_name(url))
    return url.copy_with(fragment=None) if url.fragment else url


def _to_fetch_error(error: Exception, host: str) -> FetchError:
    """Return the user-facing error for `error`, one of `_TRANSPORT_ERRORS`."""
    fetch_error = _describe(error, host)
    fetch_error.not_sent = isinstance(error, _CONNECT_ERRORS)
    return fetch_error


def _describe(error: Exception, host: str) -> FetchError:
    # First, because TimeoutError is also an OSError.
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        # The setting is the limit of a whole response from a source.
        is_connected = not isinstance(error, httpx.ConnectTimeout)
        hint = f"{RETRY_HINT} To wait longer, set network.timeout." if is_connected else CONNECTION_HINT
        return FetchTimeoutError(f"{host} did not respond in time.", hint=hint)
    if isinstance(error, httpx.ProxyError):
        return UnreachableError(f"The proxy cannot reach {host}: {error}.", hint="Check network.proxy.")
    if isinstance(error, httpx.ConnectError | OSError):
        return _connect_error(error, host)
    if isinstance(error, httpx.NetworkError) or _is_cut_off(error):
        return ResponseStatusError(f"The connection to {host} was interrupted.", hint=RETRY_HINT)
    if isinstance(error, httpx.LocalProtocolError):
        return ResponseStatusError(
            f"Cannot send the request to {host}: invalid header value.",
            hint="Check the source's credentials.",
        )
    return ResponseStatusError(f"{host} sent an invalid HTTP response.", hint=RETRY_HINT)


def _is_cut_off(error: Exception) -> bool:
    """Return True if the server closed the connection before the end of its response."""
    # h11 and httpcore report this as a violation of the protocol and differ from real ones only in their words.
    phrases = ("closed connection", "disconnected without")
    return isinstance(error, httpx.RemoteProtocolError) and any(word in str(error) for word in phrases)


def _connect_error(error: Exception, host: str) -> UnreachableError:
    causes = list(_cause_chain(error))
    for cause in causes:
        # Before SSLError, which is its base class.
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = cause.verify_message.rstrip(".")
            return UnreachableError(
                f"The certificate of {host} is not trusted: {reason}.",
                hint="Check the address; the certificate may have expired.",
            )
        if isinstance(cause, ssl.SSLError):
            if alert := _TLS_ALERT.fullmatch(cause.reason or ""):
                reason = alert[1].replace("_", " ").lower()
                return UnreachableError(
                    f"{host} refuses the TLS connection: {reason}.",
                    hint="Check the address; the server may have no certificate for this name.",
                )
            return UnreachableError(f"{host} does not use TLS on this port.", hint="Check the address: https or http?")
    # Several addresses were tried: one refusal among the causes says more than a timeout.
    if any(isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED for cause in causes):
        hint = "The server is not running, or the port is wrong."
        return UnreachableError(f"Connection refused by {host}.", hint=hint)
    return UnreachableError(f"Cannot connect to {host}.", hint=CONNECTION_HINT)


def _cause_chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


async def read_body(
    chunks: AsyncIterable[bytes], *, host: str, encoding: str, length: str, max_wire: int, max_body: int
) -> bytes:
    """Return the decompressed body.

    `encoding` and `length` are the Content-Encoding and Content-Length headers, empty if missing. A compressed body may
    have `max_wire` bytes and decompress to `max_body`; an uncompressed one may have `max_body`. Raise
    `ResponseTooLargeError` beyond that and `ResponseStatusError` if the body is corrupt.
    """
    reader = _body_reader(encoding.strip().lower(), host, max_body)
    compressed = isinstance(reader, _CompressedBody)
    limit = max_wire if compressed else max_body
    if length.isdecimal() and int(length[:20]) > limit:
        raise _too_large(host, limit, compressed=compressed)
    # The header may be missing or lie, so the bytes are counted as well.
    received = chunk_count = 0
    async for chunk in chunks:
        received += len(chunk)
        if received > limit:
            raise _too_large(host, limit, compressed=compressed)
        reader.feed(chunk)
        chunk_count += 1
        if chunk_count % CHUNKS_PER_YIELD == 0:
            await asyncio.sleep(0)
    return reader.finish()


class _PlainBody:
    """Collects an uncompressed body."""

    def __init__(self, host: str, limit: int) -> None:
        self.host = host
        self.limit = limit
        # Not a list of chunks: a million chunks of two bytes would take 35 bytes each.
        self.out = bytearray()

    def feed(self, data: bytes) -> None:
        """Process the next chunk."""
        self.add(data)

    def add(self, piece: bytes) -> None:
        """Append decompressed bytes. Raise `ResponseTooLargeError` beyond the limit."""
        if len(self.out) + len(piece) > self.limit:
            raise _too_large(self.host, self.limit)
        self.out += piece

    def finish(self) -> bytes:
        """Return the whole body."""
        return bytes(self.out)


class _CompressedBody(_PlainBody):
    """Decompresses a gzip or deflate body."""

    def __init__(self, host: str, limit: int, *, gzip: bool) -> None:
        super().__init__(host, limit)
        self._gzip = gzip
        self._pending = b""
        self._stream: zlib._Decompress | None = None
        self._members = 0

    def feed(self, data: bytes) -> None:
        """Decompress the next chunk."""
        data = self._pending + data
        self._pending = b""
        while data:
            if self._stream is None or self._stream.eof:  # a gzip body may have several members
                if len(data) < 2:  # the stream's format is visible from two bytes
                    self._pending = data
                    return
                if not self._start_stream(data):
                    return
            data = self._decompress(data)

    def finish(self) -> bytes:
        """Return the whole body. Raise `ResponseStatusError` if its end is missing."""
        if self._stream is not None and not self._stream.eof:
            self._decompress(b"")  # zlib may hold back the last bytes when its output limit is reached
        if (self._stream is None and self._pending) or (self._stream is not None and not self._stream.eof):
            raise _corrupt_body(self.host)
        return super().finish()

    def _start_stream(self, data: bytes) -> bool:
        """Start a new stream with `data`. Return False if only padding follows the last one."""
        if self._members and not (self._gzip and data.startswith(_GZIP_MAGIC)):
            return False
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise _corrupt_body(self.host)
        self._stream = zlib.decompressobj(_GZIP if self._gzip else _deflate_window_bits(data))
        return True

    def _decompress(self, data: bytes) -> bytes:
        """Decompress a piece of `data` and return the rest of it."""
        assert self._stream is not None
        try:
            self.add(self._stream.decompress(data, MAX_PIECE))
        except zlib.error:
            raise _corrupt_body(self.host) from None
        return self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail


def _body_reader(encoding: str, host: str, limit: int) -> _PlainBody:
    if encoding in ("", "identity"):
        return _PlainBody(host, limit)
    if encoding in ("gzip", "x-gzip"):
        return _CompressedBody(host, limit, gzip=True)
    if encoding == "deflate":
        return _CompressedBody(host, limit, gzip=False)
    raise _unsupported_compression(host)


def _deflate_window_bits(data: bytes) -> int:
    """Return zlib's window bits for `data`.

    Deflate means zlib (RFC 9110, 8.4.1.2), but some servers omit its header.
    """
    has_zlib_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
    return _ZLIB if has_zlib_header else _RAW


def _unsupported_compression(host: str) -> ResponseStatusError:
    hint = f"This is a fault of the site. {RETRY_HINT}"
    return ResponseStatusError(f"{host} sent an unsupported compression.", hint=hint)


def _corrupt_body(host: str) -> ResponseStatusError:
    return ResponseStatusError(f"The response of {host} is damaged: it cannot be decompressed.", hint=RETRY_HINT)


def _too_large(host: str, limit: int, *, compressed: bool = False) -> ResponseTooLargeError:
    size = f"{limit // 2**20} MB" if limit >= 2**20 else f"{limit // 2**10} KB"
    if compressed:
        return ResponseTooLargeError(
            f"The compressed response of {host} is larger than the limit of {size}.",
            hint="Use a smaller feed of the site.",
        )
    return ResponseTooLargeError(
        f"The response of {host} is larger than {size}.",
        hint="Use a smaller feed of the site, or raise network.max_body.",
    )
