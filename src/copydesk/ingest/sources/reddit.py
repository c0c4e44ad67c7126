"""Source type reddit: one or more subreddits, by feed, or by the API if credentials are set.

Since 2026 Reddit answers programs without credentials about once a minute, with feeds only, and sends 403 instead of
429. Only the API has points and comment counts.

Reference: https://www.reddit.com/dev/api and https://github.com/reddit-archive/reddit/wiki/OAuth2.
"""

import base64
import html
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from copydesk.errors import LoginRequiredError, NotAFeedError, RateLimitedError
from copydesk.ingest.entries import (
    MAX_TAG,
    MAX_TEXT,
    MAX_TITLE,
    clamp_count,
    decode_json,
    decode_json_list,
    parse_timestamp,
)
from copydesk.ingest.fetch_context import (
    ACCEPT_FEEDS,
    ACCEPT_JSON,
    FetchContext,
    FetchedBody,
    FetchResult,
    HttpClient,
    fetch_body,
)
from copydesk.ingest.html_to_text import clean_text, html_to_text, single_line
from copydesk.ingest.urls import parse_source_url, raise_invalid, web_url_or_none
from copydesk.model.item import Entry
from copydesk.model.source import SourceConfig, SubredditListing
from copydesk.text.redaction import DEFAULT_REDACTION

SITE = "https://www.reddit.com"
API_URL = "https://oauth.reddit.com"
"""For requests with a token."""
SERVICE = "Reddit"
EXPIRY_MARGIN = timedelta(seconds=60)
"""A token is renewed this long before it expires, so that it outlives the request."""
MAX_TOKEN_LIFETIME = 86_400
"""Seconds."""
_HINT = "Check COPYDESK_REDDIT__CLIENT_ID and COPYDESK_REDDIT__CLIENT_SECRET, and that the subreddit is public."

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
    "Without credentials, Reddit allows about one request per minute. With COPYDESK_REDDIT__CLIENT_ID and"
    " COPYDESK_REDDIT__CLIENT_SECRET Copydesk uses its API."
)

# Its links may have been removed as boilerplate. The lookbehind keeps a long row of spaces from being read from each.
_SUBMISSION_LINE = re.compile(
    r"(?<!\s)\s*+submitted by\s+/?u/\S+(?:\s+to\s+/?r/\S+)?(?:\s*\[link\])?(?:\s*\[comments\])?\s*$"
)


class _Token(NamedTuple):
    value: str
    expires_at: datetime


_tokens: WeakKeyDictionary[HttpClient, dict[str, _Token]] = WeakKeyDictionary()
"""Tokens by application id. They live as long as their client and are never stored on disk."""


class _TokenResponse(msgspec.Struct, frozen=True):
    access_token: Annotated[str, msgspec.Meta(pattern=r"^[!-~]{1,4000}\Z")] | None = None
    expires_in: float | None = None


class _Children(msgspec.Struct, frozen=True):
    children: tuple[msgspec.Raw, ...]


class _Listing(msgspec.Struct, frozen=True):
    data: _Children


class _Post(msgspec.Struct, frozen=True):
    """A submitted link or text."""

    name: Annotated[str, msgspec.Meta(pattern=r"^t3_[a-z0-9]{1,13}\Z")]
    title: str
    selftext: str | None = None
    selftext_html: str | None = None
    author: str | None = None
    subreddit: str | None = None
    created_utc: float | None = None
    score: int | None = None
    hide_score: bool | None = None
    num_comments: int | None = None
    url: str | None = None
    permalink: str | None = None
    is_self: bool | None = None
    over_18: bool | None = None
    stickied: bool | None = None
    removed_by_category: str | None = None


class _Thing(msgspec.Struct, frozen=True):
    data: _Post


async def fetch_listing(ctx: FetchContext, path: str) -> FetchResult:
    """Fetch the posts of a listing by its path and query. Raise FetchError."""
    had_token = _cached_token(ctx) is not None
    try:
        body = await _fetch_listing(ctx, path)
    except LoginRequiredError as error:
        _tokens.pop(ctx.http, None)
        if not had_token:
            raise LoginRequiredError(error.message, hint=_HINT) from error
        # Reddit may revoke a token before it expires: try once more with a new one.
        body = await _fetch_listing(ctx, path)
    if body.unchanged:
        return body.to_result()
    children = decode_json(body.response.body, _Listing, SERVICE).data.children
    things = decode_json_list(children, _Thing, SERVICE)
    removed = [thing.data.name for thing in things if thing.data.removed_by_category]
    return body.to_result(_entries(things), removed=removed)


