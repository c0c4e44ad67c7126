"""Sources that workers fetch per second on PostgreSQL: two workers beside one."""

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from table_row import Row

import postgresql_server
from copydesk.desk import open_desks
from desk_fixtures import entry, feed, query_db, settings_at
from feed_server import FeedServer
from worker_process import WorkerProcess

USERS, SOURCES_PER_USER, ENTRIES = 4, 100, 20
SLOW = 0.25
"""Seconds that a server takes: then workers mostly wait, as they do for real ones."""
ROUNDS = 2
TARGET = 1.7


def measure() -> list[Row]:
    """Return the rows of the table."""
    server = postgresql_server.use_postgresql()
    try:
        with TemporaryDirectory() as folder:
            return [_compare(Path(folder) / f"{delay}", delay) for delay in (0.0, SLOW)]
    finally:
        server.close()


def _compare(folder: Path, delay: float) -> Row:
    with FeedServer("0.0.0.0") as web:
        _serve(web, delay)
        # Alternating, so that a change of the machine's speed meets both.
        rates = [
            [asyncio.run(_measure(folder / f"{number}-{count}", web, count)) for count in (1, 2)]
            for number in range(ROUNDS)
        ]
    one, two = (max(rate[column] for rate in rates) for column in (0, 1))
    slow = f" from servers that take {delay:g} s to respond" if delay else ""
    label = f"sources of {ENTRIES} entries{slow} that two workers fetch and store on PostgreSQL, beside one worker"
    ratio = two / one
    return Row(label, f"{two:.0f}/s", f"{one:.0f}/s", f"{ratio:.2f}", f"at least {TARGET}", ratio >= TARGET)


def _serve(web: FeedServer, delay: float) -> None:
    now = datetime.now(UTC)
    for number in range(USERS * SOURCES_PER_USER):
        entries = (entry(number * ENTRIES + index, now=now) for index in range(ENTRIES))
        web.serve(f"/{number}", feed(*entries, title=f"Site {number}"), delay=delay)


async def _measure(home: Path, web: FeedServer, workers: int) -> float:
    """Return the sources per second until all are stored."""
    server = postgresql_server.server
    assert server is not None
    url = server.url_without_tables(home)
    async with open_desks(settings_at(home)) as desks:
        await _add_users(desks, web)
    running = [WorkerProcess(home, url, home / "posts") for _ in range(workers)]
    for process in running:
        process.wait_until_started()
    started = time.perf_counter()
    while query_db(home, "SELECT count(*) FROM source WHERE last_fetch IS NULL") != [(0,)]:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    seconds = time.perf_counter() - started
    for process in running:
        process.kill()
    return USERS * SOURCES_PER_USER / seconds


async def _add_users(desks, web: FeedServer) -> None:
    for user_number in range(USERS):
        desk = await desks.get(await desks.users.add(f"user{user_number}"))
        for number in range(user_number * SOURCES_PER_USER, (user_number + 1) * SOURCES_PER_USER):
            # Hosts of their own: those that share one take turns.
            url = web.url(f"/{number}", host=f"127.0.{number // 250}.{number % 250 + 1}")
            await desk.sources.create({"type": "rss", "url": url, "name": f"Site {number}"}, test=False)


if __name__ == "__main__":
    for row in measure():
        print(row)
