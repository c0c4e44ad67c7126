"""Sources that workers fetch per second on PostgreSQL: two workers beside one, for several users and for one.

The workers, the PostgreSQL server, and the server of the feeds share the cores of the machine. So where the processor
is the limit, two workers on two cores are less than twice as fast as one, which leaves the second core to the servers.
"""

import asyncio
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from table_row import Row

import postgresql_server
from copydesk.desk import open_desks
from desk_fixtures import entry, feed, settings_at
from feed_server import FeedServer
from store_fixtures import connect_to
from worker_process import WorkerProcess

SOURCES, ENTRIES = 400, 20
USERS = 8
SLOW = 0.25
"""Seconds that a server takes: then workers mostly wait, as they do for real ones."""
ROUNDS = 2
TARGET = 1.7


def measure() -> list[Row]:
    """Return the rows of the table."""
    server = postgresql_server.use_postgresql()
    try:
        with TemporaryDirectory() as folder:
            cases = ((USERS, 0.0), (1, 0.0), (USERS, SLOW))
            return [_compare(Path(folder) / f"{users}-{delay}", users, delay) for users, delay in cases]
    finally:
        server.close()


def _compare(folder: Path, users: int, delay: float) -> Row:
    with FeedServer("0.0.0.0") as web:
        _serve(web, delay)
        # Alternating, so that a change of the machine's speed meets both.
        rates = [
            [asyncio.run(_measure(folder / f"{number}-{count}", web, users, count)) for count in (1, 2)]
            for number in range(ROUNDS)
        ]
    one, two = (max(rate[column] for rate in rates) for column in (0, 1))
    slow = f" from servers that take {delay:g} s to respond" if delay else ""
    whose = "one user" if users == 1 else f"{users} users"
    label = f"sources of {whose} with {ENTRIES} entries{slow} that two workers fetch and store, beside one worker"
    ratio = two / one
    return Row(label, f"{two:.0f}/s", f"{one:.0f}/s", f"{ratio:.2f}", f"at least {TARGET}", ratio >= TARGET)


def _serve(web: FeedServer, delay: float) -> None:
    now = datetime.now(UTC)
    for number in range(SOURCES):
        entries = (entry(number * ENTRIES + index, now=now) for index in range(ENTRIES))
        web.serve(f"/{number}", feed(*entries, title=f"Site {number}"), gzip=False, delay=delay)


async def _measure(home: Path, web: FeedServer, users: int, workers: int) -> float:
    """Return the sources per second until all are stored."""
    server = postgresql_server.server
    assert server is not None
    url = server.url_without_tables(home)
    async with open_desks(settings_at(home)) as desks:
        await _add_users(desks, web, users)
    running = [WorkerProcess(home, url, home / "posts") for _ in range(workers)]
    for process in running:
        process.wait_until_started()
    started = time.perf_counter()
    # On one connection, seldom: the server's time is measured, too.
    with closing(connect_to(home)) as connection:
        while connection.execute("SELECT count(*) FROM source WHERE last_fetch IS NULL").fetchone() != (0,):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    seconds = time.perf_counter() - started
    for process in running:
        process.kill()
    return SOURCES / seconds


async def _add_users(desks, web: FeedServer, users: int) -> None:
    share = SOURCES // users
    for user_number in range(users):
        desk = await desks.get(await desks.users.add(f"user{user_number}"))
        for number in range(user_number * share, (user_number + 1) * share):
            # Hosts of their own: those that share one take turns.
            url = web.url(f"/{number}", host=f"127.0.{number // 250}.{number % 250 + 1}")
            await desk.sources.create({"type": "rss", "url": url, "name": f"Site {number}"}, test=False)


if __name__ == "__main__":
    for row in measure():
        print(row)
