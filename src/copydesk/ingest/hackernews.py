"""hackernews: a list or a search of Hacker News, over Algolia's API, and over Firebase where that does not serve.

Algolia answers a list with one request, points and comments included; since June 2026 it filters by `created_at_i`
only (by points: HTTP 400). Firebase has the list `best`, and wants a request for every story.
Forms: https://hn.algolia.com/api and https://github.com/HackerNews/API.
"""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlencode

import msgspec

from copydesk.errors import FetchError
from copydesk.ingest.address import refuse, split, web_address
from copydesk.ingest.decoding import count, decode, moment, rows
from copydesk.ingest.entry import MAX_NAME, MAX_TEXT, MAX_TITLE
from copydesk.ingest.plaintext import plain_line, plain_text
from copydesk.ingest.visit import JSON, Reading, Visit, get_body, hash_of
from copydesk.model.item import Entry
from copydesk.model.source import HackerNewsList, SourceConfig

SITE = "https://news.ycombinator.com"
EXPECTED = f"an address of Hacker News, such as {SITE}"
PAGE_SIZE = 100
MOST_PAGES = 10
"""Algolia gives no more than 1,000 hits of one search."""
MOST_ITEMS = 30
"""Stories of one list that Firebase is asked for: a page of the site."""
RECENT = timedelta(hours=48)
"""For so long points still change much: stories of this age are asked for at every look."""
FIRST_LOOK = timedelta(days=30)
"""So far back the first look goes, to show what a rare search finds."""
_Number = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
_ALGOLIA, _FIREBASE = "Hacker News' search", "Hacker News' API"
_TAGS = {
    HackerNewsList.TOP: "front_page",
    HackerNewsList.NEW: "story",
    HackerNewsList.ASK: "ask_hn",
    HackerNewsList.SHOW: "show_hn",
}
_PAGES = {
    "newest": HackerNewsList.NEW,
    "best": HackerNewsList.BEST,
    "ask": HackerNewsList.ASK,
    "show": HackerNewsList.SHOW,
}


def normalise(url: str, config: SourceConfig) -> str:
    """The site's address, with the page of a list where one is named. Raises InvalidError."""
    parts = split(url, expected=EXPECTED)
    if (parts.hostname or "").removeprefix("www.") != "news.ycombinator.com":
        refuse("url", f"is not Hacker News; give {EXPECTED}")
    if config.query is not None and not config.query.strip():
        refuse("config.query", "is empty; give the words to search for, or leave it out")
    page = parts.path.strip("/")
    return f"{SITE}/{page}" if page in _PAGES else f"{SITE}/"


async def read(visit: Visit) -> Reading:
    """The stories of the list or the search. Raises FetchError."""
    config = visit.spec.config
    if config.query:
        narrowed = config.list in (HackerNewsList.ASK, HackerNewsList.SHOW)
        return await _search(visit, _TAGS[config.list] if narrowed else "story")
    listed = _list(visit)
    if listed not in _TAGS:
        return await _stories(visit, listed)
    try:
        return await _search(visit, _TAGS[listed])
    except FetchError:
        # Firebase is another service, and has every list.
        return await _stories(visit, listed)


def _list(visit: Visit) -> HackerNewsList:
    """The list that the settings name, else the one whose page the address is."""
    named = visit.spec.config.list
    page = visit.spec.url.rstrip("/").rsplit("/", 1)[-1]
    return _PAGES.get(page, named) if named is HackerNewsList.TOP else named


class _Hits(msgspec.Struct, frozen=True):
    hits: msgspec.Raw
    pages: int = msgspec.field(name="nbPages", default=1)


class _Hit(msgspec.Struct, frozen=True):
    """A story as Algolia has it."""

    id: _Number = msgspec.field(name="objectID")
    title: str | None = None
    url: str | None = None
    author: str | None = None
    points: int | None = None
    comments: int | None = msgspec.field(name="num_comments", default=None)
    created: float | None = msgspec.field(name="created_at_i", default=None)
    text: str | None = msgspec.field(name="story_text", default=None)


class _Item(msgspec.Struct, frozen=True):
    """A story as Firebase has it."""

    id: _Number
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


