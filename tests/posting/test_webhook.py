"""A webhook: any format, signed, and taken once by a receiver that follows the rules."""

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
    """A receiver, and a platform that posts to it."""

    def __init__(self) -> None:
        self.clock = Clock(NOW)
        self.blog = FakeReceiver(self.clock)
        self.platform = Webhook(Caller(self.blog), Kept(secret=FakeReceiver.secret), clock=self.clock)
        self.intent = self.platform.render(THREAD, ME, SEED)


def answering(status: int, **answer) -> Webhook:
    caller = Caller(httpx.MockTransport(lambda _: httpx.Response(status, **answer)))
    return Webhook(caller, Kept(secret=FakeReceiver.secret), clock=Clock(NOW))


async def test_a_thread_is_handed_over_at_once():
    desk = Desk()
    made = await desk.platform.send(ME, desk.intent, (), (PICTURE,))
    (post,) = desk.blog.posts
    assert (made.ids, made.urls) == ((post["id"],), ("https://me.example/1",))
    assert (post["format"], post["parts"], post["tags"]) == ("THREAD", ["One.", "Two."], ["Tea"])
    assert (post["at"], post["files"], post["pictures"][0]["alt"]) == (
        "2026-02-10T09:00:00.000Z",
        [PICTURE.content],
        'A "cup"',
    )


async def test_an_article_has_a_title_and_its_text_in_markdown():
    desk = Desk()
    await desk.platform.send(ME, desk.platform.render(blog_post(NOW, "# Tea\n\n*x*"), ME, SEED), ())
    assert (desk.blog.posts[0]["title"], desk.blog.posts[0]["parts"]) == ("Tea", ["*x*"])


def test_what_is_to_be_sent_is_the_same_each_time():
    desk = Desk()
    assert desk.platform.render(THREAD, ME, SEED) == desk.intent


def test_the_signature_is_over_the_time_and_the_body():
    made = signature("secret", b"{}", NOW)
    seconds = int(NOW.timestamp())
    assert made == f"t={seconds},v1={hmac.new(b'secret', f'{seconds}.{{}}'.encode(), 'sha256').hexdigest()}"


async def test_what_is_sent_again_days_later_is_signed_anew_and_taken_once():
    desk = Desk()
    desk.blog.faults.append(Fault.CUT_AFTER)
    with pytest.raises(UnknownOutcomeError):
        await desk.platform.send(ME, desk.intent, ())
    desk.clock.now += timedelta(days=2)
    assert (await desk.platform.send(ME, desk.intent, ())).urls
    assert len(desk.blog.posts) == 1
    assert desk.blog.requests[0].content == desk.blog.requests[1].content


async def test_nobody_can_look_there():
    desk = Desk()
    with pytest.raises(UnknownOutcomeError):
        await desk.platform.look_up(ME, desk.intent, (), NOW)
    assert desk.platform.trust(ME).can_look is False


@pytest.mark.parametrize("answer", [{}, {"text": "ok"}, {"json": []}, {"json": {"url": "javascript:x", "id": ""}}])
async def test_a_receiver_need_not_say_anything(answer):
    desk = Desk()
    made = await answering(204 if not answer else 200, **answer).send(ME, desk.intent, ())
    assert made == Made(ids=desk.intent.steps[0].keys, urls=())


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
async def test_what_a_receiver_answers_means_what_the_rules_say(status, error):
    with pytest.raises(error):
        await answering(status).send(ME, Desk().intent, ())


async def test_an_account_is_a_receiver_that_knows_the_secret():
    desk = Desk()
    connected = await desk.platform.connect("https://me.example/in/", {"secret": FakeReceiver.secret})
    assert (connected.account, connected.secrets) == (ME, {"secret": FakeReceiver.secret})
    assert await desk.platform.check(ME) == ME
    assert desk.blog.posts == []
    with pytest.raises(LoginError, match="signature"):
        await desk.platform.connect("https://me.example/in", {"secret": "another secret of one's own"})
    with pytest.raises(RefusedPostError, match="too short"):
        await desk.platform.connect("https://me.example/in", {"secret": "short"})


async def test_a_post_is_taken_back_and_its_figures_are_not_known():
    desk = Desk()
    made = await desk.platform.send(ME, desk.intent, ())
    await desk.platform.delete(ME, made)
    assert desk.blog.posts == []
    assert await desk.platform.figures(ME, ["1"]) == {"1": Figures()}
    await answering(404).delete(ME, made)


def test_a_post_without_a_text_is_a_problem():
    desk = Desk()
    empty = Post(format=Format.THREAD, parts=("a", " "), at=NOW)
    assert [problem.part for problem in desk.platform.problems(empty, ME)] == [1]
    assert not desk.platform.problems(THREAD, ME)
    assert desk.platform.problems(blog_post(NOW, "# T"), ME)


@given(course=courses)
async def test_whatever_happens_the_post_is_taken_once_or_not_at_all_and_told_as_it_is(course):
    desk = Desk()
    desk.blog.faults.extend(course)

    def taken_once() -> None:
        assert len(desk.blog.posts) <= 1

    delivery = await deliver(desk.platform, ME, desk.intent, desk.clock, taken_once)
    desk.clock.now += 100 * SECOND
    desk.blog.arrive()
    taken_once()
    assert bool(desk.blog.posts) == (delivery.state is State.SENT) or delivery.state is State.NEEDS_USER
