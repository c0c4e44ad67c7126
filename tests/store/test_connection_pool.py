"""Tests for reading and writing through the connection pool: cancellation, locking, and SQLite under asyncio."""

import asyncio
import gc
import logging
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import aiosqlite
import pytest
from sqlalchemy import Connection, Engine, event, select, update
from sqlalchemy.exc import IntegrityError

from copydesk.desk import open_desk
from copydesk.errors import StoreBusyError, StoreError, StoreMissingError
from copydesk.store import tables
from copydesk.store.connection_pool import ConnectionPool, ConnectionThread, file_system_type, shield_to_completion
from copydesk.store.database import Database, open_database
from desk_fixtures import settings_at
from store_fixtures import (
    add_source,
    add_user,
    has_statistics,
    list_files,
    open_store,
    run_ambiguous_query,
    user_names,
)

pytestmark = pytest.mark.sqlite("connections to a file, its locks and its log")

FAIL_COUNT = select(tables.source.c.fail_count)


class BlockingUnit:
    """A unit of work that adds a user and blocks its thread until `proceed` is set."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.proceed = threading.Event()
        self._loop = asyncio.get_running_loop()

    def hold(self) -> None:
        """Signal the event loop that the unit is running, then wait."""
        self._loop.call_soon_threadsafe(self.started.set)
        assert self.proceed.wait(60)

    def write(self, connection: Connection, name: str = "held") -> str:
        add_user(connection, name)
        self.hold()
        add_user(connection, f"{name} to the end")
        return name

    def read(self, connection: Connection) -> list[list[str]]:
        earlier = user_names(connection)
        self.hold()
        return [earlier, user_names(connection)]


def get_engine(store: Database, mode: str) -> Engine:
    """Return the engine that opens the connections of this mode."""
    return (store._writer if mode == "write" else store._readers.threads[-1])._engine


async def cancel(task: "asyncio.Task[object]") -> None:
    """Cancel `task` and wait until it has ended."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def read_pragma(store: Database, mode: str, name: str) -> object:
    return await getattr(store, mode)(lambda connection: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())


@pytest.mark.parametrize("mode", ["write", "read"])
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
async def test_connection_pragmas_are_set(store: Database, mode: str, name: str, value: object) -> None:
    assert await read_pragma(store, mode, name) == value


async def test_writer_enforces_foreign_keys(store: Database) -> None:
    with pytest.raises(IntegrityError):
        await store.write(add_source, "nobody")


@pytest.mark.parametrize("mode", ["write", "read"])
async def test_busy_timeout_is_configurable(tmp_path: Path, mode: str) -> None:
    store = await open_store(tmp_path, busy_timeout=0.25)

    assert await read_pragma(store, mode, "busy_timeout") == 250
    await store.close()


async def test_only_readers_are_query_only(store: Database) -> None:
    assert await read_pragma(store, "write", "query_only") == 0
    assert await read_pragma(store, "read", "query_only") == 1


def file_modes(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mode & 0o777 for file in (folder, *folder.iterdir())}


async def test_file_and_folder_are_private(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "new" / "folder")
    await store.write(add_user)

    assert file_modes(store.path.parent) == {
        "folder": 0o700,
        "desk.db": 0o600,
        "desk.db-wal": 0o600,
        "desk.db-shm": 0o600,
    }
    await store.close()


async def test_special_characters_in_path_are_literal(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "a b?c#d%20e'")
    await store.write(add_user)
    await store.close()

    assert list_files(tmp_path / "a b?c#d%20e'") == ["desk.db"]


def increase(connection: Connection) -> None:
    """Read, then write: in a deferred transaction this fails at once if another connection wrote in between."""
    count = connection.execute(FAIL_COUNT).scalar_one()
    connection.execute(update(tables.source).values(fail_count=count + 1))


