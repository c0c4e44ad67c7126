"""Tests for the sender when something other than a platform's response goes wrong."""

import asyncio
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from msgspec.structs import replace

from copydesk.desk.publishing import sender
from copydesk.desk.publishing.draft_deliveries import record_delivery
from copydesk.errors import StoreBusyError, StoreFullError
from copydesk.model.delivery import Account
from copydesk.model.requests import ChangeDraft
from copydesk.posting import client
from copydesk.posting.client import PlatformClient
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import LoginError, RefusedPostError
from copydesk.posting.registry import create_platform
from copydesk.store import accounts
from copydesk.text.redaction import DEFAULT_REDACTION
from desk_fixtures import NOW, FakeWeb, Watch, query_db
from fake_blog import InMemorySecrets
from posting_fixtures import ME, connect_account, create_approved_draft, draft_status, fake_platforms, open_posting_desk

MINUTE = timedelta(minutes=1)
PICTURE = "https://pictures.example/a.png"
SECRET = "s3cret-that-nobody-may-see"


class FailingPlatform(FakePlatform):
    """A platform whose `render` raises."""

    def render(self, *_: object) -> None:
        raise ValueError(SECRET)


async def test_unexpected_error_ends_after_retries(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, {"fake": FailingPlatform(server)}, clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        assert (await desk.posting.post(draft_id, wait=0.5)).under_way == (ME,)
        await desk.posting.drain()
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.says.startswith("Unexpected error: ValueError. Next attempt at")
        for _ in range(4):
            watch.now += 39 * MINUTE
            await desk.posting.send_due()
        assert await draft_status(desk, draft_id) == "approved"


async def test_busy_database_before_sending_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)

        async def busy(*_: object) -> None:
            raise StoreBusyError("Another program holds the database.")

        with monkeypatch.context() as patch:
            patch.setattr(sender, "load_payload", busy)
            with pytest.raises(StoreBusyError):
                await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.situation == "waiting"
        await desk.posting.send_due()
        assert await draft_status(desk, draft_id) == "posted"


async def test_image_is_not_loaded_before_its_server_allows(tmp_path: Path) -> None:
    web = FakeWeb()
    web.fail(PICTURE, 503, retry_after="900")
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        desk._context.transport = web
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, images=[{"url": PICTURE, "source": "UPLOAD", "alt": "A ferry."}])
        await desk.posting.post(draft_id, wait=0)
        await desk.posting.drain()
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.retry_after == NOW + 15 * MINUTE


async def test_full_disk_after_sending_does_not_claim_that_nothing_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = FakeServer()

    def record(*args: object) -> object:
        if server.posts:
            raise StoreFullError
        return record_delivery(*args)

    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        monkeypatch.setattr(sender, "record_delivery", record)
        with pytest.raises(StoreFullError) as raised:
            await desk.posting.post(draft_id)
        assert str(raised.value) == (
            "The disk is full. Posts may be online already; nothing is sent again before that is checked. "
            f"See: copydesk delivery list {draft_id}"
        )
    assert len(server.posts) == 1


@pytest.mark.parametrize("error", [RefusedPostError, LoginError])
async def test_secret_in_error_message_is_redacted(tmp_path: Path, error: type[Exception]) -> None:
    class LeakingPlatform(FakePlatform):
        async def send(self, *_: object) -> None:
            raise error(f"Malformed access token {SECRET}")

        metrics = check = send

    DEFAULT_REDACTION.add(SECRET)
    async with open_posting_desk(tmp_path, {"fake": LeakingPlatform(FakeServer())}) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert "Malformed access token" in report.says
        with pytest.raises(error):
            await desk.accounts.check(ME)
    assert SECRET not in str(query_db(tmp_path, "SELECT progress FROM delivery"))
    assert SECRET not in str(query_db(tmp_path, "SELECT says FROM delivery_event"))
    assert SECRET not in str(query_db(tmp_path, "SELECT error_message FROM engagement"))
    assert SECRET not in str(query_db(tmp_path, "SELECT trouble FROM account"))


