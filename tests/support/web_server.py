"""Run `copydesk --web` in a process of its own, as a user does."""

import asyncio
import re
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from processes import is_running

TIMEOUT = 60.0
"""Seconds. It takes one on an idle machine."""


class WebServer:
    """A running server and its output."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process = process
        self.port = port
        self.origin = f"http://127.0.0.1:{port}"
        self.last_address = ""
        """The last URL returned by `next_address`."""
        self.output = ""
        """Output after the addresses, complete once the server has stopped."""

    async def next_address(self) -> str:
        """Return the next console URL the server prints."""
        assert self.process.stdout is not None
        output = ""
        while not (found := re.search(r"http://127\.0\.0\.1:\d+/#key=\S+", output)):
            line = await asyncio.wait_for(self.process.stdout.readline(), TIMEOUT)
            assert line, f"It ended, and said {output!r}."
            output += line.decode()
        self.last_address = found[0]
        return self.last_address

    def console_pids(self) -> list[int]:
        """Return the process ids of the server's consoles."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(child) for child in children.read_text(encoding="ascii").split()]

    async def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server with a signal, by default as Ctrl-C does."""
        if self.process.returncode is None:
            self.process.send_signal(how)
            output, _ = await asyncio.wait_for(self.process.communicate(), TIMEOUT)
            self.output += output.decode()


@asynccontextmanager
async def start_web_console(home: Path) -> AsyncIterator[WebServer]:
    """Serve the sample desk in `home`."""
    port = find_free_port()
    arguments = ("-m", "copydesk", "--home", str(home), "--sample", "--web", "--port", str(port))
    streams = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, **streams)
    server = WebServer(process, port)
    try:
        yield server
    finally:
        await server.stop()


async def wait_for_exit(pid: int) -> None:
    """Wait until the process has ended."""
    deadline = time.monotonic() + TIMEOUT
    while is_running(pid):
        assert time.monotonic() < deadline, f"The process {pid} never ended."
        await asyncio.sleep(0.03)


def find_free_port() -> int:
    """Return an unused port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
