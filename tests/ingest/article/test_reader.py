"""Tests for extracting articles from web pages."""

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.errors import (
    FetchError,
    FetchTimeoutError,
    NotAnArticleError,
    PageNotFoundError,
    PrivateAddressError,
    ResponseTooLargeError,
)
from copydesk.ingest.article import reader as article_module
from copydesk.ingest.article.reader import (
    MAX_PAGE_BYTES,
    MAX_SUMMARY,
    MAX_TEXT,
    MAX_TITLE,
    Article,
    parse_article,
    read_article,
)
from copydesk.ingest.article.reader import decode_page as page_text
from copydesk.ingest.article.trafilatura_worker import extract_article
from copydesk.ingest.entries import MAX_NAME
from copydesk.ingest.subprocess_parser import run_in_subprocess
from copydesk.ingest.urls import MAX_URL_LENGTH
from copydesk.network.fetcher import Fetcher
from cost_growth import assert_linear
from feed_server import FeedServer
from fetcher_fixtures import make_fetcher
from sampling import EXHAUSTIVE, sample_size

URL = "https://site.example/2026/ferry"
HTML = "text/html"
FIRST = "The council of Zürich voted on Monday to open a new ferry line to the island, which carries 40 people a day."
SECOND = (
    "Because the old bridge was closed in March, people had to drive for an hour to reach the town on the far side."
)
THIRD = "The first boat leaves on Friday morning at eight from the old harbour, and the mayor will be on board."
STORY = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A ferry opens | Site</title>
<meta property="og:site_name" content="Site"><meta property="og:image" content="/ferry.jpg">
<meta name="description" content="It carries 40 people."><meta name="author" content="Lin Kim">
<meta property="article:published_time" content="2026-11-20T08:00:00Z"><link rel="canonical" href="/2026/ferry"></head>
<body><nav><ul><li><a href="/">Home</a></li><li><a href="/about">About</a></li></ul><p>Menu of the site</p></nav>
<article><h1>A ferry opens</h1><p class="lead">{FIRST}</p><aside><p>Buy our newspaper now</p></aside>
<!-- <p>No comment</p> --><p>{SECOND}<script>var p = "<p>no code</p>"</script></p><p>{THIRD}</p></article>
<footer><p>Copyright 2026, all rights reserved by the Site and its owners, wherever they are.</p></footer>
</body></html>"""


@pytest.fixture
def fake_trafilatura(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Return a function that installs a fake trafilatura, given the body of its `extract(page, **options)`."""

    def install(body: str) -> None:
        (tmp_path / "trafilatura.py").write_text(f"import os, time\ndef extract(page, **options):\n    {body}\n")
        monkeypatch.syspath_prepend(tmp_path)

    return install


def extract_text(html: str) -> str:
    """Return the text of a page, extracted without a subprocess."""
    page = page_text(html.encode(), None)
    return parse_article(html.encode(), HTML, URL, extracted_html=extract_article(page)).text


async def fetch_article(body: bytes | str, content_type: str = "text/html; charset=utf-8") -> Article:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/ferry", body, content_type=content_type)
        return await read_article(fetcher, server.url("/ferry"))


# The text


async def test_complete_article_is_read() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.serve("/ferry?utm_source=x", STORY.replace("/2026/ferry", "/ferry"), content_type=HTML)
        article = await read_article(fetcher, server.url("/ferry?utm_source=x"))
        assert server.requests_for("/ferry")[0].headers["accept-encoding"] == "gzip, deflate"
    assert article == Article(
        url=server.url("/ferry"),
        title="A ferry opens",
        summary="It carries 40 people.",
        text=f"{FIRST}\n\n{SECOND}\n\n{THIRD}",
        author="Lin Kim",
        published=datetime(2026, 11, 20, 8, 0, tzinfo=UTC),
        image=server.url("/ferry.jpg"),
        language="en",
        publisher="Site",
    )


