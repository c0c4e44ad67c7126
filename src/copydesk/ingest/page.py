"""The bytes of a web page -> its text, and whether it is a page at all. Pure."""

import re

from copydesk.errors import NotAnArticleError
from copydesk.ingest.encoding import mend, to_utf8
from copydesk.ingest.raw import Refused

MAX_PAGE = 4 * 1024 * 1024
"""Bytes that are looked at; the mean page has 170 kB."""

_HTML_TYPES = frozenset(["text/html", "application/xhtml+xml"])
_TEXT_TYPES = frozenset(["text/plain", "text/markdown", "text/x-markdown"])
_UNSAID = frozenset([None, "application/octet-stream", "binary/octet-stream", "application/xml", "text/xml"])
"""Media types that leave open what it is."""
_STARTS = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"PK\x03\x04", "an archive or an office document"),
    (b"\x1f\x8b", "an archive"),
)
_KINDS = {"image": "a picture", "video": "a film", "audio": "a sound", "font": "a font"}
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body|meta|title|article|main|div|h1|p)\b", re.IGNORECASE)
_LOOKED_AT = 2_000
_META_CHARSET = re.compile(rb"<meta\b[^<>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE)


def is_html(body: bytes, content_type: str | None) -> bool:
    """Whether it is HTML; False for plain text. Raises NotAnArticleError for everything else.

    `content_type` is the media type alone, in lower case; where it says nothing, the first bytes do.
    """
    for start, name in _STARTS:
        if body.startswith(start):
            raise _not_a_page(name)
    if content_type in _HTML_TYPES:
        return True
    if content_type in _TEXT_TYPES:
        return False
    if content_type in _UNSAID and _HTML.search(body[:_LOOKED_AT]):
        return True
    raise _not_a_page(_kind(content_type))


def text_of(body: bytes, charset: str | None) -> str:
    """`body` decoded, whatever is in it; `charset` is the HTTP answer's, before the page's own.

    What does not decode is taken as UTF-8, or byte by byte as Windows-1252.
    """
    body = body[:MAX_PAGE]
    named = charset or _declared(body)
    try:
        return to_utf8(body, named).decode()
    except (Refused, UnicodeError):
        return mend(body, named).decode()


def _declared(body: bytes) -> str | None:
    """The character set in a `<meta>`; one that can be read there is not in UTF-16, whatever it says."""
    found = _META_CHARSET.search(body[:_LOOKED_AT])
    name = found[1].decode("ascii", "replace") if found else None
    return None if name and name.lower().startswith(("utf-16", "utf-32")) else name


def _kind(content_type: str | None) -> str:
    if content_type is None:
        return "something that does not say what it is"
    if content_type == "application/pdf":
        return "a PDF document"
    return _KINDS.get(content_type.partition("/")[0]) or content_type


def _not_a_page(name: str) -> NotAnArticleError:
    return NotAnArticleError(
        f"This address leads to {name}, not to a web page.",
        hint="Give the address of a page, or the text itself.",
    )
