"""Open the database that the settings name: a SQLite file, or a database of a PostgreSQL server."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from copydesk.errors import StoreError
from copydesk.settings import Database, Settings
from copydesk.store.connection_pool import create_private_folder, shield_to_completion
from copydesk.store.database import open_database
from copydesk.store.database_file import lock_shared
from copydesk.store.migrate import prepare_database
from copydesk.version import install_hint

if TYPE_CHECKING:
    from copydesk.store.postgresql.copying import ServerSource, ServerTarget
    from copydesk.store.postgresql.database import AnyDatabase, PostgresDatabase


def open_prepared(settings: Settings, now: datetime) -> AbstractAsyncContextManager["AnyDatabase"]:
    """Open the database with the tables of this version, created or migrated if needed; close it on exit.

    Raise StoreError if it cannot be used.
    """
    return _open_server(settings) if settings.database.url else _open_file(settings, now)


@asynccontextmanager
async def _open_file(settings: Settings, now: datetime) -> AsyncIterator["AnyDatabase"]:
    database = open_database(settings.database_file, busy_timeout=settings.database.busy_timeout)
    # Before any connection: a restore must not exchange the file below one.
    lock = await lock_shared(database.path.parent, settings.database.busy_timeout)
    try:
        await prepare_database(settings.database_file, database, now)
        yield database
    finally:
        # Close even if this task is cancelled: an open SQLite connection keeps its thread and its WAL file.
        try:
            await shield_to_completion(database.close())
        finally:
            os.close(lock)


@asynccontextmanager
async def _open_server(settings: Settings) -> AsyncIterator["AnyDatabase"]:
    database = connect_to_server(settings)
    # The marks of posts and the images are there.
    create_private_folder(settings.data_home)
    try:
        await database.prepare()
        yield database
    finally:
        await shield_to_completion(database.close())


def connect_to_server(settings: Settings) -> "PostgresDatabase":
    """Return the PostgreSQL database; the caller closes it. Raise StoreError if the driver, an extra, is missing."""
    with _missing_driver_reported():
        from copydesk.store.postgresql.database import open_postgresql  # noqa: PLC0415 - an extra
    options = settings.database
    return open_postgresql(options.url, password=options.password, busy_timeout=options.busy_timeout)


def open_server_source(options: Database, *, exclusive: bool) -> AbstractContextManager["ServerSource"]:
    """Open a PostgreSQL database to copy its rows; see `open_server_source` in `postgresql.copying`."""
    with _missing_driver_reported():
        from copydesk.store.postgresql import copying  # noqa: PLC0415 - an extra
    return copying.open_server_source(options, exclusive=exclusive)


def open_server_target(options: Database) -> AbstractContextManager["ServerTarget"]:
    """Open a PostgreSQL database to copy rows to it; see `open_server_target` in `postgresql.copying`."""
    with _missing_driver_reported():
        from copydesk.store.postgresql import copying  # noqa: PLC0415 - an extra
    return copying.open_server_target(options)


def open_server_to_replace(options: Database) -> AbstractContextManager["tuple[ServerSource | None, ServerTarget]"]:
    """Open a PostgreSQL database to replace its desk; see `open_server_to_replace` in `postgresql.copying`."""
    with _missing_driver_reported():
        from copydesk.store.postgresql import copying  # noqa: PLC0415 - an extra
    return copying.open_server_to_replace(options)


@contextmanager
def _missing_driver_reported() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        # Also if psycopg is installed without the library that it needs.
        raise StoreError(
            "database.url names a PostgreSQL database, but its driver is not installed.",
            hint=install_hint("postgresql"),
        ) from error
