"""The two ways into the database, each trap of SQLite under asyncio with its story."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import insert, select, text, update
from sqlalchemy.exc import IntegrityError

from copydesk.errors import StoreBusyError, StoreError
from copydesk.store import tables
from copydesk.store.engine import Engines, file_system, open_engines
from copydesk.store.ids import new_id
from store_fixtures import NOW, add_item, add_source, add_user, files, open_store

COUNT = select(tables.source.c.fail_count)


async def pragma(store: Engines, way: str, name: str) -> object:
    async with getattr(store, way)() as connection:
        return (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar_one()


@pytest.mark.parametrize("way", ["writing", "reading"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 1),
        ("busy_timeout", 5000),
        ("temp_store", 2),
        ("journal_size_limit", 67108864),
    ],
)
async def test_every_connection_is_set_up(store: Engines, way: str, name: str, value: object) -> None:
    assert await pragma(store, way, name) == value


async def test_a_writer_keeps_rows_from_pointing_at_nothing(store: Engines) -> None:
    with pytest.raises(IntegrityError):
        async with store.writing() as connection:
            await add_source(connection, "nobody")


@pytest.mark.parametrize("way", ["writing", "reading"])
async def test_the_time_to_wait_for_another_process_is_a_setting(tmp_path: Path, way: str) -> None:
    store = await open_store(tmp_path, busy_timeout=0.25)

    assert await pragma(store, way, "busy_timeout") == 250
    await store.close()


async def test_only_readers_are_barred_from_writing(store: Engines) -> None:
    assert await pragma(store, "writing", "query_only") == 0
    assert await pragma(store, "reading", "query_only") == 1


def modes(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mode & 0o777 for file in (folder, *folder.iterdir())}


async def test_file_and_folder_are_for_their_owner_alone(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "new" / "folder")
    async with store.writing() as connection:
        await add_user(connection)

    assert modes(store.path.parent) == {"folder": 0o700, "desk.db": 0o600, "desk.db-wal": 0o600, "desk.db-shm": 0o600}
    await store.close()


async def test_a_path_is_taken_as_it_is_written(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "a b?c#d%20e'")
    async with store.writing() as connection:
        await add_user(connection)
    await store.close()

    assert files(tmp_path / "a b?c#d%20e'") == ["desk.db"]


async def increase(store: Engines, times: int) -> None:
    """Read, think, write: fails at once in a deferred transaction when somebody else wrote in between."""
    for _ in range(times):
        async with store.writing() as connection:
            count = (await connection.execute(COUNT)).scalar_one()
            await asyncio.sleep(0)
            await connection.execute(update(tables.source).values(fail_count=count + 1))


async def test_writers_that_read_first_all_get_through(store: Engines) -> None:
    # With a plain BEGIN most of these end in "database is locked", and no timeout helps.
    others = [open_engines(store.path) for _ in range(2)]
    async with store.writing() as connection:
        await add_source(connection, await add_user(connection))

    await asyncio.gather(*(increase(each, 10) for each in (store, *others) for _ in range(2)))

    async with store.reading() as connection:
        assert (await connection.execute(COUNT)).scalar_one() == 60
    for other in others:
        await other.close()


async def test_an_error_takes_back_everything_with_released_savepoints_and_new_tables(store: Engines) -> None:
    # The driver's own transactions leave both behind.
    async def fail() -> None:
        async with store.writing() as connection:
            async with connection.begin_nested():
                await add_user(connection)
            await connection.exec_driver_sql("CREATE TABLE left_behind (x)")
            raise KeyError

    with pytest.raises(KeyError):
        await fail()

    async with store.reading() as connection:
        assert (await connection.execute(select(tables.user))).all() == []
        made = "SELECT count(*) FROM sqlite_master WHERE name = 'left_behind'"
        assert (await connection.exec_driver_sql(made)).scalar_one() == 0


async def test_a_savepoint_takes_back_only_itself(store: Engines) -> None:
    async with store.writing() as connection:
        await add_user(connection, "first")
        savepoint = await connection.begin_nested()
        await add_user(connection, "second")
        await savepoint.rollback()

    async with store.reading() as connection:
        assert (await connection.execute(select(tables.user.c.name))).scalars().all() == ["first"]


async def test_a_cancelled_transaction_leaves_nothing_and_lets_the_next_one_in(store: Engines) -> None:
    begun = asyncio.Event()

    async def never_done() -> None:
        async with store.writing() as connection:
            await add_user(connection, "never")
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(never_done())
    await begun.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with store.writing() as connection:
        await add_user(connection, "next")

    async with store.reading() as connection:
        assert (await connection.execute(select(tables.user.c.name))).scalars().all() == ["next"]


async def test_a_transaction_cancelled_inside_a_statement_leaves_nothing(store: Engines) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
    row = "'u' || i, 'never', 'UTC', 0"

    async def slow() -> None:
        async with store.writing() as connection:
            await connection.execute(text(f"{numbers} INSERT INTO user SELECT {row} FROM (SELECT i FROM n)"))
            await asyncio.Event().wait()

    async with store.writing():
        pass
    task = asyncio.create_task(slow())
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with store.writing() as connection:
        await add_user(connection, "next")

    async with store.reading() as connection:
        assert (await connection.execute(select(tables.user.c.name))).scalars().all() == ["next"]


async def test_a_cancelled_transaction_gives_its_lock_back_while_a_cursor_of_it_is_still_held(tmp_path: Path) -> None:
    """SQLite keeps a closed connection alive with its cursors: until the garbage was collected nobody could write."""
    store = await open_store(tmp_path, busy_timeout=0.1)
    held = []

    async def cancelled() -> None:
        async with store.writing() as connection:
            await add_user(connection, "never")
            raw = await connection.get_raw_connection()
            assert raw.driver_connection is not None
            held.append(await raw.driver_connection.execute("SELECT name FROM sqlite_master"))
            asyncio.get_running_loop().call_soon(task.cancel)
            await connection.execute(select(tables.user))

    task = asyncio.create_task(cancelled())
    await asyncio.gather(task, return_exceptions=True)
    async with store.writing() as connection:
        await add_user(connection, "next")

    async with store.reading() as connection:
        assert (await connection.execute(select(tables.user.c.name))).scalars().all() == ["next"]
    assert held
    await store.close()


async def test_a_reader_cannot_write(store: Engines) -> None:
    with pytest.raises(StoreError, match="cannot be opened or written"):
        async with store.reading() as connection:
            await add_user(connection)

    async with store.reading() as connection:
        assert (await connection.execute(select(tables.user))).all() == []


async def test_a_reader_that_stays_open_sees_each_commit_at_once(store: Engines) -> None:
    # A snapshot kept open would show the state of its first statement for ever.
    names = select(tables.user.c.name)
    async with store.reading() as reader:
        assert (await reader.execute(names)).scalars().all() == []
        async with store.writing() as writer:
            await add_user(writer, "Ada")
        assert (await reader.execute(names)).scalars().all() == ["Ada"]


async def test_a_reader_does_not_see_what_is_not_committed(store: Engines) -> None:
    async with store.writing() as writer, store.reading() as reader:
        await add_user(writer)
        assert (await reader.execute(select(tables.user))).all() == []


async def test_a_reader_that_stays_open_does_not_keep_the_log_from_being_emptied(store: Engines) -> None:
    async with store.reading() as reader:
        await reader.execute(select(tables.user))
        async with store.writing() as writer:
            await add_user(writer)

        with closing(sqlite3.connect(store.path)) as other:
            busy, *_ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    assert busy == 0
    assert store.path.with_name("desk.db-wal").stat().st_size == 0


async def test_four_readers_work_while_one_transaction_writes(store: Engines) -> None:
    async with store.writing() as connection:
        user = await add_user(connection)
        source = await add_source(connection, user)
        await add_item(connection, user, source)

        async def read() -> int:
            async with store.reading() as reader:
                return len((await reader.execute(select(tables.item))).all())

        assert await asyncio.gather(*(read() for _ in range(8))) == [0] * 8


async def test_writers_of_one_process_are_served_in_the_order_they_came(store: Engines) -> None:
    order = []

    async def write(number: int) -> None:
        async with store.writing() as connection:
            order.append(number)
            await connection.execute(
                insert(tables.user).values(id=new_id(NOW), name="x", time_zone="UTC", created_at=NOW)
            )

    await asyncio.gather(*(write(number) for number in range(30)))

    assert order == list(range(30))


async def test_another_process_that_holds_the_lock_is_a_busy_store_and_nothing_is_changed(tmp_path: Path) -> None:
    store = await open_store(tmp_path, busy_timeout=0.05)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match="Another process"):
            async with store.writing() as connection:
                await add_user(connection)
        async with store.reading() as connection:
            assert (await connection.execute(select(tables.user))).all() == []
        other.execute("ROLLBACK")

    async with store.writing() as connection:
        await add_user(connection)
    await store.close()


async def test_a_lock_that_is_let_go_in_time_is_waited_for(store: Engines) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.1, other.execute, ["ROLLBACK"])
        timer.start()
        async with store.writing() as connection:
            await add_user(connection)
        timer.join()


async def want_statistics(store: Engines) -> None:
    """Rows, and a query that could go by more than one index."""
    query = "SELECT id FROM item WHERE user_id = 'x' AND state = 'new' AND published > 5 AND story_id = 'z'"
    async with store.writing() as connection:
        user = await add_user(connection)
        for _ in range(50):
            await add_item(connection, user, None)
        await connection.exec_driver_sql(query)


def has_statistics(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'").fetchone())


async def test_closing_refreshes_the_statistics_that_queries_wanted(store: Engines) -> None:
    await want_statistics(store)

    await store.close()

    assert has_statistics(store.path)


async def test_closing_does_not_wait_for_a_process_that_holds_the_lock(store: Engines) -> None:
    await want_statistics(store)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await asyncio.wait_for(store.close(), 1)

    assert not has_statistics(store.path)


def connection_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "_connection_worker_thread" in thread.name]


async def test_closing_ends_every_thread_and_leaves_one_file(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    async with store.reading() as one, store.reading() as other:
        await one.execute(select(tables.user))
        await other.execute(select(tables.user))
    threads = connection_threads()
    assert len(threads) == 3

    await store.close()

    for thread in threads:
        thread.join(1)
    assert connection_threads() == []
    assert files(tmp_path) == ["desk.db"]


async def test_a_store_can_be_closed_unused_and_twice(tmp_path: Path) -> None:
    store = open_engines(tmp_path / "desk.db")

    await store.close()
    await store.close()


def test_a_folder_in_the_place_of_the_database_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot be opened or written: Is a directory"):
        open_engines(tmp_path)


def test_a_file_in_the_place_of_the_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match=r"cannot be opened or written"):
        open_engines(tmp_path / "file" / "desk.db")


MOUNTS = """\
/dev/sda1 / ext4 rw,relatime 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
/dev/sdb1 /home/ada/My\\040Disk ext4 rw 0 0
//server/share /mnt cifs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/desk.db", "ext4"),
        ("/home/ada/desk.db", "nfs4"),
        ("/home/ada/My Disk/desk.db", "ext4"),
        ("/homer/desk.db", "ext4"),
        ("/mnt/a/b/desk.db", "cifs"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_its_nearest_mount(path: str, kind: str) -> None:
    assert file_system(Path(path), MOUNTS) == kind


def test_where_no_mounts_are_told_the_file_system_is_not_known() -> None:
    assert file_system(Path("/home/desk.db"), "") == ""


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.store.engine._mounts", lambda: "server:/x / nfs rw 0 0\n")

    with pytest.raises(StoreError, match=r"network file system \(nfs\)"):
        open_engines(tmp_path / "desk.db")
