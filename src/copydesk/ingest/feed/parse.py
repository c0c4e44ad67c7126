"""Parse feeds of any format.

RSS, RDF and Atom are parsed by the strict parser on expat; what it refuses is repaired by feedparser in a subprocess
with limited processor time. JSON Feed (https://jsonfeed.org/version/1.1) is parsed here. Everything else is refused.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from copydesk.errors import FetchTimeoutError, NotAFeedError, ResponseTooLargeError
from copydesk.ingest.boilerplate import strip_boilerplate
from copydesk.ingest.encoding import repair_utf8, to_utf8
from copydesk.ingest.entries import (
    FeedDefaults,
    author_names,
    build_entries,
    entry_title,
    entry_url,
    normalize_language,
)
from copydesk.ingest.feed.expat_parser import MAX_ATTRIBUTES, has_too_many_attributes, parse_xml_feed
from copydesk.ingest.feed.raw_feed import RawEntry, RawFeed, StrictParseError, offer_image
from copydesk.ingest.subprocess_parser import run_in_subprocess
from copydesk.ingest.urls import absolute_url
from copydesk.model.item import Entry
from copydesk.model.serialization import Struct
from copydesk.text import links

_JSON_FIELDS = {
    "id": "ident",
    "external_url": "original link",
    "url": "link",
    "title": "title",
    "summary": "summary",
    "date_published": "published",
    "date_modified": "updated",
    "language": "language",
}

REPAIR_CPU_SECONDS = 2.0
"""Processor time for one feed, after feedparser is imported."""

MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_ENTRIES = 10_000
MAX_INLINE_BYTES = 256 * 1024
"""A feed up to this size is parsed on the event loop, in some 3 ms; a larger one in a thread."""

ParserName = Literal["expat", "json", "feedparser"]
_ROOT_WITHIN = 10_000
"""Bytes in which the root element must begin."""
# Atomic: hostile text in front of the root is not tried in every combination.
_PROLOG = re.compile(
    rb"(?>\s+|<\?.*?\?>|<!--.*?-->|<!doctype(?!\s+html\b)[^<>\[]*(?:\[.*?\]\s*)?>)*+", re.IGNORECASE | re.DOTALL
)
_COMMENT_OR_ROOT = re.compile(
    rb"<!--.*?(?:-->|\Z)|<(?:([a-z0-9_-]{1,20}):)?(rss|feed|rdf|channel)\b", re.IGNORECASE | re.DOTALL
)
_JSON_OBJECT = re.compile(rb"\{\s*[\"}]")
_ENTRY_TAG = re.compile(rb"<(?:item|entry)[\s>]", re.IGNORECASE)
_ELEMENT = re.compile(rb"<[a-z]", re.IGNORECASE)
_HTML_TAG = re.compile(rb"<!doctype\s+html|<(?:html|head|body)\b", re.IGNORECASE)
_MAX_TTL = 7 * 24 * 3600
"""Seconds."""
_MIN_LINKED_SITES = 3
"""Other sites that a feed links to if it only collects links."""


def parse_json_feed(body: bytes, max_entries: int) -> RawFeed:
    """Parse a feed in UTF-8. Raise NotAFeedError for other JSON and for invalid JSON."""
    try:
        # Not msgspec, which is stricter than real feeds: many titles are cut in the middle of a surrogate pair.
        # strict=False allows raw control characters in strings.
        document = json.loads(body, strict=False)
    except UnicodeDecodeError:
        raise StrictParseError("encoding") from None
    except (ValueError, RecursionError) as error:
        reason = "it nests too deep" if isinstance(error, RecursionError) else str(error)[:100]
        raise NotAFeedError(f"The response starts like a JSON Feed but is invalid ({reason}).") from None
    items = document.get("items") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise NotAFeedError("The response is JSON but not a JSON Feed: it has no list of items.")
    entries = [_json_entry(item) for item in items[:max_entries] if isinstance(item, dict)]
    return RawFeed(metadata=_json_metadata(document), entries=entries, is_atom=True, truncated=len(items) > max_entries)


def _json_metadata(document: dict[str, object]) -> RawEntry:
    """Return the feed's own title, link, language and authors."""
    texts = {
        "title": document.get("title"),
        "link": document.get("home_page_url"),
        "language": document.get("language"),
    }
    metadata = RawEntry(texts={field: text for field, value in texts.items() if (text := _text(value))})
    metadata.authors = _json_authors(document)
    return metadata


