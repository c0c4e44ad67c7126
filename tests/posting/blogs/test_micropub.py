"""Tests for posting articles by Micropub exactly once, or asking the user where the site's list cannot tell."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.posting.blogs.micropub import SETTLE_TIME, Micropub, find_endpoint
from copydesk.posting.client import PlatformClient, Response
from copydesk.posting.platform import (
    Account,
    Evidence,
    LoginError,
    LookupUnsupportedError,
    NotSentError,
    PostMetrics,
    RefusedPostError,
    UnknownOutcomeError,
    short_key,
)
from cost_growth import assert_linear
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
from fake_micropub import FakeMicropub

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
ENDPOINT = "https://me.example/micropub?site=1"
ME = Account(platform="micropub", server="https://me.example", id="https://me.example", name="me.example")
SLUG = f"tea-steam-{short_key(SEED)}"


class MicropubSetup:
    """A fake site with an article of last week, and a platform that posts to it."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW - timedelta(days=7))
        self.blog = FakeMicropub(self.clock)
        self.blog.add_post({"name": ["Old"], "content": [{"html": "<p>x</p>"}], "mp-slug": ["old"]})
        self.clock.now = NOW
        self.platform = Micropub(
            PlatformClient(self.blog), InMemorySecrets(token="t0ken", endpoint=ENDPOINT), clock=self.clock
        )
        self.intent = self.platform.render(make_post(NOW, tags=("Tea",)), ME, SEED)


async def test_article_is_posted_in_one_step():
    setup = MicropubSetup()
    result = await setup.platform.send(ME, setup.intent, ())
    url = f"https://me.example/{SLUG}"
    assert (result.ids, result.urls, len(setup.intent.steps)) == ((url,), (url,), 1)
    properties = setup.blog.posts[-1]["properties"]
    assert (properties["name"], properties["category"]) == (["Tea & steam"], ["Tea"])
    assert str(setup.blog.requests[0].url) == ENDPOINT


def test_rendering_is_deterministic():
    setup = MicropubSetup()
    assert setup.platform.render(make_post(NOW, tags=("Tea",)), ME, SEED) == setup.intent


@pytest.mark.parametrize("takes_slugs", [True, False])
async def test_lost_article_is_found_by_slug_or_content(takes_slugs):
    setup = MicropubSetup()
    setup.blog.honors_slugs = takes_slugs
    assert await setup.platform.find_post(ME, setup.intent, (), NOW) is None
    setup.blog.faults.append(Fault.CUT_AFTER)
    with pytest.raises(UnknownOutcomeError):
        await setup.platform.send(ME, setup.intent, ())
    found = await setup.platform.find_post(ME, setup.intent, (), NOW)
    assert (found.ids, found.evidence) == ((setup.blog.posts[-1]["url"],), Evidence.READ_BACK)


async def test_same_article_of_earlier_day_is_not_matched():
    setup = MicropubSetup()
    setup.blog.honors_slugs = False
    await setup.platform.send(ME, setup.intent, ())
    assert await setup.platform.find_post(ME, setup.intent, (), NOW + timedelta(days=1)) is None


async def test_article_is_found_on_later_page():
    setup = MicropubSetup()
    await setup.platform.send(ME, setup.intent, ())
    for number in range(60):
        setup.blog.add_post({"name": [str(number)], "content": ["x"], "mp-slug": [f"later-{number}"]})
    assert (await setup.platform.find_post(ME, setup.intent, (), NOW)).ids[0].endswith(SLUG)


async def test_site_without_list_is_unknown():
    setup = MicropubSetup()
    setup.blog.has_list = False
    with pytest.raises(LookupUnsupportedError, match="no list"):
        await setup.platform.find_post(ME, setup.intent, (), NOW)


async def test_list_that_ends_at_a_refused_page_is_incomplete():
    setup = MicropubSetup()
    setup.blog.has_later_pages = False
    for number in range(60):
        setup.blog.add_post({"name": [str(number)], "content": ["x"], "mp-slug": [f"later-{number}"]})
    with pytest.raises(UnknownOutcomeError, match="does not show whether") as raised:
        await setup.platform.find_post(ME, setup.intent, (), NOW)
    assert not isinstance(raised.value, LookupUnsupportedError)


