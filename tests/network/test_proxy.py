"""Tests for requests through an HTTP proxy."""

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from certificates import create_certificate
from copydesk.errors import PrivateAddressError, UnreachableError
from copydesk.network.fetcher import Fetcher, FetchLimits
from copydesk.network.transport import GuardedTransport, tls_context
from copydesk.posting.client import PlatformClient
from copydesk.posting.platform import NotSentError
from feed_server import FeedServer
from fetcher_fixtures import ANY_TYPE, FakeClock, make_fetcher


class Proxy:
    """An HTTP proxy that leads every name to one server of this machine, and records the heads of its requests."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.heads: list[str] = []
        self.status = b"200 OK"
        self.url = ""
        self.tasks: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.add(asyncio.create_task(self.serve(reader, writer)))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.decode())
            if head.startswith(b"CONNECT"):
                writer.write(b"HTTP/1.1 " + self.status + b"\r\n\r\n")
                head = b""
            if self.status == b"200 OK":
                await self.forward(head, reader, writer)
        finally:
            writer.close()

    async def forward(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target_reader, target = await asyncio.open_connection("127.0.0.1", self.target)
        try:
            target.write(head)
            await asyncio.gather(relay(reader, target), relay(target_reader, writer))
        finally:
            target.close()


async def relay(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        sink.write(data)
    sink.close()


@contextlib.asynccontextmanager
async def proxy_to(target: FeedServer) -> AsyncIterator[Proxy]:
    proxy = Proxy(target.port)
    async with await asyncio.start_server(proxy.accept, "127.0.0.1", 0) as server:
        proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield proxy
        for task in proxy.tasks:
            task.cancel()
        await asyncio.gather(*proxy.tasks, return_exceptions=True)


def make_proxied(proxy: str) -> Fetcher:
    return Fetcher(FetchLimits(proxy=proxy, timeout=20), clock=FakeClock())


async def test_http_request_goes_through_proxy() -> None:
    """Although the proxy itself has a private address; the name is left for it to look up."""
    with FeedServer() as server:
        server.serve("http://feeds.invalid:80/feed", "<rss/>")  # a proxy is asked for the whole URL
        async with proxy_to(server) as proxy, make_proxied(proxy.url.replace("//", "//me:s3cret@")) as fetcher:
            for _ in range(2):
                assert (await fetcher.get("http://feeds.invalid/feed", accept=ANY_TYPE)).body == b"<rss/>"
    assert proxy.heads[0].startswith("GET http://feeds.invalid:80/feed HTTP/1.1\r\n")
    assert f"Basic {base64.b64encode(b'me:s3cret').decode()}\r\n" in proxy.heads[0]
    assert server.requests[0].headers["host"] == "feeds.invalid"
    assert server.connections == 1


async def test_https_request_goes_through_tunnel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = create_certificate(tmp_path, "DNS:feeds.invalid")
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    tls_context.cache_clear()
    with FeedServer(tls=server_context) as server:
        server.serve("/feed", "<rss/>")
        async with proxy_to(server) as proxy, make_proxied(proxy.url) as fetcher:
            for _ in range(2):
                assert (await fetcher.get("https://feeds.invalid/feed", accept=ANY_TYPE)).body == b"<rss/>"
            with pytest.raises(UnreachableError, match="is not trusted: Hostname mismatch"):
                await fetcher.get("https://other.invalid/feed", accept=ANY_TYPE)
    tls_context.cache_clear()
    assert [head.split("\r\n")[0] for head in proxy.heads] == [
        "CONNECT feeds.invalid:443 HTTP/1.1",
        "CONNECT other.invalid:443 HTTP/1.1",
    ]
    assert len(server.requests) == 2


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.0.0.1", "169.254.169.254", "0x7f.1", "[::1]"])
async def test_private_address_is_refused_with_proxy(host: str) -> None:
    with FeedServer() as server:
        async with proxy_to(server) as proxy, make_proxied(proxy.url) as fetcher:
            with pytest.raises(PrivateAddressError):
                await fetcher.get(f"http://{host}:{server.port}/feed", accept=ANY_TYPE)
    assert proxy.heads == []
    assert server.connections == 0


async def test_proxy_whose_name_cannot_be_found_is_blamed() -> None:
    async with make_proxied("http://no..proxy:3128") as fetcher:
        with pytest.raises(UnreachableError) as caught:
            await fetcher.get("http://feeds.invalid/feed", accept=ANY_TYPE)
    assert caught.value.not_sent
    assert str(caught.value) == (
        "The proxy cannot reach feeds.invalid: there is no connection to no..proxy:3128. Check network.proxy."
    )


async def test_proxy_with_invalid_address_sends_nothing() -> None:
    async with make_proxied("http://ada:AAAA1234@192.168.1.300:3128") as fetcher:
        with pytest.raises(UnreachableError) as caught:
            await fetcher.get("http://feeds.invalid/feed", accept=ANY_TYPE)
    assert caught.value.not_sent
    assert "the address of the proxy is not valid. Check network.proxy." in str(caught.value)
    assert "AAAA" not in str(caught.value)


async def test_allowed_private_address_bypasses_proxy() -> None:
    with FeedServer() as server:
        server.serve("/feed", "<rss/>")
        async with proxy_to(server) as proxy, make_fetcher(proxy=proxy.url) as fetcher:
            assert (await fetcher.get(server.url("/feed"), accept=ANY_TYPE)).body == b"<rss/>"
    assert proxy.heads == []


async def test_refusing_proxy_is_reported() -> None:
    with FeedServer() as server:
        async with proxy_to(server) as proxy, make_proxied(proxy.url) as fetcher:
            proxy.status = b"407 Proxy Authentication Required"
            with pytest.raises(UnreachableError, match=r"proxy cannot reach feeds\.invalid: 407 Proxy") as refused:
                await fetcher.get("https://feeds.invalid/feed", accept=ANY_TYPE)
    assert refused.value.hint == "Check network.proxy."


async def test_nothing_is_sent_without_proxy() -> None:
    with FeedServer() as closed:
        pass
    transport = GuardedTransport(allow_private=False, concurrency=1, proxy=closed.url())
    with pytest.raises(NotSentError, match=r"proxy cannot reach social\.invalid: there is no connection to 127"):
        await PlatformClient(transport).request("POST", "https://social.invalid/posts")
