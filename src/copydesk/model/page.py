"""One page of a list, with the cursor of the next: opaque, with a checksum over the list it belongs to.

A cursor names the last row of a page. One of another list or user, or one cut short, is refused instead of returning
the wrong page. The checksum is no secret: whoever forges a cursor still sees only their own rows.
"""

import base64
import binascii
import hashlib
from typing import Annotated, Generic, TypeVar

import msgspec

from copydesk.errors import FieldError, InvalidCursorError
from copydesk.model.serialization import Struct

T = TypeVar("T")
PageSize = Annotated[int, msgspec.Meta(ge=1, le=100, description="takes 1 to 100")]
"""Items of one page."""

_CURSOR_VERSION = 1
_CHECKSUM_BYTES = 6
"""Bytes of the checksum."""

_MAX_DIGITS = 18
"""Digits of a whole number in a cursor; the database takes 64 bits."""


class Page(Struct, Generic[T], frozen=True):
    """Some of a list's items; `next_cursor` is None on the last page."""

    items: tuple[T, ...]
    next_cursor: str | None = None


def encode_cursor(last_id: str, *scope: object) -> str:
    """Return the cursor after row `last_id` of the list described by `scope` (its name, user and filters)."""
    body = msgspec.msgpack.encode([_CURSOR_VERSION, last_id])
    return base64.urlsafe_b64encode(body + _checksum(body, scope)).decode().rstrip("=")


def decode_cursor(cursor: str, *scope: object) -> str:
    """Return the row id a cursor names. Raise InvalidCursorError for one that belongs to another list."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        body, checksum = raw[:-_CHECKSUM_BYTES], raw[-_CHECKSUM_BYTES:]
        if checksum == _checksum(body, scope):
            # The version makes cursors of an older format invalid instead of misread.
            version, last = msgspec.msgpack.decode(body, type=tuple[int, str])
            if version == _CURSOR_VERSION:
                return last
    except (binascii.Error, ValueError, msgspec.DecodeError):
        pass
    raise _invalid_cursor()


def decode_whole_number(cursor: str, *scope: object) -> int:
    """Return the number that a cursor names a row by. Raise InvalidCursorError as `decode_cursor` does."""
    text = decode_cursor(cursor, *scope)
    # Anybody can make a cursor with a valid checksum.
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise _invalid_cursor()
    return int(text)


def _invalid_cursor() -> InvalidCursorError:
    return InvalidCursorError(FieldError("cursor", "is invalid; leave it out to start from the beginning"))


def _checksum(body: bytes, scope: tuple[object, ...]) -> bytes:
    # Not a signature: it detects a cursor of another list, or a truncated one.
    return hashlib.blake2b(body + repr(scope).encode(), digest_size=_CHECKSUM_BYTES, person=b"copydesk").digest()
