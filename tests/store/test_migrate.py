"""Tests for opening a database: created, left alone, or refused."""

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine

from copydesk.errors import StoreCorruptError, StoreSchemaError, StoreTooNewError
from copydesk.store import migrate, tables, triggers
from copydesk.store.backup import Interrupter, check_database, create_backup
from copydesk.store.database import Database, open_database
from copydesk.store.database_file import (
    FINGERPRINTS,
    HEAD_REVISION,
    REVISIONS,
    automatic_backup_path,
    manual_backup_path,
    normalize_sql,
    read_fingerprint,
    read_revision,
)
from copydesk.store.migrate import PreparedDatabase, prepare_database
from copydesk.store.triggers import TRIGGERS
from desk_fixtures import integrity_errors, list_drafts
from populated_desk import open_populated_desk
from released_schemas import unpack
from store_fixtures import NOW, add_user, list_files, open_store, user_names

pytestmark = pytest.mark.sqlite("the file and its revisions")

PATHS = (manual_backup_path, automatic_backup_path)


def execute(path: Path, statement: str) -> list[tuple[object, ...]]:
    """Run one statement on the database from outside, as with the sqlite3 shell."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement).fetchall()


def mark_as_newer(connection: Connection) -> None:
    """Mark the database as written by a newer version."""
    connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")


def read_schema(path: Path) -> dict[str, str]:
    """Return the SQL of each schema object by name, without what a rebuild of the table changes."""
    rows = execute(path, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'sqlite_stat1'")
    return {str(name): normalize_sql(str(sql)) for name, sql in rows}


def without_triggers(schema: dict[str, str]) -> dict[str, str]:
    """Return the tables and indexes. Migrations create the triggers of the current revision."""
    return {name: sql for name, sql in schema.items() if not sql.startswith("CREATETRIGGER")}


async def open_migrated(folder: Path) -> Database:
    """Return a store created by running all migrations in order."""
    engines = open_database(folder / "migrated.db")
    await engines.upgrade(migrate._run_migrations)
    return engines


async def migrate_to(revision: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a database of an older revision by running the migrations up to it."""
    engines = open_database(path)
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "HEAD_REVISION", revision)
        # Those of the current revision are on tables that it may not have.
        patch.setattr(triggers, "TRIGGERS", {})
        patch.setattr(migrate, "FINGERPRINTS", Anything())
        await engines.upgrade(migrate._run_migrations)
    await engines.close()


class Anything:
    """Equal to everything, as is each of its elements."""

    def __getitem__(self, _: object) -> "Anything":
        return self

    def __eq__(self, _: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment] # it equals everything


async def test_new_database_is_created_once(tmp_path: Path) -> None:
    engines = open_database(tmp_path / "desk.db")

    assert await prepare_database(engines.path, engines, NOW) == PreparedDatabase(created=True)
    assert await prepare_database(engines.path, engines, NOW) == PreparedDatabase()

    assert read_revision(engines.path) == HEAD_REVISION
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


# SQLAlchemy cannot read an index on an expression; the test before this one compares those.
@pytest.mark.filterwarnings("ignore:.*expression-based index")
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


async def test_fingerprint_is_that_of_the_tables(store: Database) -> None:
    with closing(sqlite3.connect(store.path)) as connection:
        assert {HEAD_REVISION: read_fingerprint(connection)} == {HEAD_REVISION: FINGERPRINTS[HEAD_REVISION]}


@pytest.mark.parametrize("revision", REVISIONS)
async def test_migrations_are_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: str) -> None:
    """If this fails, a migration was edited. Take the edit back, and write a new one with a fixture of its own:
    `python tests/support/released_schemas.py`.
    """
    await migrate_to(revision, tmp_path / "migrated.db", monkeypatch)

    migrated = read_schema(tmp_path / "migrated.db")
    released = read_schema(unpack(revision, tmp_path / "released.db"))
    assert without_triggers(migrated) == without_triggers(released)


@pytest.mark.parametrize("revision", REVISIONS)
async def test_every_released_database_opens(tmp_path: Path, revision: str) -> None:
    path = unpack(revision, tmp_path / "copydesk.db")
    before = check_database(path, Interrupter())
    assert before.revision == revision

    async with open_populated_desk(tmp_path) as desk:
        drafts = await list_drafts(desk)
        await desk.drafts.approve(next(draft.id for draft in drafts if draft.status == "pending_review"))
        await desk.drafts.undo()

    after = check_database(path, Interrupter())
    assert (after.revision, len(drafts)) == (HEAD_REVISION, before.drafts)
    assert (after.drafts, after.sources, after.posts) == (before.drafts, before.sources, before.posts) == (18, 1, 1)
    assert integrity_errors(tmp_path) == []


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE account",
        "ALTER TABLE draft ADD COLUMN mood TEXT",
        "DROP TRIGGER draft_counted",
        "CREATE TABLE recipe (name)",
    ],
)
async def test_development_database_is_refused_untouched(tmp_path: Path, revision: str, statement: str) -> None:
    path = unpack(revision, tmp_path / "desk.db")
    execute(path, statement)
    before = path.read_bytes()
    engines = open_database(path)

    with pytest.raises(
        StoreSchemaError, match=r"development version .* created .*desk\.db.* or move it away"
    ) as caught:
        await prepare_database(path, engines, NOW)

    await engines.close()
    assert path.read_bytes() == before
    assert "account" not in caught.value.message
    assert list_files(tmp_path) == ["desk.db"]


async def test_statistics_do_not_change_the_fingerprint(store: Database) -> None:
    execute(store.path, "ANALYZE")

    assert read_revision(store.path) == HEAD_REVISION


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


async def test_empty_file_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    path.touch()
    engines = open_database(path)

    with pytest.raises(StoreCorruptError, match=r"desk\.db is damaged: the file is empty\. There is no backup\."):
        await prepare_database(path, engines, NOW)

    await engines.close()
    assert path.stat().st_size == 0


async def test_damage_names_newest_backup(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    await store.close()
    backups = [backup_path(store.path, NOW + timedelta(days=day)) for backup_path in PATHS for day in (2, 1)]
    for backup in backups:
        create_backup(store.path, backup, Interrupter())
    store.path.write_bytes(b"")

    with pytest.raises(StoreCorruptError) as caught:
        read_revision(store.path)

    assert caught.value.hint == f"Restore the newest backup: copydesk restore {backups[0]}"


def test_new_file_is_private_and_never_empty(tmp_path: Path) -> None:
    open_database(tmp_path / "desk.db")

    assert list_files(tmp_path) == ["desk.db"]
    assert (tmp_path / "desk.db").stat().st_mode & 0o777 == 0o600
    assert execute(tmp_path / "desk.db", "PRAGMA integrity_check") == [("ok",)]
    assert read_revision(tmp_path / "desk.db") is None


def test_log_without_database_is_not_deleted(tmp_path: Path) -> None:
    # SQLite would delete it, or apply it to the new database.
    (tmp_path / "desk.db-wal").write_bytes(b"the only copy of the newest changes")

    with pytest.raises(StoreCorruptError, match=r"desk\.db is missing, but its log desk\.db-wal is there"):
        open_database(tmp_path / "desk.db")

    assert list_files(tmp_path) == ["desk.db-wal"]


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
