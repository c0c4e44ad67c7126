"""Tests for the webhook platform: signatures, formats, and exactly-once delivery."""

import hmac
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given

from copydesk.model.draft import Format
from copydesk.posting.client import PlatformClient
from copydesk.posting.platform import (
    Account,
    LoginError,
    NotSentError,
    Post,
    PostMetrics,
    RefusedPostError,
    StepResult,
    UnknownOutcomeError,
)
from copydesk.posting.webhook import Webhook, sign
from fake_blog import (
    IMAGE,
    SECOND,
    SEED,
    FakeClock,
    Fault,
    InMemorySecrets,
    assert_outcome_is_known,
    deliver,
    fault_sequences,
    make_post,
)
from fake_webhook_receiver import FakeReceiver

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
ME = Account(platform="webhook", server="https://me.example/in", id="https://me.example/in", name="me.example/in")
THREAD = Post(format=Format.THREAD, parts=("One.", "Two."), at=NOW, tags=("Tea",))


class WebhookSetup:
    """A fake receiver and a platform that posts to it."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.receiver = FakeReceiver(self.clock)
        self.platform = Webhook(
            PlatformClient(self.receiver), InMemorySecrets(secret=FakeReceiver.secret), clock=self.clock
        )
        self.intent = self.platform.render(THREAD, ME, SEED)


def responding_platform(status: int, **response) -> Webhook:
    caller = PlatformClient(httpx.MockTransport(lambda _: httpx.Response(status, **response)))
    return Webhook(caller, InMemorySecrets(secret=FakeReceiver.secret), clock=FakeClock(NOW))


async def test_thread_is_sent_in_one_request():
    setup = WebhookSetup()
    result = await setup.platform.send(ME, setup.intent, (), (IMAGE,))
    (post,) = setup.receiver.posts
    assert (result.ids, result.urls) == ((post["id"],), ("https://me.example/1",))
    assert (post["format"], post["parts"], post["tags"]) == ("THREAD", ["One.", "Two."], ["Tea"])
    assert (post["at"], post["files"], post["pictures"][0]["alt"]) == (
        "2026-02-10T09:00:00.000Z",
        [IMAGE.content],
        'A "cup"',
    )


async def test_article_has_title_and_markdown_text():
    setup = WebhookSetup()
    await setup.platform.send(ME, setup.platform.render(make_post(NOW, "# Tea\n\n*x*"), ME, SEED), ())
    assert (setup.receiver.posts[0]["title"], setup.receiver.posts[0]["parts"]) == ("Tea", ["*x*"])


def test_documented_receiver_accepts_request():
    """The example in docs/webhook.md is the body that is sent, and its code accepts the signature."""
    page = (ROOT / "docs" / "webhook.md").read_text(encoding="utf-8")
    (example,), (code,) = (re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL) for language in ("json", "python"))
    post = Post(format=Format.SHORT, parts=("SQLite 3.50 is out.",), at=NOW, tags=("sqlite",))
    assert json.loads(example) == {**WebhookSetup().platform.render(post, ME, SEED).steps[0].body}

    namespace: dict[str, Any] = {}
    exec(compile(code, "webhook.md", "exec"), namespace)
    now = datetime.now(UTC)
    assert namespace["is_signed"]("secret", sign("secret", b"{}", now), b"{}")
    assert not namespace["is_signed"]("secret", sign("other", b"{}", now), b"{}")
    assert not namespace["is_signed"]("secret", sign("secret", b"{}", now - timedelta(hours=1)), b"{}")


def test_rendering_is_deterministic():
    setup = WebhookSetup()
    assert setup.platform.render(THREAD, ME, SEED) == setup.intent


def test_signature_covers_time_and_body():
    signed = sign("secret", b"{}", NOW)
    seconds = int(NOW.timestamp())
    assert signed == f"t={seconds},v1={hmac.new(b'secret', f'{seconds}.{{}}'.encode(), 'sha256').hexdigest()}"


async def test_resent_post_is_re_signed_and_taken_once():
    setup = WebhookSetup()
    setup.receiver.faults.append(Fault.CUT_AFTER)
    with pytest.raises(UnknownOutcomeError):
        await setup.platform.send(ME, setup.intent, ())
    setup.clock.now += timedelta(days=2)
    assert (await setup.platform.send(ME, setup.intent, ())).urls
    assert len(setup.receiver.posts) == 1
    assert setup.receiver.requests[0].content == setup.receiver.requests[1].content


async def test_receiver_cannot_be_read_back():
    setup = WebhookSetup()
    with pytest.raises(UnknownOutcomeError):
        await setup.platform.find_post(ME, setup.intent, (), NOW)
    assert setup.platform.guarantees(ME).can_read_back is False


async def test_id_in_receipt_may_be_a_number():
    platform = responding_platform(200, json={"id": 0, "url": "https://me.example/0"})
    result = await platform.send(ME, WebhookSetup().intent, ())
    assert (result.ids, result.urls) == (("0",), ("https://me.example/0",))


@pytest.mark.parametrize("answer", [{}, {"text": "ok"}, {"json": []}, {"json": {"url": "javascript:x", "id": ""}}])
async def test_receiver_may_answer_anything(answer):
    setup = WebhookSetup()
    result = await responding_platform(204 if not answer else 200, **answer).send(ME, setup.intent, ())
    assert result == StepResult(ids=setup.intent.steps[0].keys, urls=())


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, RefusedPostError),
        (401, LoginError),
        (403, LoginError),
        (429, NotSentError),
        (302, UnknownOutcomeError),
        (500, UnknownOutcomeError),
    ],
)
async def test_status_maps_to_error(status, error):
    with pytest.raises(error):
        await responding_platform(status).send(ME, WebhookSetup().intent, ())


async def test_connect_verifies_secret():
    setup = WebhookSetup()
    connected = await setup.platform.connect("https://me.example/in/", {"secret": FakeReceiver.secret})
    assert (connected.account, connected.credentials) == (ME, {"secret": FakeReceiver.secret})
    assert await setup.platform.check(ME) == ME
    assert setup.receiver.posts == []
    with pytest.raises(LoginError, match="signature"):
        await setup.platform.connect("https://me.example/in", {"secret": "another secret of one's own"})
    with pytest.raises(RefusedPostError, match="too short"):
        await setup.platform.connect("https://me.example/in", {"secret": "short"})


async def test_question_for_the_secret_names_its_shortest_length():
    (field,) = Webhook.info.credential_fields
    shortest = int(re.search(r"at least (\d+) characters", field.question)[1])
    setup = WebhookSetup()
    with pytest.raises(RefusedPostError, match="too short"):
        await setup.platform.connect("https://me.example/in", {"secret": "x" * (shortest - 1)})
    with pytest.raises(LoginError, match="signature"):
        await setup.platform.connect("https://me.example/in", {"secret": "x" * shortest})


async def test_post_is_deleted_and_has_no_metrics():
    setup = WebhookSetup()
    result = await setup.platform.send(ME, setup.intent, ())
    await setup.platform.delete(ME, result)
    assert setup.receiver.posts == []
    assert await setup.platform.metrics(ME, ["1"]) == {"1": PostMetrics()}
    await responding_platform(404).delete(ME, result)


def test_empty_text_is_a_problem():
    setup = WebhookSetup()
    empty = Post(format=Format.THREAD, parts=("a", " "), at=NOW)
    assert [problem.part for problem in setup.platform.validate(empty, ME)] == [1]
    assert not setup.platform.validate(THREAD, ME)
    assert setup.platform.validate(make_post(NOW, "# T"), ME)


@given(faults=fault_sequences)
async def test_post_is_taken_at_most_once_under_faults(faults):
    setup = WebhookSetup()
    setup.receiver.faults.extend(faults)

    def assert_taken_at_most_once() -> None:
        assert len(setup.receiver.posts) <= 1

    delivery = await deliver(setup.platform, ME, setup.intent, setup.clock, assert_taken_at_most_once)
    setup.clock.now += 100 * SECOND
    setup.receiver.deliver_late()
    assert_taken_at_most_once()
    assert_outcome_is_known(delivery, faults, published=bool(setup.receiver.posts))
