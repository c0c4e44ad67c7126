"""Telling two bodies apart."""

from hashlib import blake2b

_PIECE = 2047


def digest(body: bytes, size: int = 16) -> bytes:
    """`size` bytes of BLAKE2b: other ones for another body.

    In pieces below 2 KiB. For more Python lets go of the interpreter, and whoever hashes waits for its turn again: the
    event loop, while others store and rank.
    """
    made = blake2b(digest_size=size)
    for start in range(0, len(body), _PIECE):
        made.update(body[start : start + _PIECE])
    return made.digest()
