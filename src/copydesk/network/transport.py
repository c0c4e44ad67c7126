"""Send one HTTP request over a guarded connection: no redirects, cookies, proxies or retries.

httpx's own transport takes no network backend, and its client does more than is needed here: it stores cookies, reads
the environment and logs URLs with the tokens in them.
"""

import asyncio
import errno
import logging
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import suppress
from functools import cache

import certifi
import httpcore
import httpx

from copydesk.errors import FetchError, FetchTimeoutError, ResponseStatusError, UnreachableError
from copydesk.network import RETRY_HINT
from copydesk.network.guard import GuardedBackend

MAX_IDLE_CONNECTIONS = 20
"""More idle connections cost more than they save."""
KEEPALIVE_SECONDS = 5.0
PORTS = {"http": 80, "https": 443}

_TIMEOUTS = (TimeoutError, httpcore.TimeoutException, httpx.TimeoutException)
_NO_CONNECTION = (httpcore.ConnectError, httpx.ConnectError, OSError)
_NETWORK = (httpcore.NetworkError, httpx.NetworkError)
_NOT_SENT = (httpcore.LocalProtocolError, httpx.LocalProtocolError)
_PROTOCOL = (httpcore.ProtocolError, httpx.ProtocolError)
TRANSPORT_ERRORS = (*_TIMEOUTS, *_NO_CONNECTION, *_NETWORK, *_PROTOCOL)
"""Exceptions that a transport raises when an exchange fails."""


class NotConnectedError(httpx.ConnectError):
    """No connection could be established, so nothing was sent. The reason is its cause."""


Origin = tuple[str, str, int]
"""Scheme, host and port: requests to the same origin can share a connection."""


class Connection(httpcore.AsyncHTTP11Connection):
    """httpcore's connection with an asyncio lock; its own lock would import all of anyio."""

    def __init__(self, origin: httpcore.Origin, stream: httpcore.AsyncNetworkStream, keepalive_expiry: float) -> None:
        super().__init__(origin, stream, keepalive_expiry)
        self._state_lock = asyncio.Lock()  # type: ignore[assignment]


class GuardedTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 over public addresses with verified TLS; at most `MAX_IDLE_CONNECTIONS` idle connections stay open.

    The number of connections in use is not limited: callers send one request per host at a time. httpcore's pool is not
    used. It checks every connection for every request, which takes half of the request's time, and it loses connections
    if a request is cancelled at the wrong time.
    """

    def __init__(self, *, allow_private: bool, concurrency: int) -> None:
        for name in ("httpx", "httpcore"):  # at DEBUG they print headers, and so the tokens in them
            logging.getLogger(name).setLevel(logging.WARNING)
        self._backend = GuardedBackend(allow_private=allow_private, lookups=concurrency)
        self._idle: dict[Origin, Connection] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send `request`. Raise a `FetchError` of the guard or one of `TRANSPORT_ERRORS`."""
        url = request.url
        assert isinstance(request.stream, httpx.AsyncByteStream)
        port = url.port or PORTS[url.scheme]
        origin = (url.scheme, url.raw_host.decode("ascii"), port)
        core_request = httpcore.Request(
            request.method,
            httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
        )
        connect_timeout = request.extensions.get("timeout", {}).get("connect")
        response, connection = await self._exchange(origin, core_request, connect_timeout)
        return httpx.Response(
            response.status, headers=response.headers, stream=_Body(response, self, origin, connection)
        )

    async def aclose(self) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.popitem()[1].aclose()

    async def release(self, origin: Origin, connection: Connection) -> None:
        """Store a connection for the next request to its origin; close the oldest one beyond the limit."""
        spare = self._idle.pop(origin, None)
        self._idle[origin] = connection
        if spare is None and len(self._idle) > MAX_IDLE_CONNECTIONS:
            spare = self._idle.pop(next(iter(self._idle)))
        if spare is not None:
            await spare.aclose()

    async def _exchange(
        self, origin: Origin, request: httpcore.Request, connect_timeout: float | None
    ) -> tuple[httpcore.Response, Connection]:
        """Send a request over an idle connection or a new one, which may take `connect_timeout` seconds to connect."""
        # A server may close an idle connection just as it is reused, and the client cannot tell whether the request was
        # processed. Only a GET can be repeated safely (RFC 9110, 9.2.2); other methods get a new connection.
        idle = self._idle.pop(origin, None) if request.method == b"GET" else None
        if idle is not None and not idle.has_expired():
            with suppress(httpcore.NetworkError, httpcore.RemoteProtocolError):
                return await _send(request, idle), idle
        elif idle is not None:
            await idle.aclose()
        fresh = await self._open_connection(origin, connect_timeout)
        return await _send(request, fresh), fresh

    async def _open_connection(self, origin: Origin, connect_timeout: float | None) -> Connection:
        """Return a new connection. Raise `NotConnectedError` for any failure."""
        try:
            async with asyncio.timeout(connect_timeout):
                return await self._connect(origin)
        except TRANSPORT_ERRORS as error:
            raise NotConnectedError(str(error)) from error

    async def _connect(self, origin: Origin) -> Connection:
        scheme, host, port = origin
        stream = await self._backend.connect_tcp(host, port)
        if scheme == "https":
            stream = await _start_tls(stream, host)
        return Connection(
            httpcore.Origin(scheme.encode(), host.encode(), port), stream, keepalive_expiry=KEEPALIVE_SECONDS
        )


