"""Tests for webhooks: signatures, retries, what is sent to whom, and where the secret is kept."""

import asyncio
import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.credentials.vault import FOLDER_NAME
from copydesk.desk.backups import restore_desk
from copydesk.desk.doctor import Verdict, examine
from copydesk.desk.webhooks import sender
from copydesk.desk.webhooks.sender import DISABLE_AFTER, MAX_PAUSE, RETRY_DELAYS, result_of_attempt
from copydesk.desk.webhooks.service import MAX_WEBHOOKS
from copydesk.desk.webhooks.signature import new_secret, signed_headers
from copydesk.errors import ConflictError, InvalidCursorError, InvalidError, NotFoundError, StoreBusyError, StoreError
from copydesk.jobs import Jobs
from copydesk.model.event import Event, EventType
from copydesk.model.page import encode_cursor
from copydesk.store import webhooks
from copydesk.store.webhooks import PendingDelivery, WebhookTarget
from desk_fixtures import NOW, Watch, execute_sql, open_desk_at, query_db, settings_at
from desks_fixtures import open_desks_at
from draft_consistency import insert_drafts
from feed_server import FeedServer

URL = "https://hooks.example/copydesk"
OTHER_URL = "https://other.example/"
SECOND = timedelta(seconds=1)
TARGET = WebhookTarget(id="w", url=URL, secret=None, failures=0, failing_since=None)


