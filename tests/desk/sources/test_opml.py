"""Tests for importing and exporting OPML."""

import subprocess
import sys
from datetime import UTC, datetime
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copydesk.desk.sources import feed_import
from copydesk.errors import InvalidError
from copydesk.ingest.feed.listparser_worker import list_feeds
from copydesk.model.source import Health, Source, SourceConfig

OPML_FILE = b"""<?xml version="1.0"?><opml version="1.0"><head><title>mine</title></head><body>
<outline text="Blogs"><outline type="rss" text="A &amp; B" title="A &amp; B" xmlUrl="https://a.example/feed"/>
<outline text="letters" xmlUrl="https://letters.substack.com/feed"/></outline>
<outline TYPE="rss" XMLURL="https://a.example/feed" text="again"/>
<outline text="py" xmlUrl="https://www.reddit.com/r/Python/.rss"/></body></opml>"""


@pytest.fixture
def in_process(monkeypatch):
    """Run listparser without a subprocess, which is slow."""

    async def run(module: str, body: bytes, **_: object) -> bytes:
        return list_feeds(body)

    monkeypatch.setattr(feed_import, "run_in_subprocess", run)


def make_source(name: str, url: str, config: SourceConfig | None = None, kind: str = "rss") -> Source:
    now = datetime(2026, 2, 3, tzinfo=UTC)
    return Source(
        id="1", type=kind, name=name, url=url, config=config, enabled=True, last_fetch=None, health=Health.UNKNOWN,
        fail_count=0, last_error=None, created_at=now, updated_at=now, item_count=0,
    )  # fmt: skip


async def test_feeds_are_found_in_folders_once():
    sources = await feed_import.parse_opml(OPML_FILE)
    assert [(candidate.name, candidate.type) for candidate in sources] == [
        ("A & B", "rss"),
        ("letters", "substack"),
        ("py", "reddit"),
    ]


@given(st.text(min_size=1, max_size=200).filter(lambda name: name.strip() == name))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_opml_round_trips(in_process, name):
    kept = (char for char in name if (char >= " " or char in "\t\n") and char not in "\ufffe\uffff")
    normalized = " ".join("".join(kept).split())
    config = SourceConfig(weight=2.5, query='say "hi" & <bye>', include=("a", "/b+/"))
    exported = feed_import.format_opml([make_source(name, "https://a.example/?a=1&b=2", config, "google_news")])
    try:
        body = exported.encode()
    except UnicodeEncodeError:
        return  # a lone surrogate cannot be encoded in a file
    (found,) = await feed_import.parse_opml(body)
    assert found.url == "https://a.example/?a=1&b=2"
    assert found.type == "google_news"
    assert found.config == config
    assert found.name == (normalized or "a.example")[:200]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not xml",
        b"<html><body/></html>",
        b"<opml",
        OPML_FILE[:-8],
        b"\xff\xfe\x00",
        b"/etc/passwd",
        b"https://a.example/list.opml",
        b"\x1f\x8b\x08\x00opml",
    ],
    ids=["empty", "text", "html", "cut in a tag", "cut at the end", "bytes", "a path", "a URL", "compressed"],
)
async def test_invalid_file_is_refused(body):
    with pytest.raises(InvalidError, match="OPML"):
        await feed_import.parse_opml(body)


async def test_invalid_url_does_not_reject_the_file():
    """One such address used to reject the whole file; the caller that adds the feeds rejects it alone."""
    body = OPML_FILE.replace(b"https://letters.substack.com/feed", b"http://[oops/feed").replace(b'"py"', b'""')
    assert [candidate.name for candidate in await feed_import.parse_opml(body)] == [
        "A & B",
        "letters",
        "www.reddit.com",
    ]
    nameless = await feed_import.parse_opml(b'<opml><outline xmlUrl="http://[oops/feed"/></opml>')
    assert [(candidate.name, candidate.url) for candidate in nameless] == [("http://[oops/feed",) * 2]


async def test_multiline_name_becomes_one_line():
    (found,) = await feed_import.parse_opml(
        b'<opml><outline text="River&#10;&#9;News" xmlUrl="https://a.example/feed"/></opml>'
    )
    assert found.name == "River News"


def opml(outlines: str, encoding: str = "utf-8") -> bytes:
    declaration = f'<?xml version="1.0" encoding="{encoding}"?>'
    return f'{declaration}<opml version="2.0"><body>{outlines}</body></opml>'.encode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252", "shift_jis"])
