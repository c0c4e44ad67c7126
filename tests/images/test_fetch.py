"""Tests for fetching images: public addresses only, size and time limits, type detected from the content."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from copydesk.errors import ImageError
from copydesk.images.download import fetch
from copydesk.network import guard
from copydesk.network.transport import GuardedTransport
from feed_server import FeedServer
from fetcher_fixtures import NOW
from image_samples import drawing

URL = "https://pictures.example/a"
PICTURE = drawing()
ResponseHandler = Callable[[httpx.Request], httpx.Response]


async def fetch_from(answer: ResponseHandler, url: str = URL, **options: float) -> bytes:
    return await fetch(httpx.MockTransport(answer), url, now=NOW, **options)


def respond_with(content: bytes = PICTURE, status: int = 200, **headers: str) -> ResponseHandler:
    response_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: httpx.Response(status, headers=response_headers, stream=httpx.ByteStream(content))


class Slow(httpx.AsyncByteStream):
    """A body of many chunks; `read` counts those consumed."""

    def __init__(self, piece: bytes, count: int, pause: float = 0) -> None:
        self.piece, self.count, self.pause, self.read = piece, count, pause, 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(self.count):
            await asyncio.sleep(self.pause)
            self.read += 1
            yield self.piece


@pytest.mark.parametrize("content_type", ["image/png", "text/html", "application/octet-stream", ""])
async def test_content_type_header_is_ignored(content_type):
    assert await fetch_from(respond_with(content_type=content_type)) == PICTURE


async def test_request_reveals_only_user_agent():
    requests = []
    await fetch(
        httpx.MockTransport(lambda request: requests.append(request) or respond_with()(request)),
        f"{URL}#top",
        now=NOW,
        user_agent="Me/1",
    )

    assert str(requests[0].url) == URL
    assert requests[0].headers["user-agent"] == "Me/1"
    assert {"cookie", "referer", "authorization"}.isdisjoint(requests[0].headers)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>Please log in</html>", "web page"),
        (b"<svg/>", "SVG"),
        (b"", "empty"),
        (b"GIF", "not a readable image"),
    ],
)
async def test_non_image_is_refused_despite_header(content, message):
    with pytest.raises(ImageError, match=message):
        await fetch_from(respond_with(content, content_type="image/png"))


@pytest.mark.parametrize(
    ("status", "message", "later"),
    [
        (404, "does not have it", False),
        (410, "removed it", False),
        (401, "requires a login", False),
        (403, "denied access to it", False),
        (204, "status 204", False),
        (206, "status 206", False),
        (429, "status 429", True),
        (500, "status 500", True),
        (503, "status 503", True),
    ],
)
async def test_status_decides_whether_to_retry(status, message, later):
    with pytest.raises(ImageError, match=message) as refused:
        await fetch_from(respond_with(status=status, retry_after="120"))

    assert refused.value.is_temporary is later
    assert refused.value.retry_after == (120 if later else None)
    assert URL not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "", "a.png", "file:///etc/passwd", "ftp://pictures.example/a", "data:image/png;base64,AAAA", "https://",
        "https://a b.example/", "https://pictures.example:0/", "gopher://p.example/", "copydesk:picture/" + "0" * 64,
        "https://pictures.example/" + "x" * 5_000, "//pictures.example/a", "https://\x00/",
    ],
)  # fmt: skip
async def test_only_web_addresses_are_fetched(url):
    with pytest.raises(ImageError, match=r"^Its address is invalid"):
        await fetch_from(lambda _: pytest.fail("it was asked"), url)


async def test_name_with_emoji_is_requested():
    assert await fetch_from(respond_with(), "https://☃.example/a") == PICTURE


async def test_address_with_credentials_is_refused():
    with pytest.raises(ImageError, match="user name or password") as refused:
        await fetch_from(lambda _: pytest.fail("it was asked"), "https://me:hunter2@pictures.example/a")
    assert "hunter2" not in str(refused.value)


class TestRedirects:
    @staticmethod
    def chain(request: httpx.Request) -> httpx.Response:
        """Redirect /3 to /2 and so on; the image is at /0."""
        left = int(request.url.path[1:])
        return respond_with(b"x" * 100, 302, location=f"/{left - 1}")(request) if left else respond_with()(request)

    async def test_three_redirects_are_followed(self):
        assert await fetch_from(self.chain, "https://pictures.example/3") == PICTURE
        with pytest.raises(ImageError, match="redirects more than 3 times"):
            await fetch_from(self.chain, "https://pictures.example/4")

    @pytest.mark.parametrize(
        "to", ["file:///etc/passwd", "https://me:x@other.example/", "javascript:alert(1)", "http://[::"]
    )
    async def test_redirect_target_is_validated(self, to):
        with pytest.raises(ImageError, match="Its address"):
            await fetch_from(respond_with(status=302, location=to))

    @pytest.mark.parametrize(
        "to", ["http://169.254.169.254/latest/meta-data", "http://[::1]/", "http://10.0.0.1/a.png"]
    )
    async def test_redirect_to_private_address_is_refused(self, to, monkeypatch):
        monkeypatch.setattr(guard, "is_public", lambda address: address == "127.0.0.1")
        with FeedServer() as server:
            server.redirect("/a.png", to)
            transport = GuardedTransport(allow_private=False, concurrency=2)
            with pytest.raises(ImageError, match="not a public address") as refused:
                await fetch(transport, server.url("/a.png"), now=NOW)
            await transport.aclose()
        assert not refused.value.is_temporary


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "10.1.2.3", "[::ffff:127.0.0.1]"])
async def test_private_address_is_refused(host):
    transport = GuardedTransport(allow_private=False, concurrency=2)
    with pytest.raises(ImageError, match="not a public address"):
        await fetch(transport, f"http://{host}/a.png", now=NOW)


async def test_real_connection_works_if_private_is_allowed():
    with FeedServer() as server:
        server.serve("/a.png", PICTURE, content_type="text/plain")
        transport = GuardedTransport(allow_private=True, concurrency=2)
        assert await fetch(transport, server.url("/a.png"), now=NOW) == PICTURE
        await transport.aclose()


class TestBounds:
    async def test_content_length_over_limit_is_refused_at_once(self):
        body = Slow(bytes(2**16), 2_000)
        answer = httpx.Response(200, headers={"content-length": str(100 * 2**20)}, stream=body)
        with pytest.raises(ImageError, match="larger than 20 MB"):
            await fetch_from(lambda _: answer)
        assert body.read == 0

    async def test_endless_body_stops_at_limit(self):
        body = Slow(b"\xff\xd8\xff" + bytes(2**20), 10_000)
        with pytest.raises(ImageError, match="larger than 20 MB") as refused:
            await fetch_from(lambda _: httpx.Response(200, stream=body))
        assert body.read <= 21
        assert not refused.value.is_temporary

    async def test_decompression_bomb_stops_at_limit(self):
        packed = gzip.compress(bytes(64 * 2**20))
        with pytest.raises(ImageError, match="larger than 20 MB"):
            await fetch_from(respond_with(packed, content_encoding="gzip"))

    async def test_slow_response_times_out(self):
        body = Slow(b"x", 1_000, pause=0.01)
        with pytest.raises(ImageError, match="did not respond in time") as refused:
            await fetch_from(lambda _: httpx.Response(200, stream=body), timeout_seconds=0.1)
        assert body.read < 1_000
        assert refused.value.is_temporary

    @pytest.mark.parametrize(
        "error", [httpx.ConnectError("no"), httpx.ReadError("cut"), httpx.RemoteProtocolError("?")]
    )
    async def test_broken_connection_may_be_retried(self, error):
        def cut(_: httpx.Request) -> httpx.Response:
            raise error

        with pytest.raises(ImageError) as refused:
            await fetch_from(cut)
        assert refused.value.is_temporary
        assert "feed" not in str(refused.value)
        assert "source" not in str(refused.value)
