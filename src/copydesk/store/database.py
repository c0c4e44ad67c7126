"""The SQLite database: one connection that writes, four that read.

A unit of work is a plain function that is given a connection. It runs in that connection's own thread from its first
statement to its last: crossing threads for every statement costs more than the statements do.
"""

import asyncio
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from copydesk.errors import (
    CopydeskError,
    FieldError,
    InvalidError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from copydesk.store.connection_pool import (
    Caller,
    ConnectionPool,
    ConnectionThread,
    FileIdentity,
    create_private_file,
    is_read_only,
    reject_network_file_system,
)
from copydesk.store.database_file import LOCK_POLL_INTERVAL, connect_readonly, restore_hint
from copydesk.store.raw_sql import dbapi_connection

ERROR_CONTEXT_LENGTH = 20
"""Characters of context shown before the one that cannot be stored."""

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
# SQLite calls it a violation of its locking protocol when the system refuses a lock.
_DISK = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PROTOCOL}
_IO_ERROR = "disk I/O error"
"""The message of the driver, which in rare cases gives this error no code."""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NOT_UTF8 = "Could not decode to UTF-8"
"""The start of the message of the driver, which gives this error no code."""
_NO_ACCESS = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}

Transaction = Connection
"""Passed to the store's functions and never used directly: only the store builds and runs SQL."""

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")

WATCH_INTERVAL = 0.25
"""Seconds between two looks for a commit by any process, while anybody waits for events."""
BUSY_TIMEOUT = 5.0
"""Seconds to wait for another process's transaction."""
# A few are enough: reads are short, and each open connection costs a thread and megabytes of cache.
READER_COUNT = 4
COMMIT_BATCH_SIZE = 50
"""Units of `Database.write_groups`, or of `Database.write_durable`, in one transaction at most."""

_PRAGMAS = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -8000;
PRAGMA journal_size_limit = 67108864;
PRAGMA wal_autocheckpoint = 12000;
"""
"""The automatic checkpoint is twelve times SQLite's default of 1000 pages, more than a first run of 200 feeds writes:
whoever commits the last of them waits until all pages are written back to the database file. `Database.close_idle`
usually checkpoints earlier, when nobody waits.
"""
_IDLE_SCRIPT = """
PRAGMA wal_checkpoint(PASSIVE);
PRAGMA analysis_limit = 400;
PRAGMA optimize;
"""
"""The checkpoint comes first: it needs no lock, while `optimize` fails at once if another process holds one."""


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Re-raise errors of the database at `path` as StoreError; let anything else pass.

    A value that the database cannot hold becomes an InvalidError: the command line passes on whatever bytes it was
    given.
    """
    try:
        yield
    except UnicodeEncodeError as error:
        raise encoding_error(error) from error
    except (DBAPIError, sqlite3.Error) as error:
        store_error = to_store_error(path, error)
        if store_error is None:
            raise
        raise store_error from error


def encoding_error(error: UnicodeEncodeError) -> InvalidError:
    """Return the error for text that is not valid UTF-8."""
    # A lone surrogate cannot be printed either, hence the escapes.
    context = error.object[max(0, error.start - ERROR_CONTEXT_LENGTH) : error.end]
    return InvalidError(FieldError(context.encode("utf-8", "backslashreplace").decode(), "is not valid UTF-8"))


def to_store_error(path: Path, error: Exception) -> StoreError | None:
    """Return the StoreError that describes `error` to the user, or None if it is not a known database error."""
    cause = error.driver_exception if isinstance(error, DBAPIError) else error
    # The low byte is the primary result code; the rest says where inside SQLite it happened.
    primary_code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if primary_code in _BUSY:
        return StoreBusyError()
    if primary_code == sqlite3.SQLITE_FULL:
        return StoreFullError()
    if primary_code in _DISK or str(cause) == _IO_ERROR:
        return StoreFullError(
            f"Cannot read or write {path}; nothing changed.",
            hint="The disk may be full or failing.",
        )
    if primary_code in _DAMAGED or str(cause).startswith(_NOT_UTF8):
        problem = "not a readable database" if primary_code == sqlite3.SQLITE_NOTADB else f"damaged: {cause}"
        return StoreCorruptError(f"{path} is {problem}.", hint=restore_hint(path))
    if primary_code in _NO_ACCESS:
        return StoreError(f"Cannot open or write {path}.", hint="Check the owner of the file and its folder.")
    return None