class Receiver(httpx.AsyncBaseTransport):
    """Servers that answer with prepared statuses, else 204, and record what they get."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.answers: dict[str, list[httpx.Response | BaseException]] = {}
        self.on_request: Callable[[], Awaitable[object]] | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        if self.on_request is not None:
            await self.on_request()
        answers = self.answers.get(str(request.url), [])
        answer = answers.pop(0) if answers else httpx.Response(204, stream=httpx.ByteStream(b""))
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def fail(self, url: str, *statuses: int, **headers: str) -> None:
        for status in statuses:
            response = httpx.Response(status, headers=headers, stream=httpx.ByteStream(b"no"))
            self.answers.setdefault(url, []).append(response)

    def bodies(self, url: str = URL) -> list[dict[str, object]]:
        return [json.loads(request.content) for request in self.requests if str(request.url) == url]


def verify(secret: str, request: httpx.Request) -> bool:
    """Return True if the signature is right, as the specification describes it."""
    headers = request.headers
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{request.content.decode()}".encode()
    expected = b64encode(hmac.new(b64decode(secret.split("_")[1]), signed, "sha256").digest()).decode()
    return f"v1,{expected}" in headers["webhook-signature"].split(" ")


def test_published_test_vector():
    """The one of the reference libraries (standard-webhooks/standard-webhooks, libraries/*/tests)."""
    headers = signed_headers(
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        b'{"test": 2432232314}',
        datetime.fromtimestamp(1614265330, UTC),
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_secrets_are_long_and_differ():
    assert len(b64decode(new_secret().removeprefix("whsec_"))) == 32
    assert new_secret() != new_secret()


async def test_signed_event_arrives(tmp_path):
    receiver = Receiver()
    async with open_desk_at(tmp_path, receiver) as desk:
        created = await desk.webhooks.create({"url": URL})
        (draft_id,) = await insert_drafts(desk, ["pending_review"])
        assert (await desk.webhooks.send_due()).attempts == 1
        (request,) = receiver.requests
        (body,) = receiver.bodies()
        assert (body["type"], body["data"]["draftId"]) == ("draft.created", draft_id)
        assert verify(created.secret, request)
        assert request.headers["content-type"] == "application/json"
        assert request.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
        (delivery,) = (await desk.webhooks.list_deliveries(created.id)).items
        assert (delivery.status, delivery.error, delivery.attempts, delivery.next_attempt_at) == (204, None, 1, None)
        assert delivery.delivered_at == NOW
        assert (await desk.webhooks.send_due()).attempts == 0


async def test_only_chosen_types_are_sent_in_order(tmp_path):
    receiver = Receiver()
    async with open_desk_at(tmp_path, receiver) as desk:
        await desk.webhooks.create({"url": URL, "types": ["draft.changed"]})
        await desk.webhooks.create({"url": OTHER_URL})
        ids = await insert_drafts(desk, ["pending_review"] * 3)
        await desk.drafts.bulk({"action": "approve", "ids": ids})
        await desk.webhooks.send_due()
        assert [body["data"]["draftId"] for body in receiver.bodies()] == ids
        assert [body["id"] for body in receiver.bodies(OTHER_URL)] == [1, 2, 3, 4, 5, 6]


async def test_failed_attempt_is_repeated_under_the_same_id(tmp_path):
    receiver, watch = Receiver(), Watch()
    receiver.fail(URL, 500)
    async with open_desk_at(tmp_path, receiver, watch) as desk:
        created = await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"])
        await desk.webhooks.send_due()
        (delivery,) = (await desk.webhooks.list_deliveries(created.id)).items
        assert (delivery.status, delivery.next_attempt_at) == (500, watch.now + RETRY_DELAYS[0])
        assert delivery.error == "The server answered with status 500 (internal server error)."
        assert (await desk.webhooks.get(created.id)).failing_since == watch.now
        watch.now += RETRY_DELAYS[0] - SECOND
        assert (await desk.webhooks.send_due()).attempts == 0
        watch.now += SECOND
        assert (await desk.webhooks.send_due()).attempts == 1
        first, second = receiver.requests
        assert first.headers["webhook-id"] == second.headers["webhook-id"]
        assert first.content == second.content
        assert first.headers["webhook-timestamp"] != second.headers["webhook-timestamp"]
        assert verify(created.secret, second)
        assert (await desk.webhooks.get(created.id)).failing_since is None


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.ConnectError("refused"), "hooks.example"),
        (httpx.Response(302, headers={"location": OTHER_URL}, stream=httpx.ByteStream(b"")), "status 302"),
    ],
)
async def test_unusable_answer_is_a_failure(tmp_path, answer, error):
    receiver = Receiver()
    receiver.answers[URL] = [answer]
    async with open_desk_at(tmp_path, receiver) as desk:
        created = await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"])
        await desk.webhooks.send_due()
        (delivery,) = (await desk.webhooks.list_deliveries(created.id)).items
        assert delivery.delivered_at is None
        assert error in delivery.error
        assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(200, stream=httpx.ByteStream(b"a" * 200_000)),
        httpx.Response(200, headers={"content-encoding": "br"}, stream=httpx.ByteStream(b"a")),
    ],
    ids=["large", "unknown compression"],
)
async def test_body_of_a_response_does_not_matter(tmp_path, response):
    receiver = Receiver()
    receiver.answers[URL] = [response]
    async with open_desk_at(tmp_path, receiver) as desk:
        created = await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"])
        await desk.webhooks.send_due()
        (delivery,) = (await desk.webhooks.list_deliveries(created.id)).items
        assert (delivery.status, delivery.error, delivery.delivered_at) == (200, None, NOW)


async def test_slow_server_does_not_hold_up_later_events_of_others(tmp_path, monkeypatch):
    """The backlog of one webhook takes hours, and the other one has a new event meanwhile."""
    receiver, seconds = Receiver(), 0.0
    monkeypatch.setattr(sender, "monotonic", lambda: seconds)

    async with open_desk_at(tmp_path, receiver) as desk:
        await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"] * 20)
        await desk.webhooks.create({"url": OTHER_URL})

        async def take_long() -> None:
            nonlocal seconds
            seconds += 3.0
            if len(receiver.requests) == 1:
                await desk.drafts.create({"text": "A ferry."})

        receiver.on_request = take_long
        await desk.webhooks.send_due()
        await desk.webhooks.send_due()
        assert len(receiver.bodies(OTHER_URL)) == 1
        assert len(receiver.bodies(URL)) < 20


async def test_restored_desk_sends_new_events_under_new_ids(tmp_path):
    """Its next events get the numbers of later ones, which were sent, and receivers skip what they have."""
    receiver, watch = Receiver(), Watch()
    settings = settings_at(tmp_path)
    async with open_desk_at(tmp_path, receiver, watch) as desk:
        await desk.webhooks.create({"url": URL})
        backup = await desk.backups.create()
        await insert_drafts(desk, ["pending_review"])
        await desk.webhooks.send_due()
    await restore_desk(settings, Path(backup.path))
    watch.now += timedelta(hours=1)
    async with open_desk_at(tmp_path, receiver, watch) as desk:
        await desk.drafts.create({"text": "A ferry."})
        await desk.webhooks.send_due()
    first, second = receiver.requests
    assert [body["id"] for body in receiver.bodies()] == [1, 1]
    assert first.headers["webhook-id"] != second.headers["webhook-id"]


async def test_server_that_is_down_is_asked_once_in_a_while(tmp_path):
    receiver, watch = Receiver(), Watch()
    receiver.fail(URL, *[503] * 100)
    async with open_desk_at(tmp_path, receiver, watch) as desk:
        await desk.webhooks.create({"url": URL})
        await desk.webhooks.create({"url": OTHER_URL})
        await insert_drafts(desk, ["pending_review"] * 250)
        for _ in range(60):
            await desk.webhooks.send_due()
            watch.now += timedelta(minutes=1)
        assert len(receiver.bodies()) <= 18
        assert len(receiver.bodies(OTHER_URL)) == 250


async def test_event_that_is_refused_holds_no_other_up(tmp_path):
    receiver, watch = Receiver(), Watch()
    receiver.fail(URL, 400)
    async with open_desk_at(tmp_path, receiver, watch) as desk:
        await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"] * 3)
        await desk.webhooks.send_due()
        receiver.fail(URL, 200, 200, 400)
        watch.now += RETRY_DELAYS[0]
        await desk.webhooks.send_due()
        assert [body["id"] for body in receiver.bodies()] == [1, 2, 3, 1]


@given(st.integers(0, 30), st.integers(0, 100), st.integers(0, 10**6), st.sampled_from([None, 404, 500]))
def test_retries_follow_the_schedule(attempts, failures, asked, status):
    event = Event(id=1, type=EventType.DRAFT_CREATED, timestamp=NOW, data={})
    target = WebhookTarget(id="w", url=URL, secret=None, failures=failures, failing_since=None)
    delivery, wait = PendingDelivery(event=event, attempts=attempts), timedelta(seconds=asked)
    result = result_of_attempt(target, delivery, NOW, status=status, error="no", wait=wait)
    asked_for = min(wait, timedelta(days=1))
    if attempts < len(RETRY_DELAYS):
        assert result.next_at == NOW + max(RETRY_DELAYS[attempts], asked_for)
    else:
        assert result.next_at is None
    assert asked_for <= result.not_before - NOW <= max(MAX_PAUSE, asked_for)
    assert not result.disabled


async def test_webhook_is_disabled_after_days_of_failures(tmp_path):
    receiver, watch = Receiver(), Watch()
    receiver.fail(URL, *[500] * 1000)
    async with open_desk_at(tmp_path, receiver, watch) as desk:
        created = await desk.webhooks.create({"url": URL})
        await desk.webhooks.create({"url": OTHER_URL})
        await insert_drafts(desk, ["pending_review"])
        end = watch.now + DISABLE_AFTER
        disabled = []
        while watch.now < end + timedelta(hours=1):
            disabled += (await desk.webhooks.send_due()).disabled
            watch.now += timedelta(hours=1)
            await desk.drafts.create({"text": "A ferry."})
        assert [webhook.id for webhook in disabled] == [created.id]
        assert (await desk.webhooks.get(created.id)).disabled_at == end
        requests = len(receiver.bodies())
        await desk.webhooks.send_due()
        assert len(receiver.bodies()) == requests
        assert [body["data"] for body in receiver.bodies(OTHER_URL) if body["type"] == "webhook.disabled"] == [
            {"webhookId": created.id, "failures": requests}
        ]
        assert all(delivery.next_attempt_at is None for delivery in (await all_deliveries(desk, created.id)))
    settings = settings_at(tmp_path)
    (finding,) = [
        finding
        for finding in await examine(settings, lambda: open_desk_at(tmp_path, receiver, watch))
        if finding.what == "webhooks"
    ]
    assert finding.verdict is Verdict.WARNING
    assert URL in finding.found


async def all_deliveries(desk, webhook_id):
    found, cursor = [], None
    while True:
        page = await desk.webhooks.list_deliveries(webhook_id, 100, cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


async def test_server_that_is_gone_is_not_asked_again(tmp_path):
    receiver = Receiver()
    receiver.fail(URL, 410)
    async with open_desk_at(tmp_path, receiver) as desk:
        created = await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"])
        assert [webhook.id for webhook in (await desk.webhooks.send_due()).disabled] == [created.id]


async def test_killed_sender_sends_again(tmp_path):
    """The request arrived, and the process died before it stored that."""
    receiver = Receiver()
    receiver.answers[URL] = [asyncio.CancelledError()]
    async with open_desk_at(tmp_path, receiver) as desk:
        await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"])
        with pytest.raises(asyncio.CancelledError):
            await desk.webhooks.send_due()
    async with open_desk_at(tmp_path, receiver) as desk:
        await desk.webhooks.send_due()
    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]


async def test_error_of_the_database_is_raised_after_all_have_ended(tmp_path, monkeypatch):
    receiver, failed = Receiver(), asyncio.Event()
    async with open_desk_at(tmp_path, receiver) as desk:
        await desk.webhooks.create({"url": URL})
        await desk.webhooks.create({"url": OTHER_URL})
        await insert_drafts(desk, ["pending_review"] * 3)
        receiver.on_request = failed.wait
        read = desk._context.read

        async def fail_once(load, *values):
            if load is webhooks.list_due and not failed.is_set():
                failed.set()
                raise StoreBusyError
            return await read(load, *values)

        monkeypatch.setattr(desk._context, "read", fail_once)
        with pytest.raises(StoreBusyError):
            await desk.webhooks.send_due()
        assert sorted(len(receiver.bodies(url)) for url in (URL, OTHER_URL)) == [0, 3]
        assert (await desk.webhooks.send_due()).attempts == 3


async def test_job_sends_events(tmp_path):
    receiver = Receiver()
    async with open_desk_at(tmp_path, receiver) as desk:
        await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"])
        messages = []
        jobs = Jobs(desk, listener=messages.append)
        await jobs.tick()
        await jobs.drain()
        await jobs.stop()
        assert len(receiver.requests) == 1
        assert messages == []


async def test_webhooks_belong_to_their_user(tmp_path):
    receiver = Receiver()
    async with open_desks_at(tmp_path, receiver) as desks:
        owner, anna = await desks.get(desks.owner), await desks.get(await desks.users.add("anna"))
        created = await anna.webhooks.create({"url": URL})
        await owner.drafts.create({"text": "A ferry."})
        assert (await anna.webhooks.send_due()).attempts == 0
        assert await owner.webhooks.list() == ()
        for refused in (
            owner.webhooks.get(created.id),
            owner.webhooks.remove(created.id),
            owner.webhooks.list_deliveries(created.id),
        ):
            with pytest.raises(NotFoundError) as unknown:
                await refused
            assert str(unknown.value).startswith(f"No webhook {created.id!r}.")
        assert len(await anna.webhooks.list()) == 1


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({}, "url"),
        ({"url": "ftp://hooks.example"}, "url"),
        ({"url": "http://localhost:8080/"}, "url"),
        ({"url": "http://10.0.0.1/"}, "url"),
        ({"url": "http://0x7f.1/"}, "url"),
        ({"url": "https://user:password@hooks.example/"}, "url"),
        ({"url": URL, "types": ["draft.eaten"]}, "types[0]"),
        ({"url": URL, "types": []}, "types"),
        ({"url": URL, "secret": "x"}, "secret"),
    ],
)
async def test_invalid_webhook_is_refused(tmp_path, request_, field):
    async with open_desk_at(tmp_path) as desk:
        with pytest.raises(InvalidError) as invalid:
            await desk.webhooks.create(request_)
        assert [error.field for error in invalid.value.errors] == [field]
        assert await desk.webhooks.list() == ()


async def test_private_address_is_allowed_by_setting(tmp_path):
    async with open_desk_at(tmp_path, network__allow_private="true") as desk:
        assert (await desk.webhooks.create({"url": "http://10.0.0.1/"})).types is None


@pytest.mark.parametrize("url", ["http://exa!mple/", "http://10.0.0.1:0/"])
async def test_address_that_cannot_be_requested_is_refused(tmp_path, url):
    async with open_desk_at(tmp_path, network__allow_private="true") as desk:
        with pytest.raises(InvalidError, match="not a web address"):
            await desk.webhooks.create({"url": url})


async def test_event_arrives_at_name_with_emoji(tmp_path):
    receiver = Receiver()
    async with open_desk_at(tmp_path, receiver) as desk:
        await desk.webhooks.create({"url": "https://☃.example/"})
        await insert_drafts(desk, ["pending_review"])
        await desk.webhooks.send_due()
    assert [str(request.url) for request in receiver.requests] == ["https://xn--n3h.example/"]


async def test_private_address_is_refused_when_sending(tmp_path):
    """A name may lead to another address than when the webhook was created."""
    with FeedServer() as server:
        async with open_desk_at(tmp_path) as desk:
            created = await desk.webhooks.create({"url": URL})
            execute_sql(tmp_path, "UPDATE webhook SET url = ?", server.url("/hook"))
            await insert_drafts(desk, ["pending_review"])
            await desk.webhooks.send_due()
            (delivery,) = (await desk.webhooks.list_deliveries(created.id)).items
            assert "is not a public address" in delivery.error
            assert server.requests_for("/hook") == []


async def test_number_of_webhooks_is_limited(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        for number in range(MAX_WEBHOOKS):
            await desk.webhooks.create({"url": f"{URL}/{number}"})
        with pytest.raises(ConflictError, match="the most allowed"):
            await desk.webhooks.create({"url": URL})
        with pytest.raises(ConflictError, match="already a webhook with this URL"):
            await desk.webhooks.create({"url": f"{URL}/0"})


@pytest.mark.sqlite("bytes of the file")
async def test_secret_is_kept_in_the_vault_if_there_is_one(tmp_path):
    options = {"secrets__plain": "true", "secrets__keyring": "false"}
    async with open_desk_at(tmp_path, Receiver(), **options) as desk:
        created = await desk.webhooks.create({"url": URL})
    assert query_db(tmp_path, "SELECT secret FROM webhook") == [(None,)]
    assert created.secret.encode() not in (tmp_path / "copydesk.db").read_bytes()
    receiver = Receiver()
    async with open_desk_at(tmp_path, receiver, **options) as desk:
        await insert_drafts(desk, ["pending_review"])
        await desk.webhooks.send_due()
        assert verify(created.secret, receiver.requests[0])
        await desk.webhooks.remove(created.id)
        assert await desk._context.vault.names() == ()
    assert not list((tmp_path / FOLDER_NAME).glob("secrets.*"))


async def test_secret_stays_if_the_server_is_lost_after_the_commit(tmp_path, monkeypatch):
    options = {"secrets__plain": "true", "secrets__keyring": "false"}
    async with open_desk_at(tmp_path, Receiver(), **options) as desk:
        write = desk._context.write_durable

        async def lose_response(*args):
            await write(*args)
            raise StoreError

        monkeypatch.setattr(desk._context, "write_durable", lose_response)
        with pytest.raises(StoreError):
            await desk.webhooks.create({"url": URL})
        (webhook,) = await desk.webhooks.list()
        assert (await desk.webhooks.get_created(webhook.id)).secret.startswith("whsec_")


async def test_webhook_that_was_not_stored_leaves_no_secret(tmp_path, monkeypatch):
    options = {"secrets__plain": "true", "secrets__keyring": "false"}

    async def fail(*_):
        raise StoreError

    async with open_desk_at(tmp_path, Receiver(), **options) as desk:
        monkeypatch.setattr(desk._context, "write_durable", fail)
        with pytest.raises(StoreError):
            await desk.webhooks.create({"url": URL})
        assert await desk._context.vault.names() == ()


async def test_credentials_of_the_platform_webhook_in_the_environment_are_not_the_secret(tmp_path, monkeypatch):
    options = {"secrets__plain": "true", "secrets__keyring": "false"}
    receiver = Receiver()
    monkeypatch.setenv("COPYDESK_SECRET_WEBHOOK", "shared with the receiver of posts")
    async with open_desk_at(tmp_path, receiver, **options) as desk:
        created = await desk.webhooks.create({"url": URL})
    # Read again from the vault.
    async with open_desk_at(tmp_path, receiver, **options) as desk:
        await insert_drafts(desk, ["pending_review"])
        await desk.webhooks.send_due()
    assert verify(created.secret, receiver.requests[0])


@pytest.mark.sqlite("the vault")
async def test_webhook_is_removed_without_the_passphrase_of_its_secret(tmp_path, monkeypatch):
    options = {"secrets__keyring": "false"}
    monkeypatch.setenv("COPYDESK_PASSPHRASE", "correct horse battery")
    async with open_desk_at(tmp_path, Receiver(), **options) as desk:
        created = await desk.webhooks.create({"url": URL})
    assert query_db(tmp_path, "SELECT secret FROM webhook") == [(None,)]
    monkeypatch.delenv("COPYDESK_PASSPHRASE")
    async with open_desk_at(tmp_path, Receiver(), **options) as desk:
        await desk.webhooks.remove(created.id)
        assert await desk.webhooks.list() == ()


@pytest.mark.sqlite("the vault")
async def test_webhook_is_not_given_up_while_its_secret_is_locked(tmp_path, monkeypatch):
    receiver, watch, options = Receiver(), Watch(), {"secrets__keyring": "false"}
    monkeypatch.setenv("COPYDESK_PASSPHRASE", "correct horse battery")
    async with open_desk_at(tmp_path, receiver, watch, **options) as desk:
        created = await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"])
    monkeypatch.delenv("COPYDESK_PASSPHRASE")
    async with open_desk_at(tmp_path, receiver, watch, **options) as desk:
        for _ in range(12):
            assert (await desk.webhooks.send_due()).attempts == 1
            watch.now += DISABLE_AFTER / 10
        assert (await desk.webhooks.get(created.id)).failing_since is None
    monkeypatch.setenv("COPYDESK_PASSPHRASE", "correct horse battery")
    receiver.fail(URL, 500)
    async with open_desk_at(tmp_path, receiver, watch, **options) as desk:
        for _ in range(2):
            await desk.webhooks.send_due()
            watch.now += RETRY_DELAYS[0]
        assert [body["id"] for body in receiver.bodies()] == [1, 1]


async def test_webhook_that_is_removed_gets_nothing_more(tmp_path):
    receiver = Receiver()
    async with open_desk_at(tmp_path, receiver) as desk:
        created = await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"] * 5)
        receiver.on_request = lambda: desk.webhooks.remove(created.id)
        await desk.webhooks.send_due()
        assert len(receiver.requests) == 1


@pytest.mark.sqlite("the vault")
async def test_missing_secret_is_told(tmp_path):
    options = {"secrets__plain": "true", "secrets__keyring": "false"}
    async with open_desk_at(tmp_path, Receiver(), **options) as desk:
        created = await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"])
        (name,) = await desk._context.vault.names()
        await desk._context.vault.remove(name)
        await desk.webhooks.send_due()
        (delivery,) = (await desk.webhooks.list_deliveries(created.id)).items
        assert delivery.error == "The secret of this webhook is missing. Remove the webhook, and add it again."


async def test_pages_of_the_log(tmp_path):
    async with open_desk_at(tmp_path, Receiver()) as desk:
        created, other = [await desk.webhooks.create({"url": url}) for url in (URL, OTHER_URL)]
        await insert_drafts(desk, ["pending_review"] * 5)
        page = await desk.webhooks.list_deliveries(created.id, 3)
        assert [delivery.event_id for delivery in page.items] == [5, 4, 3]
        rest = await desk.webhooks.list_deliveries(created.id, 3, page.next_cursor)
        assert ([delivery.event_id for delivery in rest.items], rest.next_cursor) == ([2, 1], None)
        with pytest.raises(InvalidError, match="cursor"):
            await desk.webhooks.list_deliveries(other.id, 3, page.next_cursor)


async def test_removed_webhook_takes_its_log_along(tmp_path):
    async with open_desk_at(tmp_path, Receiver()) as desk:
        created = await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"])
        await desk.webhooks.remove(created.id)
        assert query_db(tmp_path, "SELECT * FROM webhook_delivery") == []
        with pytest.raises(NotFoundError):
            await desk.webhooks.remove(created.id)


@pytest.mark.parametrize("last", ["", "x", "-1", "²", "9" * 30])
async def test_forged_cursor_of_the_log_is_refused(tmp_path, last):
    async with open_desk_at(tmp_path) as desk:
        created = await desk.webhooks.create({"url": "https://hooks.example/copydesk"})
        cursor = encode_cursor(last, "webhook deliveries", desk.user.id, created.id)
        with pytest.raises(InvalidCursorError):
            await desk.webhooks.list_deliveries(created.id, 3, cursor)


async def test_clock_that_was_ahead_does_not_hold_up_events(tmp_path):
    receiver, watch = Receiver(), Watch()
    receiver.fail(URL, 500)
    async with open_desk_at(tmp_path, receiver, watch) as desk:
        await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"])
        watch.now += timedelta(days=365)
        await desk.webhooks.send_due()
        watch.now -= timedelta(days=365)
        await insert_drafts(desk, ["pending_review"])
        jobs = Jobs(desk)
        await jobs.tick()
        await jobs.drain()
        await jobs.stop()
        assert [body["id"] for body in receiver.bodies()] == [1, 2, 1]


async def test_clock_that_is_ahead_disables_no_webhook(tmp_path):
    receiver, watch = Receiver(), Watch()
    receiver.fail(URL, 500, 500)
    async with open_desk_at(tmp_path, receiver, watch) as desk:
        created = await desk.webhooks.create({"url": URL})
        await insert_drafts(desk, ["pending_review"])
        await desk.webhooks.send_due()
        watch.now += timedelta(days=365)
        assert (await desk.webhooks.send_due()).attempts == 1
        assert (await desk.webhooks.get(created.id)).disabled_at is None
