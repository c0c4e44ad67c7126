"""An article on WordPress: seen once, whatever happens to the requests."""

from datetime import UTC, datetime

import httpx
import pytest
from hypothesis import given

from copydesk.posting.delivery import State
from copydesk.posting.http import Caller
from copydesk.posting.keys import short_key
from copydesk.posting.platform import (
    Account,
    Evidence,
    Figures,
    LoginError,
    NotSentError,
    RefusedPostError,
    UnknownOutcomeError,
)
from copydesk.posting.wordpress import WordPress
from fake_blogs import PICTURE, SECOND, SEED, Clock, Fault, Kept, blog_post, courses, deliver
from fake_wordpress import FakeWordPress

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
ME = Account(platform="wordpress", server="https://blog.example", id="3", name="me@blog.example")
SLUG = f"tea-steam-{short_key(SEED)}"
POST = blog_post(NOW, tags=("Tea", "Steam", "Tea"))


class Desk:
    """A blog, and a platform that posts to it."""

    def __init__(self) -> None:
        self.clock = Clock(NOW)
        self.blog = FakeWordPress(self.clock)
        self.platform = WordPress(Caller(self.blog), Kept(user="me", password="abcd efgh"), clock=self.clock)
        self.intent = self.platform.render(POST, ME, SEED)


async def test_an_article_is_a_draft_first_and_then_published_by_its_id():
    desk = Desk()
    draft = await desk.platform.send(ME, desk.intent, ())
    assert (draft.ids, draft.urls, desk.blog.seen) == (("10",), (), [])
    made = await desk.platform.send(ME, desk.intent, (draft,))
    (post,) = desk.blog.seen
    assert (made.ids, made.urls, made.evidence) == (("10",), ("https://blog.example/10",), Evidence.ANSWERED)
    assert (post["slug"], post["title"], post["tags"]) == (SLUG, "Tea & steam", [1, 2])
    assert post["content"].startswith("<p>First, <code>boil</code> it.</p>\n<p>&lt;script&gt;")


def test_what_is_to_be_sent_is_the_same_each_time():
    desk = Desk()
    assert desk.platform.render(POST, ME, SEED) == desk.intent
    assert [step.hidden for step in desk.intent.steps] == [True, False]
    assert {step.keys for step in desk.intent.steps} == {(SLUG,)}


async def test_a_draft_that_is_there_is_not_made_again():
    desk = Desk()
    await desk.platform.send(ME, desk.intent, ())
    again = await desk.platform.send(ME, desk.intent, ())
    assert (again.ids, again.evidence, len(desk.blog.posts)) == (("10",), Evidence.READ_BACK, 1)


async def test_a_lost_draft_is_found_by_its_slug_and_only_by_it():
    desk = Desk()
    assert await desk.platform.look_up(ME, desk.intent, (), NOW) is None
    other = desk.platform.render(POST, ME, SEED.replace("8000", "9000"))
    await desk.platform.send(ME, other, ())
    assert await desk.platform.look_up(ME, desk.intent, (), NOW) is None
    desk.blog.faults.extend([None, None, None, Fault.CUT_AFTER])
    with pytest.raises(UnknownOutcomeError):
        await desk.platform.send(ME, desk.intent, ())
    found = await desk.platform.look_up(ME, desk.intent, (), NOW)
    assert (found.ids, found.evidence) == (("11",), Evidence.READ_BACK)


async def test_a_lost_publication_is_found_by_the_posts_status():
    desk = Desk()
    draft = await desk.platform.send(ME, desk.intent, ())
    assert await desk.platform.look_up(ME, desk.intent, (draft,), NOW) is None
    desk.blog.faults.append(Fault.BROKEN_AFTER)
    with pytest.raises(UnknownOutcomeError):
        await desk.platform.send(ME, desk.intent, (draft,))
    found = await desk.platform.look_up(ME, desk.intent, (draft,), NOW)
    assert found.urls == ("https://blog.example/10",)


async def test_who_may_not_publish_is_told_that_nobody_sees_the_post():
    desk = Desk()
    desk.blog.may_publish = False
    draft = await desk.platform.send(ME, desk.intent, ())
    with pytest.raises(RefusedPostError, match="pending"):
        await desk.platform.send(ME, desk.intent, (draft,))


