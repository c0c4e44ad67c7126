"""Only public addresses are connected to, whatever form they come in."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from ipaddress import ip_address

import httpcore
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import RefusedAddressError, UnreachableError
from copydesk.network import guard, stream
from copydesk.network.guard import GuardedBackend
from copydesk.network.public import is_public
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
    "64:ff9b::1.1.1.1",  # how a network with only IPv6 reaches the old internet
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
    "169.254.169.254",  # metadata of the cloud machine that we may run on
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
def test_a_public_address_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_everything_else_is_not(address: str) -> None:
    assert not is_public(address)


@given(st.ip_addresses(v=4))
def test_an_ipv6_form_is_as_public_as_the_ipv4_address_in_it(address: object) -> None:
    assert is_public(f"::ffff:{address}") == is_public(f"64:ff9b::{address}") == is_public(str(address))


@given(st.ip_addresses())
def test_what_python_calls_loopback_private_or_multicast_is_never_public(address: object) -> None:
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
async def test_this_machine_is_refused_by_every_name_it_has(backend: GuardedBackend, host: str) -> None:
    with pytest.raises(RefusedAddressError) as refused:
        await backend.connect_tcp(host, 80)
    assert host in refused.value.message
    assert "network.allow_private" in refused.value.hint
    assert "COPYDESK_NETWORK__ALLOW_PRIVATE=true" in refused.value.hint


def resolving_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Every name has these addresses; returns the names that were looked up."""
    looked_up: list[str] = []

    def getaddrinfo(host: str, port: int, **kwargs: object) -> Sequence[tuple[object, ...]]:
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return looked_up


def connecting(monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend, *, dead: Sequence[str] = ()) -> list[str]:
    """Connections come about at once, but for those to `dead` addresses; returns where they went."""
    went: list[str] = []

    async def connect(host: str, *args: object) -> httpcore.AsyncMockStream:
        went.append(host)
        if host in dead:
            raise httpcore.ConnectError(f"{host} is dead")
        return httpcore.AsyncMockStream([])

    monkeypatch.setattr(stream, "connect", connect)
    return went


async def test_the_checked_address_is_the_one_that_is_connected_to(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend
) -> None:
    looked_up = resolving_to(monkeypatch, "93.184.215.14")
    went = connecting(monkeypatch, backend)
    await backend.connect_tcp("rebinding.example", 80)
    assert (looked_up, went) == (["rebinding.example"], ["93.184.215.14"])


async def test_private_addresses_among_public_ones_are_left_out(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend
) -> None:
    resolving_to(monkeypatch, "10.0.0.1", "93.184.215.14")
    went = connecting(monkeypatch, backend)
    await backend.connect_tcp("mixed.example", 80)
    assert went == ["93.184.215.14"]


async def test_the_error_names_the_host_and_where_it_leads(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend
) -> None:
    resolving_to(monkeypatch, "169.254.169.254")
    with pytest.raises(RefusedAddressError, match=r"metadata\.example \(169\.254\.169\.254\)"):
        await backend.connect_tcp("metadata.example", 80)


async def test_the_next_address_is_tried_when_one_is_dead(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend
) -> None:
    resolving_to(monkeypatch, "1.1.1.1", "1.0.0.1")
    went = connecting(monkeypatch, backend, dead=["1.1.1.1"])
    await backend.connect_tcp("two.example", 80)
    assert went == ["1.1.1.1", "1.0.0.1"]


async def test_when_all_addresses_are_dead_the_first_failure_is_told(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend
) -> None:
    resolving_to(monkeypatch, "1.1.1.1", "1.0.0.1")
    connecting(monkeypatch, backend, dead=["1.1.1.1", "1.0.0.1"])
    with pytest.raises(httpcore.ConnectError, match=r"1\.1\.1\.1 is dead"):
        await backend.connect_tcp("two.example", 80)


