"""psycopg, as the store uses it, beside asyncpg: a change and a page of rows, on PostgreSQL.

Not a part of `make bench`, as asyncpg is not installed by it: `pip install asyncpg`, then
`PYTHONPATH=tests/support .venv/bin/python tests/benchmarks/run.py bench_drivers`.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from table_row import Row

from store_fixtures import postgresql_server

CHANGES, PAGES = 500, 200
PAGE_SIZE = 100
_CREATE = f"""CREATE TABLE sample AS SELECT number::text AS id, 1 AS version, repeat('word ', 50) AS text,
    now() AS at, 0.5::float8 AS score FROM generate_series(1, {PAGE_SIZE}) AS number;
ALTER TABLE sample ADD PRIMARY KEY (id);
CREATE TABLE sample_event (id bigint GENERATED ALWAYS AS IDENTITY, sample_id text, version int)"""
_LOCK = "SELECT pg_advisory_xact_lock(1, 1)"
_READ = "SELECT version FROM sample WHERE id = {}"
_UPDATE = "UPDATE sample SET version = {} WHERE id = {}"
_INSERT = "INSERT INTO sample_event (sample_id, version) VALUES ({}, {})"
_PAGE = "SELECT * FROM sample ORDER BY id"

Work = Callable[[], Awaitable[object]]


def measure() -> list[Row]:
    """Return the rows of the table: none without a PostgreSQL server."""
    server = postgresql_server()
    if server is None:
        return []
    url = server.url_without_tables(Path("bench-drivers"))
    with server.connect(Path("bench-drivers")) as connection:
        connection.control(_CREATE)
    return asyncio.run(_measure(url))


async def _measure(url: str) -> list[Row]:
    ours, theirs = _use_psycopg(url), await _use_asyncpg(url)
    labels = ("a change of four statements", f"a page of {PAGE_SIZE} rows")
    return [
        await _compare(label, *works, count)
        for label, works, count in zip(labels, zip(ours, theirs, strict=True), (CHANGES, PAGES), strict=True)
    ]


def _use_psycopg(url: str) -> tuple[Work, Work]:
    """Return a change and a page, in a thread of the connection and with pipelines, as `PostgresDatabase` runs them."""
    import psycopg

    thread = ThreadPoolExecutor(1)
    connection = psycopg.connect(url, autocommit=True)
    read, update, insert = (statement.format("%s", "%s") for statement in (_READ, _UPDATE, _INSERT))

    def change() -> None:
        connection.execute(f"BEGIN; {_LOCK}")
        with connection.pipeline():
            version = connection.execute(read, ("7",)).fetchone()[0]
            connection.execute(update, (version + 1, "7"))
            connection.execute(insert, ("7", version + 1))
            connection.execute("COMMIT")

    def run(work: Callable[[], object]) -> Work:
        return lambda: asyncio.get_running_loop().run_in_executor(thread, work)

    return run(change), run(lambda: connection.execute(_PAGE).fetchall())


async def _use_asyncpg(url: str) -> tuple[Work, Work]:
    """Return the same in the event loop. asyncpg has no pipelines: each statement is waited for."""
    import asyncpg

    connection: Any = await asyncpg.connect(url)
    read, update, insert = (statement.format("$1", "$2") for statement in (_READ, _UPDATE, _INSERT))

    async def change() -> None:
        await connection.execute(f"BEGIN; {_LOCK}")
        version = await connection.fetchval(read, "7")
        await connection.execute(update, version + 1, "7")
        await connection.execute(insert, "7", version + 1)
        await connection.execute("COMMIT")

    return change, lambda: connection.fetch(_PAGE)


async def _compare(label: str, ours: Work, theirs: Work, count: int) -> Row:
    times: tuple[list[float], list[float]] = ([], [])
    # In turn, so that what else the machine does meets both.
    for _ in range(count):
        for work, taken in zip((ours, theirs), times, strict=True):
            started = time.perf_counter()
            await work()
            taken.append(time.perf_counter() - started)
    own, other = (min(taken) * 1000 for taken in times)
    return Row(label, f"psycopg {own:.2f} ms", f"asyncpg {other:.2f} ms", f"{own / other:.2f}", "", None, own)
