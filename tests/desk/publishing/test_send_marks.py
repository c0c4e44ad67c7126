"""Tests that a database that went back is noticed, and that nothing else is taken for it."""

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.credentials.backends import BackendKind
from copydesk.desk import Desk
from copydesk.desk.publishing.send_marks import MAX_MARKS, Rollback, SendMark, SendMarks, trim_marks
from copydesk.errors import StoreError
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import DeliveryGuarantees
from desk_fixtures import NOW, Watch, execute_sql, query_db
from posting_fixtures import ME, connect_account, create_approved_draft, draft_status, open_posting_desk
from store_fixtures import postgresql_server
from vault_fixtures import MemoryKeyring

MINUTE = timedelta(minutes=1)
UNREADABLE = DeliveryGuarantees(can_read_back=False)
MESSAGE = "The database was restored or copied, or this machine has not posted before, so this may already be posted."


class Setup:
    """A desk in `home` with one account; `server` outlives it."""

    def __init__(self, home: Path, guarantees: DeliveryGuarantees = DeliveryGuarantees()) -> None:  # noqa: B008 - frozen
        self.home, self.watch, self.server = home, Watch(), FakeServer()
        self.platform = FakePlatform(self.server, guarantees=guarantees)
        self.texts = iter(f"Post number {number}." for number in range(99))

    def open(self):
        return open_posting_desk(self.home, {"fake": self.platform}, clock=self.watch)

    async def send(self, desk: Desk) -> str:
        """Post a new draft a minute later; return its id."""
        self.watch.now += MINUTE
        draft_id = await create_approved_draft(desk, next(self.texts))
        assert (await desk.posting.post(draft_id)).posted == (ME,)
        return draft_id

    def back_up(self) -> Path:
        copy = self.home / f"copy-{len(list(self.home.iterdir()))}.db"
        if (server := postgresql_server()) is not None:
            server.dump(self.home, copy)
            return copy
        with closing(sqlite3.connect(self.home / "copydesk.db")) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        return copy

    def restore(self, copy: Path) -> None:
        if (server := postgresql_server()) is not None:
            server.restore(self.home, copy)
            return
        for path in self.home.glob("copydesk.db*"):
            path.unlink()
        shutil.copy(copy, self.home / "copydesk.db")

    @property
    def marks(self) -> Path:
        return self.home / "sends.json"


async def find_rollback(desk: Desk) -> Rollback | None:
    return await SendMarks(desk._context).find_rollback()


@pytest.fixture
async def setup(tmp_path: Path) -> Setup:
    """A desk that posted twice."""
    setup = Setup(tmp_path)
    async with setup.open() as desk:
        await connect_account(desk)
        await setup.send(desk)
        await setup.send(desk)
    return setup


async def test_database_that_moved_on_is_no_rollback(setup: Setup) -> None:
    async with setup.open() as desk:
        assert await find_rollback(desk) is None
        await setup.send(desk)
        assert await find_rollback(desk) is None
    setup.restore(setup.back_up())
    async with setup.open() as desk:
        assert await find_rollback(desk) is None


async def test_older_copy_is_noticed_with_the_time_it_lacks(setup: Setup) -> None:
    copy = setup.back_up()
    async with setup.open() as desk:
        await setup.send(desk)
        await setup.send(desk)
    setup.restore(copy)
    async with setup.open() as desk:
        for _ in range(2):
            assert await find_rollback(desk) == Rollback(since=NOW + 2 * MINUTE, until=NOW + 4 * MINUTE)


async def test_rollback_is_remembered_after_new_posts(setup: Setup) -> None:
    copy = setup.back_up()
    async with setup.open() as desk:
        await setup.send(desk)
    setup.restore(copy)
    setup.watch.now += 9 * MINUTE
    async with setup.open() as desk:
        await setup.send(desk)
        assert await find_rollback(desk) == Rollback(since=NOW + 2 * MINUTE, until=NOW + 3 * MINUTE)


async def test_undone_restore_is_no_rollback(setup: Setup) -> None:
    older = setup.back_up()
    async with setup.open() as desk:
        await setup.send(desk)
    newer = setup.back_up()
    setup.restore(older)
    async with setup.open() as desk:
        assert await find_rollback(desk) is not None
    setup.restore(newer)
    async with setup.open() as desk:
        assert await find_rollback(desk) is None