async def _send(request: httpcore.Request, connection: Connection) -> httpcore.Response:
    try:
        return await connection.handle_async_request(request)
    except BaseException:  # httpcore does not close it if cancelled in its first step
        await connection.aclose()
        raise


async def _start_tls(stream: httpcore.AsyncNetworkStream, host: str) -> httpcore.AsyncNetworkStream:
    try:
        return await stream.start_tls(_tls(), server_hostname=host)
    except BaseException:  # httpcore does not close it if cancelled
        await stream.aclose()
        raise


@cache
def _tls() -> ssl.SSLContext:
    """Return a TLS context that verifies certificates and host names. Cached: loading the CA file takes 25 ms."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context


class _Body(httpx.AsyncByteStream):
    """The body of a response. When closed, its connection is reused if the body was read to the end."""

    def __init__(
        self,
        response: httpcore.Response,
        transport: GuardedTransport,
        origin: Origin,
        connection: Connection,
    ) -> None:
        self._response = response
        self._transport = transport
        self._origin = origin
        self._connection = connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._response.stream, AsyncIterable)
        return aiter(self._response.stream)

    async def aclose(self) -> None:
        try:
            await self._response.aclose()
        except BaseException:  # as above
            await self._connection.aclose()
            raise
        if self._connection.is_idle():
            await self._transport.release(self._origin, self._connection)


def to_fetch_error(error: Exception, host: str) -> FetchError:
    """Return the user-facing error for `error`, one of `TRANSPORT_ERRORS`."""
    if isinstance(error, _TIMEOUTS) or isinstance(error.__cause__, _TIMEOUTS):
        hint = f"{RETRY_HINT} To wait longer, set network.timeout."
        return FetchTimeoutError(f"{host} did not answer in time.", hint=hint)
    if isinstance(error, _NO_CONNECTION):
        return _connect_error(error, host)
    if isinstance(error, _NETWORK):
        return ResponseStatusError(f"The connection to {host} broke off.", hint=RETRY_HINT)
    if isinstance(error, _NOT_SENT):
        return ResponseStatusError(
            f"The request to {host} cannot be sent: a header holds what may not stand there.",
            hint="Check the source's credentials.",
        )
    return ResponseStatusError(f"The answer of {host} is not proper HTTP.", hint=RETRY_HINT)


def _connect_error(error: Exception, host: str) -> UnreachableError:
    causes = list(_cause_chain(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = cause.verify_message.rstrip(".")
            return UnreachableError(
                f"The certificate of {host} cannot be trusted: {reason}.",
                hint="Check the address; the site may have let its certificate run out.",
            )
        if isinstance(cause, ssl.SSLError):
            return UnreachableError(f"{host} does not speak TLS there.", hint="Check the address: https or http?")
    refused = any(isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED for cause in causes)
    message = f"{host} refuses the connection." if refused else f"There is no connection to {host}."
    return UnreachableError(message, hint=f"Check the connection to the internet. {RETRY_HINT}")


def _cause_chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
