"""Tests for damaged feeds and wrong encoding labels.

feedparser repairs them; the strict parser refuses to guess.
"""

import codecs
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from copydesk.errors import NotAFeedError
from copydesk.ingest.encoding import to_utf8
from copydesk.ingest.feed import feedparser_worker
from copydesk.ingest.feed.expat_parser import parse_xml_feed
from copydesk.ingest.feed.raw_feed import RawFeed, StrictParseError
from feed_fixtures import ATOM, RDF, parse_sample, rss

DAMAGED = """<!-- c --><rss version="2.0"><channel><title>Broken & co</title><link>http://a.example/</link>
<item><title>A &nbsp; B & C</title><link>http://a.example/1?x=1&y=2</link><guid>same</guid>
<pubDate>Tue, 17 Nov 2026 09:30:00 GMT</pubDate><description><p>Raw <b>markup</p></description></item>
<item><title>D</title><link>http://a.example/2</link><guid>same</guid>"""


def test_damaged_feed_is_repaired_by_feedparser() -> None:
    feed = parse_sample(DAMAGED)
    assert (feed.parser, feed.title) == ("feedparser", "Broken & co")
    first, second = feed.entries
    assert (first.title, first.url) == ("A B & C", "http://a.example/1?x=1&y=2")
    assert (first.summary, first.ident) == ("Raw markup", "same http://a.example/1?x=1&y=2")
    assert first.published is not None
    assert (second.title, second.ident) == ("D", "same http://a.example/2")


def test_damaged_atom_feed_loses_nothing() -> None:
    feed = parse_sample(ATOM.replace("</feed>", ""))
    sound, repaired = parse_sample(ATOM).entries[0], feed.entries[0]
    assert feed.parser == "feedparser"
    assert (repaired.title, repaired.url, repaired.author) == (sound.title, sound.url, sound.author)
    assert (repaired.summary, repaired.text, repaired.tags) == (sound.summary, sound.text, sound.tags)
    assert repaired.published == sound.published


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        (rss("<title>é – “x”</title>").encode(), None),
        (b"\xef\xbb\xbf" + rss("<title>é – “x”</title>").encode(), "iso-8859-1"),
        (rss("<title>é – “x”</title>").encode("utf-16"), None),
        (rss("<title>é – “x”</title>", declaration="").encode("utf-16-le"), None),
        (rss("<title>é – “x”</title>", declaration="").encode("cp1252"), "windows-1252"),
        (rss("<title>é – “x”</title>", declaration="").encode("cp1252"), "ISO-8859-1"),
        (rss("<title>é – “x”</title>", declaration='<?xml version="1.0" encoding="latin1"?>').encode("cp1252"), None),
        (rss("<title>é – “x”</title>").encode(), "iso-8859-1"),
        (rss("<title>é – “x”</title>").encode(), "no-such-charset"),
        (rss("<title>é – “x”</title>").encode(), "zlib_codec"),
        (rss("<title>é – “x”</title>").encode("cp1252"), None),
        (rss("<title>é – “x”</title>").encode("cp1252"), "utf-8"),
    ],
    ids=[
        "utf-8",
        "mark before charset",
        "utf-16 with mark",
        "utf-16 without",
        "charset",
        "latin-1 means 1252",
        "declaration",
        "a server's latin-1 over a declared utf-8",
        "unknown",
        "no character set",
        "1252 under a utf-8 declaration",
        "1252 under a utf-8 charset",
    ],
)
def test_all_encodings_are_decoded(body: bytes, charset: str | None) -> None:
    assert parse_sample(body, charset=charset).entries[0].title == "é – “x”"


TWO_ENTRIES = rss("<title>é – “x”</title>", "<title>two</title>")
UNDECLARED = TWO_ENTRIES.partition("?>")[2]
NOTICE = "Notice: Undefined variable $feed in /var/www/feed.php on line 3\n"


@pytest.mark.parametrize(
    "document",
    [
        NOTICE + TWO_ENTRIES,
        f"<br />\n<b>Notice</b>: Undefined index <b>x</b><br />\n{TWO_ENTRIES}",
        f"\0\0{TWO_ENTRIES}",
        f"<!DOCTYPE html>\n{UNDECLARED}",
        f'<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "xhtml1.dtd">{UNDECLARED}',
        f"<!-- <html><feed> -->{UNDECLARED}",
        f"<!DOCTYPE html><html><body>{UNDECLARED}</body></html>",
        f"<html><head><meta charset='utf-8'></head>{TWO_ENTRIES}",
    ],
    ids=["text", "markup", "nul", "doctype", "public doctype", "comment", "page around it", "page before it"],
)
def test_root_is_found_behind_anything(document: str) -> None:
    assert [entry.title for entry in parse_sample(document).entries] == ["é – “x”", "two"]


