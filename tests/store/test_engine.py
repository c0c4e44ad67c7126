"""The two ways into the database, each trap of SQLite under asyncio with its story."""

import asyncio
import gc
import logging
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import aiosqlite
import pytest
from sqlalchemy import Connection, Engine, event, select, update
from sqlalchemy.exc import IntegrityError

from copydesk.errors import StoreBusyError, StoreError
from copydesk.store import tables
from copydesk.store.engine import Engines, open_engines
from copydesk.store.lanes import to_the_end
from copydesk.store.place import file_system
from store_fixtures import (
    add_source,
    add_user,
    files,
    has_statistics,
    open_store,
    user_names,
    want_statistics,
)

COUNT = select(tables.source.c.fail_count)


class Held:
    """A unit of work that adds a user and stays in its thread until it is let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = threading.Event()
        self._loop = asyncio.get_running_loop()

    def hold(self) -> None:
        """Tell the event loop that the unit is at work, and wait there."""
        self._loop.call_soon_threadsafe(self.begun.set)
        assert self.go.wait(60)

    def write(self, connection: Connection, name: str = "held") -> str:
        add_user(connection, name)
        self.hold()
        add_user(connection, f"{name} to the end")
        return name

    def read(self, connection: Connection) -> list[list[str]]:
        before = user_names(connection)
        self.hold()
        return [before, user_names(connection)]


def engine_of(store: Engines, way: str) -> Engine:
    """What opens the connections for this way."""
    return (store._writer if way == "write" else store._readers.lanes[-1])._engine


async def cancel(task: "asyncio.Task[object]") -> None:
    """Cancel `task` and wait for its end."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def pragma(store: Engines, way: str, name: str) -> object:
    return await getattr(store, way)(lambda connection: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())


@pytest.mark.parametrize("way", ["write", "read"])
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
        await store.write(add_source, "nobody")


@pytest.mark.parametrize("way", ["write", "read"])
async def test_the_time_to_wait_for_another_process_is_a_setting(tmp_path: Path, way: str) -> None:
    store = await open_store(tmp_path, busy_timeout=0.25)

    assert await pragma(store, way, "busy_timeout") == 250
    await store.close()


async def test_only_readers_are_barred_from_writing(store: Engines) -> None:
    assert await pragma(store, "write", "query_only") == 0
    assert await pragma(store, "read", "query_only") == 1


def modes(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mode & 0o777 for file in (folder, *folder.iterdir())}


async def test_file_and_folder_are_for_their_owner_alone(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "new" / "folder")
    await store.write(add_user)

    assert modes(store.path.parent) == {"folder": 0o700, "desk.db": 0o600, "desk.db-wal": 0o600, "desk.db-shm": 0o600}
    await store.close()


async def test_a_path_is_taken_as_it_is_written(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "a b?c#d%20e'")
    await store.write(add_user)
    await store.close()

    assert files(tmp_path / "a b?c#d%20e'") == ["desk.db"]


def increase(connection: Connection) -> None:
    """Read, then write: fails at once in a deferred transaction when somebody else wrote in between."""
    count = connection.execute(COUNT).scalar_one()
    connection.execute(update(tables.source).values(fail_count=count + 1))


async def test_writers_that_read_first_all_get_through(store: Engines) -> None:
    # With a plain BEGIN most of these end in "database is locked", and no timeout helps.
    others = [open_engines(store.path) for _ in range(2)]
    await store.write(lambda connection: add_source(connection, add_user(connection)))

    await asyncio.gather(*(each.write(increase) for each in (store, *others) for _ in range(20)))

    assert await store.read(lambda connection: connection.execute(COUNT).scalar_one()) == 60
    for other in others:
        await other.close()


async def test_a_unit_of_work_is_one_crossing_to_one_thread(store: Engines) -> None:
    """Every statement was one, which cost more than the statements."""
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

    def count(lane: aiosqlite.Connection, *args: object) -> object:
        crossings.append(lane)
        return original(lane, *args)  # type: ignore[no-untyped-call]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(aiosqlite.Connection, "_execute", count)
        its_own = await store.write(work)

    assert len(crossings) == 1
    assert len(threads) > 20
    assert set(threads) == {its_own}
    assert its_own != threading.get_ident()


@pytest.mark.parametrize("way", ["write", "read"])
async def test_the_event_loop_goes_on_while_a_unit_is_at_work(store: Engines, way: str) -> None:
    unit = Held()
    task = asyncio.create_task(getattr(store, way)(getattr(unit, way)))
    await unit.begun.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    assert not task.done()

    unit.go.set()
    await task


