"""Read, write and import OPML, the format in which feed readers exchange subscription lists.

On import each feed becomes a source after a test fetch has shown that it can be read.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from enum import StrEnum
from urllib.parse import SplitResult, urlsplit
from xml.sax.saxutils import quoteattr

import msgspec

from copydesk.desk.sources import preview_fetch
from copydesk.errors import CopydeskError, FieldError, InvalidError
from copydesk.ingest.encoding import to_utf8
from copydesk.ingest.feed.raw_feed import StrictParseError
from copydesk.ingest.registry import SOURCE_TYPES, guess_source_type
from copydesk.ingest.subprocess_parser import run_in_subprocess
from copydesk.model.serialization import Struct, to_json
from copydesk.model.source import Source, SourceConfig
from copydesk.text.html_tags import iter_tags

MAX_BYTES = 10 * 1024 * 1024
MAX_FEEDS = 10_000
PARSE_CPU_SECONDS = 10.0
"""Processor time for one list. One of 10,000 feeds takes 0.2 s."""
MAX_CONCURRENT_FEEDS = 8
"""Feeds tested at the same time."""
Identity = tuple[object, ...]
_ENTITY_DECLARATION = re.compile(r"<!ENTITY", re.IGNORECASE)
_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]")


class Outline(Struct, frozen=True):
    """A feed in an OPML file."""

    name: str
    url: str
    type: str
    config: SourceConfig | None = None
    is_named_by_user: bool = False
    """True if Copydesk exported it with a name that the user had given. Other readers do not say who gave the title."""

    @property
    def given_name(self) -> str:
        """The name if the user gave it, otherwise empty."""
        return self.name if self.is_named_by_user else ""


CreateSource = Callable[[Outline], Awaitable[object]]


async def parse_opml(body: bytes) -> tuple[Outline, ...]:
    """Return the feeds of an OPML file in file order, each that would be the same source once, at most `MAX_FEEDS`.

    Files that are not well-formed are read as far as possible. Raise InvalidError if `body` is too large, is cut off,
    is not OPML, or declares entities.
    """
    if len(body) > MAX_BYTES:
        raise InvalidError(FieldError("file", f"is larger than {MAX_BYTES // 2**20} MiB"))
    try:
        document = to_utf8(body, None).decode()
    except (StrictParseError, UnicodeDecodeError):
        raise InvalidError(FieldError("file", "is not OPML: unknown encoding")) from None
    # Entities allow expansion bombs ("billion laughs") and external references.
    if _ENTITY_DECLARATION.search(document):
        raise InvalidError(FieldError("file", "declares XML entities, which are not allowed"))
    found = await _list_feeds(document)
    if found is None:
        raise InvalidError(FieldError("file", "is not OPML"))
    if not any(iter_tags(document, "/opml")):
        raise InvalidError(FieldError("file", "is cut off: the end of the OPML is missing"))
    exported = _read_exported_attributes(document)
    outlines: dict[Identity, Outline] = {}
    for title, url in found[:MAX_FEEDS]:
        for attributes in exported.get(url) or [{"text": title}]:
            outline = _parse_outline(url, attributes)
            # Google News sources share a URL and differ only in their query.
            outlines.setdefault(feed_identity(outline.type, url, outline.config), outline)
    return tuple(outlines.values())[:MAX_FEEDS]


async def _list_feeds(document: str) -> list[tuple[str, str]] | None:
    """Return titles and URLs of the feeds; None if `document` is not OPML or cannot be parsed."""
    try:
        output = await run_in_subprocess(
            "copydesk.ingest.feed.listparser_worker", document.encode(), cpu_seconds=PARSE_CPU_SECONDS
        )
    except TimeoutError:
        raise InvalidError(
            FieldError("file", f"was not read within {PARSE_CPU_SECONDS:g} seconds of processor time")
        ) from None
    return msgspec.json.decode(output, type=list[tuple[str, str]] | None) if output else None


def _read_exported_attributes(document: str) -> dict[str, list[dict[str, str]]]:
    """Return the attributes of the outlines that `format_opml` wrote, by URL; listparser drops unknown attributes."""
    exported: dict[str, list[dict[str, str]]] = {}
    for tag in iter_tags(document, "outline"):
        if "copydesktype" in tag.markup.lower():
            attributes = tag.read_attributes(max_length=MAX_BYTES)
            exported.setdefault(attributes.get("xmlurl", ""), []).append(attributes)
    return exported


def _parse_outline(url: str, attrs: dict[str, str]) -> Outline:
    title = " ".join((attrs.get("title") or attrs.get("text") or "").split())
    name = title or _split_url(url).netloc or url
    declared_type = attrs.get("copydesktype", "")
    source_type = declared_type if declared_type in SOURCE_TYPES else guess_source_type(url).name
    # Source names are limited to 200 characters.
    return Outline(
        name=name[:200],
        url=url,
        type=source_type,
        config=_parse_config(attrs),
        is_named_by_user=bool(title) and attrs.get("copydesknamedbyuser") == "true",
    )


def _split_url(url: str) -> SplitResult:
    """Return the parts of `url`; empty ones if it cannot be parsed. Validation happens when the feed is added."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _parse_config(attrs: dict[str, str]) -> SourceConfig | None:
    try:
        return msgspec.json.decode(attrs["copydeskconfig"], type=SourceConfig) if "copydeskconfig" in attrs else None
    except msgspec.DecodeError:
        return None


