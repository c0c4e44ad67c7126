"""Change many drafts in processes that are killed from outside at any moment.

As a script it reads lines of home, operation and delay in seconds. For each it forks a process, waits until the desk
is open, kills it after the delay, and prints exit code, completion and seconds.
"""

import asyncio
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import copydesk.desk.schedule
from copydesk.desk import Desk, open_desk
from copydesk.model.draft import Action
from copydesk.model.requests import BulkChange
from desk_fixtures import Watch, settings_at
from draft_consistency import load_drafts
from processes import Script, run_script

__all__ = ["copydesk"]
AUTO = "auto"
ARCHIVE, APPROVE, REJECT, SCHEDULE = Action.ARCHIVE, Action.APPROVE, Action.REJECT, Action.SCHEDULE
OPERATIONS = (APPROVE, REJECT, ARCHIVE, SCHEDULE, AUTO)
INITIAL_STATUS = {APPROVE: "pending_review", REJECT: "pending_review"}
"""Initial status of the drafts each operation is applied to; "approved" for the others."""
NEVER = 60.0


def affected_drafts(home: Path, operation: str) -> list[str]:
    """Return the ids of the drafts that `operation` applies to."""
    status = INITIAL_STATUS.get(Action(operation) if operation != AUTO else AUTO, "approved")
    return [draft_id for draft_id, row in load_drafts(home).items() if row["status"] == status]


async def run_operation(desk: Desk, operation: str, ids: list[str]) -> None:
    """Run one of OPERATIONS."""
    if operation == AUTO:
        await desk.schedule.auto_schedule()
    else:
        await desk.drafts.bulk(BulkChange(action=Action(operation), ids=tuple(ids)))


def run_until_killed(home: Path, operation: str, status_fd: int) -> None:
    """Run the operation; write "go" to `status_fd` when it begins and "done" when it is complete."""
    ids = affected_drafts(home, operation)

    async def run() -> None:
        async with open_desk(settings_at(home), clock=Watch()) as desk:
            await desk.drafts.counts()
            await desk._context.write(lambda *_: None)
            os.write(status_fd, b"go")
            await run_operation(desk, operation, ids)
            os.write(status_fd, b"done")

    asyncio.run(run())


def serve() -> None:
    """Run the operations named on standard input."""
    for line in sys.stdin:
        home, operation, delay = line.split()
        read_fd, write_fd = os.pipe()
        child = os.fork()
        if not child:
            run_until_killed(Path(home), operation, write_fd)
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


class ProcessResult(NamedTuple):
    """The end of a process."""

    code: int
    """-9 if it was killed."""
    completed: bool
    """The process reported completion before it ended."""
    seconds: float


class KillRunner:
    """The test's side of the script."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def run(self, home: Path, operation: str, delay: float) -> ProcessResult:
        """Run the operation on the desk in `home` and kill it `delay` seconds after it began."""
        line = self._script.call(home, operation, delay)
        code, completed, seconds = line.split()
        return ProcessResult(int(code), completed == "1", float(seconds))


@contextmanager
def kill_runner() -> Iterator[KillRunner]:
    """Run the script for the block."""
    with run_script(__file__) as script:
        yield KillRunner(script)


if __name__ == "__main__":
    serve()
