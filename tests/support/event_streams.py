"""A client of event streams in the test's process: httpx's ASGI transport would wait for the end of the response."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from starlette.types import ASGIApp


class ReceivedEvent(NamedTuple):
    """A block of the stream: an event, or a comment or a number alone."""

    id: int | None
    event: str
    data: str
    comment: str


class EventStreamClient:
    """An open stream."""

    def __init__(self, app: ASGIApp, url: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": parts.path,
            "raw_path": parts.path.encode(),
            "root_path": "",
            "query_string": parts.query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("localhost", 80),
        }
        self._app = app
        self._messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._disconnected = asyncio.Event()
        self._is_requested = False
        self._buffer = ""
        self.status = 0
        self.headers: dict[str, str] = {}
        self.has_ended = False
        self.reads = asyncio.Event()
        """Cleared while the client reads nothing and the buffers between it and the server are full."""
        self.reads.set()

    async def start(self) -> None:
        """Send the request, and wait for the first bytes of the response."""
        self._task = asyncio.create_task(self._app(self._scope, self._receive, self._send))
        message = await self._next_message()
        self.status = message["status"]
        self.headers = {name.decode(): value.decode() for name, value in message["headers"]}

    async def _receive(self) -> dict[str, Any]:
        if not self._is_requested:
            self._is_requested = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._disconnected.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        await self.reads.wait()
        self._messages.put_nowait(message)

    async def _next_message(self) -> dict[str, Any]:
        async with asyncio.timeout(20):
            return await self._messages.get()

    async def blocks(self) -> AsyncIterator[ReceivedEvent]:
        """Yield the blocks of the stream until it ends."""
        while True:
            while "\n\n" in self._buffer:
                block, _, self._buffer = self._buffer.partition("\n\n")
                yield _parse(block)
            if self.has_ended:
                return
            message = await self._next_message()
            self._buffer += message.get("body", b"").decode()
            self.has_ended = not message.get("more_body", False)

    async def events(self, count: int) -> list[ReceivedEvent]:
        """Return the next `count` events."""
        found: list[ReceivedEvent] = []
        async for block in self.blocks():
            if block.event:
                found.append(block)
                if len(found) == count:
                    break
        return found

    async def body(self) -> str:
        """Return the rest of the response, which ends."""
        while not self.has_ended:
            message = await self._next_message()
            self._buffer += message.get("body", b"").decode()
            self.has_ended = not message.get("more_body", False)
        return self._buffer

    async def wait_until_given_up(self) -> None:
        """Wait until the server has ended the response, read or not."""
        await asyncio.wait([self._task])

    async def close(self) -> None:
        """Disconnect."""
        self._disconnected.set()
        await self._task


def _parse(block: str) -> ReceivedEvent:
    fields = {"id": "", "event": "", "data": "", "": "", "retry": ""}
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        fields[name] += value.removeprefix(" ")
    number = int(fields["id"]) if fields["id"] else None
    return ReceivedEvent(number, fields["event"], fields["data"], fields[""])


@asynccontextmanager
async def open_stream(client: Any, path: str = "/events", **headers: str) -> AsyncIterator[EventStreamClient]:
    """Open a stream with the token of a client of `HttpService`; `headers` are named like `last_event_id`."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    authorization = client.headers.get("authorization", "")
    stream = EventStreamClient(
        client._transport.app, path, {"host": "localhost", "authorization": authorization, **given}
    )
    await stream.start()
    try:
        yield stream
    finally:
        await stream.close()
