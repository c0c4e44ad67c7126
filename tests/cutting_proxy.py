"""A proxy before a real server, for tests that need the network to break in a chosen moment.

    async with CuttingProxy("http://127.0.0.1:2583", aim="POST /api/v1/statuses") as proxy:
        proxy.faults.append(Cut.AFTER)
        ...  # ask proxy.url: the first request that the aim matches arrives, and its answer is lost

Every connection is for one request. `seen` has every request that came; `arrived` those that the server was asked.
"""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

MOST_HEAD = 64 * 1024
_BROKEN = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class Cut(Enum):
    """What happens to one request."""

    BEFORE = "before"
    """The connection breaks, and the server is not asked."""
    AFTER = "after"
    """The server is asked and answers, and then the connection breaks."""
    HALF = "half"
    """As AFTER, with the first half of the answer."""
    LATE = "late"
    """The connection breaks, and the server is asked only when `arrive` is called."""
    SILENT = "silent"
    """The server is asked, and the connection stays open without an answer until the proxy ends."""


@dataclass(frozen=True)
class Instead:
    """Another answer than the server's; it is not asked, unless `asked`."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    asked: bool = False

    def raw(self) -> bytes:
        """The answer as it goes over the wire."""
        head = [f"HTTP/1.1 {self.status} Instead", *(f"{name}: {value}" for name, value in self.headers)]
        head += [f"content-length: {len(self.body)}", "connection: close", "", ""]
        return "\r\n".join(head).encode("latin-1") + self.body


GARBAGE = b"\x16\x03\x01 this is not HTTP\r\n\r\n"
Fault = Cut | Instead | bytes
"""Bytes are sent as they are, without the server being asked."""


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    """With its query."""
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""
    body: bytes

    def header(self, name: str) -> str:
        """The value of a header; empty where there is none."""
        return next((value for each, value in self.headers if each == name), "")

    def without(self, name: str) -> "Request":
        """The same request without a header."""
        return replace(self, headers=tuple(each for each in self.headers if each[0] != name.lower()))

    def raw(self) -> bytes:
        """The request as it goes to the server."""
        kept = [each for each in self.headers if each[0] not in ("connection", "content-length", "transfer-encoding")]
        kept += [("connection", "close"), ("content-length", str(len(self.body)))]
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in kept), "", ""]
        return "\r\n".join(lines).encode("latin-1") + self.body


class CuttingProxy:
    """Hands requests on to `target`, but for those that a fault is for.

    `faults` are what happens to the next requests whose "METHOD /path?query" begins with a match of the regular
    expression `aim`, one each; None is a request that ends well. `rewrite` changes requests on their way:
    `proxy.rewrite = lambda request: request.without("idempotency-key")`.
    """

    def __init__(self, target: str, *, aim: str = "") -> None:
        parts = urlsplit(target)
        assert parts.hostname is not None
        self._target = (parts.hostname, parts.port or 80)
        self.aim = aim
        self.faults: deque[Fault | None] = deque()
        self.rewrite: Callable[[Request], Request] = lambda request: request
        self.seen: list[Request] = []
        self.arrived: list[Request] = []
        self.silent = asyncio.Event()
        """Set once a request was answered, and the answer kept back by SILENT."""
        self._late: list[Request] = []
        self._port = 0
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    @asynccontextmanager
    async def refusing(self) -> AsyncIterator[None]:
        """For so long connections are refused."""
        self._close()
        try:
            yield
        finally:
            await self._listen()

    async def arrive(self) -> list[bytes]:
        """Ask the server what was held back by LATE; its answers, which nobody waits for."""
        late, self._late = self._late, []
        return [await self._ask(request) for request in late]

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, limit=MOST_HEAD)
        self._port = self._server.sockets[0].getsockname()[1]

    def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._serve(reader, writer)
        except asyncio.CancelledError:
            pass  # the proxy ends; asyncio would log it
        except _BROKEN:
            pass
        finally:
            self._open.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = self.rewrite(await _read(reader))
        self.seen.append(request)
        answer = await self._answer(request, self._fault(request))
        writer.write(answer)
        await writer.drain()
        if answer:  # else it breaks: no proper end, but a reset
            writer.write_eof()
            with suppress(*_BROKEN):
                await reader.read()

    def _fault(self, request: Request) -> Fault | None:
        aimed = re.match(self.aim, f"{request.method} {request.path}")
        return self.faults.popleft() if aimed and self.faults else None

    async def _answer(self, request: Request, fault: Fault | None) -> bytes:
        """What the client is sent; nothing where the connection is to break."""
        if fault is Cut.LATE:
            self._late.append(request)
        if fault in (Cut.BEFORE, Cut.LATE):
            return b""
        if isinstance(fault, bytes):
            return fault
        answer = b"" if isinstance(fault, Instead) and not fault.asked else await self._ask(request)
        if isinstance(fault, Instead):
            return fault.raw()
        if fault is Cut.SILENT:
            self.silent.set()
            await asyncio.Event().wait()
        shown = {Cut.AFTER: 0, Cut.HALF: len(answer) // 2}.get(fault, len(answer)) if fault else len(answer)
        return answer[:shown]

    async def _ask(self, request: Request) -> bytes:
        self.arrived.append(request)
        reader, writer = await asyncio.open_connection(*self._target)
        try:
            writer.write(request.raw())
            await writer.drain()
            return await reader.read()
        finally:
            writer.transport.abort()


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines)
    headers = tuple((name.strip().lower(), value.strip()) for name, value in pairs)
    request = Request(method, path, headers, b"")
    if request.header("transfer-encoding").lower() == "chunked":
        return replace(request, body=await _chunks(reader))
    return replace(request, body=await reader.readexactly(int(request.header("content-length") or 0)))


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readuntil(b"\r\n")
    return body
