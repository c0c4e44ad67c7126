"""Decode feeds and pages of any declared encoding to UTF-8."""

import codecs
import re
from collections.abc import Iterator

from copydesk.ingest.feed.raw_feed import StrictParseError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    # Before UTF-16, whose mark is the beginning of UTF-32's.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKS = re.compile(b"(?:" + b"|".join(re.escape(mark) for mark, _ in _BOMS) + b")*+")
# Zero bytes around the first `<`, which is the first character of XML, and around the next one.
_LAYOUTS = (
    (re.compile(rb"<\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0<"), "utf-32-be"),
    (re.compile(rb"<\0[^\0]\0"), "utf-16-le"),
    (re.compile(rb"\0<\0[^\0]"), "utf-16-be"),
)
_SNIFFED_BYTES = 10_000
_ROOT = re.compile(rb"<(?:[a-z0-9_-]{1,20}:)?(?:rss|feed|rdf|channel|opml|html)\b", re.IGNORECASE)
_DECLARATION = re.compile(
    rb"<\?xml[^>]{0,200}?encoding\s{0,20}=\s{0,20}[\"']([A-Za-z0-9._:-]{1,40})[\"'][^>]{0,200}?\?>"
)
_ANY_DECLARATION = re.compile(r"\s*<\?xml\s[^>]{0,400}?\?>")

# Labels that browsers decode as a superset of the named encoding (WHATWG Encoding Standard).
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
# Character sets only: Python's codec registry also holds compression, escapes and punycode.
_CHARACTER_SETS = re.compile(
    r"utf-(8|16|32)(-[bl]e)?|ascii|iso8859-\d+|cp\d{3,4}|koi8-[rtu]|mac-[a-z]+|gb2312|gbk|gb18030|hz|big5(hkscs)?"
    r"|euc_[a-z0-9_]+|shift_jis\w*|iso2022_\w+|johab|tis-620|kz1048|ptcp154"
)

# Surrogates produced by surrogateescape -> the character of that byte in Windows-1252.
_WINDOWS_1252 = {0xDC00 + byte: bytes((byte,)).decode("cp1252", "replace") for byte in range(0x80, 0x100)}


def to_utf8(body: bytes, charset: str | None) -> bytes:
    """Return `body` as UTF-8 without byte order mark and XML declaration.

    Takes the first encoding that decodes every byte: byte order mark, HTTP `charset`, XML declaration, UTF-8. A
    declared Latin-1 comes after UTF-8. If UTF-8 is the only candidate, checking it is left to the parser. Raise
    StrictParseError if none decodes.
    """
    body, encoding = _split_byte_order_mark(body)
    candidates = [encoding] if encoding else _candidates(body, charset)
    # Nearly all feeds: the parser checks the bytes anyway, so decoding them here would be wasted.
    if candidates == ["utf-8"]:
        return _without_declaration(body)
    for name in candidates:
        try:
            text = body.decode(name)
        except UnicodeDecodeError:
            continue
        return _without_declaration(body) if name == "utf-8" else _text_without_declaration(text).encode()
    raise StrictParseError("encoding")


def repair_utf8(body: bytes, charset: str | None) -> bytes:
    """Return `body` as valid UTF-8 whatever it holds; for what `to_utf8` refuses.

    Invalid bytes are decoded one by one as Windows-1252, so that a mislabelled Latin-1 file is read correctly and a
    UTF-8 file with one broken byte keeps the rest.
    """
    body, encoding = _split_byte_order_mark(body)
    encoding = encoding or next(_labels(body, charset), "utf-8")
    if encoding == "utf-8":
        text = body.decode("utf-8", "surrogateescape").translate(_WINDOWS_1252)
    else:
        text = body.decode(encoding, "replace")
    return _text_without_declaration(text).encode("utf-8", "replace")


def _split_byte_order_mark(body: bytes) -> tuple[bytes, str | None]:
    """Return `body` without byte order mark, and the encoding that the mark tells unless the bytes contradict it."""
    # Concatenated templates and converters leave several marks.
    marks = _MARKS.match(body)
    assert marks is not None  # the pattern also matches the empty string
    body = body[marks.end() :]
    encoding = next((name for mark, name in _BOMS if marks[0].endswith(mark)), None)
    encoding = next((name for layout, name in _LAYOUTS if layout.match(body)), encoding)
    if encoding in (None, "utf-8") or not _is_possible(encoding, body):
        return body.lstrip(), encoding if encoding == "utf-8" else None
    return body, encoding


def _is_possible(encoding: str, body: bytes) -> bool:
    """Return False for UTF-16 and UTF-32 without zero bytes: there is no `<` or `{` in such a text."""
    return not encoding.startswith(("utf-16", "utf-32")) or b"\0" in body[:64]


def _declared_encoding(body: bytes) -> str | None:
    """Return the encoding of the XML declaration, which may follow text that a broken template wrote."""
    start = body[:_SNIFFED_BYTES]
    match = _DECLARATION.search(start)
    return match[1].decode() if match and not _ROOT.search(start, 0, match.start()) else None


def _labels(body: bytes, charset: str | None) -> Iterator[str]:
    """Yield the encodings named by HTTP and by the XML declaration, unless the bytes contradict them."""
    for label in (charset, _declared_encoding(body)):
        name = _codec_name(label)
        if name and _is_possible(name, body):
            yield name


def _candidates(body: bytes, charset: str | None) -> list[str]:
    names = list(dict.fromkeys([*_labels(body, charset), "utf-8"]))
    # Latin-1 is often a careless default, and any bytes are valid in it; text that is valid UTF-8 rarely is so by
    # chance.
    return sorted(names, key="utf-8".__ne__) if "cp1252" in names else names


def _codec_name(name: str | None) -> str | None:
    """Return Python's name of the character set, None if `name` is not one."""
    try:
        # Cut first, because the label is untrusted.
        codec = codecs.lookup((name or "").strip(" \"'")[:40]).name
    except (LookupError, ValueError):
        return None
    return _SUPERSETS.get(codec, codec) if _CHARACTER_SETS.fullmatch(codec) else None


def _without_declaration(body: bytes) -> bytes:
    match = _DECLARATION.match(body[:600])
    return body[match.end() :].lstrip() if match else body


def _text_without_declaration(text: str) -> str:
    match = _ANY_DECLARATION.match(text)
    return text[match.end() if match else 0 :].lstrip()
