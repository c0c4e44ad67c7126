"""Hash response bodies to detect changes."""

from hashlib import blake2b

_CHUNK = 2047


def digest(body: bytes, size: int = 16) -> bytes:
    """Return `size` bytes of BLAKE2b of `body`.

    Hashing is done in chunks below 2 KiB: for larger ones CPython releases the GIL and has to wait to get it back,
    which delays the event loop while other threads store and rank.
    """
    state = blake2b(digest_size=size)
    for start in range(0, len(body), _CHUNK):
        state.update(body[start : start + _CHUNK])
    return state.digest()
