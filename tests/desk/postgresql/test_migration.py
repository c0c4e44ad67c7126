"""Tests for the copy of a desk from its file to a PostgreSQL database, and back."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Boolean, Column, Float, Integer, LargeBinary
from sqlalchemy.types import TypeEngine

from cli_runner import make_environment, run_command
from copydesk.desk import open_desk, restore_desk
from copydesk.desk.migration import migrate_desk
from copydesk.errors import ConflictError, CopydeskError, StoreBusyError, StoreError
from copydesk.model.backup import CopyProgress, CopyStage
from copydesk.settings import Settings, load
from copydesk.store import row_copy, tables
from copydesk.store.backup import Interrupter, check_database
from copydesk.store.column_types import Choice, JsonText, UtcDateTime
from copydesk.store.database_file import HEAD_REVISION
from copydesk.store.row_copy import COPIED_TABLES
from copydesk.store.triggers import TRIGGERS
from desk_fixtures import Watch, list_drafts, open_desk_at
from postgresql_server import PostgresqlServer, describe_schema
from released_schemas import unpack
from sampling import EXHAUSTIVE, sample_size
from store_fixtures import list_files, postgresql_server

KILLED = Path(__file__).parents[2] / "support" / "killed_migration.py"
DRAFTS = 18
"""Drafts in the database of the current revision."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of a desk in a file, with rows in most tables."""
    folder = tmp_path / "home"
    folder.mkdir()
    unpack(HEAD_REVISION, folder / "copydesk.db")
    return folder


@pytest.fixture
def url(tmp_path: Path, server: PostgresqlServer) -> str:
    """The URL of an empty database."""
    return server.url_without_tables(tmp_path / "server")


def file_settings(home: Path) -> Settings:
    return load({}, home)


def server_settings(home: Path, url: str, **variables: str) -> Settings:
    return load({"COPYDESK_DATABASE__URL": url, **variables}, home)


def all_rows(connection: Any) -> dict[str, list[Any]]:
    """Return the rows of every table as they are stored, with their types."""
    return {
        table.name: [
            [(type(value).__name__, value) for value in row] for batch in table.batches(connection) for row in batch
        ]
        for table in COPIED_TABLES
    }


def read_all(path: Path) -> dict[str, Any]:
    """Return everything that a database file holds, computed columns and numbers for later rows too."""
    with closing(sqlite3.connect(path)) as connection:
        rows: dict[str, Any] = dict(all_rows(connection))
        rows["numbers"] = connection.execute("SELECT name, seq FROM sqlite_sequence WHERE seq > 0").fetchall()
        rows["marked"] = connection.execute("PRAGMA user_version").fetchall()
        rows["computed"] = connection.execute("SELECT id, interactions, engagement_rate FROM engagement").fetchall()
        return rows


async def test_desk_is_copied_there_and_back(tmp_path: Path, home: Path, url: str) -> None:
    original = (home / "copydesk.db").read_bytes()
    expected = read_all(home / "copydesk.db")

    there = await migrate_desk(file_settings(home), url)
    back = await migrate_desk(server_settings(home, url), str(tmp_path / "back.db"))

    assert there.rows == back.rows == sum(len(expected[table.name]) for table in COPIED_TABLES)
    assert read_all(tmp_path / "back.db") == expected
    assert (home / "copydesk.db").read_bytes() == original
    # Its tables and their fingerprint are those of a new desk.
    assert check_database(tmp_path / "back.db", Interrupter()).drafts == DRAFTS
    assert list_files(tmp_path) == ["back.db", "home"]


async def test_copied_file_has_statistics(tmp_path: Path, home: Path, url: str) -> None:
    await migrate_desk(file_settings(home), url)
    await migrate_desk(server_settings(home, url), str(tmp_path / "back.db"))
    with closing(sqlite3.connect(tmp_path / "back.db")) as back:
        analyzed = {table for (table,) in back.execute("SELECT tbl FROM sqlite_stat1")}
    assert {"draft", "item"} <= analyzed


async def test_copied_schema_is_that_of_a_new_desk(
    tmp_path: Path, home: Path, url: str, server: PostgresqlServer
) -> None:
    await migrate_desk(file_settings(home), url)

    with closing(server.connect(tmp_path / "server")) as copied, closing(server.connect(tmp_path / "new")) as new:
        assert describe_schema(copied) == describe_schema(new)


