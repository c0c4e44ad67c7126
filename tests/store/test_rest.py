"""A database at rest gives its connections back, and opens them again."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from copydesk.store.engine import READERS, Engines
from store_fixtures import add_user, has_statistics, open_store, user_names, want_statistics


def connections(store: Engines) -> tuple[int, int]:
    """How many are open: to read, to write."""
    return sum(lane.is_open for lane in store._readers.lanes), int(store._writer.is_open)


async def test_what_was_not_used_since_the_last_rest_is_closed(store: Engines) -> None:
    await asyncio.gather(store.write(add_user), *(store.read(user_names) for _ in range(READERS)))
    assert not await store.rest()
    assert connections(store) == (READERS, 1)
    await store.read(user_names)
    assert await store.rest()
    assert connections(store) == (1, 0)
    assert await store.rest()
    assert not await store.rest()
    assert connections(store) == (0, 0)


async def test_after_a_rest_it_goes_on_as_before(store: Engines) -> None:
    await store.write(add_user)
    names = await store.read(user_names)
    await store.rest()
    await store.rest()
    assert await store.read(user_names) == names
    await store.write(add_user, "another")
    assert len(await store.read(user_names)) == len(names) + 1


async def test_a_connection_that_rests_leaves_the_statistics_that_its_queries_wanted(store: Engines) -> None:
    """The next one knows nothing of these queries."""
    await store.write(want_statistics)
    await store.rest()
    assert await store.rest()
    await store.close()
    assert has_statistics(store.path)


async def test_what_was_written_is_in_the_database_itself_after_a_rest(store: Engines) -> None:
    """Till then it may be in the log alone, and whoever writes much would have to wait until it is not."""
    await store.changes()  # by a connection that stays: SQLite itself empties the log where none is left
    await store.write(add_user, "Ada of the log")
    assert b"Ada of the log" not in store.path.read_bytes()
    await store.rest()
    await store.rest()
    assert b"Ada of the log" in store.path.read_bytes()


async def test_another_process_that_writes_keeps_nothing_in_the_log(store: Engines) -> None:
    await store.changes()
    await store.write(want_statistics)  # which cannot be counted meanwhile
    await store.write(add_user, "Ada of the log")
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await store.rest()
        await store.rest()
        assert b"Ada of the log" in store.path.read_bytes()


@pytest.mark.parametrize("way", ["write", "read"])
async def test_what_is_in_use_is_left_alone(store: Engines, way: str) -> None:
    loop, begun, go = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

    def slow(connection: Connection) -> list[str]:
        loop.call_soon_threadsafe(begun.set)
        asyncio.run_coroutine_threadsafe(go.wait(), loop).result(60)
        return user_names(connection)

    at_work = asyncio.create_task(getattr(store, way)(slow))
    await begun.wait()
    await asyncio.wait_for(store.rest(), 60)
    await asyncio.wait_for(store.rest(), 60)
    assert connections(store)[way == "write"] == 1
    go.set()
    assert await at_work == await store.read(user_names)


@pytest.mark.parametrize("steps", range(12))
async def test_a_rest_may_be_cut_short_by_the_end(tmp_path: Path, steps: int) -> None:
    """Wherever it is: each connection is closed once, and none is left."""
    store = await open_store(tmp_path)
    await asyncio.gather(store.write(add_user), *(store.read(user_names) for _ in range(READERS)))
    await store.rest()
    resting = asyncio.create_task(store.rest())
    for _ in range(steps):
        await asyncio.sleep(0)
    resting.cancel()
    await store.close()
    await asyncio.gather(resting, return_exceptions=True)
    assert connections(store) == (0, 0)
