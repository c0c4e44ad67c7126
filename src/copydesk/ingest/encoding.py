"""The bytes of a feed or a page -> UTF-8, by what they say about themselves."""

import codecs
import re

from copydesk.ingest.raw import Refused

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARATION = re.compile(
    rb"\s*<\?xml[^>]{0,200}?encoding\s{0,20}=\s{0,20}[\"']([A-Za-z0-9._:-]{1,40})[\"'][^>]{0,200}?\?>"
)
_ANY_DECLARATION = re.compile(r"\s*<\?xml\s[^>]{0,400}?\?>")

# Names that are used for a larger set than they stand for, as browsers read them (WHATWG Encoding Standard).
_LARGER = {
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
# Only character sets: Python's codecs also unpack archives, escapes and punycode by name.
_SETS = re.compile(
    r"utf-(8|16|32)(-[bl]e)?|ascii|iso8859-\d+|cp\d{3,4}|koi8-[rtu]|mac-[a-z]+|gb2312|gbk|gb18030|hz|big5(hkscs)?"
    r"|euc_[a-z0-9_]+|shift_jis\w*|iso2022_\w+|johab|tis-620|kz1048|ptcp154"
)

# What surrogateescape leaves of a byte -> the character that Windows-1252 has for it.
_WINDOWS = {0xDC00 + byte: bytes((byte,)).decode("cp1252", "replace") for byte in range(0x80, 0x100)}


def to_utf8(body: bytes, charset: str | None) -> bytes:
    """`body` as UTF-8 without a byte order mark or an XML declaration.

    The first of these that decodes every byte: byte order mark, `charset` of the HTTP answer, XML declaration, UTF-8;
    Latin-1, whoever says it, comes after UTF-8.
    Where nothing but UTF-8 is in question, it is left to the parser to check it. Raises Refused where none does.
    """
    mark, encoding = _marked(body)
    body = body[len(mark) :].lstrip()
    names = [encoding] if encoding else _candidates(charset, _declared(body))
    if names == ["utf-8"]:
        return _without_declaration(body)
    for name in names:
        try:
            text = body.decode(name)
        except UnicodeDecodeError:
            continue
        return _without_declaration(body) if name == "utf-8" else _text_without_declaration(text).encode()
    raise Refused("encoding")


def mend(body: bytes, charset: str | None) -> bytes:
    """`body` as readable UTF-8, whatever is in it: for what to_utf8 refuses.

    A byte that is no UTF-8 is taken as Windows-1252, each for itself: a file that is wholly Latin-1 under a false
    label is read right, and one that is UTF-8 with a broken byte keeps the rest.
    """
    mark, encoding = _marked(body)
    body = body[len(mark) :].lstrip()
    encoding = encoding or _known(charset) or _known(_declared(body)) or "utf-8"
    if encoding == "utf-8":
        text = body.decode("utf-8", "surrogateescape").translate(_WINDOWS)
    else:
        text = body.decode(encoding, "replace")
    return _text_without_declaration(text).encode("utf-8", "replace")


def _marked(body: bytes) -> tuple[bytes, str | None]:
    """The byte order mark, and the encoding that it or the zeros around the first `<` tell."""
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return mark, encoding
    return b"", {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}.get(body[:2])


def _declared(body: bytes) -> str | None:
    found = _DECLARATION.match(body[:600])
    return found[1].decode() if found else None


def _candidates(charset: str | None, declared: str | None) -> list[str]:
    names = [name for name in dict.fromkeys((_known(charset), _known(declared), "utf-8")) if name]
    # Latin-1 is what is said without a thought, and any bytes are valid in it. What is valid UTF-8 is not so by chance.
    return sorted(names, key="utf-8".__ne__) if "cp1252" in names else names


def _known(name: str | None) -> str | None:
    """Python's name of a character set, or None for what is none."""
    try:
        known = codecs.lookup((name or "").strip(" \"'")[:40]).name
    except (LookupError, ValueError):
        return None
    return _LARGER.get(known, known) if _SETS.fullmatch(known) else None


def _without_declaration(body: bytes) -> bytes:
    found = _DECLARATION.match(body[:600])
    return body[found.end() :].lstrip() if found else body


def _text_without_declaration(text: str) -> str:
    found = _ANY_DECLARATION.match(text)
    return text[found.end() :].lstrip() if found else text
