"""What each operation costs on PostgreSQL: the tables of docs/scale.md.

    PYTHONPATH=tests/support .venv/bin/python tests/benchmarks/operation_costs.py

Processor time is that of this process, which makes the requests, and that of all processes of the server. Sizes are
those of the write-ahead log and of the database after it was vacuumed.
"""

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import NamedTuple

import psutil
import psycopg
from bench_publishing import connect_account, create_delivery, text_of

import postgresql_server
from copydesk.desk import Desk, open_desk
from copydesk.model.run import RunRequest
from copydesk.posting.fake import FakePlatform, FakeServer
from desk_fixtures import FakeWeb, entry, feed, settings_at
from processor_time import processor_time

COUNT, ACCOUNTS = 200, 10
SOURCES, ENTRIES, DRAFTS = 100, 20, 10
START = datetime(2026, 2, 11, 9, 30, tzinfo=UTC)
CLIENTS = (1, 4, 16, 64)
SECONDS = 5
_COMMIT_SCRIPT = """BEGIN;
UPDATE counter SET value = value + 1 WHERE id = :client_id + 1;
{notify}COMMIT;
"""


class Cost(NamedTuple):
    """Of one operation."""

    name: str
    desk: float
    """Milliseconds of the processor in this process."""
    server: float
    """Milliseconds of the processor in those of the server."""
    commits: float
    log: float
    """KiB of the write-ahead log."""
    stored: float
    """KiB by which the database grew."""


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


