"""A web server for tests that responds well or badly, as told, and records the requests.

It runs in a thread of its own, so that it also responds while the test's own loop is blocked or there is none:

    with FeedServer() as server:                     # or `async with`
        server.serve("/feed.xml", b"<rss/>")         # ETag, 304 and gzip included
        server.redirect("/old", "/feed.xml", status=301)
        ... fetch server.url("/feed.xml") ...
        assert server.requests_for("/feed.xml")[0].headers["user-agent"] == "Copydesk"

Bound to `0.0.0.0` it is reachable at every address of 127.0.0.0/8, which count as different hosts for a client.
"""

import asyncio
import contextlib
import gzip
import hashlib
import ssl
import threading
import time
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from typing import Self

RSS = "application/rss+xml; charset=utf-8"


@dataclass(frozen=True)
class Request:
    """A received request. Header names are in lower case; `at` is a monotonic time in seconds."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    at: float
    raw_headers: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def host(self) -> str:
        """The requested host with its port."""
        return self.headers.get("host", "")


Route = Callable[[Request, asyncio.StreamWriter], Awaitable[bool]]
"""Writes a response; returns whether the connection can be reused."""


@dataclass
class Page:
    """A normal response. With validators, conditional requests get 304."""

    body: bytes = b""
    status: int = 200
    content_type: str = RSS
    etag: str | None = None
    last_modified: str | None = None
    compress: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    chunked: bool = False

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Write the page, or 304."""
        await asyncio.sleep(self.delay)
        if self._is_unchanged(request):
            writer.write(response_head(304, self._validators() | dict(self.headers)))
            return True
        compressed = self.compress and "gzip" in request.headers.get("accept-encoding", "")
        body = gzip.compress(self.body, 5) if compressed else self.body
        headers = {"Content-Type": self.content_type} | self._validators()
        headers |= {"Content-Encoding": "gzip"} if compressed else {}
        headers |= {"Transfer-Encoding": "chunked"} if self.chunked else {"Content-Length": str(len(body))}
        if self.chunked:
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
        writer.write(response_head(self.status, headers | dict(self.headers)) + body)
        return True

    def _validators(self) -> dict[str, str]:
        candidates = {"ETag": self.etag, "Last-Modified": self.last_modified}
        return {name: value for name, value in candidates.items() if value}

    def _is_unchanged(self, request: Request) -> bool:
        if_none_match = request.headers.get("if-none-match")
        if if_none_match is not None:
            return if_none_match == self.etag
        since = request.headers.get("if-modified-since")
        return since is not None and since == self.last_modified


def response_head(status: int, headers: Mapping[str, str]) -> bytes:
    """Return the status line and headers, with a Date unless given."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in ({"Date": formatdate(usegmt=True)} | dict(headers)).items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def gzip_bomb(size: int) -> bytes:
    """Return a gzip stream of `size` zeros. A compressed megabyte is repeated, so that this takes no time."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    first, repeated = (compressor.compress(bytes(2**20)) + compressor.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + repeated * (size // 2**20 - 1)


