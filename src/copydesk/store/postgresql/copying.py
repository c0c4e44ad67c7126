"""A PostgreSQL database as the source and the target of `copydesk.store.row_copy`."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

import psycopg
from sqlalchemy import Connection

from copydesk.errors import ConflictError, StoreBusyError, StoreError
from copydesk.settings import Database
from copydesk.store.database_file import HEAD_REVISION, LOCK_POLL_INTERVAL
from copydesk.store.postgresql.connection import PostgresConnection, connect
from copydesk.store.postgresql.database import LOCK_CLASS, create_engine_for, server_errors, server_name
from copydesk.store.postgresql.schema import (
    complete_schema,
    create_tables,
    drop_schema,
    read_revision,
)
from copydesk.store.raw_sql import dbapi_connection
from copydesk.store.row_copy import (
    COPIED_TABLES,
    CREATE_STATE,
    DROP_STATE,
    LOAD_STATE,
    NUMBERED,
    SAVE_STATE,
    STATE_TABLE,
    CopiedTable,
    Row,
    is_unfinished,
)

_COPY_LOCK: Final = -1
"""Second number of the advisory lock of the process that writes a copy, with LOCK_CLASS."""
_LAST_NUMBER: Final = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM draft_event_rid_seq"
_ALL_TABLES: Final = ", ".join(f'"{table.name}"' for table in COPIED_TABLES)
_OTHERS: Final = """SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'copydesk' AND pid <> pg_backend_pid()"""
# But for the queue of workers, which is no part of the desk and is created again by the next worker.
_IS_EMPTY: Final = """SELECT NOT EXISTS (SELECT 1 FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
        AND NOT starts_with(relname, 'procrastinate_') AND NOT starts_with(relname, 'worker_'))"""


class ServerSource:
    """A PostgreSQL database in one transaction, which shows one snapshot."""

    def __init__(self, name: str, connection: PostgresConnection) -> None:
        self.name = name
        self.connection = connection

    def sends_marked(self) -> bool:
        return bool(_value(self.connection, "SELECT sends_marked FROM desk"))

    def last_number(self) -> int:
        return int(_value(self.connection, _LAST_NUMBER))

    def check_unchanged(self) -> None:
        """Do nothing: either the tables are locked, or changes since the snapshot do not matter."""


class ServerTarget:
    """A PostgreSQL database to write: an empty one, or one with an unfinished copy."""

    def __init__(self, name: str, connection: PostgresConnection) -> None:
        self.name = name
        self.connection = connection

    def is_complete(self) -> bool:
        return self._has_table("alembic_version") and self._has_table("desk")

    def create_tables(self, source: str) -> None:
        state = None
        if self._has_table(STATE_TABLE):
            state = self.connection.execute(LOAD_STATE).fetchone()
        if is_unfinished(state, source, self.name, is_empty=bool(_value(self.connection, _IS_EMPTY))):
            return
        with self.connection.transaction():
            create_tables(self.connection)
            self.connection.execute(CREATE_STATE)
            self.connection.execute(SAVE_STATE, (source, HEAD_REVISION))

    def _has_table(self, name: str) -> bool:
        return bool(_value(self.connection, f"SELECT to_regclass('{name}') IS NOT NULL"))

    def insert(self, table: CopiedTable, rows: Sequence[Row]) -> None:
        statement = f'COPY "{table.name}" ({table.column_list}) FROM STDIN'
        try:
            with self.connection.transaction(), self.connection.cursor().copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)
        except psycopg.DataError as error:
            raise _data_error(table, rows, error) from error

    def drop_desk(self) -> None:
        """Drop the tables of a desk and everything that belongs to them."""
        drop_schema(self.connection)

    def clear(self, table: CopiedTable) -> None:
        self.connection.execute(f'TRUNCATE "{table.name}"')

    def finish(self, *, sends_marked: bool, last_number: int) -> None:
        try:
            with self.connection.transaction():
                self.connection.execute(DROP_STATE)
                complete_schema(self.connection, sends_marked=sends_marked)
                for table in COPIED_TABLES:
                    if table.row_number:
                        last = last_number if table.name == NUMBERED else table.last_key(self.connection)
                        self._set_sequence(table, last if isinstance(last, int) else last[0] if last else 0)
        except psycopg.IntegrityError as error:
            raise StoreError(f"Cannot complete the copy in {self.name}: {str(error).strip()}") from error
        # Without statistics the first queries would read whole tables.
        self.connection.execute("ANALYZE")

    def _set_sequence(self, table: CopiedTable, last: int) -> None:
        if last:
            self.connection.execute(
                "SELECT setval(pg_get_serial_sequence(?, ?), ?, TRUE)", (f'"{table.name}"', table.row_number, last)
            )


def _data_error(table: CopiedTable, rows: Sequence[Row], error: psycopg.DataError) -> StoreError:
    """Return the error that names the row which PostgreSQL does not take."""
    # The error of the server names the column at best.
    for row in rows:
        for name, value in zip(table.columns, row, strict=True):
            if isinstance(value, str) and "\0" in value:
                key = "/".join(map(str, table.key(row)))
                return StoreError(
                    f"Row {key} of the table {table.name} has a NUL character in {name}, which PostgreSQL"
                    " cannot store.",
                    hint="Edit that text, then run the command again.",
                )
    return StoreError(f"PostgreSQL cannot store a row of the table {table.name}: {str(error).strip()}")


def _value(connection: PostgresConnection, query: str) -> Any:
    row = connection.execute(query).fetchone()
    return row[0] if row else None


@contextmanager
def _open(options: Database) -> Iterator[tuple[str, Connection]]:
    """Connect to the server; yield the name for messages and the connection."""
    name = server_name(options.url)
    engine = create_engine_for(
        lambda: connect(options.url, password=options.password, lock_timeout=options.busy_timeout, read_only=False)
    )
    with server_errors(name), engine.connect() as connection:
        try:
            yield name, connection
        finally:
            # Whatever is not committed by now is not to be.
            if not connection.invalidated:
                connection.rollback()


@contextmanager
def open_server_source(options: Database, *, exclusive: bool) -> Iterator[ServerSource]:
    """Open a database for reading; with `exclusive`, nobody can change it meanwhile.

    Raise StoreBusyError if another process has the desk open then, ConflictError if it has no tables of this version.
    """
    with _open(options) as (name, connection):
        driver = _driver(connection)
        _check_revision(name, connection)
        # Their changes would wait, and fail after a while.
        if exclusive:
            _check_alone(driver, options.busy_timeout)
        driver.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        if exclusive:
            # Before the snapshot is taken, by the first query.
            driver.execute(f"LOCK TABLE {_ALL_TABLES} IN SHARE MODE")
        yield ServerSource(name, driver)


def _check_revision(name: str, connection: Connection) -> None:
    revision = read_revision(connection)
    if revision is None:
        raise ConflictError(f"{name} has no desk yet; nothing changed.")
    if revision != HEAD_REVISION:
        raise ConflictError(
            f"The tables of {name} are those of an older version; nothing changed.",
            hint="Upgrade them: copydesk draft list",
        )


def _check_alone(driver: PostgresConnection, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while _value(driver, _OTHERS):
        # The server notices a little later that a process has ended.
        if time.monotonic() >= deadline:
            raise StoreBusyError(
                "The desk is open in another process; nothing changed.",
                hint="Quit the console and stop the daemon, the service and the workers first, on all machines.",
            )
        time.sleep(LOCK_POLL_INTERVAL)


@contextmanager
def open_server_target(options: Database) -> Iterator[ServerTarget]:
    """Open a database to write a copy to it. Raise StoreBusyError if another process is doing so."""
    with _open(options) as (name, connection):
        target = ServerTarget(name, _driver(connection))
        _lock_for_copy(target)
        yield target


def _lock_for_copy(target: ServerTarget) -> None:
    # Until the connection is closed.
    if not _value(target.connection, f"SELECT pg_try_advisory_lock({LOCK_CLASS}, {_COPY_LOCK})"):
        raise StoreBusyError(f"Another process is copying a desk to {target.name}; nothing changed.")


def _driver(connection: Connection) -> PostgresConnection:
    return cast("PostgresConnection", dbapi_connection(connection))


@contextmanager
def open_server_to_replace(options: Database) -> Iterator[tuple[ServerSource | None, ServerTarget]]:
    """Open a database to replace its desk; yield that, None if there is none, and the database as the target.

    Everything is one transaction, committed at the end of the block. Raise as `open_server_source` and
    `open_server_target` do.
    """
    with _open(options) as (name, connection):
        driver = _driver(connection)
        target, existing = ServerTarget(name, driver), None
        _lock_for_copy(target)
        if target.is_complete():
            _check_revision(name, connection)
            # Not in the transaction, in which the server would return what it returned first.
            _check_alone(driver, options.busy_timeout)
            existing = ServerSource(name, driver)
        with driver.transaction():
            if existing is not None:
                driver.execute(f"LOCK TABLE {_ALL_TABLES} IN ACCESS EXCLUSIVE MODE")
            yield existing, target