async def test_restore_to_before_the_first_post_is_noticed(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    async with setup.open() as desk:
        await connect_account(desk)
        copy = setup.back_up()
        await setup.send(desk)
    setup.restore(copy)
    async with setup.open() as desk:
        assert await find_rollback(desk) == Rollback(since=None, until=NOW + MINUTE)


async def test_killed_between_commit_and_mark_is_no_rollback(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise asyncio.CancelledError

    async with setup.open() as desk:
        with monkeypatch.context() as patch:
            patch.setattr(SendMarks, "record", die)
            with pytest.raises(asyncio.CancelledError):
                await setup.send(desk)
    assert query_db(setup.home, "SELECT state FROM delivery ORDER BY id DESC LIMIT 1") == [("sending",)]
    assert len(json.loads(setup.marks.read_text())["desks"].popitem()[1]) == 2
    async with setup.open() as desk:
        assert await find_rollback(desk) is None


async def test_copy_without_marks_is_noticed_once(setup: Setup) -> None:
    setup.marks.unlink()
    setup.watch.now += 9 * MINUTE
    async with setup.open() as desk:
        for _ in range(2):
            assert await find_rollback(desk) == Rollback(
                since=NOW + 2 * MINUTE, until=NOW + 11 * MINUTE, without_marks=True
            )
            setup.watch.now += MINUTE


async def test_damaged_marks_count_as_missing(setup: Setup) -> None:
    setup.marks.write_text('{"desks": 3}')
    async with setup.open() as desk:
        assert await find_rollback(desk) is not None


@pytest.mark.sqlite("the header of the file")
async def test_database_of_an_older_version_is_no_rollback(setup: Setup) -> None:
    setup.marks.unlink()
    execute_sql(setup.home, "PRAGMA user_version = 0")
    async with setup.open() as desk:
        assert await find_rollback(desk) is None
        await setup.send(desk)
        assert await find_rollback(desk) is None


@pytest.mark.sqlite("files in one folder")
async def test_another_desk_in_the_same_folder_has_its_own_marks(setup: Setup) -> None:
    old = setup.back_up()
    for path in setup.home.glob("copydesk.db*"):
        path.unlink()
    async with setup.open() as desk:
        await connect_account(desk)
        await setup.send(desk)
        assert await find_rollback(desk) is None
    setup.restore(old)
    async with setup.open() as desk:
        assert await find_rollback(desk) is None


async def test_marks_that_cannot_be_written_keep_the_post(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise StoreError("Cannot write the marks. Nothing was sent.")

    async with setup.open() as desk:
        with monkeypatch.context() as patch:
            patch.setattr(SendMarks, "_write_file", fail)
            with pytest.raises(StoreError):
                await setup.send(desk)
        assert len(setup.server.posts) == 2
        (report,) = await desk.posting.list_unsettled()
        assert (report.state, report.situation) == ("planned", "waiting")
        await desk.posting.send_due()
    assert len(setup.server.posts) == 3


async def test_marks_in_the_keyring_tell_when_the_file_went_back(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = MemoryKeyring()
    monkeypatch.setattr("copydesk.credentials.vault.Vault._find_kind", lambda _: BackendKind.KEYRING)
    async with setup.open() as desk:
        desk._context.vault._find_keyring = lambda: keyring
        copy, marks = setup.back_up(), setup.marks.read_bytes()
        await setup.send(desk)
    assert len(keyring.passwords) == 1
    setup.restore(copy)
    setup.marks.write_bytes(marks)
    async with setup.open() as desk:
        desk._context.vault._find_keyring = lambda: keyring
        assert await find_rollback(desk) == Rollback(since=NOW + 2 * MINUTE, until=NOW + 3 * MINUTE)


async def test_rollback_that_appears_while_sending_is_noticed(setup: Setup) -> None:
    async with setup.open() as desk:
        draft_id = await create_approved_draft(desk, "Sent with care.")
        database = desk._context.database
        write_durable = database.write_durable

        async def add_unknown_mark_before(work: Callable[..., object], *args: object, **kwargs: object) -> object:
            if work.__name__ == "_record_start":
                content = json.loads(setup.marks.read_text())
                (marks,) = content["desks"].values()
                marks.append({"at": "2026-02-10T12:30:00Z", "deliveryId": "lost"})
                setup.marks.write_text(json.dumps(content))
            return await write_durable(work, *args, **kwargs)

        database.write_durable = add_unknown_mark_before
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert (report.state, MESSAGE in report.says) == ("unknown", True)
    assert len(setup.server.posts) == 2


async def test_database_replaced_in_place_sends_nothing(setup: Setup) -> None:
    """As with `.restore` of the sqlite3 shell, which keeps the file."""
    async with setup.open() as desk:
        draft_id = await create_approved_draft(desk, "Lost.")
        copy = setup.back_up()
        await desk.posting.post(draft_id)
        if postgresql_server() is not None:
            setup.restore(copy)
        else:
            with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(setup.home / "copydesk.db")) as live:
                source.backup(live)
        await desk.posting.post(draft_id)
    assert [post.text for post in setup.server.posts].count("Lost.") == 1


async def test_draft_that_was_not_posted_is_sent_after_lookups(setup: Setup) -> None:
    async with setup.open() as desk:
        draft_id = await create_approved_draft(desk, "Not posted before.")
        copy = setup.back_up()
        await setup.send(desk)
    setup.restore(copy)
    async with setup.open() as desk:
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.says.startswith(f"Unknown whether it was posted. {MESSAGE} The account is checked at")
        for _ in range(3):
            setup.watch.now += 2 * MINUTE
            await desk.posting.send_due()
        assert await draft_status(desk, draft_id) == "posted"
    assert [post.text for post in setup.server.posts].count("Not posted before.") == 1


async def test_new_draft_is_sent_at_once_after_a_restore(setup: Setup) -> None:
    copy = setup.back_up()
    async with setup.open() as desk:
        await setup.send(desk)
    setup.restore(copy)
    setup.watch.now += 9 * MINUTE
    async with setup.open() as desk:
        await setup.send(desk)


@pytest.mark.parametrize("answer", ["again", "posted", "drop"])
async def test_user_decides_where_nothing_can_be_read(tmp_path: Path, answer: str) -> None:
    setup = Setup(tmp_path, UNREADABLE)
    async with setup.open() as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, "Held.")
        copy = setup.back_up()
        await setup.send(desk)
    setup.restore(copy)
    setup.watch.now += 9 * MINUTE
    setup.server.faults.append(Fault.CUT_BEFORE)
    async with setup.open() as desk:
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.state == "needs_user"
        assert MESSAGE in report.says
        short_id = report.id[-6:]
        assert f"copydesk delivery posted {short_id}, or copydesk delivery resend {short_id}" in report.says
        posting = desk.posting
        action = {"again": posting.resend, "posted": posting.mark_posted, "drop": posting.give_up}[answer]
        await action(report.id)
        assert await draft_status(desk, draft_id) == ("approved" if answer == "drop" else "posted")
    assert len(setup.server.posts) == (2 if answer == "again" else 1)


async def test_released_delivery_is_not_held_again(tmp_path: Path) -> None:
    setup = Setup(tmp_path, UNREADABLE)
    async with setup.open() as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, "Held.")
        copy = setup.back_up()
        await setup.send(desk)
    setup.restore(copy)
    setup.watch.now += 9 * MINUTE
    async with setup.open() as desk:
        setup.server.faults.append(Fault.CUT_BEFORE)
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        setup.server.faults.append(Fault.REFUSED)
        assert (await desk.posting.resend(report.id)).state == "failed"
        assert (await desk.posting.post(draft_id)).posted == (ME,)


def test_kept_marks_cover_all_accounts_and_both_ends_of_what_is_lost() -> None:
    marks = [SendMark(at=NOW + number * MINUTE, delivery_id="d") for number in range(50)]
    assert trim_marks(marks, marks) == tuple(marks[-MAX_MARKS:])
    assert trim_marks(marks, marks[40:]) == (marks[0], marks[39], *marks[40:])
