"""Reddit's API, for users with an application there: listings in JSON, with points and comment counts.

Reference: https://www.reddit.com/dev/api and https://github.com/reddit-archive/reddit/wiki/OAuth2.
"""

import base64
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from copydesk.errors import LoginRequiredError
from copydesk.ingest.address import web_url_or_none
from copydesk.ingest.decoding import clamp_count, decode, decode_list, parse_timestamp
from copydesk.ingest.entry import MAX_TAG, MAX_TEXT, MAX_TITLE
from copydesk.ingest.plaintext import clean_text, html_to_text, single_line
from copydesk.ingest.visit import ACCEPT_JSON, FetchContext, FetchedBody, FetchResult, HttpClient, fetch_body
from copydesk.model.item import Entry

SITE = "https://www.reddit.com"
SERVICE = "Reddit"
EXPIRY_MARGIN = timedelta(seconds=60)
"""A token is renewed this long before it expires, so that it outlives the request."""
MAX_TOKEN_LIFETIME = 86_400
"""Seconds."""
_HINT = "Check COPYDESK_REDDIT__CLIENT_ID and COPYDESK_REDDIT__CLIENT_SECRET, and that the subreddit is public."


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
    children = decode(body.response.body, _Listing, SERVICE).data.children
    return body.to_result(_entries(decode_list(children, _Thing, SERVICE)))


async def _fetch_listing(ctx: FetchContext, path: str) -> FetchedBody:
    headers = {"Authorization": f"Bearer {await _token(ctx)}"}
    return await fetch_body(ctx, f"{ctx.endpoints.reddit_oauth}{path}", accept=ACCEPT_JSON, headers=headers)


async def _token(ctx: FetchContext) -> str:
    """Return a cached or new token that is valid for another minute at least."""
    cached = _cached_token(ctx)
    if cached is not None:
        return cached
    assert ctx.credentials.reddit is not None
    client_id, secret = ctx.credentials.reddit
    basic = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
    response = await ctx.http.post_form(
        f"{ctx.endpoints.reddit}/api/v1/access_token",
        {"grant_type": "client_credentials"},
        {"Authorization": f"Basic {basic}"},
    )
    grant = decode(response.body, _TokenResponse, SERVICE)
    if grant.access_token is None:
        raise LoginRequiredError("Reddit gives no token for this application.", hint=_HINT)
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
