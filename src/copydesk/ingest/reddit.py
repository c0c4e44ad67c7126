"""reddit: a subreddit, or several as one, over its feed, or over the API where credentials are set.

Since 2026 Reddit answers programs without credentials about once a minute, with feeds only, and says 403 where it
means 429. Its feeds know neither points nor comments.
"""

import html
import re
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from msgspec.structs import replace

from copydesk.errors import NeedsLoginError, NotAFeedError, ThrottledError
from copydesk.ingest.address import refuse, split, web_address
from copydesk.ingest.reddit_api import SITE, read_listing
from copydesk.ingest.visit import FEEDS, Reading, Visit, get_body
from copydesk.model.item import Entry
from copydesk.model.source import Listing, SourceConfig

EXPECTED = f"a subreddit's address, such as {SITE}/r/Python/ or {SITE}/r/Python+sqlite/"
WINDOWS = ("hour", "day", "week", "month", "year", "all")
GAP = 60.0
"""Seconds between two requests without credentials."""
USUAL_WAIT = 900.0
_HOSTS = {"reddit.com", "old.reddit.com", "new.reddit.com", "np.reddit.com", "m.reddit.com", "sh.reddit.com"}
_SHORT = re.compile(r"/?r/")
_PATH = re.compile(
    r"/r/(?P<names>\w{2,50}(?:\+\w{2,50}){0,99})(?:/(?P<listing>hot|new|top|rising))?/?(?:\.rss)?\Z", re.ASCII
)
_REMOVED = {"[removed]", "[deleted by user]", "[ removed by reddit ]", "[ removed by moderator ]"}
_CREDENTIALS = (
    "Reddit lets programs without credentials ask about once a minute. With COPYDESK_REDDIT__CLIENT_ID and"
    " COPYDESK_REDDIT__CLIENT_SECRET Copydesk reads over its API."
)


class Place(NamedTuple):
    """What is read: subreddits joined by `+`, their listing, and the period of `top`."""

    names: str
    listing: Listing
    window: str

    @property
    def path(self) -> str:
        """What follows the host."""
        return f"/r/{self.names}/{self.listing.value}"

    @property
    def parameters(self) -> dict[str, str]:
        """How much of it."""
        period = {"t": self.window} if self.listing is Listing.TOP else {}
        return {**period, "limit": "100"}


def normalise(url: str, config: SourceConfig) -> str:
    """`https://www.reddit.com/r/NAME/`, with a listing where the address names one. Raises InvalidError."""
    url = url.strip()
    if _SHORT.match(url):
        url = f"{SITE}/{url.lstrip('/')}"
    parts = split(url, expected=EXPECTED)
    if (parts.hostname or "").removeprefix("www.") not in _HOSTS:
        refuse("url", f"is not an address of Reddit; give {EXPECTED}")
    found = _PATH.match(parts.path)
    if found is None:
        refuse("url", f"is not a subreddit; give {EXPECTED}")
    window = config.window or parse_qs(parts.query).get("t", [None])[0]
    if window is not None and window not in WINDOWS:
        refuse("config.window", f"is not a period; give one of {', '.join(WINDOWS)}")
    listing = f"{found['listing']}/" if found["listing"] else ""
    period = f"?t={window}" if listing == "top/" and window else ""
    return f"{SITE}/r/{found['names']}/{listing}{period}"


async def read(visit: Visit) -> Reading:
    """The posts of the listing, without those that were removed. Raises FetchError."""
    place = _place(visit.spec.url, visit.spec.config)
    if visit.credentials.reddit is not None:
        parameters = urlencode({**place.parameters, "raw_json": "1"})
        return await read_listing(visit, f"{place.path}?{parameters}")
    return await _read_feed(visit, place)


def _place(url: str, config: SourceConfig) -> Place:
    """What the settings name, else what the address does."""
    parts = urlsplit(normalise(url, config))
    found = _PATH.match(parts.path)
    assert found is not None
    listing = config.listing
    if listing is Listing.NEW and found["listing"]:
        listing = Listing(found["listing"])
    window = config.window or parse_qs(parts.query).get("t", ["day"])[0]
    return Place(found["names"], listing, window)


async def _read_feed(visit: Visit, place: Place) -> Reading:
    url = f"{visit.endpoints.reddit}{place.path}/.rss?{urlencode(place.parameters)}"
    try:
        body = await get_body(visit, url, accept=FEEDS, host_gap=GAP)
    except (ThrottledError, NeedsLoginError) as error:
        wait = error.retry_after or USUAL_WAIT
        raise ThrottledError(error.message, hint=_CREDENTIALS, retry_after=wait) from error
    if body.unchanged:
        return body.reading()
    try:
        feed = await body.feed()
    except NotAFeedError as error:
        hint = f"Check that r/{place.names} exists and is public."
        raise NotAFeedError("Reddit answered with a page instead of a feed.", hint=hint) from error
    outward = _outward(body.answer.body.decode("utf-8", "replace"))
    posts = [_post(entry, outward.get(entry.ident)) for entry in feed.entries]
    kept = [post for post in posts if post.title.lower() not in _REMOVED]
    return body.reading(kept, ttl=feed.ttl_seconds, title=feed.title)


def _outward(feed: str) -> dict[str, str]:
    """Where the `[link]` of each entry leads, by the entry's id.

    It stands in the markup of the content, below the author's own text, and no parser of feeds keeps it.
    """
    found = {}
    for entry in feed.split("<entry>")[1:]:
        content = html.unescape(entry.partition("<content")[2].partition("</content>")[0])
        before, _, _ = content.rpartition('">[link]</a>')
        address = web_address(html.unescape(before.rpartition('<a href="')[2]))
        if address:
            found[entry.partition("<id>")[2].partition("</id>")[0].strip()] = address
    return found


def _post(entry: Entry, outward: str | None) -> Entry:
    """The entry as a post: what it links to is the story, its comments page the discussion."""
    return replace(
        entry,
        alias=entry.ident,
        url=outward or entry.url,
        summary=_own_words(entry.summary),
        text=_own_words(entry.text),
        author=(entry.author or "").lstrip("/") or None,
        discussion=entry.url,
    )


def _own_words(text: str) -> str:
    """The author's text without the line about the submission that Reddit adds."""
    before, _, after = text.rpartition("submitted by")
    return before.rstrip() if after.rstrip().endswith("[comments]") else text
