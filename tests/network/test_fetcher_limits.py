"""Tests for the fetcher's limits on time and memory, and for malformed responses."""

import asyncio
import gc
import gzip
import tracemalloc
import zlib
from itertools import pairwise

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import FetchError, FetchTimeoutError, ResponseStatusError, ResponseTooLargeError
from copydesk.network.client import read_body
from feed_server import FeedServer, gzip_bomb, response_head
from fetcher_fixtures import ANY_TYPE, make_fetcher

RSS = b"<rss><channel><title>News</title></channel></rss>" * 100
KIB, MIB = 2**10, 2**20


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", gzip.compress(RSS)),
        ("x-gzip", gzip.compress(RSS)),
        ("GZIP", gzip.compress(RSS)),
        ("deflate", zlib.compress(RSS)),
        ("deflate", raw_deflate(RSS)),
        ("identity", RSS),
        ("gzip", gzip.compress(RSS[:99]) + gzip.compress(RSS[99:])),
        ("gzip", gzip.compress(RSS) + b"\0" * 512),
    ],
    ids=["gzip", "x-gzip", "capitals", "zlib", "raw deflate", "identity", "two members", "padding"],
)
async def test_compressed_body_is_decoded(encoding: str, data: bytes) -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve_encoded("/", data, encoding=encoding)
        assert (await fetcher.get(server.url(), accept=ANY_TYPE)).body == RSS


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", RSS),
        ("gzip", gzip.compress(RSS)[:-9]),
        ("gzip", gzip.compress(RSS)[:-4] + b"\0\0\0\0"),
        ("gzip", b"\x1f"),
        ("gzip", gzip.compress(b"") * 2000),
        ("deflate", RSS),
        ("deflate", zlib.compress(RSS)[:-1]),
        ("br", RSS),
        ("zstd", RSS),
        ("gzip, gzip", gzip.compress(gzip.compress(RSS))),
        ("\x1b[31m", RSS),
    ],
    ids=[
        "gzip: not packed",
        "gzip: cut",
        "gzip: wrong sum",
        "gzip: one byte",
        "gzip: 2000 empty members",
        "deflate: not packed",
        "deflate: cut",
        "brotli",
        "zstd",
        "packed twice",
        "an escape sequence",
    ],
)
async def test_undecodable_body_is_an_error(encoding: str, data: bytes) -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve_encoded("/", data, encoding=encoding)
        with pytest.raises(ResponseStatusError) as raised:
            await fetcher.get(server.url(), accept=ANY_TYPE)
    assert "compress" in str(raised.value)
    assert str(raised.value).isprintable()


async def test_empty_compressed_body_is_empty() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve_encoded("/", b"")
        assert (await fetcher.get(server.url(), accept=ANY_TYPE)).body == b""


@given(
    data=st.binary(max_size=2000),
    cuts=st.lists(st.integers(0, 2100), max_size=8),
    kind=st.sampled_from(["", "gzip", "deflate", "raw"]),
)
async def test_chunk_boundaries_do_not_matter(data: bytes, cuts: list[int], kind: str) -> None:
    packed = {"": bytes, "gzip": gzip.compress, "deflate": zlib.compress, "raw": raw_deflate}[kind](data)
    offsets = [0, *sorted(min(cut, len(packed)) for cut in cuts), len(packed)]

    async def pieces():
        for start, end in pairwise(offsets):
            yield packed[start:end]

    encoding = "deflate" if kind == "raw" else kind
    body = await read_body(pieces(), host="h", encoding=encoding, length="", max_wire=10_000, max_body=2000)
    assert body == data


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_size_limits_are_exact(encoding: str) -> None:
    data = bytes(100_000)
    packed = gzip.compress(data) if encoding == "gzip" else raw_deflate(data)

    async def chunks():
        yield packed

    async def read(max_wire: int, max_body: int) -> bytes:
        return await read_body(chunks(), host="h", encoding=encoding, length="", max_wire=max_wire, max_body=max_body)

    assert await read(len(packed), len(data)) == data
    # The limit on compressed bytes is fixed, so the hint must not suggest raising the setting.
    with pytest.raises(ResponseTooLargeError) as too_large:
        await read(len(packed) - 1, len(data))
    assert "network.max_body" not in too_large.value.hint
    with pytest.raises(ResponseTooLargeError) as too_large:
        await read(len(packed), len(data) - 1)
    assert "network.max_body" in too_large.value.hint


async def test_content_length_over_limit_is_refused() -> None:
    async with FeedServer() as server, make_fetcher(max_body=MIB) as fetcher:
        server.raw("/", response_head(200, {"Content-Length": str(50 * MIB)}))  # the body never arrives
        with pytest.raises(ResponseTooLargeError, match="1 MB"):
            await fetcher.get(server.url(), accept=ANY_TYPE)


async def test_compressed_length_over_limit_is_refused() -> None:
    async with FeedServer() as server, make_fetcher(max_wire=100 * KIB) as fetcher:
        server.raw("/", response_head(200, {"Content-Length": str(MIB), "Content-Encoding": "gzip"}))
        with pytest.raises(
            ResponseTooLargeError, match=r"compressed response of .* is larger than the limit of 100 KB"
        ):
            await fetcher.get(server.url(), accept=ANY_TYPE)


async def test_50_mb_body_is_refused() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.large("/", 50 * MIB)
        with pytest.raises(ResponseTooLargeError, match="10 MB"):
            await fetcher.get(server.url(), accept=ANY_TYPE)


