"""Source type rss: a feed (RSS, Atom, JSON Feed), or a web page that links to one.

The format is detected from the body, never from Content-Type: feeds are served as text/html, and pages as XML.
"""

from urllib.parse import urljoin

from msgspec.structs import replace

from copydesk.errors import FetchError, NotAFeedError, ThrottledError
from copydesk.ingest.address import split
from copydesk.ingest.discover import WELL_KNOWN_PATHS, discover_feeds
from copydesk.ingest.visit import ASKED, FEEDS, Body, Reading, Visit, get_body
from copydesk.model.source import SourceConfig

EXPECTED = "the address of a feed or of a web page that has one, such as https://example.com/feed"
MOST_NAMED = 5
"""Feeds linked by a page that are tried; the first is nearly always right."""


def normalise(url: str, config: SourceConfig) -> str:  # noqa: ARG001 - every type has this form
    """Return the URL without fragment. Raise InvalidError."""
    return split(url, expected=EXPECTED)._replace(fragment="").geturl()


async def read(visit: Visit) -> Reading:
    """Fetch the feed at the source's URL, or the one that the page there links to. Raise FetchError.

    Feeds are discovered only until the URL itself has once been a feed: a page that appears in its place later is a
    fault of the site, and its links may be anybody's.
    """
    body = await get_body(visit, visit.spec.url, accept=FEEDS)
    if body.unchanged:
        return body.reading()
    try:
        return await _parse(body)
    except NotAFeedError:
        if visit.state.cursor.get(ASKED) == visit.spec.url:
            raise
        discovered = await _discover(visit, body)
        if discovered is None:
            raise
        return discovered


async def _parse(body: Body) -> Reading:
    feed = await body.feed()
    return body.reading(feed.entries, ttl=feed.ttl_seconds, title=feed.title)


async def _discover(ctx: Visit, page: Body) -> Reading | None:
    """Fetch the first feed among those linked by the page, then those at common paths; None if there is none.

    Raise ThrottledError as soon as the site throttles: further guesses would make it worse.
    """
    linked = discover_feeds(page.answer.body, page.answer.url, page.answer.charset)[:MOST_NAMED]
    common = [urljoin(page.answer.url, path) for path in WELL_KNOWN_PATHS]
    for url in dict.fromkeys([*linked, *common]):
        try:
            result = await _parse(await get_body(ctx, url, accept=FEEDS))
        except ThrottledError:
            raise
        except FetchError:
            continue
        return replace(result, found_at=url)
    return None
