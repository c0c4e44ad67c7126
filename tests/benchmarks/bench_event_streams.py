"""Memory of the HTTP service with a thousand idle event streams, and the time until all of them get an event."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from table_row import Row

from copydesk.http.event_stream import MAX_STREAMS
from store_fixtures import database_variables

STREAMS, STREAMS_PER_TOKEN = 1_000, MAX_STREAMS
MEMORY_TARGET, TIME_TARGET = 60.0, 5.0
COPYDESK = (sys.executable, "-m", "copydesk", "--home")
FIRST_BYTES = b"retry: 2000\n\n"


class Server:
    """A server process and its tokens."""

    def __init__(self, home: str) -> None:
        # Several, as each may make 600 requests a minute.
        self.tokens = [self._create_token(home, number) for number in range(STREAMS // STREAMS_PER_TOKEN + 1)]
        self.process = subprocess.Popen([*COPYDESK, home, "serve", "--port", "0"], stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        announced = re.search(r":(\d+) ", self.process.stderr.readline())
        assert announced is not None
        self.port = int(announced[1])

    def _create_token(self, home: str, number: int) -> str:
        command = [*COPYDESK, home, "token", "create", "--name", str(number), "--scope", "draft", "--json"]
        return str(json.loads(subprocess.check_output(command))["token"])

    @property
    def memory(self) -> float:
        """The resident memory in megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    async def request(
        self, token: str, method: str, path: str, body: bytes = b""
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Send a request; return its connection after the headers of the response."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        headers = await reader.readuntil(b"\r\n\r\n")
        assert headers.startswith(b"HTTP/1.1 20"), headers
        return reader, writer


def measure() -> list[Row]:
    """Return the rows of the table."""
    with TemporaryDirectory() as home:
        os.environ.update(database_variables(Path(home)))
        server = Server(home)
        try:
            return asyncio.run(_measure(server))
        finally:
            server.process.terminate()
            server.process.wait()


async def _measure(server: Server) -> list[Row]:
    # The modules of a stream are loaded, and one of everything exists.
    reader, writer = await server.request(server.tokens[-1], "GET", "/events")
    await reader.readuntil(FIRST_BYTES)
    before = server.memory
    streams = [await _open_stream(server, server.tokens[number // STREAMS_PER_TOKEN]) for number in range(STREAMS)]
    grown = server.memory - before
    started = time.perf_counter()
    await server.request(server.tokens[-1], "POST", "/drafts", b'{"text": "A ferry."}')
    await asyncio.gather(*(reader.readuntil(b"event: draft.created") for reader, _ in streams))
    took = time.perf_counter() - started
    for _, stream_writer in (*streams, (reader, writer)):
        stream_writer.close()
    return [
        _row(
            f"{STREAMS:,} idle event streams",
            f"{grown:.1f} MB",
            f"under {MEMORY_TARGET:g} MB",
            grown < MEMORY_TARGET,
            grown,
        ),
        _row(
            f"an event reaches {STREAMS:,} streams",
            f"{took:.2f} s",
            f"under {TIME_TARGET:g} s",
            took < TIME_TARGET,
            took,
        ),
    ]


async def _open_stream(server: Server, token: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await server.request(token, "GET", "/events")
    await reader.readuntil(FIRST_BYTES)
    return reader, writer


def _row(label: str, ours: str, target: str, ok: bool, figure: float) -> Row:
    return Row(label, ours, "", "", target, ok, figure)
