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
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from datetime import datetime, timedelta
from email.utils import format_datetime
from html import escape
from pathlib import Path

import httpx

from copydesk.desk import Desk, open_desk
from copydesk.desk.ground import Clock
from copydesk.drafting.writer import Brief, Written
from copydesk.errors import WriterError
from copydesk.model.draft import ListedDraft
from copydesk.model.item import ItemState
from copydesk.model.run import Progress, Stage
from copydesk.model.source import Source
from copydesk.settings import Settings, load
from fetching import NOW
from fetching import Clock as Watch

__all__ = ["NOW", "Watch"]

ONE, TWO, THREE = (f"https://{name}.example/feed" for name in ("one", "two", "three"))
RSS = "application/rss+xml"
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


def word(number: int) -> str:
    """Return a made-up word, a different one for each number below 343,000."""
    first, quotient = number % 70, number // 70
    return (_SYLLABLES[first] + _SYLLABLES[(first * 3 + quotient) % 70] + _SYLLABLES[quotient % 70] + "rn").capitalize()


def title(number: int) -> str:
    """Return a headline that shares at most one rare word with any other number's."""
    return f"{word(4 * number)} opens a {word(4 * number + 1)} ferry to {word(4 * number + 2)}"


def entry(
    number: int,
    *,
    hours: float = 1,
    named: str | None = None,
    link: str | None = None,
    guid: str | None = None,
    text: str | None = None,
    dated: bool = True,
    more: str = "",
    now: datetime = NOW,
) -> str:
    """Return the inside of an RSS item: story `number`, published `hours` before `now`."""
    headline = title(number) if named is None else named
    default_text = (
        f"The new line of {word(4 * number + 3)} carries {number + 40} passengers each day. It began on Monday."
    )
    fields = {
        "title": headline,
        "link": link or f"https://stories.example/{number}",
        "guid": guid or f"story-{number}",
        "description": default_text if text is None else text,
    }
    if dated:
        fields["pubDate"] = format_datetime(now - timedelta(hours=hours))
    return "".join(f"<{name}>{escape(value)}</{name}>" for name, value in fields.items()) + more


def feed(*entries: str, title: str = "Site") -> bytes:
    """Return an RSS feed of `entries`."""
    items = "".join(f"<item>{item}</item>" for item in entries)
    head = f"<title>{escape(title)}</title><link>https://site.example/</link><description/>"
    return f'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel>{head}{items}</channel></rss>'.encode()


class Held:
    """A response that is held back: `requested` is set by the request, setting `released` lets it finish."""

    def __init__(self) -> None:
        self.came = asyncio.Event()
        self.go = asyncio.Event()