async def test_read_then_write_transactions_all_succeed(store: Database) -> None:
    # With a plain BEGIN most of these end in "database is locked", and no timeout helps.
    others = [open_database(store.path) for _ in range(2)]
    await store.write(lambda connection: add_source(connection, add_user(connection)))

    await asyncio.gather(*(engines.write(increase) for engines in (store, *others) for _ in range(20)))

    assert await store.read(lambda connection: connection.execute(FAIL_COUNT).scalar_one()) == 60
    for other in others:
        await other.close()


async def test_unit_of_work_crosses_threads_once(store: Database) -> None:
    """One crossing per statement cost more than the statements."""
    crossings, threads = [], []

    def work(connection: Connection) -> int:
        driver = connection.connection.driver_connection
        event.listen(connection, "before_cursor_execute", lambda *_: threads.append(threading.get_ident()))
        assert isinstance(driver, sqlite3.Connection)
        driver.set_trace_callback(lambda _: threads.append(threading.get_ident()))
        for _ in range(10):
            add_user(connection)
        user_names(connection)
        threads.append(threading.get_ident())
        return threading.get_ident()

    original = aiosqlite.Connection._execute

    def count(aio_connection: aiosqlite.Connection, *args: object) -> object:
        crossings.append(aio_connection)
        return original(aio_connection, *args)  # type: ignore[no-untyped-call]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(aiosqlite.Connection, "_execute", count)
        worker_thread = await store.write(work)

    assert len(crossings) == 1
    assert len(threads) > 20
    assert set(threads) == {worker_thread}
    assert worker_thread != threading.get_ident()


@pytest.mark.parametrize("mode", ["write", "read"])
async def test_event_loop_runs_during_unit(store: Database, mode: str) -> None:
    unit = BlockingUnit()
    task = asyncio.create_task(getattr(store, mode)(getattr(unit, mode)))
    await unit.started.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    assert not task.done()

    unit.proceed.set()
    await task


async def test_arguments_and_result_are_passed(store: Database) -> None:
    def echo(connection: Connection, *args: object, **kwargs: object) -> tuple[object, ...]:
        return args, kwargs

    assert await store.write(echo, 1, a=2) == ((1,), {"a": 2})
    assert await store.read(echo, 3, b=None) == ((3,), {"b": None})


class OddError(Exception):
    """An error the store knows nothing of."""


@pytest.mark.parametrize("mode", ["write", "read"])
async def test_error_propagates_and_next_unit_works(store: Database, mode: str) -> None:
    error = OddError("odd")

    def fail(connection: Connection) -> None:
        user_names(connection)
        raise error

    with pytest.raises(OddError) as caught:
        await getattr(store, mode)(fail)

    assert caught.value is error
    assert await getattr(store, mode)(user_names) == []


async def test_error_rolls_back_savepoints_and_ddl(store: Database) -> None:
    # The driver's own transactions would leave both behind.
    def fail(connection: Connection) -> None:
        with connection.begin_nested():
            add_user(connection)
        connection.exec_driver_sql("CREATE TABLE left_behind (x)")
        raise KeyError

    with pytest.raises(KeyError):
        await store.write(fail)

    assert await store.read(user_names) == []
    query = "SELECT count(*) FROM sqlite_master WHERE name = 'left_behind'"
    assert await store.read(lambda connection: connection.exec_driver_sql(query).scalar_one()) == 0


async def test_savepoint_rolls_back_only_itself(store: Database) -> None:
    def work(connection: Connection) -> None:
        add_user(connection, "first")
        savepoint = connection.begin_nested()
        add_user(connection, "second")
        savepoint.rollback()

    await store.write(work)

    assert await store.read(user_names) == ["first"]


