"""Tests for backing up a database and restoring it."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from copydesk.errors import (
    ConflictError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreSchemaError,
    StoreTooNewError,
)
from copydesk.model.backup import RestoredDesk
from copydesk.store import backup
from copydesk.store.backup import (
    Interrupter,
    check_database,
    create_automatic_backup,
    create_backup,
    restore_database,
)
from copydesk.store.database_file import HEAD_REVISION, list_backups, lock_shared, try_lock
from released_schemas import unpack
from store_fixtures import NOW, list_files

pytestmark = pytest.mark.sqlite("copies of the file")

DRAFTS = 18
"""Drafts in the database of the current revision."""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A desk's database with some drafts, in a folder of its own."""
    folder = tmp_path / "desk"
    folder.mkdir()
    return unpack(HEAD_REVISION, folder / "desk.db")


@pytest.fixture
def copy(database: Path, tmp_path: Path) -> Path:
    """A backup of it."""
    target = tmp_path / "copy.db"
    create_backup(database, target, Interrupter())
    return target


def execute(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement).fetchall()


def delete_drafts(path: Path) -> None:
    """Change the database, so that it differs from its backups."""
    execute(path, "DELETE FROM draft")


def count_drafts(path: Path) -> int:
    return check_database(path, Interrupter()).drafts


def restore(database: Path, file: Path, now: datetime = NOW) -> RestoredDesk:
    return restore_database(database, file, now, 0.0, Interrupter())


def test_backup_is_private_checked_and_alone(database: Path, tmp_path: Path) -> None:
    execute(database, "PRAGMA journal_mode = WAL")
    content = create_backup(database, tmp_path / "copy.db", Interrupter())

    assert (content.drafts, content.sources, content.posts, content.revision) == (DRAFTS, 1, 1, HEAD_REVISION)
    assert (content.path, content.size) == (str(tmp_path / "copy.db"), (tmp_path / "copy.db").stat().st_size)
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert list_files(tmp_path) == ["copy.db", "desk"]
    # It can be read from a read-only disk.
    with closing(sqlite3.connect(f"file:{tmp_path}/copy.db?immutable=1", uri=True)) as connection:
        assert connection.execute("SELECT count(*) FROM draft").fetchone() == (DRAFTS,)


