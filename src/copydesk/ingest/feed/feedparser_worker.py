"""Subprocess that runs feedparser.

Started with `python -m`; its arguments are the seconds of processor time and the maximum number of entries. Reads
UTF-8 from standard input and writes a RawFeed in msgpack to standard output.

feedparser repairs what the strict parser refuses, but some input keeps it busy for minutes or fills the memory: it runs
isolated, with tight resource limits.
"""

import io
import re
import sys
import time
from collections.abc import Mapping
from typing import Any

import feedparser
import msgspec

from copydesk.ingest.feed.raw_feed import RawEntry, RawFeed, offer_image
from copydesk.ingest.subprocess_parser import apply_resource_limits, signal_ready

_FIELDS = {
    "id": "ident",
    "link": "link",
    "title": "title",
    "summary": "summary",
    "published": "published",
    "updated": "updated",
    "created": "created",
    "language": "language",
    "comments": "discussion",
    "slash_comments": "comments",
    "thr_total": "comments",
    "feedburner_origlink": "original link",
    "ttl": "ttl",
}
_DATE_FIELDS = ("published", "updated", "created")
_CHARACTER_REFERENCE = re.compile(rb"&#(?:x([0-9a-f]{1,20})|([0-9]{1,20}));", re.IGNORECASE)
_HTML_TYPES = frozenset(["text/html", "application/xhtml+xml"])


def main() -> None:
    """Read a feed from standard input and write the result to standard output."""
    apply_resource_limits()
    signal_ready()
    sys.stdout.buffer.write(msgspec.msgpack.encode(parse(sys.stdin.buffer.read(), int(sys.argv[2]))))


def parse(body: bytes, max_entries: int) -> RawFeed | None:
    """Parse `body` with feedparser; return None if it is not a feed."""
    # Wrapped in BytesIO: feedparser would take plain bytes for a URL or the name of a file to open.
    # Sanitizing HTML and resolving links is left to `entries`, which does both in linear time.
    parsed = feedparser.parse(
        io.BytesIO(_CHARACTER_REFERENCE.sub(_valid_reference, body)),
        response_headers={"content-type": "application/xml; charset=utf-8"},
        sanitize_html=False,
        resolve_relative_uris=False,
    )
    if not parsed.entries and (not parsed.version or _is_damaged(parsed)):
        return None
    metadata = _entry(parsed.feed)
    if parsed.version.startswith("rss"):
        # Mostly the managing editor, whom feedparser also calls an author.
        metadata.authors = []
    return RawFeed(
        metadata=metadata,
        entries=[_entry(entry) for entry in parsed.entries[:max_entries]],
        is_atom=True,  # feedparser reports what is HTML, as Atom does
        truncated=len(parsed.entries) > max_entries,
    )


def _valid_reference(match: re.Match[bytes]) -> bytes:
    """Return the character reference, empty if there is no such character: feedparser fails at it."""
    code = int(match[1], 16) if match[1] else int(match[2])
    return match[0] if code <= sys.maxunicode and not 0xD800 <= code < 0xE000 else b""


def _is_damaged(parsed: Mapping[str, Any]) -> bool:
    """Return True if feedparser met an error other than a wrong encoding or content type."""
    harmless = (feedparser.CharacterEncodingOverride, feedparser.NonXMLContentType)
    return bool(parsed["bozo"]) and not isinstance(parsed.get("bozo_exception"), harmless)


def _entry(parsed: Mapping[str, Any]) -> RawEntry:
    keys = parsed.keys()  # `in` on the dictionary itself would also match keys that feedparser derives from others
    entry = RawEntry(
        texts={field: text for name, field in _FIELDS.items() if name in keys and (text := _text(parsed[name]))},
        tags=[_text(tag.get("label") or tag.get("term")) for tag in _mappings(parsed.get("tags"))],
        authors=[_text(person.get("name") or person.get("email")) for person in _mappings(parsed.get("authors"))],
    )
    # feedparser has already used an id that is a permalink as the link.
    entry.texts["opaque"] = "yes"
    for field in _DATE_FIELDS:
        if field in entry.texts and parsed.get(f"{field}_parsed"):
            entry.texts[field] = time.strftime("%Y-%m-%dT%H:%M:%SZ", parsed[f"{field}_parsed"])
    for field in ("title", "summary"):
        details = _mappings([parsed.get(f"{field}_detail")])
        entry.is_markup[field] = any(detail.get("type") in _HTML_TYPES for detail in details)
    _add_content(entry, parsed)
    for source in _mappings([parsed.get("source")]):
        if source.get("title"):
            entry.texts["publisher"] = _text(source["title"])
    for name in ("media_content", "media_thumbnail"):
        for attributes in _mappings(parsed.get(name)):
            offer_image(entry, dict(attributes))
    for link in _mappings(parsed.get("links")):
        _add_link(entry, {name: _text(value) for name, value in link.items()})
    return entry


def _add_link(entry: RawEntry, link: dict[str, str]) -> None:
    if link.get("rel") == "enclosure" and not offer_image(entry, link):
        entry.texts.setdefault("enclosure", link.get("href", ""))
    elif link.get("rel") == "replies" and link.get("type") in _HTML_TYPES:
        entry.texts.setdefault("discussion", link.get("href", ""))


def _add_content(entry: RawEntry, parsed: Mapping[str, Any]) -> None:
    """Add the longest content. feedparser copies the first one to a missing summary; that copy is removed."""
    contents = [content for content in _mappings(parsed.get("content")) if content.get("value")]
    if not contents:
        return
    content = max(contents, key=lambda content: len(content["value"]))
    entry.texts["content"] = _text(content["value"])
    entry.is_markup["content"] = content.get("type") in _HTML_TYPES
    if any(entry.texts.get("summary") == _text(content["value"]) for content in contents):
        del entry.texts["summary"]


def _mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the mappings in a list. An unknown element in a damaged feed may leave text in their place."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _text(value: object) -> str:
    """Return a string that can be encoded as UTF-8; empty for anything else."""
    return value.strip().encode("utf-8", "replace").decode() if isinstance(value, str) else ""


if __name__ == "__main__":
    main()