@pytest.mark.parametrize("times", [[], [0], [7, 0], [None, None]])
async def test_incomplete_or_unordered_list_is_unknown(times):
    setup = MicropubSetup()
    setup.blog.posts.clear()
    for number, days in enumerate(times):
        setup.blog.add_post({"name": ["a"], "content": ["x"], "mp-slug": [f"a{number}"]})
        at = [] if days is None else [(NOW - timedelta(days=days)).isoformat()]
        setup.blog.posts[-1]["properties"]["published"] = at
    setup.blog.posts.reverse()
    with pytest.raises(UnknownOutcomeError, match="does not show whether"):
        await setup.platform.find_post(ME, setup.intent, (), NOW)


async def test_location_may_be_utf_8():
    setup = MicropubSetup()
    headers = [(b"location", "https://me.example/Ägypten".encode())]
    answer = httpx.MockTransport(lambda _: httpx.Response(201, headers=headers))
    platform = Micropub(PlatformClient(answer), InMemorySecrets(token="t0ken", endpoint=ENDPOINT), clock=setup.clock)
    assert (await platform.send(ME, setup.intent, ())).urls == ("https://me.example/Ägypten",)


async def test_response_without_location_has_unknown_outcome():
    setup = MicropubSetup()
    for headers in ({}, {"location": "javascript:x"}, {"location": "https://["}):
        answer = httpx.MockTransport(lambda _, headers=headers: httpx.Response(201, headers=headers))
        platform = Micropub(
            PlatformClient(answer), InMemorySecrets(token="t0ken", endpoint=ENDPOINT), clock=setup.clock
        )
        with pytest.raises(UnknownOutcomeError):
            await platform.send(ME, setup.intent, ())


async def test_pictures_are_uploaded_before_article():
    setup = MicropubSetup()
    await setup.platform.send(ME, setup.intent, (), (IMAGE,))
    photo = {"value": "https://me.example/files/1.png", "alt": 'A "cup"'}
    assert setup.blog.posts[-1]["properties"]["photo"] == [photo]
    assert setup.blog.files[0]["file"] == IMAGE.content


async def test_site_without_media_endpoint_refuses_pictures():
    setup = MicropubSetup()
    setup.blog.has_media = False
    with pytest.raises(RefusedPostError, match="does not accept images"):
        await setup.platform.send(ME, setup.intent, (), (IMAGE,))
    assert len(setup.blog.posts) == 1


