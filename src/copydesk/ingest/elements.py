"""Streaming reader for the elements in a page's head, in linear time for any input."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from copydesk.ingest.plaintext import unescape_html

MAX_HEAD_LENGTH = 512 * 1024
"""Characters searched for the head; pages with inline styles have long ones."""
MAX_ELEMENTS = 2_000
MAX_ATTRIBUTES = 50
"""Per element; also the maximum length of an attribute's name."""
MAX_VALUE_LENGTH = 8_000
"""Characters of an attribute or a title, before character references are resolved."""
MAX_SCRIPT_LENGTH = 200_000
"""Characters of an inline script."""

# re.ASCII: with Unicode case folding `ſ` would match `s`.
_START = re.compile(
    r"<(?:(!--)|(/head|body|html|title|meta|link|base|script|style|template)(?=[\s/>]))", re.IGNORECASE | re.ASCII
)
_COMMENT = re.compile(r"<!--(?:-?>|.*?--!?>)", re.DOTALL)
# Possessive quantifiers: no backtracking. Outside quotes a tag ends at the next `<`.
_TAG_REST = re.compile(r"""((?:[^<>"']++|"[^"]*+"|'[^']*+')*+)>?""")
_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++)))?+""")
_END_OF_HEAD = ("/head", "body")
_IGNORED = ("style", "template")
_END_TAGS = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE | re.ASCII)
    for name in ("title", "script", "style", "template")
}


class Element(NamedTuple):
    """One element of the head. Names are in lower case; character references in attributes are resolved."""

    name: str
    """html, title, meta, link, base or script."""
    attributes: dict[str, str]
    content: str = ""
    """Raw text of a title or script; empty otherwise."""


def iter_head_elements(page: str) -> Iterator[Element]:
    """Return the head's elements in order, up to its end, the body or the limits. Never raises."""
    return islice(_elements(page[:MAX_HEAD_LENGTH]), MAX_ELEMENTS)


def _elements(text: str) -> Iterator[Element]:
    position: int | None = 0
    unclosed: set[str] = set()
    while position is not None and (start := _START.search(text, position)):
        if start[1]:
            # An unclosed comment hides the rest of the page, as in a browser.
            comment = _COMMENT.match(text, start.start())
            position = comment.end() if comment else None
            continue
        name = start[2].lower()
        rest = _TAG_REST.match(text, start.end())
        assert rest is not None  # the pattern also matches the empty string
        if name in _END_OF_HEAD:
            return
        inside, position = _read_content(name, text, rest.end(), unclosed)
        if name not in _IGNORED:
            yield Element(name, _attributes(rest[1]), inside)


def _read_content(name: str, text: str, start: int, unclosed: set[str]) -> tuple[str, int | None]:
    """Return the raw text of the element and the position after its end tag; None as position if it is never closed.

    An unclosed title yields the text up to the next tag and is added to `unclosed`: searching again for the missing end
    tag of each of a thousand titles would take quadratic time.
    """
    if name not in _END_TAGS or name in unclosed:
        return "", start
    end = _END_TAGS[name].search(text, start)
    if end is not None:
        return text[start : min(end.start(), start + MAX_SCRIPT_LENGTH + 1)], end.end()
    if name != "title":
        return "", None
    unclosed.add(name)
    return text[start : start + MAX_VALUE_LENGTH].partition("<")[0], start


def _attributes(text: str) -> dict[str, str]:
    """Parse the attributes of a tag; the first of duplicates wins."""
    attributes: dict[str, str] = {}
    for match in islice(_ATTRIBUTE.finditer(text), MAX_ATTRIBUTES):
        value = (match[2] or match[3] or match[4] or "")[:MAX_VALUE_LENGTH]
        attributes.setdefault(match[1][:MAX_ATTRIBUTES].lower(), unescape_html(value).strip())
    return attributes