async def test_error_releases_lock_despite_held_cursor(tmp_path: Path) -> None:
    """SQLite keeps a transaction open while a cursor on it lives: writes failed until it was garbage-collected."""
    store, other = await open_store(tmp_path), open_database(tmp_path / "desk.db", busy_timeout=0.1)
    held = []

    def fail(connection: Connection) -> None:
        add_user(connection, "never")
        held.append(connection.exec_driver_sql("SELECT name FROM sqlite_master"))
        raise OddError

    with pytest.raises(OddError):
        await store.write(fail)
    await other.write(add_user, "next")

    assert await store.read(user_names) == ["next"]
    assert held
    await store.close()
    await other.close()


async def test_thread_that_does_not_start_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, start = await open_store(tmp_path), threading.Thread.start

    def refuse_connections(thread: threading.Thread) -> None:
        if thread.daemon:
            raise RuntimeError("can't start new thread")
        start(thread)

    await store.close()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse_connections)
        with pytest.raises(RuntimeError, match="start new thread"):
            await store.read(user_names)
    # The next caller gets a new thread.
    assert await store.read(user_names) == []
    await store.close()


async def test_cancelled_running_unit_completes(store: Database) -> None:
    unit = BlockingUnit()
    task = asyncio.create_task(store.write(unit.write))
    await unit.started.wait()
    await cancel(task)
    assert await store.read(user_names) == []

    unit.proceed.set()
    await store.write(add_user, "next")

    assert await store.read(user_names) == ["held", "held to the end", "next"]


async def test_next_unit_waits_for_cancelled_one(tmp_path: Path) -> None:
    # On another connection it would find the database locked.
    store, unit = await open_store(tmp_path, busy_timeout=0), BlockingUnit()
    task = asyncio.create_task(store.write(unit.write))
    await unit.started.wait()
    await cancel(task)
    following = asyncio.create_task(store.write(user_names))
    await asyncio.sleep(0.02)
    assert not following.done()

    unit.proceed.set()

    assert await following == ["held", "held to the end"]
    await store.close()


async def test_cancelled_failing_unit_leaves_nothing(store: Database) -> None:
    unit = BlockingUnit()

    def fail(connection: Connection) -> None:
        unit.write(connection)
        raise OddError

    task = asyncio.create_task(store.write(fail))
    await unit.started.wait()
    await cancel(task)
    unit.proceed.set()

    assert await store.write(user_names) == []


async def test_unit_cancelled_while_queued_is_not_started(store: Database) -> None:
    unit = BlockingUnit()
    first = asyncio.create_task(store.write(unit.write))
    await unit.started.wait()
    second = asyncio.create_task(store.write(add_user, "never"))
    third = asyncio.create_task(store.write(add_user, "third"))
    await asyncio.sleep(0)
    await cancel(second)
    unit.proceed.set()
    await asyncio.gather(first, third)

    assert await store.read(user_names) == ["held", "held to the end", "third"]


async def test_cancelled_units_in_thread_queue_are_skipped(store: Database) -> None:
    unit, last, executed = BlockingUnit(), threading.Event(), []
    first = asyncio.create_task(store.write(unit.write))
    await unit.started.wait()
    cancelled = [
        asyncio.create_task(store.write(lambda _, number=number: executed.append(number))) for number in range(9)
    ]
    final = asyncio.create_task(store.write(lambda _: last.set()))
    await asyncio.sleep(0)
    for task in cancelled:
        task.cancel()
    unit.proceed.set()

    assert last.wait(60)  # blocks the loop's own thread: no task has been told of its end yet
    assert executed == []
    await asyncio.gather(first, final)
    assert all(
        isinstance(result, asyncio.CancelledError)
        for result in await asyncio.gather(*cancelled, return_exceptions=True)
    )


async def test_unit_timed_out_while_queued_is_skipped(store: Database) -> None:
    unit = BlockingUnit()
    first = asyncio.create_task(store.write(unit.write))
    await unit.started.wait()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await store.write(add_user, "never")
    unit.proceed.set()
    await first

    assert await store.write(user_names) == ["held", "held to the end"]


