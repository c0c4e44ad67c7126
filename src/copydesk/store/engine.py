"""The two ways into the database: one connection that writes, four that read.

A unit of work is a plain function that is given a connection. It runs in that connection's own thread from its first
statement to its last: crossing to the thread for every statement costs more than the statements do.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event

from copydesk.errors import CopydeskError, StoreError
from copydesk.store.faults import translated
from copydesk.store.lanes import Lane, Lanes
from copydesk.store.place import SameFile, make_private, refuse_network
from copydesk.store.statements import driver_of

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
PRAGMA wal_autocheckpoint = 4000;
"""
"""Four times SQLite's own 1000 pages of log: whoever commits the last of them waits until all are in the database, on
the disk. Where there is a `rest`, it brings them there when nobody waits."""
_AT_REST = """
PRAGMA wal_checkpoint(PASSIVE);
PRAGMA analysis_limit = 400;
PRAGMA optimize;
"""
"""The log first: it asks for no lock, while the statistics fail at once where another process has it."""


class Engines:
    """An open database. Units of work go through `write` and `read`; `close` ends it."""

    def __init__(self, path: Path, busy_timeout: float) -> None:
        self.path = path
        self._busy_timeout = busy_timeout
        self._same_file = SameFile(path)
        self._writer = Lane(_write_engine(path, busy_timeout, foreign_keys=True), self._same_file, parting=self._tidy)
        self._readers = Lanes(_read_engine(path, busy_timeout), READERS, self._same_file)
        self._watcher = Lane(_read_engine(path, busy_timeout), self._same_file)

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
        lane = Lane(_write_engine(self.path, self._busy_timeout, foreign_keys=False), self._same_file)
        try:
            with translated(self.path):
                return await lane.run(_in_transaction, work)
        finally:
            await lane.close()

    async def rest(self) -> bool:
        """Close the connections that were not used since this was called last; whether there were any.

        Each holds megabytes of pages. They are opened again when they are needed, which takes a millisecond. The one
        that writes refreshes SQLite's statistics before, and brings what is only in the log yet into the database.
        """
        return any([await each.rest() for each in (self._readers, self._writer)])

    async def close(self) -> None:
        """Does what is left to do at rest, then ends every connection and its thread."""
        await self._watcher.close()
        await self._readers.close()
        await self._writer.close()

    def _tidy(self, connection: Connection) -> None:
        # SQLite knows what its statistics lack from the queries of this very connection: the next one cannot do it.
        # It does not wait for another process, and is worth no error.
        with suppress(StoreError), translated(self.path):
            self._same_file.check()
            driver_of(connection).executescript(_AT_REST)


def _in_transaction(connection: Connection, work: Callable[[Connection], T]) -> T:
    try:
        with connection.begin():
            return work(connection)
    except BaseException:
        # After a COMMIT that failed SQLite can still be in the transaction, which SQLAlchemy takes for ended: the
        # next unit could not begin, and closing would commit what is left.
        driver_of(connection).rollback()
        raise


def _through(connection: Connection, work: Callable[[Connection], T]) -> T:
    driver = driver_of(connection)
    driver.execute("PRAGMA synchronous = FULL")
    try:
        return _in_transaction(connection, work)
    finally:
        driver.execute("PRAGMA synchronous = NORMAL")


def _each_apart(
    connection: Connection, work: Callable[[Connection, A], T], every: Sequence[A]
) -> list[T | CopydeskError]:
    driver = driver_of(connection)
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
    version: int = driver_of(connection).execute("PRAGMA data_version").fetchone()[0]
    return version


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
    driver_of(connection).execute("BEGIN IMMEDIATE")
