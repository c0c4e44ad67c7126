"""Convert HTML of feeds and pages to plain text, in time linear in its length whatever it holds.

Paragraphs are separated by a blank line; list items, table rows and `<br>` become lines; scripts, styles and comments
are dropped with their content.
"""

import re
from collections.abc import Iterable

from copydesk.text import clean, clean_lines
from copydesk.text.html_tags import BLANK_LINE_MARK, LINE_MARK, mark_line_breaks, strip_tags, unescape_html

# Characters outside this set may be invisible, controls or combining. They are not removed outright but checked by
# `clean`.
_NEEDS_CLEANING = re.compile(
    "[^\n -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0482\u048a-\u058f\u05d0-\u05ea\u2000-\u200a\u200c\u200d\u2010-\u2027"
    "\u2030-\u205e\u2070-\u20cf\u2100-\u2bff\u3001-\u3029\u3030-\u3098\u309b-\u3130\u3131-\u3163\u3165-\ua66e"
    "\uac00-\ud7a3\uff01-\uff9f\U0001f000-\U0001faff]"
)
# C1 control characters are never intended: they are Windows-1252 bytes decoded as Latin-1.
_WINDOWS_1252 = {code: bytes((code,)).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
_SPACES = re.compile("  +")
_NEWLINES = re.compile("\n\n\n+")
_ASCII = bytes(range(0x20, 0x7F)) + b"\n"
_MARKUP_FACTOR = 8
"""Characters of markup read per character of text."""


def html_to_text(markup: str, limit: int) -> str:
    """Convert an HTML fragment to plain text of at most `limit` characters."""
    text = markup[: limit * _MARKUP_FACTOR]
    if "<" in text:
        text = strip_tags(text)
    if "&" in text:
        text = unescape_html(text)
    return _tidy(text, limit)


def clean_text(text: str, limit: int) -> str:
    """Normalize text that is not markup to at most `limit` characters; line breaks stay."""
    return _tidy(mark_line_breaks(text[:limit]), limit)


def single_line(text: str, limit: int, *, markup: bool = False) -> str:
    """Return a title or a name on one line of at most `limit` characters."""
    line = " ".join((html_to_text(text, limit) if markup else text[:limit]).split())
    # Fast path: nearly all lines are plain ASCII.
    if (line.isascii() and line.isprintable()) or _is_plain(line):
        return line
    return " ".join(clean(line.translate(_WINDOWS_1252)).split())


def _tidy(text: str, limit: int) -> str:
    """Clean the text and collapse spaces and blank lines."""
    text = text.replace("\xa0", " ").replace("\t", " ")
    if BLANK_LINE_MARK in text:
        blocks = [block for block in map(str.strip, text.split(BLANK_LINE_MARK)) if block]
        if "\n" in text or LINE_MARK in text or "\r" in text:
            blocks = [_collapse_white_space(block) for block in blocks]
        text = "\n\n".join(blocks)
    else:
        text = _collapse_white_space(text.strip())
    if not _is_plain(text):
        text = _join_lines(map(_clean_block, text.split("\n")))
    if "  " in text:
        text = _SPACES.sub(" ", text)
    return text if len(text) <= limit else text[:limit].rstrip()


def _collapse_white_space(block: str) -> str:
    """Collapse the markup's white space to spaces, and turn the marks into line breaks."""
    if "\n" in block or "\r" in block:
        # In HTML a blank line is ordinary white space, but most authors who leave one mean a paragraph.
        lines = block.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        block = " ".join([line.strip(" ") or LINE_MARK + LINE_MARK for line in lines])
    if LINE_MARK in block:
        block = _join_lines(block.split(LINE_MARK))
    return block


def _join_lines(lines: Iterable[str]) -> str:
    text = "\n".join(map(str.strip, lines))
    return _NEWLINES.sub("\n\n", text).strip() if "\n\n\n" in text else text.strip()


def _is_plain(text: str) -> bool:
    """Return True if no character of `text` needs cleaning."""
    # Removing ASCII bytes first is three times as fast as searching the text itself, since most of it is ASCII.
    non_ascii = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    return not non_ascii or not _NEEDS_CLEANING.search(non_ascii.decode("utf-8", "surrogatepass"))


def _clean_block(line: str) -> str:
    return line if _is_plain(line) else clean_lines(line.translate(_WINDOWS_1252))
