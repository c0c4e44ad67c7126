"""Queries among a thousand and among a million drafts: pages by each filter, searches, counts.

A page is the result of `desk.drafts.list`: drafts with their images and tags. It is compared with hand-written SQL on
the driver that reads the same columns.
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

from large_desk import (
    COMMON_TAG,
    COMMON_WORD,
    DRAFT_INTERVAL,
    NOW,
    OTHER_TAG,
    RARE_TAG,
    RARE_WORD,
    DeskIds,
    build_database,
)
from table_row import Row

from copydesk.desk import Desk, open_desk
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.filters import validate_filters
from copydesk.model.ids import IdKind
from copydesk.model.page import encode_cursor
from copydesk.store.column_types import to_microseconds
from copydesk.store.draft_rows import DRAFT_COLUMNS
from desk_fixtures import settings_at
from store_fixtures import connect_to

FEW, MANY = 1_000, 1_000_000
PAGE, PASSES, ROUNDS = 25, 4, 50
SEARCHES = {"a common word": COMMON_WORD, "a rare word": RARE_WORD, "both": f"{COMMON_WORD} {RARE_WORD}"}
SQL_TARGET, LAST_PAGE_TARGET, GROWTH_TARGET, SEARCH_TARGET, COUNT_TARGET = 3.0, 1.2, 1.5, 50.0, 5.0
ID_TARGET = 5.0
_COLUMNS = ", ".join(f"draft.{name}" for name in DRAFT_COLUMNS) + ", item.title, draft.source_type, item.published"
_TAGGED = "JOIN draft_tag {0} ON {0}.draft_id = draft.id AND {0}.tag_id = (SELECT id FROM tag WHERE name = ?)"


class Filter(NamedTuple):
    """A filter, and the same in SQL."""

    name: str
    params: dict[str, Any]
    where: str
    values: tuple[object, ...]
    tags: tuple[str, ...] = ()

    def sql(self, columns: str = _COLUMNS, order: str = "DESC") -> str:
        """Return the statement for the newest drafts, or for the oldest with `order` ASC."""
        joined = " ".join(_TAGGED.format(f"tag{index}") for index in range(len(self.tags)))
        order_column = "tag0.draft_id" if self.tags else "draft.id"
        return f"""SELECT {columns} FROM draft {joined} JOIN item ON item.id = draft.item_id
            WHERE {self.where} ORDER BY {order_column} {order} LIMIT ?"""


def make_filters(ids: DeskIds, drafts: int) -> list[Filter]:
    """Return the filters to measure."""
    start = NOW - DRAFT_INTERVAL * (drafts // 2)
    schedule_window = {"scheduled_after": start, "scheduled_before": start + timedelta(days=2)}
    window_values = (ids.user, *(to_microseconds(bound) for bound in schedule_window.values()))
    of_user = "draft.user_id = ?"
    of_source = f"{of_user} AND draft.source_id = ?"
    return [
        Filter("no filter", {}, of_user, (ids.user,)),
        Filter("status", {"status": "approved"}, f"{of_user} AND draft.status = ?", (ids.user, "approved")),
        Filter("format", {"format": "BLOG"}, f"{of_user} AND draft.format = ?", (ids.user, "BLOG")),
        Filter("a large source", {"source_id": ids.common_source}, of_source, (ids.user, ids.common_source)),
        Filter("a small source", {"source_id": ids.rare_source}, of_source, (ids.user, ids.rare_source)),
        Filter(
            "type of source", {"source_type": "reddit"}, f"{of_user} AND draft.source_type = ?", (ids.user, "reddit")
        ),
        Filter("a common tag", {"tags": COMMON_TAG}, "true", (), (COMMON_TAG,)),
        Filter("a rare tag", {"tags": RARE_TAG}, "true", (), (RARE_TAG,)),
        Filter("two tags", {"tags": (COMMON_TAG, OTHER_TAG)}, "true", (), (COMMON_TAG, OTHER_TAG)),
        Filter("archived", {"archived": "only"}, f"{of_user} AND draft.archived_at IS NOT NULL", (ids.user,)),
        Filter("not archived", {"archived": "exclude"}, f"{of_user} AND draft.archived_at IS NULL", (ids.user,)),
        Filter(
            "two days of the schedule",
            schedule_window,
            f"{of_user} AND scheduled_at >= ? AND scheduled_at < ?",
            window_values,
        ),
        Filter(
            "status and format",
            {"status": "posted", "format": "SHORT"},
            f"{of_user} AND draft.status = ? AND draft.format = ?",
            (ids.user, "posted", "SHORT"),
        ),
    ]


class PageTimes(NamedTuple):
    """Milliseconds for a filter's pages."""

    ours: float
    by_hand: float
    last: float


