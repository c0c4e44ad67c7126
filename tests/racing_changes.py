"""One of several processes that change the same drafts at random, as fast as they can.

As a script, `home seed seconds`: says `ready`, waits for a line, and prints what it was answered as JSON.
"""

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import copydesk.desk.schedule
from copydesk.desk import Desk, open_desk
from copydesk.errors import ConflictError
from copydesk.model.change import BulkChange, ChangeDraft
from copydesk.model.draft import BULK_ACTIONS, Action
from desk_fixtures import Watch, settings_at
from proof_desk import drafts_in

__all__ = ["copydesk"]
LATER = Watch().now.replace(year=2027)


class Racer:
    """Random changes, and what was answered to each."""

    def __init__(self, desk: Desk, ids: list[str], seed: int) -> None:
        self.desk = desk
        self.ids = ids
        self.seed = seed
        self.rng = random.Random(seed)
        self.changed: list[tuple[str, int, str]] = []
        """Draft, version and text of each single change that was done."""
        self.done = 0
        """How many changes of one draft were done in all, bulk and undo among them."""
        self.refused: list[str] = []
        self.wrong: list[str] = []
        """What was answered and is neither done nor a conflict."""

    async def one(self) -> None:
        """One random thing."""
        kinds: list[Callable[[], Awaitable[int]]] = [self._change, self._change, self._edit, self._bulk, self._back]
        kind = self.rng.choice([*kinds, self._all_back, self._auto])
        try:
            self.done += await kind()
        except ConflictError as error:
            self.refused.append(str(error))
        except Exception as error:
            self.wrong.append(f"{kind.__name__}: {error!r}")

    async def _change(self) -> int:
        action = self.rng.choice([action for action in Action if action is not Action.POST])
        at = LATER if action is Action.RESCHEDULE else None
        await self._answered(ChangeDraft(action=action, scheduled_at=at))
        return 1

    async def _edit(self) -> int:
        await self._answered(ChangeDraft(text=f"Racer {self.seed} was here for the {len(self.changed)}th time."))
        return 1

    async def _answered(self, asked: ChangeDraft) -> None:
        draft = await self.desk.drafts.change(self.rng.choice(self.ids), asked)
        self.changed.append((draft.id, draft.version, draft.text))

    async def _bulk(self) -> int:
        action, ids = self.rng.choice(BULK_ACTIONS), tuple(self.rng.sample(self.ids, 20))
        at = LATER if action is Action.RESCHEDULE else None
        outcome = await self.desk.drafts.bulk(BulkChange(action=action, ids=ids, scheduled_at=at))
        self.refused += [failure.error for failure in outcome.results.failed]
        return outcome.succeeded

    async def _back(self) -> int:
        work = self.rng.choice([self.desk.drafts.undo, self.desk.drafts.redo])
        return len((await work(self.rng.choice(self.ids))).succeeded)

    async def _all_back(self) -> int:
        work = self.rng.choice([self.desk.drafts.undo, self.desk.drafts.redo])
        undone = await work()
        self.refused += [failure.error for failure in undone.failed]
        return len(undone.succeeded)

    async def _auto(self) -> int:
        return len((await self.desk.schedule.auto(self.rng.sample(self.ids, 5))).scheduled)


async def race(home: Path, seed: int, seconds: float) -> None:
    """Take part in one race."""
    async with open_desk(settings_at(home), clock=Watch()) as desk:
        racer = Racer(desk, list(drafts_in(home)), seed)
        print("ready", flush=True)
        sys.stdin.readline()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await racer.one()
    answered = {name: getattr(racer, name) for name in ("changed", "done", "refused", "wrong")}
    print(json.dumps(answered), flush=True)


def races(home: Path, seeds: list[int], seconds: float) -> list[dict[str, Any]]:
    """Let one process for each seed race; what each was answered."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    runners = [
        subprocess.Popen([sys.executable, __file__, str(home), str(seed), str(seconds)], **pipes) for seed in seeds
    ]
    assert [runner.stdout.readline() for runner in runners] == ["ready\n"] * len(runners)
    for runner in runners:
        runner.stdin.write("\n")
        runner.stdin.flush()
    answers = [json.loads(runner.communicate()[0]) for runner in runners]
    assert [runner.returncode for runner in runners] == [0] * len(runners)
    return answers


if __name__ == "__main__":
    asyncio.run(race(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