class _Unit:
    """A unit of work that waits to be committed together with others, and its outcome."""

    def __init__(self, work: Callable[[Connection], Any]) -> None:
        self.caller = Caller()
        self.is_done = False
        self._work = work
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self, connection: Connection) -> None:
        """Run the work in a savepoint. If it fails, undo it and keep the error: the other units go on."""
        self.is_done = True
        if self.caller.is_gone():
            return
        driver = dbapi_connection(connection)
        driver.execute("SAVEPOINT unit")
        try:
            self._result = self._work(connection)
        except BaseException as error:
            # After some errors, such as a full disk, SQLite has rolled back the whole transaction.
            if not driver.in_transaction:
                raise
            driver.execute("ROLLBACK TO unit")
            self._error = error
        driver.execute("RELEASE unit")

    def fail(self, error: BaseException) -> None:
        """Record that nothing was committed."""
        self.is_done, self._error = True, error

    def outcome(self) -> Any:
        """Return the result of the work, or raise its error."""
        if self._error is not None:
            raise self._error
        return self._result


class Database:
    """An open database. Units of work go through `write` and `read`; `close` ends it."""

    def __init__(self, path: Path, busy_timeout: float, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        """Every write raises StoreReadOnlyError."""
        self._busy_timeout = busy_timeout
        self._identity = FileIdentity(path)
        self._damage: StoreCorruptError | None = None
        """Set by the first unit of work that meets damage; nothing is written any more then."""
        self._writer = ConnectionThread(
            _write_engine(path, busy_timeout, foreign_keys=True), self._identity, on_close=self._optimize
        )
        read_engine = _read_only_engine(path) if read_only else _read_engine(path, busy_timeout)
        self._readers = ConnectionPool(read_engine, READER_COUNT, self._identity)
        self._group: deque[_Unit] = deque()
        """Units of `write_durable` that were submitted one after the other, and are not started yet."""
        # A connection of its own: SQLite counts the commits of other connections only, and anew once it is reopened.
        self._watcher = ConnectionThread(read_engine, self._identity)

    def of_user(self, user_id: str) -> "Database":
        """Return this database: all its units of work run one after the other."""
        return self

    @property
    def name(self) -> str:
        """For messages."""
        return str(self.path)

    def hold_host(self, host: str) -> AbstractAsyncContextManager[None]:
        """Do nothing: the processes of a file are few, and each limits its own requests to a host."""
        return nullcontext()

    async def change_counter(self) -> int:
        """Return a number that differs after each commit, whichever connection or process made it."""
        with translate_errors(self.path):
            return await self._watcher.run(_without_transaction, _data_version)

    async def wait_for_change(self, _counter: int) -> None:
        """Wait until it is time to look at `change_counter` again: SQLite tells nobody about a commit."""
        await asyncio.sleep(WATCH_INTERVAL)

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in one transaction, which holds the write lock from its start, and return its result.

        Commit at the end, roll back on an error. Units run in the order of submission. A unit whose caller is cancelled
        before its turn is not started; one that has started runs to its end. `work` must not block on anything but the
        database, and must not return anything that still needs the connection. Raise StoreBusyError, StoreFullError,
        StoreReadOnlyError, StoreError, or StoreCorruptError, from then on for every write.
        """
        with self._translate_errors(writing=True):
            self._end_group()
            return await self._writer.run(_in_transaction, lambda connection: work(connection, *args, **kwargs))

    async def write_durable(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Like `write`, but synced to disk before it returns: the commit survives a power cut.

        Units that wait at the same time are committed together, since the sync is the expensive part. Each is still
        atomic. If the commit fails, all of them raise its error.
        """
        with self._translate_errors(writing=True):
            unit, group = _Unit(lambda connection: work(connection, *args, **kwargs)), self._group
            group.append(unit)
            try:
                return await self._writer.run(partial(_commit_group, group=group), unit)
            finally:
                # It may never have had its turn: the connection could not be opened, or the caller was cancelled.
                unit.caller.leave()

    def _end_group(self) -> None:
        """Let no later unit of `write_durable` join those that wait: it would overtake what is submitted now."""
        self._group = deque()

    async def write_groups(
        self, work: Callable[[Connection, Sequence[A]], list[T | CopydeskError]], items: Sequence[A]
    ) -> list[T | CopydeskError]:
        """Run `work` for groups of `items` in one thread crossing; return the results of all items in their order.

        Each group of up to COMMIT_BATCH_SIZE items is one transaction, because the commit is the expensive part, and is
        synced to disk. `work` returns a result, or the error in its place, for each item of its group. If a StoreError
        hits a group, the error takes the place of the results of that group and of all later ones; none of them is
        written.
        """
        self._check_writable()
        self._end_group()
        # Opening the connection may fail, too, before the first group.
        with translate_errors(self.path):
            return await self._writer.run(
                lambda connection, work: in_groups(items, partial(self._write_group, connection, work)), work
            )

    def _write_group(
        self,
        connection: Connection,
        work: Callable[[Connection, Sequence[A]], list[T | CopydeskError]],
        group: Sequence[A],
    ) -> list[T | CopydeskError]:
        # Checked for each group: the file may be replaced while a long batch runs.
        self._identity.check()
        with self._translate_errors(writing=True):
            return _in_durable_transaction(connection, lambda connection: work(connection, group))

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` without a transaction and return its result. It cannot write.

        It holds no snapshot: each statement sees what is committed by then. Keep it short, there are only four readers.
        Raise as `write` does.
        """
        with self._translate_errors():
            return await self._readers.run(_without_transaction, lambda connection: work(connection, *args, **kwargs))

    async def upgrade(self, work: Callable[[Connection], T]) -> T:
        """Like `write`, on a connection of its own with foreign keys off.

        An upgrade rebuilds tables; with foreign keys on, dropping the old table deletes every row that references it.
        They cannot be switched inside a transaction.
        """
        self._check_writable()
        thread = ConnectionThread(_write_engine(self.path, self._busy_timeout, foreign_keys=False), self._identity)
        try:
            with translate_errors(self.path):
                return await thread.run(_in_transaction, work)
        finally:
            await thread.close()

    async def close_idle(self) -> bool:
        """Close the connections that were not used since the last call. Return True if there were any.

        Each holds megabytes of cached pages; reopening takes a millisecond. Before it is closed, the write connection
        checkpoints the write-ahead log and refreshes SQLite's statistics.
        """
        return any([await connections.close_idle() for connections in (self._readers, self._writer)])

    async def close(self) -> None:
        """Checkpoint, then close every connection and end its thread."""
        # The writer last: with no reader left, its checkpoint can cover the whole log.
        await self._watcher.close()
        await self._readers.close()
        await self._writer.close()

    @contextmanager
    def _translate_errors(self, *, writing: bool = False) -> Iterator[None]:
        """Translate errors as `translate_errors` does, and refuse to write to a file once damage was found in it.

        What is written then may be lost, or make the damage worse.
        """
        if writing:
            self._check_writable()
        if writing and self._damage is not None:
            raise StoreCorruptError(self._damage.message, hint=self._damage.hint)
        try:
            with translate_errors(self.path):
                yield
        except StoreCorruptError as error:
            # A single value that cannot be decoded does not keep others from being saved.
            if not isinstance(error.__cause__, DBAPIError | sqlite3.Error):
                raise
            self._damage = StoreCorruptError(f"{error.message} Nothing more is written to it.", hint=error.hint)
            raise self._damage from error.__cause__

    def _check_writable(self) -> None:
        if self.read_only:
            raise StoreReadOnlyError(
                f"{self.path} is read-only; nothing changed.",
                hint="Check the owner of the file and its folder, and how the disk is mounted.",
            )

    def _optimize(self, connection: Connection) -> None:
        # SQLite collects what its statistics lack per connection, from the queries it ran: a later connection cannot do
        # this. Never wait for another process here; a failure is harmless and not reported.
        with suppress(StoreError), self._translate_errors(writing=True):
            self._identity.check()
            dbapi_connection(connection).executescript(_IDLE_SCRIPT)


def _in_transaction(connection: Connection, work: Callable[[Connection], T]) -> T:
    try:
        with connection.begin():
            return work(connection)
    except BaseException:
        # After a failed COMMIT SQLite may still be in the transaction, which SQLAlchemy considers ended: the next unit
        # could not begin, and closing would commit the remains.
        dbapi_connection(connection).rollback()
        raise


def _in_durable_transaction(connection: Connection, work: Callable[[Connection], T]) -> T:
    driver = dbapi_connection(connection)
    # NORMAL syncs the log only at checkpoints, so a power cut may lose the last commits.
    driver.execute("PRAGMA synchronous = FULL")
    try:
        return _in_transaction(connection, work)
    finally:
        # Always restored: syncing every commit would slow down all later writes.
        driver.execute("PRAGMA synchronous = NORMAL")


def _commit_group(connection: Connection, unit: _Unit, *, group: deque[_Unit]) -> Any:
    """Return the outcome of `unit`. The first of a group to have its turn runs and commits all that wait by then."""
    while not unit.is_done:
        units = [group.popleft() for _ in range(min(len(group), COMMIT_BATCH_SIZE))]
        try:
            _in_durable_transaction(connection, partial(_run_units, units=units))
        except BaseException as error:
            for failed in units:
                failed.fail(error)
    return unit.outcome()


def _run_units(connection: Connection, units: Sequence[_Unit]) -> None:
    for unit in units:
        unit.run(connection)


def in_groups(
    items: Sequence[A], write_group: Callable[[Sequence[A]], list[T | CopydeskError]]
) -> list[T | CopydeskError]:
    """Return the results of `write_group` for `items` in groups of COMMIT_BATCH_SIZE.

    A StoreError takes the place of the results of its group and of all later ones, which are not written.
    """
    results: list[T | CopydeskError] = []
    try:
        for start in range(0, len(items), COMMIT_BATCH_SIZE):
            results += write_group(items[start : start + COMMIT_BATCH_SIZE])
    except StoreError as error:
        results += [error] * (len(items) - len(results))
    return results


def run_separately(
    connection: Connection, work: Callable[[Connection, A], T], items: Sequence[A]
) -> list[T | CopydeskError]:
    """Return the result of `work` for each of `items`, with the error in place of a result for those it refused.

    A unit is refused by a CopydeskError, other than a StoreError, before its first write.
    """
    driver = dbapi_connection(connection)
    results: list[T | CopydeskError] = []
    for item in items:
        changes_before = driver.total_changes
        try:
            results.append(work(connection, item))
        except StoreError:
            raise
        except CopydeskError as error:
            # A savepoint per unit would undo the write, but costs a quarter of the whole batch.
            if driver.total_changes != changes_before:
                raise RuntimeError("A unit of work wrote, and then refused.") from error
            results.append(error)
    return results


def _without_transaction(connection: Connection, work: Callable[[Connection], T]) -> T:
    try:
        return work(connection)
    finally:
        # Nothing to roll back; this only tells SQLAlchemy that the unit is over.
        connection.rollback()


def _data_version(connection: Connection) -> int:
    # SQLite reports, per connection, the commits of all other connections: this one never writes.
    version: int = dbapi_connection(connection).execute("PRAGMA data_version").fetchone()[0]
    return version


def open_database(path: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> Database:
    """Return the database at `path`, creating the file and its folder, private to their owner, if missing.

    Connections are opened on first use. `busy_timeout` is the number of seconds to wait for another process. Raise
    StoreError if the location cannot hold a database. One that cannot be written can be read.
    """
    path = path.absolute()
    if is_read_only(path):
        return Database(path, busy_timeout, read_only=True)
    # Before SQLite would create it with the umask's permissions.
    create_private_file(path)
    reject_network_file_system(path)
    return Database(path, busy_timeout)


def _write_engine(path: Path, busy_timeout: float, *, foreign_keys: bool) -> Engine:
    foreign_keys_pragma = f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'};"
    engine = _engine(path, busy_timeout, _PRAGMAS + foreign_keys_pragma)
    event.listen(engine, "begin", _start_immediate)
    return engine


def _read_engine(path: Path, busy_timeout: float) -> Engine:
    return _engine(path, busy_timeout, _PRAGMAS + "PRAGMA query_only = ON;", isolation_level="AUTOCOMMIT")


def _read_only_engine(path: Path) -> Engine:
    def connect() -> sqlite3.Connection:
        connection = connect_readonly(path)
        connection.isolation_level = None
        return connection

    return create_engine("sqlite://", creator=connect, poolclass=NullPool, isolation_level="AUTOCOMMIT")


def _engine(path: Path, busy_timeout: float, script: str, **options: Any) -> Engine:
    # isolation_level None keeps the driver from starting transactions by itself, which would leave a released savepoint
    # and every CREATE TABLE behind after a rollback: every BEGIN is issued here.
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": busy_timeout, "isolation_level": None},
        # Connections are pooled by ConnectionPool, which ties each to its thread.
        poolclass=NullPool,
        **options,
    )
    event.listen(engine, "connect", lambda driver, _record: _execute_script(driver, script, busy_timeout))
    return engine


def _execute_script(driver: sqlite3.Connection, script: str, busy_timeout: float) -> None:
    """Execute the pragmas of a new connection. Raise sqlite3.OperationalError if other processes do not let it."""
    deadline = time.monotonic() + busy_timeout
    while True:
        try:
            driver.executescript(script)
        except sqlite3.OperationalError as error:
            # SQLite does not wait for the lock to turn the log on, in a new or a restored file: the connection has read
            # the database by then, and two such would wait for each other.
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _BUSY or time.monotonic() >= deadline:
                raise
        else:
            return
        time.sleep(LOCK_POLL_INTERVAL)


def _start_immediate(connection: Connection) -> None:
    # A deferred transaction that reads and then writes fails at once, without waiting, if another one committed in
    # between.
    dbapi_connection(connection).execute("BEGIN IMMEDIATE")
