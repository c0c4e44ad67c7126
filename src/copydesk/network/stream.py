"""A connection's bytes, on sockets of asyncio's own.

httpcore's way to the network is anyio: importing that takes longer than a dozen requests, and each read and write of it
opens and closes scopes that nobody asked for.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpcore

T = TypeVar("T")
AT_ONCE = 64 * 1024
"""Bytes of one read below TLS."""


async def connect(address: str, port: int) -> "Stream":
    """A connection to `address`, which is no name. Raises httpcore.ConnectError."""
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.settimeout(0)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with _told_as(httpcore.ConnectError):
            await asyncio.get_running_loop().sock_connect(made, (address, port))
    except BaseException:
        made.close()
        raise
    return Stream(made)


class Stream(httpcore.AsyncNetworkStream):
    """A connected socket. Deadlines are the caller's: the timeouts that httpcore hands on are not looked at."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._loop = asyncio.get_running_loop()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's
        """What came, `b""` at the end. Raises httpcore.ReadError."""
        # What is there already comes at once: a server that is quicker than we are would keep the loop to itself.
        await asyncio.sleep(0)
        with _told_as(httpcore.ReadError):
            return await self._loop.sock_recv(self._socket, max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's
        """Send all of `buffer`. Raises httpcore.WriteError."""
        with _told_as(httpcore.WriteError):
            await self._loop.sock_sendall(self._socket, buffer)

    async def aclose(self) -> None:
        """Close it, without a word to the other side."""
        self._socket.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's
    ) -> "Encrypted":
        """The same connection, encrypted from here on. Raises httpcore.ConnectError."""
        encrypted = Encrypted(self, ssl_context, server_hostname)
        with _told_as(httpcore.ConnectError):
            await encrypted.shake_hands()
        return encrypted

    def get_extra_info(self, info: str) -> Any:
        """`is_readable`: whether there is something to read, which on an idle connection is its end."""
        if info != "is_readable":
            return None
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True


class Encrypted(httpcore.AsyncNetworkStream):
    """TLS over another stream."""

    def __init__(self, below: Stream, context: ssl.SSLContext, host: str | None) -> None:
        self._below = below
        self._came, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._came, self._to_send, server_hostname=host)

    async def shake_hands(self) -> None:
        """Agree on the keys, and check the certificate. Raises ssl.SSLError."""
        await self._carry_out(self._tls.do_handshake)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's
        """What came, `b""` at the end. Raises httpcore.ReadError."""
        with _told_as(httpcore.ReadError):
            try:
                return await self._carry_out(lambda: self._tls.read(max_bytes))
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                # Many servers end without saying so in TLS. Whether the answer is whole is for HTTP to tell.
                return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's
        """Send all of `buffer`. Raises httpcore.WriteError."""
        with _told_as(httpcore.WriteError):
            await self._carry_out(lambda: self._tls.write(buffer))

    async def aclose(self) -> None:
        """Close it, without a word to the other side."""
        await self._below.aclose()

    def get_extra_info(self, info: str) -> Any:
        """As below."""
        return self._below.get_extra_info(info)

    async def _carry_out(self, step: Callable[[], T]) -> T:
        """What `step` returns; until it can, what it waits for is read, and what it has to say is sent."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                pass
            finally:
                await self._send()
            data = await self._below.read(AT_ONCE)
            if data:
                self._came.write(data)
            else:
                self._came.write_eof()

    async def _send(self) -> None:
        if waiting := self._to_send.read():
            await self._below.write(waiting)


@contextmanager
def _told_as(kind: type[Exception]) -> Iterator[None]:
    """Raise what the system says as httpcore's error of this kind."""
    try:
        yield
    except OSError as error:
        raise kind(str(error)) from error
