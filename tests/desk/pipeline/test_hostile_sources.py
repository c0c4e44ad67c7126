"""Tests for broken and hostile sources in the whole pipeline, each beside a good one.

Each must end with a clear `lastError` or be stored harmlessly, and the good source is still drafted.
"""

import asyncio
import gzip

import httpx
import pytest

from broken_source import GOOD_STORY, rejected_source_error, serve_good_source
from copydesk.desk import open_desk
from copydesk.network.transport import GuardedTransport
from desk_fixtures import (
    URL_ONE,
    FakeWeb,
    Watch,
    create_source,
    entry,
    feed,
    item_states,
    open_desk_at,
    settings_at,
    story_title,
)


@pytest.fixture
def server():
    with serve_good_source() as server:
        yield server


async def test_closed_port(tmp_path, server):
    async with open_desk(settings_at(tmp_path, network__allow_private="true"), clock=Watch()) as desk:
        await create_source(desk, f"http://127.0.0.3:{_free_port()}/feed")
        await create_source(desk, server.url("/good"))
        await desk.pipeline.run()
        bad, _ = await desk.sources.list()

    assert "Connection refused by 127.0.0.3" in str(bad.last_error)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.3", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"just some words", "The response is neither XML nor a JSON Feed."),
        (b"<html><head><title>Hi</title></head><body><p>Hello</p></body></html>", "is a web page, not a feed."),
        (b"", "The response is empty."),
        (b"\x00\x01\x02" * 1000, "The response is neither XML nor a JSON Feed."),
        (b'{"version": "https://jsonfeed.org/version/1.1", "items": [1, 2', ""),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 500, "The response is neither XML nor a JSON Feed."),
    ],
    ids=["words", "html", "empty", "zeros", "cut json", "picture"],
)
async def test_body_that_is_no_feed(tmp_path, server, body, message):
    server.serve("/bad", body)

    assert message in await rejected_source_error(tmp_path, server)


async def test_50_mb_body(tmp_path, server):
    server.large("/bad", 50 * 2**20)

    assert "The response of 127.0.0.1" in (error := await rejected_source_error(tmp_path, server))
    assert "is larger than 10 MB. Use a smaller feed" in error


async def test_gzip_bomb(tmp_path, server):
    server.serve_bomb("/bad", size=2**31)

    assert "is larger than 10 MB" in await rejected_source_error(tmp_path, server)


async def test_endless_body(tmp_path, server):
    server.endless("/bad")

    assert "is larger than 10 MB" in await rejected_source_error(tmp_path, server)


async def test_dripping_body(tmp_path, server):
    server.drip("/bad", interval=0.02)

    assert "did not respond in time" in await rejected_source_error(tmp_path, server, network__timeout="2")


async def test_silent_server(tmp_path, server):
    server.hang("/bad")

    assert "did not respond in time" in await rejected_source_error(tmp_path, server, network__timeout="2")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"220 mail.example ESMTP\r\n\r\n", "sent an invalid HTTP response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n<rss>", "was interrupted"),
        (b"", "was interrupted"),
    ],
    ids=["mail", "cut", "nothing"],
)
async def test_malformed_http(tmp_path, server, raw, message):
    server.raw("/bad", raw)
    error = await rejected_source_error(tmp_path, server)

    assert message in error
    assert "Traceback" not in error


async def test_redirect_loop(tmp_path, server):
    server.redirect("/bad", "/bad")

    assert "redirects more than 5 times" in await rejected_source_error(tmp_path, server)


class FakePublicSite(FakeWeb):
    """A fake public site in front of the real client: any other host goes to the real, guarded network."""

    def __init__(self) -> None:
        super().__init__()
        self.guarded = GuardedTransport(allow_private=False, concurrency=4)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the page, or pass the request on to the guarded transport."""
        if request.url.host.endswith(".example"):
            return await super().handle_async_request(request)
        return await self.guarded.handle_async_request(request)


@pytest.mark.parametrize("status", [301, 302, 307])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::ffff:10.0.0.1]", "[::ffff:127.0.0.1]", "localhost", "169.254.169.254"]
)
async def test_redirect_to_private_address_is_refused(tmp_path, server, host, status):
    """A fake public site sends the redirect; the redirect's target meets the real guard."""
    web = FakePublicSite()
    web.fail(URL_ONE, status, location=f"http://{host}:{server.port}/good")
    web.put("https://good.example/feed", feed(entry(GOOD_STORY)))
    async with open_desk_at(tmp_path, web) as desk:
        bad = await create_source(desk)
        await create_source(desk, "https://good.example/feed")
        await desk.pipeline.run()
        error = str((await desk.sources.get(bad.id)).last_error)
        tested = await desk.sources.test(bad.id)
    await web.guarded.aclose()

    assert "is not a public address" in error
    assert tested.error == error
    assert server.requests == []
    assert item_states(tmp_path) == {story_title(GOOD_STORY): "drafted"}


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
async def test_body_not_compressed_as_declared(tmp_path, server, encoding):
    server.serve_encoded("/bad", b"not packed at all", encoding=encoding)

    assert await rejected_source_error(tmp_path, server)


async def test_doubly_compressed_feed_is_refused(tmp_path, server):
    server.serve_encoded("/bad", gzip.compress(gzip.compress(feed(entry(1)))))

    assert "neither XML nor a JSON Feed" in await rejected_source_error(tmp_path, server)


async def test_ten_bad_sources_do_not_delay_good_one(tmp_path, server):
    for number in range(10):
        (server.hang if number % 2 else server.endless)(f"/bad{number}")
    settings = settings_at(tmp_path, network__allow_private="true", network__timeout="2")
    async with open_desk(settings, clock=Watch()) as desk:
        for number in range(10):
            await create_source(desk, server.url(f"/bad{number}", f"127.0.1.{number + 1}"))
        await create_source(desk, server.url("/good", "127.0.0.2"))
        async with asyncio.timeout(60):
            run = await desk.pipeline.run()

    assert (run.stats.sources_failed, run.stats.sources_fetched, run.stats.drafts_created) == (10, 1, 1)
