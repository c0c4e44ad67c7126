"""Tests for opening a database: created, left alone, or refused."""

import asyncio
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine

from copydesk.errors import StoreCorruptError, StoreTooNewError
from copydesk.store import migrate, tables
from copydesk.store.database import Database, open_database
from copydesk.store.migrate import HEAD_REVISION, REVISIONS, PreparedDatabase, prepare_database
from copydesk.store.triggers import TRIGGERS
from store_fixtures import NOW, add_user, list_files, open_store, user_names


def execute(path: Path, statement: str) -> list[tuple[object, ...]]:
    """Run one statement on the database from outside, as with the sqlite3 shell."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement).fetchall()


def mark_as_newer(connection: Connection) -> None:
    """Mark the database as written by a newer version."""
    connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")


def read_schema(path: Path) -> dict[str, str]:
    """Return the SQL of each schema object by name, normalized.

    A rebuilt table has its name in quotes and its constraints in another order; both mean the same.
    """
    return {str(name): normalize_sql(str(sql)) for name, sql in execute(path, "SELECT name, sql FROM sqlite_master")}


def normalize_sql(sql: str) -> str:
    sql = re.sub(r'^CREATE TABLE "(\w+)"', r"CREATE TABLE \1", " ".join(sql.split()))
    columns, *constraints = sql.removesuffix(" )").split(", CONSTRAINT ")
    return ", CONSTRAINT ".join([columns, *sorted(constraints)])


async def open_migrated(folder: Path) -> Database:
    """Return a store created by running all migrations in order."""
    engines = open_database(folder / "migrated.db")
    await engines.upgrade(migrate._run_migrations)
    return engines


async def test_new_database_is_created_once(tmp_path: Path) -> None:
    engines = open_database(tmp_path / "desk.db")

    assert await prepare_database(engines.path, engines, NOW) == PreparedDatabase(created=True)
    assert await prepare_database(engines.path, engines, NOW) == PreparedDatabase()

    assert migrate.read_revision(engines.path) == HEAD_REVISION
    await engines.close()
    assert list_files(tmp_path) == ["desk.db"]


async def test_created_schema_equals_migrated_schema(tmp_path: Path) -> None:
    # A new database is created from the tables, which is faster than migrating; the two must not diverge.
    created, upgraded = await open_store(tmp_path), await open_migrated(tmp_path)

    assert read_schema(created.path) == read_schema(upgraded.path)
    assert execute(created.path, "SELECT * FROM alembic_version") == execute(
        upgraded.path, "SELECT * FROM alembic_version"
    )
    await created.close()
    await upgraded.close()


async def test_migrations_match_table_metadata(tmp_path: Path) -> None:
    engines = await open_migrated(tmp_path)
    await engines.close()

    engine = create_engine(f"sqlite:///{engines.path}")
    with engine.connect() as connection:
        options = {"include_name": lambda name, kind, _: kind != "table" or not name.startswith("draft_words")}
        differences = compare_metadata(MigrationContext.configure(connection, opts=options), tables.metadata)
    engine.dispose()
    assert differences == []


async def test_all_triggers_exist(store: Database) -> None:
    rows = execute(store.path, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")

    assert dict(rows) == TRIGGERS


def test_revisions_match_migration_files() -> None:
    script = ScriptDirectory(str(migrate._scripts()))

    assert [revision.revision for revision in reversed(list(script.walk_revisions()))] == list(REVISIONS)


async def test_concurrent_starts_create_database_once(tmp_path: Path) -> None:
    stores = [open_database(tmp_path / "desk.db") for _ in range(5)]

    results = await asyncio.gather(*(prepare_database(engines.path, engines, NOW) for engines in stores))

    assert sorted(engines.created for engines in results) == [False, False, False, False, True]
    for engines in stores:
        await engines.close()


async def test_start_killed_before_tables_is_repeated(tmp_path: Path) -> None:
    engines = open_database(tmp_path / "desk.db")
    await engines.write(lambda connection: None)

    assert (await prepare_database(engines.path, engines, NOW)).created
    await engines.close()


async def test_newer_database_is_refused_untouched(tmp_path: Path) -> None:
    await (await open_store(tmp_path)).close()
    path = tmp_path / "desk.db"
    execute(path, "UPDATE alembic_version SET version_num = '9999'")
    before = path.read_bytes()

    engines = open_database(path)
    with pytest.raises(StoreTooNewError, match=r"newer version .* created .*desk\.db \(revision 9999\)"):
        await prepare_database(path, engines, NOW)
    await engines.close()

    assert path.read_bytes() == before
    assert not [name for name in list_files(tmp_path) if "bak" in name]


async def test_newer_open_database_keeps_its_wal(tmp_path: Path) -> None:
    newer = await open_store(tmp_path)
    await newer.write(mark_as_newer)
    log = newer.path.with_name("desk.db-wal")
    before = newer.path.read_bytes(), log.read_bytes()

    engines = open_database(newer.path)
    with pytest.raises(StoreTooNewError):
        await prepare_database(newer.path, engines, NOW)
    await engines.close()

    assert (newer.path.read_bytes(), log.read_bytes()) == before
    await newer.close()


async def test_newer_unclosed_database_keeps_its_wal(tmp_path: Path) -> None:
    # Closing a connection that was opened for writing checkpoints the WAL into the file, even if nothing was written.
    newer = await open_store(tmp_path / "running")
    await newer.write(mark_as_newer)
    shutil.copytree(tmp_path / "running", tmp_path / "killed", ignore=shutil.ignore_patterns("*-shm"))
    await newer.close()
    path = tmp_path / "killed" / "desk.db"
    before = path.read_bytes()

    engines = open_database(path)
    with pytest.raises(StoreTooNewError):
        await prepare_database(path, engines, NOW)
    await engines.close()

    assert path.read_bytes() == before
    assert "desk.db-wal" in list_files(path.parent)


async def test_non_database_file_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    path.write_text("Dear diary, " * 1000)
    engines = open_database(path)

    with pytest.raises(StoreCorruptError, match=r"desk\.db is not a readable database"):
        await prepare_database(path, engines, NOW)

    await engines.close()
    assert path.read_text() == "Dear diary, " * 1000


@pytest.mark.parametrize("statement", ["CREATE TABLE recipe (name)", "CREATE TABLE alembic_version (version_num)"])
async def test_foreign_database_is_refused_untouched(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "desk.db"
    execute(path, statement)
    before = path.read_bytes()
    engines = open_database(path)

    with pytest.raises(StoreCorruptError, match="a database of another program"):
        await prepare_database(path, engines, NOW)

    await engines.close()
    assert path.read_bytes() == before


START_PROGRAM = """
import asyncio, json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from store_fixtures import add_user, open_store

async def main():
    for _ in range(2):
        store = await open_store(Path(sys.argv[1]))
        await store.write(add_user)
        await store.read(lambda connection: connection.exec_driver_sql("SELECT 1").scalar_one())
        if "close" in sys.argv:
            await store.close()

asyncio.run(main())
heavy = ("alembic", "mako", "feedparser", "httpx", "sqlalchemy.dialects.postgresql")
print(json.dumps([name for name in heavy if name in sys.modules]))
"""


@pytest.mark.parametrize("close_mode", ["close", "forget"])
def test_start_imports_no_alembic_and_process_exits(tmp_path: Path, close_mode: str) -> None:
    # A connection thread that is never stopped would keep the process from exiting.
    process = subprocess.run(
        [sys.executable, "-c", START_PROGRAM, str(tmp_path), str(Path(__file__).parents[1] / "support"), close_mode],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (process.returncode, process.stderr) == (0, "")
    assert json.loads(process.stdout) == []


async def test_data_persists_across_starts(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    await store.write(add_user, "Ada")
    await store.close()

    store = await open_store(tmp_path)
    assert await store.read(user_names) == ["Ada"]
    await store.close()