def test_backup_has_changes_in_the_log(database: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(database)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        with other:
            other.execute("DELETE FROM draft")
        assert create_backup(database, tmp_path / "copy.db", Interrupter()).drafts == 0


def test_backup_is_one_snapshot_while_others_write(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a snapshot each commit makes SQLite start over: the copy never ends while somebody writes."""
    monkeypatch.setattr(backup, "PAGES_PER_STEP", 5)
    execute(database, "PRAGMA journal_mode = WAL")
    steps: list[int] = []

    def write_between_steps(_: Interrupter, status: int, remaining: int, total: int) -> None:
        steps.append(remaining)
        assert len(steps) < 1000
        execute(database, "DELETE FROM draft WHERE rid = (SELECT max(rid) FROM draft)")

    monkeypatch.setattr(
        Interrupter, "check", lambda interrupter, *args: args and write_between_steps(interrupter, *args)
    )
    content = create_backup(database, tmp_path / "copy.db", Interrupter())

    assert content.drafts == DRAFTS
    assert steps == sorted(steps, reverse=True)
    assert count_drafts(database) < DRAFTS


def test_existing_file_is_overwritten_only_on_request(database: Path, copy: Path) -> None:
    before = copy.read_bytes()
    delete_drafts(database)

    with pytest.raises(ConflictError, match=r"copy\.db already exists; nothing changed"):
        create_backup(database, copy, Interrupter())
    assert copy.read_bytes() == before

    assert create_backup(database, copy, Interrupter(), overwrite=True).drafts == 0
    assert count_drafts(copy) == 0


@pytest.mark.parametrize("name", ["desk.db", "desk.db-wal", "desk.db-shm", "link.db"])
def test_own_files_are_never_overwritten(database: Path, name: str) -> None:
    (database.parent / "link.db").symlink_to(database)
    before = database.read_bytes()

    with pytest.raises(ConflictError, match="belongs to the desk's own database"):
        create_backup(database, database.with_name(name), Interrupter(), overwrite=True)

    assert database.read_bytes() == before


def test_folder_or_device_is_not_overwritten(database: Path, tmp_path: Path) -> None:
    for target in (tmp_path, Path(os.devnull)):
        with pytest.raises(ConflictError, match="is not a file"):
            create_backup(database, target, Interrupter(), overwrite=True)


def test_missing_folder_is_reported(database: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"Cannot write .*copy\.db: No such file or directory; nothing changed"):
        create_backup(database, tmp_path / "nowhere" / "copy.db", Interrupter())


def test_full_disk_leaves_older_backups(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_automatic_backup(database, NOW, 1, Interrupter())
    kept = list_files(database.parent / "backups")

    def fill_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill_disk)
    with pytest.raises(StoreFullError):
        create_automatic_backup(database, NOW + timedelta(days=1), 1, Interrupter())
    with pytest.raises(StoreFullError):
        restore(database, database.parent / "backups" / kept[0])

    assert list_files(database.parent / "backups") == kept
    assert list_files(database.parent) == ["backups", "desk.db"]
    assert count_drafts(database) == DRAFTS


def test_damaged_database_costs_no_older_backup(database: Path) -> None:
    create_automatic_backup(database, NOW, 1, Interrupter())
    kept = list_files(database.parent / "backups")
    damage(database)

    with pytest.raises(StoreCorruptError):
        create_automatic_backup(database, NOW + timedelta(days=1), 1, Interrupter())

    assert list_files(database.parent / "backups") == kept


def damage(path: Path) -> None:
    """Overwrite pages in the middle."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 20_000)


def test_automatic_backups_are_rotated(database: Path) -> None:
    create_backup(database, database.parent / "backups" / "copydesk-20200101T000000Z.db", Interrupter())
    (database.parent / "backups" / "auto-mine.db").write_text("not one of ours")
    for day in range(5):
        create_automatic_backup(database, NOW + timedelta(days=day), 3, Interrupter())

    assert list_files(database.parent / "backups") == [
        *(f"auto-202602{day}T093000Z.db" for day in (13, 14, 15)),
        *("auto-mine.db", "copydesk-20200101T000000Z.db"),
    ]
    found = list_backups(database)
    assert [(backup.created_at.day, backup.automatic) for backup in found] == [
        (1, False),
        (13, True),
        (14, True),
        (15, True),
    ]
    assert (database.parent / "backups").stat().st_mode & 0o777 == 0o700


def test_backups_of_a_clock_that_was_ahead_are_deleted_first(database: Path) -> None:
    for year in (2030, 2031):
        create_automatic_backup(database, NOW.replace(year=year), 3, Interrupter())
    for day in range(3):
        create_automatic_backup(database, NOW + timedelta(days=day), 3, Interrupter())

    assert [found.created_at.year for found in list_backups(database)] == [2026] * 3


def test_parts_of_killed_backups_are_deleted(database: Path) -> None:
    create_automatic_backup(database, NOW, 3, Interrupter())
    folder = database.parent / "backups"
    old, fresh, foreign = (
        folder / name
        for name in (
            "auto-20260101T000000Z.db.abcd_123.part",
            "auto-20260101T000000Z.db.abcd_124.part",
            "film.mkv.part",
        )
    )
    for file in (old, fresh, foreign):
        file.write_bytes(b"x")
    for file in (old, foreign):
        os.utime(file, (0, time.time() - 2 * backup.MAX_PART_AGE))

    create_automatic_backup(database, NOW + timedelta(days=1), 3, Interrupter())

    assert (old.exists(), fresh.exists(), foreign.exists()) == (False, True, True)


def test_stopped_backup_leaves_nothing(database: Path, tmp_path: Path) -> None:
    interrupter = Interrupter()
    interrupter.stop()

    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        create_backup(database, tmp_path / "copy.db", interrupter)

    assert list_files(tmp_path) == ["desk"]


def test_restore_keeps_the_replaced_database(database: Path, copy: Path) -> None:
    delete_drafts(database)

    restored = restore(database, copy)

    assert (restored.content.drafts, restored.content.path) == (DRAFTS, str(copy))
    assert restored.replaced == str(database.with_name("desk.db.replaced-20260211T093000Z"))
    assert (count_drafts(database), count_drafts(Path(restored.replaced)), count_drafts(copy)) == (DRAFTS, 0, DRAFTS)
    assert database.stat().st_mode & 0o777 == 0o600
    assert list_files(database.parent) == ["desk.db", "desk.db.replaced-20260211T093000Z"]


def test_restore_is_reversed_by_another(database: Path, copy: Path) -> None:
    delete_drafts(database)
    replaced = restore(database, copy).replaced
    assert replaced
    again = restore(database, Path(replaced)).replaced

    assert count_drafts(database) == 0
    assert again == f"{replaced}-2"
    assert count_drafts(Path(again)) == DRAFTS


def test_replaced_database_has_its_newest_changes(database: Path, copy: Path, tmp_path: Path) -> None:
    """They are in the log of a killed process, which must neither be lost nor be applied to the backup."""
    leave_log(database, tmp_path)

    restored = restore(database, copy)

    assert restored.replaced
    assert count_drafts(Path(restored.replaced)) == 0
    assert count_drafts(database) == DRAFTS
    assert list_files(database.parent) == ["desk.db", Path(restored.replaced).name]


def leave_log(database: Path, folder: Path) -> None:
    """Delete all drafts in a process that is killed before its log is merged."""
    with closing(sqlite3.connect(database)) as running:
        running.execute("PRAGMA journal_mode = WAL")
        with running:
            running.execute("DELETE FROM draft")
        shutil.copytree(database.parent, folder / "killed", ignore=shutil.ignore_patterns("*-shm"))
    shutil.rmtree(database.parent)
    (folder / "killed").rename(database.parent)
    assert Path(f"{database}-wal").stat().st_size


@pytest.mark.parametrize("content", [b"", b"Dear diary, " * 1000, None])
def test_damaged_or_missing_database_is_replaced(database: Path, copy: Path, content: bytes | None) -> None:
    database.unlink()
    if content is not None:
        database.write_bytes(content)
    Path(f"{database}-wal").write_bytes(b"a log that fits nothing")

    replaced = restore(database, copy).replaced

    assert count_drafts(database) == DRAFTS
    assert replaced
    assert Path(f"{replaced}-wal").read_bytes() == b"a log that fits nothing"
    if content is not None:
        assert Path(replaced).read_bytes() == content
    assert not Path(f"{database}-wal").exists()


def test_second_name_of_a_killed_restore_is_removed(database: Path, copy: Path) -> None:
    database.with_name("desk.db.replaced-20260101T000000Z").hardlink_to(database)

    restore(database, copy)

    assert list_files(database.parent) == ["desk.db", "desk.db.replaced-20260211T093000Z"]


def test_restore_where_nothing_was(copy: Path, tmp_path: Path) -> None:
    assert restore(tmp_path / "new" / "desk.db", copy).replaced is None
    assert count_drafts(tmp_path / "new" / "desk.db") == DRAFTS
    assert list_files(tmp_path / "new") == ["desk.db"]


def test_older_backup_is_restored_as_it_is(database: Path, tmp_path: Path) -> None:
    restored = restore(database, unpack("0001", tmp_path / "old.db"))

    assert (restored.content.revision, count_drafts(database)) == ("0001", DRAFTS)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("UPDATE alembic_version SET version_num = '9999'", StoreTooNewError),
        ("DROP TABLE account", StoreSchemaError),
        ("DROP TABLE alembic_version", StoreCorruptError),
    ],
)
def test_unusable_backup_changes_nothing(database: Path, copy: Path, statement: str, error: type[StoreError]) -> None:
    execute(copy, statement)
    assert_refused(database, copy, error)


