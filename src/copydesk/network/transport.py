"""Send one HTTP request over a guarded connection: no redirects, no cookies, and no retry but that of a GET.

httpx's own transport takes no network backend, and its client does more than is needed here: it stores cookies, reads
the environment and logs URLs with the tokens in them.

TLS trusts the certificate authorities of the system.
"""

import logging
import os
import ssl
import sys
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path

import certifi
import httpcore
import httpx
import truststore

from copydesk.errors import UnreachableError
from copydesk.network.addresses import is_local_host
from copydesk.network.guard import GuardedBackend

MAX_IDLE_CONNECTIONS = 20
"""More idle connections cost more than they save."""
# Short of what servers usually allow, so that a reused connection is rarely closed already.
KEEPALIVE_SECONDS = 5.0
PORTS = {"http": 80, "https": 443}

# The more specific class first.
_HTTPX_ERRORS: dict[type[Exception], type[httpx.TransportError]] = {
    httpcore.ConnectTimeout: httpx.ConnectTimeout,
    httpcore.ReadTimeout: httpx.ReadTimeout,
    httpcore.WriteTimeout: httpx.WriteTimeout,
    httpcore.TimeoutException: httpx.TimeoutException,
    httpcore.ConnectError: httpx.ConnectError,
    httpcore.ReadError: httpx.ReadError,
    httpcore.WriteError: httpx.WriteError,
    httpcore.NetworkError: httpx.NetworkError,
    httpcore.ProxyError: httpx.ProxyError,
    httpcore.LocalProtocolError: httpx.LocalProtocolError,
    httpcore.RemoteProtocolError: httpx.RemoteProtocolError,
    httpcore.ProtocolError: httpx.ProtocolError,
}


class GuardedTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 over public addresses with verified TLS; at most `MAX_IDLE_CONNECTIONS` idle connections stay open.

    Requests go through `proxy`, the URL of an HTTP proxy, if there is one. It resolves the names, so that addresses are
    then checked only where they stand in the URL; requests to such a private address do not go through the proxy.

    The number of connections in use is not limited: callers send one request per host at a time. httpcore's connections
    are used without its pool, in which a request took three times as long, and which loses connections if a request is
    cancelled while it waits for a lock.
    """

    def __init__(self, *, allow_private: bool, concurrency: int, proxy: str = "") -> None:
        for name in ("httpx", "httpcore"):  # at DEBUG they print headers, and so the tokens in them
            logging.getLogger(name).setLevel(logging.WARNING)
        self._backend = GuardedBackend(allow_private=allow_private, lookups=concurrency)
        self._concurrency = concurrency
        self._proxy = proxy
        self._idle: dict[str, httpcore.AsyncConnectionInterface] = {}
        """By origin."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send `request`. Raise a `FetchError` of the guard or an `httpx.TransportError`.

        Nothing was sent to the server after a `ConnectError`, a `ConnectTimeout` or a `ProxyError`.
        """
        url = request.url
        assert isinstance(request.stream, httpx.AsyncByteStream)
        core_request = httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port or PORTS[url.scheme], target=url.raw_path
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _translated_errors():
            response, connection = await self._exchange(core_request)
        body = _Body(response, self, str(core_request.url.origin), connection)
        return httpx.Response(response.status, headers=response.headers, stream=body)

    async def aclose(self) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.popitem()[1].aclose()

    async def release(self, origin: str, connection: httpcore.AsyncConnectionInterface) -> None:
        """Store a connection for the next request to its origin; close the oldest one beyond the limit."""
        # Popped first, so that the new connection goes to the end: dicts keep the order of insertion.
        spare = self._idle.pop(origin, None)
        self._idle[origin] = connection
        if spare is None and len(self._idle) > MAX_IDLE_CONNECTIONS:
            # The first of the dict is the one that has been idle longest.
            spare = self._idle.pop(next(iter(self._idle)))
        if spare is not None:
            await spare.aclose()

    async def _exchange(self, request: httpcore.Request) -> tuple[httpcore.Response, httpcore.AsyncConnectionInterface]:
        """Send a request over an idle connection or a new one."""
        origin = request.url.origin
        # A server may close an idle connection just as it is reused, and the client cannot tell whether the request was
        # processed. Only a GET can be repeated safely (RFC 9110, 9.2.2); other methods get a new connection.
        idle = self._idle.pop(str(origin), None) if request.method == b"GET" else None
        if idle is not None and not idle.has_expired():
            with suppress(httpcore.NetworkError, httpcore.RemoteProtocolError):
                return await _send(request, idle), idle
        elif idle is not None:
            await idle.aclose()
        fresh = self._create_connection(origin)
        return await _send(request, fresh), fresh

    def _create_connection(self, origin: httpcore.Origin) -> httpcore.AsyncConnectionInterface:
        """Return a connection that is opened by its first request."""
        if self._proxy and not is_local_host(origin.host.decode("ascii")):
            return self._proxied_connections.create_connection(origin)
        return httpcore.AsyncHTTPConnection(
            origin,
            ssl_context=tls_context() if origin.scheme == b"https" else None,
            keepalive_expiry=KEEPALIVE_SECONDS,
            network_backend=self._backend,
        )

    @cached_property
    def _proxied_connections(self) -> httpcore.AsyncConnectionPool:
        """A pool that only makes connections: httpcore's forwarding and tunnelling ones."""
        try:
            url = httpx.URL(self._proxy)
        except httpx.InvalidURL:
            # Of those above: nothing was sent. Without the text, which may repeat a password.
            raise httpx.ProxyError("the address of the proxy is not valid") from None
        return httpcore.AsyncConnectionPool(
            ssl_context=tls_context(),
            proxy=httpcore.Proxy(
                httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port or PORTS[url.scheme], target=b"/"),
                auth=(url.username, url.password) if url.userinfo else None,
                ssl_context=tls_context() if url.scheme == "https" else None,
            ),
            keepalive_expiry=KEEPALIVE_SECONDS,
            network_backend=_ProxyBackend(allow_private=True, lookups=self._concurrency),
        )


