"""A web page -> its article: title, picture and the rest from its head, the text by trafilatura.

trafilatura comes with the extra `article`. Where it is not installed, finds nothing or does not come to an end, the
text is the longest run of paragraphs; the article says which of the two it was.
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
"""Seconds for one page, from the question to the article; waiting for one's turn at the host counts."""
EXTRACTION = 5.0
"""Seconds that trafilatura has for one page: it takes 0.01 to 0.1 for real ones."""
ACCEPT = "text/html, application/xhtml+xml, text/plain;q=0.8, text/markdown;q=0.8, */*;q=0.1"

_TRY_AGAIN = "Try again later, or give the text itself."
_HINTS: dict[type[FetchError], str] = {
    AnswerError: _TRY_AGAIN,
    GoneError: "Look for another address of the page, or give the text itself.",
    MissingError: "Check the address of the page.",
    NeedsLoginError: "Only pages that everybody may read can be read; give the text itself.",
    ThrottledError: _TRY_AGAIN,
    TooLargeError: "Give the text itself.",
    TooSlowError: _TRY_AGAIN,
    UnreachableError: "Check the address of the page and the connection to the internet, or give the text itself.",
}
"""What to do about a page that cannot be read. The client's own hints are about sources, which are read again."""

TextReader = Literal["trafilatura", "paragraphs", "plain"]
"""Who found the text: trafilatura, our own simple rule, or nobody because the page is plain text."""


class Article(Struct, frozen=True):
    """What a web page has to say: plain text without control sequences, within the caps of an entry."""

    url: str
    """Where it is in the end: the address that the page names as its own, if that may be, or the one that answered."""
    reader: TextReader
    title: str = ""
    """On one line; empty where the page has none."""
    summary: str = ""
    """As the page describes itself, on one line."""
    text: str = ""
    """Paragraphs are separated by a blank line. Empty where a page says something in its head only."""
    author: str | None = None
    published: datetime | None = None
    """UTC; None where the page gives none or an impossible one."""
    image: str | None = None
    """A web address, not fetched and not checked further."""
    image_alt: str | None = None
    """What the page says that it shows, on one line."""
    language: str | None = None
    """A code in small letters: `en-us`."""
    publisher: str | None = None
    """The name of the site."""


async def read_article(http: Http, url: str, *, deadline: float = DEADLINE) -> Article:
    """The article at `url`, through the guarded client. `deadline` is in seconds.

    Raises FetchError, with the class that says what happened; NotAnArticleError for what is no page with text.
    """
    try:
        async with asyncio.timeout(deadline):
            answer = await _page(http, url)
            extracted = await _extracted(answer.body, answer.content_type, answer.charset)
            return await asyncio.to_thread(
                article_of,
                answer.body,
                answer.content_type,
                answer.url,
                charset=answer.charset,
                extracted=extracted,
            )
    except TimeoutError:
        raise TooSlowError(f"The page was not read within {deadline:g} seconds.", hint=_TRY_AGAIN) from None


async def _page(http: Http, url: str) -> Answer:
    try:
        return await http.get(url, accept=ACCEPT)
    except FetchError as error:
        error.hint = _HINTS.get(type(error), error.hint)
        raise


def article_of(
    body: bytes, content_type: str | None, url: str, *, charset: str | None = None, extracted: str = ""
) -> Article:
    """The article in `body`, which answered at `url`. Pure.

    `content_type` is the media type alone, `charset` what came with it; `extracted` is what trafilatura found, as HTML.
    Raises NotAnArticleError for what is no page with text.
    """
    html = is_html(body, content_type)
    page = text_of(body, charset)
    article = _of_page(page, url, extracted) if html else _of_plain_text(page, url)
    if not (article.title or article.summary or article.text):
        raise NotAnArticleError(
            "There is no text on this page.", hint="It may be made by scripts in a browser; give the text itself."
        )
    return article


def _of_page(page: str, url: str, extracted: str) -> Article:
    head = read_head(page, url)
    found = plain_text(extracted, MAX_TEXT)
    text = found or longest_run(page, MAX_TEXT)
    return Article(
        url=head.url or url,
        reader="trafilatura" if found else "paragraphs",
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


def _of_plain_text(page: str, url: str) -> Article:
    """Its title is the heading that it begins with, as in Markdown; its lines stay."""
    text = plain_lines(page, MAX_TEXT)
    first, _, rest = text.partition("\n")
    heading = first.startswith("# ")
    return Article(
        url=url,
        reader="plain",
        title=plain_line(first[2:], MAX_TITLE) if heading else "",
        text=rest.lstrip() if heading else text,
    )


def _without_title(text: str, title: str) -> str:
    """`text` without the title at its start, where a page repeats it as its first heading."""
    first, _, rest = text.partition("\n\n")
    return rest if title and rest and first.casefold() == title.casefold() else text


async def _extracted(body: bytes, content_type: str | None, charset: str | None) -> str:
    """What trafilatura finds in the page, as HTML; nothing where it is not there, fails or takes too long."""
    if not is_html(body, content_type) or find_spec("trafilatura") is None:
        return ""
    page = await asyncio.to_thread(text_of, body, charset)
    try:
        answer = await ask("copydesk.ingest.articleparser", page.encode("utf-8", "replace"), seconds=EXTRACTION)
    except TimeoutError:
        return ""
    return answer.decode("utf-8", "replace")