async def test_a_unit_is_given_what_it_was_asked_with_and_its_result_comes_back(store: Engines) -> None:
    def told(connection: Connection, *args: object, **named: object) -> tuple[object, ...]:
        return args, named

    assert await store.write(told, 1, a=2) == ((1,), {"a": 2})
    assert await store.read(told, 3, b=None) == ((3,), {"b": None})


class OddError(Exception):
    """An error that nobody knows."""


@pytest.mark.parametrize("way", ["write", "read"])
async def test_an_error_comes_out_as_itself_and_the_next_unit_works(store: Engines, way: str) -> None:
    error = OddError("odd")

    def fail(connection: Connection) -> None:
        user_names(connection)
        raise error

    with pytest.raises(OddError) as caught:
        await getattr(store, way)(fail)

    assert caught.value is error
    assert await getattr(store, way)(user_names) == []


async def test_an_error_takes_back_everything_with_released_savepoints_and_new_tables(store: Engines) -> None:
    # The driver's own transactions leave both behind.
    def fail(connection: Connection) -> None:
        with connection.begin_nested():
            add_user(connection)
        connection.exec_driver_sql("CREATE TABLE left_behind (x)")
        raise KeyError

    with pytest.raises(KeyError):
        await store.write(fail)

    assert await store.read(user_names) == []
    made = "SELECT count(*) FROM sqlite_master WHERE name = 'left_behind'"
    assert await store.read(lambda connection: connection.exec_driver_sql(made).scalar_one()) == 0


async def test_a_savepoint_takes_back_only_itself(store: Engines) -> None:
    def work(connection: Connection) -> None:
        add_user(connection, "first")
        savepoint = connection.begin_nested()
        add_user(connection, "second")
        savepoint.rollback()

    await store.write(work)

    assert await store.read(user_names) == ["first"]


async def test_an_error_gives_the_lock_back_while_a_cursor_of_its_unit_is_still_held(tmp_path: Path) -> None:
    """SQLite keeps a transaction alive with what is held of it: until the garbage was collected nobody could write."""
    store, other = await open_store(tmp_path), open_engines(tmp_path / "desk.db", busy_timeout=0.1)
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


async def test_a_unit_whose_caller_is_cancelled_is_carried_out_to_its_end(store: Engines) -> None:
    unit = Held()
    task = asyncio.create_task(store.write(unit.write))
    await unit.begun.wait()
    await cancel(task)
    assert await store.read(user_names) == []

    unit.go.set()
    await store.write(add_user, "next")

    assert await store.read(user_names) == ["held", "held to the end", "next"]


async def test_the_next_unit_begins_only_when_the_one_whose_caller_was_cancelled_has_ended(tmp_path: Path) -> None:
    # On another connection it would find the database locked.
    store, unit = await open_store(tmp_path, busy_timeout=0), Held()
    task = asyncio.create_task(store.write(unit.write))
    await unit.begun.wait()
    await cancel(task)
    following = asyncio.create_task(store.write(user_names))
    await asyncio.sleep(0.02)
    assert not following.done()

    unit.go.set()

    assert await following == ["held", "held to the end"]
    await store.close()


async def test_a_unit_that_fails_after_its_caller_was_cancelled_leaves_nothing(store: Engines) -> None:
    unit = Held()

    def fail(connection: Connection) -> None:
        unit.write(connection)
        raise OddError

    task = asyncio.create_task(store.write(fail))
    await unit.begun.wait()
    await cancel(task)
    unit.go.set()

    assert await store.write(user_names) == []


async def test_a_unit_whose_caller_is_cancelled_before_its_turn_is_not_begun(store: Engines) -> None:
    unit = Held()
    first = asyncio.create_task(store.write(unit.write))
    await unit.begun.wait()
    second = asyncio.create_task(store.write(add_user, "never"))
    third = asyncio.create_task(store.write(add_user, "third"))
    await asyncio.sleep(0)
    await cancel(second)
    unit.go.set()
    await asyncio.gather(first, third)

    assert await store.read(user_names) == ["held", "held to the end", "third"]