async def test_copied_desk_goes_on(home: Path, url: str) -> None:
    await migrate_desk(file_settings(home), url)

    # Numbers, totals and search continue: each of them would fail, or miss the rows that were copied.
    async with open_desk(server_settings(home, url), clock=Watch()) as desk:
        assert len(await list_drafts(desk)) == DRAFTS
        (draft,) = (await desk.drafts.create({"text": "The ferry sails again."})).drafts
        await desk.drafts.change(draft.id, {"action": "approve"})
        assert [found.id for found in (await desk.drafts.search("ferry sails again")).items] == [draft.id]
        counts = await desk.drafts.counts()
        assert sum(counts.by_status.values()) == DRAFTS + 1


class StopError(Exception):
    """Raised to stop a copy."""


async def migrate_until(settings: Settings, target: str, stage: CopyStage, done: int) -> None:
    """Copy until that much of a stage is done, then stop."""

    def stop(progress: CopyProgress) -> None:
        if progress.stage == stage and progress.done >= done:
            raise StopError

    with pytest.raises(StopError):
        await migrate_desk(settings, target, stop)


@pytest.mark.parametrize(("stage", "done"), [(CopyStage.COPY, 40), (CopyStage.COMPARE, 40), (CopyStage.FINISH, 0)])
async def test_unfinished_copy_is_no_desk(home: Path, url: str, stage: CopyStage, done: int) -> None:
    await migrate_until(file_settings(home), url, stage, done)

    with pytest.raises(StoreError, match="unfinished copy"):
        async with open_desk(server_settings(home, url)):
            pass


async def test_unfinished_copy_goes_on_with_what_is_missing(home: Path, url: str) -> None:
    await migrate_until(file_settings(home), url, CopyStage.COPY, 40)
    inserted: list[int] = []

    await migrate_desk(file_settings(home), url, lambda progress: inserted.append(progress.done))

    # The first report counts the rows that are there already.
    assert inserted[0] > 0
    with pytest.raises(ConflictError, match="already holds a desk"):
        await change_and_migrate(home, url)


async def change_and_migrate(home: Path, url: str) -> None:
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        connection.execute("UPDATE draft SET text = 'Changed since.' WHERE rid = 1")
        connection.commit()
    await migrate_desk(file_settings(home), url)


async def test_change_between_two_calls_is_copied(tmp_path: Path, home: Path, url: str) -> None:
    await migrate_until(file_settings(home), url, CopyStage.COMPARE, 1)

    await change_and_migrate(home, url)

    await migrate_desk(server_settings(home, url), str(tmp_path / "back.db"))
    assert read_all(tmp_path / "back.db") == read_all(home / "copydesk.db")


async def test_copy_can_be_repeated(tmp_path: Path, home: Path, url: str) -> None:
    first = await migrate_desk(file_settings(home), url)
    assert await migrate_desk(file_settings(home), url) == first
    back = await migrate_desk(server_settings(home, url), str(tmp_path / "back.db"))
    assert await migrate_desk(server_settings(home, url), str(tmp_path / "back.db")) == back


