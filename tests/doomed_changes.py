"""Change many drafts in processes that are killed from outside at any moment.

As a script it reads lines of home, operation and delay in seconds. For each it forks a process, waits until the desk
is open, kills it after the delay, and prints exit code, completion and seconds.
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
"""Initial status of the drafts each operation is applied to; "approved" for the others."""
NEVER = 60.0


def concerned(home: Path, work: str) -> list[str]:
    """Return the ids of the drafts that `operation` applies to."""
    status = STARTS_AS.get(Action(work) if work != AUTO else AUTO, "approved")
    return [draft_id for draft_id, row in drafts_in(home).items() if row["status"] == status]


async def do(desk: Desk, work: str, ids: list[str]) -> None:
    """Run one of OPERATIONS."""
    if work == AUTO:
        await desk.schedule.auto()
    else:
        await desk.drafts.bulk(BulkChange(action=Action(work), ids=tuple(ids)))


def work_until_killed(home: Path, work: str, says: int) -> None:
    """Run the operation; write "go" to `status_fd` when it begins and "done" when it is complete."""
    ids = concerned(home, work)

    async def run() -> None:
        async with open_desk(settings_at(home), clock=Watch()) as desk:
            await desk.drafts.counts()
            await desk.ground.write(lambda *_: None)
            os.write(says, b"go")
            await do(desk, work, ids)
            os.write(says, b"done")

    asyncio.run(run())


def serve() -> None:
    """Run the operations named on standard input."""
    for line in sys.stdin:
        home, operation, delay = line.split()
        read_fd, write_fd = os.pipe()
        child = os.fork()
        if not child:
            work_until_killed(Path(home), operation, write_fd)
            os._exit(0)
        os.close(write_fd)
        completed, seconds = _kill_after(child, read_fd, float(delay))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), int(completed), seconds, flush=True)


def _kill_after(child: int, read_fd: int, delay: float) -> tuple[bool, float]:
    """Kill the child `delay` seconds after it began, or when complete.

    Return whether it completed and the seconds it ran.
    """
    assert os.read(read_fd, 2) == b"go"
    started = time.monotonic()
    select.select([read_fd], [], [], delay)
    seconds = time.monotonic() - started
    os.kill(child, signal.SIGKILL)
    with os.fdopen(read_fd, "rb") as pipe:
        return pipe.read() == b"done", seconds


class Ended(NamedTuple):
    """The end of a process."""

    code: int
    """-9 if it was killed."""
    done: bool
    """The process reported completion before it ended."""
    took: float


class Doom:
    """The test's side of the script."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def work(self, home: Path, work: str, delay: float) -> Ended:
        """Run the operation on the desk in `home` and kill it `delay` seconds after it began."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{home} {work} {delay}\n")
        self._process.stdin.flush()
        code, completed, seconds = self._process.stdout.readline().split()
        return Ended(int(code), completed == "1", float(seconds))


@contextmanager
def doom() -> Iterator[Doom]:
    """Run the script for the block."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Doom(process)


if __name__ == "__main__":
    serve()
