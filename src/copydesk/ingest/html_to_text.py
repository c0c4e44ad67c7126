"""Convert HTML of feeds and pages to plain text, in time linear in its length whatever it holds.

Paragraphs are separated by a blank line; list items, table rows and `<br>` become lines; scripts, styles and comments
are dropped with their content. One compiled expression splits the text at its tags: no Python loop over characters or
tags.
"""

import html
import re
from collections.abc import Iterable
from functools import lru_cache
from html.entities import name2codepoint

from copydesk.text import clean, clean_lines

_BLOCK_TAGS = (
    "address article aside blockquote center details dialog div dl fieldset figcaption figure footer form h1 h2 h3 h4"
    " h5 h6 header hr main nav ol p pre section summary table ul"
)
_LINE_TAGS = "br dd dt li option tr"
_CELL_TAGS = "td th"
_DROPPED_TAGS = "script style svg template"
_LINE_MARK, _BLANK_LINE_MARK = "\x1d", "\x1e"
r"""Stand for a line break and a blank line while text is assembled: at that stage `\n` is ordinary white space.

One that occurs in the input becomes a line break as well, which is harmless.
"""


def _separators_by_tag() -> dict[str | None, str]:
    """Map each tag, in both cases and with its slash, to the text it leaves; other tags leave nothing."""
    separators: dict[str, str] = dict.fromkeys(_LINE_TAGS.split(), _LINE_MARK) | dict.fromkeys(_CELL_TAGS.split(), " ")
    separators |= {slash + name: _BLANK_LINE_MARK for name in _BLOCK_TAGS.split() for slash in ("", "/")}
    return {tag: separator for name, separator in separators.items() for tag in (name, name.upper())}


def _dropped_element_pattern(name: str) -> str:
    """Return a pattern for an element with its content."""
    # The first letter is a separate character class: the regex engine checks it before entering a branch.
    start = f"[{name[0]}{name[0].upper()}](?i:{name[1:]})"
    return rf"{start}\b[^<>]*+(?<!/)>(?:.*?</(?i:{name})\b[^<>]*+>?|.*)"


_SEPARATORS = _separators_by_tag()
_INLINE_TAGS = (
    "a abbr acronym audio b bdi bdo big button caption cite code col del dfn em font i iframe img ins kbd label mark"
    " math meter noscript object picture q rp rt ruby s samp small source span strike strong sub sup tbody tfoot"
    " thead time tt u var video wbr"
)
_HTML_TAGS = frozenset(" ".join((_BLOCK_TAGS, _LINE_TAGS, _CELL_TAGS, _DROPPED_TAGS, _INLINE_TAGS)).split())

# Linear time: possessive quantifiers never backtrack, outside quotes a tag ends at the next `<`, and unclosed elements
# swallow the rest of the text, as in a browser.
_TAG = re.compile(
    rf"""<(?:{"|".join(map(_dropped_element_pattern, _DROPPED_TAGS.split()))}
      |(/?[a-zA-Z][a-zA-Z0-9]*+)(?:
          >
          |(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>  # attributes may hold < and > in quotes
          |[^<>]*+>                            # quotes that do not pair
          |\s[^<>=]*+=[^<>]*+\Z                # cut off inside the tag
      )
      |!--(?:-?>|.*?--!?>|.*)
      |[!?][^<>]*+>)""",
    re.DOTALL | re.VERBOSE,
)