def test_declared_encoding_is_found_behind_a_notice() -> None:
    body = rss("<title>Привет</title>", declaration='<?xml version="1.0" encoding="koi8-r"?>').encode("koi8-r")
    assert parse_sample(NOTICE.encode() + body).entries[0].title == "Привет"


@pytest.mark.parametrize(
    "page",
    [
        "<!DOCTYPE html><html><body><p>hello</p></body></html>",
        "<html><!-- <rdf:RDF xmlns:rdf='x'><item/></rdf:RDF> --><body>a blog with trackbacks</body></html>",
        "<html><body><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'></rdf:RDF></body></html>",
        "<html><body><feed class=timeline></feed></body></html>",
    ],
)
def test_page_is_not_taken_for_a_feed(page: str) -> None:
    with pytest.raises(NotAFeedError, match="web page"):
        parse_sample(page)


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF16_LE, "utf-8"),
        (codecs.BOM_UTF16_BE, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-8"),
        (codecs.BOM_UTF8 * 2, "utf-8"),
        (codecs.BOM_UTF8, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-le"),
        (codecs.BOM_UTF16_LE, "utf-32-le"),
        (b"", "utf-32-be"),
    ],
)
def test_bytes_win_over_a_contradicting_mark(mark: bytes, encoding: str) -> None:
    assert parse_sample(mark + UNDECLARED.encode(encoding)).entries[0].title == "é – “x”"


@pytest.mark.parametrize("declaration", ["", 'xmlns:rss="http://backend.userland.com/rss2"', 'xmlns:rss="urn:other"'])
def test_prefix_of_rss_is_ignored(declaration: str) -> None:
    feed = f"""<rss:rss version="2.0" {declaration}><rss:channel><rss:title>Site</rss:title><rss:item>
    <rss:title>One</rss:title><rss:link>https://a.example/1</rss:link></rss:item></rss:channel></rss:rss>"""
    parsed = parse_sample(feed)
    assert (parsed.title, parsed.parser) == ("Site", "expat")
    assert [(entry.title, entry.url) for entry in parsed.entries] == [("One", "https://a.example/1")]


def test_channel_title_may_be_dublin_core() -> None:
    assert (
        parse_sample(rss("<title>T</title>").replace("<title>Site</title>", "<dc:title>Dub</dc:title>")).title == "Dub"
    )


@pytest.mark.parametrize(
    "element",
    [
        "<fullitem>&lt;p&gt;the &lt;b&gt;full&lt;/b&gt; text&lt;/p&gt;</fullitem>",
        '<body xmlns="http://www.w3.org/1999/xhtml"><p>the <b>full</b> text</p></body>',
        '<xhtml:body xmlns:xhtml="http://www.w3.org/1999/xhtml"><xhtml:p>the full text</xhtml:p></xhtml:body>',
    ],
)
def test_old_content_elements_are_read(element: str) -> None:
    feed = parse_sample(rss(f"<title>T</title><description>short</description>{element}"))
    assert (feed.parser, feed.entries[0].summary, feed.entries[0].text) == ("expat", "short", "the full text")


@pytest.mark.parametrize(
    "document",
    [
        rss("<title>one</title>").replace("</channel>", "<ITEM><title>two</title></ITEM></channel>"),
        rss("<title>one</title>").replace("</channel>", "<a><b><item><title>two</title></item></b></a></channel>"),
        rss("<title>one</title><item><title>two</title></item>"),
        rss("<title>one</title><a><item><title>two</title></item></a>"),
    ],
    ids=["spelling", "depth", "entry in an entry", "deeper in an entry"],
)
def test_misplaced_entry_is_left_to_feedparser(document: str) -> None:
    """It would be missing without notice."""
    feed = parse_sample(document)
    assert feed.parser == "feedparser"
    assert [entry.title for entry in feed.entries] == ["one", "two"]