@pytest.mark.parametrize("step", range(1, 12) if EXHAUSTIVE else [7])
def test_killed_migration_goes_on(tmp_path: Path, home: Path, url: str, step: int) -> None:
    original = read_all(home / "copydesk.db")
    arguments = [str(home), url, str(tmp_path / "back.db"), str(step)]
    completed = subprocess.run(
        [sys.executable, KILLED, *arguments],
        env=make_environment(home),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert completed.returncode == 0, completed.stderr
    kills = json.loads(completed.stdout)
    assert min(kills.values()) > 10
    assert read_all(home / "copydesk.db") == read_all(tmp_path / "back.db") == original


async def test_open_desk_is_not_copied(tmp_path: Path, home: Path, url: str) -> None:
    impatient = load({"COPYDESK_DATABASE__BUSY_TIMEOUT": "0"}, home)
    async with open_desk(file_settings(home), clock=Watch()):
        with pytest.raises(StoreBusyError, match="open in another process"):
            await migrate_desk(impatient, url)
    await migrate_desk(impatient, url)
    async with open_desk(server_settings(home, url), clock=Watch()) as desk:
        await list_drafts(desk)
        with pytest.raises(StoreBusyError, match="on all machines"):
            await migrate_desk(server_settings(home, url), str(tmp_path / "back.db"))
    assert not (tmp_path / "back.db").exists()


async def test_file_that_another_program_changes_is_refused(home: Path, url: str) -> None:
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")

    def change(progress: CopyProgress) -> None:
        if progress.stage == CopyStage.COMPARE and progress.done == progress.total:
            with closing(sqlite3.connect(home / "copydesk.db")) as connection:
                connection.execute("UPDATE draft SET text = 'Changed.' WHERE rid = 1")
                connection.commit()

    with pytest.raises(StoreBusyError, match="while it was copied"):
        await migrate_desk(file_settings(home), url, change)


async def test_server_cannot_be_changed_while_it_is_copied(
    tmp_path: Path, home: Path, url: str, server: PostgresqlServer
) -> None:
    await migrate_desk(file_settings(home), url)
    refused: list[str] = []

    def change(progress: CopyProgress) -> None:
        if progress.stage == CopyStage.COPY and not refused:
            with closing(server.connect(tmp_path / "server")) as connection:
                connection.execute("SET lock_timeout = 1")
                try:
                    connection.execute("UPDATE draft SET text = 'Changed.'")
                except Exception as error:
                    refused.append(type(error).__name__)

    await migrate_desk(server_settings(home, url), str(tmp_path / "back.db"), change)
    assert refused == ["LockNotAvailable"]


async def test_database_of_another_program_is_refused(
    tmp_path: Path, home: Path, url: str, server: PostgresqlServer
) -> None:
    with closing(server.connect(tmp_path / "server")) as connection:
        connection.execute("CREATE TABLE invoice (id integer)")

    with pytest.raises(ConflictError, match="is not empty"):
        await migrate_desk(file_settings(home), url)


async def test_copy_of_another_desk_is_refused(tmp_path: Path, home: Path, url: str) -> None:
    await migrate_until(file_settings(home), url, CopyStage.COPY, 1)
    other = tmp_path / "other"
    other.mkdir()
    unpack(HEAD_REVISION, other / "copydesk.db")

    with pytest.raises(ConflictError, match="which is another desk"):
        await migrate_desk(file_settings(other), url)


async def test_existing_file_is_refused(tmp_path: Path, home: Path, url: str) -> None:
    await migrate_desk(file_settings(home), url)
    other = tmp_path / "other.db"
    other.write_bytes(b"mine")

    with pytest.raises(CopydeskError):
        await migrate_desk(server_settings(home, url), str(other))
    assert other.read_bytes() == b"mine"


@pytest.mark.parametrize("to_server", [True, False])
async def test_target_of_the_same_kind_is_refused(home: Path, url: str, to_server: bool) -> None:
    settings = server_settings(home, url) if to_server else file_settings(home)
    with pytest.raises(ConflictError, match="already"):
        await migrate_desk(settings, url if to_server else "copy.db")


async def test_older_tables_are_refused(home: Path, url: str) -> None:
    unpack("0001", home / "copydesk.db")

    with pytest.raises(ConflictError, match="older version"):
        await migrate_desk(file_settings(home), url)


async def test_row_that_postgresql_cannot_store_is_named(home: Path, url: str) -> None:
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        connection.execute("UPDATE item SET summary = 'a' || char(0) WHERE rid = 2")
        connection.commit()

    with pytest.raises(StoreError, match="Row 2 of the table item has a NUL character in summary"):
        await migrate_desk(file_settings(home), url)


async def test_reference_to_a_missing_row_is_refused(home: Path, url: str) -> None:
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        connection.execute("DROP TRIGGER item_uncounted")
        connection.execute(
            "DELETE FROM item WHERE rid = (SELECT min(item.rid) FROM item JOIN draft ON item.id = item_id)"
        )
        connection.commit()
        # The fingerprint is checked first.
        connection.execute(TRIGGERS["item_uncounted"])

    with pytest.raises(StoreError, match="Rows of draft refer to rows that are missing"):
        await migrate_desk(file_settings(home), url)


def test_command_copies_and_says_what_to_set(tmp_path: Path, home: Path, url: str) -> None:
    there = run_command(home, "migrate", "--to", url, copydesk_database__url="")

    assert there.code == 0, there.err
    assert "rows of" in there.out
    assert f"The old database is unchanged: {home / 'copydesk.db'}" in there.out
    assert (
        "To use the new one, set database.url in settings.toml, or COPYDESK_DATABASE__URL, to the URL given"
        in there.out
    )
    assert [line.split()[0] for line in there.err.splitlines()[:3]] == ["copy", "compare", "finish"]
    assert "sends.json" in there.err
    target = tmp_path / "back.db"
    back = run_command(home, "migrate", "--to", str(target), "--json", copydesk_database__url=url)
    assert (back.code, json.loads(back.out)["target"]) == (0, str(target))
    again = run_command(home, "migrate", "--to", str(target), copydesk_database__url=url)
    file = home / "copydesk.db"
    assert f"move {file} and copydesk.db-wal away, then move {target} to {file}, and remove database.url" in again.out


def test_password_is_not_shown(home: Path, tmp_path: Path) -> None:
    url = f"postgresql://ada:AAAA1234@/desk?host={tmp_path}"
    failed = run_command(home, "migrate", "--to", url, copydesk_database__url="")

    assert (failed.code, "AAAA1234" in failed.err) == (1, False)


_BIG = st.integers(-(2**63), 2**63 - 1)
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
_JSON = st.recursive(
    st.none() | st.booleans() | _BIG | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
).map(json.dumps)
_FLOAT = st.floats(allow_nan=False)


def values_of(type_: TypeEngine[Any]) -> st.SearchStrategy[Any]:
    """Return everything that a column of this type may store on SQLite."""
    if isinstance(type_, JsonText):
        return _JSON
    if isinstance(type_, Boolean):
        return st.integers(0, 1)
    if isinstance(type_, UtcDateTime | Integer):
        return _BIG
    if isinstance(type_, Float):
        return _FLOAT
    return st.binary(max_size=20) if isinstance(type_, LargeBinary) else _TEXT


def free_columns() -> Iterator[Column[Any]]:
    """Yield the columns that may hold any value: neither keys nor unique, and without a check or a computed one."""
    for table in tables.metadata.sorted_tables:
        unique = {column.name for index in table.indexes if index.unique for column in index.columns}
        unique |= {column.name for constraint in table.constraints for column in getattr(constraint, "columns", ())}
        for column in table.columns:
            inputs = {"likes", "replies", "reposts", "clicks", "impressions"} if table.name == "engagement" else set()
            if column.name not in unique | inputs and column.computed is None and not isinstance(column.type, Choice):
                yield column


FREE = {f"{column.table.name}.{column.name}": column for column in free_columns()}
CHANGES = st.fixed_dictionaries(
    {
        name: st.none() | values_of(column.type) if column.nullable else values_of(column.type)
        for name, column in FREE.items()
    }
)


@settings(max_examples=sample_size(100), suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(CHANGES, min_size=2, max_size=2))
def test_every_value_is_the_same_after_both_ways(
    tmp_path_factory: pytest.TempPathFactory, changes: list[dict[str, Any]]
) -> None:
    server = postgresql_server()
    assert server is not None
    folder = tmp_path_factory.mktemp("values")
    path = unpack(HEAD_REVISION, folder / "copydesk.db")
    write_values(path, changes)
    expected = read_all(path)
    url = server.url_without_tables(folder / "server")
    try:
        asyncio.run(migrate_desk(file_settings(folder), url))
        asyncio.run(migrate_desk(server_settings(folder, url), str(folder / "back.db")))
        assert read_all(folder / "back.db") == expected
    finally:
        server.empty_databases(folder)


def write_values(path: Path, changes: list[dict[str, Any]]) -> None:
    """Write the values to the first rows of each table."""
    with closing(sqlite3.connect(path)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for table in tables.metadata.sorted_tables:
            keys = ", ".join(f'"{column.name}"' for column in table.primary_key)
            rows = connection.execute(f'SELECT {keys} FROM "{table.name}" ORDER BY {keys} LIMIT 2').fetchall()
            for row, values in zip(rows, changes, strict=False):
                chosen = {name.split(".")[1]: value for name, value in values.items() if FREE[name].table is table}
                if chosen:
                    assignments = ", ".join(f'"{name}" = ?' for name in chosen)
                    condition = " AND ".join(f'"{column.name}" = ?' for column in table.primary_key)
                    statement = f'UPDATE "{table.name}" SET {assignments} WHERE {condition}'
                    connection.execute(statement, [*chosen.values(), *row])
        for _, sql in triggers:
            connection.execute(sql)
        connection.execute("INSERT INTO draft_words (draft_words) VALUES ('rebuild')")
        connection.commit()


async def test_backup_of_a_server_is_restored_to_both(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path / "one") as desk:
        await desk.drafts.create({"text": "Kept."})
        content = await desk.backups.create(tmp_path / "copy.db")
    assert (content.drafts, content.revision) == (1, HEAD_REVISION)

    async with open_desk_at(tmp_path / "two") as desk:
        await desk.drafts.create({"text": "Replaced."})
    file = load({}, tmp_path / "file")
    settings_two = server_settings(tmp_path / "two", _url(tmp_path / "two"))
    restored = await restore_desk(settings_two, tmp_path / "copy.db", clock=Watch())
    await restore_desk(file, tmp_path / "copy.db", clock=Watch())

    async with open_desk(settings_two, clock=Watch()) as desk, open_desk(file, clock=Watch()) as other:
        assert [draft.text for draft in await list_drafts(desk)] == ["Kept."]
        assert [draft.text for draft in await list_drafts(other)] == ["Kept."]
    # What was replaced can be restored, too.
    assert restored.replaced is not None
    await restore_desk(settings_two, Path(restored.replaced), clock=Watch())
    async with open_desk(settings_two, clock=Watch()) as desk:
        assert [draft.text for draft in await list_drafts(desk)] == ["Replaced."]


def _url(home: Path) -> str:
    server = postgresql_server()
    assert server is not None
    return server.url(home)


async def test_backup_is_one_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_desk_at(tmp_path / "one") as desk:
        await desk.drafts.create({"text": "First."})
        loop, check, started = asyncio.get_running_loop(), Interrupter.check, []

        def write_meanwhile(interrupter: Interrupter, *progress: object) -> None:
            if progress and not started:
                started.append(True)
                asyncio.run_coroutine_threadsafe(desk.drafts.create({"text": "Second."}), loop).result(30)
            check(interrupter, *progress)

        monkeypatch.setattr(Interrupter, "check", write_meanwhile)
        assert (await desk.backups.create()).drafts == 1
        assert len(await list_drafts(desk)) == 2


async def test_backup_of_an_older_version_is_upgraded_at_once(tmp_path: Path, url: str) -> None:
    settings = server_settings(tmp_path / "home", url)

    restored = await restore_desk(settings, unpack("0001", tmp_path / "old.db"), clock=Watch())

    assert restored.replaced is None
    async with open_desk(settings, clock=Watch()) as desk:
        assert len(await list_drafts(desk)) == DRAFTS


async def test_failed_restore_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.drafts.create({"text": "Kept."})
        backup = await desk.backups.create(tmp_path / "copy.db")
    settings = server_settings(tmp_path, _url(tmp_path))
    monkeypatch.setattr(row_copy, "_find_difference", lambda *_: (1,))

    with pytest.raises(StoreError):
        await restore_desk(settings, Path(backup.path), clock=Watch())

    async with open_desk(settings, clock=Watch()) as desk:
        assert [draft.text for draft in await list_drafts(desk)] == ["Kept."]


async def test_open_server_is_not_restored(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        backup = await desk.backups.create(tmp_path / "copy.db")
        with pytest.raises(StoreBusyError, match="on all machines"):
            await restore_desk(server_settings(tmp_path, _url(tmp_path)), Path(backup.path))


async def test_queue_of_workers_is_left_alone(tmp_path: Path, home: Path, url: str, server: PostgresqlServer) -> None:
    with closing(server.connect(tmp_path / "server")) as connection:
        connection.execute("CREATE TABLE procrastinate_jobs (id integer)")
        connection.execute("INSERT INTO procrastinate_jobs VALUES (7)")

        await migrate_desk(file_settings(home), url)
        settings = server_settings(home, url)
        async with open_desk(settings, clock=Watch()) as desk:
            backup = await desk.backups.create(tmp_path / "copy.db")
        # The session of the test is one of the desk's to the server.
        connection.execute("SET application_name = 'psql'")
        await restore_desk(settings, Path(backup.path), clock=Watch())

        assert connection.execute("SELECT id FROM procrastinate_jobs").fetchall() == [(7,)]
