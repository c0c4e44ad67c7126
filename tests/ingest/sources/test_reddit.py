"""Tests for subreddit sources: the public feed, and the API where credentials are set."""

import asyncio
import base64
import html
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from copydesk.errors import LoginRequiredError, NotAFeedError, PageNotFoundError, RateLimitedError
from copydesk.ingest.fetch_context import ACCEPT_FEEDS, FetchResult
from copydesk.model.source import FetchState, SourceSpec
from cost_growth import assert_linear
from fake_fetcher import HOSTILE_TITLE, NOW, FakeFetcher, make_spec, next_state

SITE = "https://www.reddit.com"
FEED_URL = f"{SITE}/r/Python/new/.rss?limit=100"
TOKEN_URL = f"{SITE}/api/v1/access_token"
API_URL = "https://oauth.reddit.com/r/Python/new?limit=100&raw_json=1"
TOKEN = {"access_token": "hush", "token_type": "bearer", "expires_in": 86400, "scope": "*"}
COMMENTS = f"{SITE}/r/Python/comments/1abcde/t/"
POST_FOOTER = (
    ' &#32; submitted by &#32; <a href="https://www.reddit.com/user/someone"> /u/someone </a> <br/> '
    '<span><a href="{link}">[link]</a></span> &#32; <span><a href="{comments}">[comments]</a></span>'
)
POST: dict[str, Any] = {
    "name": "t3_1abcde",
    "id": "1abcde",
    "subreddit": "Python",
    "title": "SQLite is enough",
    "selftext": "",
    "selftext_html": None,
    "author": "someone",
    "created_utc": 1795089480.0,
    "score": 312,
    "num_comments": 88,
    "url": "https://blog.example/sqlite?a=1&b=2",
    "permalink": "/r/Python/comments/1abcde/sqlite_is_enough/",
    "is_self": False,
    "over_18": False,
    "stickied": False,
    "hide_score": False,
    "removed_by_category": None,
}


def source(url: str = f"{SITE}/r/Python/", **config: Any) -> SourceSpec:
    return make_spec("reddit", url, **config)


def entry(ident: str = "t3_1abcde", title: str = "SQLite is enough", text: str = "", link: str = COMMENTS) -> str:
    """Return an entry of Reddit's feed."""
    content = html.escape(text + POST_FOOTER.format(link=html.escape(link), comments=COMMENTS))
    return f"""<entry><author><name>/u/someone</name><uri>{SITE}/user/someone</uri></author>
<category term="Python" label="r/Python"/><content type="html">{content}</content><id>{ident}</id>
<link href="{COMMENTS}"/><updated>2026-11-18T11:58:00+00:00</updated><published>2026-11-18T11:58:00+00:00</published>
<title>{html.escape(title)}</title></entry>"""


def feed(*entries: str) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">
<category term="Python" label="r/Python"/><updated>2026-11-18T12:00:00+00:00</updated><id>/r/Python/new/.rss</id>
<title>newest submissions : Python</title>{"".join(entries)}</feed>"""


def listing(*posts: Any) -> dict[str, Any]:
    """Return the API's answer."""
    return {"kind": "Listing", "data": {"children": [{"kind": "t3", "data": post} for post in posts]}}


def web_with_api(*posts: Any) -> FakeFetcher:
    web = FakeFetcher()
    web.put(TOKEN_URL, TOKEN)
    web.put(API_URL, listing(*posts))
    return web


async def read_api(
    web: FakeFetcher, state: FetchState | None = None, now: datetime = NOW, **config: Any
) -> FetchResult:
    return await web.read(source(**config), state, now=now, reddit_client_id="id", reddit_client_secret="secret")


async def read_post(**post: Any) -> Any:
    """Return the entry that is built from one post of the API."""
    (parsed,) = (await read_api(web_with_api(POST | post))).entries
    return parsed


async def test_feed_without_credentials_has_minute_gap() -> None:
    web = FakeFetcher()
    web.put(FEED_URL, feed(entry()))
    reading = await web.read(source())
    assert (web.requested_urls, web.host_gaps) == ([FEED_URL], [60.0])
    assert web.requests[0].headers["accept"] == ACCEPT_FEEDS
    assert "authorization" not in web.requests[0].headers
    assert reading.feed_title == "newest submissions : Python"


@pytest.mark.parametrize(
    ("url", "config", "path"),
    [
        ("r/Python+sqlite", {}, "/r/Python+sqlite/new/.rss?limit=100"),
        ("r/Python", {"listing": "hot"}, "/r/Python/hot/.rss?limit=100"),
        ("r/Python", {"listing": "rising", "window": "week"}, "/r/Python/rising/.rss?limit=100"),
        ("r/Python", {"listing": "top"}, "/r/Python/top/.rss?t=day&limit=100"),
        ("r/Python", {"listing": "top", "window": "week"}, "/r/Python/top/.rss?t=week&limit=100"),
        (f"{SITE}/r/Python/top/?t=month", {}, "/r/Python/top/.rss?t=month&limit=100"),
        (f"{SITE}/r/Python/top/?t=month", {"listing": "hot"}, "/r/Python/hot/.rss?limit=100"),
    ],
)
async def test_config_overrides_listing_in_url(url: str, config: dict[str, str], path: str) -> None:
    web = FakeFetcher()
    web.put(SITE + path, feed(entry()))
    await web.read(source(url, **config))
    assert web.requested_urls == [SITE + path]