class SiteWithPage(FakeMicropub):
    """A site whose page may name its endpoint, and which asserts that the page request carries no token."""

    page = '<link rel="micropub" href="/micropub?site=1">'

    def respond(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/":
            assert "authorization" not in request.headers
            return httpx.Response(200, html=self.page)
        return super().respond(request)


@pytest.mark.parametrize("given_address", ["me.example", "https://me.example/"])
async def test_connect_discovers_endpoint_from_page(given_address):
    setup = MicropubSetup()
    platform = Micropub(PlatformClient(SiteWithPage(setup.clock)), InMemorySecrets(), clock=setup.clock)
    connected = await platform.connect(given_address, {"token": " t0ken "})
    assert (connected.account, connected.credentials) == (ME, {"token": "t0ken", "endpoint": ENDPOINT})
    with pytest.raises(LoginError, match="not known"):
        await platform.connect(given_address, {"token": "no"})


async def test_connect_accepts_endpoint_address():
    setup = MicropubSetup()
    connected = await setup.platform.connect("https://me.example/micropub/", {"token": "t0ken"})
    assert connected.credentials["endpoint"] == "https://me.example/micropub/"
    assert await setup.platform.check(ME) == ME


async def test_page_without_endpoint_gets_no_token():
    setup = MicropubSetup()
    site = SiteWithPage(setup.clock)
    site.page = "<p>Hello"
    with pytest.raises(RefusedPostError, match="No Micropub endpoint"):
        await Micropub(PlatformClient(site), InMemorySecrets(), clock=setup.clock).connect(
            "me.example", {"token": "t0ken"}
        )


@pytest.mark.parametrize(
    ("link", "page", "endpoint"),
    [
        ("</api>; rel=micropub", "", "https://me.example/api"),
        ('<https://a.example>; rel="me", <https://m.example/p>; rel="authn micropub"', "", "https://m.example/p"),
        ("", "<a class=x rel='me micropub' href='m?a=b&amp;c=d'>", "https://me.example/m?a=b&c=d"),
        ("", "<!-- <link rel=micropub href=/no> --><LINK href=/yes REL=Micropub>", "https://me.example/yes"),
        ("", "<link rel=micropub href='javascript:x'><link rel=micropub href='http://['>", None),
        ("<x>; rel=micropubs", "<link rel=stylesheet href=a>", None),
    ],
)
def test_endpoint_is_read_from_header_then_page(link, page, endpoint):
    answer = Response(status=200, headers={"link": link}, body=page.encode())
    assert find_endpoint(answer, "https://me.example/") == endpoint


@pytest.mark.parametrize("piece", ["<link ", "<!--", "<a <", "<link rel='", "<!", "--><!--"])
def test_hostile_page_takes_linear_time(piece):
    def page(size):
        return Response(status=200, headers={}, body=(piece * size).encode())

    assert find_endpoint(page(200_000), "https://me.example/") is None
    assert_linear(page, lambda answer: find_endpoint(answer, "https://me.example/"), 200_000)


@given(link=st.text(alphabet='<>;," rel=micropub', max_size=60), page=st.text(alphabet="<>!-a link=rel'", max_size=60))
def test_arbitrary_page_raises_nothing(link, page):
    find_endpoint(Response(status=200, headers={"link": link}, body=page.encode()), "https://me.example/")


async def test_article_is_found_without_slug_if_our_clock_was_ahead():
    setup = MicropubSetup()
    setup.blog.honors_slugs = False
    result = await setup.platform.send(ME, setup.intent, ())
    found = await setup.platform.find_post(ME, setup.intent, (), NOW + timedelta(hours=14))
    assert found.ids == result.ids


async def test_deleted_article_is_detected_by_status():
    setup = MicropubSetup()
    result = await setup.platform.send(ME, setup.intent, ())
    await setup.platform.delete(ME, result)
    assert len(setup.blog.posts) == 1
    pages = {"/old": 200, "/broken": 500, "/gone": 410}
    caller = PlatformClient(httpx.MockTransport(lambda request: httpx.Response(pages[request.url.path])))
    platform = Micropub(caller, InMemorySecrets(), clock=setup.clock)
    urls = [f"https://me.example{path}" for path in pages]
    assert list((await platform.metrics(ME, urls)).values()) == [PostMetrics(), PostMetrics(), None]


@pytest.mark.parametrize(("fault", "error"), [(Fault.NO_CONNECTION, NotSentError), (Fault.REFUSED, RefusedPostError)])
async def test_fault_before_arrival_creates_nothing(fault, error):
    setup = MicropubSetup()
    setup.blog.faults.append(fault)
    with pytest.raises(error):
        await setup.platform.send(ME, setup.intent, ())
    assert len(setup.blog.posts) == 1


@given(faults=fault_sequences, takes_slugs=st.booleans(), has_list=st.booleans())
async def test_article_is_published_at_most_once_under_faults(faults, takes_slugs, has_list):
    setup = MicropubSetup()
    setup.blog.honors_slugs, setup.blog.has_list = takes_slugs, has_list
    setup.blog.faults.extend(faults)

    def assert_published_at_most_once() -> None:
        assert len(setup.blog.published) <= 2  # including the one of last week

    delivery = await deliver(setup.platform, ME, setup.intent, setup.clock, assert_published_at_most_once)
    setup.clock.now += SETTLE_TIME + 100 * SECOND
    setup.blog.deliver_late()
    assert_published_at_most_once()
    assert_outcome_is_known(delivery, faults, published=len(setup.blog.published) == 2)