def test_text_follows_teaser_of_another_story() -> None:
    teaser = "<article><p>A short teaser of another story.</p></article>"
    text = extract_text(f"{teaser}<article><p>{FIRST}<p>{SECOND}</article>{teaser}")
    assert text == f"A short teaser of another story.\n\n{FIRST}\n\n{SECOND}"


def test_paragraphs_need_no_article_element() -> None:
    assert extract_text(f"<body><div><p>{FIRST}<p>{SECOND}</div>") == f"{FIRST}\n\n{SECOND}"


@pytest.mark.parametrize("start", ["", "<p>", "<title>Z</title><p>", "<!-- a comment longer than fifty characters -->"])
def test_page_needs_no_html_tag(start: str) -> None:
    assert extract_text(f"{start}{FIRST}") == FIRST


def test_lists_of_links_are_skipped() -> None:
    links = "<ul>" + "<li><a href='/x'>Read this other story too</a></li>" * 5 + "</ul>"
    assert extract_text(f"<main><p>{FIRST}</p>{links}<p>{SECOND}</p></main>") == f"{FIRST}\n\n{SECOND}"


def test_unclosed_nav_does_not_hide_article() -> None:
    assert extract_text(f"<nav><p>Home</p><article><p>{FIRST}</p><p>Yes.</p></article>") == f"{FIRST} Yes."


def test_page_without_paragraphs_has_text() -> None:
    text = extract_text(f"<body>Home<br><br><font>{FIRST}<br><br>{SECOND}</font><br><br>Top")
    assert FIRST in text
    assert SECOND in text


def test_title_is_not_repeated_in_text() -> None:
    assert extract_text(f"<title>A Ferry</title><p>A ferry</p><p>{FIRST}</p>") == FIRST
    assert extract_text("<title>A Ferry</title><p>A ferry</p>") == "A ferry"


async def test_latin_1_page_is_read() -> None:
    body = STORY.replace('<meta charset="utf-8">', '<meta charset="iso-8859-1">').encode("latin-1")
    assert FIRST in (await fetch_article(body, HTML)).text


# The subprocess


def test_trafilatura_is_not_loaded_in_main_process() -> None:
    code = "import sys, copydesk.ingest.article.reader; print({'trafilatura', 'lxml'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


async def test_hostile_page_leaves_the_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(article_module, "EXTRACTION_CPU_SECONDS", 0.2)
    article = await fetch_article(f"<title>A ferry</title><p>{FIRST}" + "<p>x" * 100_000)
    assert (article.title, article.text) == ("A ferry", "")


async def test_process_output_is_sanitized(fake_trafilatura) -> None:
    fake_trafilatura(
        "return '<h2>Why</h2><p>One &amp; \\x1b[31m[red]\\u202etwo</p><script>no</script><p>' + 'x' * 500_000"
    )
    article = await fetch_article(STORY)
    assert article.text.startswith("Why\n\nOne & [red]two\n\nxxx")
    assert len(article.text) == MAX_TEXT


async def test_process_receives_decoded_page(fake_trafilatura) -> None:
    fake_trafilatura("return '<p>' + page.partition('<b>')[2] + str(sorted(options.items()))")
    article = await fetch_article("<b>Zürich".encode("latin-1"), "text/html; charset=latin-1")
    assert article.text.startswith("Zürich[('fast', True), ('include_comments', False), ('include_tables', False)")


@pytest.mark.parametrize(
    "body",
    [
        "return None",
        "return ''",
        "return '<p> '",
        "raise ValueError",
        "os._exit(os.write(1, b'<p>half'))",
        "return page * 2**30",
        "1/0",
    ],
)
async def test_failing_trafilatura_leaves_the_head(fake_trafilatura, body: str) -> None:
    fake_trafilatura(body)
    article = await fetch_article(STORY)
    assert (article.title, article.text) == ("A ferry opens", "")


async def test_failing_trafilatura_on_page_without_head_is_an_error(fake_trafilatura) -> None:
    fake_trafilatura("raise ValueError")
    with pytest.raises(NotAnArticleError, match="No text found on this page"):
        await fetch_article(f"<p>{FIRST}")