# Characters outside this set may be invisible, controls or combining. They are not removed outright but checked by
# `clean`.
_NEEDS_CLEANING = re.compile(
    "[^\n -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0482\u048a-\u058f\u05d0-\u05ea\u2000-\u200a\u200c\u200d\u2010-\u2027"
    "\u2030-\u205e\u2070-\u20cf\u2100-\u2bff\u3001-\u3029\u3030-\u3098\u309b-\u3130\u3131-\u3163\u3165-\ua66e"
    "\uac00-\ud7a3\uff01-\uff9f\U0001f000-\U0001faff]"
)
# C1 control characters are never intended: they are Windows-1252 bytes decoded as Latin-1.
_WINDOWS_1252 = {code: bytes((code,)).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
_ENTITY = re.compile(r"(&(?:#[0-9a-zA-Z]{1,31}|[a-zA-Z][0-9a-zA-Z]{1,31});?)")
_END_TAG_OR_ENTITY = re.compile(r"</[a-zA-Z][a-zA-Z0-9]{0,20}\s?>|&#?[a-zA-Z0-9]{1,32};")
_ELEMENT = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]{0,20})")
_ENTITY_NAME = re.compile(r"&([a-zA-Z][a-zA-Z0-9]{0,31});")
_SPACES = re.compile("  +")
_NEWLINES = re.compile("\n\n\n+")
_ASCII = bytes(range(0x20, 0x7F)) + b"\n"
_MARKUP_FACTOR = 8
"""Characters of markup read per character of text."""


def html_to_text(markup: str, limit: int) -> str:
    """Convert an HTML fragment to plain text of at most `limit` characters."""
    text = markup[: limit * _MARKUP_FACTOR]
    if "<" in text:
        text = _remove_tags(text)
    if "&" in text:
        text = unescape_html(text)
    return _tidy(text, limit)


def clean_text(text: str, limit: int) -> str:
    """Normalize text that is not markup to at most `limit` characters; line breaks stay."""
    return _tidy(_mark_line_breaks(text[:limit]), limit)


def single_line(text: str, limit: int, *, markup: bool = False) -> str:
    """Return a title or a name on one line of at most `limit` characters."""
    line = " ".join((html_to_text(text, limit) if markup else text[:limit]).split())
    # Fast path: nearly all lines are plain ASCII.
    if (line.isascii() and line.isprintable()) or _is_plain(line):
        return line
    return " ".join(clean(line.translate(_WINDOWS_1252)).split())


def is_probably_html(text: str) -> bool:
    """Guess whether `text` is HTML: it has an end tag or an entity, and only such as HTML defines.

    feedparser's rule, which errs on the side of plain text.
    """
    if not _END_TAG_OR_ENTITY.search(text):
        return False
    is_html = all(name.lower() in _HTML_TAGS for name in _ELEMENT.findall(text))
    return is_html and all(name in name2codepoint for name in _ENTITY_NAME.findall(text))


def unescape_html(text: str) -> str:
    """Resolve HTML character references, once."""
    parts = _ENTITY.split(text)
    parts[1::2] = map(_unescape_reference, parts[1::2])
    return "".join(parts)


_unescape_reference = lru_cache(1_000)(html.unescape)


def _remove_tags(markup: str) -> str:
    parts = _TAG.split(markup)
    tags = parts[1::2]
    if "pre" in tags:
        _mark_line_breaks_in_pre(parts)
    parts[1::2] = [_SEPARATORS.get(tag, "") for tag in tags]
    return "".join(parts)


def _mark_line_breaks_in_pre(parts: list[str]) -> None:
    """Mark the line breaks of code in `parts`, which alternate between text and tag."""
    in_pre = False
    for index in range(1, len(parts), 2):
        in_pre = parts[index] == "pre" or (in_pre and parts[index] != "/pre")
        if in_pre:
            parts[index + 1] = _mark_line_breaks(parts[index + 1])


def _mark_line_breaks(text: str) -> str:
    return text.replace("\r\n", _LINE_MARK).replace("\n", _LINE_MARK)


def _tidy(text: str, limit: int) -> str:
    """Clean the text and collapse spaces and blank lines."""
    text = text.replace("\xa0", " ").replace("\t", " ")
    if _BLANK_LINE_MARK in text:
        blocks = [block for block in map(str.strip, text.split(_BLANK_LINE_MARK)) if block]
        if "\n" in text or _LINE_MARK in text or "\r" in text:
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
        block = " ".join([line.strip(" ") or _LINE_MARK + _LINE_MARK for line in lines])
    if _LINE_MARK in block:
        block = _join_lines(block.split(_LINE_MARK))
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
