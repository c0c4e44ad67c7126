"""Proof that workers lose nothing and post nothing twice, while one of them is killed every second."""

import asyncio
import random
import time
from pathlib import Path

import pytest

from copydesk.desk import Desk, open_desks
from copydesk.posting.fake import FakePlatform, FakeServer
from desk_fixtures import entry, feed, query_db, settings_at
from feed_server import FeedServer
from sampling import EXHAUSTIVE
from store_fixtures import postgresql_server
from worker_process import WorkerProcess, add_deliveries, connect, posts_by_key

SOURCES, DELIVERIES, ACCOUNTS = (10_000, 100_000, 200) if EXHAUSTIVE else (40, 80, 8)
LIMIT = 3600 if EXHAUSTIVE else 120
"""Seconds."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The URL of a database that is dropped after the test."""
    server = postgresql_server()
    assert server is not None
    return server.url_without_tables(tmp_path)


async def fill(home: Path, server: FeedServer) -> None:
    """Add sources on many hosts and deliveries that are due, of two users."""
    platforms = {"fake": FakePlatform(FakeServer())}
    async with open_desks(settings_at(home), platforms=platforms) as desks:
        for number, user in enumerate((desks.owner, await desks.users.add("anna"))):
            desk = await desks.get(user)
            await add_sources(desk, server, first=number * SOURCES // 2, count=SOURCES // 2)
            names = [f"{user.name}{index}" for index in range(ACCOUNTS // 2)]
            await add_deliveries(desk, [await connect(desk, name) for name in names], DELIVERIES // 2)


async def add_sources(desk: Desk, server: FeedServer, first: int, count: int) -> None:
    for number in range(first, first + count):
        path = f"/feed/{number}"
        server.serve(path, feed(entry(number, now=desk.clock()), title=f"Site {number}"))
        # Every tenth one shares its host.
        host = f"127.0.{number // 2500}.{number // 10 % 250 + 1}"
        request = {"type": "rss", "url": server.url(path, host=host), "name": f"Site {number}"}
        await desk.sources.create(request, test=False)


def unfinished(home: Path) -> list[object]:
    """Return the numbers of what is left to do."""
    queries = (
        "SELECT count(*) FROM delivery WHERE state <> 'sent'",
        "SELECT count(*) FROM source WHERE last_fetch IS NULL",
        "SELECT count(*) FROM run WHERE status IN ('queued', 'running')",
        # A run that was interrupted is followed by one that succeeds.
        """SELECT count(*) FROM user WHERE 'succeeded' <>
            coalesce((SELECT status FROM run WHERE user_id = "user".id ORDER BY id DESC LIMIT 1), '')""",
    )
    return [query_db(home, query)[0][0] for query in queries]


async def run_to_the_end(home: Path, url: str, workers: int, *, kills: bool) -> float:
    """Run workers until nothing is left to do, and kill one of them every second; return the seconds it took."""
    choice, posts = random.Random(workers), home / "posts.jsonl"
    running = [WorkerProcess(home, url, posts) for _ in range(workers)]
    for process in running:
        await asyncio.to_thread(process.wait_until_started)
    started, next_kill = time.monotonic(), time.monotonic() + 1
    try:
        while any(unfinished(home)):
            assert time.monotonic() < started + LIMIT, unfinished(home)
            if kills and time.monotonic() >= next_kill:
                index = choice.randrange(workers)
                running[index].kill()
                running[index] = WorkerProcess(home, url, posts)
                # On a busy machine a start takes longer than the second until the next kill.
                await asyncio.to_thread(running[index].wait_until_started)
                next_kill = time.monotonic() + 1
            await asyncio.sleep(0.1)
        return time.monotonic() - started
    finally:
        for process in running:
            process.kill()


@pytest.mark.parametrize(
    ("workers", "kills"),
    [(1, False), (2, False), (4, False), (2, True), (4, True)] if EXHAUSTIVE else [(1, False), (2, True)],
)
async def test_nothing_is_lost_or_posted_twice(tmp_path: Path, url: str, workers: int, *, kills: bool) -> None:
    with FeedServer("0.0.0.0") as server:
        await fill(tmp_path, server)
        seconds = await run_to_the_end(tmp_path, url, workers, kills=kills)

    rates = f"{SOURCES / seconds:.1f} sources and {DELIVERIES / seconds:.1f} deliveries a second"
    print(f"{workers} workers{', one killed each second' if kills else ''}: {seconds:.1f} s, {rates}")
    posts = posts_by_key(tmp_path / "posts.jsonl")
    assert [key for key, count in posts.items() if count != 1] == []
    assert len(posts) == DELIVERIES
    assert query_db(tmp_path, "SELECT count(*) FROM item WHERE source_id IS NOT NULL") == [(SOURCES,)]
    assert query_db(tmp_path, "SELECT count(*) FROM run WHERE ended_at IS NULL") == [(0,)]