async def test_broken_trafilatura_leaves_the_head(fake_trafilatura, tmp_path: Path) -> None:
    """The module is installed, but importing it fails."""
    fake_trafilatura("return ''")
    (tmp_path / "trafilatura.py").write_text("import a_part_that_was_not_installed")
    article = await fetch_article(STORY)
    assert (article.title, article.text) == ("A ferry opens", "")


async def test_process_is_killed_at_deadline(fake_trafilatura, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(article_module, "EXTRACTION_CPU_SECONDS", 0.1)
    pids: list[int] = []
    create = asyncio.create_subprocess_exec

    async def record_pid(*arguments, **options):
        process = await create(*arguments, **options)
        pids.append(process.pid)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", record_pid)
    fake_trafilatura("time.sleep(60)")
    assert (await fetch_article(STORY)).text == ""
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


async def test_process_has_no_secrets_and_few_files(fake_trafilatura, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDESK_SECRET", "hunter2")
    fake_trafilatura("return '<p>' + ' '.join([*sorted(os.environ), str(__import__('resource').getrlimit(8 - 1))])")
    article = await fetch_article(STORY)
    assert "COPYDESK_SECRET" not in article.text
    assert "(16, 16)" in article.text


async def test_parser_without_output_returns_nothing() -> None:
    assert await run_in_subprocess("copydesk.ingest.there_is_no_such_parser", b"x", cpu_seconds=1) == b""


# Not a page


@pytest.mark.parametrize(
    ("content_type", "body", "description"),
    [
        ("application/pdf", b"%PDF-1.7", "a PDF document"),
        ("application/pdf", b"", "a PDF document"),
        ("text/html", b"%PDF-1.7", "a PDF document"),
        ("image/png", b"x", "an image"),
        ("text/html", b"\x89PNG\r\n", "an image"),
        ("video/mp4", b"x", "a video"),
        ("application/json", b'{"a": "<p>"}', "application/json"),
        ("application/zip", b"PK\x03\x04", "an archive"),
        ("application/rss+xml", b"<rss>", "application/rss"),
        ("text/xml", b"<rss><channel>", "text/xml"),
        (None, b"", "a file of unknown type"),
        (None, b"just words", "a file of unknown type"),
    ],
)
def test_non_page_is_refused_with_its_type(content_type: str | None, body: bytes, description: str) -> None:
    with pytest.raises(NotAnArticleError, match=f"leads to {description}") as refused:
        parse_article(body, content_type, URL)
    assert "Use the address of a web page" in str(refused.value)
    assert isinstance(refused.value, FetchError)


@pytest.mark.parametrize("content_type", [None, "application/octet-stream", "text/xml", "application/xhtml+xml"])
def test_page_is_detected_without_content_type(content_type: str | None) -> None:
    body = f'<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html><p>{FIRST}</p></html>'.encode()
    assert parse_article(body, content_type, URL, extracted_html=extract_article(body.decode())).text == FIRST


@pytest.mark.parametrize("body", [b"", b"<html></html>", b"<div id=app></div><script>run()</script>", b"\0" * 1000])
def test_page_without_text_is_refused(body: bytes) -> None:
    with pytest.raises(NotAnArticleError, match="No text found on this page"):
        parse_article(body, HTML, URL)


def test_page_with_head_only_is_accepted() -> None:
    article = parse_article(b"<title>A ferry</title><meta name=description content='It opens.'>", HTML, URL)
    assert (article.title, article.summary, article.text) == ("A ferry", "It opens.", "")


# Plain text and charsets


@pytest.mark.parametrize("content_type", ["text/plain", "text/markdown", "text/x-markdown"])
def test_plain_text_is_used_as_is(content_type: str) -> None:
    article = parse_article(b"# A <b> ferry\n\nOne\ntwo &amp; <p>\n\nthree\x1b[2J", content_type, URL)
    assert article == Article(url=URL, title="A <b> ferry", text="One\ntwo &amp; <p>\n\nthree")


def test_plain_text_without_heading_has_no_title() -> None:
    assert parse_article(b"One\n\ntwo", "text/plain", URL) == Article(url=URL, text="One\n\ntwo")


@pytest.mark.parametrize(
    ("charset", "meta", "encoding"),
    [
        ("iso-8859-1", "", "latin-1"),
        (None, "<meta charset=iso-8859-1>", "latin-1"),
        (None, "<meta http-equiv='Content-Type' content='text/html; charset=windows-1252'>", "cp1252"),
        (None, "", "latin-1"),
        ("iso-8859-1", "<meta charset=utf-8>", "utf-8"),
        ("nonsense", "<meta charset=zip>", "utf-8"),
        (None, "<meta charset=utf-16>", "utf-8"),
        (None, "", "utf-16"),
        ("shift_jis", "", "utf-8-sig"),
    ],
)
def test_charset_is_detected(charset: str | None, meta: str, encoding: str) -> None:
    body = f"<html><head>{meta}<title>Zürich</title></head><p>{FIRST}".encode(encoding)
    assert FIRST in page_text(body, charset)
    assert parse_article(body, HTML, URL, charset=charset).title == "Zürich"


def test_charset_from_meta_is_used() -> None:
    body = "<meta charset=shift_jis><title>新しい船</title>".encode("shift_jis")
    assert parse_article(body, HTML, URL).title == "新しい船"


def test_long_page_is_truncated() -> None:
    assert len(page_text(b"x" * (MAX_PAGE_BYTES + 5), None)) == MAX_PAGE_BYTES


# Over the network


async def test_compressed_and_redirected_page_is_read() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.redirect("/short", "/2026/ferry?a=1")
        server.serve("/2026/ferry", STORY.replace("href", "ref"), content_type=HTML, gzip=True)
        article = await read_article(fetcher, server.url("/short"))
        assert (article.url, article.title) == (server.url("/2026/ferry?a=1"), "A ferry opens")
        server.fail("/gone", 404)
        with pytest.raises(PageNotFoundError):
            await read_article(fetcher, server.url("/gone"))
        server.serve_bomb("/bomb", size=2**25)
        with pytest.raises(ResponseTooLargeError):
            await read_article(fetcher, server.url("/bomb"))


async def test_local_address_is_refused() -> None:
    async with FeedServer() as server, Fetcher(clock=lambda: datetime.now(UTC)) as fetcher:
        server.serve("/", STORY, content_type=HTML)
        with pytest.raises(PrivateAddressError, match="is not a public address"):
            await read_article(fetcher, server.url("/"))
        assert server.connections == 0


@pytest.mark.parametrize("target", ["http://127.0.0.1:1/", "http://169.254.169.254/latest", "http://[::1]/"])
async def test_redirect_to_private_address_is_refused(target: str) -> None:
    """A custom transport stands in for a public site and redirects; the second hop meets the real guard."""
    guarded = Fetcher(clock=lambda: pytest.fail("nothing is to be answered"))

    class Public(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.host == "public.example":
                return httpx.Response(302, headers={"Location": target})
            return await guarded._transport.handle_async_request(request)

    async with guarded, make_fetcher(transport=Public()) as fetcher:
        with pytest.raises(PrivateAddressError, match="is not a public address"):
            await read_article(fetcher, "https://public.example/")


@pytest.mark.parametrize(
    "url", ["", "javascript:alert(1)", "file:///etc/passwd", "https://lin:secret@site.example/", "x"]
)
async def test_invalid_url_is_refused(url: str) -> None:
    async with make_fetcher() as fetcher:
        with pytest.raises(PrivateAddressError):
            await read_article(fetcher, url)


async def test_slow_page_is_given_up_at_deadline() -> None:
    async with FeedServer() as server, make_fetcher() as fetcher:
        server.drip("/", interval=0.05)
        with pytest.raises(FetchTimeoutError, match=r"within 0\.2 seconds"):
            await read_article(fetcher, server.url("/"), timeout_seconds=0.2)


# Any input


def assert_bounded_and_safe(article: Article) -> None:
    """Assert that no field exceeds its limit or contains terminal controls."""
    caps = [
        (article.title, MAX_TITLE),
        (article.summary, MAX_SUMMARY),
        (article.author, MAX_NAME),
        (article.publisher, MAX_NAME),
    ]
    for line, limit in caps:
        assert line is None or (len(line) <= limit and "\n" not in line)
    assert len(article.text) <= MAX_TEXT
    all_text = "".join((article.title, article.summary, article.author or "", article.publisher or "", article.text))
    all_text.encode()  # fails on lone surrogates
    assert not set(all_text) & set("\x00\x07\x08\x1b\x7f\x9b\u200b\u202e\u2066\r\t")
    for address in (article.url, article.image):
        assert address is None or (address.startswith(("http://", "https://")) and len(address) <= MAX_URL_LENGTH)


FRAGMENTS = [
    "<p>",
    "</p>",
    "<article>",
    "<nav>",
    "<title>",
    "<a href=x>",
    "<!--",
    "-->",
    "<script>",
    "</script>",
    "<br>",
]
FRAGMENTS += [
    "&#27;",
    "&#x202e;",
    "&#xd800;",
    "\x1b[31m",
    "[red]",
    "\u202e",
    "\x9b2J",
    "<meta property=og:title content='",
]
FRAGMENTS += [
    "'>",
    "<link rel=canonical href=",
    "http://[",
    "<pre>",
    "# ",
    "words of a story " * 8,
    "\ud83d",
    "\r",
    "\0",
]
BODIES = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=40).map(
    lambda parts: "".join(parts).encode("utf-8", "surrogatepass")
)
TYPES = st.sampled_from([HTML, "text/plain", "text/markdown", None, "text/xml", "image/png", "application/json"])
CHARSETS = st.sampled_from([None, "utf-8", "latin-1", "utf-16", "utf-7", "shift_jis", "zip", "hz", "nonsense", "\0"])


@given(st.binary(max_size=300) | BODIES, TYPES, CHARSETS, st.just("") | st.text(max_size=50))
@settings(max_examples=sample_size(300))
def test_any_bytes_become_article_or_fetch_error(
    body: bytes, content_type: str | None, charset: str | None, extracted: str
) -> None:
    try:
        article = parse_article(body, content_type, URL, charset=charset, extracted_html=extracted)
    except FetchError:
        return
    assert_bounded_and_safe(article)


@pytest.mark.parametrize(
    "hostile",
    [
        *("<div>", "<p>", "<p>x", "<b>x", "<table><tr><td>x", "<ul><li>", "<article><p>", "<a href=x>y", "<nav>", "<"),
        *("<!--", "<p><!--x-->", "<script>", "<svg>", "<p ", "<p '", "<p a=1 ", "<br>", "&nbsp;", "\x1b]", "\u0301"),
        *("<pre>x</pre>", "<div\n", "<p>&amp;&lt;", "x", " ", "</p>", "</nav>", "<p><a>", "\udcff", "<title>x", "\0"),
    ],
)
def test_hostile_pages_take_linear_time(hostile: str) -> None:
    def body(size: int) -> bytes:
        page = f"<title>A ferry</title><p>{FIRST}</p>" + hostile * (size // len(hostile))
        return page.encode("utf-8", "surrogateescape")

    assert_bounded_and_safe(parse_article(body(MAX_PAGE_BYTES), HTML, URL))
    for size in (MAX_PAGE_BYTES // 16, MAX_PAGE_BYTES) if EXHAUSTIVE else (MAX_PAGE_BYTES // 16,):
        assert_linear(body, lambda html: parse_article(html, HTML, URL), size)


async def test_ten_megabytes_of_nested_tags_are_read() -> None:
    article = await fetch_article(f"<title>A ferry</title><p>{FIRST}" + "<div>" * 2_000_000)
    assert article.title == "A ferry"
