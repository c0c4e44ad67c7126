"""Many units of work in one go: each wholly done or not, its outcome in its place."""

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


async def test_what_each_returns_stands_in_its_place(store: Engines) -> None:
    assert await store.write_each(add, MANY) == [name.upper() for name in MANY]
    assert await store.read(user_names) == MANY
    assert await store.write_each(add, []) == []


async def test_what_is_refused_leaves_the_others_alone(store: Engines) -> None:
    def picky(connection: Connection, name: str) -> str:
        if name.endswith("7"):
            raise ConflictError(f"not {name}")
        return add(connection, name)

    done = await store.write_each(picky, MANY)

    refused = [name for name in MANY if name.endswith("7")]
    assert [str(each) for each in done if isinstance(each, ConflictError)] == [f"not {name}" for name in refused]
    assert [str(each) for each in done] == [f"not {name}" if name in refused else name.upper() for name in MANY]
    assert await store.read(user_names) == [name for name in MANY if name not in refused]


async def test_a_full_disk_takes_its_group_and_the_rest(store: Engines) -> None:
    def fills_up(connection: Connection, name: str) -> str:
        if name == MANY[COMMITTED_TOGETHER + 3]:
            raise StoreFullError
        return add(connection, name)

    done = await store.write_each(fills_up, MANY)

    assert [isinstance(each, StoreFullError) for each in done] == [
        place >= COMMITTED_TOGETHER for place in range(len(MANY))
    ]
    assert await store.read(user_names) == MANY[:COMMITTED_TOGETHER]
    assert await store.write_each(add, ["later"]) == ["LATER"]


async def test_a_database_in_use_is_told_for_each(tmp_path: Path) -> None:
    store = await open_store(tmp_path, busy_timeout=0)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        done = await store.write_each(add, ["one", "two"])
    await store.close()

    assert [type(each) for each in done] == [StoreBusyError] * 2


async def test_a_unit_that_wrote_and_then_refuses_is_a_mistake_and_nothing_of_its_group_is_kept(store: Engines) -> None:
    def late(connection: Connection, name: str) -> str:
        add(connection, name)
        raise ConflictError("too late")

    with pytest.raises(RuntimeError, match="wrote, and then refused"):
        await store.write_each(late, ["one"])

    assert await store.read(user_names) == []