def measure() -> list[Row]:
    """Return the rows of the table."""
    with TemporaryDirectory() as folder:
        small, _ = _measure(Path(folder) / "few", FEW)
        large, other_rows = _measure(Path(folder) / "many", MANY)
    return [_row(name, page, small[name]) for name, page in large.items()] + other_rows


def _row(name: str, page: PageTimes, small: PageTimes) -> Row:
    slowdown, last_page, growth = page.ours / page.by_hand, page.last / page.ours, page.ours / small.ours
    return Row(
        f"page of {PAGE} of {MANY:,} drafts: {name}",
        f"{page.ours:.2f} ms",
        f"SQL by hand {page.by_hand:.2f} ms",
        f"{slowdown:.1f} times; last page {last_page:.2f} of the first; {growth:.2f} of a page of {FEW:,}",
        f"at most {SQL_TARGET:g}, {LAST_PAGE_TARGET:g}, {GROWTH_TARGET:g}",
        slowdown <= SQL_TARGET and last_page <= LAST_PAGE_TARGET and growth <= GROWTH_TARGET,
        page.ours,
    )


def _measure(home: Path, drafts: int) -> tuple[dict[str, PageTimes], list[Row]]:
    return asyncio.run(_measure_pages(home, build_database(home, drafts), drafts))


async def _measure_pages(home: Path, made: DeskIds, drafts: int) -> tuple[dict[str, PageTimes], list[Row]]:
    async with open_desk(settings_at(home)) as desk:
        assert desk._context.user_id == made.user
        # The command line and the console do the same.
        gc.freeze()
        with closing(connect_to(home)) as connection:
            cases = make_filters(made, drafts)
            # Several passes over all filters, so that a momentary load on the machine does not hit only one of them.
            passes = [{case.name: await _time_page(desk, connection, case) for case in cases} for _ in range(PASSES)]
        pages = {case.name: _lower_quartiles(measured[case.name] for measured in passes) for case in cases}
        return pages, await _measure_other_queries(desk)


async def _time_page(desk: Desk, connection: sqlite3.Connection, filter: Filter) -> list[PageTimes]:
    """Measure in turn our first and last page, and the first page by SQL."""
    query = validate_filters(filter.params, SOURCE_TYPES)
    oldest = connection.execute(filter.sql("draft.id", "ASC"), (*filter.tags, *filter.values, PAGE + 1)).fetchall()
    last_cursor = encode_cursor(oldest[-1][0], "drafts", desk._context.user_id, query)
    first_page = await desk.drafts.list(**filter.params)
    last_page = await desk.drafts.list(cursor=last_cursor, **filter.params)
    assert [draft.id for draft in first_page.items] == [row[0] for row in _query_by_sql(connection, filter)[:PAGE]]
    assert (len(first_page.items), len(last_page.items), last_page.next_cursor) == (PAGE, PAGE, None)
    times = []
    for _ in range(ROUNDS):
        ours = await _time(lambda: desk.drafts.list(**filter.params))
        started = time.perf_counter()
        _query_by_sql(connection, filter)
        by_hand = 1000 * (time.perf_counter() - started)
        last_time = await _time(lambda: desk.drafts.list(cursor=last_cursor, **filter.params))
        times.append(PageTimes(ours, by_hand, last_time))
    return times


