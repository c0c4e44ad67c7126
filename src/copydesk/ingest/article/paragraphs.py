"""Find a page's article by a simple rule, for when trafilatura is not installed or times out. Pure.

The article is the run of `<p>` with the most text, within one `<article>` or `<main>` if present. Content of
navigation, asides, footers and forms is skipped, and so are paragraphs that are mostly links.
"""

import re
from collections.abc import Iterator
from itertools import islice

from copydesk.ingest.html_to_text import html_to_text

MAX_MARKUP_LENGTH = 2 * 1024 * 1024
"""Characters of the page that are read."""
MAX_TAGS = 50_000
_MIN_BLOCK_LENGTH = 80
"""Minimum characters of a block in a page without `<p>`; shorter ones are buttons or dates."""

_ARTICLE_TAGS = frozenset(["article", "main"])
_SKIPPED_TAGS = frozenset(["aside", "dialog", "footer", "form", "nav"])
_BLOCKS = "p|article|main|section|aside|dialog|footer|form|nav|figure|div|h[1-6]|ul|ol|table|blockquote|pre|hr"
# Linear time: unclosed elements swallow the rest, and a tag ends at the next `<`.
_TAG = re.compile(
    rf"<(?:!--(?:-?>|.*?--!?>|.*)|(?:script|style|svg|template)\b[^<>]*+>(?:.*?</(?:script|style|svg|template)|.*)"
    rf"|(/?)({_BLOCKS})(?=[\s/>])[^<>]*+>?)",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_LINK_TEXT = re.compile(r"<a\b[^<>]*+>([^<]*+)", re.IGNORECASE | re.ASCII)
_BODY = re.compile(r"<(?:article|main|body)(?=[\s/>])", re.IGNORECASE | re.ASCII)


def longest_paragraph_run(page: str, limit: int) -> str:
    """Return the article's paragraphs separated by blank lines, at most `limit` characters."""
    page = page[:MAX_MARKUP_LENGTH]
    runs: dict[int, list[str]] = {}
    for run, markup in _paragraphs(page):
        text = html_to_text(markup, limit)
        if text and not _is_mostly_links(markup, text):
            runs.setdefault(run, []).append(text)
    if not runs:
        return _long_blocks(page, limit)
    best = max(runs.values(), key=lambda texts: sum(map(len, texts)))
    return "\n\n".join(best)[:limit].rstrip()


def _paragraphs(page: str) -> Iterator[tuple[int, str]]:
    """Yield the run's number and the markup of each paragraph outside skipped elements."""
    run = skip_depth = 0
    start: int | None = None
    for tag in islice(_TAG.finditer(page), MAX_TAGS):
        if not tag[2]:
            continue  # comments and scripts may occur inside a paragraph
        if start is not None and not skip_depth:
            yield run, page[start : tag.start()]
        is_end_tag, name = bool(tag[1]), tag[2].lower()
        start = tag.end() if name == "p" and not is_end_tag else None
        if name in _ARTICLE_TAGS:
            run, skip_depth = run + 1, 0
        elif name in _SKIPPED_TAGS:
            skip_depth = max(0, skip_depth - 1 if is_end_tag else skip_depth + 1)
    if start is not None and not skip_depth:
        yield run, page[start:]


def _is_mostly_links(markup: str, text: str) -> bool:
    return 2 * sum(len(match[1].strip()) for match in _LINK_TEXT.finditer(markup)) > len(text)


def _long_blocks(page: str, limit: int) -> str:
    """Return the long blocks of a page without paragraphs."""
    body = _BODY.search(page)
    text = html_to_text(page[body.start() :] if body else page, limit)
    return "\n\n".join(block for block in text.split("\n\n") if len(block) >= _MIN_BLOCK_LENGTH)
