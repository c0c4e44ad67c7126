"""Server-sent events: the events of one user as a stream that begins after any event and ends with the server."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import aclosing, suppress

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from copydesk.desk import Desk
from copydesk.errors import CopydeskError
from copydesk.http.errors import too_many_streams
from copydesk.model.event import Event, EventRange, EventType
from copydesk.model.serialization import to_json

MEDIA_TYPE = "text/event-stream"
KEEP_ALIVE = 15.0
"""Seconds without an event after which a comment is sent, so that proxies keep the connection."""
SEND_TIMEOUT = 10.0
"""Seconds after which a client that reads nothing is given up; the server could not stop before."""
RETRY = 2_000
"""Milliseconds after which a client should reconnect."""
RESET = "reset"
"""Type of the event that tells a client that events are missing."""


MAX_STREAMS = 100
"""Open streams of one token."""


class OpenStreams:
    """The open streams: how many each token has. They end when `stopping` is set."""

    def __init__(self, stopping: asyncio.Event) -> None:
        self.stopping = stopping
        self._counts: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """Open streams of all tokens."""
        return self._counts.total()

    def add(self, token_id: str) -> None:
        """Count a stream. Refuse it if the token has too many."""
        if self._counts[token_id] >= MAX_STREAMS:
            # One token must not take all connections of the server.
            raise too_many_streams(MAX_STREAMS)
        self._counts[token_id] += 1

    def remove(self, token_id: str) -> None:
        """Count a stream no longer."""
        self._counts[token_id] -= 1
        # What is left are the tokens with open streams.
        self._counts += Counter()


class EventStreamResponse(StreamingResponse):
    """The response with a stream. It ends early if the client does not read; `on_end` is called in any case."""

    body_iterator: AsyncGenerator[bytes, None]

    def __init__(self, stream: "EventStream", on_end: Callable[[], None]) -> None:
        # Not to be collected by a proxy before it is passed on.
        super().__init__(stream.read(), headers={"X-Accel-Buffering": "no"}, media_type=MEDIA_TYPE)
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_end()

    async def stream_response(self, send: Send) -> None:
        """Send the stream."""

        async def send_in_time(message: Message) -> None:
            # For each piece, not for the stream: a slow client that reads is served as long as it likes.
            async with asyncio.timeout(SEND_TIMEOUT):
                await send(message)

        # An abandoned generator would run its clean-up only when it is collected, long after the stream was counted
        # off.
        async with aclosing(self.body_iterator):
            with suppress(TimeoutError):
                await super().stream_response(send_in_time)


def format_event(event: Event) -> str:
    """Return an event as it is sent."""
    return f"id: {event.id}\nevent: {event.type}\ndata: {to_json(event)}\n\n"


def find_start(requested: int | None, available: EventRange) -> tuple[int, bool]:
    """Return the number of the event after which a stream begins, and True if events in between are missing.

    Without a `requested` one it begins after the newest. One that is greater is of another database: an older copy was
    restored.
    """
    if requested is None:
        return available.newest, False
    start = min(max(requested, available.oldest - 1), available.newest)
    return start, start != requested


class EventStream:
    """The events after one, those that come later included, until `stopping` is set or the token loses its validity."""

    def __init__(
        self,
        desk: Desk,
        start: int,
        types: Collection[EventType],
        *,
        stopping: asyncio.Event,
        is_token_valid: Callable[[], Awaitable[bool]],
        missing_since: int | None = None,
    ) -> None:
        self._desk = desk
        self._position = self._announced = start
        """The last event that was read, and the last that the client was told the number of."""
        self._types = types
        """Events of other types are left out; empty for all."""
        self._stopping = stopping
        self._is_token_valid = is_token_valid
        self._missing_since = missing_since

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Yield the stream in pieces."""
        # Sent at once, so that the client and every proxy see the start of the body even if no event comes.
        yield f"retry: {RETRY}\n\n".encode()
        if self._missing_since is not None:
            data = msgspec.json.encode({"requested": self._missing_since, "from": self._position + 1})
            yield f"id: {self._position}\nevent: {RESET}\ndata: {data.decode()}\n\n".encode()
        # One task for the whole stream; a new one for each wait would cost more than reading the events.
        stopped = asyncio.create_task(self._stopping.wait())
        waiting = None
        now = asyncio.get_running_loop().time
        keep_alive_at = now() + KEEP_ALIVE
        try:
            while not stopped.done():
                if waiting is None:
                    waiting = asyncio.create_task(self._desk.events.wait(self._position))
                timeout = max(0.0, keep_alive_at - now())
                await asyncio.wait((waiting, stopped), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                if stopped.done() or not await self._is_token_valid():
                    break
                piece = b""
                if waiting.done():
                    piece, waiting = self._format(waiting.result()), None
                # Also between events of other types, which the client does not get.
                if piece or now() >= keep_alive_at:
                    yield piece or self._format_keep_alive()
                    keep_alive_at = now() + KEEP_ALIVE
        except CopydeskError:
            # The database cannot be read, or the user was removed: the client reconnects, and is told.
            pass
        finally:
            for task in (stopped, waiting):
                if task is not None:
                    task.cancel()
                    with suppress(asyncio.CancelledError, CopydeskError):
                        await task

    def _format(self, events: tuple[Event, ...]) -> bytes:
        chosen = [event for event in events if not self._types or event.type in self._types]
        self._position = events[-1].id
        if chosen:
            self._announced = chosen[-1].id
        return "".join(map(format_event, chosen)).encode()

    def _format_keep_alive(self) -> bytes:
        # A number without data is no event, but the client remembers it: it need not read again what was left out.
        position = f"id: {self._position}\n" if self._position != self._announced else ""
        self._announced = self._position
        return f": keep-alive\n{position}\n".encode()
