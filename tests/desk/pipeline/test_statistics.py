"""Tests for pipeline statistics."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, insert, select, update

from copydesk.desk import Desk
from copydesk.desk.pipeline.service import load_statistics
from copydesk.model.run import RunStats, RunStatus
from copydesk.model.serialization import to_json_value
from copydesk.store import tables
from copydesk.store.ids import IdGenerator, creation_time, min_id, new_id
from desk_fixtures import NOW, URL_ONE, URL_TWO, FakeWeb, Watch, create_source, entry, execute_sql, feed, open_desk_at
from sampling import sample_size
from store_fixtures import add_user, open_store

run_table = tables.run
END_STATUSES = ("succeeded", "succeeded", "failed", "cancelled", "interrupted")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk_at(tmp_path, FakeWeb()) as opened:
        yield opened


async def test_waiting_items_of_stored_runs_are_not_ingested(desk: Desk, tmp_path: Path) -> None:
    await create_source(desk)
    run = await desk.pipeline.run()
    stats = {"itemsIngested": 5, "itemsNew": 2, "itemsWaiting": 3, "itemsFiltered": 4}
    execute_sql(tmp_path, "UPDATE run SET stats = ? WHERE id = ?", json.dumps(stats), run.id)

    stored = (await desk.pipeline.get(run.id)).stats
    assert (stored.items_ingested, stored.items_considered, stored.items_filtered) == (2, 5, 4)


async def test_statistics_without_runs(desk: Desk) -> None:
    assert to_json_value(await desk.pipeline.statistics()) == {
        "totalRuns": 0,
        "successRate": 0.0,
        "averageDuration": None,
        "averageItemsPerRun": 0.0,
        "averageDraftsPerRun": 0.0,
        "topErrors": [],
        "last30Days": {"runs": 0, "items": 0, "drafts": 0},
        "endedRuns": 0,
    }


async def test_runs_are_counted_when_finished(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1), entry(2)))
    async with open_desk_at(tmp_path, web, watch) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        await desk.pipeline.run()
        web.fail(URL_ONE, 404)
        await desk.pipeline.run()
        await desk.pipeline.queue()
        stats = await desk.pipeline.statistics()

    assert (stats.total_runs, stats.ended_runs, stats.success_rate) == (4, 3, 2 / 3)
    assert (stats.average_items_per_run, stats.average_drafts_per_run) == (2 / 3, 2 / 3)
    assert stats.average_duration == 0
    assert [(error.category, error.count) for error in stats.top_errors] == [("missing", 1)]
    assert (stats.last30_days.runs, stats.last30_days.items, stats.last30_days.drafts) == (4, 2, 2)


async def test_waiting_item_is_counted_once(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2), entry(3)))
    async with open_desk_at(tmp_path, web, pipeline__max_drafts="1") as desk:
        await create_source(desk)
        for _ in range(3):
            await desk.pipeline.run()
        stats = await desk.pipeline.statistics()

    assert (stats.last30_days.items, stats.last30_days.drafts) == (3, 3)


async def test_run_with_failed_source_is_a_success(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        stats = await desk.pipeline.statistics()

    assert (stats.success_rate, stats.top_errors) == (1, ())


async def test_last_30_days_excludes_older_runs(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web, watch) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        watch.now = NOW + timedelta(days=30)
        assert (await desk.pipeline.statistics()).last30_days.runs == 1
        watch.now += timedelta(milliseconds=1)
        stats = await desk.pipeline.statistics()

    assert (stats.last30_days.runs, stats.last30_days.items, stats.total_runs) == (0, 0, 1)


def test_least_id_sorts_between_times() -> None:
    assert min_id(NOW) <= IdGenerator()(NOW)
    assert creation_time(min_id(NOW)) == NOW.replace(microsecond=NOW.microsecond // 1000 * 1000)
    assert min_id(NOW - timedelta(milliseconds=1)) < min_id(NOW)


step_strategy = st.tuples(
    st.sampled_from(["begin", "begin", "end", "end", "note", "rewrite", "delete"]),
    st.integers(0, 5),
    st.sampled_from(END_STATUSES),
    st.integers(0, 9),
    st.sampled_from(["missing", "store", None]),
)


def scan_totals(rows: list[Any]) -> dict[str, Any]:
    """Return the totals computed from all rows in Python."""
    finished = [row for row in rows if row.ended_at is not None]
    failed = [row for row in finished if row.status in {RunStatus.FAILED, RunStatus.INTERRUPTED}]
    error_counts = Counter(
        "interrupted" if row.status == "interrupted" else row.error_category or "error" for row in failed
    )
    return {
        "totalRuns": len(rows),
        "endedRuns": len(finished),
        "succeeded": sum(row.status is RunStatus.SUCCEEDED for row in finished),
        "seconds": sum((row.ended_at - row.started_at).total_seconds() for row in finished),
        "items": sum(row.stats.items_new for row in finished),
        "drafts": sum(row.stats.drafts_created for row in finished),
        "errors": sorted(error_counts.items(), key=lambda pair: (-pair[1], pair[0])),
        "lately": (len(rows), sum(row.stats.items_new for row in rows), sum(row.stats.drafts_created for row in rows)),
    }


def reported_totals(conn: Connection, user: str) -> dict[str, Any]:
    """Return the totals of the statistics."""
    stats = load_statistics(conn, user, NOW)
    finished = stats.ended_runs
    recent = stats.last30_days
    return {
        "totalRuns": stats.total_runs,
        "endedRuns": finished,
        "succeeded": round(stats.success_rate * finished),
        "seconds": round((stats.average_duration or 0) * finished),
        "items": round(stats.average_items_per_run * finished),
        "drafts": round(stats.average_drafts_per_run * finished),
        "errors": [(error.category, error.count) for error in stats.top_errors],
        "lately": (recent.runs, recent.items, recent.drafts),
    }


def apply_steps(conn: Connection, user: str, steps: list[Any]) -> None:
    """Apply the steps to runs and compare the totals after each."""
    ids: list[str] = []
    for action, index, status, amount, category in steps:
        stats = RunStats(items_new=amount, drafts_created=amount // 2)
        if action == "begin" or not ids:
            ids.append(new_id(NOW))
            conn.execute(insert(run_table).values(id=ids[-1], user_id=user, status="queued", started_at=NOW))
        else:
            statement = update(run_table).where(run_table.c.id == ids[index % len(ids)])
            ended_at = NOW + timedelta(seconds=amount)
            end_values = {"status": status, "ended_at": ended_at, "stats": stats, "error_category": category}
            if action == "end":
                conn.execute(statement.values(**end_values))
            elif action == "note":
                conn.execute(statement.where(run_table.c.ended_at.is_(None)).values(stats=stats, stage="rank"))
            elif action == "rewrite":
                conn.execute(statement.where(run_table.c.ended_at.is_not(None)).values(stats=stats))
            else:
                conn.execute(delete(run_table).where(run_table.c.id == ids.pop(index % len(ids))))
        rows = list(conn.execute(select(run_table).where(run_table.c.user_id == user)))
        assert reported_totals(conn, user) == scan_totals(rows)


@hypothesis_settings(max_examples=sample_size(40), deadline=None)
@given(st.lists(step_strategy, max_size=25))
def test_statistics_equal_full_scan(steps: list[Any]) -> None:
    async def apply_for_two_users() -> None:
        with TemporaryDirectory() as folder:
            store = await open_store(Path(folder))
            await store.write(lambda conn: [apply_steps(conn, add_user(conn, name), steps) for name in ("Ada", "Bob")])
            await store.close()

    asyncio.run(apply_for_two_users())
