"""The head of a web page -> the elements in it that say something, in time linear in its length whatever it holds."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from copydesk.ingest.plaintext import unescape

MAX_HEAD = 512 * 1024
"""Characters of a page in which its head is looked for; some have their styles in it."""
MAX_ELEMENTS = 2_000
MAX_ATTRIBUTES = 50
MAX_VALUE = 8_000
"""Characters of an attribute or a title, before its character references are resolved."""
MAX_SCRIPT = 200_000

# ASCII, because in Unicode an `ſ` is an `s` in another case.
_START = re.compile(
    r"<(?:(!--)|(/head|body|html|title|meta|link|base|script|style|template)(?=[\s/>]))", re.IGNORECASE | re.ASCII
)
_COMMENT = re.compile(r"<!--(?:-?>|.*?--!?>)", re.DOTALL)
# Outside quotes a tag ends at the next `<`; nothing backtracks.
_TAG_REST = re.compile(r"""((?:[^<>"']++|"[^"]*+"|'[^']*+')*+)>?""")
_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++)))?+""")
_LAST = ("/head", "body")
_PASSED_OVER = ("style", "template")
_ENDS = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE | re.ASCII)
    for name in ("title", "script", "style", "template")
}


class Element(NamedTuple):
    """One element. Names are in small letters, character references in attributes are resolved."""

    name: str
    """html, title, meta, link, base or script."""
    attributes: dict[str, str]
    inside: str = ""
    """What stands in a title or a script, as it is written."""


def head_elements(page: str) -> Iterator[Element]:
    """The elements of the head in their order, up to its end, to the body or to the cap. Nothing raises."""
    return islice(_elements(page[:MAX_HEAD]), MAX_ELEMENTS)


def _elements(text: str) -> Iterator[Element]:
    position: int | None = 0
    seen_open: set[str] = set()
    while position is not None and (found := _START.search(text, position)):
        if found[1]:
            # One that is never closed hides the rest, as in a browser.
            comment = _COMMENT.match(text, found.start())
            position = comment.end() if comment else None
            continue
        name = found[2].lower()
        rest = _TAG_REST.match(text, found.end())
        assert rest is not None  # it matches nothing, too
        if name in _LAST:
            return
        inside, position = _inside(name, text, rest.end(), seen_open)
        if name not in _PASSED_OVER:
            yield Element(name, _attributes(rest[1]), inside)


def _inside(name: str, text: str, start: int, seen_open: set[str]) -> tuple[str, int | None]:
    """What stands in an element that is not made of elements, and where to go on; None where it is never closed.

    Of a title that is never closed the text up to the next tag is taken, and `seen_open` remembers it: the search for
    an end that is not there must not begin again with each of a thousand titles.
    """
    if name not in _ENDS or name in seen_open:
        return "", start
    end = _ENDS[name].search(text, start)
    if end is not None:
        return text[start : min(end.start(), start + MAX_SCRIPT + 1)], end.end()
    if name != "title":
        return "", None
    seen_open.add(name)
    return text[start : start + MAX_VALUE].partition("<")[0], start


def _attributes(text: str) -> dict[str, str]:
    """The attributes of a tag; of two with one name the first counts."""
    found: dict[str, str] = {}
    for part in islice(_ATTRIBUTE.finditer(text), MAX_ATTRIBUTES):
        value = (part[2] or part[3] or part[4] or "")[:MAX_VALUE]
        found.setdefault(part[1][:MAX_ATTRIBUTES].lower(), unescape(value).strip())
    return found
