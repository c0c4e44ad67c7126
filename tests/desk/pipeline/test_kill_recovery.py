"""Tests for kill -9 during a run: the database stays consistent, and the next run completes the work."""

import random
from pathlib import Path

import pytest

from copydesk.desk import open_desk
from copydesk.model.run import Run, RunStatus
from desk_fixtures import Watch, create_source, entry, feed, integrity_errors, query_db, settings_at
from feed_server import FeedServer
from killed_run import FULL_RUN, kill_runner
from sampling import sample_size
from store_fixtures import copy_desk

KILL_COUNT = sample_size(26)
SOURCES = 5
SHARED_TITLE = "Harbour bridge collapses in Port Ellery after storm"


@pytest.fixture
def server():
    """Serve five slow sources with four stories each, and one more story that three of them share."""
    with FeedServer("0.0.0.0") as server:
        for source in range(SOURCES):
            own = [entry(10 * source + number, hours=number) for number in range(1, 5)]
            shared = [entry(10 * source, title=SHARED_TITLE)] if source < 3 else []
            server.serve(f"/{source}", feed(*own, *shared), delay=0.004 * source)
        yield server


async def add_sources(home: Path, server: FeedServer) -> None:
    async with open_desk(settings_at(home), clock=Watch()) as desk:
        for source in range(SOURCES):
            await create_source(desk, server.url(f"/{source}", f"127.0.0.{source + 1}"), tags=["kept"])


async def run_once(home: Path) -> tuple[tuple[Run, ...], Run]:
    """Run the pipeline undisturbed; return the runs found at the start, and this one."""
    async with open_desk(settings_at(home, network__allow_private="true"), clock=Watch()) as desk:
        found = (await desk.pipeline.list()).items
        return found, await desk.pipeline.run(FULL_RUN)


def created_rows(home: Path) -> list[list[tuple[object, ...]]]:
    """Return everything that runs create, without ids and times."""
    return [
        query_db(home, "SELECT title, ident, state FROM item ORDER BY source_id, title"),
        query_db(home, "SELECT text, format, status FROM draft ORDER BY text"),
        query_db(home, "SELECT text, action FROM draft JOIN draft_event ON draft_id = draft.id ORDER BY text"),
        query_db(
            home,
            "SELECT text, name FROM draft JOIN draft_tag ON draft_id = draft.id JOIN tag ON tag.id = tag_id"
            " ORDER BY text",
        ),
        query_db(home, "SELECT name, item_count, health, fail_count FROM source ORDER BY id"),
    ]


def assert_consistent(home: Path, kill_at: int) -> None:
    """Assert that the fetch of each source is stored with all its items and its state, or not at all."""
    assert integrity_errors(home) == [], kill_at
    query = """SELECT (SELECT count(*) FROM item WHERE source_id = source.id), item_count, source.fetch ->> 'lastOk'
        FROM source"""
    for items, counted, fetched in query_db(home, query):
        assert items == counted, kill_at
        assert items in ((0,) if fetched is None else (4, 5)), kill_at
    drafted = "SELECT count(*) FROM item WHERE state = 'drafted'"
    assert query_db(home, "SELECT count(*) FROM draft") == query_db(home, drafted), kill_at
    assert query_db(home, "SELECT count(*) FROM draft_event") == query_db(home, drafted), kill_at


@pytest.mark.sqlite("the killed process opens the file")
async def test_killed_run_is_completed_by_next_run(tmp_path, server):
    await add_sources(tmp_path / "furnished", server)
    copy_desk(tmp_path / "furnished", tmp_path / "undisturbed")
    _, run = await run_once(tmp_path / "undisturbed")
    expected = created_rows(tmp_path / "undisturbed")
    assert run.stats.drafts_created == len(expected[1]) == 4 * SOURCES + 1

    rng = random.Random(4)
    endings = []
    with kill_runner() as doomed:
        for number in range(KILL_COUNT):
            home = tmp_path / str(number)
            copy_desk(tmp_path / "furnished", home)
            kill_at = rng.randrange(4, 200)
            code = doomed.run(home, kill_at, rng.choice([0, 0.0005, 0.002]))
            assert_consistent(home, kill_at)
            found, last = await run_once(home)
            endings.append((code, [run.status for run in found]))
            assert last.status is RunStatus.SUCCEEDED, kill_at
            assert created_rows(home) == expected, kill_at

    # Some runs may finish before they are killed; all others were killed, most of them while they worked.
    assert {code for code, _ in endings} <= {-9, 0}
    killed = [statuses for code, statuses in endings if code == -9]
    assert sum(statuses == [RunStatus.INTERRUPTED] for statuses in killed) >= KILL_COUNT // 2
    assert all(statuses in ([], [RunStatus.INTERRUPTED], [RunStatus.SUCCEEDED]) for statuses in killed)


async def test_repeated_kills_reach_same_result(tmp_path, server):
    await add_sources(tmp_path / "often", server)
    copy_desk(tmp_path / "often", tmp_path / "undisturbed")
    await run_once(tmp_path / "undisturbed")
    with kill_runner() as doomed:
        assert [doomed.run(tmp_path / "often", kill_at) for kill_at in range(15, 75, 10)] == [-9] * 6

    found, _ = await run_once(tmp_path / "often")
    assert {run.status for run in found} <= {RunStatus.INTERRUPTED, RunStatus.SUCCEEDED}
    assert created_rows(tmp_path / "often") == created_rows(tmp_path / "undisturbed")
