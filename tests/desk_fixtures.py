"""A desk for tests: a folder of its own, a clock that stands still, and a small web instead of the network.

    web = Web()
    web.put("https://one.example/feed", feed(entry(1), entry(2, hours=70)))
    async with open_at(tmp_path, web) as desk:
        source = await add(desk, "https://one.example/feed")
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
    """A made-up word; another one for each number below 343,000."""
    first, rest = number % 70, number // 70
    return (_SYLLABLES[first] + _SYLLABLES[(first * 3 + rest) % 70] + _SYLLABLES[rest % 70] + "rn").capitalize()


def title(number: int) -> str:
    """A headline that has no two rare words in common with that of another number."""
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
    """The inside of an RSS item: the story `number`, `hours` old at `now`."""
    told = title(number) if named is None else named
    says = f"The new line of {word(4 * number + 3)} carries {number + 40} passengers each day. It began on Monday."
    fields = {
        "title": told,
        "link": link or f"https://stories.example/{number}",
        "guid": guid or f"story-{number}",
        "description": says if text is None else text,
    }
    if dated:
        fields["pubDate"] = format_datetime(now - timedelta(hours=hours))
    return "".join(f"<{name}>{escape(value)}</{name}>" for name, value in fields.items()) + more


def feed(*entries: str, title: str = "Site") -> bytes:
    """An RSS feed of `entries`."""
    items = "".join(f"<item>{inside}</item>" for inside in entries)
    head = f"<title>{escape(title)}</title><link>https://site.example/</link><description/>"
    return f'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel>{head}{items}</channel></rss>'.encode()


class Held:
    """A page that is not answered before it is let go: `came` says that somebody asked."""

    def __init__(self) -> None:
        self.came = asyncio.Event()
        self.go = asyncio.Event()


class Web(httpx.AsyncBaseTransport):
    """Pages by their address, in place of the network; what is not there is 404."""

    def __init__(self) -> None:
        self.asked: list[httpx.Request] = []
        self._pages: dict[str, tuple[int, bytes, dict[str, str]] | Exception] = {}
        self._held: dict[str, Held] = {}

    @property
    def urls(self) -> list[str]:
        """What was asked for, in order."""
        return [str(request.url) for request in self.asked]

    def put(self, url: str, body: bytes | str, *, etag: bool = True, status: int = 200, **headers: str) -> None:
        """Put a page at `url`; with an etag it answers a conditional request with 304."""
        raw = body.encode() if isinstance(body, str) else body
        named = {"content-type": RSS} | {name.replace("_", "-"): value for name, value in headers.items()}
        if etag:
            named["etag"] = f'"{hashlib.sha256(raw).hexdigest()[:12]}"'
        self._pages[url] = (status, raw, named)

    def fail(self, url: str, status: int, **headers: str) -> None:
        """Answer with an error."""
        self.put(url, b"no", etag=False, status=status, **headers)

    def cut(self, url: str) -> None:
        """Let nobody reach `url`."""
        self._pages[url] = httpx.ConnectError("no route to host")

    def hold(self, url: str) -> Held:
        """Keep the next one who asks for `url` waiting until it is let go."""
        held = self._held[url] = Held()
        return held

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The page at the address that was asked for."""
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
    """Settings of a desk in `home`; `named` as in the environment: `pipeline__max_drafts="3"`."""
    return load({f"COPYDESK_{name.upper()}": value for name, value in named.items()}, home)


@asynccontextmanager
async def open_at(
    home: Path, web: httpx.AsyncBaseTransport | None = None, clock: Clock | None = None, **named: str
) -> AsyncIterator[Desk]:
    """The desk in `home`, on a clock that stands still at NOW unless another is given."""
    async with open_desk(settings_at(home, **named), clock=clock or Watch(), transport=web) as desk:
        yield desk


async def add(desk: Desk, url: str = ONE, *, name: str | None = None, type: str = "rss", **config: object) -> Source:
    """A source, without a test fetch; `config` in the interface's shape."""
    return await desk.sources.create(type, url, name=name, config=config or None, test=False)


async def drafts_of(desk: Desk) -> list[ListedDraft]:
    """Every draft, in the order in which they were made."""
    found: list[ListedDraft] = []
    cursor = None
    while True:
        page = await desk.drafts.list(limit=100, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found[::-1]


async def titles(desk: Desk) -> list[str]:
    """The titles that drafts were made of, in the order in which they were made."""
    return [draft.item.title for draft in await drafts_of(desk)]


def rows(home: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    """What the desk's database answers."""
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        return connection.execute(query, values).fetchall()


def change(home: Path, statement: str, *values: object) -> None:
    """Change the desk's database behind its back."""
    with closing(sqlite3.connect(home / "copydesk.db")) as connection, connection:
        connection.execute(statement, values)


def states(home: Path) -> dict[str, str]:
    """Title of each item -> its state."""
    return {str(name): str(state) for name, state in rows(home, "SELECT title, state FROM item")}


def reasons(home: Path) -> dict[str, str]:
    """Title of each item that was left out -> why."""
    found = rows(home, "SELECT title, reason FROM item WHERE state = ?", ItemState.FILTERED.value)
    return {str(name): str(reason) for name, reason in found}


def damage(home: Path) -> list[tuple[object, ...]]:
    """What SQLite finds wrong with the database and with what its rows point at; empty where all is well."""
    found = rows(home, "PRAGMA integrity_check") + rows(home, "PRAGMA foreign_key_check")
    return [row for row in found if row != ("ok",)]


class Steps:
    """Remembers how runs got on."""

    def __init__(self) -> None:
        self.seen: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        self.seen.append(progress)

    def of(self, stage: Stage) -> list[Progress]:
        """What was told of one stage."""
        return [progress for progress in self.seen if progress.stage is stage]


class StubbornWriter:
    """Writes the title; of the titles in `fails` it raises the error, at those in `waits` it never comes back."""

    name = "stubborn"

    def __init__(self, fails: Mapping[str, Exception] | None = None, waits: tuple[str, ...] = ()) -> None:
        self.fails = dict(fails or {})
        self.waits = waits
        self.began = asyncio.Event()
        self.written: list[str] = []

    async def write(self, brief: Brief) -> Written:
        """The title and the link."""
        if brief.title in self.fails:
            raise self.fails[brief.title]
        if brief.title in self.waits:
            self.began.set()
            await asyncio.Event().wait()
        self.written.append(brief.title)
        return Written(text=f"{brief.title} {brief.url}")


def cannot_write(*named: str) -> dict[str, Exception]:
    """Errors for a StubbornWriter: of these titles it has nothing to say."""
    return {each: WriterError("There is nothing to say.") for each in named}


def at(hours: float) -> datetime:
    """So many hours before NOW."""
    return NOW - timedelta(hours=hours)
