"""Tests for posting articles to dev.to exactly once."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given

from copydesk.posting.blogs.devto import PAGE_SIZE, DevTo, escape_front_matter
from copydesk.posting.client import PlatformClient
from copydesk.posting.delivery_states import Delivery, DeliveryState
from copydesk.posting.platform import (
    Account,
    Evidence,
    LoginError,
    NotSentError,
    PostMetrics,
    RefusedPostError,
    UnknownOutcomeError,
)
from fake_blog import (
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
from fake_forem import FakeForem

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
ME = Account(platform="devto", server="https://dev.to", id="7", name="me")
KEYS = {"key": "k3y", "disclosure": "some_ai"}
POST = make_post(
    NOW, "# Tea ☕ time\n\nFirst, boil it.  \nThen wait.", tags=("Web Dev", "web-dev", "C++", "#", "a", "b")
)


class DevToSetup:
    """A fake site and a platform that posts to it."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.blog = FakeForem(self.clock)
        self.platform = DevTo(PlatformClient(self.blog), InMemorySecrets(**KEYS), clock=self.clock)
        self.intent = self.platform.render(POST, ME, SEED)

    async def post(self):
        """Send both steps; return the result of the second."""
        draft = await self.platform.send(ME, self.intent, ())
        return await self.platform.send(ME, self.intent, (draft,))


async def test_article_is_created_as_draft_then_published():
    setup = DevToSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    assert (draft.ids, draft.urls, setup.blog.published) == (("1",), (), [])
    result = await setup.platform.send(ME, setup.intent, (draft,))
    (post,) = setup.blog.published
    assert (result.ids, result.urls) == (("1",), ("https://dev.to/me/1",))
    assert (post["body_markdown"], post["tags"]) == ("First, boil it.  \nThen wait.", ["webdev", "c", "a", "b"])
    assert post["ai_disclosure_level"] == "some_ai"


def test_rendering_is_deterministic():
    setup = DevToSetup()
    assert setup.platform.render(POST, ME, SEED) == setup.intent


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("---\ntitle: x\npublished: true\n---\nBody", "***\ntitle: x\npublished: true\n---\nBody"),
        ("----  \nx", "***\nx"),
        ("--- x", "--- x"),
        ("a\n---\nb", "a\n---\nb"),
    ],
)
def test_front_matter_in_text_is_neutralized(text, sent):
    assert escape_front_matter(text) == sent


async def test_lost_draft_is_found_by_title_and_text():
    setup = DevToSetup()
    assert await setup.platform.find_post(ME, setup.intent, (), NOW) is None
    setup.blog.faults.extend([None, Fault.CUT_AFTER])
    with pytest.raises(UnknownOutcomeError):
        await setup.platform.send(ME, setup.intent, ())
    assert setup.blog.posts[0]["title"] == "Tea   time"
    found = await setup.platform.find_post(ME, setup.intent, (), NOW)
    assert (found.ids, found.evidence) == (("1",), Evidence.READ_BACK)
    other = setup.platform.render(make_post(NOW, "# Tea time\n\nAnother text."), ME, SEED)
    assert await setup.platform.find_post(ME, other, (), NOW) is None


async def test_draft_is_found_among_many():
    setup = DevToSetup()
    for number in range(2 * PAGE_SIZE + 1):
        await setup.platform.send(ME, setup.platform.render(make_post(NOW, f"# T\n\n{number}"), ME, SEED), ())
    found = await setup.platform.find_post(ME, setup.platform.render(make_post(NOW, "# T\n\n3"), ME, SEED), (), NOW)
    assert found.ids == ("4",)


async def test_lost_publication_is_found_in_author_list():
    setup = DevToSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    assert await setup.platform.find_post(ME, setup.intent, (draft,), NOW) is None
    setup.blog.faults.append(Fault.GARBAGE_AFTER)
    with pytest.raises(UnknownOutcomeError):
        await setup.platform.send(ME, setup.intent, (draft,))
    found = await setup.platform.find_post(ME, setup.intent, (draft,), NOW)
    assert found.urls == ("https://dev.to/me/1",)


