"""An article on dev.to: seen once, whatever happens to the requests."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given

from copydesk.posting.delivery import State
from copydesk.posting.devto import PAGE, DevTo, plain_start
from copydesk.posting.http import Caller
from copydesk.posting.platform import (
    Account,
    Evidence,
    Figures,
    LoginError,
    NotSentError,
    RefusedPostError,
    UnknownOutcomeError,
)
from fake_blogs import SECOND, SEED, Clock, Fault, Kept, blog_post, courses, deliver
from fake_forem import FakeForem

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
ME = Account(platform="devto", server="https://dev.to", id="7", name="me")
KEYS = {"key": "k3y", "disclosure": "some_ai"}
POST = blog_post(
    NOW, "# Tea ☕ time\n\nFirst, boil it.  \nThen wait.", tags=("Web Dev", "web-dev", "C++", "#", "a", "b")
)


class Desk:
    """A site, and a platform that posts to it."""

    def __init__(self) -> None:
        self.clock = Clock(NOW)
        self.blog = FakeForem(self.clock)
        self.platform = DevTo(Caller(self.blog), Kept(**KEYS), clock=self.clock)
        self.intent = self.platform.render(POST, ME, SEED)

    async def post(self):
        """Both steps."""
        draft = await self.platform.send(ME, self.intent, ())
        return await self.platform.send(ME, self.intent, (draft,))


async def test_an_article_is_a_draft_first_and_then_published_by_its_id():
    desk = Desk()
    draft = await desk.platform.send(ME, desk.intent, ())
    assert (draft.ids, draft.urls, desk.blog.seen) == (("1",), (), [])
    made = await desk.platform.send(ME, desk.intent, (draft,))
    (post,) = desk.blog.seen
    assert (made.ids, made.urls) == (("1",), ("https://dev.to/me/1",))
    assert (post["body_markdown"], post["tags"]) == ("First, boil it.  \nThen wait.", ["webdev", "c", "a", "b"])
    assert post["ai_disclosure_level"] == "some_ai"


def test_what_is_to_be_sent_is_the_same_each_time():
    desk = Desk()
    assert desk.platform.render(POST, ME, SEED) == desk.intent


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("---\ntitle: x\npublished: true\n---\nBody", "***\ntitle: x\npublished: true\n---\nBody"),
        ("----  \nx", "***\nx"),
        ("--- x", "--- x"),
        ("a\n---\nb", "a\n---\nb"),
    ],
)
def test_a_text_gives_the_site_no_orders(text, sent):
    assert plain_start(text) == sent


async def test_a_lost_draft_is_found_by_its_text_and_by_the_words_of_its_title():
    desk = Desk()
    assert await desk.platform.look_up(ME, desk.intent, (), NOW) is None
    desk.blog.faults.extend([None, Fault.CUT_AFTER])
    with pytest.raises(UnknownOutcomeError):
        await desk.platform.send(ME, desk.intent, ())
    assert desk.blog.posts[0]["title"] == "Tea   time"
    found = await desk.platform.look_up(ME, desk.intent, (), NOW)
    assert (found.ids, found.evidence) == (("1",), Evidence.READ_BACK)
    other = desk.platform.render(blog_post(NOW, "# Tea time\n\nAnother text."), ME, SEED)
    assert await desk.platform.look_up(ME, other, (), NOW) is None


async def test_it_is_found_among_many_drafts():
    desk = Desk()
    for number in range(2 * PAGE + 1):
        await desk.platform.send(ME, desk.platform.render(blog_post(NOW, f"# T\n\n{number}"), ME, SEED), ())
    found = await desk.platform.look_up(ME, desk.platform.render(blog_post(NOW, "# T\n\n3"), ME, SEED), (), NOW)
    assert found.ids == ("4",)


async def test_a_lost_publication_is_found_in_the_authors_list():
    desk = Desk()
    draft = await desk.platform.send(ME, desk.intent, ())
    assert await desk.platform.look_up(ME, desk.intent, (draft,), NOW) is None
    desk.blog.faults.append(Fault.GARBAGE_AFTER)
    with pytest.raises(UnknownOutcomeError):
        await desk.platform.send(ME, desk.intent, (draft,))
    found = await desk.platform.look_up(ME, desk.intent, (draft,), NOW)
    assert found.urls == ("https://dev.to/me/1",)


async def test_the_same_article_of_an_earlier_day_is_not_taken_for_this_one():
    desk = Desk()
    await desk.post()
    desk.clock.now += timedelta(days=1)
    again = desk.platform.render(blog_post(desk.clock.now, POST.parts[0]), ME, SEED)
    assert await desk.platform.look_up(ME, again, (), desk.clock.now) is None
    with pytest.raises(RefusedPostError, match="already been taken"):
        await desk.platform.send(ME, again, ())


async def test_an_account_is_an_author_and_says_how_articles_are_written():
    desk = Desk()
    connected = await desk.platform.connect("", KEYS)
    assert (connected.account, connected.secrets) == (ME, KEYS)
    assert (await desk.platform.connect("https://dev.to", {"key": "k3y"})).secrets["disclosure"] == "not_disclosed"
    with pytest.raises(LoginError):
        await desk.platform.connect("", {"key": "no"})
    with pytest.raises(RefusedPostError):
        await desk.platform.connect("", {"key": "k3y", "disclosure": "perhaps"})


def test_a_long_title_is_a_problem():
    desk = Desk()
    assert desk.platform.problems(blog_post(NOW, title="x" * 129), ME)
    assert not desk.platform.problems(blog_post(NOW, title="x" * 128), ME)


async def test_figures_are_what_the_site_counts_and_none_where_it_counts_nothing():
    desk = Desk()
    await desk.post()
    assert await desk.platform.figures(ME, ["1", "9"]) == {"1": Figures(), "9": None}
    desk.blog.posts[0].update(public_reactions_count=5, comments_count=0, page_views_count=80)
    assert await desk.platform.figures(ME, ["1"]) == {"1": Figures(likes=5, replies=0, impressions=80)}


async def test_an_article_is_taken_out_of_sight_and_is_gone_then():
    desk = Desk()
    made = await desk.post()
    await desk.platform.delete(ME, made)
    assert (desk.blog.seen, len(desk.blog.posts)) == ([], 1)
    assert await desk.platform.figures(ME, ["1"]) == {"1": None}


async def test_nobody_could_look_where_the_list_cannot_be_read():
    desk = Desk()
    desk.blog.faults.append(Fault.BROKEN_AFTER)
    with pytest.raises(NotSentError):
        await desk.platform.look_up(ME, desk.intent, (), NOW)


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
