"""Tests for Google News sources: searches, topics and editions."""

from typing import Any

import pytest

from copydesk.errors import NotAFeedError, RateLimitedError
from copydesk.ingest.fetch_context import ACCEPT_FEEDS
from copydesk.model.source import SourceSpec
from fake_fetcher import HOSTILE_TITLE, FakeFetcher, make_spec, next_state

SITE = "https://news.google.com"
FEED = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?><rss version="2.0"><channel>
<generator>NFE/5.0</generator><title>"sqlite" - Google News</title><link>https://news.google.com/search?q=sqlite</link>
<item><title>SQLite turns 26 - The Register</title><link>https://news.google.com/rss/articles/CBMiFAKE0001?oc=5</link>
<guid isPermaLink="false">CBMiFAKE0001</guid><pubDate>Wed, 18 Nov 2026 07:00:00 GMT</pubDate>
<description>&lt;a href="https://news.google.com/rss/articles/CBMiFAKE0001?oc=5" target="_blank"&gt;SQLite&lt;/a&gt;
&amp;nbsp;&amp;nbsp;&lt;font color="#6f6f6f"&gt;The Register&lt;/font&gt;</description>
<source url="https://www.theregister.com">The Register</source></item></channel></rss>"""
AMERICA = "hl=en-US&gl=US&ceid=US%3Aen"


def source(url: str = f"{SITE}/rss/search", **config: Any) -> SourceSpec:
    return make_spec("google_news", url, **config)


async def test_search_requests_last_week_of_one_edition() -> None:
    web = FakeFetcher()
    url = f"{SITE}/rss/search?q=sqlite+when%3A7d&{AMERICA}"
    web.put(url, FEED)
    await web.read(source(SITE, query="sqlite"))
    assert web.requested_urls == [url]
    assert web.requests[0].headers["accept"] == ACCEPT_FEEDS


@pytest.mark.parametrize("query", ["sqlite when:12h", "sqlite after:2026-11-01", "before:2026-11-01 sqlite"])
async def test_time_range_in_query_is_respected(query: str) -> None:
    web = FakeFetcher()
    with pytest.raises(Exception, match="404"):
        await web.read(source(query=query))
    assert web.requests[0].url.params["q"] == query


@pytest.mark.parametrize(
    ("url", "feed_url"),
    [
        (SITE, f"{SITE}/rss?{AMERICA}"),
        (f"{SITE}/search?q=sqlite", f"{SITE}/rss/search?q=sqlite+when%3A7d&{AMERICA}"),
        (f"{SITE}/topics/CAAqJg", f"{SITE}/rss/topics/CAAqJg?{AMERICA}"),
        (
            f"{SITE}/rss/headlines/section/topic/TECHNOLOGY?hl=de&gl=DE&ceid=DE:de",
            f"{SITE}/rss/headlines/section/topic/TECHNOLOGY?hl=de&gl=DE&ceid=DE%3Ade",
        ),
    ],
)
async def test_page_url_maps_to_its_feed(url: str, feed_url: str) -> None:
    web = FakeFetcher()
    web.put(feed_url, FEED)
    await web.read(source(url))
    assert web.requested_urls == [feed_url]


@pytest.mark.parametrize(
    ("config", "edition"),
    [
        ({"hl": "en-GB"}, "hl=en-GB&gl=GB&ceid=GB%3Aen"),
        ({"hl": "en", "gl": "IE"}, "hl=en-IE&gl=IE&ceid=IE%3Aen"),
        ({"ceid": "DE:de"}, "hl=de&gl=DE&ceid=DE%3Ade"),
        ({"hl": "de", "gl": "AT"}, "hl=de&gl=AT&ceid=AT%3Ade"),
        ({"hl": "es-419", "gl": "MX"}, "hl=es-419&gl=MX&ceid=MX%3Aes-419"),
        ({"hl": "pt-BR"}, "hl=pt-BR&gl=BR&ceid=BR%3Apt-419"),
        ({"gl": "US"}, AMERICA),
    ],
)
async def test_edition_settings_are_completed(config: dict[str, str], edition: str) -> None:
    web = FakeFetcher()
    url = f"{SITE}/rss/search?q=a+when%3A7d&{edition}"
    web.put(url, FEED)
    await web.read(source(query="a", **config))
    assert web.requested_urls == [url]


async def test_publisher_is_removed_from_title() -> None:
    web = FakeFetcher()
    web.put(f"{SITE}/rss/search?q=a+when%3A7d&{AMERICA}", FEED)
    (entry,) = (await web.read(source(query="a"))).entries
    assert (entry.title, entry.publisher) == ("SQLite turns 26", "The Register")
    assert entry.url == "https://news.google.com/rss/articles/CBMiFAKE0001?oc=5"
    assert (entry.ident, entry.summary, entry.text) == ("CBMiFAKE0001", "", "")


@pytest.mark.parametrize(
    ("title", "source_tag", "expected_title", "publisher"),
    [
        ("A - B - The Register", '<source url="https://t.example">The Register</source>', "A - B", "The Register"),
        ("A - B - Press", "", "A - B", "Press"),
        ("No press", "", "No press", None),
        ("Another - Name", '<source url="https://t.example">The Register</source>', "Another - Name", "The Register"),
    ],
)
async def test_title_is_cut_only_before_publisher(
    title: str, source_tag: str, expected_title: str, publisher: str | None
) -> None:
    feed = FEED.replace("SQLite turns 26 - The Register", title)
    feed = feed.replace('<source url="https://www.theregister.com">The Register</source>', source_tag)
    web = FakeFetcher()
    web.put(f"{SITE}/rss/search?q=a+when%3A7d&{AMERICA}", feed)
    (entry,) = (await web.read(source(query="a"))).entries
    assert (entry.title, entry.publisher) == (expected_title, publisher)


async def test_second_fetch_is_conditional_per_search() -> None:
    web = FakeFetcher()
    for word in ("a", "b"):
        web.put(f"{SITE}/rss/search?q={word}+when%3A7d&{AMERICA}", FEED, etag='"1"')
    first = await web.read(source(query="a"))
    assert (await web.read(source(query="a"), next_state(first))).unchanged
    assert not (await web.read(source(query="b"), next_state(first))).unchanged


async def test_html_page_is_refused() -> None:
    web = FakeFetcher()
    web.put(f"{SITE}/rss?{AMERICA}", "<!doctype html><html><body>Before you continue</body></html>")
    with pytest.raises(NotAFeedError):
        await web.read(source(SITE))


async def test_429_is_passed_on() -> None:
    web = FakeFetcher()
    web.put(f"{SITE}/rss?{AMERICA}", "sorry", status=429, retry_after="120")
    with pytest.raises(RateLimitedError) as error:
        await web.read(source(SITE))
    assert error.value.retry_after == 120


async def test_hostile_publisher_is_sanitized() -> None:
    nasty = HOSTILE_TITLE.replace("\x1b", "&#27;").replace("\x07", "")
    web = FakeFetcher()
    web.put(f"{SITE}/rss?{AMERICA}", FEED.replace("The Register", nasty + "a" * 100_000))
    (entry,) = (await web.read(source(SITE))).entries
    assert "\x1b" not in entry.title + (entry.publisher or "")
    assert len(entry.title) + len(entry.publisher or "") < 4_000
