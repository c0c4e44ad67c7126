"""Raw SQL on the driver's own connection, for hot paths where SQLAlchemy's overhead dominates."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import msgspec
from sqlalchemy import Column, Connection, Executable, Table
from sqlalchemy.dialects.sqlite import Insert, dialect, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeEngine

from copydesk.store.column_types import JsonText
from copydesk.store.draft_rows import in_one_round_trip

T = TypeVar("T")
DIALECT: Final = dialect(paramstyle="named")
POSTGRESQL: Final = "postgresql"
"""Name of the other dialect: `conn.dialect.name`."""
MAX_CHUNK = 400
"""Values per statement, well below SQLite's limit on parameters."""


def chunked(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield `values` in order, at most MAX_CHUNK at a time, for statements with an IN list."""
    for start in range(0, len(values), MAX_CHUNK):
        yield values[start : start + MAX_CHUNK]


def upsert(conn: Connection, table: Table) -> Insert:
    """Return an INSERT that takes an ON CONFLICT clause, for the database of `conn`."""
    if conn.dialect.name == POSTGRESQL:
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - imported only where it is used

        # Built alike as far as it is used here.
        return cast("Insert", postgresql.insert(table))
    return insert(table)


def to_sql(statement: Executable) -> str:
    """Return the statement as SQL text with named parameters."""
    return str(statement.compile(dialect=DIALECT))  # type: ignore[attr-defined]


def raw_execute(conn: Connection) -> Callable[..., sqlite3.Cursor]:
    """Return `execute` of the driver's connection, for many statements in a row.

    It runs within the current transaction and takes values as they are stored: column types are not applied.
    """
    return dbapi_connection(conn).execute


def execute_sql(conn: Connection, statement: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> sqlite3.Cursor:
    """Execute one statement on the driver; values are passed as they are stored."""
    return dbapi_connection(conn).execute(statement, values)


def send_query(
    conn: Connection, statement: str, values: Mapping[str, Any] | Sequence[Any] = ()
) -> Callable[[], list[tuple[Any, ...]]]:
    """Send a query; return what waits for its rows, once. In a transaction, or in `one_round_trip`, a server returns
    them together with those of other queries.
    """
    cursor = execute_sql(conn, statement, values)
    if conn.dialect.name == POSTGRESQL:
        return cursor.fetchall
    # A cursor that is open while something is written may return rows that are not there any more.
    rows = cursor.fetchall()
    return lambda: rows


def one_round_trip(conn: Connection) -> AbstractContextManager[object]:
    """Send the queries of the block to a server at once; their rows can be read after it."""
    return in_one_round_trip(dbapi_connection(conn))


def execute_many(conn: Connection, statement: str, rows: Iterable[Sequence[Any]]) -> int:
    """Execute one statement for each of `rows` on the driver; return the number of rows changed."""
    return dbapi_connection(conn).executemany(statement, rows).rowcount


def breaks_foreign_key(error: Exception) -> bool:
    """Return True if a row refers to one that is not there, or not any more."""
    cause = error.driver_exception if isinstance(error, DBAPIError) else error
    codes = (getattr(cause, "sqlstate", None), getattr(cause, "sqlite_errorname", None))
    return "23503" in codes or "SQLITE_CONSTRAINT_FOREIGNKEY" in codes


def lock_name(conn: Connection, name: str) -> None:
    """Wait until no other transaction that writes holds this name, then hold it to the end of this one."""
    # In SQLite one transaction writes at a time.
    if conn.dialect.name == POSTGRESQL:
        execute_sql(conn, "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (name,)).fetchone()


def placeholders(values: Collection[object]) -> str:
    """Return a placeholder for each of `values`: `?, ?, ?`. Without any, NULL, which `IN` finds nowhere."""
    # PostgreSQL takes no empty list.
    return ", ".join("?" * len(values)) or "NULL"


def dbapi_connection(conn: Connection) -> sqlite3.Connection:
    """Return SQLite's own connection below SQLAlchemy's."""
    # Not `driver_connection`, the same one below two more calls, which every statement would make.
    dbapi = conn.connection.dbapi_connection
    assert dbapi is not None
    return cast("sqlite3.Connection", dbapi)


class ColumnCodec:
    """Some columns: their names for a statement, and the conversion of their values to and from what is stored."""

    def __init__(self, columns: Iterable[Column[Any]]) -> None:
        self._columns = tuple(columns)
        self.names = tuple(column.name for column in self._columns)
        self.column_list = ", ".join(f"{column.table.name}.{column.name}" for column in self._columns)
        self.assignments = ", ".join(f'"{name}" = ?' for name in self.names)
        """Assignments for the SET clause of an UPDATE."""

    @cached_property
    def _encoders(self) -> list[tuple[int, Callable[[Any], Any]]]:
        """(index, converter) of the columns whose values are stored in another form."""
        processors = [(index, type_.bind_processor(DIALECT)) for index, type_ in self._types()]
        return [(index, encode) for index, encode in processors if encode is not None]

    @cached_property
    def _decoders(self) -> list[tuple[int, Callable[[Any], Any]]]:
        """(index, converter) of the columns whose stored values have another form in Python."""
        processors = [(index, type_.result_processor(DIALECT, None)) for index, type_ in self._types()]
        return [(index, decode) for index, decode in processors if decode is not None]

    def _types(self) -> Iterator[tuple[int, TypeEngine[Any]]]:
        # The dialect's own implementation: on SQLite a Boolean, for example, is stored as an integer.
        return enumerate(column.type.dialect_impl(DIALECT) for column in self._columns)

    def encode(self, row: list[Any]) -> list[Any]:
        """Convert `row`, which begins with values of these columns, in place to what is stored; return it."""
        for index, encode in self._encoders:
            row[index] = encode(row[index])
        return row

    def decode(self, rows: Iterable[Sequence[Any]]) -> Iterator[list[Any]]:
        """Yield the rows, which begin with these columns, with their values converted to Python."""
        for stored in rows:
            row = list(stored)
            for index, decode in self._decoders:
                row[index] = decode(row[index])
            yield row


class BulkInsert:
    """Inserts rows of the named columns, many with one statement.

    SQLite releases the GIL while it executes a statement; with one statement per row the thread would have to reacquire
    it each time, and wait for the other threads.
    """

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._columns = ColumnCodec(table.c[name] for name in names)
        self._json = [index for index, name in enumerate(names) if isinstance(table.c[name].type, JsonText)]
        quoted = ", ".join(f'"{name}"' for name in names)
        self._insert_clause = f"INSERT INTO {table.name} ({quoted})"
        self._row_placeholders = f"({placeholders(names)})"
        self._from_json = f"SELECT {quoted} FROM json_populate_recordset(CAST(NULL AS {table.name}), CAST(? AS json))"  # noqa: S608 - names of our own

    def insert(self, conn: Connection, rows: Sequence[list[Any]]) -> None:
        """Insert `rows`, whose values are in the order of the column names. The rows are converted in place."""
        for chunk in chunked(rows):
            stored = [self._columns.encode(row) for row in chunk]
            if conn.dialect.name == POSTGRESQL:
                # As one value: to read a statement with hundreds takes longer than to carry it out.
                execute_sql(conn, f"{self._insert_clause} {self._from_json}", (self._to_json(stored),))
            else:
                values = [value for row in stored for value in row]
                rows_clause = ", ".join([self._row_placeholders] * len(stored))
                execute_sql(conn, f"{self._insert_clause} VALUES {rows_clause}", values)

    def _to_json(self, rows: Iterable[list[Any]]) -> str:
        """Return the stored rows as a list of objects, for `json_populate_recordset`."""
        objects = []
        for row in rows:
            for index in self._json:
                row[index] = None if row[index] is None else msgspec.Raw(row[index].encode())
            objects.append(
                {
                    name: f"\\x{value.hex()}" if isinstance(value, bytes) else value
                    for name, value in zip(self._names, row, strict=True)
                }
            )
        return msgspec.json.encode(objects).decode()
