"""Tests for transactions, locks and lost connections."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from psycopg.errors import UniqueViolation
from sqlalchemy import Connection, select, update

from copydesk.errors import InvalidError, StoreBusyError, StoreError
from copydesk.store import tables
from copydesk.store.postgresql.database import LOCK_CLASS, PostgresDatabase, open_postgresql
from copydesk.store.raw_sql import dbapi_connection, execute_many
from postgresql_server import PostgresqlServer
from store_fixtures import add_user, user_names

INSERT_USER = "INSERT INTO \"user\" (id, name, time_zone, created_at) VALUES (?, ?, 'UTC', 0)"


@pytest.fixture
async def database(tmp_path: Path, server: PostgresqlServer) -> AsyncIterator[PostgresDatabase]:
    """An open database with its tables."""
    opened = open_postgresql(server.url(tmp_path), busy_timeout=0.2)
    await opened.prepare()
    yield opened
    await opened.close()


@pytest.fixture
async def other_process(tmp_path: Path, server: PostgresqlServer) -> AsyncIterator[PostgresDatabase]:
    """The same database, opened once more."""
    opened = open_postgresql(server.url(tmp_path), busy_timeout=5)
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
    database: PostgresDatabase, tmp_path: Path, server: PostgresqlServer
) -> None:
    user = await database.write(add_user)
    with server.connect(tmp_path) as holder:
        holder.execute("SELECT pg_advisory_lock(?, ?)", (LOCK_CLASS, database.of_user(user)._lock_key))
        with pytest.raises(StoreBusyError):
            await database.of_user(user).write(count_up, user)
        # Those of other users do not wait for it.
        await database.write(add_user, "Bea")


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


def cut_connections(server: PostgresqlServer, folder: Path) -> None:
    """End the connections to the database, as a restart of the server does."""
    with server.connect(folder) as connection:
        connection.execute("""SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()""")


async def test_change_by_another_process_is_counted(
    database: PostgresDatabase, other_process: PostgresDatabase
) -> None:
    before = await database.change_counter()
    assert await database.change_counter() == before

    await other_process.write(add_user)

    # The server may send the notification a moment after the commit.
    assert any([await database.change_counter() != before for _ in range(2000)])


async def test_text_with_nul_is_refused(database: PostgresDatabase) -> None:
    with pytest.raises(InvalidError, match="NUL"):
        await database.write(add_user, "A\0da")


async def test_server_that_is_not_there_is_reported(tmp_path: Path) -> None:
    database = open_postgresql(f"postgresql://ada:secret@/desk?host={tmp_path}", busy_timeout=1)
    with pytest.raises(StoreError, match="Cannot reach postgresql://") as raised:
        await database.read(user_names)
    assert "secret" not in raised.value.message
    await database.close()
