"""Bring a database to the current schema: create it, upgrade it after a backup, or refuse.

Alembic is imported only for an upgrade: the import takes longer than the rest of the start.
"""

import asyncio
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Index
from sqlalchemy.schema import CreateIndex, CreateTable

from copydesk.errors import StoreError
from copydesk.model.serialization import Struct
from copydesk.store.backup import create_migration_backup
from copydesk.store.database import Database, to_store_error, translate_errors
from copydesk.store.database_file import FINGERPRINTS, HEAD_REVISION, read_fingerprint, read_revision
from copydesk.store.raw_sql import DIALECT, dbapi_connection
from copydesk.store.tables import metadata
from copydesk.store.triggers import CREATE_FTS_INDEX, create_triggers

CREATE_VERSION_TABLE: Final = """CREATE TABLE alembic_version (
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
    Raise StoreTooNewError if a newer version wrote the database, StoreSchemaError if a development version did,
    StoreCorruptError if the file is not a database or not one of Copydesk's, StoreError if the upgrade failed; the
    message names the backup.
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


def _create_tables(connection: Connection) -> bool:
    """Create the schema unless another process already did. Return True if it was created here."""
    count_tables = "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
    if connection.exec_driver_sql(count_tables).scalar_one():
        return False
    for statement in [*table_statements(), *index_statements(), CREATE_FTS_INDEX]:
        connection.exec_driver_sql(statement)
    create_triggers(connection)
    connection.exec_driver_sql(CREATE_VERSION_TABLE)
    connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (HEAD_REVISION,))
    return True


def table_statements() -> list[str]:
    """Return the statements that create the tables."""
    return [str(CreateTable(table).compile(dialect=DIALECT)) for table in metadata.sorted_tables]


def index_statements() -> list[str]:
    """Return the statements that create the indexes.

    In the same order for each database: without statistics SQLite takes the last one of two indexes that can be used.
    Those that lead to all rows of a user come first, then those that lead to a few rows, and partial ones.
    """
    indexes = [index for table in metadata.sorted_tables for index in table.indexes]
    indexes.sort(key=_selectivity)
    return [str(CreateIndex(index).compile(dialect=DIALECT)) for index in indexes]


def _selectivity(index: Index) -> tuple[bool, bool, str]:
    is_partial = index.dialect_options["sqlite"]["where"] is not None
    return is_partial, index.columns[0].name != "user_id", str(index.name)


async def _upgrade(path: Path, database: Database, now: datetime) -> PreparedDatabase:
    def upgrade_if_needed(connection: Connection) -> PreparedDatabase:
        # Check again under the write lock: another process may have upgraded while this one waited.
        revision = read_revision(path)
        if revision is None or revision == HEAD_REVISION:
            return PreparedDatabase()
        backup = create_migration_backup(path, revision, now)
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
    # The next start would refuse it.
    if read_fingerprint(dbapi_connection(connection)) != FINGERPRINTS[HEAD_REVISION]:
        raise StoreError(f"the result is not the schema of revision {HEAD_REVISION}")


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
