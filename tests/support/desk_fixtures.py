"""A desk for tests: its own folder, a fixed clock, and fake pages instead of the network.

    web = FakeWeb()
    web.put("https://one.example/feed", feed(entry(1), entry(2, hours=70)))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk, "https://one.example/feed")
        run = await desk.pipeline.run()

Everything but the network is real: client, parsers, ranking, writer, database.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from datetime import datetime, timedelta
from email.utils import format_datetime
from html import escape
from pathlib import Path

import httpx

from copydesk.desk import Desk, open_desk
from copydesk.desk.context import Clock
from copydesk.drafting.writer import Brief, WriterResult
from copydesk.errors import WriterError
from copydesk.model.draft import ListedDraft
from copydesk.model.item import ItemState
from copydesk.model.run import Progress, Stage
from copydesk.model.source import Source
from copydesk.settings import Settings, load
from fetcher_fixtures import NOW
from fetcher_fixtures import FakeClock as Watch
from store_fixtures import connect_to, database_variables, postgresql_server

__all__ = ["NOW", "Watch"]

URL_ONE, URL_TWO, URL_THREE = (f"https://{name}.example/feed" for name in ("one", "two", "three"))
RSS = "application/rss+xml"
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


def made_up_word(number: int) -> str:
    """Return a made-up word, a different one for each number below 343,000."""
    first, quotient = number % 70, number // 70
    # The carry keeps the third syllable from following from the second.
    third = (quotient + quotient // 70) % 70
    return (_SYLLABLES[first] + _SYLLABLES[(first * 3 + quotient) % 70] + _SYLLABLES[third] + "rn").capitalize()


def story_title(number: int) -> str:
    """Return a headline that shares at most one rare word with any other number's."""
    return f"{made_up_word(4 * number)} opens a {made_up_word(4 * number + 1)} ferry to {made_up_word(4 * number + 2)}"


def entry(
    number: int,
    *,
    hours: float = 1,
    title: str | None = None,
    link: str | None = None,
    guid: str | None = None,
    text: str | None = None,
    with_date: bool = True,
    extra_xml: str = "",
    now: datetime = NOW,
) -> str:
    """Return the inside of an RSS item: story `number`, published `hours` before `now`."""
    headline = story_title(number) if title is None else title
    default_text = (
        f"The new line of {made_up_word(4 * number + 3)} carries {number + 40} passengers each day. It began on Monday."
    )
    fields = {
        "title": headline,
        "link": link or f"https://stories.example/{number}",
        "guid": guid or f"story-{number}",
        "description": default_text if text is None else text,
    }
    if with_date:
        fields["pubDate"] = format_datetime(now - timedelta(hours=hours))
    return "".join(f"<{name}>{escape(value)}</{name}>" for name, value in fields.items()) + extra_xml


def feed(*entries: str, title: str = "Site") -> bytes:
    """Return an RSS feed of `entries`."""
    items = "".join(f"<item>{item}</item>" for item in entries)
    head = f"<title>{escape(title)}</title><link>https://site.example/</link><description/>"
    return f'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel>{head}{items}</channel></rss>'.encode()


