"""A process killed at any SQL statement of a request with a key: repeated, the request has one effect."""

import asyncio
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from copydesk.desk import open_desk
from copydesk.errors import ResponseLostError
from desk_fixtures import Watch, integrity_errors, query_db, settings_at
from draft_consistency import insert_drafts
from killed_request import APPROVE, BULK, CREATE, OPERATIONS, KillRunner, kill_runner, send
from sampling import EXHAUSTIVE

DRAFTS = 60
"""More than a bulk action commits in one transaction."""
STEPS = {CREATE: 1, APPROVE: 1, BULK: 23} if EXHAUSTIVE else {CREATE: 7, APPROVE: 7, BULK: 211}
"""Every so many statements; a bulk action has thousands, most of them of triggers."""
EFFECTS = {CREATE: DRAFTS + 1, APPROVE: 1, BULK: DRAFTS}
"""Drafts, or approvals, after the request."""
_COUNT = {
    CREATE: "SELECT count(*) FROM draft",
    APPROVE: "SELECT count(*) FROM draft_event WHERE action = 'approve'",
    BULK: "SELECT count(*) FROM draft_event WHERE action = 'approve'",
}


@pytest.fixture(scope="module")
def prepared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A desk with drafts to review."""
    home = tmp_path_factory.mktemp("prepared") / "home"

    async def make() -> None:
        async with open_desk(settings_at(home), clock=Watch()) as desk:
            await insert_drafts(desk, ["pending_review"] * DRAFTS)

    asyncio.run(make())
    return home


@pytest.fixture(scope="module")
def runner() -> Iterator[KillRunner]:
    with kill_runner() as started:
        yield started


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_request_has_one_effect_wherever_it_is_killed(tmp_path, prepared_home, runner, operation):
    outcomes = set[str]()
    for statement in count(1, STEPS[operation]):
        home = shutil.copytree(prepared_home, tmp_path / str(statement))
        if runner.run(home, operation, statement) == 0:
            break
        killed = count_effects(home, operation)
        outcome = await repeat(home, operation)
        outcomes.add(outcome)
        effects = count_effects(home, operation)
        if outcome == "lost":
            # A bulk action may have been killed between two transactions; the next start tells what is missing.
            assert operation == BULK, statement
            assert effects == killed > 0, statement
        else:
            assert effects == EFFECTS[operation], statement
        assert integrity_errors(home) == []
        shutil.rmtree(home)
    if EXHAUSTIVE:
        # Killed before the effect, and after it.
        assert {"carried out", "lost" if operation == BULK else "replayed"} <= outcomes


async def repeat(home: Path, operation: str) -> str:
    """Send the request again; return how it went."""
    async with open_desk(settings_at(home), clock=Watch()) as desk:
        try:
            outcome = await send(desk, home, operation)
        except ResponseLostError:
            return "lost"
    return "replayed" if outcome.is_replay else "carried out"


def count_effects(home: Path, operation: str) -> int:
    """Return the number of drafts, or of approvals."""
    ((number,),) = query_db(home, _COUNT[operation])
    assert isinstance(number, int)
    return number
