"""The bytes of a connection, as servers of every kind send them."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpcore
import pytest

from certificates import certificate_in
from copydesk.network import stream


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


async def connected(listening: socket.socket) -> tuple[stream.Stream, socket.socket]:
    """Both ends of a connection."""
    ours = await stream.connect(*listening.getsockname())
    return ours, listening.accept()[0]


async def test_what_is_sent_comes_and_then_the_end(listening: socket.socket) -> None:
    ours, theirs = await connected(listening)
    with theirs:
        await ours.write(b"question")
        assert theirs.recv(100) == b"question"
        theirs.sendall(b"answer")
    assert [await ours.read(3), await ours.read(100), await ours.read(100)] == [b"ans", b"wer", b""]
    await ours.aclose()


async def test_an_idle_connection_is_readable_once_the_other_side_has_closed_it(listening: socket.socket) -> None:
    ours, theirs = await connected(listening)
    assert not ours.get_extra_info("is_readable")
    theirs.close()
    assert ours.get_extra_info("is_readable")
    await ours.aclose()
    assert ours.get_extra_info("is_readable")


async def test_a_port_where_nobody_listens_refuses(listening: socket.socket) -> None:
    address = listening.getsockname()
    listening.close()
    with pytest.raises(httpcore.ConnectError) as refused:
        await stream.connect(*address)
    assert isinstance(refused.value.__cause__, ConnectionRefusedError)


async def test_a_connection_that_is_reset_is_a_read_error(listening: socket.socket) -> None:
    ours, theirs = await connected(listening)
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    theirs.close()
    with pytest.raises(httpcore.ReadError):
        await ours.read(100)
    await ours.aclose()


async def test_others_get_a_turn_before_each_read_also_where_something_is_there_already(
    listening: socket.socket,
) -> None:
    """A server that is quicker than its reader would be read for ever, and no deadline would ever come."""
    ours, theirs = await connected(listening)
    turns: list[int] = []
    with theirs:
        theirs.sendall(b"xxx")
        for number in range(3):
            asyncio.get_running_loop().call_soon(turns.append, number)
            await ours.read(1)
            assert turns == list(range(number + 1))
    await ours.aclose()


# Encrypted.


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate_in(tmp_path_factory.mktemp("tls"))


def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate)


@asynccontextmanager
async def encrypted(
    listening: socket.socket, certificate: Path
) -> AsyncIterator[tuple[httpcore.AsyncNetworkStream, ssl.SSLSocket]]:
    """Both ends of an encrypted connection."""
    below, theirs = await connected(listening)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    greeting = asyncio.to_thread(serving.wrap_socket, theirs, server_side=True)
    ours, other = await asyncio.gather(below.start_tls(trusting(certificate), "127.0.0.1"), greeting)
    with other:
        yield ours, other
    await ours.aclose()


@pytest.mark.parametrize("says_so", [True, False])
async def test_an_encrypted_answer_ends_whether_the_other_side_says_so_or_only_closes(
    listening: socket.socket, certificate: Path, *, says_so: bool
) -> None:
    async with encrypted(listening, certificate) as (ours, theirs):
        await ours.write(b"question")
        assert theirs.recv(100) == b"question"
        theirs.sendall(b"answer")
        if says_so:
            theirs.setblocking(False)
            with pytest.raises(ssl.SSLWantReadError):  # it waits for our goodbye, which never comes
                theirs.unwrap()
        theirs.close()
        assert [await ours.read(3), await ours.read(100), await ours.read(100)] == [b"ans", b"wer", b""]


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x03", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
async def test_a_handshake_that_the_other_side_does_not_end_is_no_connection(
    listening: socket.socket, certificate: Path, said: bytes
) -> None:
    below, theirs = await connected(listening)
    with theirs:
        theirs.sendall(said)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(httpcore.ConnectError) as refused:
            await below.start_tls(trusting(certificate), "127.0.0.1")
        assert isinstance(refused.value.__cause__, ssl.SSLError)
    await below.aclose()


async def test_a_handshake_that_is_cancelled_leaves_a_connection_that_can_be_closed(
    listening: socket.socket, certificate: Path
) -> None:
    below, theirs = await connected(listening)
    shaking = asyncio.create_task(below.start_tls(trusting(certificate), "127.0.0.1"))
    with theirs:
        hello = await asyncio.to_thread(theirs.recv, 65_536)
        shaking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await shaking
        await below.aclose()
        assert hello.startswith(b"\x16")
        assert await asyncio.to_thread(theirs.recv, 65_536) == b""


async def test_a_read_that_is_cancelled_loses_nothing(listening: socket.socket, certificate: Path) -> None:
    async with encrypted(listening, certificate) as (ours, theirs):
        reading = asyncio.create_task(ours.read(100))
        for _ in range(20):
            await asyncio.sleep(0)  # it reads what comes behind the handshake, and waits
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        theirs.sendall(b"answer")
        assert await ours.read(100) == b"answer"


async def test_a_write_that_is_cancelled_is_never_whole(listening: socket.socket, certificate: Path) -> None:
    async with encrypted(listening, certificate) as (ours, theirs):
        writing = asyncio.create_task(ours.write(b"x" * 32_000_000))
        came = len(await asyncio.to_thread(theirs.recv, 1000))
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        await ours.aclose()
        while more := await asyncio.to_thread(theirs.recv, 65_536):
            came += len(more)
        assert 0 < came < 32_000_000