class HeldResponse:
    """A response that is held back: `requested` is set by the request, setting `released` lets it finish."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.released = asyncio.Event()


class FakeWeb(httpx.AsyncBaseTransport):
    """Pages by URL, in place of the network. Unknown URLs get 404."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self._pages: dict[str, tuple[int, bytes, dict[str, str]] | Exception] = {}
        self._held: dict[str, HeldResponse] = {}

    @property
    def requested_urls(self) -> list[str]:
        """The requested URLs, in order."""
        return [str(request.url) for request in self.requests]

    def put(self, url: str, body: bytes | str, *, etag: bool = True, status: int = 200, **headers: str) -> None:
        """Serve `body` at `url`. With an ETag, conditional requests get 304."""
        raw = body.encode() if isinstance(body, str) else body
        response_headers = {"content-type": RSS} | {name.replace("_", "-"): value for name, value in headers.items()}
        if etag:
            response_headers["etag"] = f'"{hashlib.sha256(raw).hexdigest()[:12]}"'
        self._pages[url] = (status, raw, response_headers)

    def fail(self, url: str, status: int, **headers: str) -> None:
        """Respond with an error status."""
        self.put(url, b"no", etag=False, status=status, **headers)

    def disconnect(self, url: str) -> None:
        """Let connections to `url` fail."""
        self._pages[url] = httpx.ConnectError("no route to host")

    def hold(self, url: str) -> HeldResponse:
        """Hold back the next response for `url`."""
        held = self._held[url] = HeldResponse()
        return held

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the page at the requested URL."""
        self.requests.append(request)
        page = self._pages.get(str(request.url), (404, b"", {}))
        held = self._held.pop(str(request.url), None)
        if held is not None:
            held.requested.set()
            await held.released.wait()
        if isinstance(page, Exception):
            raise page
        status, body, headers = page
        if status == 200 and "etag" in headers and request.headers.get("if-none-match") == headers["etag"]:
            return httpx.Response(304, headers=headers, stream=httpx.ByteStream(b""))
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))


def settings_at(home: Path, **overrides: str) -> Settings:
    """Return settings of a desk in `home`; `overrides` are named as in the environment: `pipeline__max_drafts="3"`."""
    return load(
        database_variables(home) | {f"COPYDESK_{name.upper()}": value for name, value in overrides.items()}, home
    )


@asynccontextmanager
async def open_desk_at(
    home: Path, web: httpx.AsyncBaseTransport | None = None, clock: Clock | None = None, **overrides: str
) -> AsyncIterator[Desk]:
    """Open the desk in `home`. Its clock stands still at NOW unless another is given."""
    async with open_desk(settings_at(home, **overrides), clock=clock or Watch(), transport=web) as desk:
        yield desk


async def create_source(
    desk: Desk, url: str = URL_ONE, *, name: str | None = None, type: str = "rss", **config: object
) -> Source:
    """Create a source without a test fetch. `config` has the shape of the HTTP interface."""
    return await desk.sources.create({"type": type, "url": url, "name": name, "config": config or None}, test=False)


async def list_drafts(desk: Desk) -> list[ListedDraft]:
    """Return all drafts, oldest first."""
    drafts: list[ListedDraft] = []
    cursor = None
    while True:
        page = await desk.drafts.list(limit=100, cursor=cursor)
        drafts += page.items
        cursor = page.next_cursor
        if cursor is None:
            return drafts[::-1]


async def draft_titles(desk: Desk) -> list[str]:
    """Return the story titles of all drafts, oldest draft first."""
    return [draft.item.title for draft in await list_drafts(desk)]


def query_db(home: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    """Query the desk's database with a connection of its own."""
    with closing(connect_to(home)) as connection:
        return connection.execute(_quote_user(query), values).fetchall()


def execute_sql(home: Path, statement: str, *values: object) -> None:
    """Write to the desk's database with a connection of its own."""
    with closing(connect_to(home)) as connection, connection:
        connection.execute(_quote_user(statement), values)


def _quote_user(statement: str) -> str:
    """Quote the name of the table of users, which is a word of PostgreSQL."""
    return re.sub(r"\b(FROM|INTO|UPDATE|JOIN) user\b", r'\1 "user"', statement)


def item_states(home: Path) -> dict[str, str]:
    """Return the state of each item by title."""
    return {str(item_title): str(state) for item_title, state in query_db(home, "SELECT title, state FROM item")}


def filter_reasons(home: Path) -> dict[str, str]:
    """Return why each filtered item was left out, by title."""
    filtered = query_db(home, "SELECT title, reason FROM item WHERE state = ?", ItemState.FILTERED.value)
    return {str(item_title): str(reason) for item_title, reason in filtered}


def integrity_errors(home: Path) -> list[tuple[object, ...]]:
    """Return what SQLite's integrity and foreign key checks report; empty if the database is intact.

    On PostgreSQL no constraint can be violated, and the server checks its own files.
    """
    if postgresql_server() is not None:
        return []
    findings = query_db(home, "PRAGMA integrity_check") + query_db(home, "PRAGMA foreign_key_check")
    return [row for row in findings if row != ("ok",)]


class ProgressRecorder:
    """A progress callback that records the events of runs."""

    def __init__(self) -> None:
        self.events: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        self.events.append(progress)

    def for_stage(self, stage: Stage) -> list[Progress]:
        """Return the events of one stage."""
        return [progress for progress in self.events if progress.stage is stage]


class FailingWriter:
    """Writes the story's title and link.

    Raises the error given for a title in `errors`; never returns for those in `hang_on`.
    """

    name = "stubborn"

    def __init__(self, errors: Mapping[str, Exception] | None = None, hang_on: tuple[str, ...] = ()) -> None:
        self.errors = dict(errors or {})
        self.hang_on = hang_on
        self.started = asyncio.Event()
        self.written_titles: list[str] = []

    async def write(self, brief: Brief) -> WriterResult:
        """Return the title and the link."""
        if brief.title in self.errors:
            raise self.errors[brief.title]
        if brief.title in self.hang_on:
            self.started.set()
            await asyncio.Event().wait()
        self.written_titles.append(brief.title)
        return WriterResult(text=f"{brief.title} {brief.url}")


def writer_errors(*titles: str) -> dict[str, Exception]:
    """Return the errors for a `FailingWriter` that cannot write about these titles."""
    return {title: WriterError("There is nothing to say.") for title in titles}


def hours_ago(hours: float) -> datetime:
    """Return the instant this many hours before NOW."""
    return NOW - timedelta(hours=hours)