async def test_endless_body_stops_at_limit() -> None:
    async with FeedServer() as server, make_fetcher(max_body=MIB) as fetcher:
        server.endless("/")
        with pytest.raises(ResponseTooLargeError):
            await fetcher.get(server.url(), accept=ANY_TYPE)


async def test_gzip_bomb_memory_is_bounded() -> None:
    packed = gzip_bomb(2 * 2**30)
    assert len(packed) < 3 * MIB

    async def chunks():
        for start in range(0, len(packed), 65536):
            yield packed[start : start + 65536]

    tracemalloc.start()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    with pytest.raises(ResponseTooLargeError):
        await read_body(chunks(), host="h", encoding="gzip", length="", max_wire=4 * MIB, max_body=MIB)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - before < 3 * MIB


async def test_gzip_bomb_over_network_is_refused() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve_bomb("/")
        with pytest.raises(ResponseTooLargeError):
            await fetcher.get(server.url(), accept=ANY_TYPE)


async def test_tiny_chunks_do_not_starve_other_tasks() -> None:
    iterations = 0

    async def tiny():
        for _ in range(100_000):
            yield b"xy"

    async def spin() -> None:
        nonlocal iterations
        while True:
            iterations += 1
            await asyncio.sleep(0)

    running = asyncio.create_task(spin())
    body = await read_body(tiny(), host="h", encoding="", length="", max_wire=MIB, max_body=MIB)
    running.cancel()
    assert (len(body), iterations > 300) == (200_000, True)


@pytest.mark.parametrize("behaviour", ["drip", "silent", "slow packed"])
async def test_deadline_covers_whole_response(behaviour: str) -> None:
    """Each read of a drip is fast, so a timeout per read would never fire."""
    async with FeedServer() as server, make_fetcher(timeout=0.2) as fetcher:
        if behaviour == "drip":
            server.drip("/", interval=0.02)
        elif behaviour == "silent":
            server.hang("/")
        else:
            server.endless("/", interval=0.05)
        async with asyncio.timeout(60):
            with pytest.raises(FetchTimeoutError, match="in time"):
                await fetcher.get(server.url(), accept=ANY_TYPE)


async def test_endless_headers_are_refused() -> None:
    async with FeedServer() as server, make_fetcher(timeout=0.5) as fetcher:
        server.raw("/", b"HTTP/1.1 200 OK\r\n" + b"X-Filler: 0123456789\r\n" * 20_000)
        with pytest.raises(FetchError):
            await fetcher.get(server.url(), accept=ANY_TYPE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nnot hex\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nbad header line\r\n\r\n",
        b"\x00\x01\x02\x03",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
    ],
)
async def test_malformed_http_is_an_error(data: bytes) -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.raw("/", data)
        with pytest.raises(ResponseStatusError) as raised:
            await fetcher.get(server.url(), accept=ANY_TYPE)
        assert raised.value.message.isprintable()
        server.serve("/", RSS)
        assert (await fetcher.get(server.url(), accept=ANY_TYPE)).body == RSS


async def test_cancelled_fetch_closes_its_connection() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.drip("/slow", interval=0.01)
        server.serve("/", RSS)
        for before in range(5):
            task = asyncio.create_task(fetcher.get(server.url("/slow"), accept=ANY_TYPE))
            async with asyncio.timeout(60):
                while len(server.requests_for("/slow")) == before:  # noqa: ASYNC110 - the server runs in another thread
                    await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert len(server.requests_for("/slow")) == 5
        assert (await fetcher.get(server.url(), accept=ANY_TYPE)).body == RSS
        assert len(fetcher._transport._idle) == 1
    gc.collect()  # an unclosed connection warns here, and a warning fails the test


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.{}"], ids=["kept connection", "new connection"])
async def test_cancel_at_any_step_leaks_nothing(host: str) -> None:
    """httpcore leaves a connection open if it is cancelled while waiting for its own lock."""
    async with FeedServer("0.0.0.0") as server, make_fetcher() as fetcher:
        server.serve("/", RSS)
        for steps in range(80):
            url = server.url(host=host.format(steps + 2))
            task = asyncio.create_task(fetcher.get(url, accept=ANY_TYPE))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert (await fetcher.get(server.url(), accept=ANY_TYPE)).body == RSS
    gc.collect()


async def test_slow_host_does_not_block_other_hosts() -> None:
    async with FeedServer("0.0.0.0") as server, make_fetcher(timeout=60) as fetcher:
        server.hang("/silent")
        server.serve("/", RSS)
        slow = asyncio.create_task(fetcher.get(server.url("/silent"), accept=ANY_TYPE))
        answers = await asyncio.gather(
            *(fetcher.get(server.url(host=f"127.0.0.{n}"), accept=ANY_TYPE) for n in range(2, 12))
        )
        assert not slow.done()
        assert all(answer.body == RSS for answer in answers)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow


async def test_custom_transport_stream_is_closed() -> None:
    closed = []

    class Stream(httpx.AsyncByteStream):
        async def __aiter__(self):
            while True:
                yield b"x" * KIB

        async def aclose(self) -> None:
            closed.append(True)

    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Stream()))
    async with make_fetcher(transport=transport, max_body=MIB) as fetcher:
        with pytest.raises(ResponseTooLargeError):
            await fetcher.get("http://sample.invalid/", accept=ANY_TYPE)
    assert closed == [True]
