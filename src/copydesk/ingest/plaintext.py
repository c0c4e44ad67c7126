"""HTML as feeds carry it -> plain text, in time linear in its length whatever it holds.

Paragraphs are separated by a blank line; list items, table rows and `<br>` are lines; scripts, styles and comments
are dropped with what is in them. One compiled expression cuts the text at its tags, so that nothing here walks over
characters or tags in Python.
"""

import html
import re
from collections.abc import Iterable
from functools import lru_cache
from html.entities import name2codepoint

from copydesk.text import clean, clean_lines

_BLOCKS = (
    "address article aside blockquote center details dialog div dl fieldset figcaption figure footer form h1 h2 h3 h4"
    " h5 h6 header hr main nav ol p pre section summary table ul"
)
_LINES = "br dd dt li option tr"
_CELLS = "td th"
_DROPPED = "script style svg template"
_LINE, _GAP = "\x1d", "\x1e"
"""Stand for a line end and a blank line while a text is put together, when `\\n` is white space like any other.

One that was in the text before becomes a line end too, which does no harm.
"""


def _gaps() -> dict[str | None, str]:
    """What a tag leaves in the text; one that is not here leaves nothing."""
    gaps: dict[str, str] = dict.fromkeys(_LINES.split(), _LINE) | dict.fromkeys(_CELLS.split(), " ")
    gaps |= {slash + name: _GAP for name in _BLOCKS.split() for slash in ("", "/")}
    return {form: gap for name, gap in gaps.items() for form in (name, name.upper())}


def _dropped(name: str) -> str:
    """An expression for an element with all that is in it."""
    # The first letter stands alone because the engine looks at it before it enters a branch.
    start = f"[{name[0]}{name[0].upper()}](?i:{name[1:]})"
    return rf"{start}\b[^<>]*+(?<!/)>(?:.*?</(?i:{name})\b[^<>]*+>?|.*)"


_GAPS = _gaps()
_INLINE = (
    "a abbr acronym audio b bdi bdo big button caption cite code col del dfn em font i iframe img ins kbd label mark"
    " math meter noscript object picture q rp rt ruby s samp small source span strike strong sub sup tbody tfoot"
    " thead time tt u var video wbr"
)
_ELEMENTS = frozenset(" ".join((_BLOCKS, _LINES, _CELLS, _DROPPED, _INLINE)).split())

