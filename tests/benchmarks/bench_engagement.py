"""The engagement summary and trends of a thousand and of a million records, from totals that the writes maintain."""

import asyncio
import sqlite3
import statistics
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from table_row import Row

from copydesk.desk import Desk, open_desk
from copydesk.settings import load

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
VALUES (:item, (SELECT id FROM user), 'drafted', :item, 0, 0, 'i', 'a', 'A title')
"""
_DRAFTS = """
WITH RECURSIVE number(n) AS (SELECT :first UNION ALL SELECT n + 1 FROM number WHERE n + 1 < :last)
INSERT INTO draft (id, user_id, item_id, story_id, format, status, origin, confidence, text, created_at, updated_at)
SELECT printf('01890000-0000-7000-9000-%012d', n), (SELECT id FROM user), :item, :item,
    CASE n % 3 WHEN 0 THEN 'SHORT' WHEN 1 THEN 'THREAD' ELSE 'BLOG' END, 'posted', 'direct', 0.5,
    printf('The ferry number %d opens in March, as its owners said.', n), 0, 0
FROM number
"""
_RECORDS = """
INSERT INTO engagement (id, user_id, draft_id, platform, format, status, likes, replies, reposts, impressions, clicks,
    measured_at, created_at, published_at)
SELECT printf('01890000-0000-7000-%04d-%012d', 8001 + platform.place, draft.rid), draft.user_id, draft.id,
    platform.name, draft.format, iif(draft.rid % 50 = 0, 'failed', 'posted'), draft.rid * 7919 % 400,
    draft.rid * 31 % 40, draft.rid * 57 % 60, iif(platform.place = 2, NULL, 500 + draft.rid * 104729 % 9000),
    draft.rid * 13 % 90, 0, 0, (unixepoch() / 900 - draft.rid * 7919 % :quarters) * 900000000
FROM draft CROSS JOIN (SELECT key AS place, value AS name FROM json_each(:platforms)) AS platform
WHERE draft.id >= :from AND draft.id < :to
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
            async with open_desk(load({}, home)) as desk:
                _fill(desk.settings.database_file, existing // len(PLATFORMS), records // len(PLATFORMS))
                existing = records
                times[records] = await _time_summary(desk)
                trends[records] = {days: await _time_trends(desk, days) for days in (30, 0)}
                scan = _time_scan(desk)
    small, large = (times[records] for records in RECORDS)
    small_row = Row(f"Engagement summary, {RECORDS[0]:,} records", f"{small:.2f} ms", "", "", "", None)
    duration = f"{large:.2f} ms"
    scan_duration = f"{scan:.0f} ms (sums by a scan)"
    ratio, target = f"{large / scan:.4f}", f"at most {TARGET:g} ms"
    return [
        small_row,
        Row(f"Engagement summary, {RECORDS[1]:,} records", duration, scan_duration, ratio, target, large <= TARGET),
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
        )
        for days, time_taken in times.items()
    ]


def _fill(path: Path, first: int, last: int) -> None:
    """Insert drafts `first` to `last` with a record on each platform, through the real tables and triggers."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        if not first:
            connection.execute(_ITEM, {"item": ITEM})
        for start in range(first, last, 10_000):
            stop = min(start + 10_000, last)
            connection.execute(_DRAFTS, {"first": start, "last": stop, "item": ITEM})
            names = "[" + ", ".join(f'"{name}"' for name in PLATFORMS) + "]"
            id_range = {"from": f"01890000-0000-7000-9000-{start:012}", "to": f"01890000-0000-7000-9000-{stop:012}"}
            connection.execute(_RECORDS, {"platforms": names, "quarters": YEARS * 365 * 96, **id_range})


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
        started = time.perf_counter()
        trends = await desk.engagement.trends(days)
        times.append(1000 * (time.perf_counter() - started))
    assert trends.figures.posts
    return statistics.median(times)


def _time_scan(desk: Desk) -> float:
    """Return the milliseconds for adding up three of the totals from all records."""
    with closing(sqlite3.connect(desk.settings.database_file)) as connection:
        started = time.perf_counter()
        connection.execute(_SCAN, (desk._context.user_id,)).fetchone()
        return 1000 * (time.perf_counter() - started)
