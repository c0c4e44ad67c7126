"""Source type hackernews: a list or a search of Hacker News, by Algolia's API with Firebase as the fallback.

Algolia returns a list in one request, with points and comments; since June 2026 its only numeric filter is
`created_at_i` (`points` is answered with 400). Firebase has the list `best`, and needs one request per story.

Reference: https://hn.algolia.com/api and https://github.com/HackerNews/API.
"""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlencode

import msgspec

from copydesk.errors import FetchError
from copydesk.ingest.entries import (
    MAX_NAME,
    MAX_TEXT,
    MAX_TITLE,
    clamp_count,
    decode_json,
    decode_json_list,
    parse_timestamp,
)
from copydesk.ingest.fetch_context import ACCEPT_JSON, FetchContext, FetchResult, body_digest, fetch_body
from copydesk.ingest.html_to_text import html_to_text, single_line
from copydesk.ingest.urls import parse_source_url, raise_invalid, web_url_or_none
from copydesk.model.item import Entry
from copydesk.model.source import HackerNewsList, SourceConfig

SITE = "https://news.ycombinator.com"
ALGOLIA_URL = "https://hn.algolia.com/api/v1"
FIREBASE_URL = "https://hacker-news.firebaseio.com/v0"
EXPECTED_URL = f"an address of Hacker News, such as {SITE}"
PAGE_SIZE = 100
MAX_PAGES = 10
"""Algolia returns at most 1,000 hits per search."""
MAX_ITEMS = 30
"""Stories fetched from a Firebase list: one page of the site."""
REFRESH_WINDOW = timedelta(hours=48)
"""Points still change much within this age: these stories are fetched again on every poll."""
INITIAL_WINDOW = timedelta(days=30)
"""Age of the oldest stories of the first fetch, so that a rare search has results."""
_ItemId = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
_ALGOLIA, _FIREBASE = "Hacker News' search", "Hacker News' API"
_ALGOLIA_TAGS = {
    HackerNewsList.TOP: "front_page",
    HackerNewsList.NEW: "story",
    HackerNewsList.ASK: "ask_hn",
    HackerNewsList.SHOW: "show_hn",
}
_LISTS_BY_PAGE = {
    "newest": HackerNewsList.NEW,
    "best": HackerNewsList.BEST,
    "ask": HackerNewsList.ASK,
    "show": HackerNewsList.SHOW,
}


def normalize_url(url: str, config: SourceConfig) -> str:
    """Return the site's URL, with the path of a list if it has one. Raise InvalidError."""
    parts = parse_source_url(url, expected=EXPECTED_URL)
    if (parts.hostname or "").removeprefix("www.") != "news.ycombinator.com":
        raise_invalid("url", f"is not Hacker News; use {EXPECTED_URL}")
    if config.query is not None and not config.query.strip():
        raise_invalid("config.query", "is empty; enter search words, or leave it out")
    page = parts.path.strip("/")
    return f"{SITE}/{page}" if page in _LISTS_BY_PAGE else f"{SITE}/"


async def fetch(ctx: FetchContext) -> FetchResult:
    """Fetch the stories of the list or the search. Raise FetchError."""
    config = ctx.spec.config
    if config.query:
        is_narrowed = config.list in (HackerNewsList.ASK, HackerNewsList.SHOW)
        return await _fetch_search(ctx, _ALGOLIA_TAGS[config.list] if is_narrowed else "story")
    story_list = _configured_list(ctx)
    if story_list not in _ALGOLIA_TAGS:
        return await _fetch_list(ctx, story_list)
    try:
        return await _fetch_search(ctx, _ALGOLIA_TAGS[story_list])
    except FetchError:
        # Firebase is a separate service, and has every list.
        return await _fetch_list(ctx, story_list)


def _configured_list(ctx: FetchContext) -> HackerNewsList:
    """Return the list of the settings; if that is the default, the list whose page the URL is."""
    configured = ctx.spec.config.list
    page = ctx.spec.url.rstrip("/").rsplit("/", 1)[-1]
    return _LISTS_BY_PAGE.get(page, configured) if configured is HackerNewsList.TOP else configured


class _Hits(msgspec.Struct, frozen=True):
    hits: msgspec.Raw
    pages: int = msgspec.field(name="nbPages", default=1)


class _Hit(msgspec.Struct, frozen=True):
    """A story in Algolia's format."""

    id: _ItemId = msgspec.field(name="objectID")
    title: str | None = None
    url: str | None = None
    author: str | None = None
    points: int | None = None
    comments: int | None = msgspec.field(name="num_comments", default=None)
    created: float | None = msgspec.field(name="created_at_i", default=None)
    text: str | None = msgspec.field(name="story_text", default=None)


class _Item(msgspec.Struct, frozen=True):
    """A story in Firebase's format."""

    id: _ItemId
    title: str | None = None
    url: str | None = None
    author: str | None = msgspec.field(name="by", default=None)
    points: int | None = msgspec.field(name="score", default=None)
    comments: int | None = msgspec.field(name="descendants", default=None)
    created: float | None = msgspec.field(name="time", default=None)
    text: str | None = None
    type: str | None = None
    dead: bool | None = None
    deleted: bool | None = None

    @property
    def is_removed(self) -> bool:
        """True if its author deleted it or moderators killed it."""
        return bool(self.dead or self.deleted)


