"""Tests for the limit of one request at a time to a host over all processes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from copydesk.errors import StoreError
from copydesk.store.postgresql import host_locks
from copydesk.store.postgresql.database import PostgresDatabase, open_postgresql
from copydesk.store.postgresql.host_locks import HOST_LOCK_CLASS
from postgresql_server import PostgresqlServer, cut_connections

HOST = "one.example"


@pytest.fixture
async def processes(tmp_path: Path, server: PostgresqlServer) -> AsyncIterator[list[PostgresDatabase]]:
    """One database, opened as three processes do."""
    async with AsyncExitStack() as stack:
        opened = [open_postgresql(server.url(tmp_path), busy_timeout=60) for _ in range(3)]
        for database in opened:
            stack.push_async_callback(database.close)
        yield opened


async def wait_for_locks(server: PostgresqlServer, folder: Path, count: int, *, waiting: bool) -> None:
    """Wait until so many locks of hosts are held or waited for."""
    query = "SELECT count(*) FROM pg_locks WHERE classid = ? AND granted <> ? AND database = (SELECT oid FROM"
    query += " pg_database WHERE datname = current_database())"
    with server.connect(folder) as connection:
        async with asyncio.timeout(30):
            while connection.execute(query, (HOST_LOCK_CLASS, waiting)).fetchone()[0] != count:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("other", [0, 1], ids=["of the same process", "of another process"])
async def test_request_waits_for_that_of_another_task(
    processes: list[PostgresDatabase], server: PostgresqlServer, tmp_path: Path, other: int
) -> None:
    async def request() -> None:
        async with processes[other].hold_host(HOST):
            pass

    async with processes[0].hold_host(HOST):
        task = asyncio.create_task(request())
        await wait_for_locks(server, tmp_path, 1, waiting=True)
        assert not task.done()
    await task


async def test_other_hosts_are_free(processes: list[PostgresDatabase]) -> None:
    first, second, _ = processes
    async with asyncio.timeout(30), first.hold_host(HOST), second.hold_host("two.example"):
        pass


async def test_host_goes_to_who_waits_for_it(
    processes: list[PostgresDatabase], server: PostgresqlServer, tmp_path: Path
) -> None:
    turns: list[int] = []

    async def request(number: int) -> None:
        async with processes[number].hold_host(HOST):
            turns.append(number)

    async with processes[0].hold_host(HOST):
        others = []
        for number in (1, 2):
            others.append(asyncio.create_task(request(number)))
            await wait_for_locks(server, tmp_path, number, waiting=True)
    # It asks again at once, and has its turn behind those that wait.
    await asyncio.gather(request(0), *others)

    assert turns == [1, 2, 0]


async def test_host_is_free_after_an_error(processes: list[PostgresDatabase]) -> None:
    first, second, _ = processes
    with pytest.raises(KeyError):
        async with first.hold_host(HOST):
            raise KeyError
    async with asyncio.timeout(30), second.hold_host(HOST):
        pass


async def test_cancelled_tasks_leave_the_host_free(
    processes: list[PostgresDatabase], server: PostgresqlServer, tmp_path: Path
) -> None:
    async def request(database: PostgresDatabase) -> None:
        async with database.hold_host(HOST):
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(request(processes[0]))]
    await wait_for_locks(server, tmp_path, 1, waiting=False)
    tasks.append(asyncio.create_task(request(processes[1])))
    await wait_for_locks(server, tmp_path, 1, waiting=True)
    for task in reversed(tasks):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    async with asyncio.timeout(30), processes[2].hold_host(HOST):
        pass


async def test_suspended_process_loses_the_host(
    processes: list[PostgresDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_locks, "IDLE_TIMEOUT", 1)
    first, second, _ = processes
    # The first one sends no other statement, as if it stood still.
    async with first.hold_host(HOST), asyncio.timeout(30), second.hold_host(HOST):
        pass


async def test_frozen_server_holds_up_no_cancelled_task(
    processes: list[PostgresDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_locks, "RELEASE_TIMEOUT", 0.01)
    first, second, _ = processes

    async def request() -> None:
        async with first.hold_host(HOST):
            # It answers nothing any more.
            monkeypatch.setattr(first._host_locks._session, "execute", lambda *_: asyncio.Event().wait())
            asyncio.current_task().cancel()  # type: ignore[union-attr]
            await asyncio.sleep(0)

    done, _ = await asyncio.wait([asyncio.create_task(request())], timeout=10)

    assert [task.cancelled() for task in done] == [True]
    async with asyncio.timeout(30), second.hold_host(HOST):
        pass


async def test_missing_database_is_reported(server: PostgresqlServer, tmp_path: Path) -> None:
    database = open_postgresql(psycopg.conninfo.make_conninfo(server.url(tmp_path), dbname="missing"), busy_timeout=60)
    with pytest.raises(StoreError, match="does not exist") as raised:
        async with database.hold_host(HOST):
            pass
    # Nothing was under way, since there was no connection.
    assert raised.value.hint
    assert "under way" not in raised.value.hint


async def test_session_is_closed_if_its_settings_are_refused(
    processes: list[PostgresDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_locks, "IDLE_TIMEOUT", -1)
    closed: list[psycopg.AsyncConnection[Any]] = []
    close = psycopg.AsyncConnection.close

    async def record_close(session: psycopg.AsyncConnection[Any]) -> None:
        closed.append(session)
        await close(session)

    monkeypatch.setattr(psycopg.AsyncConnection, "close", record_close)
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        async with processes[0].hold_host(HOST):
            pass
    assert [session.closed for session in closed] == [True]


async def test_session_is_closed_while_no_host_is_asked_for(processes: list[PostgresDatabase]) -> None:
    locks = processes[0]._host_locks
    async with processes[0].hold_host(HOST):
        assert not await locks.close_idle()
        assert not await locks.close_idle()
    assert await locks.close_idle()
    assert not await locks.close_idle()
    async with processes[0].hold_host(HOST):
        pass
    assert not await locks.close_idle()


async def test_session_that_was_ended_is_opened_again(
    processes: list[PostgresDatabase], server: PostgresqlServer, tmp_path: Path
) -> None:
    first, second, _ = processes
    async with first.hold_host(HOST):
        cut_connections(server, tmp_path)
        # The server has released it.
        async with asyncio.timeout(30), second.hold_host(HOST):
            pass
    async with first.hold_host(HOST):
        await wait_for_locks(server, tmp_path, 1, waiting=False)