def _json_entry(item: dict[str, object]) -> RawEntry:
    entry = RawEntry()
    for name, field in _JSON_FIELDS.items():
        text = _text(item.get(name))
        if text:
            entry.texts[field] = text
    _add_json_content(entry, item)
    entry.tags = [_text(tag) for tag in _list(item.get("tags"))]
    entry.authors = _json_authors(item)
    for attributes in _json_images(item):
        offer_image(entry, attributes)
    return entry


def _json_authors(item: dict[str, object]) -> list[str]:
    authors = [*_list(item.get("authors")), item.get("author")]
    return [_text(author.get("name")) for author in authors if isinstance(author, dict)]


def _add_json_content(entry: RawEntry, item: dict[str, object]) -> None:
    for name in ("content_html", "content_text"):
        text = _text(item.get(name))
        if text:
            entry.texts["content"] = text
            entry.is_markup["content"] = name == "content_html"
            return


def _json_images(item: dict[str, object]) -> Iterator[dict[str, str]]:
    """Yield attributes of possible images, in the form of an RSS enclosure."""
    for name in ("image", "banner_image"):
        yield {"url": _text(item.get(name)), "type": "image"}
    for attachment in _list(item.get("attachments")):
        if isinstance(attachment, dict):
            yield {"url": _text(attachment.get("url")), "type": _text(attachment.get("mime_type"))}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    """Return a string stripped and a number as a string: some feeds have numeric ids."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


async def parse_with_feedparser(body: bytes, max_entries: int) -> RawFeed:
    """Parse a damaged feed in UTF-8.

    Raise FetchTimeoutError above REPAIR_CPU_SECONDS, NotAFeedError if it is not a feed or the subprocess fails.
    """
    if has_too_many_attributes(body):
        raise NotAFeedError(f"The feed is damaged: a tag has more than {MAX_ATTRIBUTES:,} attributes.")
    try:
        output = await run_in_subprocess(
            "copydesk.ingest.feed.feedparser_worker", body, str(max_entries), cpu_seconds=REPAIR_CPU_SECONDS
        )
    except TimeoutError:
        raise FetchTimeoutError("The feed is damaged, and repairing it took too long.") from None
    feed = msgspec.msgpack.decode(output, type=RawFeed | None) if output else None
    if feed is None:
        raise NotAFeedError("The response is not a feed, or too damaged to parse.")
    return feed


class Feed(Struct, frozen=True):
    """A parsed feed, within limits."""

    title: str
    link: str | None
    """The web page that the feed belongs to."""
    language: str | None
    """A lower-case code such as `en-us`."""
    ttl_seconds: int | None
    """Polling interval that the feed asks for; at most a week."""
    entries: tuple[Entry, ...]
    """In document order; ids are unique."""
    parser: ParserName
    """The parser that read it."""
    truncated: bool = False
    """The document has more than `max_entries` entries; these are the first."""


async def parse_feed(body: bytes, *, charset: str | None, base_url: str, max_entries: int = MAX_ENTRIES) -> Feed:
    """Parse a feed.

    `charset` is that of the HTTP response; relative URLs are resolved against `base_url`, the URL of the response.
    Raise NotAFeedError for anything else, ResponseTooLargeError above 16 MiB, FetchTimeoutError if repairing a
    damaged feed takes too long.
    """
    if len(body) > MAX_BODY_BYTES:
        raise ResponseTooLargeError(f"The feed has {len(body):,} bytes; the limit is {MAX_BODY_BYTES:,}.")
    try:
        if len(body) <= MAX_INLINE_BYTES:
            return parse_strict(body, charset=charset, base_url=base_url, max_entries=max_entries)
        return await asyncio.to_thread(parse_strict, body, charset=charset, base_url=base_url, max_entries=max_entries)
    except StrictParseError:
        text = await asyncio.to_thread(repair_utf8, body.lstrip(), charset)
    return await _parse_damaged(text, base_url, max_entries)


async def _parse_damaged(text: bytes, base_url: str, max_entries: int) -> Feed:
    """Parse a feed that the strict parser refused; `text` is UTF-8 made readable."""
    if _JSON_OBJECT.match(text):
        return await asyncio.to_thread(lambda: _build_feed(parse_json_feed(text, max_entries), base_url, "json"))
    document, in_page = _find_document(text)
    try:
        raw_feed = await parse_with_feedparser(document, max_entries)
    except NotAFeedError as error:
        raise (_web_page_error() if in_page else error) from None
    if in_page and not raw_feed.entries:
        raise _web_page_error()
    return await asyncio.to_thread(_build_feed, raw_feed, base_url, "feedparser")


def parse_strict(body: bytes, *, charset: str | None, base_url: str, max_entries: int = MAX_ENTRIES) -> Feed:
    """Parse a sound feed. Raise StrictParseError if repair may help, else NotAFeedError."""
    text = to_utf8(body.lstrip(), charset)
    if _JSON_OBJECT.match(text):
        return _build_feed(parse_json_feed(text, max_entries), base_url, "json")
    document, in_page = _find_document(text)
    raw_feed = parse_xml_feed(document, max_entries)
    if in_page and not raw_feed.entries:
        raise _web_page_error()
    return _build_feed(raw_feed, base_url, "expat")


def _find_document(text: bytes) -> tuple[bytes, bool]:
    """Return the XML document in `text`, and True if it is inside a web page.

    The root element decides. In front of it, templates leave anything: PHP's notices, another document type, a page
    around the feed. Raise NotAFeedError if there is no XML, or a web page without a feed.
    """
    prolog = _PROLOG.match(text, 0, _ROOT_WITHIN)
    start = prolog.end() if prolog else 0
    matches = _COMMENT_OR_ROOT.finditer(text, start, _ROOT_WITHIN)
    root = next((match for match in matches if match[2]), None)
    if root is None:
        if not text:
            raise NotAFeedError("The response is empty.")
        if _HTML_TAG.search(text, 0, _ROOT_WITHIN):
            raise _web_page_error()
        if not text.startswith(b"<") and not _ENTRY_TAG.search(text):
            raise NotAFeedError("The response is neither XML nor a JSON Feed.")
        return text, False
    in_page = bool(_HTML_TAG.search(text, start, root.start()))
    # Another element may be the root with a damaged name, which feedparser reads as a whole.
    is_preface = in_page or not _ELEMENT.match(text, start)
    document = text[root.start() :] if is_preface else text
    # RSS has no namespace, so that a prefix means nothing.
    if root[1] and root[2].lower() == b"rss":
        document = re.sub(rb"(</?)" + re.escape(root[1]) + b":", rb"\1", document)
    return document, in_page


def _web_page_error() -> NotAFeedError:
    return NotAFeedError(
        "The response is a web page, not a feed.",
        hint="Use the address of the page's feed; it often ends in /feed, /rss or /atom.xml.",
    )


def _build_feed(raw_feed: RawFeed, base_url: str, how: ParserName) -> Feed:
    base = absolute_url(raw_feed.metadata.base_url, base_url) or base_url
    link = entry_url(raw_feed.metadata, base)
    language = normalize_language(raw_feed.metadata.texts.get("language", ""))
    # Without an xml:base of its own, an entry's relative links are resolved against the feed's web page if it names
    # one.
    author = author_names(raw_feed.metadata)
    defaults = FeedDefaults(base_url=link or base, language=language, atom=raw_feed.is_atom, author=author)
    return Feed(
        title=entry_title(raw_feed.metadata, atom=raw_feed.is_atom),
        link=link,
        language=language,
        ttl_seconds=_parse_ttl(raw_feed.metadata.texts.get("ttl", "")),
        entries=_credit_linked_sites(strip_boilerplate(build_entries(raw_feed.entries, defaults)), link or base),
        parser=how,
        truncated=raw_feed.truncated,
    )


def _credit_linked_sites(entries: tuple[Entry, ...], feed_url: str) -> tuple[Entry, ...]:
    """Name the linked site as the publisher of entries without text if the feed links to many sites, as Hacker News.

    An entry with text is the feed's own, wherever it links to.
    """
    if all(entry.publisher or entry.summary or entry.text for entry in entries):
        return entries
    sites = {links.host(entry.url) for entry in entries} - {links.host(feed_url), ""}
    if len(sites) < _MIN_LINKED_SITES:
        return entries
    return tuple(
        entry
        if entry.publisher or entry.summary or entry.text or links.host(entry.url) not in sites
        else replace(entry, publisher=links.host(entry.url))
        for entry in entries
    )


def _parse_ttl(minutes: str) -> int | None:
    """Return RSS's ttl, which is in minutes, in seconds; None if it is not a number."""
    return min(int(minutes) * 60, _MAX_TTL) if minutes.isdecimal() and 0 < len(minutes) < 10 else None