# Linear, because nothing backtracks over what it has read (possessive quantifiers), because outside quotes a tag ends
# at the next `<`, and because what is never closed takes the rest of the text with it, as in a browser.
_TAG = re.compile(
    rf"""<(?:{"|".join(map(_dropped, _DROPPED.split()))}
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

# Anything but these letters, digits and signs may be invisible, a control or a combining character. It is let
# through too, after a closer look.
_DOUBTFUL = re.compile(
    "[^\n -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0482\u048a-\u058f\u05d0-\u05ea\u2000-\u200a\u200c\u200d\u2010-\u2027"
    "\u2030-\u205e\u2070-\u20cf\u2100-\u2bff\u3001-\u3029\u3030-\u3098\u309b-\u3130\u3131-\u3163\u3165-\ua66e"
    "\uac00-\ud7a3\uff01-\uff9f\U0001f000-\U0001faff]"
)
# Control characters that nobody means: what Windows-1252 has in their place is what was meant.
_WINDOWS = {code: bytes((code,)).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
_ENTITY = re.compile(r"(&(?:#[0-9a-zA-Z]{1,31}|[a-zA-Z][0-9a-zA-Z]{1,31});?)")
_MARKED = re.compile(r"</[a-zA-Z][a-zA-Z0-9]{0,20}\s?>|&#?[a-zA-Z0-9]{1,32};")
_ELEMENT = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]{0,20})")
_NAMED = re.compile(r"&([a-zA-Z][a-zA-Z0-9]{0,31});")
_SPACES = re.compile("  +")
_NEWLINES = re.compile("\n\n\n+")
_ASCII = bytes(range(0x20, 0x7F)) + b"\n"
_MARKUP_FACTOR = 8
"""At most so many characters of markup are read for one character of text."""


def plain_text(markup: str, limit: int) -> str:
    """The text of an HTML fragment, at most `limit` characters of it."""
    text = markup[: limit * _MARKUP_FACTOR]
    if "<" in text:
        text = _without_tags(text)
    if "&" in text:
        text = unescape(text)
    return _tidy(text, limit)


def plain_lines(text: str, limit: int) -> str:
    """Text that is no markup, at most `limit` characters of it; its lines stay."""
    return _tidy(_keep_lines(text[:limit]), limit)


def plain_line(text: str, limit: int, *, markup: bool = False) -> str:
    """A title or a name on one line, at most `limit` characters of it."""
    line = " ".join((plain_text(text, limit) if markup else text[:limit]).split())
    if (line.isascii() and line.isprintable()) or _is_plain(line):
        return line
    return " ".join(clean(line.translate(_WINDOWS)).split())


def looks_like_markup(text: str) -> bool:
    """Whether `text` is HTML, where nothing says so: it has an end tag or an entity, and only such as HTML knows.

    As feedparser decides it, which errs on the side of plain text.
    """
    if not _MARKED.search(text):
        return False
    known = all(name.lower() in _ELEMENTS for name in _ELEMENT.findall(text))
    return known and all(name in name2codepoint for name in _NAMED.findall(text))


def unescape(text: str) -> str:
    """`text` with its HTML character references resolved, once."""
    parts = _ENTITY.split(text)
    parts[1::2] = map(_character, parts[1::2])
    return "".join(parts)


_character = lru_cache(1_000)(html.unescape)


def _without_tags(markup: str) -> str:
    parts = _TAG.split(markup)
    names = parts[1::2]
    if "pre" in names:
        _keep_lines_of_pre(parts)
    parts[1::2] = [_GAPS.get(name, "") for name in names]
    return "".join(parts)


def _keep_lines_of_pre(parts: list[str]) -> None:
    """Keep the line ends of code in `parts`, which are text, tag, text, tag..., text."""
    inside = False
    for index in range(1, len(parts), 2):
        inside = parts[index] == "pre" or (inside and parts[index] != "/pre")
        if inside:
            parts[index + 1] = _keep_lines(parts[index + 1])


def _keep_lines(text: str) -> str:
    return text.replace("\r\n", _LINE).replace("\n", _LINE)


def _tidy(text: str, limit: int) -> str:
    """`text` without doubtful characters, with single spaces, none of them at line ends, and single blank lines."""
    text = text.replace("\xa0", " ").replace("\t", " ")
    if _GAP in text:
        blocks = [block for block in map(str.strip, text.split(_GAP)) if block]
        if "\n" in text or _LINE in text or "\r" in text:
            blocks = [_fold(block) for block in blocks]
        text = "\n\n".join(blocks)
    else:
        text = _fold(text.strip())
    if not _is_plain(text):
        text = _stripped(map(_cleaned, text.split("\n")))
    if "  " in text:
        text = _SPACES.sub(" ", text)
    return text if len(text) <= limit else text[:limit].rstrip()


def _fold(block: str) -> str:
    """`block` with the white space of the markup made into spaces, and the marks for line ends into line ends."""
    if "\n" in block or "\r" in block:
        # A blank line is no more than white space in HTML, but most who leave one mean it.
        lines = block.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        block = " ".join([line.strip(" ") or _LINE + _LINE for line in lines])
    if _LINE in block:
        block = _stripped(block.split(_LINE))
    return block


def _stripped(lines: Iterable[str]) -> str:
    text = "\n".join(map(str.strip, lines))
    return _NEWLINES.sub("\n\n", text).strip() if "\n\n\n" in text else text.strip()


def _is_plain(text: str) -> bool:
    """Whether there is no doubtful character in `text`."""
    # Three times as fast as a search in the text itself, since most of it is ASCII.
    others = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    return not others or not _DOUBTFUL.search(others.decode("utf-8", "surrogatepass"))


def _cleaned(line: str) -> str:
    return line if _is_plain(line) else clean_lines(line.translate(_WINDOWS))
