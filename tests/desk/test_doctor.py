"""Tests for the doctor's findings."""

import re
import sqlite3
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest

from copydesk.desk import Desk, doctor
from copydesk.desk.accounts.credentials import secret_name
from copydesk.desk.doctor import (
    _check_database,
    _check_disk,
    _check_posting,
    _check_queue,
    _check_size,
    _describe_standbys,
    examine,
)
from copydesk.images.storage import save
from copydesk.model.check_finding import Verdict
from copydesk.model.delivery import DeliveryState
from copydesk.model.totals import QueueTotals, StandbyTotals, Totals
from copydesk.store import accounts
from crash_points import full_file
from desk_fixtures import NOW, URL_ONE, URL_TWO, Watch, create_source, execute_sql, open_desk_at, settings_at
from image_samples import drawing, photo, store_image
from posting_fixtures import connect_account, create_approved_draft, fake_platforms, open_posting_desk
from schedule_fixtures import insert_scheduled
from sources_driver import sample_web

SEALED = {"COPYDESK_SECRETS__KEYRING": "false"}
PLAIN = SEALED | {"COPYDESK_SECRETS__PLAIN": "true"}


@pytest.fixture(autouse=True)
def without_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COPYDESK_PASSPHRASE", raising=False)


async def examine_topic(desk: Desk, topic: str) -> list[tuple[Verdict, str]]:
    """Return (verdict, text) of each finding on one topic of an open desk."""

    @asynccontextmanager
    async def use_open_desk():
        yield desk

    findings = await examine(desk.settings, use_open_desk)
    return [
        (finding.verdict, f"{finding.found} {finding.advice}".strip()) for finding in findings if finding.what == topic
    ]


async def save_key(desk: Desk) -> None:
    (account,) = await desk.accounts.list()
    await desk._context.vault.save(secret_name(account.details, desk.user), {"password": "planted-1"})


@pytest.mark.sqlite("the file")
def test_database_path_with_special_characters_is_examined(tmp_path: Path) -> None:
    """Unquoted in a URI, another file was created and found intact, and the real database was never examined."""
    home = tmp_path / "a#b?c%41"
    home.mkdir()
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        connection.execute("CREATE TABLE t (c)")

    assert _check_database(home / "copydesk.db").verdict is Verdict.OK
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a#b?c%41"]
    (home / "copydesk.db").write_bytes(b"no database" * 1000)
    assert _check_database(home / "copydesk.db").verdict is Verdict.ERROR


@pytest.mark.sqlite("the file")
def test_database_that_cannot_be_read_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> sqlite3.Connection:
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error

    path = tmp_path / "copydesk.db"
    path.touch()
    monkeypatch.setattr(doctor, "connect_readonly", refuse)
    finding = _check_database(path)
    assert finding.verdict is Verdict.ERROR
    assert finding.found == f"Cannot open or write {path}."


@pytest.mark.sqlite("the file")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (sqlite3.SQLITE_IOERR_CORRUPTFS, "Cannot read or write "),
        (sqlite3.SQLITE_CORRUPT, "is damaged: "),
    ],
)
def test_page_on_a_failing_disk_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, expected: str
) -> None:
    path = tmp_path / "copydesk.db"
    path.touch()
    # As SQLite reports a page that it cannot read.
    result = f"*** in database main ***\nPage 229: unable to get the page. error code={code}"
    connection = Mock()
    connection.execute.return_value.fetchone.return_value = (result,)
    monkeypatch.setattr(doctor, "connect_readonly", lambda _: connection)
    finding = _check_database(path)
    assert finding.verdict is Verdict.ERROR
    assert expected in finding.found
    assert ("Move" in finding.advice) is (code == sqlite3.SQLITE_CORRUPT)


@pytest.mark.sqlite("the file")
def test_size_of_database_is_in_mebibytes(tmp_path: Path) -> None:
    path = tmp_path / "copydesk.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (c)")
        connection.execute("INSERT INTO t VALUES (zeroblob(3 * 1024 * 1024))")
        connection.commit()

    assert _check_database(path).found == f"{path}, 3.0 MiB, intact."


@pytest.mark.sqlite("the file")
async def test_size_of_the_desk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_desk_at(tmp_path) as desk:
        save(desk.settings.images_folder, photo(1200, 900))
        await desk.backups.create()
        ((verdict, message),) = await examine_topic(desk, "size")
        parts = re.fullmatch(r"([\d.]+) MiB: database ([\d.]+), images ([\d.]+), backups ([\d.]+)\.", message)
        assert parts is not None
        total, *sizes = map(float, parts.groups())
        assert (verdict, min(sizes) > 0) == (Verdict.OK, True)
        assert abs(total - sum(sizes)) < 0.2

    # A file of an earlier version cannot return free space by itself.
    monkeypatch.setattr(doctor, "MAX_FREE_SPACE", 100_000)
    with closing(sqlite3.connect(tmp_path / "copydesk.db")) as connection:
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("VACUUM")
        connection.execute("CREATE TABLE filling AS SELECT zeroblob(200000)")
        connection.execute("DROP TABLE filling")
    message = (await _check_size(settings_at(tmp_path))).found
    assert "0.2 MiB of the database are free" in message


