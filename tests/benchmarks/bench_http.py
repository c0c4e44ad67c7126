"""The HTTP service on 100,000 drafts: pages and approvals beside a bare handler, start, the console.

The servers are processes of their own, each on its own copy of the database. The client is this process: raw sockets,
16 connections that send the next request as soon as they have the response.
"""

import asyncio
import os
import re
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
from bench_console_keys import InstrumentedConsole, _time_moves, percentile, percentile_row, reset_list
from large_desk import build_database
from table_row import Row

from console_driver import wait_until_idle
from copydesk.desk import Desk, open_desk, open_desks
from copydesk.http.rate_limit import LIMIT
from copydesk.model.token import Scope
from copydesk.tui.review.screen import ReviewScreen
from desk_fixtures import execute_sql, settings_at
from store_fixtures import database_variables, postgresql_server

DRAFTS, CONNECTIONS, STARTS, ROUNDS, KEY_ROUNDS = 100_000, 16, 5, 5, 3
PAGES, APPROVALS, TOKENS = 400, 200, 40
"""Requests of a round; the tokens are enough to stay below the rate limit."""
PACE = 0.005
"""Seconds between two requests while the console's keys are measured."""
PAGE_TARGET, APPROVE_TARGET, READY_TARGET, MAX_KEYS_RATIO = 0.6, 0.5, 1.5, 1.5
BARE_SERVICE = Path(__file__).with_name("bare_service.py")


class Server(NamedTuple):
    """A running server."""

    process: subprocess.Popen[str]
    port: int


class Load(NamedTuple):
    """The result of many requests."""

    rate: float
    """Requests per second."""
    milliseconds: list[float]
    """Of each request."""


def measure() -> list[Row]:
    """Return the rows of the table."""
    with TemporaryDirectory() as folder:
        home, bare_home = Path(folder) / "service", Path(folder) / "bare"
        build_database(home, DRAFTS)
        _end_waiting(home)
        tokens = asyncio.run(_create_tokens(home))
        drafts = asyncio.run(_list_reviewable(home))
        ready = [_time_start(home) for _ in range(STARTS)]
        shutil.copytree(home, bare_home)
        with _service(home) as service, _bare_service(bare_home) as bare:
            pages, approvals = _measure_requests(service, bare, tokens, drafts)
            keys_alone, keys = asyncio.run(_measure_keys(home, service, tokens))
    ready_time = statistics.median(ready)
    return [
        *_rows(f"GET /drafts?limit=25 among {DRAFTS:,} drafts, {CONNECTIONS} connections", pages, PAGE_TARGET),
        *_rows(f"PATCH approve, {CONNECTIONS} connections", approvals, APPROVE_TARGET),
        Row(
            "`copydesk serve` until /readyz responds",
            f"{ready_time:.2f} s",
            "",
            "",
            f"at most {READY_TARGET:g} s",
            ready_time <= READY_TARGET,
            ready_time,
        ),
        percentile_row(
            f"a key of the console while the service sends {1 / PACE:g} pages a second at most",
            keys,
            keys_alone,
            MAX_KEYS_RATIO,
            baseline="while it sends none",
        ),
    ]


def _rows(label: str, rounds: Sequence[tuple[Load, Load]], target: float) -> list[Row]:
    """Return the row about requests per second, and the one about the 99th percentiles. Each round has both sides."""
    ours, bare = (max(loads, key=lambda load: load.rate) for loads in zip(*rounds, strict=True))
    ratio = statistics.median(one.rate / other.rate for one, other in rounds)
    slowest, slowest_bare = (percentile(load.milliseconds) for load in (ours, bare))
    return [
        Row(
            label,
            f"{ours.rate:,.0f} requests/s",
            f"a bare handler {bare.rate:,.0f}",
            f"{ratio:.2f}",
            f"at least {target:g}",
            ratio >= target,
            # The time of a request on each connection, so that less is better, as elsewhere.
            CONNECTIONS / ours.rate,
        ),
        Row(
            f"{label}: 99th percentile",
            f"{slowest:.1f} ms",
            f"a bare handler {slowest_bare:.1f} ms",
            "",
            "",
            None,
            slowest,
        ),
    ]


def _end_waiting(home: Path) -> None:
    """Let no draft wait for its text: the service would write it, beside what is measured."""
    execute_sql(
        home,
        "UPDATE draft SET status = 'pending_review' WHERE status IN ('pending_generation', 'pending_regeneration')",
    )


async def _create_tokens(home: Path) -> list[str]:
    async with open_desks(settings_at(home)) as desks:
        desk = await desks.get(desks.owner)
        return [(await desk.tokens.create(f"client {number}", Scope.PUBLISH)).secret for number in range(TOKENS)]


async def _list_reviewable(home: Path) -> list[str]:
    async with open_desk(settings_at(home)) as desk:
        return await _list_ids(desk)


async def _list_ids(desk: Desk) -> list[str]:
    ids = await desk.drafts.matching_ids(status="pending_review", archived="exclude")
    return list(ids[: APPROVALS * ROUNDS])


