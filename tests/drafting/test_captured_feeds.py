"""Tests of the offline writer on the five newest entries of each captured feed."""

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from time import struct_time
from typing import Any

import pytest
from msgspec.structs import replace

from copydesk.desk.drafts.check_draft import platforms_of_draft
from copydesk.drafting.checks import build_check_context, check
from copydesk.drafting.offline_writer import OfflineWriter
from copydesk.drafting.writer import Brief, SourceItem
from copydesk.errors import WriterError
from copydesk.model.draft import Format, Severity
from copydesk.model.voice import Voice
from copydesk.posting.registry import PLATFORMS
from copydesk.text.links import mask_links
from copydesk.text.thread import split_parts
from drafting_fixtures import FEEDS, assert_traced

ENTRY_COUNT = 5
BLOCK_TAGS = frozenset("p div li ul ol h1 h2 h3 h4 h5 h6 blockquote pre table tr section article figure br hr".split())  # noqa: SIM905
SKIPPED_TAGS = frozenset(["script", "style", "iframe"])
JUNK = re.compile(
    r"appeared first on|read more|continue reading|seguir leyendo|photo by|image credit|getty images|subscribe\b"
    r"|newsletter|→|\(hidden\)|&amp;|&#|<p>|</",
    re.IGNORECASE,
)


class TextExtractor(HTMLParser):
    """Extracts a page's text, with a blank line between blocks."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.chunks: list[str] = []
        self.silent_depth = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.silent_depth += tag in SKIPPED_TAGS
        if tag in BLOCK_TAGS:
            self.chunks.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        self.silent_depth -= tag in SKIPPED_TAGS
        if tag in BLOCK_TAGS:
            self.chunks.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self.silent_depth <= 0:
            self.chunks.append(re.sub(r"\s+", " ", data))


def html_to_text(markup: str) -> str:
    parser = TextExtractor()
    parser.feed(markup)
    parser.close()
    blocks = (" ".join(block.split()) for block in re.split(r"\n\s*\n", "".join(parser.chunks)))
    return "\n\n".join(block for block in blocks if block)


def parse_time(stamp: struct_time | None) -> datetime | None:
    return datetime(*stamp[:6], tzinfo=UTC) if stamp else None


def briefs(path: Path, format: Format) -> Iterator[Brief]:
    import feedparser

    feed = feedparser.parse(BytesIO(path.read_bytes()))
    newest = sorted(feed.entries, key=lambda entry: entry.get("published_parsed") or (0,), reverse=True)
    for entry in newest[:ENTRY_COUNT]:
        yield Brief(
            item_id=entry.get("id") or entry.link,
            format=format,
            title=html_to_text(entry.title),
            url=entry.link,
            summary=html_to_text(entry.get("summary", "")),
            text=max((html_to_text(content.value) for content in entry.get("content", [])), key=len, default=""),
            language=feed.feed.get("language"),
            source_name=html_to_text(feed.feed.title),
            author=entry.get("author"),
            published=parse_time(entry.get("published_parsed")),
            platforms=platforms_of_draft(format, Voice(), (), PLATFORMS),
            tags=tuple(tag.term for tag in entry.get("tags", []) if tag.term),
        )


def feed_files() -> list[Path]:
    return sorted(FEEDS.glob("*.xml"))


pytestmark = pytest.mark.skipif(not feed_files(), reason="the real feeds are not beside the checkout")


@pytest.mark.parametrize("format", [Format.SHORT, Format.THREAD])
@pytest.mark.parametrize("path", feed_files(), ids=lambda path: path.stem)
def test_drafts_are_within_limits_and_without_errors(path: Path, format: Format) -> None:
    for brief in briefs(path, format):
        try:
            draft = asyncio.run(OfflineWriter().write(brief))
        except WriterError:
            continue
        assert_traced(draft, brief)
        assert not JUNK.search(mask_links(draft.text))
        assert "utm_" not in draft.text
        assert not re.search(r"(?:…|\.\.\.)[”’\"]?$", draft.text, re.MULTILINE)
        checks = check(draft.text, build_check_context(brief))
        assert not [finding for finding in checks.findings if finding.severity is Severity.ERROR]
        for part in split_parts(draft.text):
            assert all(platform.fits(part) for platform in brief.platforms)


def test_roundups_are_without_errors() -> None:
    newest = [next(briefs(path, Format.BLOG)) for path in feed_files()]
    fields = [name for name in SourceItem.__struct_fields__ if name != "id"]
    counts = []
    for start in range(len(newest)):
        lead, *others = newest[start:] + newest[:start]
        items = tuple(
            SourceItem(id=brief.item_id, **{name: getattr(brief, name) for name in fields}) for brief in others
        )
        brief = replace(lead, other_items=items, topic="News")
        try:
            draft = asyncio.run(OfflineWriter().write(brief))
        except WriterError:
            counts.append(0)
            continue
        assert_traced(draft, brief)
        counts.append(draft.text.count("\n> "))
        assert not JUNK.search(mask_links(draft.text))
        checks = check(draft.text, build_check_context(brief))
        assert not [finding for finding in checks.findings if finding.severity is Severity.ERROR]
    assert counts.count(7) > len(newest) / 2
