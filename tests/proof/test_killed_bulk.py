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
from draft_consistency import (
    HOURLY_SLOTS,
    assert_consistent,
    dump_tables,
    insert_drafts,
    load_drafts,
    load_events,
    shared_slots,
)
from killed_changes import AUTO, NEVER, OPERATIONS, KillRunner, affected_drafts, kill_runner
from sampling import EXHAUSTIVE

HUNDRED = 100
KILLS_PER_WORK = 40 if EXHAUSTIVE else 2
"""The number of kills per kind of work."""
FINAL_STATUS = {
    "approve": "approved",
    "reject": "rejected",
    "archive": "approved",
    "schedule": "scheduled",
    AUTO: "scheduled",
}


@pytest.fixture(scope="module")
def prepared_home(tmp_path_factory):
    """A desk with a hundred drafts to review and a hundred approved ones."""
    home = tmp_path_factory.mktemp("furnished") / "home"

    async def make():
        async with open_desk(settings_at(home), clock=Watch()) as desk:
            await insert_drafts(desk, ["pending_review", "approved"] * HUNDRED)
            await desk.schedule.set_slots(HOURLY_SLOTS)

    asyncio.run(make())
    return home


@pytest.fixture(scope="module")
def killed_worker():
    with kill_runner() as runner:
        yield runner


def duration(killed_worker: KillRunner, prepared_home: Path, work: str, folder: Path) -> float:
    """Return the median duration in seconds of three undisturbed runs."""
    durations = []
    for number in range(3):
        home = shutil.copytree(prepared_home, folder / f"undisturbed{number}")
        run = killed_worker.run(home, work, NEVER)
        assert run.completed
        durations.append(run.seconds)
    return sorted(durations)[1]


def changed_drafts(home: Path, before: dict[str, dict[str, object]]) -> list[str]:
    """Return the ids of the drafts that differ from `before`."""
    return [draft_id for draft_id, row in load_drafts(home).items() if row != before[draft_id]]


async def restart_and_undo(home: Path, changed: int, *, completed: bool) -> None:
    """Undo as a user would after a restart; having nothing to undo is fine. A part done is told at the start."""
    async with open_desk(settings_at(home), clock=Watch()) as desk:
        told = [bulk.changed for bulk in await desk.drafts.interrupted_bulks()]
        if completed:
            assert told == []
        elif 0 < changed < HUNDRED:
            assert told == [changed]
        try:
            undone = await desk.drafts.undo()
        except ConflictError:
            return
        assert undone.failed == ()


@pytest.mark.parametrize("work", OPERATIONS)
async def test_killed_bulk_is_atomic_per_draft_and_undoable(tmp_path, prepared_home, killed_worker, work):
    total = duration(killed_worker, prepared_home, work, tmp_path)
    before, all_before = load_drafts(prepared_home), dump_tables(prepared_home)
    ids = affected_drafts(prepared_home, work)
    rng = random.Random(work)
    change_counts: Counter[int] = Counter()
    for number in range(KILLS_PER_WORK):
        home = shutil.copytree(prepared_home, tmp_path / str(number))
        # Spread the kills evenly over the whole run and a little more.
        run = killed_worker.run(home, work, 1.3 * total * (number + rng.random()) / KILLS_PER_WORK)
        assert run.code == -9
        assert_consistent(home, before)
        assert shared_slots(home) == []
        changed_ids = changed_drafts(home, before)
        change_counts[len(changed_ids)] += 1
        assert set(changed_ids) <= set(ids)
        assert len(changed_ids) == HUNDRED or not run.completed
        rows, events = load_drafts(home), load_events(home)
        assert {rows[draft_id]["status"] for draft_id in changed_ids} <= {FINAL_STATUS[work]}
        assert all((rows[draft_id]["archived_at"] is not None) == (work == "archive") for draft_id in changed_ids)
        assert len({events[draft_id][-1]["bulk_id"] for draft_id in changed_ids}) <= 1
        await restart_and_undo(home, len(changed_ids), completed=run.completed)
        assert_consistent(home, before)
        assert dump_tables(home) == all_before
        shutil.rmtree(home)
    if EXHAUSTIVE:
        # Some kills come before the first change and some after the last; how many depends on the machine's load.
        assert len(change_counts) >= 2, change_counts
