"""Tests that a bulk change killed (SIGKILL) at any point leaves each draft fully changed or unchanged, and undoable."""

import asyncio
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from copydesk.desk import open_desk
from copydesk.errors import ConflictError
from desk_fixtures import Watch, settings_at
from doomed_changes import AUTO, NEVER, WORKS, Doom, concerned, doom
from proof_desk import HOURLY, PROVE, assert_agrees, drafts_in, events_in, everything, furnish, shared_minutes

HUNDRED = 100
TIMES = 40 if PROVE else 2
"""The number of kills per kind of work."""
ENDS = {"approve": "approved", "reject": "rejected", "archive": "approved", "schedule": "scheduled", AUTO: "scheduled"}


@pytest.fixture(scope="module")
def furnished(tmp_path_factory):
    """A desk with a hundred drafts to review and a hundred approved ones."""
    home = tmp_path_factory.mktemp("furnished") / "home"

    async def make():
        async with open_desk(settings_at(home), clock=Watch()) as desk:
            await furnish(desk, ["pending_review", "approved"] * HUNDRED)
            await desk.schedule.set_slots(HOURLY)

    asyncio.run(make())
    return home


@pytest.fixture(scope="module")
def doomed():
    with doom() as doomed:
        yield doomed


def duration(doomed: Doom, furnished: Path, work: str, folder: Path) -> float:
    """Return the median duration in seconds of three undisturbed runs."""
    durations = []
    for number in range(3):
        home = shutil.copytree(furnished, folder / f"undisturbed{number}")
        run = doomed.work(home, work, NEVER)
        assert run.done
        durations.append(run.took)
    return sorted(durations)[1]


def changed(home: Path, before: dict[str, dict[str, object]]) -> list[str]:
    """Return the ids of the drafts that differ from `before`."""
    return [draft_id for draft_id, row in drafts_in(home).items() if row != before[draft_id]]


async def restart_and_undo(home: Path) -> None:
    """Undo as a user would after a restart; having nothing to undo is fine."""
    async with open_desk(settings_at(home), clock=Watch()) as desk:
        try:
            undone = await desk.drafts.undo()
        except ConflictError:
            return
        assert undone.failed == ()


@pytest.mark.parametrize("work", WORKS)
async def test_killed_bulk_is_atomic_per_draft_and_undoable(tmp_path, furnished, doomed, work):
    total = duration(doomed, furnished, work, tmp_path)
    before, all_before = drafts_in(furnished), everything(furnished)
    ids = concerned(furnished, work)
    rng = random.Random(work)
    change_counts: Counter[int] = Counter()
    for number in range(TIMES):
        home = shutil.copytree(furnished, tmp_path / str(number))
        # Spread the kills evenly over the whole run and a little more.
        run = doomed.work(home, work, 1.3 * total * (number + rng.random()) / TIMES)
        assert run.code == -9
        assert_agrees(home, before)
        assert shared_minutes(home) == []
        changed_ids = changed(home, before)
        change_counts[len(changed_ids)] += 1
        assert set(changed_ids) <= set(ids)
        assert len(changed_ids) == HUNDRED or not run.done
        rows, events = drafts_in(home), events_in(home)
        assert {rows[draft_id]["status"] for draft_id in changed_ids} <= {ENDS[work]}
        assert all((rows[draft_id]["archived_at"] is not None) == (work == "archive") for draft_id in changed_ids)
        assert len({events[draft_id][-1]["bulk_id"] for draft_id in changed_ids}) <= 1
        await restart_and_undo(home)
        assert_agrees(home, before)
        assert everything(home) == all_before
        shutil.rmtree(home)
    if PROVE:
        # Some kills come before the first change and some after the last; how many depends on the machine's load.
        assert len(change_counts) >= 2, change_counts