async def test_nor_are_those_that_wait_in_the_thread_while_the_event_loop_is_busy(store: Engines) -> None:
    unit, last, done = Held(), threading.Event(), []
    first = asyncio.create_task(store.write(unit.write))
    await unit.begun.wait()
    cancelled = [asyncio.create_task(store.write(lambda _, number=number: done.append(number))) for number in range(9)]
    kept = asyncio.create_task(store.write(lambda _: last.set()))
    await asyncio.sleep(0)
    for task in cancelled:
        task.cancel()
    unit.go.set()

    assert last.wait(60)  # in the loop's own thread: no task has heard of its end yet
    assert done == []
    await asyncio.gather(first, kept)
    assert all(
        isinstance(how, asyncio.CancelledError) for how in await asyncio.gather(*cancelled, return_exceptions=True)
    )


async def test_nor_is_one_whose_time_was_over_before_its_turn(store: Engines) -> None:
    unit = Held()
    first = asyncio.create_task(store.write(unit.write))
    await unit.begun.wait()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await store.write(add_user, "never")
    unit.go.set()
    await first

    assert await store.write(user_names) == ["held", "held to the end"]


async def test_what_cleans_up_after_a_cancellation_is_carried_out(store: Engines) -> None:
    asked = asyncio.Event()

    async def work() -> None:
        try:
            asked.set()
            await asyncio.Event().wait()
        finally:
            await store.write(add_user, "Ada")

    task = asyncio.create_task(work())
    await asked.wait()
    await cancel(task)

    assert await store.read(user_names) == ["Ada"]


async def test_nor_is_one_that_waits_behind_a_unit_whose_caller_was_cancelled_too(store: Engines) -> None:
    # It has the connection already, whose thread is still at work for the first one.
    unit = Held()
    first = asyncio.create_task(store.write(unit.write))
    await unit.begun.wait()
    await cancel(first)
    second = asyncio.create_task(store.write(add_user, "never"))
    await asyncio.sleep(0.01)
    await cancel(second)
    unit.go.set()
    await store.write(add_user, "third")

    assert await store.read(user_names) == ["held", "held to the end", "third"]


