"""Generated images for the sample's sources: a bar chart whose colors depend on the URL."""

import struct
import zlib
from functools import cache

WIDTH, HEIGHT, BARS = 600, 315, 12


@cache
def generate_png(address: str) -> bytes:
    """Return a PNG for the address; equal addresses give equal images."""
    seed = zlib.crc32(address.encode())
    colours = [
        (40 + (seed >> shift) % 120, 60 + (seed >> shift + 3) % 120, 90 + (seed >> shift + 6) % 120) for shift in (0, 8)
    ]
    heights = [HEIGHT * (2 + (seed >> bar) % 7) // 10 for bar in range(BARS)]
    rows = bytearray()
    for y in range(HEIGHT):
        rows.append(0)  # PNG filter type 0: none
        for height in heights:
            rows += bytes(colours[y >= HEIGHT - height]) * (WIDTH // BARS)
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(rows), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