def test_full_disk_is_an_error(tmp_path: Path) -> None:
    assert _check_disk(tmp_path).verdict is Verdict.OK
    with full_file(tmp_path):
        finding = _check_disk(tmp_path / "not" / "there")
    assert finding.verdict is Verdict.ERROR
    assert finding.found.startswith("The disk is full.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sqlite("the file")
def test_check_of_a_large_database_stops_after_a_time(tmp_path: Path) -> None:
    path = tmp_path / "copydesk.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (c)")
        connection.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(50_000)])
        connection.commit()

    finding = _check_database(path, 0)
    assert (finding.verdict, "no damage found in 0 s" in finding.found) == (Verdict.OK, True)
    assert finding.advice == "Check all of it: copydesk doctor --full"
    assert _check_database(path).found.endswith("intact.")


async def test_progress_names_the_checks(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, sample_web()) as desk:
        checks: list[str] = []

        @asynccontextmanager
        async def use_open_desk():
            yield desk

        await examine(desk.settings, use_open_desk, on_progress=checks.append)
    assert checks == ["backups", "database", "sources, accounts and images"]


async def test_failing_source_is_reported(tmp_path: Path) -> None:
    web = sample_web()
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk, URL_ONE, name="The Ferry Gazette")
        await create_source(desk, URL_TWO, name="Harbours")
        assert await examine_topic(desk, "sources") == [(Verdict.OK, "2, none failing.")]
        web.disconnect(URL_ONE)
        await desk.pipeline.run()
        message = "1 of 2 failing: The Ferry Gazette. See `copydesk source show ID`."
        assert await examine_topic(desk, "sources") == [(Verdict.WARNING, message)]


async def test_missing_settings_file_is_reported(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, sample_web()) as desk:
        ((_, message),) = await examine_topic(desk, "settings")
    assert message.startswith("No settings file; all defaults.")


async def test_clock_jump_is_reported_until_accepted(tmp_path: Path) -> None:
    clock = Watch()
    async with open_desk_at(tmp_path, sample_web(), clock=clock) as desk:
        assert await desk.schedule.clock_warning() is None
        clock.now -= timedelta(hours=3)
        for _ in range(2):
            message = (
                "The clock jumped back by 3 hours. Posting is paused. "
                "Correct the clock, or accept it: copydesk schedule clock --accept"
            )
            assert await examine_topic(desk, "clock") == [(Verdict.ERROR, message)]
        clock.now += timedelta(hours=3)
        assert await examine_topic(desk, "clock") == []


