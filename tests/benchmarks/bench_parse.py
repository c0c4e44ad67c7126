"""Parsing: CPU for each entry of the captured feeds, plain text included, beside feedparser as it comes."""

import io
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import feedparser
from benchmarks_table import Row

from copydesk.ingest.feed import parse_strictly

TARGET = 25
FEEDS = Path(__file__).resolve().parents[2] / ".." / "shared" / "feeds"
ROUNDS = 5


def measure() -> list[Row]:
    """Both sides in turns, the best round of each; nothing where the captured feeds are not there."""
    bodies = [path.read_bytes() for path in sorted(FEEDS.glob("*.xml"))]
    if not bodies:
        return []
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours += [seconds_per_entry(copydesk, bodies) for _ in range(3)]
        theirs.append(seconds_per_entry(by_feedparser, bodies))
    ratio = min(theirs) / min(ours)
    size = sum(map(len, bodies))
    return [
        Row(
            what=f"CPU to parse one entry, of {len(bodies)} feeds with {size / 1e6:.1f} MB",
            ours=f"{min(ours) * 1e6:.0f} µs",
            theirs=f"{min(theirs) * 1e6:.0f} µs (feedparser)",
            ratio=f"{ratio:.1f}",
            target=f"{TARGET} times less",
            ok=ratio >= TARGET,
        )
    ]


def seconds_per_entry(parse: Callable[[bytes], int], bodies: Iterable[bytes]) -> float:
    """CPU seconds of this process for all bodies, divided by the entries that were found in them."""
    start = time.process_time()
    entries = sum(map(parse, bodies))
    return (time.process_time() - start) / entries


def copydesk(body: bytes) -> int:
    """How many entries we find; each has its plain text, its date and its addresses."""
    return len(parse_strictly(body, charset=None, base_url="https://feed.example/").entries)


def by_feedparser(body: bytes) -> int:
    """How many feedparser finds, with its defaults; they are cleaned HTML."""
    return len(feedparser.parse(io.BytesIO(body)).entries)


if __name__ == "__main__":
    for row in measure():
        print(*row, sep=" | ")
