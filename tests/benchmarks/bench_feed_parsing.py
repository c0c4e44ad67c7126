"""CPU time per entry of the captured feeds, compared with feedparser.

Measured twice: from bytes to an entry's fields with their markup (feedparser cleans it, which is part of its time),
and further to an entry as stored, with plain text, dates and absolute URLs.
"""

import io
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import feedparser
from table_row import Row

from copydesk.ingest.encoding import to_utf8
from copydesk.ingest.feed.expat_parser import parse_xml_feed
from copydesk.ingest.feed.parse import parse_strict

TARGET = 25
FEEDS = Path(__file__).resolve().parents[2] / ".." / "shared" / "feeds"
ROUNDS = 5


def measure() -> list[Row]:
    """Return the best of interleaved rounds; nothing without the captured feeds."""
    bodies = [path.read_bytes() for path in sorted(FEEDS.glob("*.xml"))]
    if not bodies:
        return []
    field_times, stored_times, feedparser_times = [], [], []
    for _ in range(ROUNDS):
        field_times += [seconds_per_entry(count_parsed, bodies) for _ in range(3)]
        stored_times += [seconds_per_entry(count_stored, bodies) for _ in range(3)]
        feedparser_times.append(seconds_per_entry(count_feedparser, bodies))
    size = f"{len(bodies)} feeds, {sum(map(len, bodies)) / 1e6:.1f} MB"
    return [
        make_row(
            f"parse: CPU for one entry, bytes to fields ({size})", min(field_times), min(feedparser_times), TARGET
        ),
        make_row("the same and beyond: to plain text, as it is stored", min(stored_times), min(feedparser_times), None),
    ]


def make_row(label: str, ours: float, theirs: float, target: int | None) -> Row:
    """Return a row of the table; times are in seconds."""
    ratio = theirs / ours
    return Row(
        label=label,
        ours=f"{ours * 1e6:.0f} µs",
        baseline=f"{theirs * 1e6:.0f} µs (feedparser)",
        ratio=f"{ratio:.0f} times less",
        target=f"{target} times less" if target else "none",
        ok=ratio >= target if target else None,
    )


def seconds_per_entry(parse: Callable[[bytes], int], bodies: Iterable[bytes]) -> float:
    """Return this process's CPU seconds for all bodies divided by the entries found in them."""
    started = time.process_time()
    entries = sum(map(parse, bodies))
    return (time.process_time() - started) / entries


def count_parsed(body: bytes) -> int:
    """Return the number of entries found by the strict parser."""
    return len(parse_xml_feed(to_utf8(body, None), 10_000).entries)


def count_stored(body: bytes) -> int:
    """Return the number of entries, prepared for storage."""
    return len(parse_strict(body, charset=None, base_url="https://feed.example/").entries)


def count_feedparser(body: bytes) -> int:
    """Return the number of entries found by feedparser with its defaults."""
    return len(feedparser.parse(io.BytesIO(body)).entries)


if __name__ == "__main__":
    for line in measure():
        print(*line, sep=" | ")
