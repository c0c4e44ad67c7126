"""feedparser, in a process of its own: `python -m copydesk.ingest.looseparser MOST`, UTF-8 in, RawFeed out.

It repairs what the strict parser refuses, but some input makes it run for minutes or fill the memory, so it has no
part in the main process and no more than it needs in this one.
"""

import io
import sys
import time
from collections.abc import Mapping
from typing import Any

import feedparser
import msgspec

from copydesk.ingest.apart import limit, say_ready
from copydesk.ingest.picture import offer
from copydesk.ingest.raw import RawEntry, RawFeed

_TEXTS = {
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
_DATES = ("published", "updated", "created")
_MARKUP = frozenset(["text/html", "application/xhtml+xml"])


def main() -> None:
    """Say that we are ready, read the feed, answer on standard output; an exit status other than 0 is an answer too."""
    limit()
    say_ready()
    sys.stdout.buffer.write(msgspec.msgpack.encode(parse(sys.stdin.buffer.read(), int(sys.argv[1]))))


def parse(body: bytes, most: int) -> RawFeed | None:
    """What feedparser makes of `body`; None if that is no feed."""
    # On bytes themselves, feedparser would open the file of that name.
    found = feedparser.parse(
        io.BytesIO(body),
        response_headers={"content-type": "application/xml; charset=utf-8"},
        sanitize_html=False,
        resolve_relative_uris=False,
    )
    if not found.entries and (not found.version or _is_damaged(found)):
        return None
    return RawFeed(
        about=_entry(found.feed),
        entries=[_entry(entry) for entry in found.entries[:most]],
        atom=True,  # feedparser has decided what is HTML and what is not
        more=len(found.entries) > most,
    )


def _is_damaged(found: Mapping[str, Any]) -> bool:
    harmless = (feedparser.CharacterEncodingOverride, feedparser.NonXMLContentType)
    return bool(found["bozo"]) and not isinstance(found.get("bozo_exception"), harmless)


def _entry(given: Mapping[str, Any]) -> RawEntry:
    there = given.keys()  # asked itself, feedparser's dictionary makes up what is not there
    entry = RawEntry(
        texts={field: text for name, field in _TEXTS.items() if name in there and (text := _text(given[name]))},
        tags=[_text(tag.get("label") or tag.get("term")) for tag in given.get("tags", ())],
        authors=[_text(person.get("name") or person.get("email")) for person in given.get("authors", ()) if person],
    )
    # Where the id is an address that may be followed, feedparser has made it the link.
    entry.texts["opaque"] = "yes"
    for field in _DATES:
        if field in entry.texts and given[f"{field}_parsed"]:
            entry.texts[field] = time.strftime("%Y-%m-%dT%H:%M:%SZ", given[f"{field}_parsed"])
    for field in ("title", "summary"):
        entry.is_markup[field] = given.get(f"{field}_detail", {}).get("type") in _MARKUP
    _add_content(entry, given)
    source = given.get("source", {})
    if source.get("title"):
        entry.texts["publisher"] = _text(source["title"])
    for attributes in (*given.get("media_content", ()), *given.get("media_thumbnail", ())):
        offer(entry, dict(attributes))
    for link in given.get("links", ()):
        _add_link(entry, {name: _text(value) for name, value in link.items()})
    return entry


def _add_link(entry: RawEntry, link: dict[str, str]) -> None:
    if link.get("rel") == "enclosure" and not offer(entry, link):
        entry.texts.setdefault("enclosure", link.get("href", ""))
    elif link.get("rel") == "replies" and link.get("type") in _MARKUP:
        entry.texts.setdefault("discussion", link.get("href", ""))


def _add_content(entry: RawEntry, given: Mapping[str, Any]) -> None:
    """The longest of the contents; feedparser takes the first for the summary where there is none."""
    contents = [content for content in given.get("content", ()) if content.get("value")]
    if not contents:
        return
    content = max(contents, key=lambda content: len(content["value"]))
    entry.texts["content"] = _text(content["value"])
    entry.is_markup["content"] = content.get("type") in _MARKUP
    if any(entry.texts.get("summary") == _text(content["value"]) for content in contents):
        del entry.texts["summary"]


def _text(value: object) -> str:
    """`value` as text that can be sent."""
    return value.strip().encode("utf-8", "replace").decode() if isinstance(value, str) else ""


if __name__ == "__main__":
    main()
