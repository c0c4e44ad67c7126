"""Tests for the webhook platform: signatures, formats, and exactly-once delivery."""

import hmac
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hypothesis import given

from copydesk.model.draft import Format
from copydesk.posting.delivery import State
from copydesk.posting.http import Caller
from copydesk.posting.platform import (
    Account,
    Figures,
    LoginError,
    Made,
    NotSentError,
    Post,
    RefusedPostError,
    UnknownOutcomeError,
)
from copydesk.posting.webhook import Webhook, signature
from fake_blogs import PICTURE, SECOND, SEED, Clock, Fault, Kept, blog_post, courses, deliver
from fake_receiver import FakeReceiver

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
ME = Account(platform="webhook", server="https://me.example/in", id="https://me.example/in", name="me.example/in")
THREAD = Post(format=Format.THREAD, parts=("One.", "Two."), at=NOW, tags=("Tea",))


class Desk:
    """A fake receiver and a platform that posts to it."""

    def __init__(self) -> None:
        self.clock = Clock(NOW)
        self.blog = FakeReceiver(self.clock)
        self.platform = Webhook(Caller(self.blog), Kept(secret=FakeReceiver.secret), clock=self.clock)
        self.intent = self.platform.render(THREAD, ME, SEED)


def answering(status: int, **answer) -> Webhook:
    caller = Caller(httpx.MockTransport(lambda _: httpx.Response(status, **answer)))
    return Webhook(caller, Kept(secret=FakeReceiver.secret), clock=Clock(NOW))


async def test_thread_is_sent_in_one_request():
    setup = Desk()
    result = await setup.platform.send(ME, setup.intent, (), (PICTURE,))
    (post,) = setup.blog.posts
    assert (result.ids, result.urls) == ((post["id"],), ("https://me.example/1",))
    assert (post["format"], post["parts"], post["tags"]) == ("THREAD", ["One.", "Two."], ["Tea"])
    assert (post["at"], post["files"], post["pictures"][0]["alt"]) == (
        "2026-02-10T09:00:00.000Z",
        [PICTURE.content],
        'A "cup"',
    )


async def test_article_has_title_and_markdown_text():
    setup = Desk()
    await setup.platform.send(ME, setup.platform.render(blog_post(NOW, "# Tea\n\n*x*"), ME, SEED), ())
    assert (setup.blog.posts[0]["title"], setup.blog.posts[0]["parts"]) == ("Tea", ["*x*"])


def test_rendering_is_deterministic():
    setup = Desk()
    assert setup.platform.render(THREAD, ME, SEED) == setup.intent


def test_signature_covers_time_and_body():
    signed = signature("secret", b"{}", NOW)
    seconds = int(NOW.timestamp())
    assert signed == f"t={seconds},v1={hmac.new(b'secret', f'{seconds}.{{}}'.encode(), 'sha256').hexdigest()}"


async def test_resent_post_is_re_signed_and_taken_once():
    setup = Desk()
    setup.blog.faults.append(Fault.CUT_AFTER)
    with pytest.raises(UnknownOutcomeError):
        await setup.platform.send(ME, setup.intent, ())
    setup.clock.now += timedelta(days=2)
    assert (await setup.platform.send(ME, setup.intent, ())).urls
    assert len(setup.blog.posts) == 1
    assert setup.blog.requests[0].content == setup.blog.requests[1].content


async def test_receiver_cannot_be_read_back():
    setup = Desk()
    with pytest.raises(UnknownOutcomeError):
        await setup.platform.look_up(ME, setup.intent, (), NOW)
    assert setup.platform.trust(ME).can_look is False


@pytest.mark.parametrize("answer", [{}, {"text": "ok"}, {"json": []}, {"json": {"url": "javascript:x", "id": ""}}])
async def test_receiver_may_answer_anything(answer):
    setup = Desk()
    result = await answering(204 if not answer else 200, **answer).send(ME, setup.intent, ())
    assert result == Made(ids=setup.intent.steps[0].keys, urls=())


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
        await answering(status).send(ME, Desk().intent, ())


async def test_connect_verifies_secret():
    setup = Desk()
    connected = await setup.platform.connect("https://me.example/in/", {"secret": FakeReceiver.secret})
    assert (connected.account, connected.secrets) == (ME, {"secret": FakeReceiver.secret})
    assert await setup.platform.check(ME) == ME
    assert setup.blog.posts == []
    with pytest.raises(LoginError, match="signature"):
        await setup.platform.connect("https://me.example/in", {"secret": "another secret of one's own"})
    with pytest.raises(RefusedPostError, match="too short"):
        await setup.platform.connect("https://me.example/in", {"secret": "short"})


async def test_post_is_deleted_and_has_no_metrics():
    setup = Desk()
    result = await setup.platform.send(ME, setup.intent, ())
    await setup.platform.delete(ME, result)
    assert setup.blog.posts == []
    assert await setup.platform.figures(ME, ["1"]) == {"1": Figures()}
    await answering(404).delete(ME, result)


def test_empty_text_is_a_problem():
    setup = Desk()
    empty = Post(format=Format.THREAD, parts=("a", " "), at=NOW)
    assert [problem.part for problem in setup.platform.problems(empty, ME)] == [1]
    assert not setup.platform.problems(THREAD, ME)
    assert setup.platform.problems(blog_post(NOW, "# T"), ME)


@given(course=courses)
async def test_post_is_taken_at_most_once_under_faults(course):
    setup = Desk()
    setup.blog.faults.extend(course)

    def assert_taken_at_most_once() -> None:
        assert len(setup.blog.posts) <= 1

    delivery = await deliver(setup.platform, ME, setup.intent, setup.clock, assert_taken_at_most_once)
    setup.clock.now += 100 * SECOND
    setup.blog.arrive()
    assert_taken_at_most_once()
    assert bool(setup.blog.posts) == (delivery.state is State.SENT) or delivery.state is State.NEEDS_USER