def test_damaged_backup_changes_nothing(database: Path, copy: Path, tmp_path: Path) -> None:
    damage(copy)
    assert_refused(database, copy, StoreCorruptError)
    copy.write_bytes(b"")
    assert_refused(database, copy, StoreCorruptError)
    copy.write_bytes(b"Dear diary, " * 1000)
    assert_refused(database, copy, StoreCorruptError)
    assert_refused(database, tmp_path / "missing.db", StoreError)
    assert_refused(database, tmp_path, StoreError)
    assert_refused(database, database, ConflictError)


def test_file_that_cannot_be_read_is_not_called_damaged(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As SQLite reports a page that a failing disk does not return.
    line = f"*** in database main ***\nPage 229: unable to get the page. error code={sqlite3.SQLITE_IOERR_READ}"

    class Unreadable(sqlite3.Connection):
        def execute(self, sql: str, *parameters: object) -> sqlite3.Cursor:
            return (
                super().execute("SELECT ?", (line,)) if "integrity_check" in sql else super().execute(sql, *parameters)
            )

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Unreadable))
    with pytest.raises(StoreFullError, match="The disk may be full or failing"):
        check_database(copy, Interrupter())


def assert_refused(database: Path, file: Path, error: type[Exception]) -> None:
    """Assert that the restore is refused, without a hint at the very file that cannot be used."""
    before = database.read_bytes()
    with pytest.raises(error) as caught:
        restore(database, file)
    assert str(file) in str(caught.value)
    assert "copydesk restore" not in str(caught.value)
    assert database.read_bytes() == before
    assert list_files(database.parent) == ["desk.db"]


