"""Web pages as articles: metadata from the head, the text by trafilatura in a subprocess.

If trafilatura finds nothing or times out, the head is all there is.
"""

import asyncio
import re
from datetime import datetime

from copydesk.errors import (
    FetchError,
    FetchTimeoutError,
    GoneError,
    LoginRequiredError,
    NotAnArticleError,
    PageNotFoundError,
    RateLimitedError,
    ResponseStatusError,
    ResponseTooLargeError,
    UnreachableError,
)
from copydesk.ingest.article.head import parse_head
from copydesk.ingest.encoding import repair_utf8, to_utf8
from copydesk.ingest.entries import MAX_SUMMARY, MAX_TEXT, MAX_TITLE
from copydesk.ingest.feed.raw_feed import StrictParseError
from copydesk.ingest.fetch_context import HttpClient
from copydesk.ingest.html_to_text import clean_text, html_to_text, single_line
from copydesk.ingest.subprocess_parser import run_in_subprocess
from copydesk.model.serialization import Struct
from copydesk.network.response import Response

__all__ = [
    "MAX_SUMMARY",
    "MAX_TEXT",
    "MAX_TITLE",
    "READ_TIMEOUT",
    "Article",
    "parse_article",
    "read_article",
]

MAX_PAGE_BYTES = 4 * 1024 * 1024
"""Bytes that are read; the average page has 170 kB."""