class FeedServer:
    """Serves the given routes. `requests` has every request, in order."""

    def __init__(self, host: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.max_concurrent: Counter[str] = Counter()
        """Host -> maximum of its concurrent requests."""
        self.port = 0
        self._bind = host
        self._tls = tls
        self._active: Counter[str] = Counter()
        self._routes: dict[str, Route] = {}
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed-server", daemon=True)

    # API for tests.

    def url(self, path: str = "/", host: str = "127.0.0.1", scheme: str | None = None) -> str:
        """Return the URL of `path` on `host`."""
        scheme = scheme or ("https" if self._tls else "http")
        return f"{scheme}://{host}:{self.port}{path}"

    def host(self, host: str = "127.0.0.1") -> str:
        """Return the host as in a request's Host header."""
        return f"{host}:{self.port}"

    def requests_for(self, path: str) -> list[Request]:
        """Return the requests for `path`, in order."""
        return [request for request in self.requests if request.path == path]

    def route(self, path: str, route: Route) -> None:
        """Set the route for `path`; the methods below all end here."""
        self._routes[path] = route

    def serve(
        self,
        path: str,
        body: bytes | str,
        *,
        content_type: str = RSS,
        etag: bool | str = True,
        last_modified: str | None = None,
        gzip: bool = True,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        delay: float = 0.0,
        chunked: bool = False,
    ) -> None:
        """Serve a page. The ETag is made from the body unless given; False for none."""
        data = body.encode() if isinstance(body, str) else body
        generated = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        tag = etag if isinstance(etag, str) else generated if etag else None
        page = Page(data, status, content_type, tag, last_modified, gzip, headers or {}, delay, chunked)
        self.route(path, page)

    def redirect(self, path: str, location: str, *, status: int = 302) -> None:
        """Redirect to `location`, which need not be valid."""
        self.route(path, Page(status=status, headers={"Location": location}))

    def fail(self, path: str, status: int, *, headers: Mapping[str, str] | None = None) -> None:
        """Respond with an error status."""
        self.route(path, Page(b"no", status, "text/plain", compress=False, headers=headers or {}))

    def throttle(self, path: str, *, retry_after: str | None = None, status: int = 429) -> None:
        """Respond with a status that asks the client to retry later."""
        self.fail(path, status, headers={"Retry-After": retry_after} if retry_after is not None else {})

    def raw(self, path: str, data: bytes) -> None:
        """Write `data` as it is, HTTP or not, and close the connection."""

        async def write(request: Request, writer: asyncio.StreamWriter) -> bool:
            writer.write(data)
            return False

        self.route(path, write)

    def serve_encoded(self, path: str, data: bytes, *, encoding: str = "gzip") -> None:
        """Serve `data` unchanged, labelled with a content encoding."""
        self.route(path, Page(data, compress=False, headers={"Content-Encoding": encoding}))

    def serve_bomb(self, path: str, *, size: int = 2**31) -> None:
        """Serve a gzip body, a thousandth of `size`, that decompresses to `size`."""
        self.serve_encoded(path, gzip_bomb(size))

    def drip(self, path: str, *, interval: float = 1.0) -> None:
        """Send a body of 100,000 bytes, one byte every `interval` seconds."""
        self.endless(path, b"x", interval=interval, length=100_000)

    def endless(
        self, path: str, chunk: bytes = b" " * 65536, *, interval: float = 0.0, length: int | None = None
    ) -> None:
        """Send `chunk` repeatedly, in a body without end or with a declared `length`."""
        framing = {"Connection": "close"} if length is None else {"Content-Length": str(length)}

        async def write(request: Request, writer: asyncio.StreamWriter) -> bool:
            writer.write(response_head(200, {"Content-Type": RSS} | framing))
            while True:
                writer.write(chunk)
                await writer.drain()
                await asyncio.sleep(interval)

        self.route(path, write)

    def large(self, path: str, size: int) -> None:
        """Send a body of `size` bytes, declared in Content-Length, without holding it in memory."""

        async def write(request: Request, writer: asyncio.StreamWriter) -> bool:
            writer.write(response_head(200, {"Content-Type": RSS, "Content-Length": str(size)}))
            for start in range(0, size, 65536):
                writer.write(b" " * min(65536, size - start))
                await writer.drain()
            return True

        self.route(path, write)

    def hang(self, path: str) -> None:
        """Accept the request and never respond."""

        async def wait(request: Request, writer: asyncio.StreamWriter) -> bool:
            await asyncio.Event().wait()
            return False

        self.route(path, wait)

    # Implementation.

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *error: object) -> None:
        await asyncio.to_thread(self.__exit__)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(self._listen())
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._close(server))
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, self._bind, 0, ssl=self._tls, backlog=512)

    async def _close(self, server: asyncio.Server) -> None:
        for _ in range(5):  # connections being accepted must be registered before the server closes
            await asyncio.sleep(0)
        server.close()
        connections = list(self._connections.items())
        for task, writer in connections:
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*(task for task, _ in connections), return_exceptions=True)
        await asyncio.sleep(0)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = self._loop.create_task(self._serve_connection(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._connections.pop)

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve the requests of one connection until either side closes it."""
        try:
            while await self._respond(await _read_request(reader), writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client closed the connection
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _respond(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        self.requests.append(request)
        self._active[request.host] += 1
        self.max_concurrent[request.host] = max(self.max_concurrent[request.host], self._active[request.host])
        route = self._routes.get(request.target) or self._routes.get(request.path) or Page(status=404, compress=False)
        try:
            keep_alive = await route(request, writer)
            # Counted as finished before it is flushed: the client may send its next request as soon as it has read
            # this one.
        finally:
            self._active[request.host] -= 1
        await writer.drain()
        return keep_alive


async def _read_request(reader: asyncio.StreamReader) -> Request:
    raw = await reader.readexactly(1)
    if not raw.isalpha():
        raise OSError("this is not HTTP")
    raw += await reader.readuntil(b"\r\n\r\n")
    request_line, _, header_text = raw.decode("latin-1").partition("\r\n")
    method, target, _ = request_line.split(" ")
    pairs = [line.partition(":") for line in header_text.split("\r\n") if line]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, target, headers, body, time.monotonic(), raw)
