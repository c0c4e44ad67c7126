"""The engagement summary and trends of a thousand and of a million records, from totals that the writes maintain."""

import asyncio
import statistics
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from table_row import Row

from copydesk.desk import Desk, open_desk
from copydesk.engagement.best_time import compare_blocks
from desk_fixtures import settings_at
from store_fixtures import connect_to, postgresql_server

RECORDS = (1_000, 1_000_000)
PLATFORMS = ("x", "bluesky", "mastodon", "linkedin")
TARGET = 20.0
"""Milliseconds for the larger number."""
TRENDS_TARGETS = {30: 500.0, 0: 1_000.0}
"""Milliseconds for the trends of a number of days, 0 for all time, including the permutation test."""
ROUNDS = 20
YEARS = 3
"""The records are of posts spread over the quarters of an hour of these years."""
ITEM = "01890000-0000-7000-8000-000000000000"

_ITEM = """
INSERT INTO item (id, user_id, state, story_id, published, seen, ident, alias, title)
VALUES (:item, (SELECT id FROM "user"), 'drafted', :item, 0, 0, 'i', 'a', 'A title')
"""
# The numbers in ids begin with 1, so that all have the same length.
_DRAFTS = """
WITH RECURSIVE number(n) AS
    (SELECT CAST(:first AS INTEGER) UNION ALL SELECT n + 1 FROM number WHERE n + 1 < CAST(:last AS INTEGER))
INSERT INTO draft (id, user_id, item_id, story_id, format, status, origin, confidence, text, created_at, updated_at)
SELECT '01890000-0000-7000-9000-' || (100000000000 + n), (SELECT id FROM "user"), :item, :item,
    CASE n % 3 WHEN 0 THEN 'SHORT' WHEN 1 THEN 'THREAD' ELSE 'BLOG' END, 'posted', 'direct', 0.5,
    'The ferry number ' || n || ' opens in March, as its owners said.', 0, 0
FROM number
"""
_PLATFORMS = " UNION ALL ".join(f"SELECT {place} AS place, '{name}' AS name" for place, name in enumerate(PLATFORMS))
_RECORDS = f"""
INSERT INTO engagement (id, user_id, draft_id, platform, format, status, likes, replies, reposts, impressions, clicks,
    measured_at, created_at, published_at)
SELECT '01890000-0000-7000-' || (8001 + platform.place) || '-' || (100000000000 + draft.rid), draft.user_id, draft.id,
    platform.name, draft.format, CASE WHEN draft.rid % 50 = 0 THEN 'failed' ELSE 'posted' END, draft.rid * 7919 % 400,
    draft.rid * 31 % 40, draft.rid * 57 % 60,
    CASE WHEN platform.place = 2 THEN NULL ELSE 500 + draft.rid * 104729 % 9000 END,
    draft.rid * 13 % 90, 0, 0, (:quarter - draft.rid * 7919 % {YEARS * 365 * 96}) * 900000000
FROM draft, ({_PLATFORMS}) AS platform
WHERE draft.id >= :from AND draft.id < :to
"""
BATCH = 2_500
"""Drafts whose records are inserted in one transaction on PostgreSQL, where each change of a total slows down the next
one of the same transaction.
"""
_SCAN = "SELECT count(*), sum(likes), sum(impressions) FROM engagement WHERE user_id = ? AND status = 'posted'"


def measure() -> list[Row]:
    """Return the rows of the table."""
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    times: dict[int, float] = {}
    trends: dict[int, dict[int, float]] = {}
    with TemporaryDirectory() as folder:
        home, existing = Path(folder), 0
        for records in RECORDS:
            async with open_desk(settings_at(home)) as desk:
                _fill(home, existing // len(PLATFORMS), records // len(PLATFORMS))
                existing = records
                times[records] = await _time_summary(desk)
                trends[records] = {days: await _time_trends(desk, days) for days in (30, 0)}
                scan = _time_scan(desk)
    small, large = (times[records] for records in RECORDS)
    small_row = Row(f"Engagement summary, {RECORDS[0]:,} records", f"{small:.2f} ms", "", "", "", None, small)
    duration = f"{large:.2f} ms"
    scan_duration = f"{scan:.0f} ms (sums by a scan)"
    ratio, target = f"{large / scan:.4f}", f"at most {TARGET:g} ms"
    return [
        small_row,
        Row(
            f"Engagement summary, {RECORDS[1]:,} records",
            duration,
            scan_duration,
            ratio,
            target,
            large <= TARGET,
            large,
        ),
        *(row for records in RECORDS for row in _trend_rows(records, trends[records])),
    ]


def _trend_rows(records: int, times: dict[int, float]) -> list[Row]:
    is_large = records == RECORDS[1]
    return [
        Row(
            f"Engagement trends of {f'{days} days' if days else 'all time'}, {records:,} records",
            f"{time_taken:.0f} ms",
            "",
            "",
            f"at most {TRENDS_TARGETS[days]:g} ms" if is_large else "",
            time_taken <= TRENDS_TARGETS[days] if is_large else None,
            time_taken,
        )
        for days, time_taken in times.items()
    ]


def _fill(home: Path, first: int, last: int) -> None:
    """Insert drafts `first` to `last` with a record on each platform, through the real tables and triggers."""
    with closing(connect_to(home)) as connection, connection:
        if postgresql_server() is None:
            connection.execute("PRAGMA synchronous = OFF")
        if not first:
            connection.execute(_ITEM, {"item": ITEM})
        quarter = int(time.time()) // 900
        for start in range(first, last, BATCH):
            stop = min(start + BATCH, last)
            connection.execute(_DRAFTS, {"first": start, "last": stop, "item": ITEM})
            id_range = {"from": _draft_id(start), "to": _draft_id(stop)}
            connection.execute(_RECORDS, {"quarter": quarter, **id_range})


def _draft_id(number: int) -> str:
    return f"01890000-0000-7000-9000-{100_000_000_000 + number}"


async def _time_summary(desk: Desk) -> float:
    """Return the median milliseconds of a summary; the first one includes loading it into the cache."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        summary = await desk.engagement.summary()
        times.append(1000 * (time.perf_counter() - started))
    assert len(summary.top_posts) == 10
    return statistics.median(times)


async def _time_trends(desk: Desk, days: int) -> float:
    """Return the median milliseconds of the trends of the last `days` days; 0 is all time."""
    times = []
    for _ in range(5):
        compare_blocks.cache_clear()
        started = time.perf_counter()
        trends = await desk.engagement.trends(days)
        times.append(1000 * (time.perf_counter() - started))
    assert trends.figures.posts
    return statistics.median(times)


def _time_scan(desk: Desk) -> float:
    """Return the milliseconds for adding up three of the totals from all records."""
    with closing(connect_to(desk.settings.data_home)) as connection:
        started = time.perf_counter()
        connection.execute(_SCAN, (desk._context.user_id,)).fetchone()
        return 1000 * (time.perf_counter() - started)
