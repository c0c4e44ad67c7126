"""Finding drafts among a thousand and among a million: pages by each filter, searches, counts.

A page is what `desk.drafts.list` answers, drafts of the model with their pictures and tags; beside it stands the same
by hand: SQL on Python's sqlite3, as rows, with all those columns.
"""

import asyncio
import gc
import sqlite3
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import closing
from datetime import timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks_table import Row
from many_drafts import (
    APART,
    COMMON_TAG,
    COMMON_WORD,
    NOW,
    OTHER_TAG,
    RARE_TAG,
    RARE_WORD,
    Made,
    build,
)

from copydesk.desk import Desk, cursor, open_desk
from copydesk.model.filters import checked_filters
from copydesk.settings import load
from copydesk.store.listed import PLAIN
from copydesk.store.types import microseconds

FEW, MANY = 1_000, 1_000_000
PAGE, PASSES, ROUNDS = 25, 4, 50
SEARCHES = {"a common word": COMMON_WORD, "a rare word": RARE_WORD, "both": f"{COMMON_WORD} {RARE_WORD}"}
SQL_TARGET, LAST_TARGET, GROWTH_TARGET, SEARCH_TARGET, COUNT_TARGET = 3.0, 1.2, 1.5, 50.0, 5.0
_COLUMNS = ", ".join(f"draft.{name}" for name in PLAIN) + ", item.title, draft.source_type"
_TAGGED = "JOIN draft_tag {0} ON {0}.draft_id = draft.id AND {0}.tag_id = (SELECT id FROM tag WHERE name = ?)"


class Filter(NamedTuple):
    """A filter, and the same by hand."""

    name: str
    asked: dict[str, Any]
    where: str
    values: tuple[object, ...]
    tags: tuple[str, ...] = ()

    def sql(self, what: str = _COLUMNS, order: str = "DESC") -> str:
        """The statement for the newest drafts, or the oldest."""
        joined = " ".join(_TAGGED.format(f"tag{place}") for place in range(len(self.tags)))
        by = "tag0.draft_id" if self.tags else "draft.id"
        return f"""SELECT {what} FROM draft {joined} JOIN item ON item.id = draft.item_id
            WHERE {self.where} ORDER BY {by} {order} LIMIT ?"""


