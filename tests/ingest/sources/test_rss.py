"""Tests for feed sources, and for finding the feed of a web page."""

import pytest

from copydesk.errors import NotAFeedError, PageNotFoundError, RateLimitedError
from copydesk.ingest.fetch_context import ACCEPT_FEEDS
from copydesk.model.source import SourceSpec
from fake_fetcher import HOSTILE_TITLE, FakeFetcher, make_spec, next_state

FEED = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel><title>Example Blog</title><link>https://blog.example/</link><ttl>60</ttl>
<item><title>Why SQLite is enough</title><link>https://blog.example/sqlite</link>
<guid isPermaLink="false">tag:blog.example,2026:42</guid><pubDate>Tue, 17 Nov 2026 09:30:00 +0100</pubDate></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Lab</title><id>urn:1</id>
<entry><title>Agents</title><id>urn:2</id><link href="https://lab.example/agents"/></entry></feed>"""
JSON_FEED = """{"version": "https://jsonfeed.org/version/1.1", "title": "JSON blog",
"items": [{"id": "1", "url": "https://j.example/1", "title": "Hello", "content_text": "Hello, world."}]}"""
PAGE = """<!doctype html><html><head><title>Blog</title>
<link rel="alternate" type="application/rss+xml" href="/posts.xml"></head><body><p>Hi</p></body></html>"""
PLAIN_PAGE = "<!doctype html><html><head><title>Blog</title></head><body><p>Hi</p></body></html>"


def source(url: str = "https://blog.example/feed") -> SourceSpec:
    return make_spec("rss", url)


@pytest.mark.parametrize(("body", "title"), [(FEED, "Example Blog"), (ATOM, "Lab"), (JSON_FEED, "JSON blog")])
async def test_feed_is_parsed_despite_content_type(body: str, title: str) -> None:
    web = FakeFetcher()
    web.put("https://blog.example/feed", body, content_type="text/html")
    reading = await web.read(source())
    assert reading.feed_title == title
    assert len(reading.entries) == 1
    assert (reading.discovered_url, len(web.requests)) == (None, 1)


async def test_request_accepts_feed_types() -> None:
    web = FakeFetcher()
    web.put("https://blog.example/feed", FEED)
    await web.read(source())
    assert web.requests[0].headers["accept"] == ACCEPT_FEEDS
    assert ACCEPT_FEEDS.startswith("application/atom+xml, application/rss+xml, application/feed+json")
    assert "if-none-match" not in web.requests[0].headers


async def test_validators_and_freshness_are_returned() -> None:
    web = FakeFetcher()
    web.put("https://blog.example/feed", FEED, etag='W/"a"', last_modified="x", cache_control="max-age=600")
    reading = await web.read(source())
    assert (reading.etag, reading.last_modified) == ('W/"a"', "x")
    assert (reading.fresh_for, reading.ttl) == (600, 3600)


async def test_304_is_not_parsed() -> None:
    web = FakeFetcher()
    web.put("https://blog.example/feed", FEED, etag='"1"', last_modified="x")
    first = await web.read(source())
    second = await web.read(source(), next_state(first))
    assert web.requests[1].headers["if-none-match"] == '"1"'
    assert web.requests[1].headers["if-modified-since"] == "x"
    assert (second.unchanged, second.entries) == (True, ())
    assert (second.etag, second.last_modified, second.body_hash) == ('"1"', "x", first.body_hash)


async def test_same_body_is_not_parsed_twice() -> None:
    """Its new validators are stored all the same."""
    web = FakeFetcher()
    web.put("https://blog.example/feed", FEED, etag='"1"')
    web.put("https://blog.example/feed", FEED, last_modified="y")
    first = await web.read(source())
    second = await web.read(source(), next_state(first))
    assert second.unchanged
    assert (second.etag, second.last_modified) == (None, "y")


async def test_permanent_redirect_is_returned() -> None:
    web = FakeFetcher()
    web.put("https://blog.example/feed", "", status=301, location="https://new.example/feed")
    web.put("https://new.example/feed", FEED)
    assert (await web.read(source())).moved_to == "https://new.example/feed"


async def test_linked_feed_is_discovered() -> None:
    web = FakeFetcher()
    web.put("https://blog.example/", PAGE, content_type="text/html")
    web.put("https://blog.example/posts.xml", FEED, etag='"1"')
    reading = await web.read(source("https://blog.example/"))
    assert (reading.discovered_url, len(web.requests), len(reading.entries)) == ("https://blog.example/posts.xml", 2, 1)
    second = await web.read(source("https://blog.example/posts.xml"), next_state(reading))
    assert second.unchanged


async def test_common_paths_are_tried_without_link() -> None:
    web = FakeFetcher()
    web.put("https://blog.example/about", PLAIN_PAGE)
    web.put("https://blog.example/feed.xml", PLAIN_PAGE)
    web.put("https://blog.example/rss.xml", FEED)
    reading = await web.read(source("https://blog.example/about"))
    assert reading.discovered_url == "https://blog.example/rss.xml"


async def test_feed_discovery_is_bounded() -> None:
    web = FakeFetcher()
    links = "".join(f'<link rel="alternate" type="application/rss+xml" href="/{n}.xml">' for n in range(500))
    web.put("https://blog.example/", PAGE.replace("<title>", links + "<title>"))
    with pytest.raises(NotAFeedError):
        await web.read(source("https://blog.example/"))
    assert len(web.requests) < 25


async def test_discovery_stops_when_throttled() -> None:
    web = FakeFetcher()
    web.put("https://blog.example/", PAGE)
    web.put("https://blog.example/posts.xml", "slow down", status=429)
    with pytest.raises(RateLimitedError):
        await web.read(source("https://blog.example/"))
    assert len(web.requests) == 2


async def test_html_from_working_feed_is_an_error() -> None:
    """A captive portal or a parked domain answers with a page; a feed that the page links is not the source's."""
    web = FakeFetcher()
    web.put("https://blog.example/feed", FEED)
    web.put("https://blog.example/feed", PAGE)
    web.put("https://blog.example/posts.xml", FEED)
    first = await web.read(source())
    with pytest.raises(NotAFeedError):
        await web.read(source(), next_state(first))
    assert len(web.requests) == 2