class EchoTransport(httpx.AsyncBaseTransport):
    """Grants a session, and repeats every other request in the error of its response."""

    def __init__(self) -> None:
        self.tokens: set[str] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("createSession"):
            return httpx.Response(200, json={"did": "me", "handle": "me", "accessJwt": "cd-granted/access-token"})
        self.tokens.add(request.headers["authorization"].rpartition(" ")[2])
        return httpx.Response(
            422, json={"message": str(dict(request.headers)), "errors": [{"message": str(dict(request.headers))}]}
        )


@pytest.mark.parametrize(
    ("name", "format", "secrets"),
    [
        ("bluesky", "SHORT", {"password": "cd-app-password"}),
        ("ghost", "BLOG", {"key": "6489a:" + "0123456789abcdef" * 4}),
    ],
)
async def test_echoed_derived_token_is_not_stored(tmp_path, monkeypatch, caplog, name, format, secrets) -> None:
    monkeypatch.setattr(client, "MAX_ERROR_TEXT", 10_000)
    server = EchoTransport()
    platform = create_platform(name, PlatformClient(server), InMemorySecrets(**secrets), lambda: NOW)
    async with open_posting_desk(tmp_path, {name: platform}) as desk:
        await connect_account(desk, platform=name)
        draft_id = await create_approved_draft(desk, "# Title\n\nOne thing worth saying.", format)
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
    assert "authorization" in report.says
    stored = "".join(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file())
    output = f"{msgspec.json.encode(report)!r}{caplog.text}{stored}"
    assert server.tokens
    assert [token for token in server.tokens if token in output] == []


async def test_send_times_out_before_lease_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeServer()
    monkeypatch.setattr(sender, "SEND_TIMEOUT", 0.01)
    async with open_posting_desk(tmp_path, fake_platforms(server, latency=0.05)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=60)
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert (report.state, "Fake Social did not respond in time." in report.says) == ("unknown", True)
    assert server.posts == ()


