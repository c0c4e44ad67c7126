"""Statements as text and rows as tuples: for what runs a hundred times in a row SQLAlchemy's own part is the most."""

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlalchemy import Connection, Executable
from sqlalchemy.dialects.sqlite import dialect

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
