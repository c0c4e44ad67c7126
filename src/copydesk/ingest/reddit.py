"""Source type reddit: one or more subreddits, by feed, or by the API if credentials are set.

Since 2026 Reddit answers programs without credentials about once a minute, with feeds only, and sends 403 instead of
429. Its feeds have neither points nor comment counts.
"""

import html
import re
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from msgspec.structs import replace

from copydesk.errors import LoginRequiredError, NotAFeedError, RateLimitedError
from copydesk.ingest.address import parse_source_url, raise_invalid, web_url_or_none
from copydesk.ingest.reddit_api import SITE, fetch_listing
from copydesk.ingest.visit import ACCEPT_FEEDS, FetchContext, FetchResult, fetch_body
from copydesk.model.item import Entry
from copydesk.model.source import SourceConfig, SubredditListing

EXPECTED_URL = f"a subreddit's address, such as {SITE}/r/Python/ or {SITE}/r/Python+sqlite/"
PERIODS = ("hour", "day", "week", "month", "year", "all")
MIN_REQUEST_INTERVAL = 60.0
"""Seconds between requests without credentials."""
DEFAULT_RETRY_AFTER = 900.0
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


class ListingTarget(NamedTuple):
    """A listing: subreddits joined by `+`, their order, and the period of `top`."""

    subreddits: str
    listing: SubredditListing
    period: str

    @property
    def path(self) -> str:
        """Path of the URL."""
        return f"/r/{self.subreddits}/{self.listing.value}"

    @property
    def parameters(self) -> dict[str, str]:
        """Query of the URL: the period, and the maximum number of posts."""
        period = {"t": self.period} if self.listing is SubredditListing.TOP else {}
        return {**period, "limit": "100"}


def normalize_url(url: str, config: SourceConfig) -> str:
    """Return `https://www.reddit.com/r/NAME/`, with a listing if the URL has one. Raise InvalidError."""
    url = url.strip()
    if _SHORT_FORM.match(url):
        url = f"{SITE}/{url.lstrip('/')}"
    parts = parse_source_url(url, expected=EXPECTED_URL)
    if (parts.hostname or "").removeprefix("www.") not in _HOSTS:
        raise_invalid("url", f"is not an address of Reddit; give {EXPECTED_URL}")
    match = _PATH.match(parts.path)
    if match is None:
        raise_invalid("url", f"is not a subreddit; give {EXPECTED_URL}")
    period_name = config.window or parse_qs(parts.query).get("t", [None])[0]
    if period_name is not None and period_name not in PERIODS:
        raise_invalid("config.window", f"is not a period; give one of {', '.join(PERIODS)}")
    listing = f"{match['listing']}/" if match["listing"] else ""
    period = f"?t={period_name}" if listing == "top/" and period_name else ""
    return f"{SITE}/r/{match['names']}/{listing}{period}"


async def fetch(ctx: FetchContext) -> FetchResult:
    """Fetch the posts of the listing, without removed ones. Raise FetchError."""
    target = _target(ctx.spec.url, ctx.spec.config)
    if ctx.credentials.reddit is not None:
        parameters = urlencode({**target.parameters, "raw_json": "1"})
        return await fetch_listing(ctx, f"{target.path}?{parameters}")
    return await _fetch_feed(ctx, target)


def _target(url: str, config: SourceConfig) -> ListingTarget:
    """Return the listing of the settings; what they leave at its default follows from the URL."""
    parts = urlsplit(normalize_url(url, config))
    match = _PATH.match(parts.path)
    assert match is not None
    listing = config.listing
    # NEW is the default of the setting: then the URL decides.
    if listing is SubredditListing.NEW and match["listing"]:
        listing = SubredditListing(match["listing"])
    period = config.window or parse_qs(parts.query).get("t", ["day"])[0]
    return ListingTarget(match["names"], listing, period)


async def _fetch_feed(ctx: FetchContext, target: ListingTarget) -> FetchResult:
    url = f"{ctx.endpoints.reddit}{target.path}/.rss?{urlencode(target.parameters)}"
    try:
        body = await fetch_body(ctx, url, accept=ACCEPT_FEEDS, host_gap=MIN_REQUEST_INTERVAL)
    except (RateLimitedError, LoginRequiredError) as error:
        wait = error.retry_after or DEFAULT_RETRY_AFTER
        # Without credentials a 403 means throttling as well.
        raise RateLimitedError(error.message, hint=_CREDENTIALS_HINT, retry_after=wait) from error
    if body.unchanged:
        return body.to_result()
    try:
        feed = await body.parse()
    except NotAFeedError as error:
        hint = f"Check that r/{target.subreddits} exists and is public."
        raise NotAFeedError("Reddit answered with a page instead of a feed.", hint=hint) from error
    external_links = _external_links(body.response.body.decode("utf-8", "replace"))
    posts = [_post(entry, external_links.get(entry.ident)) for entry in feed.entries]
    visible_posts = [post for post in posts if post.title.lower() not in _REMOVED_TITLES]
    return body.to_result(visible_posts, ttl=feed.ttl_seconds, title=feed.title)


def _external_links(feed: str) -> dict[str, str]:
    """Return the target of each entry's `[link]` by the entry's id.

    It is part of the content's markup, below the author's text, which no feed parser keeps.
    """
    links = {}
    for entry in feed.split("<entry>")[1:]:
        # The last occurrence counts: the author's own text comes first and may imitate the link.
        content = html.unescape(entry.partition("<content")[2].partition("</content>")[0])
        markup, _, _ = content.rpartition('">[link]</a>')
        url = web_url_or_none(html.unescape(markup.rpartition('<a href="')[2]))
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