def filters(made: Made, drafts: int) -> list[Filter]:
    """The filters that are measured."""
    start = NOW - APART * (drafts // 2)
    window = {"scheduled_after": start, "scheduled_before": start + timedelta(days=2)}
    between = (made.user, *(microseconds(moment) for moment in window.values()))
    mine = "draft.user_id = ?"
    of_source = f"{mine} AND draft.source_id = ?"
    return [
        Filter("no filter", {}, mine, (made.user,)),
        Filter("status", {"status": "approved"}, f"{mine} AND draft.status = ?", (made.user, "approved")),
        Filter("format", {"format": "BLOG"}, f"{mine} AND draft.format = ?", (made.user, "BLOG")),
        Filter("a large source", {"source_id": made.common_source}, of_source, (made.user, made.common_source)),
        Filter("a small source", {"source_id": made.rare_source}, of_source, (made.user, made.rare_source)),
        Filter("type of source", {"source_type": "reddit"}, f"{mine} AND draft.source_type = ?", (made.user, "reddit")),
        Filter("a common tag", {"tags": COMMON_TAG}, "true", (), (COMMON_TAG,)),
        Filter("a rare tag", {"tags": RARE_TAG}, "true", (), (RARE_TAG,)),
        Filter("two tags", {"tags": (COMMON_TAG, OTHER_TAG)}, "true", (), (COMMON_TAG, OTHER_TAG)),
        Filter("archived", {"archived": "only"}, f"{mine} AND draft.archived_at IS NOT NULL", (made.user,)),
        Filter("not archived", {"archived": "exclude"}, f"{mine} AND draft.archived_at IS NULL", (made.user,)),
        Filter("two days of the schedule", window, f"{mine} AND scheduled_at >= ? AND scheduled_at < ?", between),
        Filter(
            "status and format",
            {"status": "posted", "format": "SHORT"},
            f"{mine} AND draft.status = ? AND draft.format = ?",
            (made.user, "posted", "SHORT"),
        ),
    ]


class Page(NamedTuple):
    """Milliseconds of a filter's pages."""

    ours: float
    by_hand: float
    last: float


def measure() -> list[Row]:
    """The rows of the table."""
    with TemporaryDirectory() as folder:
        few, _ = _measured(Path(folder) / "few", FEW)
        many, rest = _measured(Path(folder) / "many", MANY)
    return [_row(name, page, few[name]) for name, page in many.items()] + rest


def _row(name: str, page: Page, few: Page) -> Row:
    slower, last, growth = page.ours / page.by_hand, page.last / page.ours, page.ours / few.ours
    return Row(
        f"page of {PAGE} of {MANY:,} drafts: {name}",
        f"{page.ours:.2f} ms",
        f"SQL by hand {page.by_hand:.2f} ms",
        f"{slower:.1f} times; last page {last:.2f} of the first; {growth:.2f} of a page of {FEW:,}",
        f"at most {SQL_TARGET:g}, {LAST_TARGET:g}, {GROWTH_TARGET:g}",
        slower <= SQL_TARGET and last <= LAST_TARGET and growth <= GROWTH_TARGET,
    )


def _measured(home: Path, drafts: int) -> tuple[dict[str, Page], list[Row]]:
    return asyncio.run(_pages(home, build(home / "copydesk.db", drafts), drafts))


async def _pages(home: Path, made: Made, drafts: int) -> tuple[dict[str, Page], list[Row]]:
    async with open_desk(load({}, home)) as desk:
        assert desk.ground.user_id == made.user
        # As the command line and the console do.
        gc.freeze()
        with closing(sqlite3.connect(home / "copydesk.db")) as connection:
            every = filters(made, drafts)
            # Several times over all of them: what else the machine does for a moment then hits no filter alone.
            taken = [{each.name: await _page(desk, connection, each) for each in every} for _ in range(PASSES)]
        pages = {each.name: _typical(measured[each.name] for measured in taken) for each in every}
        return pages, await _others(desk)


async def _page(desk: Desk, connection: sqlite3.Connection, filter: Filter) -> list[Page]:
    """The first page and the last one, ours, and the first one by hand, in turn."""
    asked = checked_filters(filter.asked)
    oldest = connection.execute(filter.sql("draft.id", "ASC"), (*filter.tags, *filter.values, PAGE + 1)).fetchall()
    before = cursor.write(oldest[-1][0], "drafts", desk.ground.user_id, asked)
    first = await desk.drafts.list(**filter.asked)
    last = await desk.drafts.list(cursor=before, **filter.asked)
    assert [draft.id for draft in first.items] == [row[0] for row in _by_hand(connection, filter)[:PAGE]]
    assert (len(first.items), len(last.items), last.next_cursor) == (PAGE, PAGE, None)
    taken = []
    for _ in range(ROUNDS):
        ours = await _timed(lambda: desk.drafts.list(**filter.asked))
        began = time.perf_counter()
        _by_hand(connection, filter)
        by_hand = 1000 * (time.perf_counter() - began)
        at_end = await _timed(lambda: desk.drafts.list(cursor=before, **filter.asked))
        taken.append(Page(ours, by_hand, at_end))
    return taken


def _typical(passes: Iterable[list[Page]]) -> Page:
    """The lower quartiles: what else the machine does makes a change of threads slower, never quicker."""
    columns = zip(*chain.from_iterable(passes), strict=True)
    return Page(*(statistics.quantiles(column, n=4)[0] for column in columns))


def _by_hand(connection: sqlite3.Connection, filter: Filter) -> list[tuple[object, ...]]:
    """The rows of the first page, and those of their pictures and tags."""
    rows = connection.execute(filter.sql(), (*filter.tags, *filter.values, PAGE + 1)).fetchall()
    ids, marks = [row[0] for row in rows], ", ".join("?" * len(rows))
    connection.execute(
        "SELECT draft_id, id, url, alt, position, source FROM draft_image"
        f" WHERE draft_id IN ({marks}) ORDER BY position",
        ids,
    ).fetchall()
    connection.execute(
        "SELECT draft_tag.draft_id, tag.name FROM draft_tag JOIN tag ON tag.id = draft_tag.tag_id"
        f" WHERE draft_tag.draft_id IN ({marks}) ORDER BY tag.name",
        ids,
    ).fetchall()
    return rows


async def _others(desk: Desk) -> list[Row]:
    rows = []
    for name, words in SEARCHES.items():
        found = await desk.drafts.search(words)
        taken = statistics.median([await _timed(partial(desk.drafts.search, words)) for _ in range(21)])
        what = f"search {MANY:,} drafts, first page: {name} ({len(found.items)} shown)"
        target = f"under {SEARCH_TARGET:g} ms"
        rows.append(Row(what, f"{taken:.1f} ms", "", "", target, taken < SEARCH_TARGET))
    taken = statistics.median([await _timed(desk.drafts.counts) for _ in range(ROUNDS)])
    target = f"under {COUNT_TARGET:g} ms"
    rows.append(Row(f"counts of {MANY:,} drafts by status", f"{taken:.2f} ms", "", "", target, taken < COUNT_TARGET))
    queue = statistics.median([await _timed(desk.drafts.queue) for _ in range(21)])
    return [*rows, Row(f"the review queue of {MANY:,} drafts, its best 100", f"{queue:.1f} ms", "", "", "", None)]


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds of `work`."""
    began = time.perf_counter()
    await work()
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    print(*measure(), sep="\n")
