"""The bytes of a connection, as servers of every kind send them."""

import asyncio
import socket
from collections.abc import Iterator

import httpcore
import pytest

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