class _ProxyBackend(GuardedBackend):
    """Connects to the configured proxy, which may have a private address."""

    async def connect_tcp(self, host: str, port: int, *args: object, **options: object) -> httpcore.AsyncNetworkStream:
        try:
            return await super().connect_tcp(host, port, *args, **options)  # type: ignore[arg-type]
        except (httpcore.ConnectError, httpcore.ConnectTimeout, UnreachableError) as error:
            raise httpcore.ProxyError(f"there is no connection to {host}:{port}") from error


async def _send(request: httpcore.Request, connection: httpcore.AsyncConnectionInterface) -> httpcore.Response:
    try:
        return await connection.handle_async_request(request)
    except BaseException:  # httpcore does not close it if cancelled in its first step
        await connection.aclose()
        raise


class _Body(httpx.AsyncByteStream):
    """The body of a response. When closed, its connection is reused if the body was read to the end."""

    def __init__(
        self,
        response: httpcore.Response,
        transport: GuardedTransport,
        origin: str,
        connection: httpcore.AsyncConnectionInterface,
    ) -> None:
        self._response = response
        self._transport = transport
        self._origin = origin
        self._connection = connection

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._response.stream, AsyncIterable)
        with _translated_errors():
            async for chunk in self._response.stream:
                yield chunk

    async def aclose(self) -> None:
        try:
            await self._response.aclose()
        except BaseException:  # as above
            await self._connection.aclose()
            raise
        # False if the body was not read to the end: the rest would be taken for the next response.
        if self._connection.is_idle():
            await self._transport.release(self._origin, self._connection)


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Raise httpcore's errors as httpx's, as httpx's own transport does."""
    try:
        yield
    except tuple(_HTTPX_ERRORS) as error:
        httpx_error = next(target for source, target in _HTTPX_ERRORS.items() if isinstance(error, source))
        raise httpx_error(str(error)) from error


@cache
def tls_context() -> ssl.SSLContext:
    """Return a TLS context that verifies certificates and host names.

    The certificate authorities are those of SSL_CERT_FILE and SSL_CERT_DIR, else the system's. Cached: loading them
    takes 25 ms.
    """
    if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR") or _openssl_finds_store():
        # truststore would load the same files again for every connection (sethmlarson/truststore#212).
        return ssl.create_default_context()
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # As pip does it: a container may have no certificate authorities at all.
    context.load_verify_locations(certifi.where())
    return context


def _openssl_finds_store() -> bool:
    """Return True if OpenSSL's default locations hold the system's certificates; on macOS they are in the keychain."""
    paths = ssl.get_default_verify_paths()  # None for a location that does not exist
    has_certificates = bool(paths.cafile) or (bool(paths.capath) and any(Path(paths.capath).iterdir()))
    return sys.platform == "linux" and has_certificates
