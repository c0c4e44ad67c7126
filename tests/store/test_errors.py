"""Tests for translating file and disk errors, and for complete rollback after them."""

import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import IntegrityError

from copydesk.errors import InvalidError, StoreBusyError, StoreCorruptError, StoreError, StoreFullError
from copydesk.store.database import Database, to_store_error, translate_errors
from copydesk.store.tables import user
from store_fixtures import add_item, add_source, add_user, open_store, user_names

pytestmark = pytest.mark.sqlite("errors of SQLite")

LONG_TEXT = "x" * 400_000


def insert_two_megabytes(connection: Connection) -> None:
    """Insert rows of two megabytes in several statements."""
    user = add_user(connection)
    source = add_source(connection, user)
    for _ in range(5):
        add_item(connection, user, source, text=LONG_TEXT)


async def count_rows(store: Database) -> list[int]:
    """Return the numbers of users, sources and items."""
    query = text("SELECT (SELECT count(*) FROM user), (SELECT count(*) FROM source), (SELECT count(*) FROM item)")
    return list(await store.read(lambda connection: connection.execute(query).one()))


async def limit_pages(store: Database, pages: int) -> None:
    """Limit the database to `pages` pages."""
    await store.write(lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}").scalar_one())


async def test_full_disk_rolls_back(store: Database) -> None:
    await limit_pages(store, 120)
    with pytest.raises(StoreFullError, match="The disk is full"):
        await store.write(insert_two_megabytes)

    assert await count_rows(store) == [0, 0, 0]
    await limit_pages(store, 100000)
    await store.write(insert_two_megabytes)
    assert await count_rows(store) == [1, 1, 5]


@pytest.fixture
def small_disk() -> Iterator[None]:
    """Limit files to one megabyte: the system refuses further writes, as a failing disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_refused_write_rolls_back(store: Database, small_disk: None) -> None:
    with pytest.raises(StoreFullError, match=r"Cannot read or write .*desk\.db; nothing changed"):
        await store.write(insert_two_megabytes)

    assert await count_rows(store) == [0, 0, 0]
    await store.write(add_user)
    assert await count_rows(store) == [1, 0, 0]


async def test_disk_full_at_commit_rolls_back(store: Database, small_disk: None) -> None:
    """All statements succeed, because their pages stay in memory until the commit."""
    completed = []

    def fill_in_memory(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA cache_size = -20000")
        insert_two_megabytes(connection)
        completed.append("every statement")

    with pytest.raises(StoreFullError, match=r"Cannot read or write .*desk\.db; nothing changed"):
        await store.write(fill_in_memory)

    assert completed
    assert await count_rows(store) == [0, 0, 0]
    await store.write(add_user)
    assert await count_rows(store) == [1, 0, 0]
    await store.close()
    assert await count_rows(store) == [1, 0, 0]
    await store.close()


async def test_failed_commit_is_rolled_back(store: Database) -> None:
    """SQLite would stay in the transaction: no other could begin, and closing committed it or failed."""

    def point_at_nothing(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        add_source(connection, "nobody")

    with pytest.raises(IntegrityError, match="FOREIGN KEY"):
        await store.write(point_at_nothing)

    assert await count_rows(store) == [0, 0, 0]
    await store.write(add_user)
    assert await count_rows(store) == [1, 0, 0]


def damage(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xa5" * 65536)


async def test_damaged_page_is_reported(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    await store.write(insert_two_megabytes)
    await store.close()
    damage(store.path)

    store = await open_store(tmp_path)
    with pytest.raises(StoreCorruptError, match=r"desk\.db is damaged: .* malformed.*There is no backup"):
        await count_rows(store)
    await store.close()


async def test_nothing_is_written_once_damage_was_found(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    await store.write(insert_two_megabytes)
    await store.close()
    damage(store.path)

    store = await open_store(tmp_path)
    with pytest.raises(StoreCorruptError) as found:
        await count_rows(store)
    content = store.path.read_bytes()
    for write in (store.write, store.write_durable):
        with pytest.raises(StoreCorruptError) as refused:
            await write(lambda _: pytest.fail("written"))
        assert str(refused.value) == str(found.value)
    results = await store.write_groups(lambda *_: pytest.fail("written"), ["one", "two"])
    assert [str(result) for result in results] == [str(found.value)] * 2
    await store.close()
    assert store.path.read_bytes() == content


async def test_text_that_is_not_utf8_is_damage(store: Database) -> None:
    await store.write(lambda connection: add_user(connection, "Ada"))
    await store.write(lambda connection: connection.exec_driver_sql("UPDATE user SET name = CAST(x'ff41' AS TEXT)"))

    with pytest.raises(StoreCorruptError, match=r"desk\.db is damaged: Could not decode to UTF-8 column 'name'"):
        await store.read(user_names)


async def test_value_of_the_wrong_type_is_named(store: Database) -> None:
    await store.write(add_user)
    await store.write(lambda connection: connection.exec_driver_sql("UPDATE user SET created_at = 'noon'"))

    with pytest.raises(StoreCorruptError, match="The database contains 'noon' as a time"):
        await store.read(lambda connection: connection.execute(select(user.c.created_at)).scalar_one())
    await store.write(lambda connection: add_user(connection, "Bob"))


async def test_constraint_violation_is_not_translated(store: Database) -> None:
    def add_twice(connection: Connection) -> None:
        user = add_user(connection)
        add_source(connection, user, id="same")
        add_source(connection, user, id="same")

    with pytest.raises(IntegrityError):
        await store.write(add_twice)

    assert await count_rows(store) == [0, 0, 0]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY, StoreBusyError),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreBusyError),
        (sqlite3.SQLITE_LOCKED, StoreBusyError),
        (sqlite3.SQLITE_FULL, StoreFullError),
        (sqlite3.SQLITE_PROTOCOL, StoreFullError),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreFullError),
        (sqlite3.SQLITE_CORRUPT_INDEX, StoreCorruptError),
        (sqlite3.SQLITE_NOTADB, StoreCorruptError),
        (sqlite3.SQLITE_CANTOPEN, StoreError),
        (sqlite3.SQLITE_READONLY_DIRECTORY, StoreError),
        (sqlite3.SQLITE_ERROR, None),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, None),
        (sqlite3.SQLITE_INTERRUPT, None),
    ],
)
def test_sqlite_code_maps_to_error(code: int, kind: type[StoreError] | None) -> None:
    error = sqlite3.OperationalError("words that may change")
    error.sqlite_errorcode = code

    translated_error = to_store_error(Path("desk.db"), error)

    assert (type(translated_error) if translated_error else None) is kind


def test_disk_error_without_code_is_recognized() -> None:
    assert isinstance(to_store_error(Path("desk.db"), sqlite3.OperationalError("disk I/O error")), StoreFullError)


async def test_invalid_unicode_in_parameter_is_refused(store: Database) -> None:
    query = text("SELECT name FROM user WHERE id = :id")
    parameters = {"id": "x" * 500 + "Ada \udcff" + "y" * 500}
    with pytest.raises(InvalidError, match=r"^x{16}Ada \\udcff: is not valid UTF-8$"):
        await store.read(lambda connection: connection.execute(query, parameters))


def test_unrelated_error_passes_through() -> None:
    with pytest.raises(KeyError), translate_errors(Path("desk.db")):
        raise KeyError
