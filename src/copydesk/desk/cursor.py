"""Pagination cursors: opaque, with a checksum over the list they belong to.

A cursor names the last row of a page. One of another list or user, or one cut short, is refused instead of returning
the wrong page. The checksum is no secret: whoever forges a cursor still sees only their own rows.
"""

import base64
import binascii
import hashlib

import msgspec

from copydesk.errors import FieldError, InvalidError

_VERSION = 1
_CHECKSUM_BYTES = 6
"""Bytes of the checksum."""


def encode(last_id: str, *scope: object) -> str:
    """Return the cursor after row `last_id` of the list described by `scope` (its name, user and filters)."""
    body = msgspec.msgpack.encode([_VERSION, last_id])
    return base64.urlsafe_b64encode(body + _checksum(body, scope)).decode().rstrip("=")


def decode(cursor: str, *scope: object) -> str:
    """Return the row id a cursor names. Raise InvalidError for one that belongs to another list."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        body, checksum = raw[:-_CHECKSUM_BYTES], raw[-_CHECKSUM_BYTES:]
        if checksum == _checksum(body, scope):
            # The version makes cursors of an older format invalid instead of misread.
            version, last = msgspec.msgpack.decode(body, type=tuple[int, str])
            if version == _VERSION:
                return last
    except (binascii.Error, ValueError, msgspec.DecodeError):
        pass
    raise InvalidError(FieldError("cursor", "is invalid; leave it out to start from the beginning"))


def _checksum(body: bytes, scope: tuple[object, ...]) -> bytes:
    # Not a signature: it detects a cursor of another list, or a truncated one.
    return hashlib.blake2b(body + repr(scope).encode(), digest_size=_CHECKSUM_BYTES, person=b"copydesk").digest()