async def _fetch_listing(ctx: FetchContext, path: str) -> FetchedBody:
    headers = {"Authorization": f"Bearer {await _token(ctx)}"}
    return await fetch_body(ctx, f"{API_URL}{path}", accept=ACCEPT_JSON, headers=headers)


async def _token(ctx: FetchContext) -> str:
    """Return a cached or new token that is valid for another minute at least."""
    cached = _cached_token(ctx)
    if cached is not None:
        return cached
    assert ctx.credentials.reddit is not None
    client_id, secret = ctx.credentials.reddit
    basic = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
    response = await ctx.http.post_form(
        f"{SITE}/api/v1/access_token",
        {"grant_type": "client_credentials"},
        {"Authorization": f"Basic {basic}"},
    )
    grant = decode_json(response.body, _TokenResponse, SERVICE)
    if grant.access_token is None:
        raise LoginRequiredError("Reddit issued no token for this application.", hint=_HINT)
    DEFAULT_REDACTION.add(grant.access_token)
    # The lifetime is untrusted: neither negative nor longer than a day.
    lifetime = timedelta(seconds=max(0, min(grant.expires_in or 0, MAX_TOKEN_LIFETIME)))
    _tokens.setdefault(ctx.http, {})[client_id] = _Token(grant.access_token, ctx.now + lifetime - EXPIRY_MARGIN)
    return grant.access_token


def _cached_token(ctx: FetchContext) -> str | None:
    assert ctx.credentials.reddit is not None
    cached = _tokens.get(ctx.http, {}).get(ctx.credentials.reddit[0])
    return cached.value if cached is not None and ctx.now < cached.expires_at else None


def _entries(things: Iterable[_Thing]) -> list[Entry]:
    """Return the entries of all posts except pinned and removed ones."""
    posts = (thing.data for thing in things)
    return [_entry(post) for post in posts if not post.stickied and not post.removed_by_category]


def _entry(post: _Post) -> Entry:
    discussion = f"{SITE}/comments/{post.name.removeprefix('t3_')}/"
    # The permalink is untrusted: only a path on Reddit is appended to the site's URL.
    if post.permalink and post.permalink.startswith("/r/"):
        discussion = web_url_or_none(SITE + post.permalink) or discussion
    subreddit = single_line(post.subreddit or "", MAX_TAG - 2)
    tags = (f"r/{subreddit}" if subreddit else "", "nsfw" if post.over_18 else "")
    return Entry(
        ident=post.name,
        alias=post.name,
        title=single_line(post.title, MAX_TITLE),
        url=(None if post.is_self else web_url_or_none(post.url)) or discussion,
        text=html_to_text(post.selftext_html, MAX_TEXT)
        if post.selftext_html
        else clean_text(post.selftext or "", MAX_TEXT),
        author=f"u/{single_line(post.author, MAX_TAG)}" if post.author else None,
        published=parse_timestamp(post.created_utc),
        discussion=discussion,
        points=None if post.hide_score else clamp_count(post.score),
        comments=clamp_count(post.num_comments),
        tags=tuple(tag for tag in tags if tag),
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
        raise_invalid("url", f"is not a Reddit address; use {EXPECTED_URL}")
    match = _PATH.match(parts.path)
    if match is None:
        raise_invalid("url", f"is not a subreddit; use {EXPECTED_URL}")
    period_name = config.window or parse_qs(parts.query).get("t", [None])[0]
    if period_name is not None and period_name not in PERIODS:
        raise_invalid("config.window", f"is not a period; use one of {', '.join(PERIODS)}")
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
    url = f"{SITE}{target.path}/.rss?{urlencode(target.parameters)}"
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
        raise NotAFeedError("Reddit returned a page instead of a feed.", hint=hint) from error
    external_links = _external_links(body.response.body.decode("utf-8", "replace"))
    posts = [_post(entry, external_links.get(entry.ident)) for entry in feed.entries]
    removed = [post.ident for post in posts if post.title.lower() in _REMOVED_TITLES]
    visible_posts = [post for post in posts if post.ident not in removed]
    return body.to_result(visible_posts, removed=removed, ttl=feed.ttl_seconds, title=feed.title)


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
    return _SUBMISSION_LINE.sub("", text)