async def test_link_post_uses_target_url() -> None:
    web = FakeFetcher()
    web.put(FEED_URL, feed(entry(link="https://blog.example/sqlite?a=1&b=2")))
    (post,) = (await web.read(source())).entries
    assert post.ident == post.alias == "t3_1abcde"
    assert post.url == "https://blog.example/sqlite?a=1&b=2"
    assert post.discussion == COMMENTS
    assert (post.title, post.summary, post.text, post.author) == ("SQLite is enough", "", "", "u/someone")
    assert post.published == datetime(2026, 11, 18, 11, 58, tzinfo=UTC)
    assert (post.points, post.comments) == (None, None)


async def test_text_post_is_its_own_page() -> None:
    """Reddit's footer is removed from its text."""
    web = FakeFetcher()
    text = '<!-- SC_OFF --><div class="md"><p>I was submitted by fate.</p> <p>Second.</p></div><!-- SC_ON -->'
    web.put(FEED_URL, feed(entry(text=text)))
    (post,) = (await web.read(source())).entries
    assert post.url == post.discussion == COMMENTS
    assert post.text == "I was submitted by fate.\n\nSecond."
    assert "[link]" not in post.summary + post.text


async def test_link_in_text_is_not_the_target() -> None:
    web = FakeFetcher()
    text = '<p><a href="https://evil.example/">[link]</a></p>'
    web.put(FEED_URL, feed(entry(text=text, link="https://blog.example/"), entry("t3_2", "[link]", text)))
    first, second = (await web.read(source())).entries
    assert first.url == "https://blog.example/"
    assert second.url == COMMENTS


@pytest.mark.parametrize("title", ["[removed]", "[deleted by user]"])
async def test_removed_posts_are_skipped(title: str) -> None:
    web = FakeFetcher()
    web.put(FEED_URL, feed(entry("t3_1", title), entry("t3_2")))
    result = await web.read(source())
    assert [post.ident for post in result.entries] == ["t3_2"]
    assert result.removed == ("t3_1",)


async def test_second_fetch_is_conditional() -> None:
    web = FakeFetcher()
    web.put(FEED_URL, feed(entry()), etag='"1"')
    first = await web.read(source())
    assert (await web.read(source(), next_state(first))).unchanged


async def test_redirect_does_not_move_source() -> None:
    web = FakeFetcher()
    web.put(FEED_URL, "", status=301, location=f"{SITE}/r/python/new.rss?limit=100")
    web.put(f"{SITE}/r/python/new.rss?limit=100", feed(entry()))
    assert (await web.read(source())).moved_to is None


@pytest.mark.parametrize(("status", "wait"), [(403, 900), (429, 900)])
async def test_refusal_means_throttled_with_hint(status: int, wait: float) -> None:
    web = FakeFetcher()
    web.put(FEED_URL, "whoa there, pardner!", status=status)
    with pytest.raises(RateLimitedError, match="COPYDESK_REDDIT__CLIENT_ID") as error:
        await web.read(source())
    assert error.value.retry_after == wait


async def test_html_page_suggests_missing_subreddit() -> None:
    web = FakeFetcher()
    web.put(FEED_URL, "<!doctype html><html><body>search results</body></html>")
    with pytest.raises(NotAFeedError, match="r/Python exists"):
        await web.read(source())


async def test_unknown_subreddit_is_missing() -> None:
    with pytest.raises(PageNotFoundError):
        await FakeFetcher().read(source())


async def test_api_uses_bearer_token() -> None:
    web = web_with_api(POST)
    reading = await read_api(web)
    token, request = web.requests
    assert (token.method, str(token.url), token.content) == ("POST", TOKEN_URL, b"grant_type=client_credentials")
    assert token.headers["authorization"] == "Basic " + base64.b64encode(b"id:secret").decode()
    assert (request.method, str(request.url)) == ("GET", API_URL)
    assert request.headers["authorization"] == "Bearer hush"
    assert (len(web.requests), reading.cursor) == (2, {"asked": API_URL})


async def test_unchanged_listing_is_not_parsed() -> None:
    web = web_with_api(POST)
    first = await read_api(web)
    second = await read_api(web, next_state(first))
    assert (second.unchanged, second.entries, len(web.requests)) == (True, (), 2 + 1)


async def test_private_subreddit_needs_login() -> None:
    web = FakeFetcher()
    web.put(TOKEN_URL, TOKEN)
    web.put(API_URL, {"reason": "private"}, status=403)
    with pytest.raises(LoginRequiredError, match="public"):
        await read_api(web)
    assert web.requested_urls == [TOKEN_URL, API_URL]


