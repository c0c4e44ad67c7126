"""Web pages as articles: metadata from the head, the text by trafilatura.

trafilatura is in the extra `article`. If it is not installed, finds nothing or times out, the text is the longest run
of paragraphs; `Article.reader` says which extractor was used.
"""

import asyncio
from datetime import datetime
from importlib.util import find_spec
from typing import Literal

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
from copydesk.ingest.answer import Response
from copydesk.ingest.apart import run_in_subprocess
from copydesk.ingest.entry import MAX_SUMMARY, MAX_TEXT, MAX_TITLE
from copydesk.ingest.head import parse_head
from copydesk.ingest.page import decode_page, is_html
from copydesk.ingest.paragraphs import longest_paragraph_run
from copydesk.ingest.plaintext import clean_text, html_to_text, single_line
from copydesk.ingest.visit import HttpClient
from copydesk.model.wire import Struct

__all__ = [
    "MAX_SUMMARY",
    "MAX_TEXT",
    "MAX_TITLE",
    "READ_TIMEOUT",
    "Article",
    "TextExtractor",
    "parse_article",
    "read_article",
]

READ_TIMEOUT = 45.0
"""Seconds for one page from request to article, including the wait for other requests to the same host."""
EXTRACTION_TIMEOUT = 5.0
"""Seconds for trafilatura on one page. Real pages take 0.01 to 0.1."""
ACCEPT_HEADER = "text/html, application/xhtml+xml, text/plain;q=0.8, text/markdown;q=0.8, */*;q=0.1"

_RETRY_HINT = "Try again later, or give the text itself."
_HINTS: dict[type[FetchError], str] = {
    ResponseStatusError: _RETRY_HINT,
    GoneError: "Look for another address of the page, or give the text itself.",
    PageNotFoundError: "Check the address of the page.",
    LoginRequiredError: "Only pages that everybody may read can be read; give the text itself.",
    RateLimitedError: _RETRY_HINT,
    ResponseTooLargeError: "Give the text itself.",
    FetchTimeoutError: _RETRY_HINT,
    UnreachableError: "Check the address of the page and the connection to the internet, or give the text itself.",
}
"""What the user can do about a page that cannot be read. The client's hints assume a source that is polled again."""

TextExtractor = Literal["trafilatura", "paragraphs", "plain"]
"""What produced the text: trafilatura, the paragraph rule, or none because the page is plain text."""


class Article(Struct, frozen=True):
    """An article: plain text without control characters, within the limits of an `Entry`."""

    url: str
    """The canonical URL if the page declares an acceptable one, else the URL that responded."""
    reader: TextExtractor
    title: str = ""
    """On one line; empty if the page has none."""
    summary: str = ""
    """The page's own description, on one line."""
    text: str = ""
    """Paragraphs separated by blank lines. Empty if only the head has content."""
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


async def read_article(http: HttpClient, url: str, *, timeout: float = READ_TIMEOUT) -> Article:
    """Fetch `url` through the guarded client and return its article. `timeout` is in seconds.

    Raise a FetchError whose class tells the cause, NotAnArticleError if the response is not a page with text.
    """
    try:
        async with asyncio.timeout(timeout):
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
        raise FetchTimeoutError(f"The page was not read within {timeout:g} seconds.", hint=_RETRY_HINT) from None


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

    `content_type` is the media type without parameters, `charset` its parameter; `extracted` is trafilatura's HTML, if
    any. Raise NotAnArticleError if it is not a page with text.
    """
    is_html_page = is_html(body, content_type)
    page = decode_page(body, charset)
    article = _article_from_html(page, url, extracted_html) if is_html_page else _article_from_text(page, url)
    if not (article.title or article.summary or article.text):
        raise NotAnArticleError(
            "There is no text on this page.", hint="It may be made by scripts in a browser; give the text itself."
        )
    return article


def _article_from_html(page: str, url: str, extracted: str) -> Article:
    head = parse_head(page, url)
    extracted_text = html_to_text(extracted, MAX_TEXT)
    text = extracted_text or longest_paragraph_run(page, MAX_TEXT)
    return Article(
        url=head.url or url,
        reader="trafilatura" if extracted_text else "paragraphs",
        title=head.title,
        summary=head.summary,
        text=_without_title(text, head.title),
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
        reader="plain",
        title=single_line(first_line[2:], MAX_TITLE) if has_heading else "",
        text=rest.lstrip() if has_heading else text,
    )


def _without_title(text: str, title: str) -> str:
    """Return `text` without its first paragraph if that repeats the title."""
    first_paragraph, _, rest = text.partition("\n\n")
    return rest if title and rest and first_paragraph.casefold() == title.casefold() else text


async def _extract_text(body: bytes, content_type: str | None, charset: str | None) -> str:
    """Return the article HTML found by trafilatura; empty if it is not installed, fails or times out."""
    if not is_html(body, content_type) or find_spec("trafilatura") is None:
        return ""
    # Decoded here because only this side knows the HTTP charset: the subprocess always reads UTF-8.
    page = await asyncio.to_thread(decode_page, body, charset)
    try:
        output = await run_in_subprocess(
            "copydesk.ingest.articleparser", page.encode("utf-8", "replace"), timeout=EXTRACTION_TIMEOUT
        )
    except TimeoutError:
        return ""
    return output.decode("utf-8", "replace")
