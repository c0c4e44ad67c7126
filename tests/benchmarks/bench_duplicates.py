"""Duplicates: a stream of 100,000 titles with planted variants, found as they come in."""

import random
import time
import tracemalloc
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import NamedTuple

from benchmarks_table import Row

from copydesk.ranking.duplicates import StoryIndex

TARGET = 4_000
"""Items a second on the larger stream."""
SIZES = (10_000, 100_000)
START = datetime(2026, 2, 1, tzinfo=UTC)
SOURCES = 50
VARIANT_SHARE = 0.1
NEW = "new"
KINDS = ("same address", "site's name at the end", "one word changed")


class Arrival(NamedTuple):
    """One item of the stream; `story` is the number of the arrival that told it first."""

    source: str
    title: str
    canonical: str
    published: datetime
    story: int
    kind: str


def vocabulary(rng: random.Random, size: int = 20_000) -> list[str]:
    """Made-up words, each fifth one a name, which is capitalised."""
    syllables = [a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "or", "al")]
    seen: dict[str, None] = {}
    while len(seen) < size:
        seen["".join(rng.choices(syllables, k=rng.choice((1, 2, 2, 3, 3, 4))))] = None
    return [word.capitalize() if n % 5 == 4 else word for n, word in enumerate(seen)]


def stream(count: int, seed: int = 20260217) -> list[Arrival]:
    """`count` items over ten days, words drawn as in real text (the n-th most common one 1/n as often as the first)."""
    rng = random.Random(seed)
    known = vocabulary(rng)
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(known))))
    arrivals: list[Arrival] = []
    for n in range(count):
        at = START + timedelta(days=10) * n / count
        if n > 100 and rng.random() < VARIANT_SHARE:
            arrivals.append(_variant(rng, arrivals[rng.randrange(max(0, n - 20_000), n)], known, at))
        else:
            drawn = dict.fromkeys(rng.choices(known, cum_weights=weights, k=rng.randint(7, 13)))
            title = " ".join(drawn)
            arrivals.append(
                Arrival(
                    f"s{n % SOURCES}", title[0].upper() + title[1:], f"https://s{n % SOURCES}.example/{n}", at, n, NEW
                )
            )
    return arrivals


def _variant(rng: random.Random, first: Arrival, known: list[str], at: datetime) -> Arrival:
    """The story of `first` as another source tells it."""
    source = f"s{(int(first.source[1:]) + rng.randrange(1, SOURCES)) % SOURCES}"
    kind = rng.choice(KINDS)
    own_address = f"https://{source}.example/{first.story}-{rng.random()}"
    if kind == KINDS[0]:
        return Arrival(source, " ".join(rng.choices(known, k=8)), first.canonical, at, first.story, kind)
    if kind == KINDS[1]:
        return Arrival(source, f"{first.title} - The Example Post", own_address, at, first.story, kind)
    words = first.title.split(" ")
    common = [at for at, word in enumerate(words) if at and word.islower()]
    if common:
        words[rng.choice(common)] = rng.choice([word for word in rng.choices(known, k=20) if word.islower()])
    return Arrival(source, " ".join(words), own_address, at, first.story, kind)


class Found(NamedTuple):
    """What a pass over a stream brought."""

    rate: float
    """Items a second, of processor time."""
    recall: dict[str, float]
    wrong: float
    """Share of the new stories that were taken for a known one."""


def place_all(arrivals: list[Arrival]) -> Found:
    """Place every item of the stream, timed."""
    index = StoryIndex()
    started = time.process_time()
    placed = [index.place(str(n), a.source, a.title, a.canonical, a.published) for n, a in enumerate(arrivals)]
    rate = len(arrivals) / (time.process_time() - started)
    hits, counts, wrong = Counter[str](), Counter[str](), 0
    stories: list[str] = []
    for n, (arrival, story) in enumerate(zip(arrivals, placed, strict=True)):
        stories.append(str(n) if story is None else story)
        counts[arrival.kind] += 1
        hits[arrival.kind] += stories[n] == stories[arrival.story]
        wrong += arrival.kind == NEW and story is not None
    return Found(rate, {kind: hits[kind] / counts[kind] for kind in KINDS}, wrong / counts[NEW])


def add_all(arrivals: list[Arrival]) -> float:
    """Items a second where the stories are known already, as when a run begins."""
    index = StoryIndex()
    started = time.process_time()
    for n, each in enumerate(arrivals):
        index.add(str(n), each.source, each.title, each.canonical, each.published)
    return len(arrivals) / (time.process_time() - started)


def memory(arrivals: list[Arrival]) -> tuple[float, float]:
    """MiB that the index takes at most, and what it takes when a month later 1,000 items have come in."""
    later = [each._replace(published=each.published + timedelta(days=30)) for each in arrivals[:1000]]
    tracemalloc.start()
    try:
        index = StoryIndex()
        for n, each in enumerate(arrivals + later):
            index.add(str(n), each.source, each.title, each.canonical, each.published)
        left, peak = tracemalloc.get_traced_memory()
        return peak / 2**20, left / 2**20
    finally:
        tracemalloc.stop()


def measure() -> list[Row]:
    """The rows of the benchmark table."""
    streams = [stream(size) for size in SIZES]
    small, large = (place_all(each) for each in streams)
    known = add_all(streams[1])
    recall = ", ".join(f"{share:.1%} {kind}" for kind, share in large.recall.items())
    peak, left = memory(streams[1])
    return [
        Row(
            f"duplicates: {SIZES[1]:,} titles as they come",
            f"{large.rate:,.0f} items/s",
            f"{small.rate:,.0f} items/s on {SIZES[0]:,}",
            f"{large.rate / small.rate:.2f}",
            f"{TARGET:,} items/s",
            large.rate >= TARGET,
        ),
        Row("duplicates: variants found", recall, "", "", "", None),
        Row("duplicates: strangers taken for one", f"{large.wrong:.2%}", "", "", "none", large.wrong == 0),
        Row(
            "duplicates: stored items put in",
            f"{known:,.0f} items/s",
            f"{large.rate:,.0f} items/s placed",
            f"{known / large.rate:.1f}",
            "",
            None,
        ),
        Row(
            f"duplicates: memory of {SIZES[1]:,} titles",
            f"{peak:.0f} MiB",
            f"{left:.1f} MiB when the window has moved on",
            f"{left / peak:.3f}",
            "",
            None,
        ),
    ]