@pytest.mark.parametrize("way", ["write", "read"])
async def test_cancelled_while_the_connection_is_being_opened_the_next_unit_has_it(
    store: Engines, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, opening = store.path, Held()
    late = open_engines(path)
    opened, begun = [], []
    event.listen(engine_of(late, way), "connect", lambda *_: (opened.append(way), opening.hold()))
    task = asyncio.create_task(getattr(late, way)(lambda _: begun.append("never")))
    await opening.begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    opening.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await getattr(late, way)(user_names) == []
    assert (opened, begun) == ([way], [])
    await late.close()


@pytest.mark.parametrize("way", ["write", "read"])
async def test_cancelled_twice_while_the_connection_is_being_opened_it_is_not_lost(store: Engines, way: str) -> None:
    late, opening, opened = open_engines(store.path), Held(), []
    event.listen(engine_of(late, way), "connect", lambda *_: (opened.append(way), opening.hold()))
    task = asyncio.create_task(getattr(late, way)(user_names))
    await opening.begun.wait()
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    opening.go.set()
    await asyncio.gather(task, return_exceptions=True)

    assert await getattr(late, way)(user_names) == []
    assert opened == [way]
    await late.close()


@pytest.mark.parametrize("way", ["write", "read"])
async def test_cancelled_at_any_step_of_the_loop_nothing_is_half_done_and_the_next_unit_works(
    tmp_path: Path, way: str
) -> None:
    store = await open_store(tmp_path)
    await store.close()

    def both(connection: Connection) -> None:
        user_names(connection)
        if way == "write":
            add_user(connection, "one")
            add_user(connection, "other")

    for steps in range(12):
        task = asyncio.create_task(getattr(store, way)(both))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        names = await store.write(user_names)
        assert names.count("one") == names.count("other")
        if steps % 3 == 0:
            await store.close()
    await store.close()


async def test_a_reader_whose_caller_was_cancelled_reads_on_for_the_next_one(store: Engines) -> None:
    # All four of them: there is no other one that could help out.
    units = [Held() for _ in range(4)]
    tasks = [asyncio.create_task(store.read(unit.read)) for unit in units]
    for unit, task in zip(units, tasks, strict=True):
        await unit.begun.wait()
        await cancel(task)
    await store.write(add_user, "Ada")
    for unit in units:
        unit.go.set()

    assert await asyncio.gather(*(store.read(user_names) for _ in range(8))) == [["Ada"]] * 8
    assert len(connection_threads()) == 1 + 4


async def test_a_unit_gets_a_connection_on_which_nothing_is_under_way(store: Engines) -> None:
    def fail(connection: Connection) -> None:
        user_names(connection)
        raise OddError

    with pytest.raises(OddError):
        await store.read(fail)

    assert not await store.read(lambda connection: connection.in_transaction())


async def test_a_reader_cannot_write(store: Engines) -> None:
    with pytest.raises(StoreError, match="cannot be opened or written"):
        await store.read(add_user)

    assert await store.read(user_names) == []


async def test_a_reader_at_work_sees_each_commit_at_once(store: Engines) -> None:
    # A snapshot kept open would show the state of its first statement to the end.
    unit = Held()
    reading = asyncio.create_task(store.read(unit.read))
    await unit.begun.wait()
    await store.write(add_user, "Ada")
    unit.go.set()

    assert await reading == [[], ["Ada"]]


async def test_a_reader_does_not_see_what_is_not_committed(store: Engines) -> None:
    unit = Held()
    writing = asyncio.create_task(store.write(unit.write))
    await unit.begun.wait()
    assert await store.read(user_names) == []

    unit.go.set()
    await writing
    assert len(await store.read(user_names)) == 2


async def test_a_reader_at_work_does_not_keep_the_log_from_being_emptied(store: Engines) -> None:
    unit = Held()
    reading = asyncio.create_task(store.read(unit.read))
    await unit.begun.wait()
    await store.write(add_user)
    with closing(sqlite3.connect(store.path)) as other:
        busy, *_ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    unit.go.set()
    await reading

    assert busy == 0
    assert store.path.with_name("desk.db-wal").stat().st_size == 0


async def test_what_waits_to_be_written_does_not_wait_for_the_event_loop(store: Engines) -> None:
    await store.write(add_user, "Ada")
    done = threading.Event()
    units = [asyncio.create_task(store.write(unit)) for unit in (user_names, lambda _: done.set())]
    await asyncio.sleep(0)

    assert done.wait(60)  # in the loop's own thread, which does nothing else meanwhile
    assert await asyncio.gather(*units) == [["Ada"], None]


async def test_four_readers_work_at_once_while_one_transaction_writes(store: Engines) -> None:
    unit = Held()
    writing = asyncio.create_task(store.write(unit.write))
    await unit.begun.wait()
    together = threading.Barrier(4, timeout=60)

    def meet(connection: Connection) -> list[str]:
        together.wait()
        return user_names(connection)

    assert await asyncio.gather(*(store.read(meet) for _ in range(8))) == [[]] * 8
    unit.go.set()
    await writing


async def test_writers_of_one_process_are_served_in_the_order_they_came(store: Engines) -> None:
    order: list[int] = []

    def work(connection: Connection, number: int) -> None:
        order.append(number)
        add_user(connection)

    await asyncio.gather(*(store.write(work, number) for number in range(30)))

    assert order == list(range(30))


async def test_also_those_that_wait_until_the_connection_is_open(store: Engines) -> None:
    late, opening, order = open_engines(store.path), Held(), []
    event.listen(engine_of(late, "write"), "connect", lambda *_: opening.hold())
    units = [asyncio.create_task(late.write(lambda _, number=number: order.append(number))) for number in range(5)]
    await opening.begun.wait()
    opening.go.set()
    while not late._writer.is_open:  # noqa: ASYNC110 - the very moment in which it is
        await asyncio.sleep(0)
    await asyncio.gather(*units, late.write(lambda _: order.append(5)))

    assert order == list(range(6))
    await late.close()


async def test_another_process_that_holds_the_lock_is_a_busy_store_and_nothing_is_changed(tmp_path: Path) -> None:
    store = await open_store(tmp_path, busy_timeout=0.05)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match="Another process"):
            await store.write(add_user)
        assert await store.read(user_names) == []
        other.execute("ROLLBACK")

    await store.write(add_user)
    await store.close()


async def test_of_two_engines_on_one_file_one_is_busy_while_the_other_is_at_work(tmp_path: Path) -> None:
    store, other = await open_store(tmp_path), open_engines(tmp_path / "desk.db", busy_timeout=0.05)
    unit = Held()
    writing = asyncio.create_task(store.write(unit.write))
    await unit.begun.wait()
    with pytest.raises(StoreBusyError, match="Another process"):
        await other.write(add_user)
    unit.go.set()
    await writing

    await other.write(add_user, "other")
    assert await store.read(user_names) == ["held", "held to the end", "other"]
    await store.close()
    await other.close()


async def test_a_lock_that_is_let_go_in_time_is_waited_for(store: Engines) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.1, other.execute, ["ROLLBACK"])
        timer.start()
        await store.write(add_user)
        timer.join()


