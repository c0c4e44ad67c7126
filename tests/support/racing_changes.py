"""One of several processes that change the same drafts at random, as fast as possible.

As a script, `home seed steps`: prints `ready`, waits for a line, and prints its results as JSON.
"""

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import copydesk.desk.schedule
from copydesk.desk import Desk, open_desk
from copydesk.errors import ConflictError
from copydesk.model.draft import BULK_ACTIONS, Action
from copydesk.model.requests import BulkChange, ChangeDraft
from desk_fixtures import Watch, settings_at
from draft_consistency import load_drafts

__all__ = ["copydesk"]
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
        except ConflictError as error:
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
        self.refused += [failure.error for failure in outcome.results.failed]
        return outcome.succeeded

    async def _undo_or_redo_one(self) -> int:
        operation = self.rng.choice([self.desk.drafts.undo, self.desk.drafts.redo])
        return len((await operation(self.rng.choice(self.ids))).succeeded)

    async def _undo_or_redo(self) -> int:
        operation = self.rng.choice([self.desk.drafts.undo, self.desk.drafts.redo])
        result = await operation()
        self.refused += [failure.error for failure in result.failed]
        return len(result.succeeded)

    async def _auto_schedule(self) -> int:
        return len((await self.desk.schedule.auto_schedule(self.rng.sample(self.ids, 5))).scheduled)


async def run_racer(home: Path, seed: int, steps: int) -> None:
    """Take part in one race."""
    async with open_desk(settings_at(home), clock=Watch()) as desk:
        racer = Racer(desk, list(load_drafts(home)), seed)
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(steps):
            await racer.step()
    results = {name: getattr(racer, name) for name in ("changed", "done", "refused", "wrong")}
    print(json.dumps(results), flush=True)


def run_racers(home: Path, seeds: list[int], steps: int) -> list[dict[str, Any]]:
    """Let one process per seed race; return their results."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [
        subprocess.Popen([sys.executable, __file__, str(home), str(seed), str(steps)], **pipes) for seed in seeds
    ]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * len(processes)
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    results = [json.loads(process.communicate()[0]) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return results


if __name__ == "__main__":
    asyncio.run(run_racer(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
