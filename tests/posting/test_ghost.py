"""An article on Ghost: seen once, whatever happens to the requests."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hypothesis import given

from copydesk.posting.delivery import State
from copydesk.posting.ghost import Ghost, token
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
from fake_blogs import PICTURE, SECOND, SEED, Clock, Fault, Kept, blog_post, courses, deliver
from fake_ghost import FakeGhost

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
KEY = f"{FakeGhost.name}:{FakeGhost.secret}"
ME = Account(platform="ghost", server="https://blog.example", id="https://blog.example", name="blog.example")
SLUG = f"tea-steam-{short_key(SEED)}"


class Desk:
    """A blog, and a platform that posts to it."""

    def __init__(self) -> None:
        self.clock = Clock(NOW)
        self.blog = FakeGhost(self.clock)
        self.platform = Ghost(Caller(self.blog), Kept(key=KEY), clock=self.clock)
        self.intent = self.platform.render(blog_post(NOW, tags=("Tea",)), ME, SEED)


async def test_an_article_is_a_draft_first_and_then_published_by_its_id():
    desk = Desk()
    draft = await desk.platform.send(ME, desk.intent, ())
    assert (draft.ids, draft.urls, desk.blog.seen) == (("65f0",), (), [])
    made = await desk.platform.send(ME, desk.intent, (draft,))
    (post,) = desk.blog.seen
    assert (made.ids, made.urls) == (("65f0",), (f"https://blog.example/{SLUG}/",))
    assert (post["title"], post["tags"]) == ("Tea & steam", [{"name": "Tea"}])
    assert "&lt;script&gt;" in post["html"]
    assert desk.blog.requests[0].headers["accept-version"] == "v5.0"


def test_what_is_to_be_sent_is_the_same_each_time():
    desk = Desk()
    assert desk.platform.render(blog_post(NOW, tags=("Tea",)), ME, SEED) == desk.intent


async def test_a_draft_that_is_there_is_not_made_again():
    desk = Desk()
    await desk.platform.send(ME, desk.intent, ())
    again = await desk.platform.send(ME, desk.intent, ())
    assert (again.evidence, len(desk.blog.posts)) == (Evidence.READ_BACK, 1)


async def test_what_was_lost_is_found_by_its_slug_and_then_by_its_id():
    desk = Desk()
    assert await desk.platform.look_up(ME, desk.intent, (), NOW) is None
    desk.blog.faults.extend([None, Fault.CUT_AFTER])
    with pytest.raises(UnknownOutcomeError):
        await desk.platform.send(ME, desk.intent, ())
    draft = await desk.platform.look_up(ME, desk.intent, (), NOW)
    assert await desk.platform.look_up(ME, desk.intent, (draft,), NOW) is None
    desk.blog.faults.extend([None, Fault.CUT_AFTER])
    with pytest.raises(UnknownOutcomeError):
        await desk.platform.send(ME, desk.intent, (draft,))
    found = await desk.platform.look_up(ME, desk.intent, (draft,), NOW)
    assert (found.ids, found.evidence) == (draft.ids, Evidence.READ_BACK)


async def test_a_post_that_somebody_changes_meanwhile_is_looked_at_again():
    desk = Desk()
    draft = await desk.platform.send(ME, desk.intent, ())
    desk.blog.changed_meanwhile = 1
    with pytest.raises(UnknownOutcomeError, match="Someone else"):
        await desk.platform.send(ME, desk.intent, (draft,))
    assert await desk.platform.look_up(ME, desk.intent, (draft,), NOW) is None
    assert (await desk.platform.send(ME, desk.intent, (draft,))).urls


async def test_a_draft_that_somebody_deleted_cannot_be_published():
    desk = Desk()
    draft = await desk.platform.send(ME, desk.intent, ())
    desk.blog.posts.clear()
    with pytest.raises(RefusedPostError):
        await desk.platform.send(ME, desk.intent, (draft,))


async def test_what_is_published_is_not_published_again():
    desk = Desk()
    draft = await desk.platform.send(ME, desk.intent, ())
    await desk.platform.send(ME, desk.intent, (draft,))
    count = len(desk.blog.requests)
    again = await desk.platform.send(ME, desk.intent, (draft,))
    assert (again.evidence, [request.method for request in desk.blog.requests[count:]]) == (Evidence.READ_BACK, ["GET"])


async def test_pictures_stand_on_the_site_before_the_post():
    desk = Desk()
    await desk.platform.send(ME, desk.intent, (), (PICTURE, PICTURE))
    (post,) = desk.blog.posts
    assert (post["feature_image"], post["feature_image_alt"]) == ("https://blog.example/1.png", 'A "cup"')
    assert post["html"].endswith('<img src="https://blog.example/2.png" alt="A &quot;cup&quot;"></figure>')
    assert (desk.blog.images[0]["file"], desk.blog.images[0]["filename"]) == (PICTURE.content, f"{SLUG}.png")


async def test_a_picture_that_is_lost_stops_the_post():
    desk = Desk()
    desk.blog.faults.extend([None, Fault.CUT_AFTER])
    with pytest.raises(NotSentError):
        await desk.platform.send(ME, desk.intent, (), (PICTURE,))
    assert desk.blog.posts == []


async def test_an_id_that_is_none_tells_nothing():
    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(404, json={"errors": [{"message": "Not found."}]})
        return httpx.Response(201, json={"posts": [{"id": "../users", "status": "draft"}]})

    desk = Desk()
    platform = Ghost(Caller(httpx.MockTransport(answer)), Kept(key=KEY), clock=desk.clock)
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, desk.intent, ())


async def test_an_account_is_an_integration_of_the_blog():
    desk = Desk()
    connected = await desk.platform.connect("https://blog.example/ghost/", {"key": KEY})
    assert (connected.account, connected.secrets) == (ME, {"key": KEY})
    assert await desk.platform.check(ME) == ME
    with pytest.raises(LoginError, match="Invalid token"):
        await desk.platform.connect("https://blog.example", {"key": f"{FakeGhost.name}:{'0' * 64}"})


@pytest.mark.parametrize("key", ["", "abc", "abc:", ":00", "abc:xyz", "abc:0"])
def test_a_key_of_another_form_is_none_and_is_not_in_the_error(key):
    with pytest.raises(LoginError) as caught:
        token(key, NOW)
    assert not key or key not in str(caught.value)


async def test_a_token_is_made_anew_for_each_post():
    desk = Desk()
    draft = await desk.platform.send(ME, desk.intent, ())
    desk.clock.now += timedelta(minutes=6)
    assert await desk.platform.send(ME, desk.intent, (draft,))


async def test_a_deleted_post_is_gone_and_one_that_is_gone_is_no_error():
    desk = Desk()
    draft = await desk.platform.send(ME, desk.intent, ())
    made = await desk.platform.send(ME, desk.intent, (draft,))
    assert await desk.platform.figures(ME, ["65f0", "65f9"]) == {"65f0": Figures(), "65f9": None}
    await desk.platform.delete(ME, made)
    await desk.platform.delete(ME, made)
    assert await desk.platform.figures(ME, ["65f0"]) == {"65f0": None}


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
        assert delivery.made[-1].ids == (desk.blog.seen[0]["id"],)
