"""A PostgreSQL database, with the interface of `copydesk.store.database.Database`.

Units of work run in threads of connections, as on SQLite. A transaction takes an advisory lock first: those on the rows
of one user run one after the other, whichever process they come from, so that a unit of work may decide by what it has
read. Those of different users run at the same time.
"""

import asyncio
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext
from copy import copy
from functools import partial
from typing import Concatenate, Final, NamedTuple, ParamSpec, TypeVar, cast

import psycopg
from psycopg import errors
from sqlalchemy import Connection, Engine, Integer, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from copydesk.errors import (
    CopydeskError,
    FieldError,
    InvalidError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from copydesk.store.connection_pool import ConnectionPool, ConnectionThread
from copydesk.store.database import READER_COUNT, Database, encoding_error, in_groups
from copydesk.store.database_file import HEAD_REVISION
from copydesk.store.migrate import PreparedDatabase
from copydesk.store.postgresql.connection import ConnectError, PostgresConnection, connect
from copydesk.store.postgresql.host_locks import HostLocks
from copydesk.store.postgresql.schema import create_schema, read_revision, upgrade_schema
from copydesk.store.raw_sql import dbapi_connection

WRITER_COUNT: Final = 4
"""Connections that write. A user's units of work always go through the same one, in the order of their submission."""
LOCK_CLASS: Final = 1668247673
"""First number of the advisory locks; the second one is that of the user."""
_ALL_USERS: Final = 0
CHANNEL: Final = "copydesk"
"""Every transaction that wrote notifies this channel of the number of its user."""
RETRY_DELAYS: Final = (0.01, 0.05, 0.25)
"""Seconds before a transaction that the server rolled back, to resolve a conflict with others, is run again."""

_BEFORE_REASON: Final = re.compile(
    r"^connection (failed|is bad): (connection to server at .*? failed: )?(FATAL: +|fe_sendauth: )?"
)

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")


class _AlwaysThere:
    """In the place of the file of a SQLite database: a server that is gone raises an error of its own."""

    def check(self) -> None:
        """Do nothing."""


class _Changes:
    """The notifications that the listening connection has received."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        """By the number of the user, as text; those that concern all users by that of all."""
        self.total = 0
        """All of them."""
        self._listening: PostgresConnection | None = None

    def count(self, connection: Connection, user_key: int) -> int:
        """Return the number of notifications so far that concern a user, or all users, without a query."""
        driver, all_users = _driver(connection), str(_ALL_USERS)
        if driver is not self._listening:
            driver.control(f"LISTEN {CHANNEL}")
            # Those sent before the connection was opened again are lost, so report a change.
            self._listening = driver
            self._counts[all_users] += 1
        # The version before sends no number.
        self._counts.update(notification.payload or all_users for notification in driver.notifies(timeout=0))
        self.total = self._counts.total()
        if user_key == _ALL_USERS:
            return self.total
        return self._counts[str(user_key)] + self._counts[all_users]


class _Socket:
    """Wakes all who wait for a socket of the loop to become readable; a loop has one callback for each socket."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()
        self._numbers: set[int] = set()
        """The sockets that the loop watches."""

    @contextmanager
    def waiter(self) -> Iterator[asyncio.Future[None]]:
        """Yield a future that `wake` completes from now on."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting.add(waiter)
        try:
            yield waiter
        finally:
            self._waiting.discard(waiter)
            if not self._waiting:
                while self._numbers:
                    loop.remove_reader(self._numbers.pop())

    async def wait(self, number: int, waiter: asyncio.Future[None]) -> None:
        """Wait until there is something to read, the socket is closed by the other side, or `wake` is called."""
        asyncio.get_running_loop().add_reader(number, self.wake)
        self._numbers.add(number)
        await waiter

    def wake(self) -> None:
        """Wake all who wait."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)


def create_engine_for(connector: Callable[[], PostgresConnection]) -> Engine:
    """Return an engine for connections made by `connector`, which take transactions as they come."""
    engine = create_engine(
        "postgresql+psycopg://",
        creator=connector,
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        # That of INSERT too, which tells if there was a conflict.
        execution_options={"preserve_rowcount": True},
    )
    # Numbers without a cast, which would limit them to 32 bits.
    engine.dialect.colspecs = {type_: own for type_, own in engine.dialect.colspecs.items() if type_ is not Integer}
    return engine


class ServerState(NamedTuple):
    """A server and its database."""

    version: str
    size: int
    """Bytes of the database."""
    round_trip: float
    """Seconds until the server answers."""
    is_standby: bool
    """It only replays what another server writes."""


class PostgresDatabase:
    """An open database. Units of work go through `write` and `read`; `close` ends it."""

    read_only = False

    def __init__(self, url: str, password: str, lock_timeout: float) -> None:
        self._lock_key = _ALL_USERS
        self.name = server_name(url)
        """For messages."""

        def engine(*, read_only: bool) -> Engine:
            return create_engine_for(
                lambda: connect(url, password=password, lock_timeout=lock_timeout, read_only=read_only)
            )

        write_engine, read_engine = engine(read_only=False), engine(read_only=True)
        file = _AlwaysThere()
        self._writers = tuple(ConnectionThread(write_engine, file) for _ in range(WRITER_COUNT))
        self._readers = ConnectionPool(read_engine, READER_COUNT, file)
        self._watcher = ConnectionThread(read_engine, file)
        self._changes = _Changes()
        self._socket = _Socket()
        self._host_locks = HostLocks(url, password, self._translate_errors)

    async def prepare(self) -> PreparedDatabase:
        """Create the tables if there are none, and upgrade older ones, in one transaction.

        Raise StoreTooNewError if a newer version of Copydesk created them, StoreSchemaError if a development version
        did, StoreError if the server is too old.
        """
        # Reading first: a write would wait for another process that holds the lock.
        if await self.read(read_revision) == HEAD_REVISION:
            return PreparedDatabase()
        return await self.upgrade(_prepare)

    async def upgrade(self, work: Callable[[Connection], T]) -> T:
        """Run `work` as `write` does; it may execute scripts of several statements."""
        with self._translate_errors():
            return await self._writer.run(_with_connection, self._transaction(work, has_scripts=True))

    def of_user(self, user_id: str) -> "PostgresDatabase":
        """Return this database for units of work that read and write only rows of this user."""
        database = copy(self)
        database._lock_key = _user_key(user_id)  # noqa: SLF001 - of this class
        return database

    async def change_counter(self) -> int:
        """Return a number that differs after each commit, whichever connection or process made it.

        Of a database `of_user`, after each that concerns this user.
        """
        counter, _ = await self._receive()
        return counter

    async def wait_for_change(self, counter: int) -> None:
        """Wait until `change_counter` may differ from `counter`. Costs nothing while nothing is written."""
        # Waiting before it looks: from then on others may receive what it waits for.
        with self._socket.waiter() as waiter:
            current, number = await self._receive()
            if current == counter:
                await self._socket.wait(number, waiter)

    async def _receive(self) -> tuple[int, int]:
        """Receive the notifications that have arrived; return the counter of changes and the number of the socket."""
        loop = asyncio.get_running_loop()

        def receive(connection: Connection) -> tuple[int, int]:
            total, counter = self._changes.total, None
            try:
                counter = self._changes.count(connection, self._lock_key)
                return counter, _driver(connection).fileno()
            finally:
                # Those who wait for the socket find nothing in it any more, or it is closed.
                if counter is None or self._changes.total != total:
                    loop.call_soon_threadsafe(self._socket.wake)

        with self._translate_errors():
            return await self._watcher.run(_without_transaction, receive)

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in one transaction, as `Database.write` does. PostgreSQL syncs each commit to disk.

        After a deadlock or a serialization failure it is run again, so it must have no other effect than its writes.
        """
        with self._translate_errors():
            unit = self._transaction(lambda connection: work(connection, *args, **kwargs))
            return await self._writer.run(_with_retries, unit)

    write_durable = write

    async def write_groups(
        self, work: Callable[[Connection, Sequence[A]], list[T | CopydeskError]], items: Sequence[A]
    ) -> list[T | CopydeskError]:
        """Run `work` for groups of `items`, as `Database.write_groups` does."""
        with self._translate_errors():
            return await self._writer.run(
                lambda connection, work: in_groups(items, partial(self._write_group, connection, work)), work
            )

    def _write_group(
        self,
        connection: Connection,
        work: Callable[[Connection, Sequence[A]], list[T | CopydeskError]],
        group: Sequence[A],
    ) -> list[T | CopydeskError]:
        with self._translate_errors():
            return _with_connection(connection, self._transaction(lambda connection: work(connection, group)))

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` without a transaction, as `Database.read` does."""
        with self._translate_errors():
            return await self._readers.run(_without_transaction, lambda connection: work(connection, *args, **kwargs))

    def hold_host(self, host: str) -> AbstractAsyncContextManager[None]:
        """Hold a host for a request to it, over all processes; see `HostLocks.hold`."""
        return self._host_locks.hold(host)

    async def examine(self) -> ServerState:
        """Return the state of the server. Raise StoreError if it cannot be reached."""
        return await self.read(_examine)

    async def close_idle(self) -> bool:
        """Close the connections that were not used since the last call. Return True if there were any."""
        closed = [await self._host_locks.close_idle(), await self._readers.close_idle()]
        return any([*closed, *[await writer.close_idle() for writer in self._writers]])

    async def close(self) -> None:
        """Close every connection and end its thread."""
        await self._host_locks.close()
        await self._watcher.close()
        await self._readers.close()
        for writer in self._writers:
            await writer.close()

    @property
    def _writer(self) -> ConnectionThread:
        return self._writers[self._lock_key % WRITER_COUNT]

    def _transaction(self, work: Callable[[Connection], T], *, has_scripts: bool = False) -> Callable[[Connection], T]:
        """Return `work` in a transaction that holds the lock from its start."""
        notify = f"SELECT pg_notify('{CHANNEL}', '{self._lock_key}') WHERE pg_current_xact_id_if_assigned() IS NOT NULL"
        begin = f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({LOCK_CLASS}, {self._lock_key})"

        def run(connection: Connection) -> T:
            try:
                _driver(connection).control(begin)
            except psycopg.OperationalError as error:
                if not _is_lost(connection, error):
                    raise
                # The server was restarted since the last unit; nothing has been done yet.
                _driver(connection).control(begin)
            driver = _driver(connection)
            # A pipeline takes one statement at a time.
            with nullcontext() if has_scripts else driver.transaction_pipeline():
                result = work(connection)
                for statement in (notify, "COMMIT"):
                    driver.cursor().execute(statement)
            return result

        return run

    def _translate_errors(self) -> AbstractContextManager[None]:
        return server_errors(self.name)


def server_name(url: str) -> str:
    """Return the URL of a database for messages, without password and options. Raise StoreError if it is no URL."""
    try:
        info = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise StoreError(f"database.url is not a PostgreSQL URL: {_first_line(error)}.") from error
    user = f"{info['user']}@" if "user" in info else ""
    hosts, ports = str(info.get("host", "localhost")).split(","), str(info.get("port", "")).split(",")
    servers = (
        (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
        for host, port in zip(hosts, ports if len(ports) > 1 else ports * len(hosts), strict=False)
    )
    return f"postgresql://{user}{','.join(servers)}/{info.get('dbname', '')}"


@contextmanager
def server_errors(name: str) -> Iterator[None]:
    """Re-raise errors of the database `name` as StoreError or InvalidError; let anything else pass."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise encoding_error(error) from error
    except (DBAPIError, psycopg.Error) as error:
        cause = error.driver_exception if isinstance(error, DBAPIError) else error
        translated = _to_error(name, cause)
        if translated is None:
            raise
        raise translated from error


def _to_error(name: str, cause: BaseException) -> CopydeskError | None:  # noqa: PLR0911 - one for each kind of error
    """Return the error that describes `cause` to the user, or None if it is not a known one."""
    match cause:
        case errors.LockNotAvailable() | errors.DeadlockDetected() | errors.SerializationFailure():
            return StoreBusyError()
        case errors.DiskFull():
            return StoreFullError()
        case errors.ReadOnlySqlTransaction():
            return StoreReadOnlyError(f"{name} is read-only; nothing changed.")
        case errors.InsufficientPrivilege():
            return StoreError(
                f"Cannot use {name}: {_first_line(cause)}; nothing changed.",
                hint="Connect as the role that owns the database.",
            )
        case psycopg.DataError() if "NUL" in str(cause) or "\\u0000" in str(cause):
            return InvalidError(FieldError("text", "must not contain NUL characters"))
        case ConnectError():
            return StoreError(f"Cannot reach {name}: {_first_line(cause)}.", hint=_connect_hint(cause))
        case psycopg.OperationalError():
            # While COMMIT was under way, the server may have carried it out.
            return StoreError(
                f"Cannot reach {name}: {_first_line(cause)}.",
                hint="Check that PostgreSQL runs. If a change was under way, check if it was made.",
            )
    return None


def _connect_hint(error: ConnectError) -> str:
    if error.needs_password:
        return "Set COPYDESK_DATABASE__PASSWORD, or add the password to ~/.pgpass."
    # libpq has no codes for what the server says before there is a connection.
    if "authentication failed" in str(error):
        return "Check the user in the URL, and COPYDESK_DATABASE__PASSWORD or ~/.pgpass."
    if re.search('database ".*" does not exist', str(error)):
        return "Check the URL, or create the database: createdb NAME"
    if re.search('role ".*" does not exist|pg_hba.conf', str(error)):
        return "Check the user in the URL, and whom the server's pg_hba.conf lets in."
    return "Check that PostgreSQL runs, and the URL."


def _prepare(connection: Connection) -> PreparedDatabase:
    # With the lock of all users: of several processes that start at once, one creates or upgrades the tables.
    revision = read_revision(connection)
    if revision == HEAD_REVISION:
        return PreparedDatabase()
    action = "create the tables" if revision is None else f"migrate the tables from {revision} to {HEAD_REVISION}"
    try:
        if revision is None:
            create_schema(connection)
            return PreparedDatabase(created=True)
        upgrade_schema(connection, revision)
    except (psycopg.ProgrammingError, psycopg.DataError, psycopg.IntegrityError) as error:
        raise StoreError(
            f"Cannot {action}: {_first_line(error)}. Nothing changed.", hint="Use a database for Copydesk alone."
        ) from error
    return PreparedDatabase(migrated_from=revision)


def _examine(connection: Connection) -> ServerState:
    started_at = time.monotonic()
    connection.exec_driver_sql("SELECT 1")
    round_trip = time.monotonic() - started_at
    query = "SELECT current_setting('server_version'), pg_database_size(current_database()), pg_is_in_recovery()"
    version, size, is_standby = connection.exec_driver_sql(query).one()
    return ServerState(version.split(" ")[0], size, round_trip, is_standby)


AnyDatabase = Database | PostgresDatabase


def _driver(connection: Connection) -> PostgresConnection:
    return cast("PostgresConnection", dbapi_connection(connection))


def _user_key(user_id: str) -> int:
    # Signed, as PostgreSQL's integers; never that of all users.
    return (zlib.crc32(user_id.encode()) - 2**31) or 1


def _is_lost(connection: Connection, error: BaseException) -> bool:
    """Return True if the server closed the connection; the next use of `connection` opens a new one then."""
    if not _driver(connection).closed:
        return False
    _replace(connection, error)
    return True


def _replace(connection: Connection, error: BaseException) -> None:
    """Close the connection; the next use of `connection` opens a new one."""
    connection.invalidate(error)
    connection.rollback()


def _with_connection(connection: Connection, unit: Callable[[Connection], T]) -> T:
    """Return `unit(connection)`. After an error roll back, or drop the connection if it is lost."""
    try:
        return unit(connection)
    except BaseException as error:
        if not connection.invalidated and not _is_lost(connection, error):
            try:
                _driver(connection).rollback()
            except psycopg.Error:
                # If the server closes it in the middle of a pipeline, libpq may stay in that for ever.
                _replace(connection, error)
        raise
    finally:
        # Tells SQLAlchemy that the unit is over.
        connection.rollback()


def _with_retries(connection: Connection, unit: Callable[[Connection], T]) -> T:
    """Return `unit(connection)`; run it again if the server rolled it back because of a conflict."""
    for delay in RETRY_DELAYS:
        try:
            return _with_connection(connection, unit)
        except (DBAPIError, psycopg.Error) as error:
            cause = error.driver_exception if isinstance(error, DBAPIError) else error
            # Both say for certain that nothing was committed; a lock that is held for long is reported instead.
            if not isinstance(cause, errors.DeadlockDetected | errors.SerializationFailure):
                raise
            # In the thread of the connection: what was submitted later must not overtake this unit.
            time.sleep(delay)
    return _with_connection(connection, unit)


def _without_transaction(connection: Connection, work: Callable[[Connection], T]) -> T:
    try:
        return _with_connection(connection, work)
    except (DBAPIError, psycopg.OperationalError) as error:
        is_lost = error.connection_invalidated if isinstance(error, DBAPIError) else connection.invalidated
        if not is_lost:
            raise
        # The server was restarted. What only reads can be repeated.
        return _with_connection(connection, work)


def _first_line(error: BaseException) -> str:
    line = str(error).strip().split("\n", 1)[0].rstrip(".")
    # What psycopg and libpq put before the reason says no more than our own words.
    return _BEFORE_REASON.sub("", line)


def open_postgresql(url: str, *, password: str = "", busy_timeout: float) -> PostgresDatabase:
    """Return the database at `url`. Connections are opened on first use. Raise StoreError if it is no URL."""
    return PostgresDatabase(url, password, busy_timeout)
