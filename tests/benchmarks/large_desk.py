"""Create a desk with any number of drafts, a million in a minute and a half; on PostgreSQL if that is measured.

Tables, indexes and triggers are the product's own. Indexes and triggers are dropped while rows are inserted; what the
triggers maintain is computed afterwards in one statement each.
"""

import asyncio
import random
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.draft import Checks, Field, Finding, Score, ScorePart, Severity, Status, StorySource, Trace
from copydesk.store.column_types import to_microseconds
from copydesk.store.database import open_database
from copydesk.store.migrate import prepare_database
from store_fixtures import postgresql_server

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
FUTURE = datetime(2090, 1, 1, tzinfo=UTC)
"""Start of scheduled times, so late that no job takes a draft for missed."""
DRAFT_INTERVAL = timedelta(minutes=5)
"""Interval between drafts: a million cover nine and a half years."""
PER_ITEM = 10
RARE_COUNT = 100
"""Number of drafts with a rare property, whatever the total."""
COMMON_WORD, RARE_WORD, MIDDLE_WORD = "harbour", "quagga", "lantern"
COMMON_TAG, OTHER_TAG, RARE_TAG = "sea", "land", "odd"
TAGS = (COMMON_TAG, OTHER_TAG, RARE_TAG, *(f"tag {number}" for number in range(40)))
SOURCES = 40
STATES = (
    *((Status.POSTED, 35), (Status.REJECTED, 25), (Status.PENDING_REVIEW, 15), (Status.APPROVED, 8)),
    *((Status.CHANGES_REQUESTED, 5), (Status.SCHEDULED, 4), (Status.AWAITING_REVIEW, 3), (Status.MISSED, 2)),
    *((Status.GENERATION_FAILED, 2), (Status.PENDING_REGENERATION, 1)),
)
_FAST = "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA cache_size = -400000; PRAGMA threads = 2;"
_COLUMNS = (
    *("id", "user_id", "item_id", "source_id", "source_type", "story_id", "format", "status", "origin", "confidence"),
    *("total_score", "created_at", "updated_at", "scheduled_at", "posted_at", "archived_at", "writer", "about", "text"),
    *("checks", "sentences", "score"),
)


class DeskIds(NamedTuple):
    """Ids in the new desk."""

    user: str
    common_source: str
    rare_source: str


class TableRows(NamedTuple):
    """Rows of a table, made as they are read."""

    table: str
    columns: tuple[str, ...]
    rows: Iterable[tuple[object, ...]]


COUNT_DRAFTS = """INSERT INTO draft_count (user_id, source_id, status, archived, drafts)
    SELECT user_id, coalesce(source_id, ''), status, archived_at IS NOT NULL, count(*) FROM draft GROUP BY 1, 2, 3, 4"""
"""What the triggers would have counted."""


def make_id(kind: int, number: int, time: datetime = NOW) -> str:
    """Return the id of row `number` of a kind, created at `time`."""
    milliseconds = round(time.timestamp() * 1000)
    digits = f"{milliseconds << 80 | 0x7 << 76 | kind << 64 | 0b10 << 62 | number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def make_draft_id(number: int, drafts: int) -> str:
    """Return the id of a draft; there is one every five minutes up to NOW."""
    return make_id(0, number, NOW - DRAFT_INTERVAL * (drafts - number))


def make_item_id(number: int, drafts: int) -> str:
    """Return the id of an item, created with its first draft."""
    return make_id(1, number, NOW - DRAFT_INTERVAL * (drafts - number * PER_ITEM))


IDS = DeskIds(user=make_id(2, 0), common_source=make_id(3, 0), rare_source=make_id(3, 1))


def build_database(home: Path, drafts: int) -> DeskIds:
    """Create the database of the desk in `home`: its file, or on PostgreSQL if the benchmark runs on that."""
    home.mkdir(exist_ok=True)
    if (server := postgresql_server()) is not None:
        from large_server_desk import fill_database

        server.copy_shared(home, f"copydesk_large_{drafts}", lambda connection: fill_database(connection, drafts))
    else:
        _build_file(home / "copydesk.db", drafts)
    return IDS