async def test_restore_is_refused_while_the_desk_is_open(database: Path, copy: Path) -> None:
    lock = await lock_shared(database.parent, 0)

    with pytest.raises(StoreBusyError, match="The desk is open in another process; nothing changed"):
        restore(database, copy)

    os.close(lock)
    assert list_files(database.parent) == ["desk.db"]
    assert restore(database, copy).content.drafts == DRAFTS


async def test_desk_cannot_be_opened_during_a_restore(database: Path) -> None:
    lock = try_lock(database.parent, exclusive=True)
    assert lock is not None
    with pytest.raises(StoreBusyError, match="Another process is restoring the desk"):
        await lock_shared(database.parent, 0)
    os.close(lock)
    os.close(await lock_shared(database.parent, 0))


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_restore_is_refused_while_another_program_reads(database: Path, copy: Path, mode: str) -> None:
    execute(database, f"PRAGMA journal_mode = {mode}")
    with closing(sqlite3.connect(database, isolation_level=None)) as shell:
        shell.execute("BEGIN")
        shell.execute("SELECT count(*) FROM draft").fetchone()
        with pytest.raises(StoreBusyError, match="nothing changed"):
            restore(database, copy)

    assert list_files(database.parent) == ["desk.db"]


def test_nothing_is_lost_wherever_a_process_is_killed(database: Path, copy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    folder.mkdir()
    shutil.copyfile(copy, folder / "backup.db")
    leave_log(database, tmp_path / "log")
    database.parent.rename(folder / "desk")
    support = Path(__file__).parents[1] / "support"
    program = subprocess.run(
        [sys.executable, str(support / "killed_backup.py"), str(folder)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert program.returncode == 0, program.stderr
    reports = json.loads(program.stdout)

    for report in reports["backups"]:
        before = DRAFTS if report["overwrite"] else None
        assert report["copy"] in ((0,) if report["done"] else (0, before)), report
        assert report["desk"] == 0, report
    for report in reports["restores"]:
        assert report["desk"] in ((DRAFTS,) if report["done"] else (0, DRAFTS)), report
        assert report["kept"] == ([0] if report["desk"] == DRAFTS else []), report
        assert report["again"] == DRAFTS, report
    assert min(map(len, reports.values())) > 20
    # Both were killed before the last step and after it.
    assert {report["desk"] for report in reports["restores"][:-1]} == {0, DRAFTS}
    assert {report["copy"] for report in reports["backups"]} == {0, None, DRAFTS}


def test_two_processes_can_write_one_file(database: Path, tmp_path: Path) -> None:
    outcomes: list[object] = []

    def write() -> None:
        try:
            outcomes.append(create_backup(database, tmp_path / "copy.db", Interrupter()).drafts)
        except ConflictError as error:
            outcomes.append(type(error))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(map(str, outcomes)) == [str(DRAFTS), *3 * [str(ConflictError)]]
    assert count_drafts(tmp_path / "copy.db") == DRAFTS
    assert list_files(tmp_path) == ["copy.db", "desk"]
