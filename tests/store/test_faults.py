"""What goes wrong with the file or the disk comes out as one of our errors, and leaves nothing half-written."""

import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection

from copydesk.errors import StoreBusyError, StoreDamagedError, StoreError, StoreFullError
from copydesk.store import tables
from copydesk.store.engine import Engines
from copydesk.store.faults import fault_of, translated
from store_fixtures import add_item, add_source, add_user, open_store

LONG = "x" * 400_000


async def fill(connection: AsyncConnection) -> None:
    """Rows for two megabytes, in several statements."""
    user = await add_user(connection)
    source = await add_source(connection, user)
    for _ in range(5):
        await add_item(connection, user, source, text=LONG)


async def rows(store: Engines) -> list[int]:
    """How many users, sources and items there are."""
    query = text("SELECT (SELECT count(*) FROM user), (SELECT count(*) FROM source), (SELECT count(*) FROM item)")
    async with store.reading() as connection:
        return list((await connection.execute(query)).one())


async def test_a_full_disk_is_told_as_one_and_nothing_is_half_written(store: Engines) -> None:
    async with store.writing() as connection:
        await connection.exec_driver_sql("PRAGMA max_page_count = 120")
    with pytest.raises(StoreFullError, match="The disk is full"):
        async with store.writing() as connection:
            await fill(connection)

    assert await rows(store) == [0, 0, 0]
    async with store.writing() as connection:
        await connection.exec_driver_sql("PRAGMA max_page_count = 100000")
        await fill(connection)
    assert await rows(store) == [1, 1, 5]


@pytest.fixture
def small_disk() -> Iterator[None]:
    """No file grows beyond a megabyte: the system refuses the write, as a failing disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_write_that_the_system_refuses_leaves_nothing_half_written(store: Engines, small_disk: None) -> None:
    with pytest.raises(StoreFullError, match=r"desk\.db could not be read or written"):
        async with store.writing() as connection:
            await fill(connection)

    assert await rows(store) == [0, 0, 0]
    async with store.writing() as connection:
        await add_user(connection)
    assert await rows(store) == [1, 0, 0]


def scribble(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xa5" * 65536)


async def test_a_damaged_page_is_told_as_a_damaged_database(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    async with store.writing() as connection:
        await fill(connection)
    await store.close()
    scribble(store.path)

    store = await open_store(tmp_path)
    with pytest.raises(StoreDamagedError, match=r"desk\.db cannot be read as a database.* Restore the copy"):
        await rows(store)
    await store.close()


async def test_a_rule_of_the_tables_that_is_broken_is_no_fault_of_the_database(store: Engines) -> None:
    async def add_twice() -> None:
        async with store.writing() as connection:
            user = await add_user(connection)
            await add_source(connection, user, id="same")
            await add_source(connection, user, id="same")

    with pytest.raises(IntegrityError):
        await add_twice()

    async with store.reading() as connection:
        assert (await connection.execute(select(tables.user))).all() == []


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY, StoreBusyError),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreBusyError),
        (sqlite3.SQLITE_LOCKED, StoreBusyError),
        (sqlite3.SQLITE_FULL, StoreFullError),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreFullError),
        (sqlite3.SQLITE_CORRUPT_INDEX, StoreDamagedError),
        (sqlite3.SQLITE_NOTADB, StoreDamagedError),
        (sqlite3.SQLITE_CANTOPEN, StoreError),
        (sqlite3.SQLITE_READONLY_DIRECTORY, StoreError),
        (sqlite3.SQLITE_ERROR, None),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, None),
        (sqlite3.SQLITE_INTERRUPT, None),
    ],
)
def test_each_code_of_sqlite_has_its_error(code: int, kind: type[StoreError] | None) -> None:
    error = sqlite3.OperationalError("words that may change")
    error.sqlite_errorcode = code

    fault = fault_of(Path("desk.db"), error)

    assert (type(fault) if fault else None) is kind


def test_waiting_in_vain_for_a_connection_of_our_own_is_a_busy_store() -> None:
    with pytest.raises(StoreBusyError, match="This process"), translated(Path("desk.db")):
        raise PoolTimeoutError


def test_what_is_not_of_the_database_goes_on_as_it_is() -> None:
    with pytest.raises(KeyError), translated(Path("desk.db")):
        raise KeyError
