"""Tests for upgrading an older database: backed up first, then upgraded completely or not at all."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Connection, select

from copydesk.errors import StoreBusyError, StoreError, StoreFullError
from copydesk.model.delivery import Account
from copydesk.store import backup, database_file, migrate, tables
from copydesk.store.backup import create_migration_backup
from copydesk.store.database import Database, open_database
from copydesk.store.database_file import list_migration_backups
from copydesk.store.migrate import PreparedDatabase, prepare_database
from copydesk.store.triggers import TRIGGERS
from released_schemas import unpack
from store_fixtures import NOW, add_draft, add_item, add_source, add_user, list_files, open_store

pytestmark = pytest.mark.sqlite("the file and its revisions")

SetNextVersion = Callable[[str], None]

CURRENT_REVISION = database_file.HEAD_REVISION
REVISION_HEADER = """
import sqlalchemy as sa
from alembic import op

revision = "next"
down_revision = "{before}"


def upgrade() -> None:
"""
RECREATE_TABLE = """
    with op.batch_alter_table("{table}", recreate="always") as batch:
        batch.add_column(sa.Column("note", sa.Text()))
"""
RECREATE_TABLES = (
    RECREATE_TABLE.format(table="user") + RECREATE_TABLE.format(table="source") + RECREATE_TABLE.format(table="item")
)
FAILING_UPGRADE = (
    RECREATE_TABLES
    + """
    op.create_table("left_behind", sa.Column("x", sa.Text()))
    op.execute("INSERT INTO left_behind VALUES ('x')")
    op.execute("UPDATE item SET title = 'changed'")
    raise RuntimeError("the migration is wrong")
"""
)
ORPHANING_UPGRADE = """
    op.execute("DELETE FROM source")
"""
DISK_FILLING_UPGRADE = """
    op.execute("PRAGMA max_page_count = 1")
    op.execute("CREATE TABLE big AS SELECT randomblob(5000000)")
"""


@pytest.fixture
def set_next_version(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> SetNextVersion:
    """Return a function that gives this process one more revision, whose `upgrade()` has the given lines."""

    def write(body: str) -> None:
        scripts = tmp_path_factory.mktemp("version") / "migrations"
        shutil.copytree(migrate._scripts(), scripts)
        (scripts / "versions" / "next.py").write_text(REVISION_HEADER.format(before=migrate.HEAD_REVISION) + body)
        monkeypatch.setattr(migrate, "_scripts", lambda: scripts)
        monkeypatch.setattr(migrate, "HEAD_REVISION", "next")
        # Whatever the lines make of the schema is the fingerprint of the new revision.
        monkeypatch.setitem(database_file.FINGERPRINTS, "next", "next")
        monkeypatch.setattr(database_file, "fingerprint", fingerprint_of_next)

    return write


def fingerprint_of_next(schema: dict[str, str]) -> str:
    """Return the real fingerprint of a known schema, and that of `next` for any other."""
    found = real_fingerprint(schema)
    return found if found in database_file.FINGERPRINTS.values() else "next"


real_fingerprint = database_file.fingerprint


def add_source_with_draft(connection: Connection) -> None:
    user = add_user(connection)
    source = add_source(connection, user)
    add_draft(connection, user, add_item(connection, user, source), source_id=source, confidence_known=None)


@pytest.fixture
async def old_database(tmp_path: Path) -> Path:
    """A database of this version with a source, an item and a draft."""
    store = await open_store(tmp_path)
    await store.write(add_source_with_draft)
    await store.close()
    return store.path


async def upgrade(path: Path, **options: float) -> PreparedDatabase:
    engines = open_database(path, **options)
    try:
        return await prepare_database(path, engines, NOW)
    finally:
        await engines.close()


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def fetch_value(path: Path, query: str) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchone()[0]


ROW_COUNTS = "SELECT (SELECT count(*) FROM source) || (SELECT count(*) FROM item) || (SELECT count(*) FROM draft)"


def read_triggers(path: Path) -> dict[str, str]:
    """Return the triggers of a database."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))


async def test_first_tables_are_upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = open_database(tmp_path / "desk.db")
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "HEAD_REVISION", "0001")
        for name in list(TRIGGERS):
            patch.delitem(TRIGGERS, name)
        for name, statement in read_triggers(unpack("0001", tmp_path / "released.db")).items():
            patch.setitem(TRIGGERS, name, statement)
        await old.upgrade(migrate._run_migrations)
    await old.write(add_source_with_draft)
    await old.close()

    assert (await upgrade(old.path)).migrated_from == "0001"

    assert fetch_value(old.path, ROW_COUNTS) == "111"
    # The registry of source types knows the values, so the database must not: a new one would need a migration.
    with closing(sqlite3.connect(old.path)) as connection:
        connection.execute("UPDATE source SET type = 'gopher'")
        with pytest.raises(sqlite3.IntegrityError, match="ck_source_health"):
            connection.execute("UPDATE source SET health = 'splendid'")