async def test_cleanup_after_cancellation_is_executed(store: Database) -> None:
    started = asyncio.Event()

    async def work() -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            await store.write(add_user, "Ada")

    task = asyncio.create_task(work())
    await started.wait()
    await cancel(task)

    assert await store.read(user_names) == ["Ada"]


async def test_unit_queued_behind_cancelled_one_is_skipped(store: Database) -> None:
    # It already has the connection, whose thread is still running the first unit.
    unit = BlockingUnit()
    first = asyncio.create_task(store.write(unit.write))
    await unit.started.wait()
    await cancel(first)
    second = asyncio.create_task(store.write(add_user, "never"))
    await asyncio.sleep(0.01)
    await cancel(second)
    unit.proceed.set()
    await store.write(add_user, "third")

    assert await store.read(user_names) == ["held", "held to the end", "third"]


@pytest.mark.parametrize("mode", ["write", "read"])
async def test_cancelling_during_connect_keeps_connection(
    store: Database, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, opening = store.path, BlockingUnit()
    late = open_database(path)
    opened, executed = [], []
    event.listen(get_engine(late, mode), "connect", lambda *_: (opened.append(mode), opening.hold()))
    task = asyncio.create_task(getattr(late, mode)(lambda _: executed.append("never")))
    await opening.started.wait()
    task.cancel()
    await asyncio.sleep(0)
    opening.proceed.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await getattr(late, mode)(user_names) == []
    assert (opened, executed) == ([mode], [])
    await late.close()


@pytest.mark.parametrize("mode", ["write", "read"])
async def test_cancelling_twice_during_connect_keeps_connection(store: Database, mode: str) -> None:
    late, opening, opened = open_database(store.path), BlockingUnit(), []
    event.listen(get_engine(late, mode), "connect", lambda *_: (opened.append(mode), opening.hold()))
    task = asyncio.create_task(getattr(late, mode)(user_names))
    await opening.started.wait()
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    opening.proceed.set()
    await asyncio.gather(task, return_exceptions=True)

    assert await getattr(late, mode)(user_names) == []
    assert opened == [mode]
    await late.close()


@pytest.mark.parametrize("mode", ["write", "read"])
async def test_cancelling_at_any_step_is_atomic(tmp_path: Path, mode: str) -> None:
    store = await open_store(tmp_path)
    await store.close()

    def add_both(connection: Connection) -> None:
        user_names(connection)
        if mode == "write":
            add_user(connection, "one")
            add_user(connection, "other")

    for steps in range(12):
        task = asyncio.create_task(getattr(store, mode)(add_both))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        names = await store.write(user_names)
        assert names.count("one") == names.count("other")
        if steps % 3 == 0:
            await store.close()
    await store.close()


async def test_cancelled_readers_finish_for_next_callers(store: Database) -> None:
    # All four readers: no other one could take over.
    units = [BlockingUnit() for _ in range(4)]
    tasks = [asyncio.create_task(store.read(unit.read)) for unit in units]
    for unit, task in zip(units, tasks, strict=True):
        await unit.started.wait()
        await cancel(task)
    await store.write(add_user, "Ada")
    for unit in units:
        unit.proceed.set()

    assert await asyncio.gather(*(store.read(user_names) for _ in range(8))) == [["Ada"]] * 8
    assert len(connection_threads()) == 1 + 4


async def test_unit_starts_outside_transaction(store: Database) -> None:
    def fail(connection: Connection) -> None:
        user_names(connection)
        raise OddError

    with pytest.raises(OddError):
        await store.read(fail)

    assert not await store.read(lambda connection: connection.in_transaction())


async def test_reader_cannot_write(store: Database) -> None:
    with pytest.raises(StoreError, match=r"^Cannot open or write "):
        await store.read(add_user)

    assert await store.read(user_names) == []


async def test_running_reader_sees_new_commits(store: Database) -> None:
    # A snapshot held open would show the state of its first statement until the end.
    unit = BlockingUnit()
    reading = asyncio.create_task(store.read(unit.read))
    await unit.started.wait()
    await store.write(add_user, "Ada")
    unit.proceed.set()

    assert await reading == [[], ["Ada"]]


async def test_reader_does_not_see_uncommitted_rows(store: Database) -> None:
    unit = BlockingUnit()
    writing = asyncio.create_task(store.write(unit.write))
    await unit.started.wait()
    assert await store.read(user_names) == []

    unit.proceed.set()
    await writing
    assert len(await store.read(user_names)) == 2


async def test_running_reader_does_not_block_checkpoint(store: Database) -> None:
    unit = BlockingUnit()
    reading = asyncio.create_task(store.read(unit.read))
    await unit.started.wait()
    await store.write(add_user)
    with closing(sqlite3.connect(store.path)) as other:
        busy, *_ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    unit.proceed.set()
    await reading

    assert busy == 0
    assert store.path.with_name("desk.db-wal").stat().st_size == 0


async def test_queued_writes_do_not_wait_for_event_loop(store: Database) -> None:
    await store.write(add_user, "Ada")
    executed = threading.Event()
    units = [asyncio.create_task(store.write(unit)) for unit in (user_names, lambda _: executed.set())]
    await asyncio.sleep(0)

    assert executed.wait(60)  # blocks the loop's own thread, which does nothing else meanwhile
    assert await asyncio.gather(*units) == [["Ada"], None]


async def test_short_reads_share_one_connection(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    # However long they wait for each other, none of them takes long.
    monkeypatch.setattr(ConnectionPool, "PATIENCE", 1e-9)
    monkeypatch.setattr(ConnectionThread, "busy_seconds", lambda _: 0.0)
    await asyncio.gather(*(store.read(user_names) for _ in range(20)))
    assert [thread.is_open for thread in store._readers.threads].count(True) == 1


async def test_four_readers_run_during_write(store: Database) -> None:
    unit = BlockingUnit()
    writing = asyncio.create_task(store.write(unit.write))
    await unit.started.wait()
    together = threading.Barrier(4, timeout=60)

    def meet(connection: Connection) -> list[str]:
        together.wait()
        return user_names(connection)

    assert await asyncio.gather(*(store.read(meet) for _ in range(8))) == [[]] * 8
    unit.proceed.set()
    await writing


async def test_writers_run_in_request_order(store: Database) -> None:
    order: list[int] = []

    def work(connection: Connection, number: int) -> None:
        order.append(number)
        add_user(connection)

    await asyncio.gather(*(store.write(work, number) for number in range(30)))

    assert order == list(range(30))


async def test_units_queued_during_connect_run_in_order(store: Database) -> None:
    late, opening, order = open_database(store.path), BlockingUnit(), []
    event.listen(get_engine(late, "write"), "connect", lambda *_: opening.hold())
    units = [asyncio.create_task(late.write(lambda _, number=number: order.append(number))) for number in range(5)]
    await opening.started.wait()
    opening.proceed.set()
    while not late._writer.is_open:  # noqa: ASYNC110 - no event is set at the instant it opens
        await asyncio.sleep(0)
    await asyncio.gather(*units, late.write(lambda _: order.append(5)))

    assert order == list(range(6))
    await late.close()


async def test_lock_of_other_process_raises_busy(tmp_path: Path) -> None:
    store = await open_store(tmp_path, busy_timeout=0.05)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match="Another process"):
            await store.write(add_user)
        assert await store.read(user_names) == []
        other.execute("ROLLBACK")

    await store.write(add_user)
    await store.close()


async def test_second_pool_is_busy_during_write(tmp_path: Path) -> None:
    store, other = await open_store(tmp_path), open_database(tmp_path / "desk.db", busy_timeout=0.05)
    unit = BlockingUnit()
    writing = asyncio.create_task(store.write(unit.write))
    await unit.started.wait()
    with pytest.raises(StoreBusyError, match="Another process"):
        await other.write(add_user)
    unit.proceed.set()
    await writing

    await other.write(add_user, "other")
    assert await store.read(user_names) == ["held", "held to the end", "other"]
    await store.close()
    await other.close()


async def test_short_lock_is_waited_for(store: Database) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.1, other.execute, ["ROLLBACK"])
        timer.start()
        await store.write(add_user)
        timer.join()


