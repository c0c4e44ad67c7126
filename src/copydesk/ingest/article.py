"""Web pages as articles: metadata from the head, the text by trafilatura.

trafilatura is in the extra `article`. If it is not installed, finds nothing or times out, the text is the longest run
of paragraphs; `Article.reader` says which extractor was used.
"""

import asyncio
from datetime import datetime
from importlib.util import find_spec
from typing import Literal

from copydesk.errors import (
    AnswerError,
    FetchError,
    GoneError,
    MissingError,
    NeedsLoginError,
    NotAnArticleError,
    ThrottledError,
    TooLargeError,
    TooSlowError,
    UnreachableError,
)
from copydesk.ingest.answer import Answer
from copydesk.ingest.apart import ask
from copydesk.ingest.entry import MAX_SUMMARY, MAX_TEXT, MAX_TITLE
from copydesk.ingest.head import read_head
from copydesk.ingest.page import is_html, text_of
from copydesk.ingest.paragraphs import longest_run
from copydesk.ingest.plaintext import plain_line, plain_lines, plain_text
from copydesk.ingest.visit import Http
from copydesk.model.wire import Struct

__all__ = ["DEADLINE", "MAX_SUMMARY", "MAX_TEXT", "MAX_TITLE", "Article", "TextReader", "article_of", "read_article"]

DEADLINE = 45.0
"""Seconds for one page from request to article, including the wait for other requests to the same host."""
EXTRACTION = 5.0
"""Seconds for trafilatura on one page. Real pages take 0.01 to 0.1."""
ACCEPT = "text/html, application/xhtml+xml, text/plain;q=0.8, text/markdown;q=0.8, */*;q=0.1"

_RETRY_HINT = "Try again later, or give the text itself."
_HINTS: dict[type[FetchError], str] = {
    AnswerError: _RETRY_HINT,
    GoneError: "Look for another address of the page, or give the text itself.",
    MissingError: "Check the address of the page.",
    NeedsLoginError: "Only pages that everybody may read can be read; give the text itself.",
    ThrottledError: _RETRY_HINT,
    TooLargeError: "Give the text itself.",
    TooSlowError: _RETRY_HINT,
    UnreachableError: "Check the address of the page and the connection to the internet, or give the text itself.",
}
"""What the user can do about a page that cannot be read. The client's hints assume a source that is polled again."""

TextReader = Literal["trafilatura", "paragraphs", "plain"]
"""What produced the text: trafilatura, the paragraph rule, or none because the page is plain text."""


class Article(Struct, frozen=True):
    """An article: plain text without control characters, within the limits of an `Entry`."""

    url: str
    """The canonical URL if the page declares an acceptable one, else the URL that responded."""
    reader: TextReader
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


async def read_article(http: Http, url: str, *, deadline: float = DEADLINE) -> Article:
    """Fetch `url` through the guarded client and return its article. `timeout` is in seconds.

    Raise a FetchError whose class tells the cause, NotAnArticleError if the response is not a page with text.
    """
    try:
        async with asyncio.timeout(deadline):
            response = await _fetch_page(http, url)
            extracted = await _extract_text(response.body, response.content_type, response.charset)
            # Parsing a large page takes long enough to stall the event loop.
            return await asyncio.to_thread(
                article_of,
                response.body,
                response.content_type,
                response.url,
                charset=response.charset,
                extracted=extracted,
            )
    except TimeoutError:
        raise TooSlowError(f"The page was not read within {deadline:g} seconds.", hint=_RETRY_HINT) from None


async def _fetch_page(http: Http, url: str) -> Answer:
    try:
        return await http.get(url, accept=ACCEPT)
    except FetchError as error:
        error.hint = _HINTS.get(type(error), error.hint)
        raise


def article_of(
    body: bytes, content_type: str | None, url: str, *, charset: str | None = None, extracted: str = ""
) -> Article:
    """Parse `body`, the response from `url`. Pure.

    `content_type` is the media type without parameters, `charset` its parameter; `extracted` is trafilatura's HTML, if
    any. Raise NotAnArticleError if it is not a page with text.
    """
    is_html_page = is_html(body, content_type)
    page = text_of(body, charset)
    article = _article_from_html(page, url, extracted) if is_html_page else _article_from_text(page, url)
    if not (article.title or article.summary or article.text):
        raise NotAnArticleError(
            "There is no text on this page.", hint="It may be made by scripts in a browser; give the text itself."
        )
    return article


def _article_from_html(page: str, url: str, extracted: str) -> Article:
    head = read_head(page, url)
    extracted_text = plain_text(extracted, MAX_TEXT)
    text = extracted_text or longest_run(page, MAX_TEXT)
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
    text = plain_lines(page, MAX_TEXT)
    first_line, _, rest = text.partition("\n")
    has_heading = first_line.startswith("# ")
    return Article(
        url=url,
        reader="plain",
        title=plain_line(first_line[2:], MAX_TITLE) if has_heading else "",
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
    page = await asyncio.to_thread(text_of, body, charset)
    try:
        output = await ask("copydesk.ingest.articleparser", page.encode("utf-8", "replace"), seconds=EXTRACTION)
    except TimeoutError:
        return ""
    return output.decode("utf-8", "replace")
