"""Tests for backing up and restoring a desk."""

import asyncio
import os
import sqlite3
import sys
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import restore_desk
from copydesk.desk.backups import try_restore
from copydesk.desk.doctor import Verdict, examine
from copydesk.errors import StoreBusyError, StoreCorruptError
from copydesk.jobs import CONSOLE_BACKUP_DELAY, Jobs, run_jobs
from copydesk.model.job import JobName
from copydesk.posting.fake import FakeServer
from copydesk.store import backup
from copydesk.store.backup import Interrupter
from desk_fixtures import NOW, Watch, execute_sql, list_drafts, open_desk_at, query_db, settings_at
from posting_fixtures import connect_account, create_approved_draft, draft_status, fake_platforms, open_posting_desk
from released_schemas import unpack

pytestmark = pytest.mark.sqlite("copies of the file")

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def backup_names(home: Path) -> list[str]:
    """Return the names of the files in the folder of backups."""
    folder = home / "backups"
    return sorted(file.name for file in folder.iterdir()) if folder.exists() else []


async def run_due_jobs(jobs: Jobs) -> None:
    await jobs.tick()
    await jobs.drain()


async def test_backup_is_restored(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.drafts.create({"text": "Kept."})
        content = await desk.backups.create()
        await desk.drafts.create({"text": "Lost."})
        assert [found.path for found in await desk.backups.list()] == [content.path]

    restored = await restore_desk(settings_at(tmp_path), Path(content.path), clock=Watch())

    async with open_desk_at(tmp_path) as desk:
        assert [draft.text for draft in await list_drafts(desk)] == ["Kept."]
    assert restored.replaced == str(tmp_path / f"copydesk.db.replaced-{NOW:%Y%m%dT%H%M%SZ}")


async def test_second_backup_within_a_second_gets_a_name_of_its_own(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        made = [await desk.backups.create() for _ in range(2)]
        assert [found.path for found in await desk.backups.list()] == [content.path for content in made]


async def test_backup_of_older_version_is_upgraded_when_opened(tmp_path: Path) -> None:
    home = tmp_path / "home"
    await restore_desk(settings_at(home), unpack("0001", tmp_path / "old.db"))

    async with open_desk_at(home) as desk:
        assert len(await list_drafts(desk)) == 18


async def test_open_desk_is_not_restored(tmp_path: Path) -> None:
    settings = settings_at(tmp_path, database__busy_timeout="0")
    async with open_desk_at(tmp_path) as desk:
        content = await desk.backups.create()
        # Even with every connection closed, as in an idle console.
        while await desk.release_memory():
            pass
        with pytest.raises(StoreBusyError, match="open in another process"):
            await restore_desk(settings, Path(content.path))
        await desk.drafts.create({"text": "Still open."})


async def test_desk_is_not_opened_during_a_restore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_desk_at(tmp_path) as desk:
        content = await desk.backups.create()
    results: list[type[BaseException]] = []

    def keep(database: Path, now: object) -> None:
        async def open_now() -> None:
            async with open_desk_at(tmp_path, database__busy_timeout="0"):
                pass

        with pytest.raises(StoreBusyError, match="Another process is restoring the desk"):
            asyncio.run(open_now())
        results.append(StoreBusyError)

    monkeypatch.setattr(backup, "_keep", keep)
    await restore_desk(settings_at(tmp_path), Path(content.path))
    assert results == [StoreBusyError]


async def test_cancelled_backup_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = asyncio.Event()
    loop, check = asyncio.get_running_loop(), Interrupter.check

    def hold(interrupter: Interrupter, *args: object) -> None:
        if args:
            loop.call_soon_threadsafe(started.set)
            while not interrupter._stopped:
                pass
        check(interrupter, *args)

    monkeypatch.setattr(Interrupter, "check", hold)
    async with open_desk_at(tmp_path) as desk:
        task = asyncio.create_task(desk.backups.create())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert backup_names(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own")
async def test_backup_runs_at_low_priority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    priorities: list[int] = []
    check = Interrupter.check

    def record(interrupter: Interrupter, *args: object) -> None:
        priorities.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        check(interrupter, *args)

    monkeypatch.setattr(Interrupter, "check", record)
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    async with open_desk_at(tmp_path) as desk:
        await desk.backups.create()
    assert set(priorities) == {max(own, 10)}
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == own


async def test_daemon_backs_up_daily(tmp_path: Path) -> None:
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch, backup__keep="2") as desk:
        jobs = Jobs(desk, backup_delay=timedelta(0))
        for _ in range(3 * 24):
            await run_due_jobs(jobs)
            watch.now += HOUR
        assert backup_names(tmp_path) == [f"auto-{NOW + day * DAY:%Y%m%dT%H%M%SZ}.db" for day in (1, 2)]
        for name in backup_names(tmp_path):
            (tmp_path / "backups" / name).unlink()
        # It is not the job that counts, but the file.
        await run_due_jobs(jobs)
        assert len(backup_names(tmp_path)) == 1


async def test_backup_of_a_clock_that_was_ahead_is_no_reason_to_wait(tmp_path: Path) -> None:
    watch = Watch()
    watch.now += 365 * DAY
    async with open_desk_at(tmp_path, clock=watch) as desk:
        await desk.backups.create_automatic()
        watch.now -= 365 * DAY
        assert await desk.backups.is_due()
        await desk.backups.create_automatic()
        assert not await desk.backups.is_due()


async def test_restored_desk_does_not_post_again(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft = await create_approved_draft(desk)
        content = await desk.backups.create()
        assert (await desk.posting.post(draft)).posted
    await restore_desk(settings_at(tmp_path), Path(content.path))

    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        assert await draft_status(desk, draft) == "approved"
        await desk.posting.post(draft)
        assert await draft_status(desk, draft) == "posted"
    assert len(server.posts) == 1


async def test_disabled_backups_are_not_made(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, backup__every_hours="0") as desk:
        await run_due_jobs(Jobs(desk, backup_delay=timedelta(0)))
    assert backup_names(tmp_path) == []


async def test_two_processes_make_one_backup(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as first, open_desk_at(tmp_path) as second:
        await asyncio.gather(*(run_due_jobs(Jobs(desk, backup_delay=timedelta(0))) for desk in (first, second)))
    assert len(backup_names(tmp_path)) == 1
    assert query_db(tmp_path, "SELECT count(*) FROM job WHERE name = 'backup'") == [(1,)]


async def test_console_backs_up_after_its_start(tmp_path: Path) -> None:
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk, run_jobs(desk) as jobs:
        await run_due_jobs(jobs)
        assert backup_names(tmp_path) == []
        watch.now += CONSOLE_BACKUP_DELAY
        await run_due_jobs(jobs)
        assert len(backup_names(tmp_path)) == 1


async def test_failed_backup_is_reported_and_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, messages = Watch(), []
    async with open_desk_at(tmp_path, clock=watch, backup__keep="1") as desk:
        jobs = Jobs(desk, backup_delay=timedelta(0), listener=messages.append)
        await run_due_jobs(jobs)
        before = backup_names(tmp_path)

        def fill_disk(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fill_disk)
        watch.now += DAY
        await run_due_jobs(jobs)

        (state,) = [state for state in await desk.job_leases.states() if state.name == JobName.BACKUP]
        assert state.error
        assert state.error.startswith("The disk is full")
    assert [(message.job, message.failed) for message in messages] == [("backup", True)]
    assert backup_names(tmp_path) == before


async def backup_findings(home: Path, *, restore_test: bool = False) -> list[tuple[Verdict, str]]:
    settings = settings_at(home)
    findings = await examine(settings, lambda: open_desk_at(home), restore_test=restore_test)
    return [(finding.verdict, f"{finding.found} {finding.advice}") for finding in findings if finding.what == "backups"]


async def test_doctor_restores_the_newest_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    home = tmp_path / "home"
    async with open_desk_at(home) as desk:
        await desk.drafts.create({"text": "Kept."})
        content = await desk.backups.create(tmp_path / "copy.db")
    (home / "backups").mkdir()
    newest = (tmp_path / "copy.db").rename(home / "backups" / "copydesk-20260101T000000Z.db")
    before = newest.read_bytes()

    ((verdict, message),) = await backup_findings(home, restore_test=True)

    assert content.drafts == 1
    assert f"{newest} can be restored: 1 draft, intact." in message
    assert verdict is Verdict.WARNING  # it is old
    assert "Make one: copydesk backup" in message
    assert list((tmp_path / "temporary").iterdir()) == []
    assert newest.read_bytes() == before
    newest.write_bytes(before[:-4096])
    ((verdict, message),) = await backup_findings(home, restore_test=True)
    assert (verdict, message.strip()) == (Verdict.ERROR, f"{newest} is damaged: database disk image is malformed.")


async def test_doctor_tests_a_backup_of_a_damaged_desk(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        content = await desk.backups.create()
    (tmp_path / "copydesk.db").write_bytes(b"")

    findings = await examine(settings_at(tmp_path), lambda: open_desk_at(tmp_path), restore_test=True)

    assert [(finding.what, finding.verdict) for finding in findings[3:]] == [
        ("backups", Verdict.WARNING),
        ("database", Verdict.ERROR),
    ]
    assert findings[-1].advice == f"Restore the newest backup: copydesk restore {content.path}"


async def test_doctor_without_backups(tmp_path: Path) -> None:
    message = "No backups yet. The console and `copydesk daemon` make one daily. Now: copydesk backup"
    assert await backup_findings(tmp_path) == [(Verdict.OK, message)]
    assert await backup_findings(tmp_path, restore_test=True) == [(Verdict.ERROR, message)]


async def test_doctor_reports_failed_backup(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await run_due_jobs(Jobs(desk, backup_delay=timedelta(0)))
    execute_sql(tmp_path, "UPDATE job SET error = 'The disk is full.' WHERE name = 'backup'")

    assert (Verdict.ERROR, "The last automatic backup failed: The disk is full. ") in await backup_findings(tmp_path)


async def test_restore_test_upgrades_older_backups(tmp_path: Path) -> None:
    assert (await try_restore(settings_at(tmp_path), unpack("0001", tmp_path / "old.db"))).drafts == 18
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0000'")
    with pytest.raises(Exception, match="revision 0000"):
        await try_restore(settings_at(tmp_path), tmp_path / "old.db")


async def test_empty_database_file_is_not_a_new_desk(tmp_path: Path) -> None:
    (tmp_path / "copydesk.db").touch()
    with pytest.raises(StoreCorruptError, match="the file is empty"):
        async with open_desk_at(tmp_path):
            pass
