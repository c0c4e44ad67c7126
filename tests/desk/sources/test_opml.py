"""Tests for importing and exporting OPML."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.desk.sources import feed_import
from copydesk.errors import InvalidError
from copydesk.model.source import Health, Source, SourceConfig

OPML_FILE = b"""<?xml version="1.0"?><opml version="1.0"><head><title>mine</title></head><body>
<outline text="Blogs"><outline type="rss" text="A &amp; B" title="A &amp; B" xmlUrl="https://a.example/feed"/>
<outline text="letters" xmlUrl="https://letters.substack.com/feed"/></outline>
<outline TYPE="rss" XMLURL="https://a.example/feed" text="again"/>
<outline text="py" xmlUrl="https://www.reddit.com/r/Python/.rss"/></body></opml>"""


def make_source(name: str, url: str, config: SourceConfig | None = None, kind: str = "rss") -> Source:
    now = datetime(2026, 2, 3, tzinfo=UTC)
    return Source(
        id="1", type=kind, name=name, url=url, config=config, enabled=True, last_fetch=None, health=Health.UNKNOWN,
        fail_count=0, last_error=None, created_at=now, updated_at=now, item_count=0,
    )  # fmt: skip


def test_feeds_are_found_in_folders_once():
    sources = feed_import.parse_opml(OPML_FILE)
    assert [(candidate.name, candidate.type) for candidate in sources] == [
        ("A & B", "rss"),
        ("letters", "substack"),
        ("py", "reddit"),
    ]


@given(st.text(min_size=1, max_size=200).filter(lambda name: name.strip() == name))
def test_opml_round_trips(name):
    normalized = " ".join("".join(char for char in name if char >= " " or char in "\t\n").split())
    config = SourceConfig(weight=2.5, query='say "hi" & <bye>', include=("a", "/b+/"))
    exported = feed_import.format_opml([make_source(name, "https://a.example/?a=1&b=2", config, "google_news")])
    try:
        body = exported.encode()
    except UnicodeEncodeError:
        return  # a lone surrogate cannot be encoded in a file
    if any(ord(char) in (0xFFFE, 0xFFFF) for char in name):
        return
    (found,) = feed_import.parse_opml(body)
    assert found.url == "https://a.example/?a=1&b=2"
    assert found.type == "google_news"
    assert found.config == config
    assert found.name == (normalized or "a.example")[:200]


@pytest.mark.parametrize(
    "body",
    [b"", b"not xml", b"<html><body/></html>", b"<opml", b"\xff\xfe\x00", b"/etc/passwd"],
    ids=["empty", "text", "html", "cut", "bytes", "a path"],
)
def test_invalid_file_is_refused(body):
    with pytest.raises(InvalidError, match="OPML"):
        feed_import.parse_opml(body)


def test_invalid_url_does_not_reject_the_file():
    """One such address used to reject the whole file; the caller that adds the feeds rejects it alone."""
    body = OPML_FILE.replace(b"https://letters.substack.com/feed", b"http://[oops/feed").replace(b'"py"', b'""')
    assert [candidate.name for candidate in feed_import.parse_opml(body)] == ["A & B", "letters", "www.reddit.com"]
    nameless = feed_import.parse_opml(b'<opml><outline xmlUrl="http://[oops/feed"/></opml>')
    assert [(candidate.name, candidate.url) for candidate in nameless] == [("http://[oops/feed",) * 2]


def test_multiline_name_becomes_one_line():
    (found,) = feed_import.parse_opml(
        b'<opml><outline text="River&#10;&#9;News" xmlUrl="https://a.example/feed"/></opml>'
    )
    assert found.name == "River News"


def test_entity_bomb_is_refused():
    bomb = b'<!DOCTYPE opml [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><opml><outline text="&b;"/></opml>'
    with pytest.raises(InvalidError, match="entities"):
        feed_import.parse_opml(bomb)


def test_oversized_file_is_refused():
    with pytest.raises(InvalidError, match="MiB"):
        feed_import.parse_opml(b" " * (feed_import.MAX_BYTES + 1))