class Meter:
    """Reads the counters of this process, of the server, and of one database."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        server = psutil.Process(self._connection.info.backend_pid).parent()
        assert server is not None
        self._server = server
        self.costs: list[Cost] = []

    def _number(self, query: str) -> int:
        row = self._connection.execute(query).fetchone()
        assert row is not None
        return int(row[0])

    def _read(self) -> list[float]:
        # Counters of transactions are reported by other connections with a delay of a second at most.
        time.sleep(1.2)
        log = self._number("SELECT pg_current_wal_lsn() - '0/0'")
        commits = self._number("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        self._connection.execute("VACUUM")
        size = self._number("SELECT pg_database_size(current_database())")
        return [processor_time(self._server), commits, log, size]

    @contextmanager
    def measure(self, name: str, count: int) -> Iterator[None]:
        """Measure the block, in which an operation is done `count` times."""
        before, own = self._read(), time.process_time()
        yield
        own = time.process_time() - own
        # What reading the counters costs is the same each time.
        idle, after = self._read(), self._read()
        server, commits, log, size = (
            (second - first) - (third - second) for first, second, third in zip(before, idle, after, strict=True)
        )
        self.costs.append(
            Cost(
                name,
                1000 * own / count,
                1000 * server / count,
                commits / count,
                log / 1024 / count,
                size / 1024 / count,
            )
        )

    async def repeat(self, name: str, work: Callable[[int], Awaitable[object]], count: int = COUNT) -> None:
        """Measure an operation that gets the numbers from 0."""
        # Statements are prepared and modules loaded by the first ones.
        with self.measure(name, count):
            for number in range(count):
                await work(number)


async def _measure_desk(home: Path, meter: Meter) -> None:
    web, clock, server = FakeWeb(), Clock(), FakeServer()
    async with open_desk(
        settings_at(home), clock=clock, transport=web, platforms={"fake": FakePlatform(server)}
    ) as desk:
        await _measure_pipeline(desk, web, clock, meter)
        ids = await _measure_review(desk, clock, meter)
        await _measure_posting(desk, ids, clock, meter)


async def _measure_pipeline(desk: Desk, web: FakeWeb, clock: Clock, meter: Meter) -> None:
    for number in range(SOURCES):
        _publish(web, number, 1, clock)
        await desk.sources.create({"type": "rss", "url": _url(number), "name": f"Site {number}"}, test=False)
    await desk.pipeline.run(RunRequest(max_drafts=0))
    for number in range(SOURCES):
        _publish(web, number, 1 + ENTRIES, clock)
    clock.now += timedelta(hours=1)
    with meter.measure(f"fetch a source with {ENTRIES} new entries, match and rank them", SOURCES):
        run = await desk.pipeline.run(RunRequest(max_drafts=0))
    assert run.stats.items_new == SOURCES * ENTRIES
    with meter.measure("fetch a source without news", SOURCES):
        run = await desk.pipeline.run(RunRequest(max_drafts=0))
    assert run.stats.sources_unchanged == SOURCES
    some = tuple(source.id for source in (await desk.sources.list())[:DRAFTS])
    with meter.measure("write a SHORT draft, and fetch a source without news", DRAFTS):
        run = await desk.pipeline.run(RunRequest(source_ids=some, formats=("SHORT",), max_drafts=DRAFTS))
    assert run.stats.drafts_created == DRAFTS


def _publish(web: FakeWeb, number: int, count: int, clock: Clock) -> None:
    entries = (entry(number * 100 + offset, now=clock.now) for offset in range(count))
    web.put(_url(number), feed(*entries, title=f"Site {number}"))


def _url(number: int) -> str:
    return f"https://site-{number}.example/feed"


async def _measure_review(desk: Desk, clock: Clock, meter: Meter) -> list[str]:
    """Measure what reviewers do; return the ids of approved drafts."""
    ids = [(await desk.drafts.create({"text": text_of(number)})).drafts[0].id for number in range(COUNT)]
    await meter.repeat("store a draft", lambda number: desk.drafts.create({"text": text_of(COUNT + number)}))
    await meter.repeat("show a page of 25 drafts", lambda _: desk.drafts.list())
    await meter.repeat("open a draft", lambda number: desk.drafts.get(ids[number]))
    await meter.repeat("count the drafts by state", lambda _: desk.drafts.counts())
    await meter.repeat("search", lambda _: desk.drafts.search("saying"))
    await meter.repeat("edit a draft", lambda number: desk.drafts.edit(ids[number], f"{text_of(number)} Edited."))
    await meter.repeat("approve a draft", lambda number: desk.drafts.approve(ids[number]))
    await meter.repeat(
        "schedule a draft",
        lambda number: desk.drafts.schedule(ids[number], clock.now + timedelta(hours=number + 1)),
        COUNT // 2,
    )
    return ids[COUNT // 2 :]


async def _measure_posting(desk: Desk, ids: list[str], clock: Clock, meter: Meter) -> None:
    account_ids = [await connect_account(desk, number) for number in range(ACCOUNTS)]
    await meter.repeat("look for work that is due, without any", lambda _: desk.job_leases.due_work())
    for number, draft_id in enumerate(ids):
        await desk._context.write(create_delivery, draft_id, account_ids[number % ACCOUNTS])
    with meter.measure("send a draft to an account", len(ids)):
        assert len(await desk.posting.send_due()) == len(ids)
    clock.now += timedelta(days=2)
    with meter.measure("read the metrics of a post", len(ids)):
        assert await desk.posting.collect_metrics() == len(ids)


def _measure_commits(server: postgresql_server.PostgresqlServer, home: Path) -> None:
    """Print commits per second by the number of clients, with and without the notification of the desk."""
    url = server.url_without_tables(home)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE counter (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)")
        connection.execute("INSERT INTO counter SELECT n, 0 FROM generate_series(1, 100) AS n")
    print("| clients | commits/s | with a notification |\n|---|---|---|")
    for clients in CLIENTS:
        rates = [_run_pgbench(server, url, clients, notify) for notify in ("", "SELECT pg_notify('copydesk', '');\n")]
        print(f"| {clients} | {rates[0]:,.0f} | {rates[1]:,.0f} |", flush=True)


def _run_pgbench(server: postgresql_server.PostgresqlServer, url: str, clients: int, notify: str) -> float:
    with NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(_COMMIT_SCRIPT.format(notify=notify))
        script.flush()
        program = Path(server._server.bin_path) / "pgbench"
        options = ["-n", "-c", str(clients), "-T", str(SECONDS), "-M", "prepared", "-f", script.name]
        done = subprocess.run([program, *options, url], check=True, capture_output=True, text=True)
    (rate,) = (line.split()[2] for line in done.stdout.splitlines() if line.startswith("tps = "))
    return float(rate)


def main() -> None:
    """Print the tables."""
    server = postgresql_server.use_postgresql(synced=True)
    try:
        with TemporaryDirectory() as folder:
            home = Path(folder) / "desk"
            meter = Meter(server.url(home))
            asyncio.run(_measure_desk(home, meter))
            print("| operation | desk, ms | server, ms | commits | log, KiB | stored, KiB |\n|---|---|---|---|---|---|")
            for cost in meter.costs:
                print(f"| {cost.name} | {' | '.join(f'{value:.2f}' for value in cost[1:])} |")
            _measure_commits(server, Path(folder) / "commits")
    finally:
        server.close()


if __name__ == "__main__":
    main()