async def test_due_post_waits_for_metrics_of_its_account(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    reading, go_on = asyncio.Event(), asyncio.Event()

    class SlowMetrics(FakePlatform):
        async def metrics(self, *args: Any) -> Any:
            reading.set()
            await go_on.wait()
            return await super().metrics(*args)

    async with open_posting_desk(tmp_path, {"fake": SlowMetrics(server)}, clock=watch) as desk:
        await connect_account(desk)
        await desk.posting.post(await create_approved_draft(desk), wait=60)
        draft_id = await create_approved_draft(desk, "Another thing worth saying.")
        await desk.drafts.change(draft_id, ChangeDraft(action="schedule", scheduled_at=watch.now + 60 * MINUTE))
        watch.now += 60 * MINUTE
        collecting = asyncio.create_task(desk.posting.collect_metrics())
        await reading.wait()
        await desk.schedule.due_drafts.dispatch_due()
        sending = asyncio.create_task(desk.posting.send_due())
        await asyncio.wait([sending], timeout=0.05)
        go_on.set()
        await asyncio.gather(collecting, sending)
        assert await draft_status(desk, draft_id) == "posted"


async def test_quiet_period_starts_when_request_was_lost(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LATE)

    class SlowPlatform(FakePlatform):
        async def send(self, *args: object) -> object:
            watch.now += 3 * MINUTE
            return await super().send(*args)

    async with open_posting_desk(tmp_path, {"fake": SlowPlatform(server)}, clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=60)
        for _ in range(8):
            watch.now += timedelta(seconds=10)
            await desk.posting.send_due()
        server.deliver_late_requests()
        watch.now += MINUTE
        await desk.posting.send_due()
        assert await draft_status(desk, draft_id) == "posted"
    assert (len(server.posts), watch.now > NOW) == (1, True)


async def test_interrupted_delivery_can_be_settled_without_login(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(server, latency=30.0), clock=watch) as desk:
        await connect_account(desk)
        (account,) = await desk.accounts.list()
        draft_id = await create_approved_draft(desk)
        post_task = asyncio.create_task(desk.posting.post(draft_id))
        while not query_db(tmp_path, "SELECT 1 FROM delivery WHERE state = 'sending'"):  # noqa: ASYNC110 - polls the database
            await asyncio.sleep(0.01)
        post_task.cancel()
        for task in desk.posting._tasks:
            task.cancel()  # as if the process had been killed
        await desk.posting.drain()
        await desk._context.write(accounts.set_error, account, "The platform no longer recognizes the account.")
        desk._context.platforms.get("fake").latency = 0.0
        server.faults.append(Fault.LOGIN)
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.state == "sending"
        assert (await desk.job_leases.due_work()).to_send
        await desk.posting.send_due()
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.says.startswith("Unknown whether it was posted. The platform no longer recognizes the account")
        assert not (await desk.job_leases.due_work()).to_send
        await desk.posting.mark_posted(report.id)
        assert await draft_status(desk, draft_id) == "posted"


async def test_post_to_account_needing_login_returns_at_once(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        (account,) = await desk.accounts.list()
        await desk._context.write(accounts.set_error, account, "Connect the account again.")
        draft_id = await create_approved_draft(desk)
        async with asyncio.timeout(60):
            assert (await desk.posting.post(draft_id)).under_way == (ME,)
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.says.startswith("Connect the account again. It is sent once you sign in; after ")
        engagement = query_db(tmp_path, "SELECT status, error_message, failed_at IS NULL FROM engagement")
        assert engagement == [("failed", "Connect the account again.", 0)]
        await connect_account(desk)
        await desk.posting.send_due()
        assert await draft_status(desk, draft_id) == "posted"
    assert query_db(tmp_path, "SELECT status, error_message, failed_at FROM engagement") == [("posted", None, None)]


async def test_unknown_outcome_is_recorded(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.LATE)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=60)
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.says.startswith("Unknown whether it was posted. The connection was interrupted. The account")
    message = "It is unknown whether it was posted. The connection was interrupted."
    assert query_db(tmp_path, "SELECT status, error_message FROM engagement") == [("pending", message)]


async def test_rendering_runs_outside_event_loop_thread(tmp_path: Path) -> None:
    threads: list[threading.Thread] = []

    class RecordingPlatform(FakePlatform):
        def validate(self, *args: object) -> object:
            threads.append(threading.current_thread())
            return super().validate(*args)

        def render(self, *args: object) -> object:
            threads.append(threading.current_thread())
            return super().render(*args)

    async with open_posting_desk(tmp_path, {"fake": RecordingPlatform(FakeServer())}) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, "# One\n\nThing worth saying.", "BLOG")
        assert await desk.posting.blockers(draft_id) == ()
        assert (await desk.posting.post(draft_id)).posted == (ME,)
    assert len(threads) == 3
    assert threading.main_thread() not in threads


async def test_reconnected_account_is_not_blocked_by_old_credentials(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.LOGIN)

    class ReconnectingPlatform(FakePlatform):
        async def send(self, *args: object) -> object:
            await connect_account(desk, now=NOW + MINUTE)
            return await super().send(*args)

    async with open_posting_desk(tmp_path, {"fake": ReconnectingPlatform(server)}) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=60)
        (account,) = await desk.accounts.list()
        assert account.login_error is None
        await desk.posting.send_due()
        assert await draft_status(desk, draft_id) == "posted"


async def test_checked_account_has_fresh_details(tmp_path: Path) -> None:
    class RenamedPlatform(FakePlatform):
        async def check(self, account: Account) -> Account:
            return replace(account, name="renamed")

    async with open_posting_desk(tmp_path, {"fake": RenamedPlatform(FakeServer())}) as desk:
        await connect_account(desk)
        checked = await desk.accounts.check(ME)
        assert (checked.details.name, checked) == ("renamed", (await desk.accounts.list())[0])
