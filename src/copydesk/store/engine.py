"""The two ways into the database: one connection that writes, four that read.

A unit of work is a plain function that is given a connection. It runs in that connection's own thread from its first
statement to its last: crossing to the thread for every statement costs more than the statements do.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import aiosqlite
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event

from copydesk.errors import CopydeskError, StoreError
from copydesk.store.faults import translated
from copydesk.store.place import SameFile, make_private, refuse_network

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")

BUSY_TIMEOUT = 5.0
"""Seconds to wait for another process's transaction."""
READERS = 4
COMMITTED_TOGETHER = 50
"""Units of `write_each` in one transaction."""

_PRAGMAS = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -8000;
PRAGMA journal_size_limit = 67108864;
"""
_ON_CLOSE = """
PRAGMA analysis_limit = 400;
PRAGMA optimize;
"""


class Engines:
    """An open database. Units of work go through `write` and `read`; `close` ends it."""

    def __init__(self, path: Path, busy_timeout: float) -> None:
        self.path = path
        self._busy_timeout = busy_timeout
        self._same_file = SameFile(path)
        self._writer = _Lanes(
            _write_engine(path, busy_timeout, foreign_keys=True), 1, self._same_file, parting=self._optimize
        )
        self._readers = _Lanes(_read_engine(path, busy_timeout), READERS, self._same_file)
        self._watcher = _Lanes(_read_engine(path, busy_timeout), 1, self._same_file)

    async def changes(self) -> int:
        """A number that is another one after each commit, whichever connection or process made it."""
        with translated(self.path):
            return await self._watcher.run(_without_transaction, _data_version)

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` returns; it is one transaction, which holds the write lock from its start.

        Committed at the end, rolled back on an error. Units are carried out in the order of asking. One whose caller
        is cancelled before its turn is not begun; one that is begun is carried out to its end. `work` does nothing
        that waits, and returns nothing that still needs the connection. Raises StoreBusyError, StoreFullError,
        StoreDamagedError, StoreError.
        """
        with translated(self.path):
            return await self._writer.run(_in_transaction, lambda connection: work(connection, *args, **kwargs))

    async def write_through(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As `write`, and on the disk itself when this returns: a power cut takes nothing of it back."""
        with translated(self.path):
            return await self._writer.run(_through, lambda connection: work(connection, *args, **kwargs))

    async def write_each(self, work: Callable[[Connection, A], T], every: Sequence[A]) -> list[T | CopydeskError]:
        """As `write` for each of `every` in turn, in one crossing; each is done wholly or not at all.

        Where `work` refuses with a CopydeskError, before its first write, the error stands in its place. They are
        committed in groups of COMMITTED_TOGETHER, for that is what costs. A group that a StoreError hits is not done,
        nor are those after it: it stands in the place of them all.
        """
        return await self._writer.run(self._in_groups, (work, every))

    def _in_groups(
        self, connection: Connection, asked: tuple[Callable[[Connection, A], T], Sequence[A]]
    ) -> list[T | CopydeskError]:
        work, every = asked
        done: list[T | CopydeskError] = []
        try:
            for start in range(0, len(every), COMMITTED_TOGETHER):
                group = every[start : start + COMMITTED_TOGETHER]
                self._same_file.check()
                with translated(self.path):
                    done += _in_transaction(connection, partial(_each_apart, work=work, every=group))
        except StoreError as error:
            done += [error] * (len(every) - len(done))
        return done

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` returns; it cannot write and holds no snapshot: each statement sees what is committed by then.

        Keep it short; there are four readers. Raises as `write` does.
        """
        with translated(self.path):
            return await self._readers.run(_without_transaction, lambda connection: work(connection, *args, **kwargs))

    async def upgrade(self, work: Callable[[Connection], T]) -> T:
        """As `write`, on a connection of its own with foreign keys off.

        An upgrade builds tables anew; with them on, dropping the old table deletes every row that points at it.
        They cannot be switched inside a transaction.
        """
        lanes = _Lanes(_write_engine(self.path, self._busy_timeout, foreign_keys=False), 1, self._same_file)
        try:
            with translated(self.path):
                return await lanes.run(_in_transaction, work)
        finally:
            await lanes.close()

    async def rest(self) -> bool:
        """Close the connections that were not used since this was called last; whether there were any.

        Each holds megabytes of pages. They are opened again when they are needed, which takes a millisecond. The one
        that writes refreshes SQLite's statistics before.
        """
        return any([await lanes.rest() for lanes in (self._readers, self._writer)])

    async def close(self) -> None:
        """Lets SQLite refresh its statistics, then ends every connection and its thread."""
        await self._watcher.close()
        await self._readers.close()
        await self._writer.close()

    def _optimize(self, connection: Connection) -> None:
        # SQLite knows what its statistics lack from the queries of this very connection: the next one cannot do it.
        # It does not wait for another process, and is worth no error.
        with suppress(StoreError), translated(self.path):
            self._same_file.check()
            _driver(connection).executescript(_ON_CLOSE)


def _in_transaction(connection: Connection, work: Callable[[Connection], T]) -> T:
    try:
        with connection.begin():
            return work(connection)
    except BaseException:
        # After a COMMIT that failed SQLite can still be in the transaction, which SQLAlchemy takes for ended: the
        # next unit could not begin, and closing would commit what is left.
        _driver(connection).rollback()
        raise


def _through(connection: Connection, work: Callable[[Connection], T]) -> T:
    driver = _driver(connection)
    driver.execute("PRAGMA synchronous = FULL")
    try:
        return _in_transaction(connection, work)
    finally:
        driver.execute("PRAGMA synchronous = NORMAL")


def _each_apart(
    connection: Connection, work: Callable[[Connection, A], T], every: Sequence[A]
) -> list[T | CopydeskError]:
    driver = _driver(connection)
    done: list[T | CopydeskError] = []
    for each in every:
        before = driver.total_changes
        try:
            done.append(work(connection, each))
        except StoreError:
            raise
        except CopydeskError as error:
            # A savepoint for each would take it back, and cost a quarter of the whole.
            if driver.total_changes != before:
                raise RuntimeError("A unit of work wrote, and then refused.") from error
            done.append(error)
    return done


def _without_transaction(connection: Connection, work: Callable[[Connection], T]) -> T:
    try:
        return work(connection)
    finally:
        # There is nothing to roll back; SQLAlchemy is told that this unit is over.
        connection.rollback()


def _data_version(connection: Connection) -> int:
    # SQLite counts by connection the commits of all others: this one never writes.
    version: int = _driver(connection).execute("PRAGMA data_version").fetchone()[0]
    return version


class _Lane(aiosqlite.Connection):
    """A connection and the thread that it lives in, with SQLAlchemy inside the thread."""

    def __init__(self, engine: Engine, file: SameFile) -> None:
        super().__init__(self._open, iter_chunk_size=64)
        self._file = file
        self.used = True
        """Since the last `rest`."""
        # A thread that hangs in a statement must not keep the program from ending.
        self._thread.daemon = True
        self._engine = engine

    def _open(self) -> sqlite3.Connection:
        self._file.check()
        self.connection = self._engine.connect()
        return _driver(self.connection)

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns, carried out in the thread; not begun where the caller is cancelled before that."""
        wanted = True

        def begin() -> T | None:
            return work() if wanted else None

        try:
            return cast("T", await self._execute(begin))  # type: ignore[no-untyped-call]
        except asyncio.CancelledError:
            wanted = False
            raise


class _Lanes:
    """At most so many connections to one file, each opened when it is first needed; `parting` is its last work."""

    def __init__(
        self, engine: Engine, most: int, file: SameFile, *, parting: Callable[[Connection], None] | None = None
    ) -> None:
        self._engine = engine
        self._most = most
        self._file = file
        self._parting = parting
        self._free = asyncio.Semaphore(most)
        self._idle: list[_Lane] = []
        self._open: list[_Lane] = []

    async def run(self, how: Callable[[Connection, Any], T], work: Any) -> T:
        """What `how` makes of `work` on the next connection that is free; first come, first served."""
        async with self._free:
            lane = self._idle.pop() if self._idle else await self._another()
            lane.used = True
            try:
                return await lane.run(lambda: self._there(how, lane.connection, work))
            finally:
                self._idle.append(lane)

    def _there(self, how: Callable[[Connection, Any], T], connection: Connection, work: Any) -> T:
        # In the thread: the one that answers keys asks nothing of the disk.
        self._file.check()
        return how(connection, work)

    async def _another(self) -> _Lane:
        lane = _Lane(self._engine, self._file)
        try:
            await to_the_end(self._opened(lane))
        except asyncio.CancelledError:
            if lane in self._open:
                self._idle.append(lane)
            raise
        return lane

    async def _opened(self, lane: _Lane) -> None:
        await lane
        self._open.append(lane)

    async def rest(self) -> bool:
        """End the connections that were not used since the last time; whether there were any."""
        unused = [lane for lane in self._idle if not lane.used]
        self._idle = [lane for lane in self._idle if lane.used]
        for lane in self._open:
            lane.used = False
        await to_the_end(self._end(unused))
        return bool(unused)

    async def _end(self, unused: Sequence[_Lane]) -> None:
        for lane in unused:
            async with self._free:
                if lane in self._open:  # else `close` was before this
                    self._open.remove(lane)
                    await self._ended(lane)

    async def close(self) -> None:
        """Ends every connection after what it is still at, and after what was asked for before."""
        async with AsyncExitStack() as every:
            # A connection that is just being opened is in no list yet.
            for _ in range(self._most):
                await every.enter_async_context(self._free)
            self._idle.clear()
            while self._open:
                await self._ended(self._open.pop())

    async def _ended(self, lane: _Lane) -> None:
        try:
            await lane.run(lambda: self._part(lane.connection))
        finally:
            await lane.close()

    def _part(self, connection: Connection) -> None:
        try:
            if self._parting is not None:
                self._parting(connection)
        finally:
            connection.close()


async def to_the_end(work: Coroutine[object, object, object]) -> None:
    """Waits for the end of `work`, even where this is cancelled: what is half open or half closed would be lost."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # Whoever would hear of it is gone: it is not worth a complaint in the log.
        raise
    await task


def _driver(connection: Connection) -> sqlite3.Connection:
    driver: sqlite3.Connection | None = connection.connection.driver_connection
    assert driver is not None
    return driver


def open_engines(path: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> Engines:
    """The database at `path`; file and folder are made, for their owner alone, where they are not there.

    Connections are opened when they are first needed. `busy_timeout` is how many seconds to wait for another
    process. StoreError for a place that cannot hold a database.
    """
    path = path.absolute()
    make_private(path)
    refuse_network(path)
    return Engines(path, busy_timeout)


def _write_engine(path: Path, busy_timeout: float, *, foreign_keys: bool) -> Engine:
    switch = f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'};"
    engine = _engine(path, busy_timeout, _PRAGMAS + switch)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def _read_engine(path: Path, busy_timeout: float) -> Engine:
    return _engine(path, busy_timeout, _PRAGMAS + "PRAGMA query_only = ON;", isolation_level="AUTOCOMMIT")


def _engine(path: Path, busy_timeout: float, script: str, **options: Any) -> Engine:
    # isolation_level None keeps the driver from beginning transactions by itself, which leave a released savepoint
    # and every CREATE TABLE behind after a rollback: each BEGIN is ours.
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": busy_timeout, "isolation_level": None},
        poolclass=NullPool,
        **options,
    )
    event.listen(engine, "connect", lambda driver, _record: driver.executescript(script))
    return engine


def _begin_immediate(connection: Connection) -> None:
    # A deferred transaction that reads and then writes fails at once, without waiting, when another one
    # committed in between.
    _driver(connection).execute("BEGIN IMMEDIATE")