def format_opml(sources: Iterable[Source]) -> str:
    """Return the sources as an OPML document.

    What OPML has no attribute for goes into our own (`copydeskType`, `copydeskConfig`, `copydeskNamedByUser`), which
    other readers ignore.
    """
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<opml version="2.0">']
    lines += ["  <head><title>Copydesk sources</title></head>", "  <body>"]
    for source in sources:
        attrs = {"type": "rss", "text": source.name, "xmlUrl": source.url or "", "copydeskType": source.type}
        if source.config:
            attrs["copydeskConfig"] = to_json(source.config)
        if source.named_by_user:
            attrs["copydeskNamedByUser"] = "true"
        lines.append(f"    <outline {' '.join(f'{key}={_quote_attribute(value)}' for key, value in attrs.items())}/>")
    return "\n".join([*lines, "  </body>", "</opml>", ""])


def _quote_attribute(value: str) -> str:
    """Return `value` as a quoted XML attribute, without the characters that XML cannot represent."""
    return quoteattr(_NOT_IN_XML.sub("", value), {"\n": "&#10;", "\t": "&#9;"})


class DuplicateSourceError(InvalidError):
    """It is a source already."""


class Outcome(StrEnum):
    """The outcome of one feed of the list."""

    ADDED = "added"
    DUPLICATE = "known"
    """There is such a source already."""
    FAILED = "failed"


class FeedImportResult(Struct, frozen=True):
    """One feed of the list with its outcome."""

    feed: Outline
    outcome: Outcome
    error: str = ""
    """The error message if it failed."""


async def import_feeds(
    create: CreateSource,
    feeds: Sequence[Outline],
    existing: Collection[Identity],
    on_result: Callable[[FeedImportResult], None],
) -> None:
    """Create a source from every feed that is not among the `existing` ones.

    `on_result` is called with each result as it settles, in any order. If this is cancelled, sources added before stay.
    """
    semaphore = asyncio.Semaphore(MAX_CONCURRENT_FEEDS)

    async def import_one(feed: Outline) -> None:
        async with semaphore:
            on_result(await _import_feed(create, feed, existing))

    async with asyncio.TaskGroup() as group:
        for feed in feeds:
            group.create_task(import_one(feed))


async def _import_feed(create: CreateSource, feed: Outline, existing: Collection[Identity]) -> FeedImportResult:
    config = msgspec.to_builtins(feed.config) if feed.config else None
    try:
        spec = await preview_fetch.validate_source(feed.type, feed.url, config)
        # Before the test fetch: importing the same list twice should not fetch it all again.
        if feed_identity(spec.type, spec.url, spec.config) in existing:
            return FeedImportResult(feed=feed, outcome=Outcome.DUPLICATE)
        await create(feed)
    except DuplicateSourceError:
        # The test fetch of a site may end at a feed that is a source already.
        return FeedImportResult(feed=feed, outcome=Outcome.DUPLICATE)
    except CopydeskError as error:
        return FeedImportResult(feed=feed, outcome=Outcome.FAILED, error=str(error))
    return FeedImportResult(feed=feed, outcome=Outcome.ADDED)


def feed_identity(type: str, url: str | None, config: SourceConfig | None) -> Identity:
    """Return the key by which sources count as the same: a second one would count twice in every story."""
    config = config or SourceConfig()
    return type, url, config.query, tuple(sorted(config.options.items()))
