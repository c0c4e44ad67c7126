"""The sample feeds as plain lists of entries, parsed with the standard library only."""

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from copydesk.sample.server import render

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FILES_BY_SOURCE = {
    "The Lighthouse": "lighthouse.xml",
    "Small Hours": "smallhours.xml",
    "Harbour Notes": "harbour-notes.json",
    "Paper Trail": "papertrail.xml",
    "Field Notes": "fieldnotes.xml",
    "r/harbourdev": "reddit.xml",
    "Hacker News": "hacker-news.json",
    "Google News: open source": "google-news.xml",
    "@quarrystonedb": "x.json",
}
"""Source -> file with its entries."""
_ATOM = "{http://www.w3.org/2005/Atom}"
_CONTENT = "{http://purl.org/rss/1.0/modules/content/}encoded"


class FeedEntry(NamedTuple):
    """An entry as in the file; `published` is None if undated."""

    source: str
    ident: str
    title: str
    url: str
    text: str
    published: datetime | None


def load_all_entries() -> list[FeedEntry]:
    """Return the entries of all sources."""
    return [entry for name in FILES_BY_SOURCE for entry in load_entries(name)]


def load_entries(source: str) -> list[FeedEntry]:
    """Return the entries of one source in file order."""
    name = FILES_BY_SOURCE[source]
    text = render(name, NOW)
    if name.endswith(".json"):
        return [_parse_json(source, entry) for entry in _json_entries(json.loads(text))]
    root = ET.fromstring(text)
    if root.tag == f"{_ATOM}feed":
        return [_parse_atom(source, entry) for entry in root.iter(f"{_ATOM}entry")]
    return [_parse_rss(source, entry) for entry in root.iter("item")]


def _json_entries(answer: Any) -> list[dict[str, Any]]:
    return answer if isinstance(answer, list) else answer.get("items") or answer["posts"]


def _parse_json(source: str, row: dict[str, Any]) -> FeedEntry:
    text = row.get("content_html") or row.get("summary") or row.get("story_text") or row.get("text") or ""
    links = row.get("entities", {}).get("urls", [{}])
    return FeedEntry(
        source,
        row.get("id") or row["objectID"],
        row.get("title") or unescape(row["text"]),
        row.get("url") or links[0].get("expanded_url") or "",
        text,
        datetime.fromisoformat(row.get("date_published") or row["created_at"]),
    )


def _parse_rss(source: str, item: ET.Element) -> FeedEntry:
    published = item.findtext("pubDate")
    return FeedEntry(
        source,
        item.findtext("guid", ""),
        item.findtext("title", ""),
        item.findtext("link", ""),
        item.findtext(_CONTENT) or item.findtext("description", ""),
        parsedate_to_datetime(published) if published else None,
    )


def _parse_atom(source: str, entry: ET.Element) -> FeedEntry:
    content = entry.find(f"{_ATOM}content")
    if content is None:
        content = entry.find(f"{_ATOM}summary")
    link = entry.find(f"{_ATOM}link")
    assert content is not None
    assert link is not None
    text = "".join(content.itertext())
    return FeedEntry(
        source,
        entry.findtext(f"{_ATOM}id", ""),
        unescape(entry.findtext(f"{_ATOM}title", "")),
        _external_link(text) or link.get("href", ""),
        text,
        datetime.fromisoformat(entry.findtext(f"{_ATOM}published", "")),
    )


def _external_link(text: str) -> str:
    """Return the URL of Reddit's `[link]`, "" in any other text."""
    before, found, _ = text.partition('">[link]')
    return unescape(before.rpartition('href="')[2]) if found else ""
