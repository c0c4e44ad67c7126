"""Tests for the address guard: only public addresses are connected to, in any notation."""

import asyncio
import errno
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from ipaddress import ip_address

import httpcore
import pytest
from aiohappyeyeballs import AddrInfoType
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import PrivateAddressError, UnreachableError
from copydesk.network import guard
from copydesk.network.addresses import is_local_host, is_public
from copydesk.network.guard import GuardedBackend
from feed_server import FeedServer

PUBLIC = [
    "1.1.1.1",
    "93.184.215.14",
    "9.255.255.255",
    "11.0.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450:4001:80f::200e",
    "::ffff:1.1.1.1",
    "64:ff9b::1.1.1.1",  # NAT64: how an IPv6-only network reaches IPv4
    "2002:101:101::1",
]
NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.8.8.8",
    "169.254.169.254",  # metadata service of a cloud machine
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::10.0.0.1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:c0a8:101::1",
    "3fff::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "",
    "localhost",
    "example.org",
    "2130706433",
    "0x7f.1",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_address_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_non_public_address_is_refused(address: str) -> None:
    assert is_public(address) is False


@given(st.ip_addresses(v=4))
def test_embedded_ipv4_decides_for_ipv6_form(address: object) -> None:
    assert is_public(f"::ffff:{address}") == is_public(f"64:ff9b::{address}") == is_public(str(address))


@given(st.ip_addresses())
def test_addresses_private_to_python_are_refused(address: object) -> None:
    ip = ip_address(str(address))
    private = ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified
    if private or (ip.version == 4 and ip.is_private):
        assert not is_public(str(ip))


@pytest.fixture
def backend() -> GuardedBackend:
    return GuardedBackend()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "0",
        "::1",
        "::ffff:7f00:1",
    ],
)
async def test_all_names_of_localhost_are_refused(backend: GuardedBackend, host: str) -> None:
    with pytest.raises(PrivateAddressError) as refused:
        await backend.connect_tcp(host, 80)
    assert host in refused.value.message
    assert "network.allow_private" in refused.value.hint
    assert "COPYDESK_NETWORK__ALLOW_PRIVATE=true" in refused.value.hint


def fake_resolver(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Resolve every name to these addresses; return the list of names that are looked up."""
    lookups: list[str] = []

    def getaddrinfo(host: str, port: int, **kwargs: object) -> Sequence[tuple[object, ...]]:
        lookups.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return lookups


class FakeNetwork:
    """Connects every address to a server of this machine, except those that are `dead` or do not `respond`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, server: socket.socket) -> None:
        self.tried: list[str] = []
        self.sockets: list[socket.socket] = []
        self.dead: Sequence[str] = ()
        self.silent: Sequence[str] = ()
        self.barrier: asyncio.Barrier | None = None
        self._server = server.getsockname()
        loop = asyncio.get_running_loop()
        self._connect = loop.sock_connect
        monkeypatch.setattr(loop, "sock_connect", self.connect)

    async def connect(self, sock: socket.socket, address: tuple[str, int]) -> None:
        self.tried.append(address[0])
        self.sockets.append(sock)
        if address[0] in self.dead:
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"{address[0]} is dead")
        if address[0] in self.silent:
            await asyncio.Event().wait()
        await self._connect(sock, self._server)
        if self.barrier:
            await self.barrier.wait()


@pytest.fixture
async def network(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeNetwork]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield FakeNetwork(monkeypatch, server)


async def connect(backend: GuardedBackend, host: str, **options: float) -> None:
    """Connect and close."""
    stream = await backend.connect_tcp(host, 80, **options)
    await stream.aclose()


async def test_checked_address_is_connected_to(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend, network: FakeNetwork
) -> None:
    """A second look-up could return another address (DNS rebinding)."""
    lookups = fake_resolver(monkeypatch, "93.184.215.14")
    await connect(backend, "rebinding.example")
    assert (lookups, network.tried) == (["rebinding.example"], ["93.184.215.14"])


async def test_private_addresses_among_public_are_skipped(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend, network: FakeNetwork
) -> None:
    fake_resolver(monkeypatch, "10.0.0.1", "93.184.215.14")
    await connect(backend, "mixed.example")
    assert network.tried == ["93.184.215.14"]


async def test_error_names_host_and_address(monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend) -> None:
    fake_resolver(monkeypatch, "169.254.169.254")
    with pytest.raises(PrivateAddressError, match=r"metadata\.example \(169\.254\.169\.254\)"):
        await backend.connect_tcp("metadata.example", 80)


async def test_next_address_is_tried_after_failure(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend, network: FakeNetwork
) -> None:
    fake_resolver(monkeypatch, "1.1.1.1", "1.0.0.1")
    network.dead = ["1.1.1.1"]
    await connect(backend, "two.example")
    assert network.tried == ["1.1.1.1", "1.0.0.1"]


async def test_first_failure_is_raised_when_all_fail(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend, network: FakeNetwork
) -> None:
    fake_resolver(monkeypatch, "1.1.1.1", "1.0.0.1")
    network.dead = ["1.1.1.1", "1.0.0.1"]
    with pytest.raises(httpcore.ConnectError, match=r"1\.1\.1\.1 is dead"):
        await backend.connect_tcp("two.example", 80)


