"""Runs in processes of their own that are killed at the moment that the test chose.

As a script it reads lines of home, moment and delay, forks a run for each, and prints how it ended. What a run needs
is imported by then, so that each one takes milliseconds to start.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, event

import copydesk.drafting.checks
import copydesk.drafting.extractive
import copydesk.ingest.fetch
import copydesk.ingest.reading
from copydesk.desk import open_desk
from copydesk.model.run import RunRequest
from desk_fixtures import Watch, settings_at

__all__ = ["copydesk"]
ALL = RunRequest(max_drafts=1000)


def run_until_killed(home: str, moment: int, delay: float) -> None:
    """Run the pipeline of the desk in `home`; SIGKILL `delay` seconds after its `moment`-th step or statement."""
    count = 0

    def tick(*_: object, **__: object) -> None:
        nonlocal count
        count += 1
        if count == moment:
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()

    event.listen(Engine, "before_cursor_execute", tick)
    event.listen(Engine, "commit", tick)

    async def work() -> None:
        settings = settings_at(Path(home), network__allow_private="true")
        async with open_desk(settings, clock=Watch()) as desk:
            await desk.pipeline.run(ALL, tick)

    asyncio.run(work())


def serve() -> None:
    """Do what the lines on standard input say."""
    for line in sys.stdin:
        home, moment, delay = line.split()
        child = os.fork()
        if not child:
            run_until_killed(home, int(moment), float(delay))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


class Doom:
    """The script, for the test."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, home: Path, moment: int, delay: float = 0) -> int:
        """A run that is killed; its exit code, -9 for a killed one."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{home} {moment} {delay}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def doom() -> Iterator[Doom]:
    """Start the script, and end it."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Doom(process)


if __name__ == "__main__":
    serve()