async def test_pictures_stand_on_the_site_before_the_post_and_are_kept_through_a_second_attempt():
    desk = Desk()
    pictures = (PICTURE, PICTURE)
    desk.blog.faults.extend([None, None, None, None, None, None, Fault.CUT_BEFORE])
    with pytest.raises(NotSentError):
        await desk.platform.send(ME, desk.intent, (), pictures)
    assert (len(desk.blog.media), desk.blog.posts) == (1, [])
    await desk.platform.send(ME, desk.intent, (), pictures)
    first, second = desk.blog.media
    assert (first["file"], first["alt_text"], first["filename"]) == (
        PICTURE.content,
        'A "cup"',
        f"{SLUG}-picture-1.png",
    )
    (post,) = desk.blog.posts
    assert post["featured_media"] == first["id"]
    assert post["content"].endswith(f'<img src="{second["source_url"]}" alt="A &quot;cup&quot;"></figure>')


async def test_a_tag_that_may_not_be_made_stops_the_post():
    desk = Desk()
    desk.blog.may_make_tags = False
    with pytest.raises(RefusedPostError, match="Tea"):
        await desk.platform.send(ME, desk.intent, ())
    assert desk.blog.posts == []


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.NO_CONNECTION, NotSentError),
        (Fault.THROTTLED, NotSentError),
        (Fault.REFUSED, RefusedPostError),
        (Fault.CUT_BEFORE, UnknownOutcomeError),
        (Fault.GARBAGE_AFTER, UnknownOutcomeError),
    ],
)
async def test_what_goes_wrong_while_the_draft_is_made(fault, error):
    desk = Desk()
    desk.blog.faults.extend([None, None, None, fault])
    with pytest.raises(error):
        await desk.platform.send(ME, desk.intent, ())


async def test_an_answer_without_an_id_tells_nothing():
    desk = Desk()

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=[] if request.method == "GET" else {"status": "draft"})

    platform = WordPress(Caller(httpx.MockTransport(answer)), Kept(user="me", password="p"), clock=desk.clock)
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, platform.render(blog_post(NOW), ME, SEED), ())


async def test_a_site_without_its_api_does_not_say_that_nothing_is_there():
    gone = httpx.MockTransport(lambda _: httpx.Response(404, json={"code": "rest_no_route", "message": "No route."}))
    desk = Desk()
    platform = WordPress(Caller(gone), Kept(user="me", password="p"), clock=desk.clock)
    with pytest.raises(NotSentError):
        await platform.look_up(ME, desk.intent, (), NOW)


async def test_an_account_is_a_user_of_the_blog():
    desk = Desk()
    given_keys = {"user": "me", "password": "abcd efgh"}
    connected = await desk.platform.connect("blog.example/", given_keys)
    assert (connected.account, connected.secrets) == (ME, given_keys)
    assert await desk.platform.check(ME) == ME
    with pytest.raises(LoginError, match="password"):
        await desk.platform.connect("https://blog.example", {"user": "me", "password": "no"})


async def test_a_deleted_post_is_in_the_trash_and_its_figures_are_gone():
    desk = Desk()
    draft = await desk.platform.send(ME, desk.intent, ())
    made = await desk.platform.send(ME, desk.intent, (draft,))
    assert await desk.platform.figures(ME, ["10", "99"]) == {"10": Figures(), "99": None}
    await desk.platform.delete(ME, made)
    assert desk.blog.posts[0]["status"] == "trash"
    assert await desk.platform.figures(ME, ["10"]) == {"10": None}


@given(course=courses)
async def test_whatever_happens_the_article_is_seen_once_or_not_at_all_and_told_as_it_is(course):
    desk = Desk()
    desk.blog.faults.extend(course)

    def seen_once() -> None:
        assert len(desk.blog.seen) <= 1

    delivery = await deliver(desk.platform, ME, desk.intent, desk.clock, seen_once)
    desk.clock.now += 100 * SECOND
    desk.blog.arrive()
    seen_once()
    assert bool(desk.blog.seen) == (delivery.state is State.SENT) or delivery.state is State.NEEDS_USER
    if delivery.state is State.SENT:
        assert delivery.made[-1].ids == (str(desk.blog.seen[0]["id"]),)
