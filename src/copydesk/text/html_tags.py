"""Read the tags of untrusted HTML, in time linear in its length whatever it holds.

`html.parser` takes minutes for hostile pages, so the tags are found by expressions that never backtrack: outside quotes
a tag ends at the next `<`, and an unclosed comment, script or style swallows the rest of the text, as in a browser.
Unlike in a browser, a quote that does not end where a value ends, before white space, `/` or `>`, is a broken one: in
a browser two of them swallow all text between them.
"""

import html
import re
from collections.abc import Iterator
from functools import lru_cache
from html.entities import name2codepoint
from itertools import islice
from typing import NamedTuple

MAX_ATTRIBUTES = 50
"""Per tag; also the maximum length of an attribute's name."""
MAX_VALUE_LENGTH = 8_000
"""Characters of an attribute or a title, before character references are resolved."""
MAX_CONTENT_LENGTH = 200_000
"""Characters of an inline script that are read. One more is returned for a longer one."""

_BLOCK_TAGS = (
    "address article aside blockquote center details dialog div dl fieldset figcaption figure footer form h1 h2 h3 h4"
    " h5 h6 header hr main nav ol p pre section summary table ul"
)
_LINE_TAGS = "br dd dt li option tr"
_CELL_TAGS = "td th"
_DROPPED_TAGS = "script style svg template"
LINE_MARK, BLANK_LINE_MARK = "\x1d", "\x1e"
r"""Stand for a line break and a blank line while text is assembled: at that stage `\n` is ordinary white space.

One that occurs in the input becomes a line break as well, which is harmless.
"""


def _separators_by_tag() -> dict[str | None, str]:
    """Map each tag, in both cases and with its slash, to the text it leaves; other tags leave nothing."""
    separators: dict[str, str] = dict.fromkeys(_LINE_TAGS.split(), LINE_MARK) | dict.fromkeys(_CELL_TAGS.split(), " ")
    separators |= {slash + name: BLANK_LINE_MARK for name in _BLOCK_TAGS.split() for slash in ("", "/")}
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

# Possessive quantifiers never backtrack. Only quoted values hold < and >.
_ATTRIBUTES = r"""(?:[^<>"']++|"(?<=[=\s]")[^"]*+"(?=[\s/>])|'(?<=[=\s]')[^']*+'(?=[\s/>]))*+"""
_MARKUP = re.compile(
    rf"""<(?:{"|".join(map(_dropped_element_pattern, _DROPPED_TAGS.split()))}
      |(/?[a-zA-Z][a-zA-Z0-9]*+)(?:
          >
          |{_ATTRIBUTES}>
          |[^<>]*+>                # quotes that do not pair
          |\s[^<>=]*+=[^<>]*+\Z    # cut off inside the tag
      )
      |!--(?:-?>|.*?--!?>|.*)
      |[!?][^<>]*+>)""",
    re.DOTALL | re.VERBOSE,
)

_COMMENT = re.compile(r"<!--(?:-?>|.*?--!?>)", re.DOTALL)
_TAG_REST = re.compile(rf"({_ATTRIBUTES}(?=>|\Z)|[^<>]*+)>?")
_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]++)(?:\s*+=\s*+(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^\s"'<>]++)))?+""")
_END_TAGS = {name: re.compile(rf"</(?ai:{name})(?=[\s/>])") for name in ("title", "script", "style", "template")}
_SKIPPED = ("script", "style", "template")

_ENTITY = re.compile(r"(&(?:#[0-9a-zA-Z]{1,31}|[a-zA-Z][0-9a-zA-Z]{1,31});?)")
_END_TAG_OR_ENTITY = re.compile(r"</[a-zA-Z][a-zA-Z0-9]{0,20}\s?>|&#?[a-zA-Z0-9]{1,32};")
_ELEMENT = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]{0,20})")
_ENTITY_NAME = re.compile(r"&([a-zA-Z][a-zA-Z0-9]{0,31});")


class Tag(NamedTuple):
    """A start tag, or an end tag whose name begins with a slash."""

    name: str
    """In lower case."""
    markup: str
    """The attributes as written."""
    content: str = ""
    """Raw text of a title or script; empty otherwise."""

    def read_attributes(self, max_length: int = MAX_VALUE_LENGTH) -> dict[str, str]:
        """Return the attributes by lower-case name, character references resolved; the first of duplicates wins.

        Values are cut to `max_length` characters.
        """
        attributes: dict[str, str] = {}
        for match in islice(_ATTRIBUTE.finditer(self.markup), MAX_ATTRIBUTES):
            value = (match[2] or match[3] or match[4] or "")[:max_length]
            attributes.setdefault(match[1][:MAX_ATTRIBUTES].lower(), unescape_html(value).strip())
        return attributes


def iter_tags(markup: str, *names: str) -> Iterator[Tag]:
    """Yield the tags called `names` in order; an end tag is called `/name`. Never raises.

    Comments, and scripts, styles and templates that are not among `names`, are skipped with their content.
    """
    pattern = _start_pattern(names)
    position: int | None = 0
    unclosed: set[str] = set()
    while position is not None and (start := pattern.search(markup, position)):
        if start[1]:
            comment = _COMMENT.match(markup, start.start())
            position = comment.end() if comment else None
            continue
        name = start[2].lower()
        rest = _TAG_REST.match(markup, start.end())
        assert rest is not None  # the pattern also matches the empty string
        content, position = _read_content(name, markup, rest.end(), unclosed)
        if name in names:
            yield Tag(name, rest[1], content)


@lru_cache
def _start_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    # Only the names ignore case, so that `<` is searched as a literal, and by ASCII: else `ſ` would match `s`.
    alternatives = "|".join(dict.fromkeys((*names, *_SKIPPED)))
    return re.compile(rf"<(?:(!--)|((?ai:{alternatives}))(?=[\s/>]))")


def _read_content(name: str, markup: str, start: int, unclosed: set[str]) -> tuple[str, int | None]:
    """Return the raw text of the element and the position after its end tag; None as position if it is never closed.

    An unclosed title yields the text up to the next tag and is added to `unclosed`: searching again for the missing end
    tag of each of a thousand titles would take quadratic time.
    """
    if name not in _END_TAGS or name in unclosed:
        return "", start
    end = _END_TAGS[name].search(markup, start)
    if end is not None:
        return markup[start : min(end.start(), start + MAX_CONTENT_LENGTH + 1)], end.end()
    if name != "title":
        return "", None
    unclosed.add(name)
    return markup[start : start + MAX_VALUE_LENGTH].partition("<")[0], start


def strip_tags(markup: str) -> str:
    """Return `markup` without its tags; where they end a line or a block there is a LINE_MARK or BLANK_LINE_MARK.

    Character references stay. One split instead of `iter_tags`: no Python loop over tags.
    """
    parts = _MARKUP.split(markup)
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
            parts[index + 1] = mark_line_breaks(parts[index + 1])


def mark_line_breaks(text: str) -> str:
    """Return `text` with its line breaks as LINE_MARK, so that they are not taken for white space."""
    return text.replace("\r\n", LINE_MARK).replace("\n", LINE_MARK)


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
