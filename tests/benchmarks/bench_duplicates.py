"""Duplicate detection in a stream of 100,000 titles with planted variants."""

import random
import time
import tracemalloc
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import NamedTuple

from table_row import Row

from copydesk.ranking.stories import StoryIndex

TARGET = 5_000
"""Items per second on the larger stream."""
SIZES = (10_000, 100_000)
START = datetime(2026, 2, 1, tzinfo=UTC)
SOURCES = 50
VARIANT_SHARE = 0.1
NEW = "new"
KINDS = ("same address", "site's name at the end", "one word changed")


class Arrival(NamedTuple):
    """An item of the stream; `story` is the number of the first arrival of its story."""

    source: str
    title: str
    canonical: str
    published: datetime
    story: int
    kind: str
    summary: str = ""


def make_vocabulary(rng: random.Random, size: int = 20_000) -> list[str]:
    """Return made-up words, every fifth one a capitalised name."""
    syllables = [a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "or", "al")]
    unique: dict[str, None] = {}
    while len(unique) < size:
        unique["".join(rng.choices(syllables, k=rng.choice((1, 2, 2, 3, 3, 4))))] = None
    return [word.capitalize() if n % 5 == 4 else word for n, word in enumerate(unique)]


def make_stream(count: int, seed: int = 20260217) -> list[Arrival]:
    """Return `count` items over ten days, with word frequencies as in real text (Zipf's law)."""
    rng = random.Random(seed)
    words = make_vocabulary(rng)
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))
    arrivals: list[Arrival] = []
    for n in range(count):
        at = START + timedelta(days=10) * n / count
        if n > 100 and rng.random() < VARIANT_SHARE:
            arrivals.append(_variant(rng, arrivals[rng.randrange(max(0, n - 20_000), n)], words, at))
        else:
            title_words = dict.fromkeys(rng.choices(words, cum_weights=weights, k=rng.randint(7, 13)))
            title = " ".join(title_words)
            arrivals.append(
                Arrival(
                    f"s{n % SOURCES}", title[0].upper() + title[1:], f"https://s{n % SOURCES}.example/{n}", at, n, NEW
                )
            )
    return arrivals


def _variant(rng: random.Random, first: Arrival, vocabulary: list[str], index: datetime) -> Arrival:
    """Return the story of `first` as told by another source."""
    source = f"s{(int(first.source[1:]) + rng.randrange(1, SOURCES)) % SOURCES}"
    kind = rng.choice(KINDS)
    own_address = f"https://{source}.example/{first.story}-{rng.random()}"
    if kind == KINDS[0]:
        return Arrival(source, " ".join(rng.choices(vocabulary, k=8)), first.canonical, index, first.story, kind)
    if kind == KINDS[1]:
        return Arrival(source, f"{first.title} - The Example Post", own_address, index, first.story, kind)
    words = first.title.split(" ")
    lowercase = [index for index, word in enumerate(words) if index and word.islower()]
    if lowercase:
        words[rng.choice(lowercase)] = rng.choice([word for word in rng.choices(vocabulary, k=20) if word.islower()])
    return Arrival(source, " ".join(words), own_address, index, first.story, kind)


def add_summaries(arrivals: list[Arrival], seed: int = 20260218) -> list[Arrival]:
    """Return the stream with summaries of 25 words, half of them those of the story's first summary."""
    rng = random.Random(seed)
    words = make_vocabulary(rng)
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))
    summaries: dict[int, list[str]] = {}
    described = []
    for arrival in arrivals:
        own = rng.choices(words, cum_weights=weights, k=25)
        told = summaries.setdefault(arrival.story, own)
        described.append(arrival._replace(summary=" ".join([*told[:12], *own[12:]])))
    return described


class PassResult(NamedTuple):
    """The result of a pass over a stream."""

    rate: float
    """Items per second of processor time."""
    recall: dict[str, float]
    false_positives: float
    """Share of the new stories taken for an existing one."""


def index_stream(arrivals: list[Arrival]) -> PassResult:
    """Place every item of the stream, and measure time and accuracy."""
    index = StoryIndex()
    started = time.process_time()
    assigned = [
        index.assign(str(n), arrival.source, arrival.title, arrival.canonical, arrival.published, arrival.summary)
        for n, arrival in enumerate(arrivals)
    ]
    rate = len(arrivals) / (time.process_time() - started)
    hits, counts, false_positives = Counter[str](), Counter[str](), 0
    stories: list[str] = []
    for n, (arrival, story) in enumerate(zip(arrivals, assigned, strict=True)):
        stories.append(str(n) if story is None else story)
        counts[arrival.kind] += 1
        hits[arrival.kind] += stories[n] == stories[arrival.story]
        false_positives += arrival.kind == NEW and story is not None
    return PassResult(rate, {kind: hits[kind] / counts[kind] for kind in KINDS}, false_positives / counts[NEW])


def add_stored(arrivals: list[Arrival]) -> float:
    """Return the items per second for adding items of known stories, as at the start of a run."""
    index = StoryIndex()
    started = time.process_time()
    for n, arrival in enumerate(arrivals):
        index.add(str(n), arrival.source, arrival.title, arrival.canonical, arrival.published)
    return len(arrivals) / (time.process_time() - started)


def measure_memory(arrivals: list[Arrival]) -> tuple[float, float]:
    """Return the peak memory of the index, and its memory once 1,000 items arrived a month later; both in MiB."""
    later = [arrival._replace(published=arrival.published + timedelta(days=30)) for arrival in arrivals[:1000]]
    tracemalloc.start()
    try:
        index = StoryIndex()
        for n, arrival in enumerate(arrivals + later):
            index.add(str(n), arrival.source, arrival.title, arrival.canonical, arrival.published)
        remaining, peak = tracemalloc.get_traced_memory()
        return peak / 2**20, remaining / 2**20
    finally:
        tracemalloc.stop()


def measure() -> list[Row]:
    """Return the rows of the table."""
    streams = [make_stream(size) for size in SIZES]
    small, large = (index_stream(arrivals) for arrivals in streams)
    described = index_stream(add_summaries(streams[0]))
    stored_rate = add_stored(streams[1])
    recall = ", ".join(f"{share:.1%} {kind}" for kind, share in large.recall.items())
    peak, remaining = measure_memory(streams[1])
    return [
        Row(
            f"duplicates: {SIZES[1]:,} titles as they come",
            f"{large.rate:,.0f} items/s",
            f"{small.rate:,.0f} items/s on {SIZES[0]:,}",
            f"{large.rate / small.rate:.2f}",
            f"{TARGET:,} items/s",
            large.rate >= TARGET,
        ),
        Row(
            f"duplicates: {SIZES[0]:,} titles with summaries",
            f"{described.rate:,.0f} items/s",
            f"{small.rate:,.0f} items/s without",
            f"{described.rate / small.rate:.2f}",
            "",
            None,
        ),
        Row("duplicates: variants found", recall, "", "", "", None),
        Row(
            "duplicates: strangers taken for one",
            f"{large.false_positives:.2%}",
            "",
            "",
            "none",
            large.false_positives == 0,
        ),
        Row(
            "duplicates: stored items put in",
            f"{stored_rate:,.0f} items/s",
            f"{large.rate:,.0f} items/s placed",
            f"{stored_rate / large.rate:.1f}",
            "",
            None,
        ),
        Row(
            f"duplicates: memory of {SIZES[1]:,} titles",
            f"{peak:.0f} MiB",
            f"{remaining:.1f} MiB when the window has moved on",
            f"{remaining / peak:.3f}",
            "",
            None,
        ),
    ]
