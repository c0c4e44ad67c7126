"""A database at start: made, left alone, or refused."""

import asyncio
import json
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

from copydesk.errors import StoreDamagedError, StoreNewerError
from copydesk.store import migrate, tables
from copydesk.store.engine import Engines, open_engines
from copydesk.store.migrate import HEAD, REVISIONS, Prepared, prepare
from copydesk.store.triggers import TRIGGERS
from store_fixtures import NOW, add_user, files, open_store, user_names


def execute(path: Path, statement: str) -> list[tuple[object, ...]]:
    """Runs one statement on the database as somebody with a shell would."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement).fetchall()


def make_newer(connection: Connection) -> None:
    """A newer version was here."""
    connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")


def schema(path: Path) -> dict[str, str]:
    """By name, how everything in the database is made; white space does not count."""
    return {str(name): " ".join(str(sql).split()) for name, sql in execute(path, "SELECT name, sql FROM sqlite_master")}


async def migrated(folder: Path) -> Engines:
    """A store that was made by the migrations, one after the other."""
    engines = open_engines(folder / "migrated.db")
    await engines.upgrade(migrate._run_migrations)
    return engines


async def test_a_new_database_is_made_once(tmp_path: Path) -> None:
    engines = open_engines(tmp_path / "desk.db")

    assert await prepare(engines.path, engines, NOW) == Prepared(created=True)
    assert await prepare(engines.path, engines, NOW) == Prepared()

    assert migrate.revision_of(engines.path) == HEAD
    await engines.close()
    assert files(tmp_path) == ["desk.db"]


async def test_a_new_database_is_exactly_what_the_migrations_make(tmp_path: Path) -> None:
    # It is made from the tables, which is faster; the two must not drift apart.
    made, upgraded = await open_store(tmp_path), await migrated(tmp_path)

    assert schema(made.path) == schema(upgraded.path)
    assert execute(made.path, "SELECT * FROM alembic_version") == execute(
        upgraded.path, "SELECT * FROM alembic_version"
    )
    await made.close()
    await upgraded.close()


async def test_the_migrations_make_the_tables_of_this_version(tmp_path: Path) -> None:
    engines = await migrated(tmp_path)
    await engines.close()

    engine = create_engine(f"sqlite:///{engines.path}")
    with engine.connect() as connection:
        options = {"include_name": lambda name, kind, _: kind != "table" or not name.startswith("draft_words")}
        found = compare_metadata(MigrationContext.configure(connection, opts=options), tables.metadata)
    engine.dispose()
    assert found == []


async def test_every_trigger_is_there(store: Engines) -> None:
    rows = execute(store.path, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")

    assert dict(rows) == TRIGGERS


def test_the_known_revisions_are_those_of_the_files() -> None:
    script = ScriptDirectory(str(migrate._scripts()))

    assert [found.revision for found in reversed(list(script.walk_revisions()))] == list(REVISIONS)


async def test_processes_that_start_together_make_it_once(tmp_path: Path) -> None:
    stores = [open_engines(tmp_path / "desk.db") for _ in range(5)]

    done = await asyncio.gather(*(prepare(each.path, each, NOW) for each in stores))

    assert sorted(each.created for each in done) == [False, False, False, False, True]
    for each in stores:
        await each.close()


async def test_a_start_that_was_killed_before_the_tables_were_there_is_started_anew(tmp_path: Path) -> None:
    engines = open_engines(tmp_path / "desk.db")
    await engines.write(lambda connection: None)

    assert (await prepare(engines.path, engines, NOW)).created
    await engines.close()


async def test_a_database_of_a_newer_version_is_refused_and_not_touched(tmp_path: Path) -> None:
    await (await open_store(tmp_path)).close()
    path = tmp_path / "desk.db"
    execute(path, "UPDATE alembic_version SET version_num = '9999'")
    before = path.read_bytes()

    engines = open_engines(path)
    with pytest.raises(StoreNewerError, match=r"newer version .* wrote .*desk\.db \(revision 9999\)"):
        await prepare(path, engines, NOW)
    await engines.close()

    assert path.read_bytes() == before
    assert not [name for name in files(tmp_path) if "bak" in name]


async def test_a_newer_database_in_use_keeps_what_is_still_in_its_log(tmp_path: Path) -> None:
    newer = await open_store(tmp_path)
    await newer.write(make_newer)
    log = newer.path.with_name("desk.db-wal")
    before = newer.path.read_bytes(), log.read_bytes()

    engines = open_engines(newer.path)
    with pytest.raises(StoreNewerError):
        await prepare(newer.path, engines, NOW)
    await engines.close()

    assert (newer.path.read_bytes(), log.read_bytes()) == before
    await newer.close()


async def test_a_newer_database_that_was_not_closed_keeps_its_log(tmp_path: Path) -> None:
    # Whoever opens such a file to write, even without writing, moves the log into it when closing.
    newer = await open_store(tmp_path / "running")
    await newer.write(make_newer)
    shutil.copytree(tmp_path / "running", tmp_path / "killed", ignore=shutil.ignore_patterns("*-shm"))
    await newer.close()
    path = tmp_path / "killed" / "desk.db"
    before = path.read_bytes()

    engines = open_engines(path)
    with pytest.raises(StoreNewerError):
        await prepare(path, engines, NOW)
    await engines.close()

    assert path.read_bytes() == before
    assert "desk.db-wal" in files(path.parent)


async def test_a_file_that_is_no_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    path.write_text("Dear diary, " * 1000)
    engines = open_engines(path)

    with pytest.raises(StoreDamagedError, match=r"desk\.db cannot be read as a database"):
        await prepare(path, engines, NOW)

    await engines.close()
    assert path.read_text() == "Dear diary, " * 1000


@pytest.mark.parametrize("statement", ["CREATE TABLE recipe (name)", "CREATE TABLE alembic_version (version_num)"])
async def test_a_database_of_another_program_is_refused_and_not_touched(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "desk.db"
    execute(path, statement)
    before = path.read_bytes()
    engines = open_engines(path)

    with pytest.raises(StoreDamagedError, match="not one of Copydesk's"):
        await prepare(path, engines, NOW)

    await engines.close()
    assert path.read_bytes() == before


STARTS = """
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


@pytest.mark.parametrize("ending", ["close", "forget"])
def test_a_start_imports_no_alembic_and_the_process_ends(tmp_path: Path, ending: str) -> None:
    # A connection's thread that nobody ends would keep the process from ending.
    done = subprocess.run(
        [sys.executable, "-c", STARTS, str(tmp_path), str(Path(__file__).parents[1]), ending],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == []


async def test_what_was_written_is_there_at_the_next_start(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    await store.write(add_user, "Ada")
    await store.close()

    store = await open_store(tmp_path)
    assert await store.read(user_names) == ["Ada"]
    await store.close()
