"""Tests for closing idle connections and reopening them."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from copydesk.store.database import READER_COUNT, Database
from store_fixtures import add_user, has_statistics, open_store, run_ambiguous_query, user_names

pytestmark = pytest.mark.sqlite("the log of the file")


def open_connections(store: Database) -> tuple[int, int]:
    """Return the numbers of open connections: readers, writers."""
    return sum(reader.is_open for reader in store._readers.threads), int(store._writer.is_open)


async def test_unused_connections_are_closed(store: Database) -> None:
    together = threading.Barrier(READER_COUNT, timeout=60)
    await asyncio.gather(store.write(add_user), *(store.read(lambda _: together.wait()) for _ in range(READER_COUNT)))
    assert not await store.close_idle()
    assert open_connections(store) == (READER_COUNT, 1)
    await store.read(user_names)
    assert await store.close_idle()
    assert open_connections(store) == (1, 0)
    assert await store.close_idle()
    assert not await store.close_idle()
    assert open_connections(store) == (0, 0)


async def test_closed_connections_reopen(store: Database) -> None:
    await store.write(add_user)
    names = await store.read(user_names)
    await store.close_idle()
    await store.close_idle()
    assert await store.read(user_names) == names
    await store.write(add_user, "another")
    assert len(await store.read(user_names)) == len(names) + 1


async def test_idle_close_refreshes_statistics(store: Database) -> None:
    """The next connection knows nothing of the queries of this one."""
    await store.write(run_ambiguous_query)
    await store.close_idle()
    assert await store.close_idle()
    await store.close()
    assert has_statistics(store.path)


async def test_idle_close_checkpoints_wal(store: Database) -> None:
    """Otherwise the data could stay in the WAL alone, and a busy writer would have to wait for the checkpoint."""
    await store.change_counter()  # keep one connection open: SQLite itself checkpoints when the last one closes
    await store.write(add_user, "Ada of the log")
    assert b"Ada of the log" not in store.path.read_bytes()
    await store.close_idle()
    await store.close_idle()
    assert b"Ada of the log" in store.path.read_bytes()


async def test_checkpoint_succeeds_during_foreign_write(store: Database) -> None:
    await store.change_counter()
    await store.write(run_ambiguous_query)  # cannot be refreshed while the other process writes
    await store.write(add_user, "Ada of the log")
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await store.close_idle()
        await store.close_idle()
        assert b"Ada of the log" in store.path.read_bytes()


@pytest.mark.parametrize("mode", ["write", "read"])
async def test_connections_in_use_stay_open(store: Database, mode: str) -> None:
    loop, started, proceed = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

    def slow(connection: Connection) -> list[str]:
        loop.call_soon_threadsafe(started.set)
        asyncio.run_coroutine_threadsafe(proceed.wait(), loop).result(60)
        return user_names(connection)

    unit = asyncio.create_task(getattr(store, mode)(slow))
    await started.wait()
    await asyncio.wait_for(store.close_idle(), 60)
    await asyncio.wait_for(store.close_idle(), 60)
    assert open_connections(store)[mode == "write"] == 1
    proceed.set()
    assert await unit == await store.read(user_names)


@pytest.mark.parametrize("steps", range(12))
async def test_closing_during_idle_close_leaves_no_connection(tmp_path: Path, steps: int) -> None:
    """Cancelled at any step, each connection is closed exactly once."""
    store = await open_store(tmp_path)
    await asyncio.gather(store.write(add_user), *(store.read(user_names) for _ in range(READER_COUNT)))
    await store.close_idle()
    idle_close = asyncio.create_task(store.close_idle())
    for _ in range(steps):
        await asyncio.sleep(0)
    idle_close.cancel()
    await store.close()
    await asyncio.gather(idle_close, return_exceptions=True)
    assert open_connections(store) == (0, 0)