async def test_closing_refreshes_the_statistics_that_queries_wanted(store: Engines) -> None:
    await store.write(want_statistics)

    await store.close()

    assert has_statistics(store.path)


async def test_closing_does_not_wait_for_a_process_that_holds_the_lock(tmp_path: Path) -> None:
    store = await open_store(tmp_path, busy_timeout=600)
    await store.write(want_statistics)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await asyncio.wait_for(store.close(), 60)

    assert not has_statistics(store.path)


def connection_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "_connection_worker_thread" in thread.name]


def await_end(threads: list[threading.Thread]) -> None:
    """None of them is left."""
    for thread in threads:
        thread.join(60)
    assert connection_threads() == []


async def test_closing_ends_every_thread_and_leaves_one_file(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    together = threading.Barrier(2, timeout=60)
    await asyncio.gather(*(store.read(lambda _: together.wait()) for _ in range(2)))
    threads = connection_threads()
    assert len(threads) == 3

    await store.close()

    await_end(threads)
    assert files(tmp_path) == ["desk.db"]


@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize("way", ["write", "read"])
async def test_closing_waits_for_a_unit_that_is_at_work(tmp_path: Path, way: str, cancelled: bool) -> None:
    store, unit = await open_store(tmp_path), Held()
    task = asyncio.create_task(getattr(store, way)(getattr(unit, way)))
    await unit.begun.wait()
    if cancelled:
        await cancel(task)
    closes = asyncio.create_task(store.close())
    await asyncio.sleep(0.02)
    assert not closes.done()

    unit.go.set()
    await closes
    await asyncio.gather(task, return_exceptions=True)

    await_end(connection_threads())
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("SELECT count(*) FROM user").fetchone() == (2 if way == "write" else 0,)


@pytest.mark.parametrize("way", ["write", "read"])
async def test_closing_forgets_no_connection_that_is_just_being_opened(store: Engines, way: str) -> None:
    """It was in no list yet: its thread and its file stayed open."""
    late, opening = open_engines(store.path), Held()
    event.listen(engine_of(late, way), "connect", lambda *_: opening.hold())
    task = asyncio.create_task(getattr(late, way)(user_names))
    await opening.begun.wait()
    closes = asyncio.create_task(late.close())
    await asyncio.sleep(0.01)
    opening.go.set()
    await closes

    assert await task == []
    await store.close()
    await_end(connection_threads())


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("way", ["write", "read"])
async def test_closing_waits_for_what_was_asked_for_before(store: Engines, way: str, is_open: bool) -> None:
    late = open_engines(store.path)
    if is_open:
        await getattr(late, way)(user_names)
    units = [asyncio.create_task(getattr(late, way)(user_names)) for _ in range(9)]
    await asyncio.sleep(0)

    await late.close()

    assert await asyncio.gather(*units) == [[]] * 9
    await store.close()
    await_end(connection_threads())


async def test_nothing_is_left_for_the_garbage_collector_to_complain_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store(tmp_path)
    await asyncio.gather(store.write(add_user), store.read(user_names))
    await store.close()
    del store
    gc.collect()

    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_store_can_be_closed_unused_and_twice(tmp_path: Path) -> None:
    store = open_engines(tmp_path / "desk.db")

    await store.close()
    await store.close()


def test_nothing_imports_sqlalchemys_asyncio_nor_greenlets() -> None:
    # A desk needs neither: its units run in threads.
    program = (
        "import sys; sys.modules['greenlet'] = None\n"
        "import copydesk.cli, copydesk.desk.opening, copydesk.desk.sources, copydesk.desk.stages\n"
        "print(*(name for name in sys.modules if name.startswith(('sqlalchemy.ext.asyncio', 'greenlet.'))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


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
    monkeypatch.setattr("copydesk.store.place._mounts", lambda: "server:/x / nfs rw 0 0\n")

    with pytest.raises(StoreError, match=r"network file system \(nfs\)"):
        open_engines(tmp_path / "desk.db")


async def test_what_fails_after_its_caller_was_cancelled_is_not_complained_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It was logged as an exception that was never retrieved."""
    begun, go = asyncio.Event(), asyncio.Event()

    async def fail() -> None:
        begun.set()
        await go.wait()
        raise OddError

    task = asyncio.create_task(to_the_end(fail()))
    await begun.wait()
    asyncio.get_running_loop().call_later(0.001, go.set)
    await cancel(task)
    del task
    await asyncio.sleep(0)  # the loop holds what it did last
    gc.collect()

    assert caplog.records == []