async def test_missing_account_is_reported_without_keys(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        message = "No accounts. To post, connect an account: copydesk account connect bluesky"
        assert await examine_topic(desk, "accounts") == [(Verdict.OK, message)]
        assert await examine_topic(desk, "credentials") == []


async def test_scheduled_draft_without_account_is_a_warning(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        await insert_scheduled(desk, NOW + timedelta(hours=1))
        (finding,) = await examine_topic(desk, "accounts")
        assert finding[0] is Verdict.WARNING
        assert finding[1].startswith("No accounts. 1 scheduled draft cannot be posted.")


async def test_due_draft_without_account_is_one_warning(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        await insert_scheduled(desk, NOW)
        (finding,) = await examine_topic(desk, "accounts")
        assert finding[0] is Verdict.WARNING
        assert finding[1].startswith("No account is connected: 1 due draft cannot be posted.")


async def test_account_error_is_reported_with_hint(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms(), **SEALED) as desk:
        await connect_account(desk), await connect_account(desk, "you")
        _, you = await desk.accounts.list()
        assert await examine_topic(desk, "accounts") == [(Verdict.OK, "2, none failing.")]
        await desk._context.write(accounts.set_error, you, "The key is not good any more. Connect it again.")
        message = "1 of 2 failing. fake:you: The key is not good any more. Connect it again."
        assert await examine_topic(desk, "accounts") == [(Verdict.WARNING, message)]


async def test_unencrypted_keys_are_a_warning(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms(), **PLAIN) as desk:
        await connect_account(desk)
        ((verdict, message),) = await examine_topic(desk, "credentials")
        assert (verdict, message.startswith("None stored yet. The first will be stored in ")) == (Verdict.OK, True)
        await save_key(desk)
        ((verdict, message),) = await examine_topic(desk, "credentials")
    assert verdict is Verdict.WARNING
    assert "NOT encrypted. To encrypt it, remove the accounts" in message
    assert "planted-1" not in message


async def test_encrypted_keys_need_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDESK_PASSPHRASE", "four words are good")
    async with open_posting_desk(tmp_path, fake_platforms(), **SEALED) as desk:
        await connect_account(desk)
        await save_key(desk)
        path = tmp_path / "secrets" / "secrets.sealed"
        message = f"Stored in {path}, encrypted with a passphrase. From the environment: COPYDESK_PASSPHRASE."
        assert await examine_topic(desk, "credentials") == [(Verdict.OK, message)]
    monkeypatch.delenv("COPYDESK_PASSPHRASE")
    async with open_posting_desk(tmp_path, fake_platforms(), **SEALED) as desk:
        ((verdict, message),) = await examine_topic(desk, "credentials")
    assert (verdict, "Set COPYDESK_PASSPHRASE" in message) == (Verdict.WARNING, True)


async def test_keys_in_two_backends_are_an_error(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms(), **PLAIN) as desk:
        await connect_account(desk)
        await save_key(desk)
        (tmp_path / "secrets" / "secrets.sealed").write_bytes(b"x")
        ((verdict, message),) = await examine_topic(desk, "credentials")
        assert (verdict, "Move the outdated one away." in message) == (Verdict.ERROR, True)
        assert len(await examine_topic(desk, "images")) == 1


async def test_unused_images_are_counted(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        assert await examine_topic(desk, "images") == [(Verdict.OK, "0 stored for all users, 0.0 MiB.")]
        folder = desk.settings.images_folder
        url = await store_image(desk, drawing())
        (folder / ".begun").write_bytes(b"x")
        await create_approved_draft(desk, images=[{"url": url, "source": "UPLOAD"}])
        assert await examine_topic(desk, "images") == [(Verdict.OK, "1 stored for all users, 0.0 MiB.")]
        save(folder, photo(800, 600))
        assert await examine_topic(desk, "images") == [
            (Verdict.OK, "2 stored for all users, 0.1 MiB. 1 of them unused, 0.1 MiB.")
        ]


async def test_missing_pillow_is_reported_only_for_approved_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda _: None)
    picture = {"images": [{"url": "https://pictures.example/a.png", "source": "UPLOAD"}]}
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        await create_approved_draft(desk)
        await desk.drafts.create({"text": "Not approved yet.", **picture})
        assert [verdict for verdict, _ in await examine_topic(desk, "images")] == [Verdict.OK]
        await create_approved_draft(desk, **picture)
        ((verdict, message),) = await examine_topic(desk, "images")
    assert verdict is Verdict.WARNING
    assert "Pillow, which resizes them, is not installed. Install it: pip install pillow" in message


@pytest.mark.parametrize(
    ("oldest", "stuck", "text", "verdict"),
    [
        (119, 0, "2 workers, 5 jobs waiting, 3 running.", Verdict.OK),
        (121, 0, "2 workers, 5 jobs waiting, 3 running. The oldest has waited for 2 minutes.", Verdict.WARNING),
        (0, 1, "2 workers, 5 jobs waiting, 3 running. 1 job of workers that died.", Verdict.WARNING),
    ],
)
def test_queue_that_is_behind_is_a_warning(oldest: float, stuck: int, text: str, verdict: Verdict) -> None:
    found = _check_queue(QueueTotals(waiting=5, running=3, stuck=stuck, oldest=oldest, workers=2))
    assert (found.found, found.verdict) == (text, verdict)


@pytest.mark.parametrize(
    ("count", "bytes_behind", "seconds_behind", "text"),
    [
        (1, 0, 0.0, "1 standby server, up to date."),
        (2, 3 * 2**20, 1.26, "2 standby servers, at most 3.0 MiB and 1.3 s behind."),
        (1, 2**20, None, "1 standby server, at most 1.0 MiB behind."),
        (1, None, None, "1 standby server; only a role with pg_monitor can see how far behind."),
    ],
)
def test_lag_of_standbys_is_told_as_far_as_it_is_known(
    count: int, bytes_behind: int | None, seconds_behind: float | None, text: str
) -> None:
    standbys = StandbyTotals(count=count, bytes_behind=bytes_behind, seconds_behind=seconds_behind)
    assert _describe_standbys(standbys) == text


@pytest.mark.parametrize(
    ("oldest", "text", "verdict"),
    [
        (119, "1 delivery with an unknown outcome.", Verdict.OK),
        (121, "1 delivery with an unknown outcome. A post has been due for 2 minutes.", Verdict.WARNING),
    ],
)
def test_posts_that_are_late_are_a_warning(oldest: float, text: str, verdict: Verdict) -> None:
    deliveries = {DeliveryState.UNKNOWN: 1, DeliveryState.SENT: 7}
    totals = Totals(drafts={}, deliveries=deliveries, oldest_due=oldest, runs={}, webhook_deliveries=0)
    found = _check_posting(totals)
    assert (found.found, found.verdict) == (text, verdict)
    assert ("five minutes between two posts" in found.advice) is (verdict is Verdict.WARNING)


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ("queued", "The last run is queued."),
        ("running", "The last run is running."),
        ("succeeded", "The last run succeeded."),
        ("cancelled", "The last run was cancelled."),
        ("interrupted", "The last run was interrupted."),
    ],
)
async def test_state_of_the_last_run(tmp_path: Path, status: str, found: str) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.pipeline.queue()
        execute_sql(tmp_path, "UPDATE run SET status = ?", status)
        ((_, message),) = await examine_topic(desk, "pipeline")
    assert message == found
