"""`copydesk --web` as a user starts it: a process of its own, and the consoles behind its pages."""

import asyncio
import re
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from processes import alive

PATIENCE = 60.0
"""Seconds; it takes one on an idle machine."""


class Served:
    """A server, and what it prints."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process = process
        self.port = port
        self.site = f"http://127.0.0.1:{port}"
        self.used = ""
        """The last address that was asked for."""
        self.said = ""
        """What it printed after its addresses, at its end."""

    async def address(self) -> str:
        """The next address that it prints."""
        assert self.process.stdout is not None
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:\d+/\?key=\S+", said)):
            line = await asyncio.wait_for(self.process.stdout.readline(), PATIENCE)
            assert line, f"It ended, and said {said!r}."
            said += line.decode()
        self.used = found[0]
        return self.used

    def consoles(self) -> list[int]:
        """The processes of its consoles."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(child) for child in children.read_text(encoding="ascii").split()]

    async def end(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it as Ctrl-C does, or another way."""
        if self.process.returncode is None:
            self.process.send_signal(how)
            rest, _ = await asyncio.wait_for(self.process.communicate(), PATIENCE)
            self.said += rest.decode()


@asynccontextmanager
async def served(home: Path) -> AsyncIterator[Served]:
    """Serve the sample desk in `home`."""
    port = free_port()
    words = ("-m", "copydesk", "--home", str(home), "--sample", "--web", "--port", str(port))
    said = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    process = await asyncio.create_subprocess_exec(sys.executable, *words, **said)
    server = Served(process, port)
    try:
        yield server
    finally:
        await server.end()


async def until_gone(process: int) -> None:
    """Wait until there is no such process any more."""
    until = time.monotonic() + PATIENCE
    while alive(process):
        assert time.monotonic() < until, f"The process {process} never ended."
        await asyncio.sleep(0.03)


def free_port() -> int:
    """A port on the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
