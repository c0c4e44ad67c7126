"""Source type rss: a feed (RSS, Atom, JSON Feed), or a web page that links to one.

The format is detected from the body, never from Content-Type: feeds are served as text/html, and pages as XML.
"""

from urllib.parse import urljoin

from msgspec.structs import replace

from copydesk.errors import FetchError, NotAFeedError, RateLimitedError
from copydesk.ingest.address import parse_source_url
from copydesk.ingest.discover import COMMON_FEED_PATHS, discover_feeds
from copydesk.ingest.visit import ACCEPT_FEEDS, REQUESTED_URL_KEY, FetchContext, FetchedBody, FetchResult, fetch_body
from copydesk.model.source import SourceConfig

EXPECTED_URL = "the address of a feed or of a web page that has one, such as https://example.com/feed"
MAX_LINKED_FEEDS = 5
"""Feeds linked by a page that are tried; the first is nearly always right."""


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


async def _parse(body: FetchedBody) -> FetchResult:
    feed = await body.parse()
    return body.to_result(feed.entries, ttl=feed.ttl_seconds, title=feed.title)


async def _discover(ctx: FetchContext, page: FetchedBody) -> FetchResult | None:
    """Fetch the first feed among those linked by the page, then those at common paths; None if there is none.

    Raise ThrottledError as soon as the site throttles: further guesses would make it worse.
    """
    linked = discover_feeds(page.response.body, page.response.url, page.response.charset)[:MAX_LINKED_FEEDS]
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
