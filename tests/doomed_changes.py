"""Changes of many drafts, in processes that are killed from outside at any moment.

As a script it reads lines of home, work and delay in seconds, forks a process for each, lets it begin when all is open
and imported, kills it that long after, and prints how it ended and whether it had said that it was done.
"""

import asyncio
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import copydesk.desk.schedule
from copydesk.desk import Desk, open_desk
from copydesk.model.change import BulkChange
from copydesk.model.draft import Action
from desk_fixtures import Watch, settings_at
from proof_desk import drafts_in

__all__ = ["copydesk"]
AUTO = "auto"
ARCHIVE, APPROVE, REJECT, SCHEDULE = Action.ARCHIVE, Action.APPROVE, Action.REJECT, Action.SCHEDULE
WORKS = (APPROVE, REJECT, ARCHIVE, SCHEDULE, AUTO)
STARTS_AS = {APPROVE: "pending_review", REJECT: "pending_review"}
"""Of which drafts each work does a hundred; the others of those that are approved."""
NEVER = 60.0


def concerned(home: Path, work: str) -> list[str]:
    """The drafts that `work` is to be done to."""
    status = STARTS_AS.get(Action(work) if work != AUTO else AUTO, "approved")
    return [draft_id for draft_id, row in drafts_in(home).items() if row["status"] == status]


async def do(desk: Desk, work: str, ids: list[str]) -> None:
    """Carry out one of WORKS."""
    if work == AUTO:
        await desk.schedule.auto()
    else:
        await desk.drafts.bulk(BulkChange(action=Action(work), ids=tuple(ids)))


def work_until_killed(home: Path, work: str, says: int) -> None:
    """Do it, saying when it begins and when it is done; then wait for the end."""
    ids = concerned(home, work)

    async def begin() -> None:
        async with open_desk(settings_at(home), clock=Watch()) as desk:
            await desk.drafts.counts()
            await desk.ground.write(lambda *_: None)
            os.write(says, b"go")
            await do(desk, work, ids)
            os.write(says, b"done")

    asyncio.run(begin())


def serve() -> None:
    """Do what the lines on standard input say."""
    for line in sys.stdin:
        home, work, delay = line.split()
        hears, says = os.pipe()
        child = os.fork()
        if not child:
            work_until_killed(Path(home), work, says)
            os._exit(0)
        os.close(says)
        done, took = _watch(child, hears, float(delay))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), int(done), took, flush=True)


def _watch(child: int, hears: int, delay: float) -> tuple[bool, float]:
    """Kill the child so long after it began, or when it is done; whether it was, and how long it had."""
    assert os.read(hears, 2) == b"go"
    began = time.monotonic()
    select.select([hears], [], [], delay)
    took = time.monotonic() - began
    os.kill(child, signal.SIGKILL)
    with os.fdopen(hears, "rb") as rest:
        return rest.read() == b"done", took


class Ended(NamedTuple):
    """How a process ended."""

    code: int
    """-9 where it was killed."""
    done: bool
    """It had said that it was done."""
    took: float
    """Seconds."""


class Doom:
    """The script, for the test."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def work(self, home: Path, work: str, delay: float) -> Ended:
        """Work on the desk in `home`, killed `delay` seconds after it began."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{home} {work} {delay}\n")
        self._process.stdin.flush()
        code, done, took = self._process.stdout.readline().split()
        return Ended(int(code), done == "1", float(took))


@contextmanager
def doom() -> Iterator[Doom]:
    """Start the script, and end it."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Doom(process)


if __name__ == "__main__":
    serve()
