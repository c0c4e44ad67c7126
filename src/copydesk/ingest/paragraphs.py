"""A web page -> its article by a simple rule, for where trafilatura is not installed or does not come to an end. Pure.

The article is the run of `<p>` with the most text, within one `<article>` or `<main>` where there are such. What stands
in navigation, asides, footers and forms is passed over, and so is a paragraph that is mostly links.
"""

import re
from collections.abc import Iterator
from itertools import islice

from copydesk.ingest.plaintext import plain_text

MAX_MARKUP = 2 * 1024 * 1024
"""Characters of the page that are looked at."""
MAX_TAGS = 50_000
_PROSE = 80
"""Characters that a block has at least, in a page without `<p>`: a shorter one is a button or a date."""

_RUNS = frozenset(["article", "main"])
_ASIDE = frozenset(["aside", "dialog", "footer", "form", "nav"])
_BLOCKS = "p|article|main|section|aside|dialog|footer|form|nav|figure|div|h[1-6]|ul|ol|table|blockquote|pre|hr"
# Linear: what is never closed takes the rest with it, and a tag ends at the next `<`.
_TAG = re.compile(
    rf"<(?:!--(?:-?>|.*?--!?>|.*)|(?:script|style|svg|template)\b[^<>]*+>(?:.*?</(?:script|style|svg|template)|.*)"
    rf"|(/?)({_BLOCKS})(?=[\s/>])[^<>]*+>?)",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_LINKED = re.compile(r"<a\b[^<>]*+>([^<]*+)", re.IGNORECASE | re.ASCII)
_BODY = re.compile(r"<(?:article|main|body)(?=[\s/>])", re.IGNORECASE | re.ASCII)


def longest_run(page: str, limit: int) -> str:
    """The paragraphs of the article in `page`, a blank line between two, at most `limit` characters of them."""
    page = page[:MAX_MARKUP]
    runs: dict[int, list[str]] = {}
    for run, markup in _paragraphs(page):
        text = plain_text(markup, limit)
        if text and not _is_mostly_links(markup, text):
            runs.setdefault(run, []).append(text)
    if not runs:
        return _prose(page, limit)
    best = max(runs.values(), key=lambda texts: sum(map(len, texts)))
    return "\n\n".join(best)[:limit].rstrip()


def _paragraphs(page: str) -> Iterator[tuple[int, str]]:
    """The number of its run, and the markup, of each paragraph that is not aside."""
    run = aside = 0
    start: int | None = None
    for tag in islice(_TAG.finditer(page), MAX_TAGS):
        if not tag[2]:
            continue  # a comment or a script may stand in a paragraph
        if start is not None and not aside:
            yield run, page[start : tag.start()]
        closes, name = bool(tag[1]), tag[2].lower()
        start = tag.end() if name == "p" and not closes else None
        if name in _RUNS:
            run, aside = run + 1, 0
        elif name in _ASIDE:
            aside = max(0, aside - 1 if closes else aside + 1)
    if start is not None and not aside:
        yield run, page[start:]


def _is_mostly_links(markup: str, text: str) -> bool:
    return 2 * sum(len(linked[1].strip()) for linked in _LINKED.finditer(markup)) > len(text)


def _prose(page: str, limit: int) -> str:
    """The long blocks of a page that has no paragraphs."""
    body = _BODY.search(page)
    text = plain_text(page[body.start() :] if body else page, limit)
    return "\n\n".join(block for block in text.split("\n\n") if len(block) >= _PROSE)
