"""Connect to public addresses only, and to the very address that was checked.

A name is resolved once, each of its addresses is checked, and the connection goes to one that passed. There is no
second lookup after the check that could return another address (DNS rebinding).
"""

import asyncio
import socket
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from ipaddress import ip_address
from threading import Thread

import httpcore

from copydesk.errors import PrivateAddressError, UnreachableError
from copydesk.network import stream
from copydesk.network.public_address import is_public
from copydesk.network.stream import Stream

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
        """Connect to `host`. Raise `UnreachableError`, `PrivateAddressError` or an httpcore error."""
        allowed = self._check_addresses(host, await self._resolve_host(host, port))
        if len(allowed) == 1:
            return await stream.connect(allowed[0], port)
        return await _connect_first(allowed, port)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _resolve_host(self, host: str, port: int) -> list[str]:
        """Return the distinct addresses of `host` in the resolver's order of preference."""
        if _is_address(host):
            return [host]
        try:
            addresses = await self._resolve_in_thread(host, port)
        except (socket.gaierror, UnicodeError):
            raise UnreachableError(
                f"There is no address for the name {host}.",
                hint="Check the address, and the connection to the internet.",
            ) from None
        return list(dict.fromkeys(addresses))

    async def _resolve_in_thread(self, host: str, port: int) -> list[str]:
        """Resolve in a daemon thread, which is abandoned if the result is no longer needed.

        The program would wait for an executor's threads at exit, and a resolver may take long.
        """
        await self._lookups.acquire()
        loop = asyncio.get_running_loop()
        result: Future[list[str]] = Future()
        result.set_running_or_notify_cancel()

        def resolve() -> None:
            try:
                result.set_result(_resolve(host, port))
            except Exception as error:  # raised where the result is awaited
                result.set_exception(error)
            with suppress(RuntimeError):  # the loop is closed already
                loop.call_soon_threadsafe(self._lookups.release)

        waiter = asyncio.wrap_future(result)
        Thread(target=resolve, name="copydesk-dns", daemon=True).start()
        return await waiter

    def _check_addresses(self, host: str, addresses: Sequence[str]) -> list[str]:
        allowed = [address for address in addresses if self._allow_private or is_public(address)]
        if not allowed:
            address_text = addresses[0] if addresses else "no address"
            name = host if host == address_text else f"{host} ({address_text})"
            raise PrivateAddressError(
                f"{name} is not a public address.",
                hint="To reach what is on this machine or the local network, set network.allow_private"
                " (COPYDESK_NETWORK__ALLOW_PRIVATE=true).",
            )
        return allowed[:MAX_ADDRESSES]


def _resolve(host: str, port: int) -> list[str]:
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


async def _connect_first(addresses: Sequence[str], port: int) -> Stream:
    """Return the first successful connection. Each address gets a head start before the next is tried concurrently."""
    attempts = set[asyncio.Task[Stream]]()
    try:
        winner = await _race_attempts(addresses, port, attempts)
        await _cancel_attempts(attempts - {winner})
    except BaseException:
        await _cancel_attempts(attempts)
        raise
    return winner.result()


async def _race_attempts(
    addresses: Sequence[str], port: int, attempts: set[asyncio.Task[Stream]]
) -> asyncio.Task[Stream]:
    """Return the first successful attempt; every attempt started is added to `attempts`."""
    failures: list[BaseException] = []
    untried, running = list(reversed(addresses)), set[asyncio.Task[Stream]]()
    while untried or running:
        if untried:
            running.add(asyncio.create_task(stream.connect(untried.pop(), port)))
            attempts |= running
        head_start = HEAD_START if untried else None
        finished, running = await asyncio.wait(running, timeout=head_start, return_when=asyncio.FIRST_COMPLETED)
        for attempt in finished:
            error = attempt.exception()
            if error is None:
                return attempt
            failures.append(error)
    raise failures[0]


async def _cancel_attempts(attempts: Collection[asyncio.Task[Stream]]) -> None:
    """Cancel the attempts and close those that connected, even if this is cancelled itself."""
    for attempt in attempts:
        attempt.cancel()
    try:
        if attempts:
            await asyncio.wait(attempts)
    finally:
        for attempt in attempts:
            if attempt.done() and not attempt.cancelled() and attempt.exception() is None:
                await attempt.result().aclose()
