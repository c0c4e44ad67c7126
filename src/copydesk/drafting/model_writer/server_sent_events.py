"""Parse server-sent events (HTML Living Standard, 9.2.6) from chunks that may be cut at any byte."""

from collections.abc import Iterator
from typing import NamedTuple

MAX_LINE_BYTES = 2**20
"""Bytes of one line, which a server could otherwise extend until the limit of the whole body."""


class ServerSentEvent(NamedTuple):
    """One event: its type, `message` if the server names none, and its data."""

    type: str
    data: str


class EventParser:
    """Incremental parser: feed it chunks, get the events that they complete."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._type = ""
        self._data: list[str] = []
        self._is_first_line = True
        self._skip_line_feed = False
        """The last chunk ended in CR: a LF at the start of the next one belongs to it."""

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """Yield the events completed by `chunk`. Raise ValueError if a line is too long."""
        if self._skip_line_feed and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._skip_line_feed = False
        self._skip_line_feed = chunk.endswith(b"\r")
        # Lines end in LF, CR or CRLF. Unlike `bytes.splitlines`, no other character ends a line.
        first, *rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._pending += first
        for line in rest:
            if event := self._read_line(bytes(self._pending)):
                yield event
            self._pending = bytearray(line)
        if len(self._pending) > MAX_LINE_BYTES:
            raise ValueError("line too long")

    def _read_line(self, line: bytes) -> ServerSentEvent | None:
        if self._is_first_line:
            line = line.removeprefix(b"\xef\xbb\xbf")
            self._is_first_line = False
        if not line:
            return self._end_event()
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._type = value
        elif name == "data":
            self._data.append(value)
        # Comments, with an empty name, keep the connection open; `id` and `retry` are for reconnecting.
        return None

    def _end_event(self) -> ServerSentEvent | None:
        event = ServerSentEvent(self._type or "message", "\n".join(self._data)) if self._data else None
        self._type, self._data = "", []
        return event
