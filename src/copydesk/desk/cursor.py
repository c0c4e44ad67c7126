"""Cursors: where the next page of a list begins, in a form that only this service makes.

A cursor names the last row that was shown and the list that it belongs to, so that one of another list, or one cut
short, is refused instead of answering with the wrong page. It is no secret: whoever makes one up sees only rows of
their own.
"""

import base64
import binascii
import hashlib

import msgspec

from copydesk.errors import FieldError, InvalidError

_VERSION = 1
_CHECK = 6
"""Bytes of the checksum."""


def write(last: str, *listed: object) -> str:
    """The cursor after the row `last` of the list that `listed` (its name, its filters) describes."""
    body = msgspec.msgpack.encode([_VERSION, last])
    return base64.urlsafe_b64encode(body + _check(body, listed)).decode().rstrip("=")


def read(cursor: str, *listed: object) -> str:
    """The row that the cursor names; InvalidError for one that this list did not make."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        body, check = raw[:-_CHECK], raw[-_CHECK:]
        if check == _check(body, listed):
            version, last = msgspec.msgpack.decode(body, type=tuple[int, str])
            if version == _VERSION:
                return last
    except (binascii.Error, ValueError, msgspec.DecodeError):
        pass
    raise InvalidError(FieldError("cursor", "is not one that this list gave; leave it out to start anew"))


def _check(body: bytes, listed: tuple[object, ...]) -> bytes:
    return hashlib.blake2b(body + repr(listed).encode(), digest_size=_CHECK, person=b"copydesk").digest()
