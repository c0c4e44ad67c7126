"""Source type rss: a feed (RSS, Atom, JSON Feed), or a web page that links to one.

The format is detected from the body, never from Content-Type: feeds are served as text/html, and pages as XML.
"""

import asyncio
import re
from itertools import islice
from urllib.parse import urljoin

from msgspec.structs import replace

from copydesk.errors import FetchError, NotAFeedError, RateLimitedError
from copydesk.ingest.encoding import repair_utf8
from copydesk.ingest.fetch_context import (
    ACCEPT_FEEDS,
    REQUESTED_URL_KEY,
    FetchContext,
    FetchedBody,
    FetchResult,
    fetch_body,
)
from copydesk.ingest.urls import absolute_url, parse_source_url
from copydesk.model.source import SourceConfig
from copydesk.text.html_tags import Tag, iter_tags

COMMON_FEED_PATHS = (
    "/feed",
    "/rss",
    "/atom.xml",
    "/feed.xml",
    "/index.xml",
    "/rss.xml",
    "/feed.json",
    "/feed.atom",
    "/blog/feed",
    "/blog/rss.xml",
)
"""Paths to try on sites whose pages link to no feed, most frequent first."""

MAX_PAGE_BYTES = 2 * 1024 * 1024
"""Bytes of the page that are read."""
MAX_FEEDS = 20
_MAX_ELEMENTS = 5_000
_MAX_HEAD_LENGTH = 64 * 1024

_FEED_TYPES = frozenset(
    ["application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml", "text/rss+xml"]
)
_GENERIC_TYPES = frozenset(["application/xml", "text/xml", "application/json"])
_FEED_PATH = re.compile(
    r"(?:[/.?=_-](?:feeds?|rss2?|atom|rdf)(?:[/.?=_-](?:xml|json|rss2?|atom|index|\d))*|/index\.xml)/?\Z", re.IGNORECASE
)

_FEED_WORDS = ("feed", "rss", "atom", "rdf", "index.xml")
_REFRESH = re.compile(r"\s*+[\d.]*+\s*+[;,]?\s*+url\s*+=\s*+['\"]?([^'\"]+)", re.IGNORECASE)

EXPECTED_URL = "the address of a feed or of a web page that has one, such as https://example.com/feed"
MAX_LINKED_FEEDS = 5
"""Feeds linked by a page that are tried; the first is nearly always right."""


def discover_feeds(html: bytes, base_url: str, charset: str | None) -> tuple[str, ...]:
    """Return the URLs of the feeds that a page links to.

    Those in `<link>` come in page order, comment feeds last; without any, feed-like `<a>` links are taken.

    URLs are absolute http(s), without duplicates, at most 20. Only the first 2 MiB are read. Never raises.
    """
    page = repair_utf8(html[:MAX_PAGE_BYTES], charset).decode()
    linked_feeds: list[str] = []
    anchors: list[str] = []
    base = base_url
    linking_tags = filter(_may_link_feed, iter_tags(page, "link", "a", "base"))
    for tag in islice(linking_tags, _MAX_ELEMENTS):
        name, attributes = tag.name, tag.read_attributes()
        url = absolute_url(attributes.get("href", ""), base) or ""
        if name == "base" and url:
            base = url
        elif name == "link" and url and _is_feed_link(attributes):
            linked_feeds.append(url)
        elif name == "a" and url and _FEED_PATH.search(url.partition("#")[0]):
            anchors.append(url)
    # Stable: page order is kept among feeds and among comment feeds.
    urls = sorted(linked_feeds or anchors, key=lambda url: "comment" in url)
    return tuple(url for url in dict.fromkeys(urls) if url != base_url)[:MAX_FEEDS]


def _may_link_feed(tag: Tag) -> bool:
    """Return False for other links, so that those of a long page do not use up the limit."""
    markup = tag.markup.lower()
    return "href" in markup and (tag.name != "a" or any(word in markup for word in _FEED_WORDS))


def find_refresh(html: bytes, base_url: str, charset: str | None) -> str | None:
    """Return the URL that a page sends browsers to with a meta refresh, None if it has none."""
    page = repair_utf8(html[:_MAX_HEAD_LENGTH], charset).decode()
    for tag in islice(iter_tags(page, "meta"), _MAX_ELEMENTS):
        attributes = tag.read_attributes()
        if attributes.get("http-equiv", "").lower() == "refresh":
            target = _REFRESH.match(attributes.get("content", ""))
            url = absolute_url(target[1].strip(), base_url) if target else None
            return url if url != base_url else None
    return None


def _is_feed_link(attributes: dict[str, str]) -> bool:
    """Return True if a `<link>` is a feed. Generic XML and JSON types count only with a feed-like path."""
    relations = attributes.get("rel", "").lower().split()
    kind = attributes.get("type", "").partition(";")[0].strip().lower()
    if "feed" in relations:
        return True
    if "alternate" not in relations:
        return False
    return kind in _FEED_TYPES or (kind in _GENERIC_TYPES and bool(_FEED_PATH.search(attributes["href"])))


def normalize_url(url: str, config: SourceConfig) -> str:  # noqa: ARG001 - every type has this form
    """Return the URL without fragment. Raise InvalidError."""
    return parse_source_url(url, expected=EXPECTED_URL)._replace(fragment="").geturl()


async def fetch(ctx: FetchContext) -> FetchResult:
    """Fetch the feed at the source's URL, or the one that the page there links to. Raise FetchError.

    Feeds are discovered only until the URL itself has once been a feed: a page that appears in its place later is a
    fault of the site, and its links may be anybody's.
    """
    body = await fetch_body(ctx, ctx.spec.url, accept=ACCEPT_FEEDS)
    if body.unchanged:
        return body.to_result()
    try:
        return await _parse(body)
    except NotAFeedError:
        if ctx.state.cursor.get(REQUESTED_URL_KEY) == ctx.spec.url:
            raise
        discovered = await _discover(ctx, body)
        if discovered is None:
            raise
        return discovered


async def _linked_feeds(page: FetchedBody) -> tuple[str, ...]:
    # A large page takes long enough to stall the event loop.
    response = page.response
    feeds = await asyncio.to_thread(discover_feeds, response.body, response.url, response.charset)
    return feeds[:MAX_LINKED_FEEDS]


async def _parse(body: FetchedBody) -> FetchResult:
    feed = await body.parse()
    return body.to_result(feed.entries, ttl=feed.ttl_seconds, title=feed.title)


async def _discover(ctx: FetchContext, page: FetchedBody) -> FetchResult | None:
    """Fetch the first feed among those linked by the page, then those at common paths; None if there is none.

    A page that only refers to another one is replaced by that. Raise RateLimitedError as soon as the site throttles:
    further guesses would make it worse.
    """
    linked = await _linked_feeds(page)
    target = None if linked else find_refresh(page.response.body, page.response.url, page.response.charset)
    if target:
        try:
            page = await fetch_body(ctx, target, accept=ACCEPT_FEEDS)
            return replace(await _parse(page), discovered_url=target)
        except RateLimitedError:
            raise
        except NotAFeedError:
            linked = await _linked_feeds(page)
        except FetchError:
            pass
    common = [urljoin(page.response.url, path) for path in COMMON_FEED_PATHS]
    for url in dict.fromkeys([*linked, *common]):
        try:
            result = await _parse(await fetch_body(ctx, url, accept=ACCEPT_FEEDS))
        except RateLimitedError:
            raise
        except FetchError:
            continue
        return replace(result, discovered_url=url)
    return None