async def test_closing_refreshes_statistics(store: Database) -> None:
    await store.write(run_ambiguous_query)

    await store.close()

    assert has_statistics(store.path)


async def test_closing_does_not_wait_for_foreign_lock(tmp_path: Path) -> None:
    store = await open_store(tmp_path, busy_timeout=600)
    await store.write(run_ambiguous_query)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await asyncio.wait_for(store.close(), 60)

    assert not has_statistics(store.path)


def connection_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "_connection_worker_thread" in thread.name]


def join_threads(threads: list[threading.Thread]) -> None:
    """Wait until all connection threads have ended."""
    for thread in threads:
        thread.join(60)
    assert connection_threads() == []


async def test_closing_ends_threads_and_removes_wal(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    together = threading.Barrier(2, timeout=60)
    await asyncio.gather(*(store.read(lambda _: together.wait()) for _ in range(2)))
    threads = connection_threads()
    assert len(threads) == 3

    await store.close()

    join_threads(threads)
    assert list_files(tmp_path) == ["desk.db"]


@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize("mode", ["write", "read"])
async def test_closing_waits_for_running_unit(tmp_path: Path, mode: str, cancelled: bool) -> None:
    store, unit = await open_store(tmp_path), BlockingUnit()
    task = asyncio.create_task(getattr(store, mode)(getattr(unit, mode)))
    await unit.started.wait()
    if cancelled:
        await cancel(task)
    closes = asyncio.create_task(store.close())
    await asyncio.sleep(0.02)
    assert not closes.done()

    unit.proceed.set()
    await closes
    await asyncio.gather(task, return_exceptions=True)

    join_threads(connection_threads())
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("SELECT count(*) FROM user").fetchone() == (2 if mode == "write" else 0,)


@pytest.mark.parametrize("mode", ["write", "read"])
async def test_closing_waits_for_connection_being_opened(store: Database, mode: str) -> None:
    """The connection was in no list yet: its thread and file stayed open."""
    late, opening = open_database(store.path), BlockingUnit()
    event.listen(get_engine(late, mode), "connect", lambda *_: opening.hold())
    task = asyncio.create_task(getattr(late, mode)(user_names))
    await opening.started.wait()
    closes = asyncio.create_task(late.close())
    await asyncio.sleep(0.01)
    opening.proceed.set()
    await closes

    assert await task == []
    await store.close()
    join_threads(connection_threads())


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("mode", ["write", "read"])
async def test_closing_waits_for_queued_units(store: Database, mode: str, is_open: bool) -> None:
    late = open_database(store.path)
    if is_open:
        await getattr(late, mode)(user_names)
    units = [asyncio.create_task(getattr(late, mode)(user_names)) for _ in range(9)]
    await asyncio.sleep(0)

    await late.close()

    assert await asyncio.gather(*units) == [[]] * 9
    await store.close()
    join_threads(connection_threads())


async def test_closed_store_leaves_no_warnings(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = await open_store(tmp_path)
    await asyncio.gather(store.write(add_user), store.read(user_names))
    await store.close()
    del store
    gc.collect()

    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_closing_unused_and_twice_is_allowed(tmp_path: Path) -> None:
    store = open_database(tmp_path / "desk.db")

    await store.close()
    await store.close()


def test_desk_imports_no_greenlet() -> None:
    # Units run in threads, so SQLAlchemy's asyncio extension and greenlet are not needed.
    program = (
        "import sys; sys.modules['greenlet'] = None\n"
        "import copydesk.cli, copydesk.desk.desk, copydesk.desk.sources.service\n"
        "import copydesk.desk.pipeline.select_stories, copydesk.desk.pipeline.write_drafts\n"
        "print(*(name for name in sys.modules if name.startswith(('sqlalchemy.ext.asyncio', 'greenlet.'))))"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.split() == []


def test_folder_at_database_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"^Cannot open or write .*: Is a directory"):
        open_database(tmp_path)


def test_file_at_folder_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match=r"^Cannot open or write "):
        open_database(tmp_path / "file" / "desk.db")


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
def test_file_system_is_that_of_nearest_mount(path: str, kind: str) -> None:
    assert file_system_type(Path(path), MOUNTS) == kind


def test_file_system_is_empty_without_mounts() -> None:
    assert file_system_type(Path("/home/desk.db"), "") == ""


def test_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.store.connection_pool._mounts", lambda: "server:/x / nfs rw 0 0\n")

    with pytest.raises(StoreError, match=r"network file system \(nfs\)"):
        open_database(tmp_path / "desk.db")


async def test_failure_after_cancellation_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It was logged as an exception that was never retrieved."""
    started, proceed = asyncio.Event(), asyncio.Event()

    async def fail() -> None:
        started.set()
        await proceed.wait()
        raise OddError

    task = asyncio.create_task(shield_to_completion(fail()))
    await started.wait()
    asyncio.get_running_loop().call_later(0.001, proceed.set)
    await cancel(task)
    del task
    await asyncio.sleep(0)  # the loop keeps a reference to its last callback
    gc.collect()

    assert caplog.records == []


@pytest.mark.parametrize("replaced", [False, True])
async def test_write_to_missing_file_is_refused(store: Database, replaced: bool) -> None:
    """SQLite would go on writing to the file that no path leads to."""
    await store.write(add_user)
    moved = store.path.rename(store.path.with_name("moved.db"))
    if replaced:
        store.path.write_bytes(moved.read_bytes())
    with pytest.raises(StoreMissingError):
        await store.write(add_user, "lost")


@pytest.mark.parametrize("mode", ["write", "read"])
async def test_error_while_closing_does_not_fail_finished_work(
    store: Database, mode: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    late, close = open_database(store.path), Connection.close
    await getattr(late, mode)(user_names)

    def fail(connection: Connection) -> None:
        close(connection)
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(Connection, "close", fail)
    await late.close()
    assert caplog.messages == ["Closing the database failed: disk I/O error"]


async def test_second_desk_of_a_process_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """A process that finds no locks removes the log when it closes the database."""
    file = tmp_path / "copydesk.db"
    script = f"import sqlite3; c = sqlite3.connect({str(file)!r}); c.execute('SELECT 1 FROM draft'); c.close()"
    async with open_desk(settings_at(tmp_path)) as first:
        await first.drafts.create({"text": "A new thing."})
        async with open_desk(settings_at(tmp_path)) as second:
            await second.drafts.counts()
        await asyncio.to_thread(subprocess.run, (sys.executable, "-c", script), check=True)
        assert file.with_name("copydesk.db-wal").exists()
        await first.drafts.create({"text": "Another thing."})


async def test_log_is_turned_on_once_nobody_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process turns it on, too, as for a desk that is new or was just restored."""
    with closing(sqlite3.connect(tmp_path / "desk.db", isolation_level=None, check_same_thread=False)) as other:
        other.execute("CREATE TABLE note (text)")
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(time, "sleep", lambda _: other.execute("ROLLBACK"))
        database = open_database(tmp_path / "desk.db")
        try:
            assert await database.read(journal_mode) == "wal"
        finally:
            await database.close()


def journal_mode(connection: Connection) -> str:
    """Return the kind of journal that the database has."""
    return str(connection.exec_driver_sql("PRAGMA journal_mode").scalar_one())
