"""rss: a feed (RSS, Atom, JSON Feed), or a web page whose feed is looked for.

What the body is decides, never what the server calls it: feeds are served as text/html, and pages as XML.
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
"""Feeds named by a page that are tried; the first is nearly always the right one."""


def normalise(url: str, config: SourceConfig) -> str:  # noqa: ARG001 - every type has this form
    """The address without a fragment. Raises InvalidError."""
    return split(url, expected=EXPECTED)._replace(fragment="").geturl()


async def read(visit: Visit) -> Reading:
    """The entries of the feed at the source's address, or of the one that the page there leads to.

    A feed is looked for only until the address itself has been one: a page that comes later in its place is a fault
    of the site, and may be anybody's. Raises FetchError.
    """
    body = await get_body(visit, visit.spec.url, accept=FEEDS)
    if body.unchanged:
        return body.reading()
    try:
        return await _parsed(body)
    except NotAFeedError:
        if visit.state.cursor.get(ASKED) == visit.spec.url:
            raise
        found = await _find(visit, body)
        if found is None:
            raise
        return found


async def _parsed(body: Body) -> Reading:
    feed = await body.feed()
    return body.reading(feed.entries, ttl=feed.ttl_seconds, title=feed.title)


async def _find(visit: Visit, page: Body) -> Reading | None:
    """The first feed among those that the page names, then those at the usual places; None where there is none.

    Raises ThrottledError as soon as the site has had enough.
    """
    named = discover_feeds(page.answer.body, page.answer.url, page.answer.charset)[:MOST_NAMED]
    usual = [urljoin(page.answer.url, path) for path in WELL_KNOWN_PATHS]
    for url in dict.fromkeys([*named, *usual]):
        try:
            reading = await _parsed(await get_body(visit, url, accept=FEEDS))
        except ThrottledError:
            raise
        except FetchError:
            continue
        return replace(reading, found_at=url)
    return None