async def test_unresponsive_address_gets_short_head_start(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend, network: FakeNetwork
) -> None:
    monkeypatch.setattr(guard, "HEAD_START", 0.02)
    fake_resolver(monkeypatch, "1.1.1.1", "1.0.0.1")
    network.silent = ["1.1.1.1"]
    await asyncio.wait_for(connect(backend, "half-dead.example"), 60)
    assert network.tried == ["1.1.1.1", "1.0.0.1"]
    assert network.sockets[0].fileno() == -1  # the attempt that lost is given up


async def test_losing_connection_is_closed(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend, network: FakeNetwork
) -> None:
    monkeypatch.setattr(guard, "HEAD_START", 0.001)
    fake_resolver(monkeypatch, "1.1.1.1", "1.0.0.1")
    network.barrier = asyncio.Barrier(2)
    winner = await backend.connect_tcp("twice.example", 80)
    assert [sock.fileno() == -1 for sock in network.sockets].count(True) == 1
    assert not winner.get_extra_info("is_readable")
    await winner.aclose()


@pytest.mark.parametrize("steps", range(12))
async def test_cancelled_connect_closes_its_sockets(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend, network: FakeNetwork, steps: int
) -> None:
    monkeypatch.setattr(guard, "HEAD_START", 0.001)
    monkeypatch.setattr(backend, "_resolve_host", resolve_at_once)
    network.silent = ["1.1.1.1"]
    connecting = asyncio.create_task(backend.connect_tcp("slow.example", 80))
    for _ in range(steps):
        await asyncio.sleep(0)
    connecting.cancel()
    (result,) = await asyncio.gather(connecting, return_exceptions=True)
    if not isinstance(result, BaseException):  # it was faster
        await result.aclose()
    for _ in range(3):  # asyncio closes a transport's socket in the next step
        await asyncio.sleep(0)
    assert [sock.fileno() for sock in network.sockets] == [-1] * len(network.sockets)


async def resolve_at_once(host: str, port: int) -> list[AddrInfoType]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("1.1.1.1", "1.0.0.1")]


async def test_connecting_has_a_deadline(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend, network: FakeNetwork
) -> None:
    fake_resolver(monkeypatch, "1.1.1.1")
    network.silent = ["1.1.1.1"]
    with pytest.raises(httpcore.ConnectTimeout):
        await connect(backend, "silent.example", timeout=0.01)


async def test_at_most_six_addresses_are_tried(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend, network: FakeNetwork
) -> None:
    addresses = [f"1.1.{n}.1" for n in range(200)]
    fake_resolver(monkeypatch, *addresses)
    network.dead = addresses
    with pytest.raises(httpcore.ConnectError):
        await connect(backend, "many.example")
    assert network.tried == addresses[:6]


@pytest.mark.parametrize("host", ["no-such-name.invalid", "a" * 70 + ".example", "a..b"])
async def test_unknown_name_is_unreachable(monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend, host: str) -> None:
    real = socket.getaddrinfo

    def getaddrinfo(name: str, port: int, **kwargs: object) -> object:
        if name.endswith(".invalid"):  # tests never query a real resolver
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(name, port, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with pytest.raises(UnreachableError, match="Cannot find the server "):
        await backend.connect_tcp(host, 80)


SLOW_RESOLVER = """
import asyncio, contextlib, socket, time
from copydesk.network.guard import GuardedBackend
socket.getaddrinfo = lambda *args, **kwargs: time.sleep(600)
async def main():
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.05):
            await GuardedBackend().connect_tcp("slow.example", 80)
asyncio.run(main())
"""


def test_hanging_resolver_does_not_block_exit() -> None:
    """The error was displayed after a second, but the command ended only when the resolver gave up."""
    subprocess.run([sys.executable, "-c", SLOW_RESOLVER], check=True, timeout=60)


async def test_abandoned_lookups_hold_their_slot(monkeypatch: pytest.MonkeyPatch, network: FakeNetwork) -> None:
    """A thread in `getaddrinfo` cannot be cancelled, so it occupies its slot until it returns."""
    backend, release, started = GuardedBackend(lookups=1), threading.Event(), []

    def getaddrinfo(host: str, port: int, **kwargs: object) -> Sequence[tuple[object, ...]]:
        started.append(host)
        release.wait(60)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("1.1.1.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    first = asyncio.create_task(backend.connect_tcp("one.example", 80))
    async with asyncio.timeout(60):
        while not started:  # noqa: ASYNC110 - it starts in another thread
            await asyncio.sleep(0.005)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(backend.connect_tcp("two.example", 80), 0.05)
    assert started == ["one.example"]
    release.set()
    await connect(backend, "three.example")
    assert started == ["one.example", "three.example"]


async def test_lookup_without_thread_frees_its_slot(monkeypatch: pytest.MonkeyPatch, network: FakeNetwork) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    backend = GuardedBackend(lookups=1)
    fake_resolver(monkeypatch, "1.1.1.1")
    with monkeypatch.context() as limit:
        limit.setattr(guard.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            await backend.connect_tcp("one.example", 80)
    async with asyncio.timeout(10):
        await connect(backend, "two.example")


async def test_private_addresses_are_allowed_by_setting() -> None:
    backend = GuardedBackend(allow_private=True)
    with FeedServer() as server:
        stream = await backend.connect_tcp("localhost", server.port)
        await stream.aclose()


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "::1", "10.0.0.1", "0x7f.1", "2130706433", "127.1"]
)
def test_local_host_is_recognized_without_lookup(host: str) -> None:
    assert is_local_host(host)


@pytest.mark.parametrize("host", ["example.org", "1.1.1.1", "2606:4700::1111", "localhost.example", "16843009"])
def test_public_host_is_not_local(host: str) -> None:
    assert not is_local_host(host)
