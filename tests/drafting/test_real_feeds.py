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

from copydesk.drafting.checks import check, confidence, subject_of
from copydesk.drafting.extract.passages import passages
from copydesk.drafting.extractive import OfflineWriter
from copydesk.drafting.writer import Brief, Field
from copydesk.errors import WriterError
from copydesk.model.draft import Format, Severity
from copydesk.text.length import length
from copydesk.text.links import masked
from copydesk.text.thread import split_parts
from drafting_briefs import FEEDS, assert_traced

NEWEST = 5
BLOCKS = frozenset("p div li ul ol h1 h2 h3 h4 h5 h6 blockquote pre table tr section article figure br hr".split())  # noqa: SIM905
SILENT = frozenset(["script", "style", "iframe"])
JUNK = re.compile(
    r"appeared first on|read more|continue reading|seguir leyendo|photo by|image credit|getty images|subscribe\b"
    r"|newsletter|→|\(hidden\)|&amp;|&#|<p>|</",
    re.IGNORECASE,
)


class Plain(HTMLParser):
    """Extracts a page's text, with a blank line between blocks."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.silent += tag in SILENT
        if tag in BLOCKS:
            self.out.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in SILENT
        if tag in BLOCKS:
            self.out.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self.silent <= 0:
            self.out.append(re.sub(r"\s+", " ", data))


def plain(markup: str) -> str:
    parser = Plain()
    parser.feed(markup)
    parser.close()
    blocks = (" ".join(block.split()) for block in re.split(r"\n\s*\n", "".join(parser.out)))
    return "\n\n".join(block for block in blocks if block)


def moment(stamp: struct_time | None) -> datetime | None:
    return datetime(*stamp[:6], tzinfo=UTC) if stamp else None


def briefs(path: Path, format: Format) -> Iterator[Brief]:
    import feedparser

    feed = feedparser.parse(BytesIO(path.read_bytes()))
    newest = sorted(feed.entries, key=lambda entry: entry.get("published_parsed") or (0,), reverse=True)
    for entry in newest[:NEWEST]:
        yield Brief(
            item_id=entry.get("id") or entry.link,
            format=format,
            title=plain(entry.title),
            url=entry.link,
            summary=plain(entry.get("summary", "")),
            text=max((plain(content.value) for content in entry.get("content", [])), key=len, default=""),
            language=feed.feed.get("language"),
            source_name=plain(feed.feed.title),
            author=entry.get("author"),
            published=moment(entry.get("published_parsed")),
            tags=tuple(tag.term for tag in entry.get("tags", []) if tag.term),
        )


def feeds() -> list[Path]:
    return sorted(FEEDS.glob("*.xml"))


pytestmark = pytest.mark.skipif(not feeds(), reason="the real feeds are not beside the checkout")


@pytest.mark.parametrize("format", Format)
@pytest.mark.parametrize("path", feeds(), ids=lambda path: path.stem)
def test_drafts_are_within_limits_and_without_errors(path: Path, format: Format) -> None:
    for brief in briefs(path, format):
        try:
            draft = asyncio.run(OfflineWriter().write(brief))
        except WriterError:
            assert format is not Format.SHORT
            assert len(passages(brief.summary, Field.SUMMARY) + passages(brief.text, Field.TEXT)) <= 1
            continue
        assert_traced(draft, brief)
        assert not JUNK.search(masked(draft.text))
        assert "utm_" not in draft.text
        assert not re.search(r"(?:…|\.\.\.)[”’\"]?$", draft.text, re.MULTILINE)
        checks = check(draft.text, subject_of(brief))
        assert not [finding for finding in checks.findings if finding.severity is Severity.ERROR]
        assert confidence(checks) > 0.5
        for part in split_parts(draft.text) if format is not Format.BLOG else ():
            assert length(part, "x") <= 280
            assert length(part, "bluesky") <= 300
