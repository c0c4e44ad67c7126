"""Reads the body of an answer within bounds: what comes over the wire, and what it unpacks to.

httpx unpacks as much as the server packed: two megabytes of gzip become two gigabytes in memory. Here the unpacking
stops at the limit, and the pieces in between are small.
"""

import asyncio
import zlib
from collections.abc import AsyncIterable

from copydesk.errors import AnswerError, TooLargeError
from copydesk.network import TRIES_AGAIN

PIECE = 256 * 1024
"""Bytes that one step of unpacking may give."""
MAX_MEMBERS = 1000
"""Of one gzip stream: each empty one costs its reader more than its sender."""
BREATH = 256
"""After so many chunks others get a turn: a server may send its body byte by byte."""

_GZIP, _ZLIB, _RAW = 31, 15, -15
_GZIP_MAGIC = b"\x1f\x8b"


async def read_body(
    chunks: AsyncIterable[bytes], *, host: str, encoding: str, length: str, max_wire: int, max_body: int
) -> bytes:
    """The body that `chunks` are, unpacked.

    `encoding` and `length` are the answer's Content-Encoding and Content-Length, empty without one. A packed body may
    have `max_wire` bytes and unpack to `max_body`; one that is not packed may have `max_body`. Raises TooLargeError,
    and AnswerError for a body that cannot be unpacked.
    """
    unpack = _unpacker(encoding.strip().lower(), host, max_body)
    packed = isinstance(unpack, _Packed)
    limit = max_wire if packed else max_body
    if length.isdecimal() and int(length[:20]) > limit:
        raise _too_large(host, limit, packed=packed)
    wire = count = 0
    async for chunk in chunks:
        wire += len(chunk)
        if wire > limit:
            raise _too_large(host, limit, packed=packed)
        unpack.feed(chunk)
        count += 1
        if count % BREATH == 0:
            await asyncio.sleep(0)
    return unpack.finish()


class _Plain:
    """A body that is not packed."""

    def __init__(self, host: str, limit: int) -> None:
        self.host = host
        self.limit = limit
        # Not a list of pieces: a million pieces of two bytes would weigh 35 bytes each.
        self.out = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next chunk."""
        self.add(data)

    def add(self, piece: bytes) -> None:
        """Keep a piece of the unpacked body."""
        if len(self.out) + len(piece) > self.limit:
            raise _too_large(self.host, self.limit)
        self.out += piece

    def finish(self) -> bytes:
        """The whole body."""
        return bytes(self.out)


class _Packed(_Plain):
    """A body packed with gzip or deflate."""

    def __init__(self, host: str, limit: int, *, gzip: bool) -> None:
        super().__init__(host, limit)
        self._gzip = gzip
        self._waiting = b""
        self._stream: zlib._Decompress | None = None
        self._members = 0

    def feed(self, data: bytes) -> None:
        """Unpack the next chunk."""
        data = self._waiting + data
        self._waiting = b""
        while data:
            if self._stream is None or self._stream.eof:
                if len(data) < 2:  # which kind of stream begins here is seen from two bytes
                    self._waiting = data
                    return
                if not self._begin(data):
                    return
            data = self._step(data)

    def finish(self) -> bytes:
        """The whole body; raises AnswerError where its end is missing."""
        if self._stream is not None and not self._stream.eof:
            self._step(b"")  # zlib may hold back the last few bytes when a piece is full
        if (self._stream is None and self._waiting) or (self._stream is not None and not self._stream.eof):
            raise _broken(self.host)
        return super().finish()

    def _begin(self, data: bytes) -> bool:
        """Begin a stream with `data`; False where only padding follows the last one."""
        if self._members and not (self._gzip and data.startswith(_GZIP_MAGIC)):
            return False
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise _broken(self.host)
        self._stream = zlib.decompressobj(_GZIP if self._gzip else _deflate_kind(data))
        return True

    def _step(self, data: bytes) -> bytes:
        """Unpack a piece of `data`; returns what is left of it."""
        assert self._stream is not None
        try:
            self.add(self._stream.decompress(data, PIECE))
        except zlib.error:
            raise _broken(self.host) from None
        return self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail


def _unpacker(encoding: str, host: str, limit: int) -> _Plain:
    if encoding in ("", "identity"):
        return _Plain(host, limit)
    if encoding in ("gzip", "x-gzip"):
        return _Packed(host, limit, gzip=True)
    if encoding == "deflate":
        return _Packed(host, limit, gzip=False)
    raise AnswerError(
        f"{host} packed its answer in a way that it was not asked for.",
        hint=f"This is the site's mistake; {TRIES_AGAIN}",
    )


def _deflate_kind(data: bytes) -> int:
    """How `data` is packed: deflate means zlib (RFC 9110, 8.4.1.2), but some servers send it without zlib's header."""
    wrapped = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
    return _ZLIB if wrapped else _RAW


def _broken(host: str) -> AnswerError:
    return AnswerError(f"The answer of {host} is damaged: it cannot be unpacked.", hint=TRIES_AGAIN)


def _too_large(host: str, limit: int, *, packed: bool = False) -> TooLargeError:
    size = f"{limit // 2**20} MB" if limit >= 2**20 else f"{limit // 2**10} KB"
    if packed:
        return TooLargeError(
            f"The answer of {host} is larger than {size} even while packed, which is the most that is read.",
            hint="Look for a smaller feed of the same site.",
        )
    return TooLargeError(
        f"The answer of {host} is larger than {size}.",
        hint="Look for a smaller feed of the same site, or raise network.max_body.",
    )