def test_utf_8_is_detected_despite_latin_1_label() -> None:
    assert parse_sample(rss("<title>café</title>", declaration=""), charset="iso-8859-1").entries[0].title == "café"
    latin = '<?xml version="1.0" encoding="ISO-8859-1"?>'
    assert parse_sample(rss("<title>café</title>", declaration=latin)).entries[0].title == "café"


def test_broken_byte_costs_one_letter() -> None:
    body = rss("<title>naïve café ünd</title>").encode().replace("ï".encode(), b"\xef")
    feed = parse_sample(body)
    assert (feed.parser, feed.entries[0].title) == ("feedparser", "naïve café ünd")


def test_non_permalink_guid_is_not_a_link() -> None:
    first, second = parse_sample(
        rss(
            '<title>A & B</title><guid isPermaLink="false">https://a.example/1</guid>',
            "<guid>https://a.example/2</guid><pubDate>2004년 5월 28일 오후 11:31:15</pubDate>",
        )
    ).entries
    assert (first.url, second.url) == (None, "https://a.example/2")


@pytest.mark.parametrize("charset", ["gb2312", "shift_jis", "koi8-r", "euc-kr", "big5"])
def test_world_charsets_are_decoded(charset: str) -> None:
    title = {"gb2312": "新闻", "shift_jis": "ニュース", "koi8-r": "Новости", "euc-kr": "뉴스", "big5": "新聞"}[charset]
    body = rss(f"<title>{title}</title>", declaration=f'<?xml version="1.0" encoding="{charset}"?>').encode(charset)
    assert parse_sample(body).entries[0].title == title


@pytest.mark.parametrize(
    "doubtful",
    [
        rss("<title>A & B</title>"),
        rss("<title>A</title>").replace("</channel>", ""),
        rss("<title>A</title>") + "x",
        rss("<title>&unheardof;</title>"),
        rss("<link>https://a.example/<b>1</b></link>"),
        rss("<title>A</title>").replace("rss", "other"),
        rss("<x>" * 200 + "</x>" * 200),
        ATOM.replace('type="xhtml"', 'type="image/png"'),
        rss('<title mode="base64">QQ==</title>'),
    ],
)
def test_strict_parser_refuses_ambiguous_input(doubtful: str) -> None:
    with pytest.raises(StrictParseError):
        parse_xml_feed(to_utf8(doubtful.encode(), None), 100)


VALID_RSS = rss(
    "<title>Why &amp;amp; how</title><link>https://site.example/1</link><guid isPermaLink='false'>one</guid>"
    "<pubDate>Tue, 17 Nov 2026 09:30:00 +0100</pubDate><author>ada@site.test (Ada)</author><category>a</category>"
    "<description>&lt;p&gt;Short.&lt;/p&gt;</description><content:encoded>&lt;p&gt;Long.&lt;/p&gt;</content:encoded>"
    "<comments>https://site.example/1#talk</comments><slash:comments>3</slash:comments>"
    "<source url='https://paper.example'>The Paper</source>"
    "<media:thumbnail url='/s.jpg' width='100'/><media:content url='/l.jpg' medium='image' width='900'/>",
    "<guid>https://site.example/2</guid><description>plain</description><enclosure url='/e.png' type='image/png'/>",
    head="<language>en</language><ttl>30</ttl>",
)


@pytest.mark.parametrize("feed", [VALID_RSS, ATOM, RDF], ids=["rss", "atom", "rdf"])
def test_feedparser_agrees_with_strict_parser(feed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def parse_in_process(body: bytes, most: int) -> RawFeed:
        found = feedparser_worker.parse(body, most)
        assert found is not None
        return found

    def refuse(_body: bytes, _most: int) -> RawFeed:
        raise StrictParseError("for the test")

    strict = parse_sample(feed)
    monkeypatch.setattr("copydesk.ingest.feed.parse.parse_with_feedparser", parse_in_process)
    monkeypatch.setattr("copydesk.ingest.feed.parse.parse_xml_feed", refuse)
    loose = parse_sample(feed)
    assert (strict.parser, loose.parser) == ("expat", "feedparser")
    assert replace(loose, parser="expat") == strict


def test_feedparser_is_not_loaded_in_main_process() -> None:
    code = "import sys, copydesk.ingest.feed.parse; print('feedparser' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_process_finds_package_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "feedparser.py").write_text("raise SystemExit(3)")
    assert parse_sample(DAMAGED).parser == "feedparser"
