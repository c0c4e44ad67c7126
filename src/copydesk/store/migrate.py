"""Bring a database to the current schema: create it, upgrade it after a backup, or refuse.

Alembic is imported only for an upgrade: the import takes longer than the rest of the start.
"""

import asyncio
import os
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from copydesk.errors import StoreCorruptError, StoreError, StoreTooNewError
from copydesk.model.serialization import Struct
from copydesk.store.database import Database, to_store_error, translate_errors
from copydesk.store.tables import metadata
from copydesk.store.triggers import CREATE_FTS_INDEX, create_triggers

MAX_BACKUPS: Final = 3


REVISIONS: Final = ("0001", "0002")
"""Every revision that this version can read, oldest first."""
HEAD_REVISION: Final = REVISIONS[-1]

_VERSION_TABLE = """CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)"""


class PreparedDatabase(Struct, frozen=True):
    """The result of preparing the database."""

    created: bool = False
    migrated_from: str | None = None
    """The revision it had, if it was upgraded."""
    backup: Path | None = None
    """The copy made before the upgrade."""


async def prepare_database(path: Path, database: Database, now: datetime) -> PreparedDatabase:
    """Create the tables of the database at `path` if it is new, or back it up and upgrade it if it is older.

    Several processes may do this at the same time; one does the work, the others wait. Nothing is changed on an error.
    Raise StoreTooNewError if a newer version wrote the database, StoreCorruptError if the file is not a database or not
    one of Copydesk's, StoreError if the upgrade failed; the message names the backup.
    """
    revision = await _revision(path)
    if revision is None:
        if await database.write(_create_tables):
            return PreparedDatabase(created=True)
        # Another process created the tables first, and may be an older version.
        revision = await _revision(path)
    return PreparedDatabase() if revision == HEAD_REVISION else await _upgrade(path, database, now)


async def _revision(path: Path) -> str | None:
    with translate_errors(path):
        return await asyncio.to_thread(read_revision, path)


def read_revision(path: Path) -> str | None:
    """Return the revision of the database at `path`, None if it is empty, without touching the file.

    Raise as `prepare_database` does, and sqlite3.Error.
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            return None
        row = None
        if "alembic_version" in tables:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    if row is None:
        raise StoreCorruptError(f"{path} is a database of another program.", hint="Move it away.")
    if row[0] not in REVISIONS:
        raise StoreTooNewError(
            f"A newer version of Copydesk created {path} (revision {row[0]}); nothing changed.",
            hint="Install that version, or move the file away to start over.",
        )
    return str(row[0])


def _create_tables(connection: Connection) -> bool:
    """Create the schema unless another process already did. Return True if it was created here."""
    count_tables = "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
    if connection.exec_driver_sql(count_tables).scalar_one():
        return False
    metadata.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(CREATE_FTS_INDEX)
    create_triggers(connection)
    connection.exec_driver_sql(_VERSION_TABLE)
    connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (HEAD_REVISION,))
    return True


async def _upgrade(path: Path, database: Database, now: datetime) -> PreparedDatabase:
    def upgrade_if_needed(connection: Connection) -> PreparedDatabase:
        # Check again under the write lock: another process may have upgraded while this one waited.
        revision = read_revision(path)
        if revision is None or revision == HEAD_REVISION:
            return PreparedDatabase()
        backup = create_backup(path, revision, now)
        try:
            _run_migrations(connection)
        except Exception as error:
            raise _upgrade_error(path, revision, backup, error) from error
        return PreparedDatabase(migrated_from=revision, backup=backup)

    return await database.upgrade(upgrade_if_needed)


def _run_migrations(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - see the module docstring
    from alembic.config import Config  # noqa: PLC0415

    config = Config(attributes={"connection": connection})
    # A percent sign starts an interpolation in alembic's configuration.
    config.set_main_option("script_location", str(_scripts()).replace("%", "%%"))
    # Foreign keys are off during an upgrade, so check that it orphans no row; older orphans are not its fault.
    orphans_before = _orphans(connection)
    command.upgrade(config, HEAD_REVISION)
    new_orphans = _orphans(connection) - orphans_before
    if new_orphans:
        raise StoreError(f"rows of {', '.join(sorted(new_orphans))} refer to missing rows")


def _scripts() -> Path:
    return Path(__file__).with_name("migrations")


def _orphans(connection: Connection) -> Counter[str]:
    """Return the number of rows with a dangling foreign key, by table."""
    return Counter(table for table, *_ in connection.exec_driver_sql("PRAGMA foreign_key_check"))


def _upgrade_error(path: Path, revision: str, backup: Path, error: Exception) -> StoreError:
    # Keeps a full disk or a damaged file distinguishable from a bug in the migration.
    error_type = type(to_store_error(path, error) or StoreError())
    return error_type(
        f"Cannot migrate {path} from revision {revision} to {HEAD_REVISION}: {error}. Nothing changed.",
        hint=f"Backup: {backup}.",
    )


def create_backup(path: Path, revision: str, now: datetime) -> Path:
    """Copy the database at `path` to a private file next to it and return its path. Keep the newest three copies.

    Uses SQLite's backup API, because the newest changes may still be in the write-ahead log, which a plain file copy
    would miss. On an error nothing of the copy is left. Raise sqlite3.Error, or StoreError if the folder cannot be
    written.
    """
    timestamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    copy = path.with_name(f"{path.name}.bak-{revision}-{timestamp}")
    partial = path.with_name(f"{copy.name}.part")
    try:
        _copy_database(path, partial)
        # Renamed only once complete: a crash leaves a .part file, never a truncated backup.
        partial.replace(copy)
        for outdated in list_backups(path)[:-MAX_BACKUPS]:
            outdated.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"Cannot back up {path}: {error.strerror}; nothing changed.",
            hint="Check the folder and the free disk space.",
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return copy


def list_backups(path: Path) -> list[Path]:
    """Return the copies of the database at `path`, oldest first."""
    found = [
        file for file in path.parent.iterdir() if file.name.startswith(f"{path.name}.bak-") and file.suffix != ".part"
    ]
    # By the timestamp at the end of the name, as copies of several revisions are mixed.
    return sorted(found, key=lambda file: file.name.rpartition("-")[2])


def _copy_database(path: Path, target: Path) -> None:
    # Created here rather than by SQLite, to set the mode before any data is in it.
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
    with (
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(target)) as copy,
    ):
        source.backup(copy)
