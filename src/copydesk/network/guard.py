"""Connect to public addresses only, and to the very address that was checked.

A name is resolved once, each of its addresses is checked, and the connection goes to one that passed. There is no
second lookup after the check that could return another address (DNS rebinding).
"""

import asyncio
import socket
import ssl
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread

import anyio.abc
import httpcore
from aiohappyeyeballs import AddrInfoType, start_connection
from httpcore._backends.anyio import AnyIOStream

from copydesk.errors import PrivateAddressError, UnreachableError
from copydesk.network.addresses import is_address, is_public

SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]

HEAD_START = 0.25
"""Seconds before the next address of a host is tried concurrently (RFC 8305, section 8)."""
MAX_ADDRESSES = 6
"""Addresses tried per host: a name with hundreds of addresses must not cause hundreds of connections."""


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Network backend that refuses addresses which are not public, unless `allow_private`.

    `lookups` is the number of concurrent name lookups; each occupies a thread until the resolver returns.
    """

    def __init__(self, *, allow_private: bool = False, lookups: int = 16) -> None:
        self._allow_private = allow_private
        self._lookups = asyncio.Semaphore(lookups)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to `host` within `timeout` seconds, the lookup included.

        Raise `UnreachableError`, `PrivateAddressError` or an httpcore error.
        """
        try:
            async with asyncio.timeout(timeout):
                addresses = self._check_addresses(host, await self._resolve_host(host, port))
                # aiohappyeyeballs closes the sockets that lose the race.
                connected = await start_connection(addresses, happy_eyeballs_delay=HEAD_START)
                return await _open_stream(connected)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _resolve_host(self, host: str, port: int) -> list[AddrInfoType]:
        """Return the distinct addresses of `host` in the resolver's order of preference."""
        # A literal address needs no resolver, and so no thread.
        if is_address(host):
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))]
        try:
            entries = await self._resolve_in_thread(host, port)
        except (socket.gaierror, UnicodeError):
            raise UnreachableError(
                f"Cannot find the server {host}.",
                hint="Check the address and your internet connection.",
            ) from None
        # Reversed twice: the dict keeps the last entry of an address, which then is the resolver's first.
        return list({entry[4][0]: entry for entry in reversed(entries)}.values())[::-1]

    async def _resolve_in_thread(self, host: str, port: int) -> list[AddrInfoType]:
        """Resolve in a daemon thread, which is abandoned if the result is no longer needed.

        The program would wait for an executor's threads at exit, and a resolver may take long.
        """
        # Released by the thread and not here: an abandoned lookup still occupies its thread.
        await self._lookups.acquire()
        loop = asyncio.get_running_loop()
        result: Future[list[AddrInfoType]] = Future()
        # From here on the future cannot be cancelled, so the thread can always set its result.
        result.set_running_or_notify_cancel()

        def resolve() -> None:
            try:
                result.set_result(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
            except Exception as error:  # raised where the result is awaited
                result.set_exception(error)
            with suppress(RuntimeError):  # the loop is closed already
                loop.call_soon_threadsafe(self._lookups.release)

        waiter = asyncio.wrap_future(result)
        try:
            Thread(target=resolve, name="copydesk-dns", daemon=True).start()
        except RuntimeError:  # too many threads
            self._lookups.release()
            raise
        return await waiter

    def _check_addresses(self, host: str, addresses: Sequence[AddrInfoType]) -> list[AddrInfoType]:
        # A host with public and private addresses is usable by its public ones only.
        allowed = [entry for entry in addresses if self._allow_private or is_public(str(entry[4][0]))]
        if not allowed:
            address = addresses[0][4][0] if addresses else "no address"
            name = host if host == address else f"{host} ({address})"
            raise PrivateAddressError(
                f"{name} is not a public address.",
                hint="To allow this machine and the local network, set network.allow_private"
                " (COPYDESK_NETWORK__ALLOW_PRIVATE=true).",
            )
        # Cut after the check, so that refused addresses do not use up the number.
        return allowed[:MAX_ADDRESSES]


# httpcore does not export this class, and its backend connects to a single name or address only.
class _Stream(AnyIOStream):
    """httpcore's stream, closed if its TLS handshake is cancelled: nobody else could close it then.

    Reads and writes without a timeout do without httpcore's cancel scope for each of them, which takes a twelfth of the
    time of a small request: `exchange` limits the time of the whole.
    """

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> bytes:
        if timeout is not None:
            return await super().read(max_bytes, timeout)
        try:
            return await self._stream.receive(max_bytes)
        except anyio.EndOfStream:
            return b""
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise httpcore.ReadError(str(error)) from error

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> None:
        if timeout is not None:
            await super().write(buffer, timeout)
        elif buffer:
            try:
                await self._stream.send(buffer)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
                raise httpcore.WriteError(str(error)) from error

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        try:
            encrypted = await super().start_tls(ssl_context, server_hostname, timeout)
        except BaseException:
            await self.aclose()
            raise
        assert isinstance(encrypted, AnyIOStream)
        return _Stream(encrypted._stream)  # noqa: SLF001 - httpcore wraps it in its own class


async def _open_stream(connected: socket.socket) -> httpcore.AsyncNetworkStream:
    try:
        return _Stream(await anyio.abc.SocketStream.from_socket(connected))
    except BaseException:
        connected.close()
        raise
