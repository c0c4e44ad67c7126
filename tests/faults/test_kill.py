"""Tests for kill -9 during a run: the database stays consistent, and the next run completes the work."""

import random
import shutil
from pathlib import Path

import pytest

from copydesk.desk import open_desk
from copydesk.model.run import Run, RunStatus
from desk_fixtures import Watch, add, damage, entry, feed, rows, settings_at
from doomed_desk import ALL, doom
from feed_server import FeedServer

MOMENTS = 26
SOURCES = 5
SHARED = "Harbour bridge collapses in Port Ellery after storm"


@pytest.fixture
def server():
    """Serve five slow sources with four stories each, and one more story that three of them share."""
    with FeedServer("0.0.0.0") as server:
        for source in range(SOURCES):
            own = [entry(10 * source + number, hours=number) for number in range(1, 5)]
            shared = [entry(10 * source, named=SHARED)] if source < 3 else []
            server.serve(f"/{source}", feed(*own, *shared), delay=0.004 * source)
        yield server


async def furnish(home: Path, server: FeedServer) -> None:
    async with open_desk(settings_at(home), clock=Watch()) as desk:
        for source in range(SOURCES):
            await add(desk, server.url(f"/{source}", f"127.0.0.{source + 1}"), tags=["kept"])


async def one_run(home: Path) -> tuple[tuple[Run, ...], Run]:
    """Run the pipeline undisturbed; return the runs found at the start, and this one."""
    async with open_desk(settings_at(home, network__allow_private="true"), clock=Watch()) as desk:
        found = (await desk.pipeline.runs()).items
        return found, await desk.pipeline.run(ALL)


def made(home: Path) -> list[list[tuple[object, ...]]]:
    """Return everything that runs create, without ids and times."""
    return [
        rows(home, "SELECT title, ident, state FROM item ORDER BY source_id, title"),
        rows(home, "SELECT text, format, status FROM draft ORDER BY text"),
        rows(home, "SELECT text, action FROM draft JOIN draft_event ON draft_id = draft.id ORDER BY text"),
        rows(
            home,
            "SELECT text, name FROM draft JOIN draft_tag ON draft_id = draft.id JOIN tag ON tag.id = tag_id"
            " ORDER BY text",
        ),
        rows(home, "SELECT name, item_count, health, fail_count FROM source ORDER BY id"),
    ]


def assert_whole(home: Path, moment: int) -> None:
    """Assert that the fetch of each source is stored with all its items and its state, or not at all."""
    assert damage(home) == [], moment
    query = "SELECT (SELECT count(*) FROM item WHERE source_id = source.id), item_count, fetch ->> 'lastOk' FROM source"
    for items, counted, fetched in rows(home, query):
        assert items == counted, moment
        assert items in ((0,) if fetched is None else (4, 5)), moment
    drafted = "SELECT count(*) FROM item WHERE state = 'drafted'"
    assert rows(home, "SELECT count(*) FROM draft") == rows(home, drafted), moment
    assert rows(home, "SELECT count(*) FROM draft_event") == rows(home, drafted), moment


async def test_killed_run_is_completed_by_next_run(tmp_path, server):
    await furnish(tmp_path / "furnished", server)
    shutil.copytree(tmp_path / "furnished", tmp_path / "undisturbed")
    _, run = await one_run(tmp_path / "undisturbed")
    expected = made(tmp_path / "undisturbed")
    assert run.stats.drafts_created == len(expected[1]) == 4 * SOURCES + 1

    rng = random.Random(4)
    endings = []
    with doom() as doomed:
        for number in range(MOMENTS):
            home = tmp_path / str(number)
            shutil.copytree(tmp_path / "furnished", home)
            kill_at = rng.randrange(4, 200)
            code = doomed.run(home, kill_at, rng.choice([0, 0.0005, 0.002]))
            assert_whole(home, kill_at)
            found, last = await one_run(home)
            endings.append((code, [run.status for run in found]))
            assert last.status is RunStatus.SUCCEEDED, kill_at
            assert made(home) == expected, kill_at

    # Some runs may finish before they are killed; all others were killed, most of them while they worked.
    assert {code for code, _ in endings} <= {-9, 0}
    killed = [statuses for code, statuses in endings if code == -9]
    assert sum(statuses == [RunStatus.INTERRUPTED] for statuses in killed) >= MOMENTS // 2
    assert all(statuses in ([], [RunStatus.INTERRUPTED], [RunStatus.SUCCEEDED]) for statuses in killed)


async def test_repeated_kills_reach_same_result(tmp_path, server):
    await furnish(tmp_path / "often", server)
    shutil.copytree(tmp_path / "often", tmp_path / "undisturbed")
    await one_run(tmp_path / "undisturbed")
    with doom() as doomed:
        assert [doomed.run(tmp_path / "often", kill_at) for kill_at in range(15, 75, 10)] == [-9] * 6

    found, _ = await one_run(tmp_path / "often")
    assert {run.status for run in found} <= {RunStatus.INTERRUPTED, RunStatus.SUCCEEDED}
    assert made(tmp_path / "often") == made(tmp_path / "undisturbed")
