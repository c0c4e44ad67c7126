"""The one path to the platforms, where something goes wrong on it that no platform answers with."""

import asyncio
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import sending
from copydesk.errors import StoreBusyError
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import LoginError, RefusedPostError
from copydesk.secrets.redaction import KNOWN
from copydesk.store import accounts
from desk_fixtures import NOW, Watch, rows
from posting_fixtures import ME, approved, connect, fake, open_posting, status_of

MINUTE = timedelta(minutes=1)
SECRET = "s3cret-that-nobody-may-see"


class Broken(FakePlatform):
    """It cannot say what it would send."""

    def render(self, *_: object) -> None:
        raise ValueError(SECRET)


async def test_what_cannot_be_settled_holds_nothing_up_and_ends(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting(tmp_path, {"fake": Broken(server)}, clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        assert (await desk.posting.post(draft, wait=0.5)).under_way == (ME,)
        (report,) = await desk.posting.deliveries(draft)
        assert report.says.startswith("Copydesk did not expect this: ValueError. Next try at")
        for _ in range(4):
            watch.now += 39 * MINUTE
            await desk.posting.send_due()
        assert await status_of(desk, draft) == "approved"


async def test_a_database_that_is_busy_before_anything_is_sent_leaves_it_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        draft = await approved(desk)

        async def busy(*_: object) -> None:
            raise StoreBusyError("Another program holds the database.")

        with monkeypatch.context() as patch:
            patch.setattr(sending, "material_of", busy)
            with pytest.raises(StoreBusyError):
                await desk.posting.post(draft)
        (report,) = await desk.posting.deliveries(draft)
        assert report.says == "Waits to be sent."
        await desk.posting.send_due()
        assert await status_of(desk, draft) == "posted"


@pytest.mark.parametrize("error", [RefusedPostError, LoginError])
async def test_a_key_that_a_platform_says_is_not_kept(tmp_path: Path, error: type[Exception]) -> None:
    class Talkative(FakePlatform):
        async def send(self, *_: object) -> None:
            raise error(f"Malformed access token {SECRET}")

        figures = check = send

    KNOWN.add(SECRET)
    async with open_posting(tmp_path, {"fake": Talkative(FakeServer())}) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft)
        (report,) = await desk.posting.deliveries(draft)
        assert "Malformed access token" in report.says
        with pytest.raises(error):
            await desk.accounts.check(ME)
    assert SECRET not in str(rows(tmp_path, "SELECT progress FROM delivery"))
    assert SECRET not in str(rows(tmp_path, "SELECT says FROM delivery_event"))
    assert SECRET not in str(rows(tmp_path, "SELECT error_message FROM engagement"))
    assert SECRET not in str(rows(tmp_path, "SELECT trouble FROM account"))


async def test_sending_ends_before_anybody_else_may_take_the_account_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = FakeServer()
    monkeypatch.setattr(sending, "LONGEST", 0.01)
    async with open_posting(tmp_path, fake(server, latency=0.05)) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft, wait=60)
        (report,) = await desk.posting.deliveries(draft)
        assert report.state == "unknown"
    assert server.posts == ()


async def test_the_quiet_begins_when_the_request_was_lost_and_not_when_its_pictures_went(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LATE)

    class Slow(FakePlatform):
        async def send(self, *asked: object) -> object:
            watch.now += 3 * MINUTE
            return await super().send(*asked)

    async with open_posting(tmp_path, {"fake": Slow(server)}, clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft, wait=60)
        for _ in range(8):
            watch.now += timedelta(seconds=10)
            await desk.posting.send_due()
        server.arrive()
        watch.now += MINUTE
        await desk.posting.send_due()
        assert await status_of(desk, draft) == "posted"
    assert (len(server.posts), watch.now > NOW) == (1, True)


async def test_what_was_broken_off_can_be_settled_though_the_account_needs_a_login(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting(tmp_path, fake(server, latency=30.0), clock=watch) as desk:
        await connect(desk)
        (account,) = await desk.accounts.list()
        draft = await approved(desk)
        posting = asyncio.create_task(desk.posting.post(draft))
        while not rows(tmp_path, "SELECT 1 FROM delivery WHERE state = 'sending'"):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
        posting.cancel()
        for task in desk.posting._under_way:
            task.cancel()  # as when the process is killed
        await desk.posting.finish()
        await desk.ground.write(accounts.set_trouble, account, "The platform does not know the account any more.")
        desk.ground.platform("fake")._latency = 0.0
        server.faults.append(Fault.LOGIN)
        (report,) = await desk.posting.deliveries(draft)
        assert report.state == "sending"
        assert (await desk.work.outlook()).to_send
        await desk.posting.send_due()
        (report,) = await desk.posting.deliveries(draft)
        assert report.says.startswith("Not known whether it was posted. The platform does not know the account")
        assert not (await desk.work.outlook()).to_send
        await desk.posting.mark_posted(report.id)
        assert await status_of(desk, draft) == "posted"


async def test_a_post_to_an_account_that_needs_a_login_says_so_at_once(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        (account,) = await desk.accounts.list()
        await desk.ground.write(accounts.set_trouble, account, "Connect the account again.")
        draft = await approved(desk)
        async with asyncio.timeout(60):
            assert (await desk.posting.post(draft)).under_way == (ME,)
        (report,) = await desk.posting.deliveries(draft)
        assert report.says == "Connect the account again."
        told = rows(tmp_path, "SELECT status, error_message, failed_at IS NULL FROM engagement")
        assert told == [("failed", "Connect the account again.", 0)]
        await connect(desk)
        await desk.posting.send_due()
        assert await status_of(desk, draft) == "posted"
    assert rows(tmp_path, "SELECT status, error_message, failed_at FROM engagement") == [("posted", None, None)]


async def test_an_outcome_that_is_not_known_is_told_as_that(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.LATE)
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft, wait=60)
        (report,) = await desk.posting.deliveries(draft)
        assert report.says.startswith("Not known whether it was posted. The connection broke before an answer came. We")
    says = "It is not known whether it was posted. The connection broke before an answer came."
    assert rows(tmp_path, "SELECT status, error_message FROM engagement") == [("pending", says)]


async def test_nothing_stands_still_while_an_article_is_made_into_a_page(tmp_path: Path) -> None:
    threads: list[threading.Thread] = []

    class Slow(FakePlatform):
        def problems(self, *asked: object) -> object:
            threads.append(threading.current_thread())
            return super().problems(*asked)

        def render(self, *asked: object) -> object:
            threads.append(threading.current_thread())
            return super().render(*asked)

    async with open_posting(tmp_path, {"fake": Slow(FakeServer())}) as desk:
        await connect(desk)
        draft = await approved(desk, "# One\n\nThing worth saying.", "BLOG")
        assert await desk.posting.stops(draft) == ()
        assert (await desk.posting.post(draft)).posted == (ME,)
    assert len(threads) == 3
    assert threading.main_thread() not in threads


async def test_an_account_that_was_connected_again_meanwhile_is_not_held_back_by_its_old_key(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.LOGIN)

    class Slow(FakePlatform):
        async def send(self, *asked: object) -> object:
            await connect(desk, now=NOW + MINUTE)
            return await super().send(*asked)

    async with open_posting(tmp_path, {"fake": Slow(server)}) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft, wait=60)
        (account,) = await desk.accounts.list()
        assert account.trouble is None
        await desk.posting.send_due()
        assert await status_of(desk, draft) == "posted"
