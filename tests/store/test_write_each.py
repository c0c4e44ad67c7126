"""Tests for `write_batch`: one outcome per unit of work, in order."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from copydesk.errors import ConflictError, StoreBusyError, StoreFullError
from copydesk.store.engine import COMMITTED_TOGETHER, Engines
from store_fixtures import add_user, open_store, user_names

MANY = [f"user {number:03}" for number in range(2 * COMMITTED_TOGETHER + 5)]


def add(connection: Connection, name: str) -> str:
    add_user(connection, name)
    return name.upper()


async def test_results_are_in_order(store: Engines) -> None:
    assert await store.write_each(add, MANY) == [name.upper() for name in MANY]
    assert await store.read(user_names) == MANY
    assert await store.write_each(add, []) == []


async def test_refused_unit_does_not_affect_the_rest(store: Engines) -> None:
    def picky(connection: Connection, name: str) -> str:
        if name.endswith("7"):
            raise ConflictError(f"not {name}")
        return add(connection, name)

    results = await store.write_each(picky, MANY)

    refused = [name for name in MANY if name.endswith("7")]
    assert [str(result) for result in results if isinstance(result, ConflictError)] == [
        f"not {name}" for name in refused
    ]
    assert [str(result) for result in results] == [f"not {name}" if name in refused else name.upper() for name in MANY]
    assert await store.read(user_names) == [name for name in MANY if name not in refused]


async def test_full_disk_fails_its_batch_and_later_units(store: Engines) -> None:
    def fills_up(connection: Connection, name: str) -> str:
        if name == MANY[COMMITTED_TOGETHER + 3]:
            raise StoreFullError
        return add(connection, name)

    results = await store.write_each(fills_up, MANY)

    assert [isinstance(result, StoreFullError) for result in results] == [
        index >= COMMITTED_TOGETHER for index in range(len(MANY))
    ]
    assert await store.read(user_names) == MANY[:COMMITTED_TOGETHER]
    assert await store.write_each(add, ["later"]) == ["LATER"]


async def test_locked_database_is_reported_per_unit(tmp_path: Path) -> None:
    store = await open_store(tmp_path, busy_timeout=0)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        results = await store.write_each(add, ["one", "two"])
    await store.close()

    assert [type(result) for result in results] == [StoreBusyError] * 2


async def test_unit_refusing_after_write_rolls_back_batch(store: Engines) -> None:
    def late(connection: Connection, name: str) -> str:
        add(connection, name)
        raise ConflictError("too late")

    with pytest.raises(RuntimeError, match="wrote, and then refused"):
        await store.write_each(late, ["one"])

    assert await store.read(user_names) == []