async def test_same_article_of_earlier_day_is_not_matched():
    setup = DevToSetup()
    await setup.post()
    setup.clock.now += timedelta(days=1)
    repeated = setup.platform.render(make_post(setup.clock.now, POST.parts[0]), ME, SEED)
    assert await setup.platform.find_post(ME, repeated, (), setup.clock.now) is None
    with pytest.raises(RefusedPostError, match="already been taken"):
        await setup.platform.send(ME, repeated, ())


async def test_connect_returns_author_and_disclosure():
    setup = DevToSetup()
    connected = await setup.platform.connect("", KEYS)
    assert (connected.account, connected.credentials) == (ME, KEYS)
    assert (await setup.platform.connect("https://dev.to", {"key": "k3y"})).credentials["disclosure"] == "not_disclosed"
    with pytest.raises(LoginError):
        await setup.platform.connect("", {"key": "no"})
    with pytest.raises(RefusedPostError):
        await setup.platform.connect("", {"key": "k3y", "disclosure": "perhaps"})


def test_overlong_title_is_a_problem():
    setup = DevToSetup()
    assert setup.platform.validate(make_post(NOW, title="x" * 129), ME)
    assert not setup.platform.validate(make_post(NOW, title="x" * 128), ME)


async def test_metrics_are_read_where_available():
    setup = DevToSetup()
    await setup.post()
    assert await setup.platform.metrics(ME, ["1", "9"]) == {"1": PostMetrics(), "9": None}
    setup.blog.posts[0].update(public_reactions_count=5, comments_count=0, page_views_count=80)
    assert await setup.platform.metrics(ME, ["1"]) == {"1": PostMetrics(likes=5, replies=0, impressions=80)}


async def test_article_is_found_if_our_clock_was_ahead():
    setup = DevToSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    await setup.platform.send(ME, setup.intent, (draft,))
    found = await setup.platform.find_post(ME, setup.intent, (draft,), NOW + 14 * 3600 * SECOND)
    assert found.ids == draft.ids


async def test_deleted_article_is_unpublished():
    setup = DevToSetup()
    result = await setup.post()
    await setup.platform.delete(ME, result)
    assert (setup.blog.published, len(setup.blog.posts)) == ([], 1)
    assert await setup.platform.metrics(ME, ["1"]) == {"1": None}


async def test_unreadable_list_raises_not_sent():
    setup = DevToSetup()
    setup.blog.faults.append(Fault.BROKEN_AFTER)
    with pytest.raises(NotSentError):
        await setup.platform.find_post(ME, setup.intent, (), NOW)


async def test_lost_publication_is_repeated_at_once():
    setup = DevToSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    setup.blog.faults.append(Fault.CUT_BEFORE)
    delivery = Delivery(steps=2, results=(draft,))
    start = setup.clock.now
    delivery = await deliver(setup.platform, ME, setup.intent, setup.clock, lambda: None, delivery)
    assert (delivery.state, len(setup.blog.published)) == (DeliveryState.SENT, 1)
    # Without waiting for the first request, which might still arrive: it could only publish the same article.
    assert setup.clock.now - start < 60 * SECOND


@given(faults=fault_sequences)
async def test_article_is_published_at_most_once_under_faults(faults):
    setup = DevToSetup()
    setup.blog.faults.extend(faults)

    def assert_published_at_most_once() -> None:
        assert len(setup.blog.published) <= 1

    delivery = await deliver(setup.platform, ME, setup.intent, setup.clock, assert_published_at_most_once)
    setup.clock.now += 100 * SECOND
    setup.blog.deliver_late()
    assert_published_at_most_once()
    assert_outcome_is_known(delivery, faults, published=bool(setup.blog.published))
