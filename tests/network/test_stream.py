"""Tests for network streams, plain and encrypted."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import httpcore
import pytest

from certificates import create_certificate
from copydesk.network.guard import GuardedBackend


@pytest.fixture
def server_socket() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


async def connect(host: str, port: int) -> httpcore.AsyncNetworkStream:
    return await GuardedBackend(allow_private=True).connect_tcp(host, port)


async def connect_pair(server_socket: socket.socket) -> tuple[httpcore.AsyncNetworkStream, socket.socket]:
    """Return both ends of a connection."""
    client = await connect(*server_socket.getsockname())
    return client, server_socket.accept()[0]


async def test_data_then_eof_is_read(server_socket: socket.socket) -> None:
    client, peer = await connect_pair(server_socket)
    with peer:
        await client.write(b"question")
        assert peer.recv(100) == b"question"
        peer.sendall(b"answer")
    assert [await client.read(3), await client.read(100), await client.read(100)] == [b"ans", b"wer", b""]
    await client.aclose()


async def test_closed_idle_connection_is_readable(server_socket: socket.socket) -> None:
    client, peer = await connect_pair(server_socket)
    assert not client.get_extra_info("is_readable")
    peer.close()
    assert client.get_extra_info("is_readable")
    await client.aclose()
    assert client.get_extra_info("is_readable")


async def test_refused_connection_raises_connect_error(server_socket: socket.socket) -> None:
    address = server_socket.getsockname()
    server_socket.close()
    with pytest.raises(httpcore.ConnectError) as refused:
        await connect(*address)
    assert isinstance(refused.value.__cause__, ConnectionRefusedError)


async def test_reset_connection_raises_read_error(server_socket: socket.socket) -> None:
    client, peer = await connect_pair(server_socket)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    peer.close()
    with pytest.raises(httpcore.ReadError):
        await client.read(100)
    await client.aclose()


async def test_write_to_reset_connection_raises_write_error(server_socket: socket.socket) -> None:
    client, peer = await connect_pair(server_socket)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()
    with pytest.raises(httpcore.ReadError):
        await client.read(100)
    with pytest.raises(httpcore.WriteError):
        await client.write(b"question")
    await client.aclose()


async def test_closed_stream_raises_read_and_write_errors(server_socket: socket.socket) -> None:
    client, peer = await connect_pair(server_socket)
    with peer:
        await client.aclose()
        with pytest.raises(httpcore.ReadError):
            await client.read(100)
        with pytest.raises(httpcore.WriteError):
            await client.write(b"question")


async def test_timeout_of_read_is_kept(server_socket: socket.socket) -> None:
    client, peer = await connect_pair(server_socket)
    with peer, pytest.raises(httpcore.ReadTimeout):
        await asyncio.wait_for(client.read(100, timeout=0), 5)
    await client.aclose()


async def test_read_yields_to_other_tasks(
    server_socket: socket.socket,
) -> None:
    """Even if data is waiting. A server faster than its reader would be read forever, and no deadline would fire."""
    client, peer = await connect_pair(server_socket)
    calls: list[int] = []
    with peer:
        peer.sendall(b"xxx")
        for number in range(3):
            asyncio.get_running_loop().call_soon(calls.append, number)
            await client.read(1)
            assert calls == list(range(number + 1))
    await client.aclose()


# TLS.


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_certificate(tmp_path_factory.mktemp("tls"))


def client_context(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate)


@asynccontextmanager
async def connect_tls_pair(
    server_socket: socket.socket, certificate: Path
) -> AsyncIterator[tuple[httpcore.AsyncNetworkStream, ssl.SSLSocket]]:
    """Yield both ends of an encrypted connection."""
    plain, peer_socket = await connect_pair(server_socket)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    handshake = asyncio.to_thread(context.wrap_socket, peer_socket, server_side=True)
    client, peer = await asyncio.gather(plain.start_tls(client_context(certificate), "127.0.0.1"), handshake)
    with peer:
        yield client, peer
    await client.aclose()


@pytest.mark.parametrize("close_notify", [True, False])
async def test_tls_eof_with_and_without_close_notify(
    server_socket: socket.socket, certificate: Path, *, close_notify: bool
) -> None:
    async with connect_tls_pair(server_socket, certificate) as (client, peer):
        await client.write(b"question")
        assert peer.recv(100) == b"question"
        peer.sendall(b"answer")
        if close_notify:
            peer.setblocking(False)
            with pytest.raises(ssl.SSLWantReadError):  # waits for our close_notify, which never comes
                peer.unwrap()
        peer.close()
        assert [await client.read(3), await client.read(100), await client.read(100)] == [b"ans", b"wer", b""]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "UNEXPECTED_EOF_WHILE_READING"),
        (b"\x16\x03\x03", "UNEXPECTED_EOF_WHILE_READING"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "WRONG_VERSION_NUMBER"),
    ],
)
async def test_incomplete_handshake_raises_connect_error(
    server_socket: socket.socket, certificate: Path, data: bytes, reason: str
) -> None:
    plain, peer = await connect_pair(server_socket)
    with peer:
        peer.sendall(data)
        peer.shutdown(socket.SHUT_WR)
        with pytest.raises(httpcore.ConnectError) as refused:
            await plain.start_tls(client_context(certificate), "127.0.0.1")
        cause = refused.value.__cause__
        tls_error = cause.__context__ if isinstance(cause, anyio.EndOfStream) else cause
        assert isinstance(tls_error, ssl.SSLError)
        assert tls_error.reason == reason
    await plain.aclose()


async def test_cancelled_handshake_can_be_closed(server_socket: socket.socket, certificate: Path) -> None:
    plain, peer = await connect_pair(server_socket)
    handshake = asyncio.create_task(plain.start_tls(client_context(certificate), "127.0.0.1"))
    with peer:
        hello = await asyncio.to_thread(peer.recv, 65_536)
        handshake.cancel()
        with pytest.raises(asyncio.CancelledError):
            await handshake
        await plain.aclose()
        assert hello.startswith(b"\x16")
        assert await asyncio.to_thread(peer.recv, 65_536) == b""


async def test_cancelled_read_loses_no_data(server_socket: socket.socket, certificate: Path) -> None:
    async with connect_tls_pair(server_socket, certificate) as (client, peer):
        reading = asyncio.create_task(client.read(100))
        for _ in range(20):
            await asyncio.sleep(0)  # let it read what follows the handshake, then wait
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        peer.sendall(b"answer")
        assert await client.read(100) == b"answer"


async def test_cancelled_write_is_never_complete(server_socket: socket.socket, certificate: Path) -> None:
    async with connect_tls_pair(server_socket, certificate) as (client, peer):
        writing = asyncio.create_task(client.write(b"x" * 32_000_000))
        received = len(await asyncio.to_thread(peer.recv, 1000))
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        await client.aclose()
        # Python 3.13 resets the connection where 3.11 ends it.
        with suppress(ConnectionResetError):
            while chunk := await asyncio.to_thread(peer.recv, 65_536):
                received += len(chunk)
        assert 0 < received < 32_000_000
