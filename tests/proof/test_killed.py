"""kill -9 at any moment of a bulk or an automatic schedule: each draft is wholly done or wholly not, and undone."""

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
"""So often each work is killed."""
ENDS = {"approve": "approved", "reject": "rejected", "archive": "approved", "schedule": "scheduled", AUTO: "scheduled"}


@pytest.fixture(scope="module")
def furnished(tmp_path_factory):
    """A desk with a hundred drafts to review and a hundred that are approved."""
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
    """How long an undisturbed work takes, the middle of three."""
    took = []
    for number in range(3):
        home = shutil.copytree(furnished, folder / f"undisturbed{number}")
        ended = doomed.work(home, work, NEVER)
        assert ended.done
        took.append(ended.took)
    return sorted(took)[1]


def changed(home: Path, before: dict[str, dict[str, object]]) -> list[str]:
    """The drafts that are not what they were."""
    return [draft_id for draft_id, row in drafts_in(home).items() if row != before[draft_id]]


async def restart_and_undo(home: Path) -> None:
    """What a user does next; nothing to undo is as good as done."""
    async with open_desk(settings_at(home), clock=Watch()) as desk:
        try:
            undone = await desk.drafts.undo()
        except ConflictError:
            return
        assert undone.failed == ()


@pytest.mark.parametrize("work", WORKS)
async def test_killed_at_any_moment_each_draft_is_done_or_not_and_what_was_done_is_undone(
    tmp_path, furnished, doomed, work
):
    whole = duration(doomed, furnished, work, tmp_path)
    before, all_before = drafts_in(furnished), everything(furnished)
    ids = concerned(furnished, work)
    rng = random.Random(work)
    reached: Counter[int] = Counter()
    for number in range(TIMES):
        home = shutil.copytree(furnished, tmp_path / str(number))
        # Spread over all of it and a little more, one in each of as many parts.
        ended = doomed.work(home, work, 1.3 * whole * (number + rng.random()) / TIMES)
        assert ended.code == -9
        assert_agrees(home, before)
        assert shared_minutes(home) == []
        done = changed(home, before)
        reached[len(done)] += 1
        assert set(done) <= set(ids)
        assert len(done) == HUNDRED or not ended.done
        now, events = drafts_in(home), events_in(home)
        assert {now[draft_id]["status"] for draft_id in done} <= {ENDS[work]}
        assert all((now[draft_id]["archived_at"] is not None) == (work == "archive") for draft_id in done)
        assert len({events[draft_id][-1]["bulk_id"] for draft_id in done}) <= 1
        await restart_and_undo(home)
        assert_agrees(home, before)
        assert everything(home) == all_before
        shutil.rmtree(home)
    if PROVE:
        # Some before anything was done and some after; how many, a busy machine decides.
        assert len(reached) >= 2, reached