async def _fetch_search(ctx: FetchContext, tags: str) -> FetchResult:
    """Fetch Algolia's newest stories with these tags, as many pages as it takes to reach those of the last fetch."""
    newest = _newest_stored(ctx)
    hits, pages, digest = await _fetch_hits(ctx, tags, 0)
    unchanged = digest == ctx.state.body_hash
    page = 1
    while newest and hits and page < min(pages, MAX_PAGES) and _created_timestamp(hits[-1]) > newest:
        next_hits, pages, _ = await _fetch_hits(ctx, tags, page)
        hits, page = hits + next_hits, page + 1
    # Timestamps in the future are ignored: they would end the paging of later fetches too early.
    latest = max([newest, *(_created_timestamp(hit) for hit in hits if _created_timestamp(hit) <= ctx.now.timestamp())])
    return FetchResult(
        entries=() if unchanged else _entries(hits),
        unchanged=unchanged,
        body_hash=digest,
        cursor={"newest": str(latest)} if latest else {},
    )


async def _fetch_hits(ctx: FetchContext, tags: str, page: int) -> tuple[list[_Hit], int, bytes]:
    """Fetch one page of a search. Return its hits, the number of pages and the digest of the hits.

    The digest leaves out the rest of the response, which changes every time: it holds the search's duration.
    """
    url = f"{ALGOLIA_URL}/search_by_date?{urlencode(_parameters(ctx, tags, page))}"
    response = await ctx.http.get(url, accept=ACCEPT_JSON)
    result = decode_json(response.body, _Hits, _ALGOLIA)
    raw_hits = decode_json(bytes(result.hits), tuple[msgspec.Raw, ...], _ALGOLIA)
    return decode_json_list(raw_hits, _Hit, _ALGOLIA), result.pages, body_digest(bytes(result.hits))


def _parameters(ctx: FetchContext, tags: str, page: int) -> dict[str, str]:
    parameters = {"tags": tags}
    if ctx.spec.config.query:
        parameters["query"] = ctx.spec.config.query
    # The front page is a fixed list: a time filter would only cut off older stories that are still on it.
    if tags != _ALGOLIA_TAGS[HackerNewsList.TOP]:
        parameters["numericFilters"] = f"created_at_i>{_earliest_creation(ctx)}"
    return {**parameters, "hitsPerPage": str(PAGE_SIZE), **({"page": str(page)} if page else {})}


def _earliest_creation(ctx: FetchContext) -> int:
    newest = _newest_stored(ctx)
    if not newest:
        return int((ctx.now - INITIAL_WINDOW).timestamp())
    return min(newest, int((ctx.now - REFRESH_WINDOW).timestamp()))


def _newest_stored(ctx: FetchContext) -> int:
    """Return the Unix timestamp of the newest story of the last fetch, 0 before the first."""
    stored = ctx.state.cursor.get("newest", "")
    return int(stored) if stored.isdecimal() else 0


def _created_timestamp(hit: _Hit) -> int:
    """Return the Unix timestamp of the hit, 0 if missing or implausible."""
    created = parse_timestamp(hit.created)
    return int(created.timestamp()) if created else 0


async def _fetch_list(ctx: FetchContext, story_list: HackerNewsList) -> FetchResult:
    """Fetch a list from Firebase and its first stories one by one; stories that fail are left out."""
    body = await fetch_body(ctx, f"{FIREBASE_URL}/{story_list.value}stories.json", accept=ACCEPT_JSON)
    newest = _newest_stored(ctx)
    cursor = {"newest": str(newest)} if newest else {}
    if body.unchanged:
        return body.to_result(cursor=cursor)
    raw_ids = decode_json(body.response.body, tuple[msgspec.Raw, ...], _FIREBASE)
    ids = decode_json_list(raw_ids[:MAX_ITEMS], _ItemId, _FIREBASE)
    results = await asyncio.gather(*(_fetch_item(ctx, item_id) for item_id in ids), return_exceptions=True)
    items = [item for item in results if isinstance(item, _Item)]
    errors = [error for error in results if isinstance(error, BaseException)]
    # Errors are tolerated only if some stories arrived, and only failures of the fetch.
    for error in errors:
        if not items or not isinstance(error, FetchError):
            raise error
    # Without validators and hash the next poll sees a changed list and fetches the missing stories.
    removed = [str(item.id) for item in items if item.is_removed]
    result = body.to_result(_entries(item for item in items if not item.is_removed), removed=removed, cursor=cursor)
    return msgspec.structs.replace(result, etag=None, last_modified=None, body_hash=None) if errors else result


async def _fetch_item(ctx: FetchContext, item_id: int) -> _Item | None:
    response = await ctx.http.get(f"{FIREBASE_URL}/item/{item_id}.json", accept=ACCEPT_JSON)
    if response.body.strip() == b"null":
        return None
    item = decode_json(response.body, _Item, _FIREBASE)
    return item if item.type == "story" else None


def _entries(stories: Iterable[_Hit | _Item]) -> tuple[Entry, ...]:
    return tuple(_entry(story) for story in stories if story.title and story.title.strip())


def _entry(story: _Hit | _Item) -> Entry:
    discussion = f"{SITE}/item?id={story.id}"
    return Entry(
        ident=str(story.id),
        alias=str(story.id),
        title=single_line(story.title or "", MAX_TITLE),
        url=web_url_or_none(story.url) or discussion,
        text=html_to_text(story.text or "", MAX_TEXT),
        author=single_line(story.author or "", MAX_NAME) or None,
        published=parse_timestamp(story.created),
        discussion=discussion,
        points=clamp_count(story.points),
        comments=clamp_count(story.comments),
    )