async def test_unknown_url_is_missing() -> None:
    with pytest.raises(PageNotFoundError):
        await FakeFetcher().read(source())


@pytest.mark.parametrize("body", [b"", b"\x00\xff\xfe", b"plain words", b"{}", b"[]", b"<a/>", b"/etc/passwd"])
async def test_non_feed_is_refused(body: bytes) -> None:
    web = FakeFetcher()
    web.put("https://blog.example/feed", body)
    with pytest.raises(NotAFeedError):
        await web.read(source())


@pytest.mark.parametrize("content", ["0; url=/blog/", "0;URL='/blog/'", " 5 ,url = /blog/", "url=/blog/"])
async def test_meta_refresh_is_followed(content: str) -> None:
    web = FakeFetcher()
    web.put("https://blog.example/", f'<html><meta http-equiv="Refresh" content="{content}"></html>')
    web.put("https://blog.example/blog/", PAGE)
    web.put("https://blog.example/posts.xml", FEED)
    assert (await web.read(source("https://blog.example/"))).discovered_url == "https://blog.example/posts.xml"


async def test_meta_refresh_to_a_feed_is_followed_once() -> None:
    web = FakeFetcher()
    web.put("https://blog.example/", '<html><meta http-equiv="refresh" content="0; url=/new.xml"></html>')
    web.put("https://blog.example/new.xml", FEED)
    assert (await web.read(source("https://blog.example/"))).discovered_url == "https://blog.example/new.xml"

    web.put("https://blog.example/loop", '<html><meta http-equiv="refresh" content="0; url=/loop2"></html>')
    web.put("https://blog.example/loop2", '<html><meta http-equiv="refresh" content="0; url=/loop"></html>')
    with pytest.raises(NotAFeedError):
        await web.read(source("https://blog.example/loop"))
    assert [str(request.url) for request in web.requests].count("https://blog.example/loop") == 1


async def test_hostile_entry_is_sanitized() -> None:
    web = FakeFetcher()
    title = HOSTILE_TITLE.replace("\x1b", "&#27;").replace("\x07", "") + "a" * 100_000
    web.put(
        "https://blog.example/feed",
        FEED.replace("Why SQLite is enough", title).replace("https://blog.example/sqlite", "javascript:alert(1)"),
    )
    (entry,) = (await web.read(source())).entries
    assert "\x1b" not in entry.title
    assert "[red]" in entry.title
    assert len(entry.title) < 2_000
    assert not (entry.url or "").startswith("javascript:")
