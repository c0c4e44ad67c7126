"""Brings a database to the tables of this version: makes them, upgrades them, or refuses.

Alembic is imported only for an upgrade: it takes longer to import than the rest of a start.
"""

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from copydesk.errors import StoreDamagedError, StoreError, StoreNewerError
from copydesk.model.wire import Struct
from copydesk.store.backup import back_up
from copydesk.store.engine import Engines
from copydesk.store.faults import fault_of, translated
from copydesk.store.tables import metadata
from copydesk.store.triggers import DRAFT_WORDS, create_triggers

REVISIONS: Final = ("0001",)
"""Every revision that this version can read, oldest first."""
HEAD: Final = REVISIONS[-1]

_VERSION_TABLE = """CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)"""


class Prepared(Struct, frozen=True):
    """What was done to make the database usable."""

    created: bool = False
    migrated_from: str | None = None
    """The revision that it had, if it was upgraded."""
    backup: Path | None = None
    """The copy made before the upgrade."""


async def prepare(path: Path, engines: Engines, now: datetime) -> Prepared:
    """Makes the tables of the database at `path` if it is new, or upgrades it, after copying it, if it is older.

    Several processes may do this at the same time; one does the work, the others wait. Nothing is changed on an
    error: StoreNewerError for a database of a newer version, StoreDamagedError for a file that is no database or
    not one of ours, StoreError for an upgrade that failed, which names the copy.
    """
    found = await _revision(path)
    if found is None:
        if await engines.write(_create_tables):
            return Prepared(created=True)
        # Another process was first, and may be an older version.
        found = await _revision(path)
    return Prepared() if found == HEAD else await _upgrade(path, engines, now)


async def _revision(path: Path) -> str | None:
    with translated(path):
        return await asyncio.to_thread(revision_of, path)


def revision_of(path: Path) -> str | None:
    """The revision of the database at `path`, None for an empty one; the file is not touched.

    Raises as `prepare` does, and sqlite3.Error.
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            return None
        row = None
        if "alembic_version" in tables:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    if row is None:
        raise StoreDamagedError(f"{path} is a database, but not one of Copydesk's.", hint="Move it away.")
    if row[0] not in REVISIONS:
        raise StoreNewerError(
            f"A newer version of Copydesk wrote {path} (revision {row[0]}); it was left untouched.",
            hint="Install that version, or move the file away to start anew.",
        )
    return str(row[0])


def _create_tables(connection: Connection) -> bool:
    """Whether it was us who made them."""
    tables = "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
    if connection.exec_driver_sql(tables).scalar_one():
        return False
    metadata.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(DRAFT_WORDS)
    create_triggers(connection)
    connection.exec_driver_sql(_VERSION_TABLE)
    connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (HEAD,))
    return True


async def _upgrade(path: Path, engines: Engines, now: datetime) -> Prepared:
    def work(connection: Connection) -> Prepared:
        # The write lock is ours now: another process may have upgraded while we waited for it.
        found = revision_of(path)
        if found is None or found == HEAD:
            return Prepared()
        backup = back_up(path, found, now)
        try:
            _run_migrations(connection)
        except Exception as error:
            raise _failed(path, found, backup, error) from error
        return Prepared(migrated_from=found, backup=backup)

    return await engines.upgrade(work)


def _run_migrations(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - see above
    from alembic.config import Config  # noqa: PLC0415

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_scripts()).replace("%", "%%"))
    before = _orphans(connection)
    command.upgrade(config, HEAD)
    lost = _orphans(connection) - before
    if lost:
        raise StoreError(f"rows of {', '.join(sorted(lost))} point at nothing")


def _scripts() -> Path:
    return Path(__file__).with_name("migrations")


def _orphans(connection: Connection) -> Counter[str]:
    """By table, the rows that point at a row that is not there."""
    return Counter(table for table, *_ in connection.exec_driver_sql("PRAGMA foreign_key_check"))


def _failed(path: Path, found: str, backup: Path, error: Exception) -> StoreError:
    kind = type(fault_of(path, error) or StoreError())
    return kind(
        f"{path} could not be brought from revision {found} to {HEAD}: {error}. Nothing was changed.",
        hint=f"A copy of it is {backup}.",
    )