@contextmanager
def _service(home: Path) -> Iterator[Server]:
    environment = os.environ | database_variables(home) | {"COPYDESK_HOME": str(home)}
    command = [sys.executable, "-m", "copydesk", "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            started = re.search(r":(\d+) ", line)
            assert started, line
            yield Server(process, int(started[1]))
        finally:
            process.terminate()


@contextmanager
def _bare_service(home: Path) -> Iterator[Server | None]:
    """Run the bare handler; None on PostgreSQL, where the service is compared with itself on SQLite."""
    if postgresql_server() is not None:
        yield None
        return
    command = [sys.executable, str(BARE_SERVICE), str(home / "copydesk.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(process, int(process.stdout.readline()))
        finally:
            process.terminate()


def _time_start(home: Path) -> float:
    """Return the seconds from the start of the process to the response of /readyz."""
    started = time.perf_counter()
    with _service(home) as server:
        _, body = asyncio.run(_send_one(server, _request("GET", "/readyz")))
        assert body == b'{"status":"ready"}', body
        return time.perf_counter() - started


def _request(method: str, path: str, token: str = "", body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join([*lines, "", ""]).encode() + body


async def _send_one(server: Server, request: bytes) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        return await _send(reader, writer, request)
    finally:
        writer.close()


async def _send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> tuple[int, bytes]:
    """Return status and body."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return int(head[9:12]), await reader.readexactly(int(length[1])) if length else b""


class _Connection:
    """A connection that sends one request after the other. It reads with as few calls as possible."""

    def __init__(self, port: int, requests: Iterator[bytes]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.milliseconds: list[float] = []
        self._requests = requests
        self._buffer = memoryview(bytearray(2**20))
        self._received = 0

    def send_next(self) -> bool:
        """Send the next request; return False if there is none left."""
        request = next(self._requests, None)
        if request is not None:
            self._received, self._started = 0, time.perf_counter()
            self.socket.sendall(request)
        return request is not None

    def receive(self) -> bool:
        """Read what has arrived; return True once the response is complete."""
        self._received += self.socket.recv_into(self._buffer[self._received :])
        head, end, _ = bytes(self._buffer[: min(self._received, 2_000)]).partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if not end or length is None or self._received < len(head) + len(end) + int(length[1]):
            return False
        assert head.startswith(b"HTTP/1.1 200"), head
        self.milliseconds.append(1000 * (time.perf_counter() - self._started))
        return True


def _load(server: Server, requests: Sequence[bytes]) -> Load:
    """Send the requests over all connections; each must get 200."""
    remaining = iter(requests)
    connections = [_Connection(server.port, remaining) for _ in range(CONNECTIONS)]
    started = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            connection.send_next()
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        while selector.get_map():
            for key, _ in selector.select():
                if key.data.receive() and not key.data.send_next():
                    selector.unregister(key.fileobj)
                    key.data.socket.close()
    seconds = time.perf_counter() - started
    return Load(len(requests) / seconds, [value for connection in connections for value in connection.milliseconds])


def _measure_requests(
    service: Server, bare: Server | None, tokens: Sequence[str], drafts: Sequence[str]
) -> tuple[list[tuple[Load, Load]], list[tuple[Load, Load]]]:
    """Measure pages, then approvals, on both servers in turn; without the bare one the service is both."""
    assert (PAGES + APPROVALS) * (ROUNDS + 1) < TOKENS * LIMIT
    page = [_request("GET", "/drafts?limit=25", token) for token, _ in zip(cycle(tokens), range(PAGES), strict=False)]
    if bare is not None:
        ours, theirs = asyncio.run(_send_one(service, page[0])), asyncio.run(_send_one(bare, page[0]))
        assert msgspec.json.decode(ours[1]) == msgspec.json.decode(theirs[1])
    for server in filter(None, (service, bare)):
        _load(server, page)
    pages = [_load_both(service, bare, page) for _ in range(ROUNDS)]
    approvals = []
    for number in range(ROUNDS):
        ids = drafts[number * APPROVALS : (number + 1) * APPROVALS]
        patches = [
            _request("PATCH", f"/drafts/{draft_id}", token, b'{"action":"approve"}')
            for draft_id, token in zip(ids, cycle(tokens), strict=False)
        ]
        approvals.append(_load_both(service, bare, patches))
    return pages, approvals


def _load_both(service: Server, bare: Server | None, requests: Sequence[bytes]) -> tuple[Load, Load]:
    ours = _load(service, requests)
    return ours, ours if bare is None else _load(bare, requests)


async def _measure_keys(home: Path, service: Server, tokens: Sequence[str]) -> tuple[list[float], list[float]]:
    """Return the milliseconds of moves in a console on the same database, alone and while pages are requested."""
    app = InstrumentedConsole(lambda: open_desk(settings_at(home)))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until_idle(pilot)
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        alone, loaded = list[float](), list[float]()
        # In turn, as the machine's speed changes from one minute to the next.
        for _ in range(KEY_ROUNDS):
            alone += await _time_moves(app, screen)
            await reset_list(app, screen, pilot)
            async with _steady_load(service, tokens):
                loaded += await _time_moves(app, screen)
            await reset_list(app, screen, pilot)
    return alone, loaded


@asynccontextmanager
async def _steady_load(service: Server, tokens: Sequence[str]) -> AsyncIterator[None]:
    """Request pages one after the other from a process of its own."""
    command = [sys.executable, __file__, str(service.port), *tokens]
    client = await asyncio.create_subprocess_exec(*command)
    try:
        yield
    finally:
        client.terminate()
        await client.wait()


async def _request_forever(port: int, tokens: Sequence[str]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    for token in cycle(tokens):
        status, _ = await _send(reader, writer, _request("GET", "/drafts?limit=25", token))
        assert status == 200, status
        await asyncio.sleep(PACE)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(_request_forever(int(sys.argv[1]), sys.argv[2:]))
    else:
        print(*measure(), sep="\n")
