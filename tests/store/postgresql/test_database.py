"""Tests for transactions, locks and lost connections."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from psycopg.errors import UniqueViolation
from sqlalchemy import Connection, select, update

from copydesk.errors import InvalidError, StoreBusyError, StoreError
from copydesk.store import tables
from copydesk.store.postgresql.database import LOCK_CLASS, PostgresDatabase, open_postgresql
from copydesk.store.raw_sql import dbapi_connection, execute_many, execute_sql
from postgresql_server import PostgresqlServer, add_conflicts, count_conflicts, cut_connections
from store_fixtures import add_user, user_names

INSERT_USER = "INSERT INTO \"user\" (id, name, time_zone, created_at) VALUES (?, ?, 'UTC', 0)"


@pytest.fixture
async def database(tmp_path: Path, server: PostgresqlServer) -> AsyncIterator[PostgresDatabase]:
    """An open database with its tables."""
    opened = open_postgresql(server.url(tmp_path), busy_timeout=60)
    await opened.prepare()
    yield opened
    await opened.close()


@pytest.fixture
async def impatient(tmp_path: Path, server: PostgresqlServer) -> AsyncIterator[PostgresDatabase]:
    """The same database, opened by a process that hardly waits for others."""
    opened = open_postgresql(server.url(tmp_path), busy_timeout=0.2)
    yield opened
    await opened.close()


@pytest.fixture
async def other_process(tmp_path: Path, server: PostgresqlServer) -> AsyncIterator[PostgresDatabase]:
    """The same database, opened once more."""
    opened = open_postgresql(server.url(tmp_path), busy_timeout=60)
    yield opened
    await opened.close()


def count_up(connection: Connection, user: str) -> None:
    """Increment a number as the desk does: read it, compute, and write it."""
    (number,) = connection.execute(select(tables.user.c.time_zone).where(tables.user.c.id == user)).one()
    connection.execute(update(tables.user).where(tables.user.c.id == user).values(time_zone=str(int(number) + 1)))


async def test_no_update_is_lost_between_processes(database: PostgresDatabase, other_process: PostgresDatabase) -> None:
    user = await database.write(add_user)
    await database.write(lambda connection: connection.execute(update(tables.user).values(time_zone="0")).rowcount)

    units = [opened.of_user(user).write(count_up, user) for _ in range(20) for opened in (database, other_process)]
    await asyncio.gather(*units)

    assert await database.read(lambda connection: connection.execute(select(tables.user.c.time_zone)).scalar()) == "40"


async def test_error_rolls_back(database: PostgresDatabase) -> None:
    def add_and_fail(connection: Connection) -> None:
        add_user(connection)
        raise KeyError

    with pytest.raises(KeyError):
        await database.write(add_and_fail)

    assert await database.read(user_names) == []
    await database.write(add_user, "Bea")
    assert await database.read(user_names) == ["Bea"]


async def test_statement_is_not_waited_for(database: PostgresDatabase) -> None:
    def add(connection: Connection) -> None:
        driver = dbapi_connection(connection)
        cursor = driver.execute(INSERT_USER, ("a", "Ada"))
        assert cursor.pgresult is None
        # Only somebody who asks waits.
        assert driver.total_changes == 1
        assert cursor.rowcount == 1

    await database.write(add)

    assert await database.read(user_names) == ["Ada"]


async def test_rows_of_many_statements_are_counted(database: PostgresDatabase) -> None:
    def add(connection: Connection) -> int:
        return execute_many(connection, INSERT_USER, [("a", "Ada"), ("b", "Bea"), ("c", "Cleo")])

    assert await database.write(add) == 3


async def test_error_of_a_statement_that_nobody_looked_at_rolls_back(database: PostgresDatabase) -> None:
    def add_twice(connection: Connection) -> None:
        for name in ("Ada", "Bea"):
            dbapi_connection(connection).execute(INSERT_USER, ("a", name))

    with pytest.raises(UniqueViolation):
        await database.write(add_twice)

    assert await database.read(user_names) == []
    await database.write(add_user, "Cleo")
    assert await database.read(user_names) == ["Cleo"]


async def test_reader_cannot_write(database: PostgresDatabase) -> None:
    with pytest.raises(StoreError, match="read-only"):
        await database.read(add_user)


async def test_user_lock_that_is_held_is_reported(
    impatient: PostgresDatabase, tmp_path: Path, server: PostgresqlServer
) -> None:
    user = await impatient.write(add_user)
    with server.connect(tmp_path) as holder:
        holder.execute("SELECT pg_advisory_lock(?, ?)", (LOCK_CLASS, impatient.of_user(user)._lock_key))
        with pytest.raises(StoreBusyError):
            await impatient.of_user(user).write(count_up, user)
        # Those of other users do not wait for it.
        await impatient.write(add_user, "Bea")


async def test_connections_that_were_cut_are_opened_again(
    database: PostgresDatabase, tmp_path: Path, server: PostgresqlServer
) -> None:
    await database.write(add_user)
    assert await database.read(user_names) == ["Ada"]

    cut_connections(server, tmp_path)

    assert await database.read(user_names) == ["Ada"]
    cut_connections(server, tmp_path)
    await database.write(add_user, "Bea")
    assert await database.read(user_names) == ["Ada", "Bea"]


async def test_connection_cut_during_a_unit_loses_all_of_it(
    database: PostgresDatabase, tmp_path: Path, server: PostgresqlServer
) -> None:
    def add_two(connection: Connection) -> None:
        add_user(connection)
        cut_connections(server, tmp_path)
        add_user(connection, "Bea")

    with pytest.raises(StoreError, match="Cannot reach postgresql://"):
        await database.write(add_two)

    assert await database.read(user_names) == []


@pytest.fixture
async def disposable(tmp_path: Path, server: PostgresqlServer) -> AsyncIterator[PostgresDatabase]:
    """An open database that is dropped after the test."""
    opened = open_postgresql(server.url_without_tables(tmp_path), busy_timeout=5)
    await opened.prepare()
    yield opened
    await opened.close()


async def test_connection_that_stays_in_its_pipeline_is_replaced(database: PostgresDatabase) -> None:
    def send_and_fail(connection: Connection) -> None:
        # As after a cut in the middle of a pipeline: results are missing of which nothing knows any more.
        dbapi_connection(connection).pgconn.send_query_params(b"SELECT pg_sleep(1)", [])
        raise KeyError

    with pytest.raises(KeyError):
        await database.write(send_and_fail)

    await database.write(add_user, "Bea")
    assert await database.read(user_names) == ["Bea"]


async def test_unit_that_met_a_conflict_is_run_again(
    disposable: PostgresDatabase, tmp_path: Path, server: PostgresqlServer
) -> None:
    add_conflicts(server, tmp_path, ['"user"'], every=2)
    for name in ("Ada", "Bea", "Cleo"):
        await disposable.write(add_user, name)

    assert await disposable.read(user_names) == ["Ada", "Bea", "Cleo"]
    assert count_conflicts(server, tmp_path, every=2) == 2


async def test_unit_that_meets_a_conflict_each_time_is_reported(
    disposable: PostgresDatabase, tmp_path: Path, server: PostgresqlServer
) -> None:
    add_conflicts(server, tmp_path, ['"user"'], every=1)
    with pytest.raises(StoreBusyError, match="nothing changed"):
        await disposable.write(add_user)

    assert await disposable.read(user_names) == []


async def test_deadlock_is_resolved(disposable: PostgresDatabase, tmp_path: Path, server: PostgresqlServer) -> None:
    users = [await disposable.write(add_user, name) for name in ("Ada", "Bea")]
    attempts: list[str] = []
    other_has_locked, has_locked = threading.Event(), threading.Event()

    def rename(connection: Connection, user: str) -> None:
        statement = update(tables.user).where(tables.user.c.id == user).values(name=f"{user} renamed")
        assert connection.execute(statement).rowcount == 1

    def rename_both(connection: Connection) -> None:
        attempts.append("")
        rename(connection, users[0])
        has_locked.set()
        other_has_locked.wait(10)
        rename(connection, users[1])

    def lock_in_other_order() -> None:
        with server.connect(tmp_path) as other:
            # Looks for a deadlock later than the unit of work, so that the unit is the one that is rolled back.
            other.control("SET deadlock_timeout = '20s'; BEGIN")
            other.execute('SELECT 1 FROM "user" WHERE id = ? FOR UPDATE', (users[1],)).fetchall()
            other_has_locked.set()
            has_locked.wait(10)
            other.execute('SELECT 1 FROM "user" WHERE id = ? FOR UPDATE', (users[0],)).fetchall()
            other.control("COMMIT")

    await asyncio.gather(disposable.write(rename_both), asyncio.to_thread(lock_in_other_order))

    assert await disposable.read(user_names) == [f"{user} renamed" for user in sorted(users)]
    # More than once again if the next attempt takes the first lock before the other transaction does.
    assert len(attempts) >= 2


async def test_change_by_another_process_is_counted(
    database: PostgresDatabase, other_process: PostgresDatabase
) -> None:
    before = await database.change_counter()
    assert await database.change_counter() == before

    await other_process.write(add_user)

    await _wait_until_changed(database, before)


async def test_change_of_another_user_is_not_counted(
    database: PostgresDatabase, other_process: PostgresDatabase
) -> None:
    """Else each console would load everything again with each change of anybody."""
    ada, ben = database.of_user("ada"), database.of_user("ben")
    before, all_before = await ada.change_counter(), await database.change_counter()

    await other_process.of_user("ben").write(add_user, "Ben")
    await _wait_until_changed(ben, before)
    assert await ada.change_counter() == before
    assert await database.change_counter() > all_before

    await other_process.of_user("ada").write(add_user)
    await _wait_until_changed(ada, before)
    before = await ada.change_counter()
    # As the version before does, and what concerns all users.
    await other_process.write(lambda connection: execute_sql(connection, "SELECT pg_notify('copydesk', '')").fetchone())
    await _wait_until_changed(ada, before)


async def _wait_until_changed(database: PostgresDatabase, before: int) -> None:
    # The server may send the notification a moment after the commit.
    async with asyncio.timeout(10):
        while await database.change_counter() == before:
            pass


async def test_wait_ends_at_once_after_a_change_that_was_received_before(
    database: PostgresDatabase, other_process: PostgresDatabase
) -> None:
    before = await database.change_counter()
    await other_process.write(add_user)
    await _wait_until_changed(database, before)
    async with asyncio.timeout(10):
        await database.wait_for_change(before)


async def test_wait_ends_with_a_change_that_another_caller_receives(
    database: PostgresDatabase, other_process: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs count changes on the same connection, and may read the notification before the loop looks at the socket."""
    watched = asyncio.Event()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "add_reader", lambda *_: watched.set())
    monkeypatch.setattr(loop, "remove_reader", lambda *_: None)
    before = await database.change_counter()
    waiting = asyncio.create_task(database.wait_for_change(before))
    await watched.wait()
    assert not waiting.done()

    await other_process.write(add_user)
    await _wait_until_changed(database, before)

    async with asyncio.timeout(10):
        await waiting


async def test_text_with_nul_is_refused(database: PostgresDatabase) -> None:
    with pytest.raises(InvalidError, match="NUL"):
        await database.write(add_user, "A\0da")


async def test_server_that_is_not_there_is_reported(tmp_path: Path) -> None:
    database = open_postgresql(f"postgresql://ada:secret@/desk?host={tmp_path}", busy_timeout=1)
    with pytest.raises(StoreError, match="Cannot reach postgresql://") as raised:
        await database.read(user_names)
    assert "secret" not in raised.value.message
    await database.close()
