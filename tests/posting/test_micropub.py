"""An article on a site with Micropub: seen once where the site's list tells, and else the user is asked."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.posting.delivery import State
from copydesk.posting.http import Answer, Caller
from copydesk.posting.keys import short_key
from copydesk.posting.micropub import QUIET, Micropub
from copydesk.posting.micropub_finding import endpoint_of
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
from fake_micropub import FakeMicropub
from growth import assert_in_proportion

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
ENDPOINT = "https://me.example/micropub?site=1"
ME = Account(platform="micropub", server="https://me.example", id="https://me.example", name="me.example")
SLUG = f"tea-steam-{short_key(SEED)}"


class Desk:
    """A site with an article of last week, and a platform that posts to it."""

    def __init__(self) -> None:
        self.clock = Clock(NOW - timedelta(days=7))
        self.blog = FakeMicropub(self.clock)
        self.blog.keep({"name": ["Old"], "content": [{"html": "<p>x</p>"}], "mp-slug": ["old"]})
        self.clock.now = NOW
        self.platform = Micropub(Caller(self.blog), Kept(token="t0ken", endpoint=ENDPOINT), clock=self.clock)
        self.intent = self.platform.render(blog_post(NOW, tags=("Tea",)), ME, SEED)


async def test_an_article_is_posted_in_one_step():
    desk = Desk()
    made = await desk.platform.send(ME, desk.intent, ())
    url = f"https://me.example/{SLUG}"
    assert (made.ids, made.urls, len(desk.intent.steps)) == ((url,), (url,), 1)
    properties = desk.blog.posts[-1]["properties"]
    assert (properties["name"], properties["category"]) == (["Tea & steam"], ["Tea"])
    assert str(desk.blog.requests[0].url) == ENDPOINT


def test_what_is_to_be_sent_is_the_same_each_time():
    desk = Desk()
    assert desk.platform.render(blog_post(NOW, tags=("Tea",)), ME, SEED) == desk.intent


@pytest.mark.parametrize("takes_slugs", [True, False])
async def test_a_lost_article_is_found_by_its_key_or_by_its_title_and_text(takes_slugs):
    desk = Desk()
    desk.blog.takes_slugs = takes_slugs
    assert await desk.platform.look_up(ME, desk.intent, (), NOW) is None
    desk.blog.faults.append(Fault.CUT_AFTER)
    with pytest.raises(UnknownOutcomeError):
        await desk.platform.send(ME, desk.intent, ())
    found = await desk.platform.look_up(ME, desk.intent, (), NOW)
    assert (found.ids, found.evidence) == ((desk.blog.posts[-1]["url"],), Evidence.READ_BACK)


async def test_the_same_article_of_an_earlier_day_is_not_taken_for_this_one():
    desk = Desk()
    desk.blog.takes_slugs = False
    await desk.platform.send(ME, desk.intent, ())
    assert await desk.platform.look_up(ME, desk.intent, (), NOW + timedelta(days=1)) is None


async def test_it_is_found_on_a_later_page_of_the_list():
    desk = Desk()
    await desk.platform.send(ME, desk.intent, ())
    for number in range(60):
        desk.blog.keep({"name": [str(number)], "content": ["x"], "mp-slug": [f"later-{number}"]})
    assert (await desk.platform.look_up(ME, desk.intent, (), NOW)).ids[0].endswith(SLUG)


async def test_where_a_site_has_no_list_it_cannot_be_told():
    desk = Desk()
    desk.blog.has_list = False
    with pytest.raises(UnknownOutcomeError, match="no list"):
        await desk.platform.look_up(ME, desk.intent, (), NOW)


@pytest.mark.parametrize("times", [[], [0], [7, 0], [None, None]])
async def test_a_list_that_does_not_reach_back_or_is_in_no_order_tells_nothing(times):
    desk = Desk()
    desk.blog.posts.clear()
    for number, days in enumerate(times):
        desk.blog.keep({"name": ["a"], "content": ["x"], "mp-slug": [f"a{number}"]})
        at = [] if days is None else [(NOW - timedelta(days=days)).isoformat()]
        desk.blog.posts[-1]["properties"]["published"] = at
    desk.blog.posts.reverse()
    with pytest.raises(UnknownOutcomeError, match="does not tell"):
        await desk.platform.look_up(ME, desk.intent, (), NOW)


async def test_an_answer_without_an_address_tells_nothing():
    desk = Desk()
    for headers in ({}, {"location": "javascript:x"}, {"location": "https://["}):
        answer = httpx.MockTransport(lambda _, headers=headers: httpx.Response(201, headers=headers))
        platform = Micropub(Caller(answer), Kept(token="t0ken", endpoint=ENDPOINT), clock=desk.clock)
        with pytest.raises(UnknownOutcomeError):
            await platform.send(ME, desk.intent, ())


async def test_pictures_stand_on_the_site_before_the_article():
    desk = Desk()
    await desk.platform.send(ME, desk.intent, (), (PICTURE,))
    photo = {"value": "https://me.example/files/1.png", "alt": 'A "cup"'}
    assert desk.blog.posts[-1]["properties"]["photo"] == [photo]
    assert desk.blog.files[0]["file"] == PICTURE.content


async def test_a_site_that_takes_no_pictures_refuses_the_article():
    desk = Desk()
    desk.blog.has_media = False
    with pytest.raises(RefusedPostError, match="no pictures"):
        await desk.platform.send(ME, desk.intent, (), (PICTURE,))
    assert len(desk.blog.posts) == 1


class Site(FakeMicropub):
    """A site whose page names its endpoint, or does not, and which notes who showed the token to the page."""

    page = '<link rel="micropub" href="/micropub?site=1">'

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/":
            assert "authorization" not in request.headers
            return httpx.Response(200, html=self.page)
        return super().answer(request)


@pytest.mark.parametrize("given_address", ["me.example", "https://me.example/"])
async def test_an_account_is_a_site_whose_page_names_its_endpoint(given_address):
    desk = Desk()
    platform = Micropub(Caller(Site(desk.clock)), Kept(), clock=desk.clock)
    connected = await platform.connect(given_address, {"token": " t0ken "})
    assert (connected.account, connected.secrets) == (ME, {"token": "t0ken", "endpoint": ENDPOINT})
    with pytest.raises(LoginError, match="not known"):
        await platform.connect(given_address, {"token": "no"})


async def test_an_account_may_be_given_by_its_endpoint():
    desk = Desk()
    connected = await desk.platform.connect("https://me.example/micropub/", {"token": "t0ken"})
    assert connected.secrets["endpoint"] == "https://me.example/micropub/"
    assert await desk.platform.check(ME) == ME


async def test_a_page_that_names_no_endpoint_does_not_get_the_token():
    desk = Desk()
    site = Site(desk.clock)
    site.page = "<p>Hello"
    with pytest.raises(RefusedPostError, match="names no Micropub endpoint"):
        await Micropub(Caller(site), Kept(), clock=desk.clock).connect("me.example", {"token": "t0ken"})


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
def test_the_endpoint_is_read_from_the_header_and_then_from_the_page(link, page, endpoint):
    answer = Answer(status=200, headers={"link": link}, body=page.encode())
    assert endpoint_of(answer, "https://me.example/") == endpoint


@pytest.mark.parametrize("piece", ["<link ", "<!--", "<a <", "<link rel='", "<!", "--><!--"])
def test_a_hostile_page_takes_linear_time(piece):
    def page(size):
        return Answer(status=200, headers={}, body=(piece * size).encode())

    assert endpoint_of(page(200_000), "https://me.example/") is None
    assert_in_proportion(page, lambda answer: endpoint_of(answer, "https://me.example/"), 200_000)


@given(link=st.text(alphabet='<>;," rel=micropub', max_size=60), page=st.text(alphabet="<>!-a link=rel'", max_size=60))
def test_no_page_is_an_error(link, page):
    endpoint_of(Answer(status=200, headers={"link": link}, body=page.encode()), "https://me.example/")


async def test_a_deleted_article_is_gone_when_its_address_says_so():
    desk = Desk()
    made = await desk.platform.send(ME, desk.intent, ())
    await desk.platform.delete(ME, made)
    assert len(desk.blog.posts) == 1
    pages = {"/old": 200, "/broken": 500, "/gone": 410}
    caller = Caller(httpx.MockTransport(lambda request: httpx.Response(pages[request.url.path])))
    platform = Micropub(caller, Kept(), clock=desk.clock)
    urls = [f"https://me.example{path}" for path in pages]
    assert list((await platform.figures(ME, urls)).values()) == [Figures(), Figures(), None]


@pytest.mark.parametrize(("fault", "error"), [(Fault.NO_CONNECTION, NotSentError), (Fault.REFUSED, RefusedPostError)])
async def test_after_these_faults_nothing_is_there(fault, error):
    desk = Desk()
    desk.blog.faults.append(fault)
    with pytest.raises(error):
        await desk.platform.send(ME, desk.intent, ())
    assert len(desk.blog.posts) == 1


@given(course=courses, takes_slugs=st.booleans(), has_list=st.booleans())
async def test_whatever_happens_the_article_is_seen_once_or_not_at_all_and_told_as_it_is(course, takes_slugs, has_list):
    desk = Desk()
    desk.blog.takes_slugs, desk.blog.has_list = takes_slugs, has_list
    desk.blog.faults.extend(course)

    def seen_once() -> None:
        assert len(desk.blog.seen) <= 2  # with the one of last week

    delivery = await deliver(desk.platform, ME, desk.intent, desk.clock, seen_once)
    desk.clock.now += QUIET + 100 * SECOND
    desk.blog.arrive()
    seen_once()
    assert (len(desk.blog.seen) == 2) == (delivery.state is State.SENT) or delivery.state is State.NEEDS_USER
