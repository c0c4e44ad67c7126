"""Run `copydesk serve` in a process of its own, and kill it."""

import asyncio
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from cli_runner import COMMAND, make_environment
from copydesk.desk import open_desks
from copydesk.model.token import Scope
from copydesk.settings import load
from store_fixtures import database_variables

TIMEOUT = 60.0
"""Seconds. The start takes one on an idle machine."""


class ServerProcess:
    """A running server."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self.process = process
        self.url = url

    async def kill(self) -> None:
        """End the process at once, wherever it is."""
        self.process.kill()
        await self.process.wait()

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Stop it with a signal; return the exit code and what it printed after the start."""
        self.process.send_signal(how)
        return await self.wait()

    async def wait(self) -> tuple[int, str]:
        """Wait until it has stopped; return the exit code and what it printed after the start."""
        _, output = await asyncio.wait_for(self.process.communicate(), TIMEOUT)
        assert self.process.returncode is not None
        return self.process.returncode, output.decode()


async def start_server(
    home: Path, command: Sequence[str] = COMMAND, *, options: Sequence[str] = ("--port", "0"), **variables: str
) -> ServerProcess:
    """Start a server, by default on a free port, and wait until it accepts requests.

    `variables` are added to its environment.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        "serve",
        *options,
        env=make_environment(home, **variables),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    output = ""
    while not (found := re.search(r"Serving on (\S+)", output)):
        line = await asyncio.wait_for(process.stderr.readline(), TIMEOUT)
        assert line, f"It ended, and said {output!r}."
        output += line.decode()
    return ServerProcess(process, found[1])


@asynccontextmanager
async def running_server(
    home: Path, command: Sequence[str] = COMMAND, **variables: str
) -> AsyncIterator[ServerProcess]:
    """Run a server for the block."""
    server = await start_server(home, command, **variables)
    try:
        yield server
    finally:
        if server.process.returncode is None:
            await server.kill()


async def create_tokens(home: Path, count: int) -> list[str]:
    """Create tokens of the owner with the scope review; return their secrets."""
    async with open_desks(load(database_variables(home), home)) as desks:
        desk = await desks.get(desks.owner)
        return [(await desk.tokens.create(f"client {number}", Scope.REVIEW)).secret for number in range(count)]


def run_patched(statements: str) -> tuple[str, ...]:
    """Return a command like COMMAND that executes `statements` first."""
    return (sys.executable, "-c", f"{statements}\nfrom copydesk.cli import main\nmain()")
