"""Tests for posting articles to WordPress exactly once."""

from datetime import UTC, datetime

import httpx
import pytest
from hypothesis import given

from copydesk.posting.blogs.wordpress import WordPress
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
    short_key,
)
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
from fake_wordpress import FakeWordPress

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
ME = Account(platform="wordpress", server="https://blog.example", id="3", name="me@blog.example")
SLUG = f"tea-steam-{short_key(SEED)}"
POST = make_post(NOW, tags=("Tea", "Steam", "Tea"))


class WordPressSetup:
    """A fake blog and a platform that posts to it."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.blog = FakeWordPress(self.clock)
        self.platform = WordPress(
            PlatformClient(self.blog), InMemorySecrets(user="me", password="abcd efgh"), clock=self.clock
        )
        self.intent = self.platform.render(POST, ME, SEED)


async def test_article_is_created_as_draft_then_published():
    setup = WordPressSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    assert (draft.ids, draft.urls, setup.blog.published) == (("10",), (), [])
    result = await setup.platform.send(ME, setup.intent, (draft,))
    (post,) = setup.blog.published
    assert (result.ids, result.urls, result.evidence) == (("10",), ("https://blog.example/10",), Evidence.ANSWERED)
    assert (post["slug"], post["title"], post["tags"]) == (SLUG, "Tea & steam", [1, 2])
    assert post["content"].startswith("<p>First, <code>boil</code> it.</p>\n<p>&lt;script&gt;")


def test_rendering_is_deterministic():
    setup = WordPressSetup()
    assert setup.platform.render(POST, ME, SEED) == setup.intent
    assert [step.hidden for step in setup.intent.steps] == [True, False]
    assert {step.keys for step in setup.intent.steps} == {(SLUG,)}


async def test_existing_draft_is_reused():
    setup = WordPressSetup()
    await setup.platform.send(ME, setup.intent, ())
    second = await setup.platform.send(ME, setup.intent, ())
    assert (second.ids, second.evidence, len(setup.blog.posts)) == (("10",), Evidence.READ_BACK, 1)


async def test_draft_with_another_slug_is_not_taken():
    """A proxy may drop the query, so that all posts are listed."""
    setup = WordPressSetup()
    setup.blog.posts.append({"id": 1, "slug": "private", "status": "draft", "link": ""})
    transport = httpx.MockTransport(lambda request: setup.blog.respond(_without_slug(request)))
    platform = WordPress(PlatformClient(transport), InMemorySecrets(user="me", password="abcd efgh"), clock=setup.clock)
    assert await platform.find_post(ME, setup.intent, (), NOW) is None
    assert (await platform.send(ME, setup.intent, ())).ids == ("11",)


def _without_slug(request: httpx.Request) -> httpx.Request:
    url = request.url.copy_remove_param("slug")
    return httpx.Request(request.method, url, headers=request.headers, content=request.content)


async def test_lost_draft_is_found_by_slug():
    setup = WordPressSetup()
    assert await setup.platform.find_post(ME, setup.intent, (), NOW) is None
    other = setup.platform.render(POST, ME, SEED.replace("8000", "9000"))
    await setup.platform.send(ME, other, ())
    assert await setup.platform.find_post(ME, setup.intent, (), NOW) is None
    setup.blog.faults.extend([None, None, None, Fault.CUT_AFTER])
    with pytest.raises(UnknownOutcomeError):
        await setup.platform.send(ME, setup.intent, ())
    found = await setup.platform.find_post(ME, setup.intent, (), NOW)
    assert (found.ids, found.evidence) == (("11",), Evidence.READ_BACK)


async def test_lost_publication_is_found_by_status():
    setup = WordPressSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    assert await setup.platform.find_post(ME, setup.intent, (draft,), NOW) is None
    setup.blog.faults.append(Fault.BROKEN_AFTER)
    with pytest.raises(UnknownOutcomeError):
        await setup.platform.send(ME, setup.intent, (draft,))
    found = await setup.platform.find_post(ME, setup.intent, (draft,), NOW)
    assert found.urls == ("https://blog.example/10",)


async def test_missing_publish_permission_is_refused():
    setup = WordPressSetup()
    setup.blog.can_publish = False
    draft = await setup.platform.send(ME, setup.intent, ())
    with pytest.raises(RefusedPostError, match="pending"):
        await setup.platform.send(ME, setup.intent, (draft,))


async def test_pictures_are_uploaded_once_across_attempts():
    setup = WordPressSetup()
    pictures = (IMAGE, IMAGE)
    setup.blog.faults.extend([None, None, None, None, None, None, Fault.CUT_BEFORE])
    with pytest.raises(NotSentError):
        await setup.platform.send(ME, setup.intent, (), pictures)
    assert (len(setup.blog.media), setup.blog.posts) == (1, [])
    await setup.platform.send(ME, setup.intent, (), pictures)
    first, second = setup.blog.media
    assert (first["file"], first["alt_text"], first["filename"]) == (
        IMAGE.content,
        'A "cup"',
        f"{SLUG}-picture-1.png",
    )
    (post,) = setup.blog.posts
    assert post["featured_media"] == first["id"]
    assert post["content"].endswith(f'<img src="{second["source_url"]}" alt="A &quot;cup&quot;"></figure>')


async def test_tag_that_cannot_be_created_prevents_post():
    setup = WordPressSetup()
    setup.blog.can_create_tags = False
    with pytest.raises(RefusedPostError, match="Tea"):
        await setup.platform.send(ME, setup.intent, ())
    assert setup.blog.posts == []


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
async def test_draft_creation_error_is_classified(fault, error):
    setup = WordPressSetup()
    setup.blog.faults.extend([None, None, None, fault])
    with pytest.raises(error):
        await setup.platform.send(ME, setup.intent, ())


async def test_response_without_id_has_unknown_outcome():
    setup = WordPressSetup()

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=[] if request.method == "GET" else {"status": "draft"})

    platform = WordPress(
        PlatformClient(httpx.MockTransport(answer)), InMemorySecrets(user="me", password="p"), clock=setup.clock
    )
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, platform.render(make_post(NOW), ME, SEED), ())


async def test_missing_api_is_not_a_missing_post():
    transport = httpx.MockTransport(
        lambda _: httpx.Response(404, json={"code": "rest_no_route", "message": "No route."})
    )
    setup = WordPressSetup()
    platform = WordPress(PlatformClient(transport), InMemorySecrets(user="me", password="p"), clock=setup.clock)
    with pytest.raises(NotSentError):
        await platform.find_post(ME, setup.intent, (), NOW)


async def test_connect_returns_blog_user():
    setup = WordPressSetup()
    given_keys = {"user": "me", "password": "abcd efgh"}
    connected = await setup.platform.connect("blog.example/", given_keys)
    assert (connected.account, connected.credentials) == (ME, given_keys)
    assert await setup.platform.check(ME) == ME
    with pytest.raises(LoginError, match="password"):
        await setup.platform.connect("https://blog.example", {"user": "me", "password": "no"})


async def test_deleted_post_is_trashed_and_has_no_metrics():
    setup = WordPressSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    result = await setup.platform.send(ME, setup.intent, (draft,))
    assert await setup.platform.metrics(ME, ["10", "99"]) == {"10": PostMetrics(), "99": None}
    await setup.platform.delete(ME, result)
    assert setup.blog.posts[0]["status"] == "trash"
    assert await setup.platform.metrics(ME, ["10"]) == {"10": None}


async def test_lost_publication_is_repeated_at_once():
    setup = WordPressSetup()
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
    setup = WordPressSetup()
    setup.blog.faults.extend(faults)

    def assert_published_at_most_once() -> None:
        assert len(setup.blog.published) <= 1

    delivery = await deliver(setup.platform, ME, setup.intent, setup.clock, assert_published_at_most_once)
    setup.clock.now += 100 * SECOND
    setup.blog.deliver_late()
    assert_published_at_most_once()
    assert_outcome_is_known(delivery, faults, published=bool(setup.blog.published))
    if delivery.state is DeliveryState.SENT:
        assert delivery.results[-1].ids == (str(setup.blog.published[0]["id"]),)
