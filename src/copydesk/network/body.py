"""Read a response body within limits on its size, compressed and decompressed.

httpx decompresses whatever a server sends: two megabytes of gzip become two gigabytes in memory. Here decompression
works in small pieces and stops at the limit.
"""

import asyncio
import zlib
from collections.abc import AsyncIterable

from copydesk.errors import ResponseStatusError, ResponseTooLargeError
from copydesk.network import RETRY_HINT

MAX_PIECE = 256 * 1024
"""Bytes that one decompression step may produce."""
MAX_MEMBERS = 1000
"""Members of one gzip stream: an empty member costs the reader more than the sender."""
CHUNKS_PER_YIELD = 256
"""Yield to the event loop after this many chunks: a server may send its body byte by byte."""

_GZIP, _ZLIB, _RAW = 31, 15, -15
_GZIP_MAGIC = b"\x1f\x8b"


async def read_body(
    chunks: AsyncIterable[bytes], *, host: str, encoding: str, length: str, max_wire: int, max_body: int
) -> bytes:
    """Return the decompressed body.

    `encoding` and `length` are the Content-Encoding and Content-Length headers, empty if missing. A compressed body may
    have `max_wire` bytes and decompress to `max_body`; an uncompressed one may have `max_body`. Raise
    `ResponseTooLargeError` beyond that and `ResponseStatusError` if the body is corrupt.
    """
    reader = _body_reader(encoding.strip().lower(), host, max_body)
    compressed = isinstance(reader, _CompressedBody)
    limit = max_wire if compressed else max_body
    if length.isdecimal() and int(length[:20]) > limit:
        raise _too_large(host, limit, compressed=compressed)
    received = chunk_count = 0
    async for chunk in chunks:
        received += len(chunk)
        if received > limit:
            raise _too_large(host, limit, compressed=compressed)
        reader.feed(chunk)
        chunk_count += 1
        if chunk_count % CHUNKS_PER_YIELD == 0:
            await asyncio.sleep(0)
    return reader.finish()


class _PlainBody:
    """Collects an uncompressed body."""

    def __init__(self, host: str, limit: int) -> None:
        self.host = host
        self.limit = limit
        # Not a list of chunks: a million chunks of two bytes would take 35 bytes each.
        self.out = bytearray()

    def feed(self, data: bytes) -> None:
        """Process the next chunk."""
        self.add(data)

    def add(self, piece: bytes) -> None:
        """Append decompressed bytes. Raise `ResponseTooLargeError` beyond the limit."""
        if len(self.out) + len(piece) > self.limit:
            raise _too_large(self.host, self.limit)
        self.out += piece

    def finish(self) -> bytes:
        """Return the whole body."""
        return bytes(self.out)


class _CompressedBody(_PlainBody):
    """Decompresses a gzip or deflate body."""

    def __init__(self, host: str, limit: int, *, gzip: bool) -> None:
        super().__init__(host, limit)
        self._gzip = gzip
        self._pending = b""
        self._stream: zlib._Decompress | None = None
        self._members = 0

    def feed(self, data: bytes) -> None:
        """Decompress the next chunk."""
        data = self._pending + data
        self._pending = b""
        while data:
            if self._stream is None or self._stream.eof:  # a gzip body may have several members
                if len(data) < 2:  # the stream's format is visible from two bytes
                    self._pending = data
                    return
                if not self._start_stream(data):
                    return
            data = self._decompress(data)

    def finish(self) -> bytes:
        """Return the whole body. Raise `ResponseStatusError` if its end is missing."""
        if self._stream is not None and not self._stream.eof:
            self._decompress(b"")  # zlib may hold back the last bytes when its output limit is reached
        if (self._stream is None and self._pending) or (self._stream is not None and not self._stream.eof):
            raise _corrupt_body(self.host)
        return super().finish()

    def _start_stream(self, data: bytes) -> bool:
        """Start a new stream with `data`. Return False if only padding follows the last one."""
        if self._members and not (self._gzip and data.startswith(_GZIP_MAGIC)):
            return False
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise _corrupt_body(self.host)
        self._stream = zlib.decompressobj(_GZIP if self._gzip else _deflate_window_bits(data))
        return True

    def _decompress(self, data: bytes) -> bytes:
        """Decompress a piece of `data` and return the rest of it."""
        assert self._stream is not None
        try:
            self.add(self._stream.decompress(data, MAX_PIECE))
        except zlib.error:
            raise _corrupt_body(self.host) from None
        return self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail


def _body_reader(encoding: str, host: str, limit: int) -> _PlainBody:
    if encoding in ("", "identity"):
        return _PlainBody(host, limit)
    if encoding in ("gzip", "x-gzip"):
        return _CompressedBody(host, limit, gzip=True)
    if encoding == "deflate":
        return _CompressedBody(host, limit, gzip=False)
    raise ResponseStatusError(
        f"{host} sent an unsupported compression.",
        hint=f"This is a fault of the site. {RETRY_HINT}",
    )


def _deflate_window_bits(data: bytes) -> int:
    """Return zlib's window bits for `data`.

    Deflate means zlib (RFC 9110, 8.4.1.2), but some servers omit its header.
    """
    has_zlib_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
    return _ZLIB if has_zlib_header else _RAW


def _corrupt_body(host: str) -> ResponseStatusError:
    return ResponseStatusError(f"The response of {host} is damaged: it cannot be decompressed.", hint=RETRY_HINT)


def _too_large(host: str, limit: int, *, compressed: bool = False) -> ResponseTooLargeError:
    size = f"{limit // 2**20} MB" if limit >= 2**20 else f"{limit // 2**10} KB"
    if compressed:
        return ResponseTooLargeError(
            f"The compressed response of {host} is larger than the limit of {size}.",
            hint="Use a smaller feed of the site.",
        )
    return ResponseTooLargeError(
        f"The response of {host} is larger than {size}.",
        hint="Use a smaller feed of the site, or raise network.max_body.",
    )
