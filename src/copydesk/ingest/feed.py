"""The bytes of a feed -> its entries. The public surface of feed parsing is what this module lists in `__all__`.

RSS, RDF and Atom are read by a strict parser of our own (`fastfeed`); what it refuses goes to feedparser in a
process of its own (`slowfeed`). JSON Feed is read by `jsonfeed`. What each of them finds becomes entries in one
place (`entry`). Everything else is refused.
"""

import asyncio
import re
from typing import Literal

from copydesk.errors import NotAFeedError, TooLargeError
from copydesk.ingest.encoding import mend, to_utf8
from copydesk.ingest.entry import (
    MAX_SUMMARY,
    MAX_TEXT,
    MAX_TITLE,
    Setting,
    language_of,
    link_of,
    make_entries,
    title_of,
)
from copydesk.ingest.fastfeed import parse_fast
from copydesk.ingest.jsonfeed import parse_json
from copydesk.ingest.links import absolute
from copydesk.ingest.raw import RawFeed, Refused
from copydesk.ingest.slowfeed import parse_slow
from copydesk.model.item import Entry
from copydesk.model.wire import Struct

__all__ = ["MAX_BODY", "MAX_ENTRIES", "MAX_SUMMARY", "MAX_TEXT", "MAX_TITLE", "Feed", "parse_feed"]

MAX_BODY = 16 * 1024 * 1024
MAX_ENTRIES = 10_000
INLINE = 256 * 1024
"""Bytes of a feed that is parsed at once, in some 3 ms; a larger one goes to a thread."""

How = Literal["expat", "json", "feedparser"]
_FEED = re.compile(rb"<(?:[a-z0-9]{1,20}:)?(?:rss|feed|rdf|channel)\b", re.IGNORECASE)
_PAGE = re.compile(rb"<!doctype\s+html|<(?:html|head|body)\b", re.IGNORECASE)
_WEEK = 7 * 24 * 3600


class Feed(Struct, frozen=True):
    """What a feed says, within caps."""

    title: str
    link: str | None
    """The page that it is the feed of."""
    language: str | None
    """A code in small letters: `en-us`."""
    ttl_seconds: int | None
    """How long it asks to be left alone; at most a week."""
    entries: tuple[Entry, ...]
    """In the feed's order. No two have the same `ident`."""
    how: How
    """Which parser read it."""
    more: bool = False
    """There were more than `max_entries`; these are the first."""


async def parse_feed(body: bytes, *, charset: str | None, base_url: str, max_entries: int = MAX_ENTRIES) -> Feed:
    """The feed that `body` is.

    `charset` is that of the HTTP answer; `base_url` is where the answer came from, and relative addresses start there.
    Raises NotAFeedError for what is no feed, TooLargeError beyond 16 MiB, TooSlowError for a damaged feed that takes
    too long to repair.
    """
    if len(body) > MAX_BODY:
        raise TooLargeError(f"The feed has {len(body):,} bytes; at most {MAX_BODY:,} are read.")
    try:
        if len(body) <= INLINE:
            return parse_strictly(body, charset=charset, base_url=base_url, max_entries=max_entries)
        return await asyncio.to_thread(
            parse_strictly, body, charset=charset, base_url=base_url, max_entries=max_entries
        )
    except Refused:
        text = await asyncio.to_thread(mend, body.lstrip(), charset)
    return await _repaired(text, base_url, max_entries)


async def _repaired(text: bytes, base_url: str, max_entries: int) -> Feed:
    """The feed that the readable UTF-8 `text` is meant to be."""
    if text.startswith(b"{"):
        return await asyncio.to_thread(lambda: _feed(parse_json(text, max_entries), base_url, "json"))
    _check_start(text)
    raw = await parse_slow(text, max_entries)
    return await asyncio.to_thread(_feed, raw, base_url, "feedparser")


def parse_strictly(body: bytes, *, charset: str | None, base_url: str, max_entries: int = MAX_ENTRIES) -> Feed:
    """The feed that `body` is, if it is a sound one. Raises Refused where a repair may help, else NotAFeedError."""
    text = to_utf8(body.lstrip(), charset)
    if text.startswith(b"{"):
        return _feed(parse_json(text, max_entries), base_url, "json")
    _check_start(text)
    return _feed(parse_fast(text, max_entries), base_url, "expat")


def _check_start(text: bytes) -> None:
    """Raise NotAFeedError for what does not even start like a feed."""
    if not text:
        raise NotAFeedError("The answer is empty.")
    if not text.startswith(b"<"):
        raise NotAFeedError("The answer is neither XML nor a JSON Feed.")
    page = _PAGE.search(text[:2_000])
    if page and not _FEED.search(text[: page.start()]):
        raise NotAFeedError(
            "The answer is a web page, not a feed.",
            hint="Give the address of the page's feed: it often ends in /feed, /rss or /atom.xml.",
        )


def _feed(raw: RawFeed, base_url: str, how: How) -> Feed:
    base = absolute(raw.about.base, base_url) or base_url
    link = link_of(raw.about, base)
    language = language_of(raw.about.texts.get("language", ""))
    return Feed(
        title=title_of(raw.about, atom=raw.atom),
        link=link,
        language=language,
        ttl_seconds=_seconds(raw.about.texts.get("ttl", "")),
        entries=make_entries(raw.entries, Setting(base=link or base, language=language, atom=raw.atom)),
        how=how,
        more=raw.more,
    )


def _seconds(minutes: str) -> int | None:
    """A time to live, or None for what is no number of minutes."""
    return min(int(minutes) * 60, _WEEK) if minutes.isdecimal() and 0 < len(minutes) < 10 else None
