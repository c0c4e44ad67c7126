"""The bytes of a connection, as servers of every kind send them."""

import asyncio
import socket
from collections.abc import Iterator

import httpcore
import pytest

from copydesk.errors import TooSlowError
from copydesk.network import stream
from fetching import ANY, client


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


async def test_a_server_that_sends_without_a_pause_does_not_keep_the_deadline_from_coming() -> None:
    """An answer that is always there already would be read for ever, and nothing else got its turn."""

    class Endless(stream.Stream):
        async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
            await super().read(max_bytes)
            return b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing():
            writer.write(b"x" * 2**20)
            await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "Stream", Endless)
        async with client(timeout=0.2) as fetcher:
            with pytest.raises(TooSlowError):
                await fetcher.get(f"http://127.0.0.1:{port}/", accept=ANY)
    server.close()
