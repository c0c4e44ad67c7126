"""A store in a file of its own, and functions that insert rows."""

import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Connection, create_engine, event, insert, select

from copydesk.store import tables
from copydesk.store.database import Database, open_database
from copydesk.store.ids import new_id
from copydesk.store.migrate import _create_tables, prepare_database

if TYPE_CHECKING:
    from postgresql_server import PostgresqlServer

NOW = datetime(2026, 2, 11, 9, 30, 0, 123456, tzinfo=UTC)


async def open_store(folder: Path, *, busy_timeout: float = 5.0) -> Database:
    """Open the store in `folder` with its tables. The caller closes it."""
    if (server := postgresql_server()) is not None:
        return await _open_postgresql(server.url(folder), busy_timeout)
    engines = open_database(folder / "desk.db", busy_timeout=busy_timeout)
    await prepare_database(engines.path, engines, NOW)
    return engines


async def _open_postgresql(url: str, busy_timeout: float) -> Database:
    from copydesk.store.postgresql.database import open_postgresql

    database = open_postgresql(url, busy_timeout=busy_timeout)
    await database.prepare()
    # With the same methods, as far as tests that run on both use them.
    return cast("Database", database)


def postgresql_server() -> "PostgresqlServer | None":
    """Return the server if the tests run on PostgreSQL."""
    # Not imported otherwise: its driver is installed with the servers.
    module = sys.modules.get("postgresql_server")
    return module.server if module is not None else None


@contextmanager
def connect_in_memory(folder: Path) -> Iterator[Connection]:
    """Yield a connection to a database with all tables: in memory, or that of `folder` on the server of the tests."""
    if (server := postgresql_server()) is not None:
        from copydesk.store.postgresql.database import create_engine_for

        engine = create_engine_for(lambda: cast("Any", server.connect(folder)))
    else:
        engine = create_engine("sqlite://", isolation_level="AUTOCOMMIT")
        event.listen(engine, "connect", lambda driver, _: driver.execute("PRAGMA foreign_keys = ON"))
    with engine.connect() as connection:
        if server is None:
            _create_tables(connection)
        yield connection
    engine.dispose()


def database_variables(home: Path) -> dict[str, str]:
    """Return the environment variables that name the database of the desk in `home`; none for the file in it."""
    server = postgresql_server()
    return {} if server is None else {"COPYDESK_DATABASE__URL": server.url(home)}


def connect_to(home: Path) -> sqlite3.Connection:
    """Return a connection to the database of the desk in `home`, outside the pool."""
    if (server := postgresql_server()) is not None:
        # With the methods of sqlite3's that the store and the tests use.
        return cast("sqlite3.Connection", server.connect(home))
    return sqlite3.connect(home / "copydesk.db")


def copy_desk(home: Path, target: Path) -> Path:
    """Copy a desk that is closed, with its database, to `target`; return that."""
    if (server := postgresql_server()) is not None:
        server.copy(home, target)
    return shutil.copytree(home, target)


def remove_desk(home: Path) -> None:
    """Remove a desk that is closed, with its database."""
    if (server := postgresql_server()) is not None:
        server.empty_databases(home)
    shutil.rmtree(home)


def list_files(folder: Path) -> list[str]:
    """Return the sorted names of the entries of `folder`."""
    return sorted(file.name for file in folder.iterdir())


def add_user(connection: Connection, name: str = "Ada") -> str:
    """Insert a user; return its id."""
    user = new_id(NOW)
    connection.execute(insert(tables.user).values(id=user, name=name, time_zone="UTC", created_at=NOW))
    return user


def user_names(connection: Connection) -> list[str]:
    """Return the names of the users, oldest first."""
    return list(connection.execute(select(tables.user.c.name).order_by(tables.user.c.id)).scalars())


def add_source(connection: Connection, user: str, **values: Any) -> str:
    """Insert a source; return its id."""
    row = {"id": new_id(NOW), "user_id": user, "type": "rss", "name": "Blog", "created_at": NOW, "updated_at": NOW}
    connection.execute(insert(tables.source).values(row | values))
    return str(row["id"])


def add_item(connection: Connection, user: str, source: str | None, **values: Any) -> str:
    """Insert an item; return its id."""
    item = new_id(NOW)
    row = {
        "id": item,
        "user_id": user,
        "source_id": source,
        "state": "new",
        "story_id": item,
        "published": NOW,
        "seen": NOW,
        "ident": item,
        "alias": item,
        "title": "A title",
    }
    connection.execute(insert(tables.item).values(row | values))
    return item


def add_draft(connection: Connection, user: str, item: str, **values: Any) -> str:
    """Insert a draft; return its id. Columns that older schemas lack are left out if they are given as None."""
    row = {
        "id": new_id(NOW),
        "user_id": user,
        "item_id": item,
        "story_id": item,
        "format": "SHORT",
        "status": "pending_review",
        "origin": "pipeline",
        "confidence": 0.5,
        "confidence_known": True,
        "text": "Words.",
        "created_at": NOW,
        "updated_at": NOW,
    }
    experiment_id, variant_id = values.pop("experiment_id", None), values.pop("variant_id", None)
    row |= values
    if row["confidence_known"] is None:
        del row["confidence_known"]
    connection.execute(insert(tables.draft).values(row))
    if experiment_id is not None:
        variant = {"draft_id": row["id"], "experiment_id": experiment_id, "variant_id": variant_id}
        connection.execute(insert(tables.draft_variant).values(user_id=user, **variant))
    return str(row["id"])


def run_ambiguous_query(connection: Connection) -> None:
    """Insert rows and run a query with several usable indexes, so that SQLite's optimizer asks for statistics."""
    user = add_user(connection)
    for _ in range(50):
        add_item(connection, user, None)
    query = "SELECT id FROM item WHERE user_id = 'x' AND state = 'new' AND published > 5 AND story_id = 'z'"
    connection.exec_driver_sql(query)


def has_statistics(path: Path) -> bool:
    """Return whether the database has index statistics."""
    with closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'").fetchone())
