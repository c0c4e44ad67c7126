"""Connects to public addresses only, and to the very address that was checked.

A name is resolved once, each of its addresses is checked, and the connection goes to one that passed: between check and
connection there is no second look-up that could answer differently (DNS rebinding).
"""

import asyncio
import socket
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from ipaddress import ip_address
from threading import Thread

import httpcore

from copydesk.errors import RefusedAddressError, UnreachableError
from copydesk.network import stream
from copydesk.network.public import is_public
from copydesk.network.stream import Stream

SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]

HEAD_START = 0.25
"""Seconds until the next address of a host is tried beside the one before (RFC 8305, section 8)."""
MAX_ADDRESSES = 6
"""Of one host; a name with hundreds of addresses must not become hundreds of connections."""


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Resolves, refuses what is not public unless `allow_private`, and connects to the address it checked.

    `lookups` is how many names are resolved at once; each takes a thread for as long as the resolver does.
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
        """Connect to `host`; raises UnreachableError, RefusedAddressError, or what httpcore raises."""
        allowed = self._allowed(host, await self._addresses(host, port))
        if len(allowed) == 1:
            return await stream.connect(allowed[0], port)
        return await _first(allowed, port)

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> list[str]:
        """The addresses of `host`, each once, in the order in which they should be tried."""
        if _is_address(host):
            return [host]
        try:
            found = await self._look_up(host, port)
        except (socket.gaierror, UnicodeError):
            raise UnreachableError(
                f"There is no address for the name {host}.",
                hint="Check the address, and the connection to the internet.",
            ) from None
        return list(dict.fromkeys(found))

    async def _look_up(self, host: str, port: int) -> list[str]:
        """Ask the resolver, in a thread that nobody waits for once the answer is no longer wanted.

        An executor's threads would be waited for when the program ends, and a resolver may take its time.
        """
        await self._lookups.acquire()
        loop = asyncio.get_running_loop()
        found: Future[list[str]] = Future()
        found.set_running_or_notify_cancel()

        def work() -> None:
            try:
                found.set_result(_look_up(host, port))
            except Exception as error:  # it is raised where the answer is awaited
                found.set_exception(error)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._lookups.release)

        answer = asyncio.wrap_future(found)
        Thread(target=work, name="copydesk-dns", daemon=True).start()
        return await answer

    def _allowed(self, host: str, addresses: Sequence[str]) -> list[str]:
        allowed = [address for address in addresses if self._allow_private or is_public(address)]
        if not allowed:
            where = addresses[0] if addresses else "no address"
            name = host if host == where else f"{host} ({where})"
            raise RefusedAddressError(
                f"{name} is not a public address.",
                hint="To reach what is on this machine or the local network, set network.allow_private"
                " (COPYDESK_NETWORK__ALLOW_PRIVATE=true).",
            )
        return allowed[:MAX_ADDRESSES]


def _look_up(host: str, port: int) -> list[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


async def _first(addresses: Sequence[str], port: int) -> Stream:
    """The first connection that comes about; each address gets a head start before the next is tried beside it."""
    attempts = set[asyncio.Task[Stream]]()
    try:
        first = await _race(addresses, port, attempts)
        await _give_up(attempts - {first})
    except BaseException:
        await _give_up(attempts)
        raise
    return first.result()


async def _race(addresses: Sequence[str], port: int, attempts: set[asyncio.Task[Stream]]) -> asyncio.Task[Stream]:
    """The attempt that succeeds first; all of them stand in `attempts`."""
    failures: list[BaseException] = []
    waiting, running = list(reversed(addresses)), set[asyncio.Task[Stream]]()
    while waiting or running:
        if waiting:
            running.add(asyncio.create_task(stream.connect(waiting.pop(), port)))
            attempts |= running
        patience = HEAD_START if waiting else None
        done, running = await asyncio.wait(running, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        for attempt in done:
            error = attempt.exception()
            if error is None:
                return attempt
            failures.append(error)
    raise failures[0]


async def _give_up(attempts: Collection[asyncio.Task[Stream]]) -> None:
    """End the attempts, and close what connections came about, also where this is cancelled meanwhile."""
    for attempt in attempts:
        attempt.cancel()
    try:
        if attempts:
            await asyncio.wait(attempts)
    finally:
        for attempt in attempts:
            if attempt.done() and not attempt.cancelled() and attempt.exception() is None:
                await attempt.result().aclose()