async def test_an_address_that_does_not_answer_holds_up_the_next_one_only_for_a_moment(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend
) -> None:
    monkeypatch.setattr(guard, "HEAD_START", 0.02)
    resolving_to(monkeypatch, "1.1.1.1", "1.0.0.1")
    quick = httpcore.AsyncMockStream([])

    async def connect(host: str, *args: object) -> httpcore.AsyncMockStream:
        if host == "1.1.1.1":
            await asyncio.Event().wait()
        return quick

    monkeypatch.setattr(stream, "connect", connect)
    assert await asyncio.wait_for(backend.connect_tcp("half-dead.example", 80), 60) is quick


async def test_of_two_connections_at_once_the_second_is_closed(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend
) -> None:
    monkeypatch.setattr(guard, "HEAD_START", 0.0)
    resolving_to(monkeypatch, "1.1.1.1", "1.0.0.1")
    made: list[httpcore.AsyncMockStream] = []
    both = asyncio.Barrier(2)

    async def connect(host: str, *args: object) -> httpcore.AsyncMockStream:
        await both.wait()
        made.append(httpcore.AsyncMockStream([]))
        return made[-1]

    monkeypatch.setattr(stream, "connect", connect)
    winner = await backend.connect_tcp("twice.example", 80)
    assert [stream._closed for stream in made if stream is not winner] in ([], [True])
    assert not winner._closed


async def test_a_connection_that_nobody_waits_for_any_more_is_closed(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend
) -> None:
    """It came about, and while the other attempt was given up the whole was cancelled."""
    monkeypatch.setattr(guard, "HEAD_START", 0.0)
    resolving_to(monkeypatch, "1.1.1.1", "1.0.0.1")
    made = httpcore.AsyncMockStream([])
    trying, given_up = asyncio.Event(), asyncio.Event()

    async def connect(host: str, *args: object) -> httpcore.AsyncMockStream:
        if host == "1.0.0.1":
            await trying.wait()
            return made
        trying.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()
            await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(stream, "connect", connect)
    connecting = asyncio.create_task(backend.connect_tcp("slow-to-end.example", 80))
    await asyncio.wait_for(given_up.wait(), 60)
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    assert made._closed


async def test_a_name_with_hundreds_of_addresses_gets_six_attempts(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend
) -> None:
    addresses = [f"1.1.{n}.1" for n in range(200)]
    resolving_to(monkeypatch, *addresses)
    went = connecting(monkeypatch, backend, dead=addresses)
    with pytest.raises(httpcore.ConnectError):
        await backend.connect_tcp("many.example", 80)
    assert len(went) == 6


@pytest.mark.parametrize("host", ["no-such-name.invalid", "a" * 70 + ".example", "a..b"])
async def test_a_name_that_nobody_has_is_unreachable(
    monkeypatch: pytest.MonkeyPatch, backend: GuardedBackend, host: str
) -> None:
    real = socket.getaddrinfo

    def getaddrinfo(name: str, port: int, **kwargs: object) -> object:
        if name.endswith(".invalid"):  # no test asks a real resolver
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(name, port, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with pytest.raises(UnreachableError, match="no address for the name"):
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


def test_a_resolver_that_does_not_answer_does_not_keep_the_program_from_ending() -> None:
    """The error stood there after a second, and the command ended when the resolver gave up."""
    subprocess.run([sys.executable, "-c", SLOW_RESOLVER], check=True, timeout=60)


async def test_look_ups_that_were_given_up_keep_their_place_until_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, go_on, began = GuardedBackend(lookups=1), threading.Event(), []

    def getaddrinfo(host: str, port: int, **kwargs: object) -> Sequence[tuple[object, ...]]:
        began.append(host)
        go_on.wait(60)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("1.1.1.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    connecting(monkeypatch, backend)
    first = asyncio.create_task(backend.connect_tcp("one.example", 80))
    async with asyncio.timeout(60):
        while not began:  # noqa: ASYNC110 - it begins in a thread of its own
            await asyncio.sleep(0.005)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(backend.connect_tcp("two.example", 80), 0.05)
    assert began == ["one.example"]
    go_on.set()
    await backend.connect_tcp("three.example", 80)
    assert began == ["one.example", "three.example"]


async def test_private_addresses_are_connected_to_when_the_settings_allow_it() -> None:
    backend = GuardedBackend(allow_private=True)
    with FeedServer() as server:
        stream = await backend.connect_tcp("localhost", server.port)
        await stream.aclose()
