"""An HTTP proxy before a real server that breaks chosen requests.

    async with FaultProxy("http://127.0.0.1:2583", pattern="POST /api/v1/statuses") as proxy:
        proxy.faults.append(Cut.AFTER)
        ...  # call proxy.url: the first matching request reaches the server, and its response is lost

Every connection serves one request. `requests` has every request received, `forwarded` those sent to the server.
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

MAX_HEAD_SIZE = 64 * 1024
_CONNECTION_ERRORS = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class Cut(Enum):
    """A fault of one request."""

    BEFORE = "before"
    """The connection breaks before the server is called."""
    AFTER = "after"
    """The server is called and responds, then the connection breaks."""
    HALF = "half"
    """As AFTER, with the first half of the response."""
    LATE = "late"
    """The connection breaks; the server is called later, by `forward_late`."""
    SILENT = "silent"
    """The server is called, and the connection stays open without a response until the proxy closes."""


@dataclass(frozen=True)
class ReplacedResponse:
    """A response in place of the server's, which is called only if `forwarded`."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    forwarded: bool = False

    def to_bytes(self) -> bytes:
        """Return the response as sent over the wire."""
        lines = [f"HTTP/1.1 {self.status} Instead", *(f"{name}: {value}" for name, value in self.headers)]
        lines += [f"content-length: {len(self.body)}", "connection: close", "", ""]
        return "\r\n".join(lines).encode("latin-1") + self.body


@dataclass(frozen=True)
class Restart:
    """The server goes down after this request, answered as with `fault`; `listen` starts it again."""

    fault: "Cut | ReplacedResponse | None" = None


GARBAGE = b"\x16\x03\x01 this is not HTTP\r\n\r\n"
Fault = Cut | ReplacedResponse | Restart | bytes
"""Bytes are sent as they are, without calling the server."""


@dataclass(frozen=True)
class Request:
    """A request as received."""

    method: str
    path: str
    """With the query."""
    headers: tuple[tuple[str, str], ...]
    """Names are in lower case."""
    body: bytes

    def header(self, name: str) -> str:
        """Return the value of a header, "" if absent."""
        return next((value for header_name, value in self.headers if header_name == name), "")

    def without_header(self, name: str) -> "Request":
        """Return the request without a header."""
        return replace(self, headers=tuple(header for header in self.headers if header[0] != name.lower()))

    def to_bytes(self) -> bytes:
        """Return the request as sent to the server."""
        headers = [
            header for header in self.headers if header[0] not in ("connection", "content-length", "transfer-encoding")
        ]
        headers += [("connection", "close"), ("content-length", str(len(self.body)))]
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
        return "\r\n".join(lines).encode("latin-1") + self.body


class FaultProxy:
    """Forwards requests to `target`, apart from those with a fault.

    `faults` apply to the next requests whose "METHOD /path?query" starts with a match of the regular expression
    `pattern`, one each; None lets a request pass. `rewrite` changes requests on their way:
    `proxy.rewrite = lambda request: request.without_header("idempotency-key")`.
    """

    def __init__(self, target: str, *, pattern: str = "") -> None:
        parts = urlsplit(target)
        assert parts.hostname is not None
        self._target = (parts.hostname, parts.port or 80)
        self.pattern = pattern
        self.faults: deque[Fault | None] = deque()
        self.rewrite: Callable[[Request], Request] = lambda request: request
        self.requests: list[Request] = []
        self.forwarded: list[Request] = []
        self.response_held = asyncio.Event()
        """Set once a response is held back by SILENT."""
        self._late: list[Request] = []
        self._port = 0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def url(self) -> str:
        """The proxy's own base URL."""
        return f"http://127.0.0.1:{self._port}"

    @asynccontextmanager
    async def refuse_connections(self) -> AsyncIterator[None]:
        """Refuse connections during the block."""
        self._close()
        try:
            yield
        finally:
            await self.listen()

    async def forward_late(self) -> list[bytes]:
        """Send the requests held back by LATE to the server; return its responses."""
        requests, self._late = self._late, []
        return [await self._forward(request) for request in requests]

    async def listen(self) -> None:
        """Accept connections, after a restart at the same address."""
        self._server = await asyncio.start_server(self._handle_connection, "127.0.0.1", self._port, limit=MAX_HEAD_SIZE)
        self._port = self._server.sockets[0].getsockname()[1]

    def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._serve(reader, writer)
        except asyncio.CancelledError:
            pass  # the proxy closes; asyncio would log the cancelled callback
        except _CONNECTION_ERRORS:
            pass
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = self.rewrite(await _read_request(reader))
        self.requests.append(request)
        response = await self._respond(request, self._next_fault(request))
        writer.write(response)
        await writer.drain()
        if response:  # otherwise abort() below resets the connection
            writer.write_eof()
            with suppress(*_CONNECTION_ERRORS):
                await reader.read()

    def _next_fault(self, request: Request) -> Fault | None:
        matches = re.match(self.pattern, f"{request.method} {request.path}")
        return self.faults.popleft() if matches and self.faults else None

    async def _respond(self, request: Request, fault: Fault | None) -> bytes:
        """Return the bytes for the client, b"" to break the connection."""
        if isinstance(fault, Restart):
            self._close()
            return await self._respond(request, fault.fault)
        if fault is Cut.LATE:
            self._late.append(request)
        if fault in (Cut.BEFORE, Cut.LATE):
            return b""
        if isinstance(fault, bytes):
            return fault
        response = b"" if isinstance(fault, ReplacedResponse) and not fault.forwarded else await self._forward(request)
        if isinstance(fault, ReplacedResponse):
            return fault.to_bytes()
        if fault is Cut.SILENT:
            self.response_held.set()
            await asyncio.Event().wait()
        length = {Cut.AFTER: 0, Cut.HALF: len(response) // 2}.get(fault, len(response)) if fault else len(response)
        return response[:length]

    async def _forward(self, request: Request) -> bytes:
        self.forwarded.append(request)
        reader, writer = await asyncio.open_connection(*self._target)
        try:
            writer.write(request.to_bytes())
            await writer.drain()
            return await reader.read()
        finally:
            writer.transport.abort()


async def _read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    request_line, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = request_line.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines)
    headers = tuple((name.strip().lower(), value.strip()) for name, value in pairs)
    request = Request(method, path, headers, b"")
    if request.header("transfer-encoding").lower() == "chunked":
        return replace(request, body=await _read_chunks(reader))
    return replace(request, body=await reader.readexactly(int(request.header("content-length") or 0)))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readuntil(b"\r\n")
    return body
