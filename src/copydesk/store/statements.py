"""Statements as text and rows as tuples: for what runs a hundred times in a row SQLAlchemy's own part is the most."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from sqlalchemy import Column, Connection, Executable, Table
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.types import TypeEngine

from copydesk.store.parts import in_parts

DIALECT: Final = dialect(paramstyle="named")


def text_of(statement: Executable) -> str:
    """A statement as SQLite takes it; its parameters go by their names."""
    return str(statement.compile(dialect=DIALECT))  # type: ignore[attr-defined]


def runner(conn: Connection) -> Callable[..., sqlite3.Cursor]:
    """What runs a statement on the connection's own driver and within its transaction; values as they are kept."""
    return driver_of(conn).execute


def run(conn: Connection, statement: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> sqlite3.Cursor:
    """Run one statement so."""
    return driver_of(conn).execute(statement, values)


def run_many(conn: Connection, statement: str, rows: Iterable[Sequence[Any]]) -> int:
    """Run one statement so for each of `rows`; how many rows of the database they changed."""
    return driver_of(conn).executemany(statement, rows).rowcount


def places(values: Collection[object]) -> str:
    """The places of `values` in a statement that lists them: `?, ?, ?`."""
    return ", ".join("?" * len(values))


def driver_of(conn: Connection) -> sqlite3.Connection:
    """SQLite's own connection below SQLAlchemy's."""
    driver: sqlite3.Connection | None = conn.connection.driver_connection
    assert driver is not None
    return driver


class Columns:
    """Some columns: their names as a query lists them, and their values on the way in and out."""

    def __init__(self, columns: Iterable[Column[Any]]) -> None:
        self._columns = tuple(columns)
        self.names = tuple(column.name for column in self._columns)
        self.text = ", ".join(f"{column.table.name}.{column.name}" for column in self._columns)
        self.places = ", ".join(f"{name} = ?" for name in self.names)
        """What an update sets."""

    @cached_property
    def _keeping(self) -> list[tuple[int, Callable[[Any], Any]]]:
        """What makes of a value the one that is kept, by its place, where they are not the same."""
        made = [(place, kind.bind_processor(DIALECT)) for place, kind in self._kinds()]
        return [(place, keep) for place, keep in made if keep is not None]

    @cached_property
    def _reading(self) -> list[tuple[int, Callable[[Any], Any]]]:
        """The same for the way back."""
        made = [(place, kind.result_processor(DIALECT, None)) for place, kind in self._kinds()]
        return [(place, read) for place, read in made if read is not None]

    def _kinds(self) -> Iterator[tuple[int, TypeEngine[Any]]]:
        return enumerate(column.type.dialect_impl(DIALECT) for column in self._columns)

    def keep(self, row: list[Any]) -> list[Any]:
        """`row`, which begins with values of these columns, changed into what is kept of them."""
        for place, keep in self._keeping:
            row[place] = keep(row[place])
        return row

    def read(self, rows: Iterable[Sequence[Any]]) -> Iterator[list[Any]]:
        """The values of rows that begin with these columns."""
        for kept in rows:
            row = list(kept)
            for place, read in self._reading:
                row[place] = read(row[place])
            yield row


class Rows:
    """Inserts rows of the named columns, many with one statement.

    While SQLite carries out a statement it leaves the interpreter to the other threads; with a statement for each row
    the thread asks for it anew at every one, and waits its turn.
    """

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        self._columns = Columns(table.c[name] for name in names)
        self._head = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES "  # noqa: S608 - names of our own
        self._row = f"({places(names)})"

    def add(self, conn: Connection, rows: Sequence[list[Any]]) -> None:
        """Insert `rows`, whose values are in the order of the names; they are changed into what is kept of them."""
        for some in in_parts(rows):
            values = [value for row in some for value in self._columns.keep(row)]
            run(conn, self._head + ", ".join([self._row] * len(some)), values)
