"""A web server for tests: it answers as it is told, well or badly, and remembers who asked what.

It runs in a thread of its own, so that it also answers while the test's own loop is blocked or there is none:

    with FeedServer() as server:                     # or `async with`
        server.serve("/feed.xml", b"<rss/>")         # ETag, 304 and gzip by themselves
        server.redirect("/old", "/feed.xml", status=301)
        ... fetch server.url("/feed.xml") ...
        assert server.asked("/feed.xml")[0].headers["user-agent"] == "Copydesk"

Bound on `0.0.0.0` it can be reached under every address of 127.0.0.0/8, which are as many hosts to a client.
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
    """What a client asked. Header names are in lower case; `at` counts seconds, from no particular time."""

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
        """The host that was asked, with its port."""
        return self.headers.get("host", "")


Route = Callable[[Request, asyncio.StreamWriter], Awaitable[bool]]
"""Writes an answer; returns whether the connection can be used again."""


@dataclass
class Page:
    """An ordinary answer. With validators it answers a conditional request with 304."""

    body: bytes = b""
    status: int = 200
    content_type: str = RSS
    etag: str | None = None
    last_modified: str | None = None
    gzip: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    chunked: bool = False

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Write the page, or that it did not change."""
        await asyncio.sleep(self.delay)
        if self._known(request):
            writer.write(head(304, self._validators() | dict(self.headers)))
            return True
        packed = self.gzip and "gzip" in request.headers.get("accept-encoding", "")
        body = gzip.compress(self.body, 5) if packed else self.body
        headers = {"Content-Type": self.content_type} | self._validators()
        headers |= {"Content-Encoding": "gzip"} if packed else {}
        headers |= {"Transfer-Encoding": "chunked"} if self.chunked else {"Content-Length": str(len(body))}
        if self.chunked:
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
        writer.write(head(self.status, headers | dict(self.headers)) + body)
        return True

    def _validators(self) -> dict[str, str]:
        given = {"ETag": self.etag, "Last-Modified": self.last_modified}
        return {name: value for name, value in given.items() if value}

    def _known(self, request: Request) -> bool:
        asked = request.headers.get("if-none-match")
        if asked is not None:
            return asked == self.etag
        since = request.headers.get("if-modified-since")
        return since is not None and since == self.last_modified


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """Status line and headers, with a Date unless there is one."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in ({"Date": formatdate(usegmt=True)} | dict(headers)).items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def bomb(size: int) -> bytes:
    """A gzip stream of `size` zeros, made without packing them all: a packed megabyte is repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    first, again = (packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + again * (size // 2**20 - 1)


class FeedServer:
    """Serves what a test gives it. `requests` is everything that was asked, in order."""

    def __init__(self, host: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.most_at_once: Counter[str] = Counter()
        """For each host, how many requests were under way at the same time, at most."""
        self.port = 0
        self._bind = host
        self._tls = tls
        self._busy: Counter[str] = Counter()
        self._routes: dict[str, Route] = {}
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed-server", daemon=True)

    # What a test calls.

    def url(self, path: str = "/", host: str = "127.0.0.1", scheme: str | None = None) -> str:
        """The address of `path`, by the name of `host`."""
        scheme = scheme or ("https" if self._tls else "http")
        return f"{scheme}://{host}:{self.port}{path}"

    def host(self, host: str = "127.0.0.1") -> str:
        """The host as requests carry it."""
        return f"{host}:{self.port}"

    def asked(self, path: str) -> list[Request]:
        """The requests for `path`, in order."""
        return [request for request in self.requests if request.path == path]

    def route(self, path: str, route: Route) -> None:
        """Answer `path` in a way of its own; the other methods here are made of this one."""
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
        """Answer with a page. `etag` is made from the body unless it is given; False is none."""
        data = body.encode() if isinstance(body, str) else body
        made = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        tag = etag if isinstance(etag, str) else made if etag else None
        page = Page(data, status, content_type, tag, last_modified, gzip, headers or {}, delay, chunked)
        self.route(path, page)

    def redirect(self, path: str, to: str, *, status: int = 302) -> None:
        """Redirect to `to`, whatever that is."""
        self.route(path, Page(status=status, headers={"Location": to}))

    def fail(self, path: str, status: int, *, headers: Mapping[str, str] | None = None) -> None:
        """Answer with an error."""
        self.route(path, Page(b"no", status, "text/plain", gzip=False, headers=headers or {}))

    def throttle(self, path: str, *, retry_after: str | None = None, status: int = 429) -> None:
        """Ask the client to come back later."""
        self.fail(path, status, headers={"Retry-After": retry_after} if retry_after is not None else {})

    def raw(self, path: str, data: bytes) -> None:
        """Write `data` as it is, be it HTTP or not, and close the connection."""

        async def write(request: Request, writer: asyncio.StreamWriter) -> bool:
            writer.write(data)
            return False

        self.route(path, write)

    def packed(self, path: str, data: bytes, *, encoding: str = "gzip") -> None:
        """Answer with `data` as a body that is said to be packed with `encoding`."""
        self.route(path, Page(data, gzip=False, headers={"Content-Encoding": encoding}))

    def bomb(self, path: str, *, size: int = 2**31) -> None:
        """Answer with a thousandth of `size` that unpacks to `size`."""
        self.packed(path, bomb(size))

    def drip(self, path: str, *, every: float = 1.0) -> None:
        """Send a body of a hundred thousand bytes, one byte `every` so many seconds."""
        self.endless(path, b"x", every=every, length=100_000)

    def endless(self, path: str, chunk: bytes = b" " * 65536, *, every: float = 0.0, length: int | None = None) -> None:
        """Send `chunk` again and again, of a body that has no end, or says that it has `length`."""
        framing = {"Connection": "close"} if length is None else {"Content-Length": str(length)}

        async def write(request: Request, writer: asyncio.StreamWriter) -> bool:
            writer.write(head(200, {"Content-Type": RSS} | framing))
            while True:
                writer.write(chunk)
                await writer.drain()
                await asyncio.sleep(every)

        self.route(path, write)

    def large(self, path: str, size: int) -> None:
        """Send a body of `size` bytes, which is said beforehand, but not kept in memory."""

        async def write(request: Request, writer: asyncio.StreamWriter) -> bool:
            writer.write(head(200, {"Content-Type": RSS, "Content-Length": str(size)}))
            for start in range(0, size, 65536):
                writer.write(b" " * min(65536, size - start))
                await writer.drain()
            return True

        self.route(path, write)

    def silent(self, path: str) -> None:
        """Take the request and never answer."""

        async def wait(request: Request, writer: asyncio.StreamWriter) -> bool:
            await asyncio.Event().wait()
            return False

        self.route(path, wait)

    # The server itself.

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
        listening = self._loop.run_until_complete(self._listen())
        self.port = listening.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._close(listening))
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._connected, self._bind, 0, ssl=self._tls, backlog=512)

    async def _close(self, listening: asyncio.Server) -> None:
        for _ in range(5):  # whoever is just being let in must be inside before the door is closed
            await asyncio.sleep(0)
        listening.close()
        open_ones = list(self._open.items())
        for task, writer in open_ones:
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*(task for task, _ in open_ones), return_exceptions=True)
        await asyncio.sleep(0)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = self._loop.create_task(self._converse(reader, writer))
        self._open[task] = writer
        task.add_done_callback(self._open.pop)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request after the other, until either side has enough."""
        try:
            while await self._answer(await _read(reader), writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client went away
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        self.requests.append(request)
        self._busy[request.host] += 1
        self.most_at_once[request.host] = max(self.most_at_once[request.host], self._busy[request.host])
        route = self._routes.get(request.target) or self._routes.get(request.path) or Page(status=404, gzip=False)
        try:
            again = await route(request, writer)
            # Counted as done before it is written: the client may ask again as soon as it has read.
        finally:
            self._busy[request.host] -= 1
        await writer.drain()
        return again


async def _read(reader: asyncio.StreamReader) -> Request:
    raw = await reader.readexactly(1)
    if not raw.isalpha():
        raise OSError("this is not HTTP")
    raw += await reader.readuntil(b"\r\n\r\n")
    first, _, rest = raw.decode("latin-1").partition("\r\n")
    method, target, _ = first.split(" ")
    pairs = [line.partition(":") for line in rest.split("\r\n") if line]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, target, headers, body, time.monotonic(), raw)
