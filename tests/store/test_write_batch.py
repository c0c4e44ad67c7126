"""Tests for units of work that are written in groups: one outcome for each, in order."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from copydesk.errors import ConflictError, CopydeskError, StoreBusyError, StoreFullError
from copydesk.store.database import COMMIT_BATCH_SIZE, Database, run_separately
from store_fixtures import add_user, open_store, user_names

NAMES = [f"user {number:03}" for number in range(2 * COMMIT_BATCH_SIZE + 5)]


def add(connection: Connection, name: str) -> str:
    add_user(connection, name)
    return name.upper()


async def write_batch(
    store: Database, work: Callable[[Connection, str], object], names: Sequence[str]
) -> list[object | CopydeskError]:
    """Write units of work for one name each."""
    return await store.write_groups(lambda conn, group: run_separately(conn, work, group), names)


async def test_results_are_in_order(store: Database) -> None:
    assert await write_batch(store, add, NAMES) == [name.upper() for name in NAMES]
    assert await store.read(user_names) == NAMES
    assert await write_batch(store, add, []) == []


async def test_refused_unit_does_not_affect_the_rest(store: Database) -> None:
    def picky(connection: Connection, name: str) -> str:
        if name.endswith("7"):
            raise ConflictError(f"not {name}")
        return add(connection, name)

    results = await write_batch(store, picky, NAMES)

    refused = [name for name in NAMES if name.endswith("7")]
    assert [str(result) for result in results if isinstance(result, ConflictError)] == [
        f"not {name}" for name in refused
    ]
    assert [str(result) for result in results] == [f"not {name}" if name in refused else name.upper() for name in NAMES]
    assert await store.read(user_names) == [name for name in NAMES if name not in refused]


async def test_full_disk_fails_its_batch_and_later_units(store: Database) -> None:
    def fills_up(connection: Connection, name: str) -> str:
        if name == NAMES[COMMIT_BATCH_SIZE + 3]:
            raise StoreFullError
        return add(connection, name)

    results = await write_batch(store, fills_up, NAMES)

    assert [isinstance(result, StoreFullError) for result in results] == [
        index >= COMMIT_BATCH_SIZE for index in range(len(NAMES))
    ]
    assert await store.read(user_names) == NAMES[:COMMIT_BATCH_SIZE]
    assert await write_batch(store, add, ["later"]) == ["LATER"]


@pytest.mark.sqlite("opening the file")
async def test_connection_that_cannot_be_opened_is_reported(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise sqlite3.OperationalError("disk I/O error")

    await store.close()
    monkeypatch.setattr(store._writer._engine, "connect", refuse)
    with pytest.raises(StoreFullError):
        await write_batch(store, add, NAMES)


@pytest.mark.sqlite("a lock of the file")
async def test_locked_database_is_reported_per_unit(tmp_path: Path) -> None:
    store = await open_store(tmp_path, busy_timeout=0)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        results = await write_batch(store, add, ["one", "two"])
    await store.close()

    assert [type(result) for result in results] == [StoreBusyError] * 2


async def test_unit_refusing_after_write_rolls_back_batch(store: Database) -> None:
    def late(connection: Connection, name: str) -> str:
        add(connection, name)
        raise ConflictError("too late")

    with pytest.raises(RuntimeError, match="wrote, and then refused"):
        await write_batch(store, late, ["one"])

    assert await store.read(user_names) == []


@pytest.mark.sqlite("PostgreSQL syncs each commit")
async def test_batch_is_synced_and_later_writes_are_not(store: Database) -> None:
    def sync_level(connection: Connection, _: str = "") -> object:
        return connection.exec_driver_sql("PRAGMA synchronous").scalar_one()

    assert await write_batch(store, sync_level, NAMES) == [2] * len(NAMES)
    assert await store.write(sync_level) == 1