async def test_api_post_has_points_and_comments() -> None:
    post = await read_post()
    assert (post.ident, post.title) == ("t3_1abcde", "SQLite is enough")
    assert post.url == "https://blog.example/sqlite?a=1&b=2"
    assert post.discussion == f"{SITE}/r/Python/comments/1abcde/sqlite_is_enough/"
    assert (post.points, post.comments, post.author, post.tags) == (312, 88, "u/someone", ("r/Python",))
    assert post.published == datetime.fromtimestamp(1795089480, UTC)


async def test_api_text_post_is_its_own_page() -> None:
    post = await read_post(
        is_self=True, selftext="I **ask**", selftext_html='<div class="md"><p>I <b>ask</b></p></div>', over_18=True
    )
    assert post.url == post.discussion
    assert post.text == "I ask"
    assert post.tags == ("r/Python", "nsfw")


async def test_hidden_score_is_none() -> None:
    assert (await read_post(hide_score=True)).points is None


async def test_pinned_and_removed_posts_are_skipped() -> None:
    posts = [POST | {"stickied": True}, POST | {"removed_by_category": "moderator", "name": "t3_removed"}, POST]
    result = await read_api(web_with_api(*posts))
    assert (len(result.entries), result.removed) == (1, ("t3_removed",))


async def test_token_is_renewed_before_expiry() -> None:
    web = web_with_api(POST)
    await read_api(web)
    await read_api(web, now=NOW + timedelta(seconds=86_339))
    assert web.requested_urls.count(TOKEN_URL) == 1
    await read_api(web, now=NOW + timedelta(seconds=86_340))
    assert web.requested_urls.count(TOKEN_URL) == 2


async def test_revoked_token_is_replaced_once() -> None:
    web = FakeFetcher()
    web.put(TOKEN_URL, TOKEN)
    web.put(API_URL, listing(POST))
    web.put(API_URL, "", status=401)
    web.put(API_URL, listing(POST))
    await read_api(web)
    assert len((await read_api(web)).entries) == 1
    assert web.requested_urls == [TOKEN_URL, API_URL, API_URL, TOKEN_URL, API_URL]


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_credentials_name_the_setting(status: int) -> None:
    web = FakeFetcher()
    web.put(TOKEN_URL, {"message": "Unauthorized"}, status=status)
    with pytest.raises((LoginRequiredError, RateLimitedError), match="COPYDESK_REDDIT__CLIENT_SECRET") as error:
        await read_api(web)
    assert "secret" not in str(error.value)
    assert len(web.requests) == 1


@pytest.mark.parametrize("answer", [{"error": "invalid_grant"}, {"access_token": None}])
async def test_answer_without_token_is_refused(answer: dict[str, Any]) -> None:
    web = FakeFetcher()
    web.put(TOKEN_URL, answer)
    with pytest.raises(LoginRequiredError):
        await read_api(web)


async def test_token_with_line_breaks_is_refused() -> None:
    web = FakeFetcher()
    web.put(TOKEN_URL, TOKEN | {"access_token": "a\r\nX-Evil: 1"})
    with pytest.raises(NotAFeedError):
        await read_api(web)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"data": null}', b'{"data": {"children": [null, 7, {"data": 1}]}}']
)
async def test_malformed_answer_is_not_a_feed(body: bytes) -> None:
    web = FakeFetcher()
    web.put(TOKEN_URL, TOKEN)
    web.put(API_URL, body)
    with pytest.raises(NotAFeedError):
        await read_api(web)


async def test_malformed_post_is_skipped() -> None:
    bad = [None, {}, POST | {"title": None}, POST | {"name": "t3_../x"}, POST | {"score": "many"}]
    assert len((await read_api(web_with_api(*bad, POST))).entries) == 1


async def test_empty_subreddit_is_no_error() -> None:
    assert (await read_api(web_with_api())).entries == ()


async def test_hostile_values_are_sanitized() -> None:
    post = await read_post(
        title=HOSTILE_TITLE + "a" * 100_000,
        url="javascript:alert(1)",
        permalink="//evil.example/",
        author=None,
        subreddit=None,
        score="312",
        num_comments=10**15,
        created_utc="1e300",
        selftext_html="<script>x</script>" + "<p>" * 100_000,
    )
    assert "\x1b" not in post.title
    assert len(post.title) < 2_000
    assert post.url == post.discussion == f"{SITE}/comments/1abcde/"
    assert (post.points, post.comments, post.author, post.published) == (312, 1_000_000_000, None, None)
    assert (post.text, post.tags) == ("", ())


def test_wide_spaces_take_linear_time() -> None:
    def build_web(size: int) -> FakeFetcher:
        web = FakeFetcher()
        web.put(FEED_URL, feed(entry(text="a" + "\u2003" * size + "b")))
        return web

    assert_linear(build_web, lambda web: asyncio.run(web.read(source())), 64_000)


async def test_hostile_feed_is_parsed() -> None:
    nasty = feed(
        entry(text="<entry><id>" * 20_000), entry("t3_2", HOSTILE_TITLE.replace("\x1b", "").replace("\x07", ""))
    )
    web = FakeFetcher()
    web.put(FEED_URL, nasty)
    first, second = (await web.read(source())).entries
    assert (first.url, second.url) == (COMMENTS, COMMENTS)
    assert "\u202e" not in second.title