async def _search(visit: Visit, tags: str) -> Reading:
    """Algolia's newest stories with these tags; as many pages as it takes to reach the last look's."""
    newest = _known_newest(visit)
    hits, pages, digest = await _hits(visit, tags, 0)
    unchanged = digest == visit.state.body_hash
    page = 1
    while newest and hits and page < min(pages, MOST_PAGES) and _time(hits[-1]) > newest:
        more, pages, _ = await _hits(visit, tags, page)
        hits, page = hits + more, page + 1
    latest = max([newest, *(_time(hit) for hit in hits if _time(hit) <= visit.now.timestamp())])
    return Reading(
        entries=() if unchanged else _entries(hits),
        unchanged=unchanged,
        body_hash=digest,
        cursor={"newest": str(latest)} if latest else {},
    )


async def _hits(visit: Visit, tags: str, page: int) -> tuple[list[_Hit], int, bytes]:
    """One page of a search, the number of pages there are, and the hash of the hits alone.

    The rest of the answer is different every time: it holds how long the search took.
    """
    url = f"{visit.endpoints.algolia}/search_by_date?{urlencode(_parameters(visit, tags, page))}"
    answer = await visit.http.get(url, accept=JSON)
    found = decode(answer.body, _Hits, _ALGOLIA)
    raws = decode(bytes(found.hits), tuple[msgspec.Raw, ...], _ALGOLIA)
    return rows(raws, _Hit, _ALGOLIA), found.pages, hash_of(bytes(found.hits))


def _parameters(visit: Visit, tags: str, page: int) -> dict[str, str]:
    parameters = {"tags": tags}
    if visit.spec.config.query:
        parameters["query"] = visit.spec.config.query
    if tags != _TAGS[HackerNewsList.TOP]:
        parameters["numericFilters"] = f"created_at_i>{_since(visit)}"
    return {**parameters, "hitsPerPage": str(PAGE_SIZE), **({"page": str(page)} if page else {})}


def _since(visit: Visit) -> int:
    newest = _known_newest(visit)
    if not newest:
        return int((visit.now - FIRST_LOOK).timestamp())
    return min(newest, int((visit.now - RECENT).timestamp()))


def _known_newest(visit: Visit) -> int:
    """The time of the newest story that the last look brought; 0 at the first."""
    known = visit.state.cursor.get("newest", "")
    return int(known) if known.isdecimal() else 0


def _time(hit: _Hit) -> int:
    """Seconds since 1970; 0 where the hit says nothing sensible."""
    created = moment(hit.created)
    return int(created.timestamp()) if created else 0


async def _stories(visit: Visit, listed: HackerNewsList) -> Reading:
    """Firebase's list, and its first stories one by one; one that fails does not lose the others."""
    body = await get_body(visit, f"{visit.endpoints.firebase}/{listed.value}stories.json", accept=JSON)
    newest = _known_newest(visit)
    kept = {"newest": str(newest)} if newest else {}
    if body.unchanged:
        return body.reading(cursor=kept)
    raws = decode(body.answer.body, tuple[msgspec.Raw, ...], _FIREBASE)
    ids = rows(raws[:MOST_ITEMS], _Number, _FIREBASE)
    results = await asyncio.gather(*(_item(visit, number) for number in ids), return_exceptions=True)
    items = [item for item in results if isinstance(item, _Item)]
    errors = [error for error in results if isinstance(error, BaseException)]
    for error in errors:
        if not items or not isinstance(error, FetchError):
            raise error
    # Without the hash the list counts as changed next time, and the missing stories are asked for again.
    reading = body.reading(_entries(items), cursor=kept)
    return msgspec.structs.replace(reading, etag=None, last_modified=None, body_hash=None) if errors else reading


async def _item(visit: Visit, number: int) -> _Item | None:
    answer = await visit.http.get(f"{visit.endpoints.firebase}/item/{number}.json", accept=JSON)
    if answer.body.strip() == b"null":
        return None
    item = decode(answer.body, _Item, _FIREBASE)
    return item if item.type == "story" and not item.dead and not item.deleted else None


def _entries(stories: Iterable[_Hit | _Item]) -> tuple[Entry, ...]:
    return tuple(_entry(story) for story in stories if story.title and story.title.strip())


def _entry(story: _Hit | _Item) -> Entry:
    discussion = f"{SITE}/item?id={story.id}"
    return Entry(
        ident=str(story.id),
        alias=str(story.id),
        title=plain_line(story.title or "", MAX_TITLE),
        url=web_address(story.url) or discussion,
        text=plain_text(story.text or "", MAX_TEXT),
        author=plain_line(story.author or "", MAX_NAME) or None,
        published=moment(story.created),
        discussion=discussion,
        points=count(story.points),
        comments=count(story.comments),
    )
