"""Run the pipeline in processes that are killed at a chosen step.

As a script it reads lines of home, step and delay, forks a run for each, and prints its exit code. The parent has
imported everything a run needs, so that each run starts within milliseconds.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, event

import copydesk.drafting.checks
import copydesk.drafting.offline_writer
import copydesk.ingest.registry
import copydesk.network.fetcher
from copydesk.desk import open_desk
from copydesk.model.run import RunRequest
from desk_fixtures import Watch, settings_at
from processes import Script, run_script

__all__ = ["copydesk"]
FULL_RUN = RunRequest(max_drafts=1000)


def run_until_killed(home: str, step: int, delay: float) -> None:
    """Run the pipeline in `home`.

    SIGKILL the process `delay` seconds after progress event or SQL statement number `step`.
    """
    count = 0

    def count_step(*_: object, **__: object) -> None:
        nonlocal count
        count += 1
        if count == step:
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()

    event.listen(Engine, "before_cursor_execute", count_step)
    event.listen(Engine, "commit", count_step)

    async def run_pipeline() -> None:
        settings = settings_at(Path(home), network__allow_private="true")
        async with open_desk(settings, clock=Watch()) as desk:
            await desk.pipeline.run(FULL_RUN, count_step)

    asyncio.run(run_pipeline())


def serve() -> None:
    """Execute the runs named on standard input."""
    for line in sys.stdin:
        home, step, delay = line.split()
        child = os.fork()
        if not child:
            run_until_killed(home, int(step), float(delay))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


class KillRunner:
    """The test's side of the script."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def run(self, home: Path, step: int, delay: float = 0) -> int:
        """Run the pipeline and kill it; return the exit code, -9 if it was killed."""
        line = self._script.call(home, step, delay)
        return int(line)


@contextmanager
def kill_runner() -> Iterator[KillRunner]:
    """Run the script for the block."""
    with run_script(__file__) as script:
        yield KillRunner(script)


if __name__ == "__main__":
    serve()