async def test_engagement_over_time_is_summed_from_older_posts(tmp_path: Path) -> None:
    old = unpack("0015", tmp_path / "desk.db")
    with closing(sqlite3.connect(old)) as connection, connection:
        (draft,) = connection.execute("SELECT id FROM draft WHERE status = 'posted'").fetchone()
        connection.execute("UPDATE engagement SET likes = 3, impressions = 60 WHERE draft_id = ?", (draft,))
    await upgrade(old)

    columns = "platform, posts, rated, likes, clicks, with_likes, with_clicks, rated_interactions, rated_impressions"
    with closing(sqlite3.connect(old)) as connection:
        (sent_at,) = connection.execute("SELECT sent_at FROM delivery WHERE draft_id = ?", (draft,)).fetchone()
        sums = connection.execute(f"SELECT quarter_hour, {columns} FROM engagement_quarter_hour").fetchall()
    assert sums == [(sent_at // 900_000_000, "fake", 1, 1, 3, 0, 1, 0, 3, 60)]


async def test_deliveries_get_the_identity_of_their_connected_account(tmp_path: Path) -> None:
    old = unpack("0023", tmp_path / "desk.db")
    with closing(sqlite3.connect(old)) as connection:
        (details,) = connection.execute("SELECT details FROM account").fetchone()
    await upgrade(old)

    identity = msgspec.json.decode(details, type=Account).identity
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("SELECT DISTINCT identity FROM delivery").fetchall() == [(identity,)]


async def test_identity_of_a_removed_account_is_unknown(tmp_path: Path) -> None:
    old = unpack("0023", tmp_path / "desk.db")
    with closing(sqlite3.connect(old)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DELETE FROM account")
    await upgrade(old)

    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("SELECT DISTINCT identity FROM delivery").fetchall() == [(None,)]


async def test_clock_warning_stands_after_upgrade(tmp_path: Path) -> None:
    old = unpack("0025", tmp_path / "desk.db")
    with closing(sqlite3.connect(old)) as connection, connection:
        connection.execute("UPDATE clock_check SET boot = 'b', doubt_since = 1, doubt_by = 3600")
        before = connection.execute("SELECT user_id, wall, steady, seen FROM clock_check").fetchall()
    await upgrade(old)

    query = "SELECT user_id, wall, steady, seen FROM clock_reading WHERE (boot, doubt_since, doubt_by) = ('b', 1, 3600)"
    with closing(sqlite3.connect(old)) as connection:
        assert len(before) == 1
        assert connection.execute(query).fetchall() == before


async def test_recreated_table_keeps_its_triggers(old_database: Path, set_next_version: SetNextVersion) -> None:
    # SQLite silently drops them with the old table, and the counts are wrong from then on.
    set_next_version(RECREATE_TABLES)

    await upgrade(old_database)

    assert read_triggers(old_database) == TRIGGERS
    with closing(sqlite3.connect(old_database)) as connection, connection:
        connection.execute("DELETE FROM item")
        assert connection.execute("SELECT item_count FROM source").fetchone() == (0,)


async def test_foreign_keys_are_enabled_after_upgrade(old_database: Path, set_next_version: SetNextVersion) -> None:
    set_next_version(RECREATE_TABLES)
    engines = open_database(old_database)
    await prepare_database(old_database, engines, NOW)

    def delete_sources(connection: Connection) -> object:
        enabled = connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one()
        connection.execute(tables.source.delete())
        return enabled

    assert await engines.write(delete_sources) == 1
    assert await engines.read(lambda connection: connection.execute(select(tables.draft.c.id)).all()) == []
    await engines.close()


async def test_upgrade_creates_backup_first(old_database: Path, set_next_version: SetNextVersion) -> None:
    before = dump(old_database)
    set_next_version(RECREATE_TABLES)

    prepared = await upgrade(old_database)

    assert prepared.backup == old_database.with_name(f"desk.db.bak-{CURRENT_REVISION}-20260211T093000.123456Z")
    assert prepared.backup.stat().st_mode & 0o777 == 0o600
    assert dump(prepared.backup) == before
    assert list_files(old_database.parent) == ["desk.db", prepared.backup.name]


async def test_backup_includes_wal_contents(old_database: Path, set_next_version: SetNextVersion) -> None:
    # A plain copy of the file would miss them.
    other = open_database(old_database)
    await other.write(add_user, "Grace")
    set_next_version(RECREATE_TABLES)

    prepared = await upgrade(old_database)

    assert prepared.backup
    assert fetch_value(prepared.backup, "SELECT count(*) FROM user WHERE name = 'Grace'") == 1
    await other.close()


async def test_failed_upgrade_changes_nothing_and_names_backup(
    old_database: Path, set_next_version: SetNextVersion
) -> None:
    # With the driver's own transactions the first new table would stay behind, and the next start would fail on it.
    before = dump(old_database)
    set_next_version(FAILING_UPGRADE)

    with pytest.raises(StoreError, match=r"the migration is wrong\. Nothing changed") as caught:
        await upgrade(old_database)

    copy = Path(list_migration_backups(old_database)[0].path)
    assert caught.value.hint == f"Backup: {copy}."
    assert dump(old_database) == before == dump(copy)


async def test_upgrade_leaving_orphans_is_rolled_back(old_database: Path, set_next_version: SetNextVersion) -> None:
    before = dump(old_database)
    set_next_version(ORPHANING_UPGRADE)

    with pytest.raises(StoreError, match="rows of item refer to missing rows"):
        await upgrade(old_database)

    assert dump(old_database) == before


async def test_orphans_from_before_do_not_block_upgrade(old_database: Path, set_next_version: SetNextVersion) -> None:
    # The sqlite3 shell has foreign keys off by default.
    with closing(sqlite3.connect(old_database)) as connection, connection:
        connection.execute("DELETE FROM user")
    set_next_version(RECREATE_TABLES)

    assert (await upgrade(old_database)).migrated_from == CURRENT_REVISION


async def test_disk_full_during_upgrade_is_reported(old_database: Path, set_next_version: SetNextVersion) -> None:
    before = dump(old_database)
    set_next_version(DISK_FILLING_UPGRADE)

    with pytest.raises(StoreFullError, match=f"Cannot migrate .* from revision {CURRENT_REVISION} to next"):
        await upgrade(old_database)

    assert dump(old_database) == before


async def test_failed_backup_prevents_upgrade(
    old_database: Path, set_next_version: SetNextVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(part: Path, target: Path, *, overwrite: bool) -> None:
        raise OSError(28, "No space left on device")

    before = dump(old_database)
    monkeypatch.setattr(backup, "publish", no_space)
    set_next_version(RECREATE_TABLES)

    with pytest.raises(StoreFullError, match=r"The disk is full; nothing changed"):
        await upgrade(old_database)

    assert dump(old_database) == before
    assert list_files(old_database.parent) == ["desk.db"]


async def test_concurrent_starts_upgrade_and_back_up_once(old_database: Path, set_next_version: SetNextVersion) -> None:
    set_next_version(RECREATE_TABLES)

    results = await asyncio.gather(*(upgrade(old_database) for _ in range(4)))

    assert sorted(prepared.migrated_from or "" for prepared in results) == ["", "", "", CURRENT_REVISION]
    assert len(list_migration_backups(old_database)) == 1


async def test_upgrade_times_out_on_locked_database(old_database: Path, set_next_version: SetNextVersion) -> None:
    set_next_version(RECREATE_TABLES)
    with closing(sqlite3.connect(old_database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError):
            await upgrade(old_database, busy_timeout=0.05)

    assert list_migration_backups(old_database) == []


async def test_second_start_upgrades_nothing(old_database: Path, set_next_version: SetNextVersion) -> None:
    set_next_version(RECREATE_TABLES)
    await upgrade(old_database)

    assert await upgrade(old_database) == PreparedDatabase()
    assert len(list_migration_backups(old_database)) == 1


async def test_three_newest_backups_remain(store: Database) -> None:
    created = [create_migration_backup(store.path, f"{9 - day:04}", NOW + timedelta(days=day)) for day in range(5)]
    stranger = store.path.with_name("desk.db.backup")
    stranger.write_text("mine")

    assert [Path(copy.path) for copy in list_migration_backups(store.path)] == created[2:]
    assert stranger.exists()


async def test_backup_remains_if_the_clock_was_ahead_before(store: Database) -> None:
    """It was deleted as the oldest one, before the upgrade that it is for."""
    for day in range(3):
        create_migration_backup(store.path, CURRENT_REVISION, NOW + timedelta(days=365 + day))
    assert create_migration_backup(store.path, CURRENT_REVISION, NOW).exists()
    assert len(list_migration_backups(store.path)) == 3


async def test_failed_backup_leaves_no_partial_file(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    path.write_text("no database " * 1000)

    with pytest.raises(sqlite3.DatabaseError):
        create_migration_backup(path, CURRENT_REVISION, NOW)

    assert list_files(tmp_path) == ["desk.db"]
