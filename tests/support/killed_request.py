"""Carry out a request with an idempotency key in processes that are killed at a chosen SQL statement.

As a script it reads lines of home, operation and number of the statement; for each it forks a process and prints its
exit code. The parent has imported everything that an operation needs, so that each process starts within milliseconds.
"""

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, event

import copydesk.desk.idempotency
import copydesk.drafting.checks
import copydesk.drafting.offline_writer
from copydesk.desk import Desk, open_desk
from copydesk.desk.idempotency import Outcome
from copydesk.model.draft import Draft
from copydesk.model.requests import CreatedDrafts
from copydesk.model.serialization import to_json
from desk_fixtures import Watch, query_db, settings_at
from processes import Script, run_script

__all__ = ["copydesk"]
CREATE, APPROVE, BULK = "create", "approve", "bulk"
OPERATIONS = (CREATE, APPROVE, BULK)
KEY, FINGERPRINT = "key", b"fingerprint"
TEXT = "Once is enough."


async def send(desk: Desk, home: Path, operation: str) -> Outcome:
    """Carry out one of OPERATIONS under KEY; approve the newest draft, or all."""
    ids = [str(draft_id) for (draft_id,) in query_db(home, "SELECT id FROM draft ORDER BY id")]

    async def work() -> Outcome:
        if operation == CREATE:
            result: object = await desk.drafts.create({"text": TEXT})
        elif operation == APPROVE:
            result = await desk.drafts.approve(ids[-1])
        else:
            result = await desk.drafts.bulk({"action": "approve", "ids": ids})
        return Outcome(response=to_json(result).encode())

    def encode_result(result: object) -> bytes | None:
        return to_json(result).encode() if isinstance(result, CreatedDrafts | Draft) else None

    return await desk.idempotency.run(KEY, FINGERPRINT, work, encode_result)


def run_until_killed(home: Path, operation: str, statement: int) -> None:
    """Send the request; end by SIGKILL right before SQL statement number `statement` of the process."""
    count = 0

    def count_statement(_: str) -> None:
        nonlocal count
        count += 1
        if count == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    def connect(driver: sqlite3.Connection, _record: object) -> None:
        driver.set_trace_callback(count_statement)

    async def run() -> None:
        async with open_desk(settings_at(home), clock=Watch()) as desk:
            await send(desk, home, operation)

    event.listen(Engine, "connect", connect)
    asyncio.run(run())


def serve() -> None:
    """Send the requests named on standard input."""
    for line in sys.stdin:
        home, operation, statement = line.split()
        child = os.fork()
        if not child:
            run_until_killed(Path(home), operation, int(statement))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


class KillRunner:
    """The test's side of the script."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def run(self, home: Path, operation: str, statement: int) -> int:
        """Send the request and kill the process at the statement; return its exit code, -9 if it was killed."""
        line = self._script.call(home, operation, statement)
        return int(line)


@contextmanager
def kill_runner() -> Iterator[KillRunner]:
    """Run the script for the block."""
    with run_script(__file__) as script:
        yield KillRunner(script)


if __name__ == "__main__":
    serve()
