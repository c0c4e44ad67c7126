"""One of several processes that change the same drafts at random, as fast as possible.

As a script, `home seed steps kind`: prints `ready`, waits for a line, and prints its results as JSON. The kind is
`desk`, or `commands` for one that calls the command line.
"""

import asyncio
import json
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import copydesk.desk.schedule
from cli_runner import run_in_process
from copydesk.desk import Desk, open_desk
from copydesk.errors import ConflictError, StoreBusyError
from copydesk.model.draft import BULK_ACTIONS, Action
from copydesk.model.requests import BulkChange, ChangeDraft
from desk_fixtures import Watch, settings_at
from draft_consistency import load_drafts

__all__ = ["copydesk"]
BUSY_TIMEOUT = 0.3
"""Seconds that a racer waits for a lock."""
LATER = Watch().now.replace(year=2027)


class Racer:
    """Applies random changes and records the results."""

    def __init__(self, desk: Desk, ids: list[str], seed: int) -> None:
        self.desk = desk
        self.ids = ids
        self.seed = seed
        self.rng = random.Random(seed)
        self.changed: list[tuple[str, int, str]] = []
        """Draft id, version and text of each successful change of one draft."""
        self.done = 0
        """Number of successful draft changes, including bulk changes and undo."""
        self.refused: list[str] = []
        self.wrong: list[str] = []
        """Errors other than conflicts."""

    async def step(self) -> None:
        """Apply one random operation."""
        operations: list[Callable[[], Awaitable[int]]] = [
            self._change,
            self._change,
            self._edit,
            self._bulk,
            self._undo_or_redo_one,
        ]
        operation = self.rng.choice([*operations, self._undo_or_redo, self._auto_schedule])
        try:
            self.done += await operation()
        except (ConflictError, StoreBusyError) as error:
            self.refused.append(str(error))
        except Exception as error:
            self.wrong.append(f"{operation.__name__}: {error!r}")

    async def _change(self) -> int:
        action = self.rng.choice([action for action in Action if action is not Action.POST])
        at = LATER if action is Action.RESCHEDULE else None
        await self._apply(ChangeDraft(action=action, scheduled_at=at))
        return 1

    async def _edit(self) -> int:
        await self._apply(ChangeDraft(text=f"Racer {self.seed} was here for the {len(self.changed)}th time."))
        return 1

    async def _apply(self, request: ChangeDraft) -> None:
        draft = await self.desk.drafts.change(self.rng.choice(self.ids), request)
        self.changed.append((draft.id, draft.version, draft.text))

    async def _bulk(self) -> int:
        action, ids = self.rng.choice(BULK_ACTIONS), tuple(self.rng.sample(self.ids, 20))
        at = LATER if action is Action.RESCHEDULE else None
        outcome = await self.desk.drafts.bulk(BulkChange(action=action, ids=ids, scheduled_at=at))
        self.refused += [failure.text for failure in outcome.results.failed]
        return outcome.succeeded

    async def _undo_or_redo_one(self) -> int:
        operation = self.rng.choice([self.desk.drafts.undo, self.desk.drafts.redo])
        return len((await operation(self.rng.choice(self.ids))).succeeded)

    async def _undo_or_redo(self) -> int:
        operation = self.rng.choice([self.desk.drafts.undo, self.desk.drafts.redo])
        result = await operation()
        self.refused += [failure.text for failure in result.failed]
        return len(result.succeeded)

    async def _auto_schedule(self) -> int:
        return len((await self.desk.schedule.auto_schedule(self.rng.sample(self.ids, 5))).scheduled)


class CommandRacer:
    """Calls random commands of the command line and records the results."""

    def __init__(self, home: Path, ids: list[str], seed: int) -> None:
        self.home = home
        self.ids = ids
        self.seed = seed
        self.rng = random.Random(seed)
        self.changed: list[tuple[str, int, str]] = []
        self.done = 0
        self.refused: list[str] = []
        self.wrong: list[str] = []

    def step(self) -> None:
        """Call one command."""
        action = self.rng.choice(["approve", "reject", "unapprove", "unschedule", "edit", "undo", "redo"])
        text = ("--text", f"Racer {self.seed} wrote this.") if action == "edit" else ()
        args = ("draft", action, self.rng.choice(self.ids), *text)
        result = run_in_process(self.home, *args, copydesk_database__busy_timeout=str(BUSY_TIMEOUT))
        if result.code == 0:
            self.done += 1
        elif result.code in (1, 4) and result.err.startswith("Error: ") and "Unexpected" not in result.err:
            self.refused.append(result.err)
        else:
            self.wrong.append(f"{args}: {result}")


def _wait_for_start() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


async def run_racer(home: Path, seed: int, steps: int) -> Racer:
    """Take part in one race with a desk."""
    settings = settings_at(home, database__busy_timeout=str(BUSY_TIMEOUT))
    async with open_desk(settings, clock=Watch()) as desk:
        racer = Racer(desk, list(load_drafts(home)), seed)
        _wait_for_start()
        for _ in range(steps):
            await racer.step()
    return racer


def run_command_racer(home: Path, seed: int, steps: int) -> CommandRacer:
    """Take part in one race with commands."""
    racer = CommandRacer(home, list(load_drafts(home)), seed)
    _wait_for_start()
    for _ in range(steps):
        racer.step()
    return racer


@contextmanager
def start_racers(home: Path, kinds: Sequence[str], steps: int) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Start a process of each kind; yield a function that waits for the results."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen([sys.executable, __file__, str(home), str(seed), str(steps), kind], **pipes)
            )
            for seed, kind in enumerate(kinds, 1)
        ]
        assert [process.stdout.readline() for process in processes if process.stdout] == ["ready\n"] * len(processes)
        for process in processes:
            assert process.stdin
            process.stdin.write("\n")
            process.stdin.flush()

        def wait() -> list[dict[str, Any]]:
            results = [json.loads(process.communicate()[0]) for process in processes]
            assert [process.returncode for process in processes] == [0] * len(processes)
            return results

        yield wait


def run_racers(home: Path, kinds: Sequence[str], steps: int) -> list[dict[str, Any]]:
    """Let a process of each kind race; return their results."""
    with start_racers(home, kinds, steps) as wait:
        return wait()


@contextmanager
def lock_now_and_then(home: Path, seed: int) -> Iterator[None]:
    """Hold the database's write lock for random times, some of them longer than anyone waits."""
    ended = threading.Event()

    def run() -> None:
        rng = random.Random(seed)
        with closing(sqlite3.connect(home / "copydesk.db", isolation_level=None, timeout=60)) as connection:
            while not ended.wait(rng.uniform(0, 0.1)):
                connection.execute("BEGIN IMMEDIATE")
                ended.wait(rng.choice([0.01, 0.05, 0.1, 2 * BUSY_TIMEOUT]))
                connection.execute("ROLLBACK")

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


if __name__ == "__main__":
    folder, own_seed, own_steps, own_kind = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    finished = (
        asyncio.run(run_racer(folder, own_seed, own_steps))
        if own_kind == "desk"
        else run_command_racer(folder, own_seed, own_steps)
    )
    print(json.dumps({name: getattr(finished, name) for name in ("changed", "done", "refused", "wrong")}), flush=True)
