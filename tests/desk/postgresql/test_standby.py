"""What `copydesk doctor` and `/metrics` say about a server with a standby, which streams from it."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import httpx
import psycopg
import pytest

from copydesk.desk import Desk
from copydesk.desk.context import utc_now
from copydesk.desk.doctor import examine
from copydesk.store.postgresql.database import open_postgresql
from copydesk.store.totals import load_totals
from desk_fixtures import open_desk_at
from http_service import run_service
from postgresql_server import PostgresqlServer
from running_workers import wait_until


@pytest.fixture
def standby(server: PostgresqlServer, tmp_path: Path) -> Iterator[str]:
    """The URL of the desk's database on the standby."""
    database = psycopg.conninfo.conninfo_to_dict(server.url(tmp_path))["dbname"]
    with server.standby() as pattern:
        yield pattern.format(database=database)


async def check_database(home: Path, url: str | None = None) -> str:
    """Return what the doctor says about the database, by default that of the desk in `home`."""
    async with open_desk_at(home, **({} if url is None else {"database__url": url})) as desk:

        @asynccontextmanager
        async def use_open_desk() -> AsyncIterator[Desk]:
            yield desk

        findings = await examine(desk.settings, use_open_desk)
    return next(f"{finding.found} {finding.advice}".strip() for finding in findings if finding.what == "database")


async def read_lag(client: httpx.AsyncClient) -> dict[str, float]:
    """Return the metrics of the standbys."""
    samples = re.findall(r"^copydesk_standby(\w+) (\S+)$", (await client.get("/metrics")).text, re.MULTILINE)
    return {name: float(value) for name, value in samples}


async def test_standby_that_replays_nothing_falls_behind(standby: str, tmp_path: Path) -> None:
    async with run_service(tmp_path) as service:
        client = await service.client()

        async def is_up_to_date() -> bool:
            return await read_lag(client) == {"s": 1, "_lag_bytes": 0, "_lag_seconds": 0}

        await wait_until(is_up_to_date)
        with closing(psycopg.connect(standby, autocommit=True)) as connection:
            connection.execute("SELECT pg_wal_replay_pause()")

            async def is_paused() -> bool:
                return connection.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() == ("paused",)

            # The standby may still replay what comes until then.
            await wait_until(is_paused)
        await client.post("/drafts", json={"text": "The harbour is open."})

        async def is_behind() -> bool:
            return (await read_lag(client))["_lag_bytes"] > 0

        # The server of the tests writes its log a moment after a commit.
        await wait_until(is_behind)
        assert re.search(r" 1 standby server, at most 0\.\d MiB .*behind\.", await check_database(tmp_path))


async def test_standby_is_no_server_for_a_desk(standby: str, tmp_path: Path) -> None:
    async with open_desk_at(tmp_path):
        pass

    async def is_replayed() -> bool:
        with closing(psycopg.connect(standby)) as connection:
            return bool(connection.execute('SELECT count(*) FROM "user"').fetchone()[0])

    await wait_until(is_replayed)
    assert "It is a standby: nothing can be changed." in await check_database(tmp_path, standby)


async def test_role_without_pg_monitor_sees_only_the_number(
    server: PostgresqlServer, standby: str, tmp_path: Path
) -> None:
    with server.connect(tmp_path) as connection:
        connection.control("CREATE ROLE desk_reader LOGIN; GRANT pg_read_all_data TO desk_reader")
    url = server.url(tmp_path).replace("postgres:", "desk_reader:")
    database = open_postgresql(url, busy_timeout=5)
    try:
        standbys = (await database.read(load_totals, utc_now())).standbys
    finally:
        await database.close()
        with server.connect(tmp_path) as connection:
            connection.control("DROP OWNED BY desk_reader; DROP ROLE desk_reader")

    assert standbys is not None
    assert (standbys.count, standbys.bytes_behind, standbys.seconds_behind) == (1, None, None)


async def test_backup_is_no_standby(server: PostgresqlServer, tmp_path: Path) -> None:
    # What pg_basebackup and pg_receivewal connect as.
    with closing(psycopg.connect(server.url(tmp_path), replication="true")):
        assert "standby" not in await check_database(tmp_path)