def _lower_quartiles(passes: Iterable[list[PageTimes]]) -> PageTimes:
    """Return the lower quartiles: other load only ever makes a thread switch slower."""
    columns = zip(*chain.from_iterable(passes), strict=True)
    return PageTimes(*(statistics.quantiles(column, n=4)[0] for column in columns))


def _query_by_sql(connection: sqlite3.Connection, filter: Filter) -> list[tuple[object, ...]]:
    """Return the rows of the first page, and read those of their images and tags."""
    rows = connection.execute(filter.sql(), (*filter.tags, *filter.values, PAGE + 1)).fetchall()
    ids, placeholders = [row[0] for row in rows], ", ".join("?" * len(rows))
    connection.execute(
        "SELECT draft_id, id, url, alt, position, source FROM draft_image"
        f" WHERE draft_id IN ({placeholders}) ORDER BY position",
        ids,
    ).fetchall()
    connection.execute(
        "SELECT draft_tag.draft_id, tag.name FROM draft_tag JOIN tag ON tag.id = draft_tag.tag_id"
        f" WHERE draft_tag.draft_id IN ({placeholders}) ORDER BY tag.name",
        ids,
    ).fetchall()
    return rows


async def _measure_other_queries(desk: Desk) -> list[Row]:
    rows = []
    for name, query in SEARCHES.items():
        page = await desk.drafts.search(query)
        duration = statistics.median([await _time(partial(desk.drafts.search, query)) for _ in range(21)])
        label = f"search {MANY:,} drafts, first page: {name} ({len(page.items)} shown)"
        target = f"under {SEARCH_TARGET:g} ms"
        rows.append(Row(label, f"{duration:.1f} ms", "", "", target, duration < SEARCH_TARGET, duration))
    duration = statistics.median([await _time(desk.drafts.counts) for _ in range(ROUNDS)])
    target = f"under {COUNT_TARGET:g} ms"
    label = f"counts of {MANY:,} drafts by status"
    rows.append(Row(label, f"{duration:.2f} ms", "", "", target, duration < COUNT_TARGET, duration))
    rows += await _measure_short_ids(desk)
    queue_time = statistics.median([await _time(desk.drafts.queue) for _ in range(21)])
    label = f"the review queue of {MANY:,} drafts, its best 100"
    return [*rows, Row(label, f"{queue_time:.1f} ms", "", "", "", None, queue_time)]


async def _measure_short_ids(desk: Desk) -> list[Row]:
    page = [draft.id for draft in (await desk.drafts.list(limit=PAGE)).items]
    short_ids = list((await desk.ids.shorten(IdKind.DRAFT, page)).values())
    assert await desk.ids.resolve(IdKind.DRAFT, short_ids) == tuple(page)
    measured = {
        "find a draft by the end of its id": partial(desk.ids.resolve, IdKind.DRAFT, short_ids[:1]),
        f"shorten the ids of {PAGE} drafts": partial(desk.ids.shorten, IdKind.DRAFT, page),
    }
    rows = []
    for name, work in measured.items():
        duration = statistics.median([await _time(work) for _ in range(ROUNDS)])
        target = f"under {ID_TARGET:g} ms"
        label = f"{name}, among {MANY:,}"
        rows.append(Row(label, f"{duration:.2f} ms", "", "", target, duration < ID_TARGET, duration))
    return rows


async def _time(work: Callable[[], Awaitable[object]]) -> float:
    """Return the milliseconds of `work`."""
    started = time.perf_counter()
    await work()
    return 1000 * (time.perf_counter() - started)


if __name__ == "__main__":
    print(*measure(), sep="\n")
