"""Statements as text and rows as tuples: for what runs a hundred times in a row SQLAlchemy's own part is the most."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from sqlalchemy import Connection, Executable, Table
from sqlalchemy.dialects.sqlite import dialect

from copydesk.store.parts import in_parts

DIALECT: Final = dialect(paramstyle="named")


def text_of(statement: Executable) -> str:
    """A statement as SQLite takes it; its parameters go by their names."""
    return str(statement.compile(dialect=DIALECT))  # type: ignore[attr-defined]


def runner(conn: Connection) -> Callable[..., sqlite3.Cursor]:
    """What runs a statement on the connection's own driver and within its transaction; values as they are kept."""
    driver: sqlite3.Connection | None = conn.connection.driver_connection
    assert driver is not None
    return driver.execute


def run(conn: Connection, statement: str, values: Mapping[str, Any]) -> sqlite3.Cursor:
    """Run one statement so."""
    return runner(conn)(statement, values)


class Rows:
    """Inserts rows of the named columns, many with one statement.

    While SQLite carries out a statement it leaves the interpreter to the other threads; with a statement for each row
    the thread asks for it anew at every one, and waits its turn.
    """

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        self._table = table
        self._names = names
        self._head = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES "  # noqa: S608 - names of our own
        self._row = f"({', '.join('?' * len(names))})"

    @cached_property
    def _kept(self) -> list[tuple[int, Callable[[Any], Any]]]:
        """What makes of a value the one that is kept, by its place, where they are not the same."""
        kinds = [self._table.c[name].type.dialect_impl(DIALECT) for name in self._names]
        made = [(place, kind.bind_processor(DIALECT)) for place, kind in enumerate(kinds)]
        return [(place, keep) for place, keep in made if keep is not None]

    def add(self, conn: Connection, rows: Sequence[list[Any]]) -> None:
        """Insert `rows`, whose values are in the order of the names; they are changed into what is kept of them."""
        for row in rows:
            for place, keep in self._kept:
                row[place] = keep(row[place])
        for some in in_parts(rows):
            values = [value for row in some for value in row]
            runner(conn)(self._head + ", ".join([self._row] * len(some)), values)
