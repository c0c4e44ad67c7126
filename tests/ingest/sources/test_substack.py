"""Tests for Substack sources."""

import pytest

from copydesk.errors import LoginRequiredError, NotAFeedError, PageNotFoundError
from copydesk.ingest.fetch_context import ACCEPT_FEEDS
from copydesk.model.source import SourceSpec
from fake_fetcher import FakeFetcher, make_spec, next_state

FEED = """<?xml version="1.0" encoding="UTF-8"?><rss xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:content="http://purl.org/rss/1.0/modules/content/" version="2.0"><channel>
<title><![CDATA[Example Letter]]></title><link>https://letter.substack.com</link><generator>Substack</generator>
<item><title><![CDATA[The week in agents]]></title><description><![CDATA[Five things that mattered.]]></description>
<link>https://letter.substack.com/p/the-week</link>
<guid isPermaLink="false">https://letter.substack.com/p/the-week</guid><dc:creator><![CDATA[Jo Writer]]></dc:creator>
<pubDate>Wed, 18 Nov 2026 09:55:12 GMT</pubDate>
<content:encoded><![CDATA[<p>First, prices fell by 40%.</p>]]></content:encoded></item></channel></rss>"""


def source(url: str = "https://letter.substack.com/feed") -> SourceSpec:
    return make_spec("substack", url)


@pytest.mark.parametrize("url", ["https://letter.substack.com/feed", "https://letter.substack.com/p/the-week"])
async def test_publication_feed_is_read(url: str) -> None:
    web = FakeFetcher()
    web.put("https://letter.substack.com/feed", FEED)
    reading = await web.read(source(url))
    assert web.requested_urls == ["https://letter.substack.com/feed"]
    assert web.requests[0].headers["accept"] == ACCEPT_FEEDS
    (entry,) = reading.entries
    assert (entry.title, entry.author) == ("The week in agents", "Jo Writer")
    assert (entry.summary, entry.text) == ("Five things that mattered.", "First, prices fell by 40%.")
    assert entry.url == "https://letter.substack.com/p/the-week"
    assert reading.feed_title == "Example Letter"


async def test_second_fetch_is_conditional() -> None:
    web = FakeFetcher()
    web.put("https://letter.substack.com/feed", FEED, etag='"1"')
    first = await web.read(source())
    assert (await web.read(source(), next_state(first))).unchanged


async def test_cloudflare_challenge_is_reported() -> None:
    web = FakeFetcher()
    web.put("https://letter.substack.com/feed", "Just a moment...", status=403, cf_mitigated="challenge")
    with pytest.raises(LoginRequiredError, match="Cloudflare"):
        await web.read(source())


async def test_html_page_is_refused_without_discovery() -> None:
    web = FakeFetcher()
    web.put("https://letter.substack.com/feed", "<!doctype html><html><head></head></html>")
    with pytest.raises(NotAFeedError):
        await web.read(source())
    assert len(web.requests) == 1


async def test_unknown_publication_is_missing() -> None:
    with pytest.raises(PageNotFoundError):
        await FakeFetcher().read(source())
