"""Network streams on asyncio's sockets.

httpcore uses anyio, whose import takes longer than a dozen requests and which opens a cancel scope for every read and
write.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpcore

T = TypeVar("T")
READ_SIZE = 64 * 1024
"""Bytes per read below TLS."""


async def connect(address: str, port: int) -> "Stream":
    """Connect to the IP address `address`. Raise `httpcore.ConnectError`."""
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.settimeout(0)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with _translate_errors(httpcore.ConnectError):
            await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except BaseException:
        sock.close()
        raise
    return Stream(sock)


class Stream(httpcore.AsyncNetworkStream):
    """A connected socket. The caller enforces deadlines; httpcore's timeouts are ignored."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._loop = asyncio.get_running_loop()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's
        """Return received bytes, `b""` at the end. Raise `httpcore.ReadError`."""
        # Data that is already there is returned without waiting: a fast server would otherwise block the loop.
        await asyncio.sleep(0)
        with _translate_errors(httpcore.ReadError):
            return await self._loop.sock_recv(self._socket, max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's
        """Send all of `buffer`. Raise `httpcore.WriteError`."""
        with _translate_errors(httpcore.WriteError):
            await self._loop.sock_sendall(self._socket, buffer)

    async def aclose(self) -> None:
        """Close the socket."""
        self._socket.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's
    ) -> "TlsStream":
        """Return the same connection with TLS. Raise `httpcore.ConnectError`."""
        encrypted = TlsStream(self, ssl_context, server_hostname)
        with _translate_errors(httpcore.ConnectError):
            await encrypted.do_handshake()
        return encrypted

    def get_extra_info(self, info: str) -> Any:
        """Support `is_readable`: on an idle connection, readable means that the server closed it."""
        if info != "is_readable":
            return None
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True


class TlsStream(httpcore.AsyncNetworkStream):
    """TLS over another stream."""

    def __init__(self, below: Stream, context: ssl.SSLContext, host: str | None) -> None:
        self._below = below
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    async def do_handshake(self) -> None:
        """Do the TLS handshake and verify the certificate. Raise `ssl.SSLError`."""
        await self._drive_tls(self._tls.do_handshake)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's
        """Return received bytes, `b""` at the end. Raise `httpcore.ReadError`."""
        with _translate_errors(httpcore.ReadError):
            try:
                return await self._drive_tls(lambda: self._tls.read(max_bytes))
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                # Many servers close without a TLS close notification. HTTP itself tells whether the body is complete.
                return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's
        """Send all of `buffer`. Raise `httpcore.WriteError`."""
        with _translate_errors(httpcore.WriteError):
            await self._drive_tls(lambda: self._tls.write(buffer))

    async def aclose(self) -> None:
        """Close the socket without a TLS close notification."""
        await self._below.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._below.get_extra_info(info)

    async def _drive_tls(self, step: Callable[[], T]) -> T:
        """Run `step` until it succeeds, reading and sending the TLS records that it needs in between."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                pass
            finally:
                await self._send()
            data = await self._below.read(READ_SIZE)
            if data:
                self._incoming.write(data)
            else:
                self._incoming.write_eof()

    async def _send(self) -> None:
        if waiting := self._outgoing.read():
            await self._below.write(waiting)


@contextmanager
def _translate_errors(error_class: type[Exception]) -> Iterator[None]:
    """Raise OS errors as `error_class`."""
    try:
        yield
    except OSError as error:
        raise error_class(str(error)) from error