def _build_file(path: Path, drafts: int) -> None:
    asyncio.run(_prepare(path))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(_FAST)
        dropped = connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND type IN ('index', 'trigger')"
        ).fetchall()
        for kind, name, _ in dropped:
            connection.execute(f'DROP {kind} "{name}"')
        connection.execute("BEGIN")
        for table, columns, rows in make_rows(drafts):
            values = ", ".join("?" * len(columns))
            connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})", rows)
        connection.execute("COMMIT")
        for _, _, sql in dropped:
            connection.execute(sql)
        connection.execute("INSERT INTO draft_words (draft_words) VALUES ('rebuild')")
        connection.execute(COUNT_DRAFTS)
        connection.executescript("PRAGMA analysis_limit = 400; PRAGMA optimize; PRAGMA journal_mode = WAL;")


async def _prepare(path: Path) -> None:
    engines = open_database(path)
    await prepare_database(path, engines, NOW)
    await engines.close()


def make_rows(drafts: int) -> Iterator[TableRows]:
    """Yield the rows of each table, to be read in this order: their randomness is that of one generator."""
    at = to_microseconds(NOW)
    rng = random.Random(1)
    types = list(SOURCE_TYPES)
    items = max(1, drafts // PER_ITEM)
    yield TableRows("user", ("id", "name", "time_zone", "created_at"), [(IDS.user, "Ada", "UTC", at)])
    yield TableRows(
        "source",
        ("id", "user_id", "type", "name", "created_at", "updated_at"),
        [(make_id(3, n), IDS.user, types[n % len(types)], f"Source {n}", at, at) for n in range(SOURCES)],
    )
    yield TableRows("tag", ("id", "user_id", "name"), [(make_id(4, n), IDS.user, name) for n, name in enumerate(TAGS)])
    yield TableRows(
        "item",
        (
            *("id", "user_id", "source_id", "state", "story_id", "published", "seen", "ident", "alias", "canonical"),
            *("title", "summary", "text"),
        ),
        _items(rng, items, drafts),
    )
    yield TableRows("draft", _COLUMNS, _drafts(rng, drafts))
    yield TableRows("draft_tag", ("tag_id", "draft_id", "user_id"), sorted(_tags(drafts)))
    yield TableRows(
        "draft_image",
        ("id", "user_id", "draft_id", "url", "position", "source"),
        (
            (make_id(5, n), IDS.user, make_draft_id(n, drafts), "https://x.example/a.png", 0, "OG")
            for n in range(0, drafts, 3)
        ),
    )


def _source_number(number: int, drafts: int) -> int:
    if number % max(1, drafts // PER_ITEM // (RARE_COUNT // PER_ITEM)) == 0:
        return 1
    return 0 if number % 6 == 0 else 2 + number % (SOURCES - 2)


def _items(rng: random.Random, items: int, drafts: int) -> Iterator[tuple[object, ...]]:
    for number in range(items):
        at = to_microseconds(NOW - DRAFT_INTERVAL * (drafts - number * PER_ITEM))
        key, title = f"entry-{number}", f"Title of the {number}th story on {rng.choice(_PHRASES)}"
        source = make_id(3, _source_number(number, drafts))
        story = make_item_id(number, drafts)
        yield (
            story,
            IDS.user,
            source,
            "drafted",
            story,
            at,
            at,
            key,
            key,
            f"x.example/{number}",
            title,
            "Summary. " * 10,
            "Text. " * 10,
        )


def _drafts(rng: random.Random, drafts: int) -> Iterator[tuple[object, ...]]:
    states = [status.value for status, share in STATES for _ in range(share)]
    rare = max(1, drafts // RARE_COUNT)
    types = list(SOURCE_TYPES)
    for number in range(drafts):
        created = NOW - DRAFT_INTERVAL * (drafts - number)
        at, status = to_microseconds(created), states[rng.randrange(100)]
        has_time = status in ("posted", "scheduled", "missed")
        earliest = to_microseconds(FUTURE) if status == "scheduled" else at
        scheduled = earliest + rng.randrange(1, 14 * 86_400) * 1_000_000 if has_time else None
        item = number // PER_ITEM
        source, story = _source_number(item, drafts), make_item_id(item, drafts)
        kind = ("SHORT", "THREAD", "BLOG")[number % PER_ITEM % 3]
        phrases = " ".join(rng.choices(_PHRASES, k=3))
        word = RARE_WORD if number % rare == rare // 2 else ""
        tags = "\n".join(TAGS[tag] for tag in _tag_indexes(number, drafts))
        yield (
            *(make_draft_id(number, drafts), IDS.user, story, make_id(3, source), types[source % len(types)]),
            *(story, kind, status, "pipeline" if number % PER_ITEM < 3 else "regenerate", 0.7),
            *(rng.random(), at, at, scheduled, scheduled if status == "posted" else None),
            *(at if rng.random() < 0.1 else None, "offline", f"Title of the {item}th story\n{tags}\n"),
            *(f"{phrases} {word} https://x.example/{number}", _CHECKS, _SENTENCES, _SCORES[number % len(_SCORES)]),
        )


def _tags(drafts: int) -> Iterator[tuple[str, str, str]]:
    for number in range(drafts):
        for tag in _tag_indexes(number, drafts):
            yield make_id(4, tag), make_draft_id(number, drafts), IDS.user


def _tag_indexes(number: int, drafts: int) -> list[int]:
    """Return the indexes of the draft's tags in TAGS."""
    steps = {0: 5, 1: 7, 2: max(1, drafts // RARE_COUNT)}
    return [tag for tag, step in steps.items() if number % step == 0] + [3 + number * 7919 % (len(TAGS) - 3)]


def _make_phrases() -> list[str]:
    rng = random.Random(2)
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    words = ["".join(rng.choices(syllables, k=rng.randrange(1, 5))) for _ in range(5000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    phrases = [rng.choices(words, weights, k=13) for _ in range(2000)]
    for number, phrase in enumerate(phrases):
        if number % 3 == 0:
            phrase[4] = COMMON_WORD
        if number % 100 == 0:
            phrase[5] = MIDDLE_WORD
    return [" ".join(phrase).capitalize() + "." for phrase in phrases]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


_PHRASES = _make_phrases()
_NAMES = ("recency", "interest", "source", "popularity", "corroboration", "novelty", "preference")
_PARTS = tuple(ScorePart(name=name, value=0.89, weight=0.22, points=0.195, why="matches databases") for name in _NAMES)
_STORY_SOURCE = StorySource(
    item_id=make_id(1, 1),
    source_id=make_id(3, 1),
    name="The Lighthouse",
    type="rss",
    title="Quarrystone 3.0 is out: branches, time travel and half the memory",
    url="https://lighthouse.example/releases/quarrystone-3",
)
_SCORES = [_json(Score(total=0.1 * number, parts=_PARTS, sources=(_STORY_SOURCE,))) for number in range(10)]
_CHECKS = _json(
    Checks(ran=25, findings=(Finding(rule="alt", severity=Severity.INFO, message="Image 1 has no alt text."),))
)
_SENTENCES = _json(
    (
        Trace(
            text="Quarrystone 3.0 is out: branches, time travel and half the memory", field=Field.TITLE, start=0, end=65
        ),
        Trace(text="A branch of a 40 GB database takes 9 milliseconds to make", field=Field.TEXT, start=9, end=60),
        Trace(text="https://lighthouse.example/releases/quarrystone-3", field=Field.TEMPLATE),
    )
)
