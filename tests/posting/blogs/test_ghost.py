"""Tests for posting articles to Ghost exactly once."""

from datetime import UTC, datetime, timedelta

import httpx
import msgspec
import pytest
from hypothesis import given

from copydesk.posting.blogs.ghost import Ghost, create_token
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
from fake_ghost import FakeGhost

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
KEY = f"{FakeGhost.name}:{FakeGhost.secret}"
ME = Account(platform="ghost", server="https://blog.example", id="https://blog.example", name="blog.example")
SLUG = f"tea-steam-{short_key(SEED)}"


class GhostSetup:
    """A fake blog and a platform that posts to it."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.blog = FakeGhost(self.clock)
        self.platform = Ghost(PlatformClient(self.blog), InMemorySecrets(key=KEY), clock=self.clock)
        self.intent = self.platform.render(make_post(NOW, tags=("Tea",)), ME, SEED)


async def test_article_is_created_as_draft_then_published():
    setup = GhostSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    assert (draft.ids, draft.urls, setup.blog.published) == (("65f0",), (), [])
    result = await setup.platform.send(ME, setup.intent, (draft,))
    (post,) = setup.blog.published
    assert (result.ids, result.urls) == (("65f0",), (f"https://blog.example/{SLUG}/",))
    assert (post["title"], post["tags"]) == ("Tea & steam", [{"name": "Tea"}])
    assert "&lt;script&gt;" in post["html"]
    assert setup.blog.requests[0].headers["accept-version"] == "v5.0"


def test_alt_text_of_the_feature_image_is_limited():
    validate, article = GhostSetup().platform.validate, make_post(NOW)
    assert validate(msgspec.structs.replace(article, alts=("a" * 191, "b" * 192)), ME) == []
    (problem,) = validate(msgspec.structs.replace(article, alts=("a" * 192,)), ME)
    assert problem.message == "The alt text of the first image has 192 characters; the limit on Ghost is 191."


def test_rendering_is_deterministic():
    setup = GhostSetup()
    assert setup.platform.render(make_post(NOW, tags=("Tea",)), ME, SEED) == setup.intent


async def test_existing_draft_is_reused():
    setup = GhostSetup()
    await setup.platform.send(ME, setup.intent, ())
    second = await setup.platform.send(ME, setup.intent, ())
    assert (second.evidence, len(setup.blog.posts)) == (Evidence.READ_BACK, 1)


async def test_lost_steps_are_found_by_slug_then_id():
    setup = GhostSetup()
    assert await setup.platform.find_post(ME, setup.intent, (), NOW) is None
    setup.blog.faults.extend([None, Fault.CUT_AFTER])
    with pytest.raises(UnknownOutcomeError):
        await setup.platform.send(ME, setup.intent, ())
    draft = await setup.platform.find_post(ME, setup.intent, (), NOW)
    assert await setup.platform.find_post(ME, setup.intent, (draft,), NOW) is None
    setup.blog.faults.extend([None, Fault.CUT_AFTER])
    with pytest.raises(UnknownOutcomeError):
        await setup.platform.send(ME, setup.intent, (draft,))
    found = await setup.platform.find_post(ME, setup.intent, (draft,), NOW)
    assert (found.ids, found.evidence) == (draft.ids, Evidence.READ_BACK)


async def test_concurrently_edited_post_is_unknown():
    setup = GhostSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    setup.blog.conflicts_left = 1
    with pytest.raises(UnknownOutcomeError, match="Someone else"):
        await setup.platform.send(ME, setup.intent, (draft,))
    assert await setup.platform.find_post(ME, setup.intent, (draft,), NOW) is None
    assert (await setup.platform.send(ME, setup.intent, (draft,))).urls


async def test_deleted_draft_cannot_be_published():
    setup = GhostSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    setup.blog.posts.clear()
    with pytest.raises(RefusedPostError):
        await setup.platform.send(ME, setup.intent, (draft,))


async def test_published_post_is_not_published_twice():
    setup = GhostSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    await setup.platform.send(ME, setup.intent, (draft,))
    count = len(setup.blog.requests)
    second = await setup.platform.send(ME, setup.intent, (draft,))
    assert (second.evidence, [request.method for request in setup.blog.requests[count:]]) == (
        Evidence.READ_BACK,
        ["GET"],
    )


async def test_pictures_are_uploaded_before_post():
    setup = GhostSetup()
    await setup.platform.send(ME, setup.intent, (), (IMAGE, IMAGE))
    (post,) = setup.blog.posts
    assert (post["feature_image"], post["feature_image_alt"]) == ("https://blog.example/1.png", 'A "cup"')
    assert post["html"].endswith('<img src="https://blog.example/2.png" alt="A &quot;cup&quot;"></figure>')
    assert (setup.blog.images[0]["file"], setup.blog.images[0]["filename"]) == (IMAGE.content, f"{SLUG}.png")


async def test_failed_upload_prevents_post():
    setup = GhostSetup()
    setup.blog.faults.extend([None, Fault.CUT_AFTER])
    with pytest.raises(NotSentError):
        await setup.platform.send(ME, setup.intent, (), (IMAGE,))
    assert setup.blog.posts == []


async def test_unsafe_id_has_unknown_outcome():
    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(404, json={"errors": [{"message": "Not found."}]})
        return httpx.Response(201, json={"posts": [{"id": "../users", "status": "draft"}]})

    setup = GhostSetup()
    platform = Ghost(PlatformClient(httpx.MockTransport(answer)), InMemorySecrets(key=KEY), clock=setup.clock)
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, setup.intent, ())


async def test_connect_returns_blog_integration():
    setup = GhostSetup()
    connected = await setup.platform.connect("https://blog.example/ghost/", {"key": KEY})
    assert (connected.account, connected.credentials) == (ME, {"key": KEY})
    assert await setup.platform.check(ME) == ME
    with pytest.raises(LoginError, match="Invalid token"):
        await setup.platform.connect("https://blog.example", {"key": f"{FakeGhost.name}:{'0' * 64}"})


@pytest.mark.parametrize("key", ["", "abc", "abc:", ":00", "abc:xyz", "abc:0"])
def test_malformed_key_is_refused_without_revealing_it(key):
    with pytest.raises(LoginError) as caught:
        create_token(key, NOW)
    assert not key or key not in str(caught.value)


async def test_token_is_created_per_request():
    setup = GhostSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    setup.clock.now += timedelta(minutes=6)
    assert await setup.platform.send(ME, setup.intent, (draft,))


async def test_deleting_twice_is_no_error():
    setup = GhostSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    result = await setup.platform.send(ME, setup.intent, (draft,))
    assert await setup.platform.metrics(ME, ["65f0", "65f9"]) == {"65f0": PostMetrics(), "65f9": None}
    await setup.platform.delete(ME, result)
    await setup.platform.delete(ME, result)
    assert await setup.platform.metrics(ME, ["65f0"]) == {"65f0": None}


async def test_lost_publication_is_repeated_at_once():
    setup = GhostSetup()
    draft = await setup.platform.send(ME, setup.intent, ())
    setup.blog.faults.extend([None, Fault.CUT_BEFORE])
    delivery = Delivery(steps=2, results=(draft,))
    start = setup.clock.now
    delivery = await deliver(setup.platform, ME, setup.intent, setup.clock, lambda: None, delivery)
    assert (delivery.state, len(setup.blog.published)) == (DeliveryState.SENT, 1)
    # Without waiting for the first request, which might still arrive: it could only publish the same article.
    assert setup.clock.now - start < 60 * SECOND


@given(faults=fault_sequences)
async def test_article_is_published_at_most_once_under_faults(faults):
    setup = GhostSetup()
    setup.blog.faults.extend(faults)

    def assert_published_at_most_once() -> None:
        assert len(setup.blog.published) <= 1

    delivery = await deliver(setup.platform, ME, setup.intent, setup.clock, assert_published_at_most_once)
    setup.clock.now += 100 * SECOND
    setup.blog.deliver_late()
    assert_published_at_most_once()
    assert_outcome_is_known(delivery, faults, published=bool(setup.blog.published))
    if delivery.state is DeliveryState.SENT:
        assert delivery.results[-1].ids == (setup.blog.published[0]["id"],)