async def test_every_encoding_is_decoded(in_process, encoding):
    name = "新しい" if encoding == "shift_jis" else "Zürich"
    (found,) = await feed_import.parse_opml(opml(f'<outline text="{name}" xmlUrl="https://a.example/"/>', encoding))
    assert found.name == name


async def test_undeclared_encoding_is_utf_8(in_process):
    body = '<opml><outline text="Zürich" xmlUrl="https://a.example/é"/></opml>'.encode()
    assert [(feed.name, feed.url) for feed in await feed_import.parse_opml(body)] == [("Zürich", "https://a.example/é")]


async def test_undecodable_file_is_refused(in_process):
    body = opml('<outline text="Zürich" xmlUrl="https://a.example/"/>').replace(b"\xc3", b"\xff")
    with pytest.raises(InvalidError, match="unknown encoding"):
        await feed_import.parse_opml(body)


async def test_list_that_is_not_well_formed_is_read(in_process):
    """Many readers do not escape the ampersands of URLs, and some forget end tags."""
    body = opml('<outline text=News><outline text="A & B" xmlUrl="https://a.example/?a=1&b=2&copy=3"/>')
    (found,) = await feed_import.parse_opml(body)
    assert (found.name, found.url) == ("A & B", "https://a.example/?a=1&b=2&copy=3")


async def test_exported_sources_may_share_a_url(in_process):
    url, config = "https://news.google.com/rss/search", SourceConfig(include=("a" * 20_000,))
    sources = [
        make_source("One", url, SourceConfig(query="sqlite"), "google_news"),
        make_source("Two", url, SourceConfig(query="postgres"), "google_news"),
        make_source("Three", "https://a.example/feed", config),
        make_source("Four", "https://a.example/feed", SourceConfig(options={"section": "culture"})),
    ]
    found = await feed_import.parse_opml(feed_import.format_opml(sources).encode())
    assert [(feed.name, feed.url, feed.config) for feed in found] == [
        (source.name, source.url, source.config) for source in sources
    ]


def test_exported_list_is_well_formed():
    exported = feed_import.format_opml([make_source("One\ufffe\uffff\x00", "https://a.example/feed")])
    assert [outline.get("text") for outline in fromstring(exported).iter("outline")] == ["One"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "entity",
    ['<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">', '<!entity b SYSTEM "file:///etc/passwd">', "<!ENTITY % b '1'>"],
    ids=["bomb", "external", "parameter"],
)
async def test_entity_declaration_is_refused(entity, encoding):
    body = f'<!DOCTYPE opml [{entity}]><opml><outline text="&b;" xmlUrl="https://a.example/&b;"/></opml>'
    with pytest.raises(InvalidError, match="entities"):
        await feed_import.parse_opml(body.encode(encoding))


def test_parser_expands_no_entities():
    """A second line of defence, behind the refusal of declarations."""
    doctype = b'<!DOCTYPE opml [<!ENTITY b SYSTEM "file:///etc/passwd">]>'
    assert (
        list_feeds(doctype + b'<opml><outline text="&b;" xmlUrl="https://&b;"/></opml>') == b'[["&b;","https://&b;"]]'
    )


@pytest.mark.parametrize(
    ("start", "piece", "count", "end"),
    [
        ("", '<outline text="a">', 400_000, '<outline xmlUrl="https://a.example/"/>' * 1000),
        ('<outline xmlUrl="https://a.example/" category="', "{n},", 80_000, '"/>'),
        ("", '<outline text="a"><outline xmlUrl="https://a.example/{n}"/>', 80_000, ""),
    ],
    ids=["nested folders", "categories", "nested feeds"],
)
async def test_hostile_list_is_given_up(monkeypatch, start, piece, count, end):
    monkeypatch.setattr(feed_import, "PARSE_CPU_SECONDS", 0.3)
    body = opml(start + "".join(piece.replace("{n}", str(number)) for number in range(count)) + end)
    with pytest.raises(InvalidError, match=r"not OPML|not read within"):
        await feed_import.parse_opml(body)


def test_listparser_is_not_loaded_in_main_process():
    code = "import sys, copydesk.desk.sources.feed_import; print({'listparser', 'lxml'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


async def test_oversized_file_is_refused():
    with pytest.raises(InvalidError, match="MiB"):
        await feed_import.parse_opml(b" " * (feed_import.MAX_BYTES + 1))
