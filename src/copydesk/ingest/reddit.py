"""Source type reddit: one or more subreddits, by feed, or by the API if credentials are set.

Since 2026 Reddit answers programs without credentials about once a minute, with feeds only, and sends 403 instead of
429. Its feeds have neither points nor comment counts.
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
"""Seconds between requests without credentials."""
USUAL_WAIT = 900.0
"""Seconds to wait after a refusal that names no time."""
_HOSTS = {"reddit.com", "old.reddit.com", "new.reddit.com", "np.reddit.com", "m.reddit.com", "sh.reddit.com"}
_SHORT_FORM = re.compile(r"/?r/")
_PATH = re.compile(
    r"/r/(?P<names>\w{2,50}(?:\+\w{2,50}){0,99})(?:/(?P<listing>hot|new|top|rising))?/?(?:\.rss)?\Z", re.ASCII
)
_REMOVED_TITLES = {"[removed]", "[deleted by user]", "[ removed by reddit ]", "[ removed by moderator ]"}
_CREDENTIALS_HINT = (
    "Reddit lets programs without credentials ask about once a minute. With COPYDESK_REDDIT__CLIENT_ID and"
    " COPYDESK_REDDIT__CLIENT_SECRET Copydesk reads over its API."
)


class Place(NamedTuple):
    """A listing: subreddits joined by `+`, their order, and the period of `top`."""

    names: str
    listing: Listing
    window: str

    @property
    def path(self) -> str:
        """Path of the URL."""
        return f"/r/{self.names}/{self.listing.value}"

    @property
    def parameters(self) -> dict[str, str]:
        """Query of the URL: the period, and the maximum number of posts."""
        period = {"t": self.window} if self.listing is Listing.TOP else {}
        return {**period, "limit": "100"}


def normalise(url: str, config: SourceConfig) -> str:
    """Return `https://www.reddit.com/r/NAME/`, with a listing if the URL has one. Raise InvalidError."""
    url = url.strip()
    if _SHORT_FORM.match(url):
        url = f"{SITE}/{url.lstrip('/')}"
    parts = split(url, expected=EXPECTED)
    if (parts.hostname or "").removeprefix("www.") not in _HOSTS:
        refuse("url", f"is not an address of Reddit; give {EXPECTED}")
    match = _PATH.match(parts.path)
    if match is None:
        refuse("url", f"is not a subreddit; give {EXPECTED}")
    period_name = config.window or parse_qs(parts.query).get("t", [None])[0]
    if period_name is not None and period_name not in WINDOWS:
        refuse("config.window", f"is not a period; give one of {', '.join(WINDOWS)}")
    listing = f"{match['listing']}/" if match["listing"] else ""
    period = f"?t={period_name}" if listing == "top/" and period_name else ""
    return f"{SITE}/r/{match['names']}/{listing}{period}"


async def read(visit: Visit) -> Reading:
    """Fetch the posts of the listing, without removed ones. Raise FetchError."""
    target = _target(visit.spec.url, visit.spec.config)
    if visit.credentials.reddit is not None:
        parameters = urlencode({**target.parameters, "raw_json": "1"})
        return await read_listing(visit, f"{target.path}?{parameters}")
    return await _fetch_feed(visit, target)


def _target(url: str, config: SourceConfig) -> Place:
    """Return the listing of the settings; what they leave at its default follows from the URL."""
    parts = urlsplit(normalise(url, config))
    match = _PATH.match(parts.path)
    assert match is not None
    listing = config.listing
    # NEW is the default of the setting: then the URL decides.
    if listing is Listing.NEW and match["listing"]:
        listing = Listing(match["listing"])
    period = config.window or parse_qs(parts.query).get("t", ["day"])[0]
    return Place(match["names"], listing, period)


async def _fetch_feed(ctx: Visit, target: Place) -> Reading:
    url = f"{ctx.endpoints.reddit}{target.path}/.rss?{urlencode(target.parameters)}"
    try:
        body = await get_body(ctx, url, accept=FEEDS, host_gap=GAP)
    except (ThrottledError, NeedsLoginError) as error:
        wait = error.retry_after or USUAL_WAIT
        # Without credentials a 403 means throttling as well.
        raise ThrottledError(error.message, hint=_CREDENTIALS_HINT, retry_after=wait) from error
    if body.unchanged:
        return body.reading()
    try:
        feed = await body.feed()
    except NotAFeedError as error:
        hint = f"Check that r/{target.names} exists and is public."
        raise NotAFeedError("Reddit answered with a page instead of a feed.", hint=hint) from error
    external_links = _external_links(body.answer.body.decode("utf-8", "replace"))
    posts = [_post(entry, external_links.get(entry.ident)) for entry in feed.entries]
    visible_posts = [post for post in posts if post.title.lower() not in _REMOVED_TITLES]
    return body.reading(visible_posts, ttl=feed.ttl_seconds, title=feed.title)


def _external_links(feed: str) -> dict[str, str]:
    """Return the target of each entry's `[link]` by the entry's id.

    It is part of the content's markup, below the author's text, which no feed parser keeps.
    """
    links = {}
    for entry in feed.split("<entry>")[1:]:
        # The last occurrence counts: the author's own text comes first and may imitate the link.
        content = html.unescape(entry.partition("<content")[2].partition("</content>")[0])
        markup, _, _ = content.rpartition('">[link]</a>')
        url = web_address(html.unescape(markup.rpartition('<a href="')[2]))
        if url:
            links[entry.partition("<id>")[2].partition("</id>")[0].strip()] = url
    return links


def _post(entry: Entry, external_url: str | None) -> Entry:
    """Return the entry as a post: its URL is the linked story, its comments page the discussion."""
    return replace(
        entry,
        alias=entry.ident,
        url=external_url or entry.url,
        summary=_strip_submission_line(entry.summary),
        text=_strip_submission_line(entry.text),
        author=(entry.author or "").lstrip("/") or None,
        discussion=entry.url,
    )


def _strip_submission_line(text: str) -> str:
    """Return the author's text without the submission line that Reddit appends."""
    own_text, _, submission = text.rpartition("submitted by")
    return own_text.rstrip() if submission.rstrip().endswith("[comments]") else text
