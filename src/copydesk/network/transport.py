"""Carries one HTTP request to a guarded connection and its answer back: no redirects, cookies, proxies or retries.

httpx's own transport takes no network backend, and its client does more than is wanted here: it keeps cookies, reads
the environment and writes addresses, with the tokens in them, to the log.
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

from copydesk.errors import AnswerError, FetchError, TooSlowError, UnreachableError
from copydesk.network import TRIES_AGAIN
from copydesk.network.guard import GuardedBackend

KEPT_CONNECTIONS = 20
"""More idle connections cost more than they save: the pool looks at each of them for every request."""
KEPT_SECONDS = 5.0
PORTS = {"http": 80, "https": 443}

_TIMEOUTS = (TimeoutError, httpcore.TimeoutException, httpx.TimeoutException)
_NO_CONNECTION = (httpcore.ConnectError, httpx.ConnectError, OSError)
_NETWORK = (httpcore.NetworkError, httpx.NetworkError)
_NOT_SENT = (httpcore.LocalProtocolError, httpx.LocalProtocolError)
_PROTOCOL = (httpcore.ProtocolError, httpx.ProtocolError)
FAILURES = (*_TIMEOUTS, *_NO_CONNECTION, *_NETWORK, *_PROTOCOL)
"""What a transport raises when an exchange fails."""


class NotConnectedError(httpx.ConnectError):
    """There is no connection, so nothing was asked; why is its cause."""


Origin = tuple[str, str, int]
"""Scheme, host and port: what a connection is good for."""


class Connection(httpcore.AsyncHTTP11Connection):
    """httpcore's connection with a lock of asyncio's: its own one brings all of anyio with it."""

    def __init__(self, origin: httpcore.Origin, stream: httpcore.AsyncNetworkStream, keepalive_expiry: float) -> None:
        super().__init__(origin, stream, keepalive_expiry)
        self._state_lock = asyncio.Lock()  # type: ignore[assignment]


class GuardedTransport(httpx.AsyncBaseTransport):
    """Connections to public addresses, TLS verified, of which at most KEPT_CONNECTIONS stay open.

    There is no limit to those in use: the caller asks each host one thing at a time. httpcore's own pool is not used.
    It looks at every connection for every request, takes half of a request's time, and loses track of connections
    when a request is cancelled in the wrong moment.
    """

    def __init__(self, *, allow_private: bool, concurrency: int) -> None:
        for name in ("httpx", "httpcore"):  # at DEBUG they print headers, and so the tokens in them
            logging.getLogger(name).setLevel(logging.WARNING)
        self._backend = GuardedBackend(allow_private=allow_private, lookups=concurrency)
        self._idle: dict[Origin, Connection] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send `request`; raises a FetchError of the guard or one of FAILURES."""
        url = request.url
        assert isinstance(request.stream, httpx.AsyncByteStream)
        port = url.port or PORTS[url.scheme]
        origin = (url.scheme, url.raw_host.decode("ascii"), port)
        asked = httpcore.Request(
            request.method,
            httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
        )
        patience = request.extensions.get("timeout", {}).get("connect")
        answer, connection = await self._exchange(origin, asked, patience)
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer, self, origin, connection))

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        while self._idle:
            await self._idle.popitem()[1].aclose()

    async def keep(self, origin: Origin, connection: Connection) -> None:
        """Keep a connection whose answer was read for the next request, or close the one that was kept the longest."""
        spare = self._idle.pop(origin, None)
        self._idle[origin] = connection
        if spare is None and len(self._idle) > KEPT_CONNECTIONS:
            spare = self._idle.pop(next(iter(self._idle)))
        if spare is not None:
            await spare.aclose()

    async def _exchange(
        self, origin: Origin, asked: httpcore.Request, patience: float | None
    ) -> tuple[httpcore.Response, Connection]:
        """Send `asked` over a kept connection or a new one, which may take `patience` seconds to come about."""
        # A server may close a kept connection in the moment in which it is used again, and it cannot be told whether
        # it saw the request. Asking twice does no harm to a GET (RFC 9110, 9.2.2); anything else is not asked there.
        kept = self._idle.pop(origin, None) if asked.method == b"GET" else None
        if kept is not None and not kept.has_expired():
            with suppress(httpcore.NetworkError, httpcore.RemoteProtocolError):
                return await _send(asked, kept), kept
        elif kept is not None:
            await kept.aclose()
        new = await self._connected(origin, patience)
        return await _send(asked, new), new

    async def _connected(self, origin: Origin, patience: float | None) -> Connection:
        """A new connection; NotConnectedError for whatever keeps it from coming about."""
        try:
            async with asyncio.timeout(patience):
                return await self._connect(origin)
        except FAILURES as error:
            raise NotConnectedError(str(error)) from error

    async def _connect(self, origin: Origin) -> Connection:
        scheme, host, port = origin
        stream = await self._backend.connect_tcp(host, port)
        if scheme == "https":
            stream = await _encrypted(stream, host)
        return Connection(httpcore.Origin(scheme.encode(), host.encode(), port), stream, keepalive_expiry=KEPT_SECONDS)


async def _send(asked: httpcore.Request, connection: Connection) -> httpcore.Response:
    try:
        return await connection.handle_async_request(asked)
    except BaseException:  # httpcore does not close it when it is cancelled in its first step
        await connection.aclose()
        raise


async def _encrypted(stream: httpcore.AsyncNetworkStream, host: str) -> httpcore.AsyncNetworkStream:
    try:
        return await stream.start_tls(_tls(), server_hostname=host)
    except BaseException:  # httpcore does not close it when it is cancelled
        await stream.aclose()
        raise


@cache
def _tls() -> ssl.SSLContext:
    """Verifies certificates and host names. Reading what to trust takes 25 ms, once."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context


class _Body(httpx.AsyncByteStream):
    """The body of an answer; once it is closed, its connection is kept if it was read to the end."""

    def __init__(
        self,
        answer: httpcore.Response,
        transport: GuardedTransport,
        origin: Origin,
        connection: Connection,
    ) -> None:
        self._answer = answer
        self._transport = transport
        self._origin = origin
        self._connection = connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._answer.stream, AsyncIterable)
        return aiter(self._answer.stream)

    async def aclose(self) -> None:
        try:
            await self._answer.aclose()
        except BaseException:  # as above
            await self._connection.aclose()
            raise
        if self._connection.is_idle():
            await self._transport.keep(self._origin, self._connection)


def failure(error: Exception, host: str) -> FetchError:
    """What went wrong on the way to `host`, in words for the user. `error` is one of FAILURES."""
    if isinstance(error, _TIMEOUTS) or isinstance(error.__cause__, _TIMEOUTS):
        hint = f"{TRIES_AGAIN} To wait longer, set network.timeout."
        return TooSlowError(f"{host} did not answer in time.", hint=hint)
    if isinstance(error, _NO_CONNECTION):
        return _no_connection(error, host)
    if isinstance(error, _NETWORK):
        return AnswerError(f"The connection to {host} broke off.", hint=TRIES_AGAIN)
    if isinstance(error, _NOT_SENT):
        return AnswerError(
            f"The request to {host} cannot be sent: a header holds what may not stand there.",
            hint="Check the source's credentials.",
        )
    return AnswerError(f"The answer of {host} is not proper HTTP.", hint=TRIES_AGAIN)


def _no_connection(error: Exception, host: str) -> UnreachableError:
    causes = list(_causes(error))
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
    what = f"{host} refuses the connection." if refused else f"There is no connection to {host}."
    return UnreachableError(what, hint=f"Check the connection to the internet. {TRIES_AGAIN}")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
