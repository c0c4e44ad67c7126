"""Decode web pages, and tell pages from other content. Pure."""

import re

from copydesk.errors import NotAnArticleError
from copydesk.ingest.encoding import repair_utf8, to_utf8
from copydesk.ingest.raw import StrictParseError

MAX_PAGE_BYTES = 4 * 1024 * 1024
"""Bytes that are read; the average page has 170 kB."""

_HTML_TYPES = frozenset(["text/html", "application/xhtml+xml"])
_TEXT_TYPES = frozenset(["text/plain", "text/markdown", "text/x-markdown"])
_GENERIC_TYPES = frozenset([None, "application/octet-stream", "binary/octet-stream", "application/xml", "text/xml"])
"""Media types that do not tell the format."""
# Checked before the media type: servers send PDFs and images as text/html too.
_FILE_SIGNATURES = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"PK\x03\x04", "an archive or an office document"),
    (b"\x1f\x8b", "an archive"),
)
_TYPE_NAMES = {"image": "a picture", "video": "a film", "audio": "a sound", "font": "a font"}
_HTML_TAG = re.compile(rb"<(?:!doctype\s+html|html|head|body|meta|title|article|main|div|h1|p)\b", re.IGNORECASE)
_SNIFFED_BYTES = 2_000
_META_CHARSET = re.compile(rb"<meta\b[^<>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE)


def is_html(body: bytes, content_type: str | None) -> bool:
    """Return True for HTML, False for plain text. Raise NotAnArticleError for everything else.

    `content_type` is the media type without parameters, in lower case. A generic one is resolved by the first bytes.
    """
    for signature, name in _FILE_SIGNATURES:
        if body.startswith(signature):
            raise _not_a_page_error(name)
    if content_type in _HTML_TYPES:
        return True
    if content_type in _TEXT_TYPES:
        return False
    if content_type in _GENERIC_TYPES and _HTML_TAG.search(body[:_SNIFFED_BYTES]):
        return True
    raise _not_a_page_error(_describe_type(content_type))


def decode_page(body: bytes, charset: str | None) -> str:
    """Decode `body`, whatever it holds. The HTTP `charset` takes precedence over the page's own.

    If that fails, decode as UTF-8, with invalid bytes taken as Windows-1252.
    """
    body = body[:MAX_PAGE_BYTES]
    encoding = charset or _meta_charset(body)
    try:
        return to_utf8(body, encoding).decode()
    except (StrictParseError, UnicodeError):
        return repair_utf8(body, encoding).decode()


def _meta_charset(body: bytes) -> str | None:
    """Return the encoding in a `<meta>` element.

    It cannot be UTF-16 or UTF-32: then the element would not be readable as ASCII.
    """
    match = _META_CHARSET.search(body[:_SNIFFED_BYTES])
    name = match[1].decode("ascii", "replace") if match else None
    return None if name and name.lower().startswith(("utf-16", "utf-32")) else name


def _describe_type(content_type: str | None) -> str:
    if content_type is None:
        return "something that does not say what it is"
    if content_type == "application/pdf":
        return "a PDF document"
    return _TYPE_NAMES.get(content_type.partition("/")[0]) or content_type


def _not_a_page_error(name: str) -> NotAnArticleError:
    return NotAnArticleError(
        f"This address leads to {name}, not to a web page.",
        hint="Give the address of a page, or the text itself.",
    )
