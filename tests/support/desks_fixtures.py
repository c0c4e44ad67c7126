"""The desks of several users in one database, for tests."""

import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import Column, Table, Text

from copydesk.desk import Desk, Desks, open_desks
from copydesk.desk.context import Clock
from copydesk.model.token import Scope
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.platform import Platform
from copydesk.store import tables
from copydesk.store.column_types import ID, Choice, JsonText
from copydesk.store.ids import new_id
from desk_fixtures import NOW, URL_ONE, FakeWeb, Watch, create_source, entry, feed, settings_at
from posting_fixtures import create_approved_draft
from store_fixtures import connect_to

OWNED_TABLES = [table for table in tables.metadata.sorted_tables if "user_id" in table.c]
"""The tables whose rows belong to a user."""
MODEL = {"name": "gpt", "model": "test-model", "baseUrl": "https://models.example/v1"}


@asynccontextmanager
async def open_desks_at(
    home: Path,
    web: httpx.AsyncBaseTransport | None = None,
    clock: Clock | None = None,
    platforms: Mapping[str, Platform] | None = None,
    **overrides: str,
) -> AsyncIterator[Desks]:
    """Open the desks in `home`. Their clock stands still at NOW unless another is given."""
    settings = settings_at(home, **overrides)
    async with open_desks(settings, clock=clock or Watch(), transport=web, platforms=platforms) as desks:
        yield desks


def open_working_desks(home: Path, server: FakeServer | None = None) -> AbstractAsyncContextManager[Desks]:
    """Open the desks in `home` with what `fill` needs: a source, a platform and a store for credentials."""
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2, hours=70)))
    platforms = {"fake": FakePlatform(server or FakeServer())}
    return open_desks_at(home, web, platforms=platforms, secrets__plain="true", secrets__keyring="false")


async def fill(desk: Desk, home: Path) -> None:
    """Make the desk that of somebody who uses it, with rows in every table."""
    await desk.webhooks.create({"url": "https://hooks.example/"})
    await desk.writers.add(MODEL)
    await create_source(desk)
    await desk.pipeline.run()
    await desk.accounts.connect("fake", {"name": desk.user.name})
    await desk.posting.post(await create_approved_draft(desk, tags=["sea"]))
    await desk.tokens.create("agent", Scope.PUBLISH)
    with closing(connect_to(home)) as connection, connection:
        for table in OWNED_TABLES:
            if not _count_rows(connection, table, desk.user.id):
                _insert_row(connection, table, desk.user.id)


def _count_rows(connection: sqlite3.Connection, table: Table, user_id: str) -> int:
    query = f"SELECT count(*) FROM {table.name} WHERE user_id = ?"
    count: int = connection.execute(query, (user_id,)).fetchone()[0]
    return count


def _insert_row(connection: sqlite3.Connection, table: Table, user_id: str) -> None:
    """Insert a row of the smallest values that the table allows."""
    columns = [
        column for column in table.c if not column.nullable and column.server_default is None and column.name != "rid"
    ]
    values = [user_id if column.name == "user_id" else _sample_value(connection, column, user_id) for column in columns]
    names, marks = ", ".join(column.name for column in columns), ", ".join("?" * len(columns))
    connection.execute(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", values)


def _sample_value(connection: sqlite3.Connection, column: Column[Any], user_id: str) -> object:
    for key in column.foreign_keys:
        query = f"SELECT id FROM {key.column.table.name} WHERE user_id = ? LIMIT 1"
        return connection.execute(query, (user_id,)).fetchone()[0]
    if isinstance(column.type, Choice):
        return next(iter(column.type.choices)).value
    if isinstance(column.type, JsonText):
        return "{}"
    if column.type is ID:
        return new_id(NOW)
    return "x" if type(column.type) is Text else 0


def rows_of(home: Path, user_id: str) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of a user by table."""
    with closing(connect_to(home)) as connection:
        return {
            table.name: sorted(
                connection.execute(f"SELECT * FROM {table.name} WHERE user_id = ?", (user_id,)), key=repr
            )
            for table in OWNED_TABLES
        }