class Web(httpx.AsyncBaseTransport):
    """Pages by URL, in place of the network. Unknown URLs get 404."""

    def __init__(self) -> None:
        self.asked: list[httpx.Request] = []
        self._pages: dict[str, tuple[int, bytes, dict[str, str]] | Exception] = {}
        self._held: dict[str, Held] = {}

    @property
    def urls(self) -> list[str]:
        """The requested URLs, in order."""
        return [str(request.url) for request in self.asked]

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

    def cut(self, url: str) -> None:
        """Let connections to `url` fail."""
        self._pages[url] = httpx.ConnectError("no route to host")

    def hold(self, url: str) -> Held:
        """Hold back the next response for `url`."""
        held = self._held[url] = Held()
        return held

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the page at the requested URL."""
        self.asked.append(request)
        page = self._pages.get(str(request.url), (404, b"", {}))
        held = self._held.pop(str(request.url), None)
        if held is not None:
            held.came.set()
            await held.go.wait()
        if isinstance(page, Exception):
            raise page
        status, body, headers = page
        if status == 200 and "etag" in headers and request.headers.get("if-none-match") == headers["etag"]:
            return httpx.Response(304, headers=headers, stream=httpx.ByteStream(b""))
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))


def settings_at(home: Path, **named: str) -> Settings:
    """Return settings of a desk in `home`; `overrides` are named as in the environment: `pipeline__max_drafts="3"`."""
    return load({f"COPYDESK_{name.upper()}": value for name, value in named.items()}, home)


@asynccontextmanager
async def open_at(
    home: Path, web: httpx.AsyncBaseTransport | None = None, clock: Clock | None = None, **named: str
) -> AsyncIterator[Desk]:
    """Open the desk in `home`. Its clock stands still at NOW unless another is given."""
    async with open_desk(settings_at(home, **named), clock=clock or Watch(), transport=web) as desk:
        yield desk


async def add(desk: Desk, url: str = ONE, *, name: str | None = None, type: str = "rss", **config: object) -> Source:
    """Create a source without a test fetch. `config` has the shape of the HTTP interface."""
    return await desk.sources.create(type, url, name=name, config=config or None, test=False)


async def drafts_of(desk: Desk) -> list[ListedDraft]:
    """Return all drafts, oldest first."""
    drafts: list[ListedDraft] = []
    cursor = None
    while True:
        page = await desk.drafts.list(limit=100, cursor=cursor)
        drafts += page.items
        cursor = page.next_cursor
        if cursor is None:
            return drafts[::-1]


async def titles(desk: Desk) -> list[str]:
    """Return the story titles of all drafts, oldest draft first."""
    return [draft.item.title for draft in await drafts_of(desk)]


def rows(home: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    """Query the desk's database with a connection of its own."""
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        return connection.execute(query, values).fetchall()


def change(home: Path, statement: str, *values: object) -> None:
    """Write to the desk's database with a connection of its own."""
    with closing(sqlite3.connect(home / "copydesk.db")) as connection, connection:
        connection.execute(statement, values)


def states(home: Path) -> dict[str, str]:
    """Return the state of each item by title."""
    return {str(item_title): str(state) for item_title, state in rows(home, "SELECT title, state FROM item")}


def reasons(home: Path) -> dict[str, str]:
    """Return why each filtered item was left out, by title."""
    filtered = rows(home, "SELECT title, reason FROM item WHERE state = ?", ItemState.FILTERED.value)
    return {str(item_title): str(reason) for item_title, reason in filtered}


def damage(home: Path) -> list[tuple[object, ...]]:
    """Return what SQLite's integrity and foreign key checks report; empty if the database is intact."""
    findings = rows(home, "PRAGMA integrity_check") + rows(home, "PRAGMA foreign_key_check")
    return [row for row in findings if row != ("ok",)]


class Steps:
    """A progress callback that records the events of runs."""

    def __init__(self) -> None:
        self.seen: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        self.seen.append(progress)

    def of(self, stage: Stage) -> list[Progress]:
        """Return the events of one stage."""
        return [progress for progress in self.seen if progress.stage is stage]


class StubbornWriter:
    """Writes the story's title and link.

    Raises the error given for a title in `errors`; never returns for those in `hang_on`.
    """

    name = "stubborn"

    def __init__(self, fails: Mapping[str, Exception] | None = None, waits: tuple[str, ...] = ()) -> None:
        self.fails = dict(fails or {})
        self.waits = waits
        self.began = asyncio.Event()
        self.written: list[str] = []

    async def write(self, brief: Brief) -> Written:
        """Return the title and the link."""
        if brief.title in self.fails:
            raise self.fails[brief.title]
        if brief.title in self.waits:
            self.began.set()
            await asyncio.Event().wait()
        self.written.append(brief.title)
        return Written(text=f"{brief.title} {brief.url}")


def cannot_write(*named: str) -> dict[str, Exception]:
    """Return the errors for a `FailingWriter` that cannot write about these titles."""
    return {title: WriterError("There is nothing to say.") for title in named}


def at(hours: float) -> datetime:
    """Return the instant this many hours before NOW."""
    return NOW - timedelta(hours=hours)
