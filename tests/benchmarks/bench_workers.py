"""Sources that workers fetch per second on PostgreSQL: two workers beside one, for several users and for one.

The workers, the PostgreSQL server, and the server of the feeds share the cores of the machine. One worker uses one of
two cores and leaves the other one to the servers; with two, the servers take a part of what the workers had. Where the
processor is the limit, two workers on these cores cannot be more than 2w / (w + s) times as fast as one. There w and s
are the processor time that a source costs the worker and the servers. That limit is printed beside the ratio.
"""

import asyncio
import os
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psutil
from table_row import Row

import postgresql_server
from copydesk.desk import Desks, open_desks
from copydesk.store.postgresql.work_queue import WAKE
from desk_fixtures import entry, feed, settings_at
from page_server import PageServer
from processor_time import pin, processor_time
from store_fixtures import connect_to
from worker_process import WorkerProcess, add_feeds, run_worker

SOURCES, ENTRIES = 400, 20
USERS = 8
SLOW = 0.25
"""Seconds that a server takes: then workers mostly wait, as they do for real ones."""
ROUNDS = 2
TARGET = 1.7
# Without the start, when the workers wait for the first look at what is due, and the end, when they run out of sources.
FIRST, LAST = SOURCES // 10, SOURCES - SOURCES // 10


class Arm(NamedTuple):
    """What is measured in turn."""

    workers: int
    cores: int
    """On which they run together with the servers."""


class Speed(NamedTuple):
    """Of an arm."""

    rate: float
    """Sources per second."""
    worker: float
    """Milliseconds of the workers' processor time per source."""
    servers: float
    """The same of PostgreSQL and the server of the feeds."""


ARMS = (Arm(1, 1), Arm(1, 2), Arm(2, 2))


def measure() -> list[Row]:
    """Return the rows of the table."""
    server = postgresql_server.use_postgresql()
    try:
        with TemporaryDirectory() as folder:
            cases = ((USERS, 0.0), (1, 0.0), (USERS, SLOW))
            return [row for case in cases for row in _compare(Path(folder) / f"{case[0]}-{case[1]}", *case)]
    finally:
        server.close()


def _compare(folder: Path, users: int, delay: float) -> list[Row]:
    now = datetime.now(UTC)
    pages = {
        f"/{number}": feed(
            *(entry(number * ENTRIES + index, now=now) for index in range(ENTRIES)), title=f"Site {number}"
        )
        for number in range(SOURCES)
    }
    with PageServer(pages, delay) as web:
        # Alternating, so that a change of the machine's speed meets all.
        rounds = [
            [asyncio.run(_measure(folder / f"{number}-{index}", web, users, arm)) for index, arm in enumerate(ARMS)]
            for number in range(ROUNDS)
        ]
    on_one_core, alone, both = (max(speeds) for speeds in zip(*rounds, strict=True))
    slow = f" from servers that take {delay:g} s to respond" if delay else ""
    whose = "one user" if users == 1 else f"{users} users"
    label = f"sources of {whose} with {ENTRIES} entries{slow} that two workers on two cores fetch and store, beside one"
    limit = 2 * alone.worker / (alone.worker + alone.servers)
    costs = f"{alone.worker:.1f} ms of the worker's processor time per source, {alone.servers:.1f} of the servers'"
    return [
        _row(f"{label} on the same cores; {costs}", both, alone, "" if delay else f" of {limit:.2f} at most", TARGET),
        _row(f"{label} on one, with the servers", both, on_one_core),
    ]


def _row(label: str, two: Speed, one: Speed, limit: str = "", target: float | None = None) -> Row:
    ratio = two.rate / one.rate
    wanted = "" if target is None else f"at least {target}"
    ok = None if target is None else ratio >= target
    return Row(label, f"{two.rate:.0f}/s", f"{one.rate:.0f}/s", f"{ratio:.2f}{limit}", wanted, ok)


async def _measure(home: Path, web: PageServer, users: int, arm: Arm) -> Speed:
    """Return the speed with which the sources are stored."""
    server = postgresql_server.server
    assert server is not None
    url = server.url_without_tables(home)
    async with open_desks(settings_at(home)) as desks:
        await _add_users(desks, web, users)
    # On one connection, seldom: the server's time is measured, too.
    with closing(connect_to(home)) as connection:
        postgresql = psutil.Process(connection.info.backend_pid).parent()
        assert postgresql is not None
        servers = [postgresql, psutil.Process(web.pid)]
        # Connections that are opened later inherit it.
        cores = set(sorted(os.sched_getaffinity(0))[: arm.cores])
        for process in servers:
            pin(process, cores)
        # Shorter intervals would be a third of what is measured.
        running = [WorkerProcess(home, url, home / "posts", run_worker) for _ in range(arm.workers)]
        workers = [psutil.Process(process.pid) for process in running]
        for process, worker in zip(running, workers, strict=True):
            process.wait_until_started()
            pin(worker, cores)
        # Added before there was a queue, they would wait for the first sweep.
        user_ids = [user_id for (user_id,) in connection.execute('SELECT id FROM "user"').fetchall()]
        connection.cursor().execute(WAKE, {"user_ids": user_ids})
        samples: list[tuple[float, ...]] = []
        while (done := connection.execute("SELECT count(last_fetch) FROM source").fetchone()[0]) < SOURCES:
            samples.append((done, *(sum(map(processor_time, processes)) for processes in (workers, servers))))
            await asyncio.sleep(0.1)
        query = "SELECT last_fetch FROM source ORDER BY last_fetch"
        fetched = [time for (time,) in connection.execute(query).fetchall()]
    for process in running:
        process.kill()
    seconds = (fetched[LAST] - fetched[FIRST]) / 1_000_000
    # As for the rate: a worker imports much before its first source.
    within = [sample for sample in samples if FIRST <= sample[0] <= LAST]
    done, own, others = (second - first for first, second in zip(within[0], within[-1], strict=True))
    return Speed((LAST - FIRST) / seconds, 1000 * own / done, 1000 * others / done)


async def _add_users(desks: Desks, web: PageServer, users: int) -> None:
    share = SOURCES // users
    for user_number in range(users):
        desk = await desks.get(await desks.users.add(f"user{user_number}"))
        numbers = range(user_number * share, (user_number + 1) * share)
        # Hosts of their own: those that share one take turns.
        await add_feeds(
            desk, [web.url(f"/{number}", host=f"127.0.{number // 250}.{number % 250 + 1}") for number in numbers]
        )


if __name__ == "__main__":
    for row in measure():
        print(row, flush=True)