_HTML_TYPES = frozenset(["text/html", "application/xhtml+xml"])
_TEXT_TYPES = frozenset(["text/plain", "text/markdown", "text/x-markdown"])
_GENERIC_TYPES = frozenset([None, "application/octet-stream", "binary/octet-stream", "application/xml", "text/xml"])
"""Media types that do not tell the format."""
# Checked before the media type: servers send PDFs and images as text/html too.
_FILE_SIGNATURES = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"PK\x03\x04", "an archive or an office document"),
    (b"\x1f\x8b", "an archive"),
)
_TYPE_NAMES = {"image": "an image", "video": "a video", "audio": "an audio file", "font": "a font"}
_HTML_TAG = re.compile(rb"<(?:!doctype\s+html|html|head|body|meta|title|article|main|div|h1|p)\b", re.IGNORECASE)
_SNIFFED_BYTES = 2_000
_META_CHARSET = re.compile(rb"<meta\b[^<>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE)

READ_TIMEOUT = 45.0
"""Seconds for one page from request to article, including the wait for other requests to the same host."""
EXTRACTION_CPU_SECONDS = 3.0
"""Processor time for trafilatura on one page. Real pages take 0.01 to 0.1 s, hostile ones minutes."""
ACCEPT_HEADER = "text/html, application/xhtml+xml, text/plain;q=0.8, text/markdown;q=0.8, */*;q=0.1"

_RETRY_HINT = "Try again later, or paste the text."
_HINTS: dict[type[FetchError], str] = {
    ResponseStatusError: _RETRY_HINT,
    GoneError: "Find another address of the page, or paste the text.",
    PageNotFoundError: "Check the address of the page.",
    LoginRequiredError: "Only public pages can be read; paste the text.",
    RateLimitedError: _RETRY_HINT,
    ResponseTooLargeError: "Paste the text.",
    FetchTimeoutError: _RETRY_HINT,
    UnreachableError: "Check the address and your internet connection, or paste the text.",
}
"""Hints for pages that cannot be read. The client's own hints assume a source that is polled again."""


def is_html(body: bytes, content_type: str | None) -> bool:
    """Return True for HTML, False for plain text. Raise NotAnArticleError for everything else.

    `content_type` is the media type without parameters, in lower case. A generic one is resolved by the first bytes.
    """
    for signature, name in _FILE_SIGNATURES:
        if body.startswith(signature):
            raise _not_a_page_error(name)
    if content_type in _HTML_TYPES:
        return True
    if content_type in _TEXT_TYPES:
        return False
    if content_type in _GENERIC_TYPES and _HTML_TAG.search(body[:_SNIFFED_BYTES]):
        return True
    raise _not_a_page_error(_describe_type(content_type))


def decode_page(body: bytes, charset: str | None) -> str:
    """Decode `body`, whatever it holds. The HTTP `charset` takes precedence over the page's own.

    If that fails, decode as UTF-8, with invalid bytes taken as Windows-1252.
    """
    body = body[:MAX_PAGE_BYTES]
    encoding = charset or _meta_charset(body)
    try:
        return to_utf8(body, encoding).decode()
    except (StrictParseError, UnicodeError):
        return repair_utf8(body, encoding).decode()


def _meta_charset(body: bytes) -> str | None:
    """Return the encoding in a `<meta>` element.

    It cannot be UTF-16 or UTF-32: then the element would not be readable as ASCII.
    """
    match = _META_CHARSET.search(body[:_SNIFFED_BYTES])
    name = match[1].decode("ascii", "replace") if match else None
    return None if name and name.lower().startswith(("utf-16", "utf-32")) else name


def _describe_type(content_type: str | None) -> str:
    if content_type is None:
        return "a file of unknown type"
    if content_type == "application/pdf":
        return "a PDF document"
    return _TYPE_NAMES.get(content_type.partition("/")[0]) or content_type


def _not_a_page_error(name: str) -> NotAnArticleError:
    return NotAnArticleError(
        f"This address leads to {name}, not to a web page.",
        hint="Use the address of a web page, or paste the text.",
    )


class Article(Struct, frozen=True):
    """An article: plain text without control characters, within the limits of an `Entry`."""

    url: str
    """The canonical URL if the page declares an acceptable one, else the URL that responded."""
    title: str = ""
    """On one line; empty if the page has none."""
    summary: str = ""
    """The page's own description, on one line."""
    text: str = ""
    """Paragraphs separated by blank lines. Empty if only the head has content or the extraction timed out."""
    author: str | None = None
    published: datetime | None = None
    """UTC; None if missing or impossible."""
    image: str | None = None
    """An http(s) URL; not fetched or checked further."""
    image_alt: str | None = None
    """Alternative text for `image`, on one line."""
    language: str | None = None
    """A lower-case code such as `en-us`."""
    publisher: str | None = None
    """The name of the site."""


async def read_article(http: HttpClient, url: str, *, timeout_seconds: float = READ_TIMEOUT) -> Article:
    """Fetch `url` through the guarded client and return its article.

    Raise a FetchError whose class tells the cause, NotAnArticleError if the response is not a page with text.
    """
    try:
        async with asyncio.timeout(timeout_seconds):
            response = await _fetch_page(http, url)
            extracted = await _extract_text(response.body, response.content_type, response.charset)
            # Parsing a large page takes long enough to stall the event loop.
            return await asyncio.to_thread(
                parse_article,
                response.body,
                response.content_type,
                response.url,
                charset=response.charset,
                extracted_html=extracted,
            )
    except TimeoutError:
        raise FetchTimeoutError(
            f"The page was not read within {timeout_seconds:g} seconds.", hint=_RETRY_HINT
        ) from None


async def _fetch_page(http: HttpClient, url: str) -> Response:
    try:
        return await http.get(url, accept=ACCEPT_HEADER)
    except FetchError as error:
        error.hint = _HINTS.get(type(error), error.hint)
        raise


def parse_article(
    body: bytes, content_type: str | None, url: str, *, charset: str | None = None, extracted_html: str = ""
) -> Article:
    """Parse `body`, the response from `url`. Pure.

    `content_type` is the media type without parameters, `charset` its parameter; `extracted_html` is trafilatura's
    HTML, if any. Raise NotAnArticleError if it is not a page with text.
    """
    is_html_page = is_html(body, content_type)
    page = decode_page(body, charset)
    article = _article_from_html(page, url, extracted_html) if is_html_page else _article_from_text(page, url)
    if not (article.title or article.summary or article.text):
        raise NotAnArticleError("No text found on this page.", hint="It may need scripts in a browser; paste the text.")
    return article


def _article_from_html(page: str, url: str, extracted: str) -> Article:
    head = parse_head(page, url)
    return Article(
        url=head.url or url,
        title=head.title,
        summary=head.summary,
        text=_without_title(html_to_text(extracted, MAX_TEXT), head.title),
        author=head.author,
        published=head.published,
        image=head.image,
        image_alt=head.image_alt,
        language=head.language,
        publisher=head.publisher,
    )


def _article_from_text(page: str, url: str) -> Article:
    """Return the article of a plain text page. A leading Markdown heading becomes its title; line breaks stay."""
    text = clean_text(page, MAX_TEXT)
    first_line, _, rest = text.partition("\n")
    has_heading = first_line.startswith("# ")
    return Article(
        url=url,
        title=single_line(first_line[2:], MAX_TITLE) if has_heading else "",
        text=rest.lstrip() if has_heading else text,
    )


def _without_title(text: str, title: str) -> str:
    """Return `text` without its first paragraph if that repeats the title."""
    first_paragraph, _, rest = text.partition("\n\n")
    return rest if title and rest and first_paragraph.casefold() == title.casefold() else text


async def _extract_text(body: bytes, content_type: str | None, charset: str | None) -> str:
    """Return the article HTML found by trafilatura; empty if it finds none, fails or times out."""
    if not is_html(body, content_type):
        return ""
    # Decoded here because only this side knows the HTTP charset: the subprocess always reads UTF-8.
    page = await asyncio.to_thread(decode_page, body, charset)
    try:
        output = await run_in_subprocess(
            "copydesk.ingest.article.trafilatura_worker",
            page.encode("utf-8", "replace"),
            cpu_seconds=EXTRACTION_CPU_SECONDS,
        )
    except TimeoutError:
        return ""
    return output.decode("utf-8", "replace")
