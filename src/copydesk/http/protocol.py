"""The HTTP protocol of one connection: uvicorn's, with limits on connections and on the heads of requests.

uvicorn waits forever for the headers of a request, and httptools keeps headers of any size.
"""

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from copydesk.http import errors
from copydesk.http.responses import PROBLEM_TYPE

MAX_CONNECTIONS = 4_000
HEAD_TIMEOUT = 30.0
"""Seconds in which the request line and the headers have to arrive."""
MAX_HEAD = 64 * 1024
"""Bytes of the request line and the headers, as in h11."""
MAX_UNREAD_BODY = 32 * 2**20
"""Bytes of a body that still arrive after its request was refused; more than the largest upload."""

if TYPE_CHECKING:
    # The one that is installed: httptools or h11. Both have these.
    class _Protocol(asyncio.Protocol):
        cycle: Any
        connections: set[Any]
        loop: asyncio.AbstractEventLoop
        transport: asyncio.Transport
else:
    _Protocol = AutoHTTPProtocol


class HttpProtocol(_Protocol):
    """Close connections that are too many, and those whose headers are late or too large.

    What is no request is answered with a problem, too.
    """

    _deadline: asyncio.TimerHandle | None = None
    _received = 0
    """Bytes since the last complete head, without those of a body in progress."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._start_deadline()
        if len(self.connections) > MAX_CONNECTIONS:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "There are too many connections.")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        cycle = self.cycle
        if self._is_between_bodies or cycle.response_complete:
            self._received += len(data)
            self._start_deadline()
        super().data_received(data)
        if self.cycle is not cycle:
            self._stop_deadline()
            self._received = 0
        elif self._received > (MAX_HEAD if self._is_between_bodies else MAX_UNREAD_BODY):
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"The headers are larger than {MAX_HEAD:,} bytes.")

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, as uvicorn calls it, and close the connection."""
        self._refuse(HTTPStatus.BAD_REQUEST, msg)

    def close_unfinished(self) -> None:
        """Close the connection if a request is being read whose body is not complete."""
        if not self._is_between_bodies:
            self.transport.close()

    @property
    def _is_between_bodies(self) -> bool:
        """True if what arrives is the head of a request, and no part of a body."""
        return self.cycle is None or not self.cycle.more_body

    def _start_deadline(self) -> None:
        # Only once for each request: every byte would put it off otherwise.
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT, self.transport.close)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        # The response to a request before this one must not be mixed up with this one's.
        is_own_turn = self.cycle is None or self.cycle.response_complete
        if is_own_turn and self._is_between_bodies and not self.transport.is_closing():
            content = msgspec.json.encode(errors.unreadable(status, detail).problem)
            head = (
                f"HTTP/1.1 {status} {status.phrase}\r\nContent-Type: {PROBLEM_TYPE}\r\n"
                f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + content)
        self.transport.close()
