"""The pipeline's statistics: what runs came to, and what they failed of."""

import asyncio
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
from copydesk.desk.statistics import statistics
from copydesk.model.run import RunStats, RunStatus
from copydesk.model.wire import to_wire
from copydesk.store import tables
from copydesk.store.ids import Ids, least_id, new_id, time_of
from desk_fixtures import NOW, ONE, TWO, Watch, Web, add, entry, feed, open_at
from store_fixtures import add_user, open_store

run = tables.run
ENDED = ("succeeded", "succeeded", "failed", "cancelled", "interrupted")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_at(tmp_path, Web()) as opened:
        yield opened


async def test_without_runs_there_is_nothing_to_tell(desk: Desk) -> None:
    assert to_wire(await desk.pipeline.statistics()) == {
        "totalRuns": 0,
        "successRate": 0.0,
        "averageDuration": None,
        "averageItemsPerRun": 0.0,
        "averageDraftsPerRun": 0.0,
        "topErrors": [],
        "last30Days": {"runs": 0, "items": 0, "drafts": 0},
        "endedRuns": 0,
    }


async def test_runs_are_summed_up_as_they_end(tmp_path: Path) -> None:
    web, watch = Web(), Watch()
    web.put(ONE, feed(entry(1), entry(2)))
    async with open_at(tmp_path, web, watch) as desk:
        await add(desk)
        await desk.pipeline.run()
        await desk.pipeline.run()
        web.fail(ONE, 404)
        await desk.pipeline.run()
        await desk.pipeline.queue()
        found = await desk.pipeline.statistics()

    assert (found.total_runs, found.ended_runs, found.success_rate) == (4, 3, 2 / 3)
    assert (found.average_items_per_run, found.average_drafts_per_run) == (2 / 3, 2 / 3)
    assert found.average_duration == 0
    assert [(error.category, error.count) for error in found.top_errors] == [("missing", 1)]
    assert (found.last30_days.runs, found.last30_days.items, found.last30_days.drafts) == (4, 2, 2)


async def test_an_item_that_waits_through_several_runs_counts_once(tmp_path: Path) -> None:
    web = Web()
    web.put(ONE, feed(entry(1), entry(2), entry(3)))
    async with open_at(tmp_path, web, pipeline__max_drafts="1") as desk:
        await add(desk)
        for _ in range(3):
            await desk.pipeline.run()
        found = await desk.pipeline.statistics()

    assert (found.last30_days.items, found.last30_days.drafts) == (3, 3)


async def test_a_run_of_which_a_source_fails_has_succeeded(tmp_path: Path) -> None:
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        await add(desk, TWO)
        await desk.pipeline.run()
        found = await desk.pipeline.statistics()

    assert (found.success_rate, found.top_errors) == (1, ())


async def test_what_began_longer_ago_is_not_in_the_last_30_days(tmp_path: Path) -> None:
    web, watch = Web(), Watch()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web, watch) as desk:
        await add(desk)
        await desk.pipeline.run()
        watch.now = NOW + timedelta(days=30)
        assert (await desk.pipeline.statistics()).last30_days.runs == 1
        watch.now += timedelta(milliseconds=1)
        found = await desk.pipeline.statistics()

    assert (found.last30_days.runs, found.last30_days.items, found.total_runs) == (0, 0, 1)


def test_a_moments_least_id_stands_between_earlier_ids_and_its_own() -> None:
    assert least_id(NOW) <= Ids()(NOW)
    assert time_of(least_id(NOW)) == NOW.replace(microsecond=NOW.microsecond // 1000 * 1000)
    assert least_id(NOW - timedelta(milliseconds=1)) < least_id(NOW)


lived = st.tuples(
    st.sampled_from(["begin", "begin", "end", "end", "note", "rewrite", "delete"]),
    st.integers(0, 5),
    st.sampled_from(ENDED),
    st.integers(0, 9),
    st.sampled_from(["missing", "store", None]),
)


def scanned(rows: list[Any]) -> dict[str, Any]:
    """What every run comes to, counted one by one."""
    ended = [row for row in rows if row.ended_at is not None]
    bad = [row for row in ended if row.status in {RunStatus.FAILED, RunStatus.INTERRUPTED}]
    kinds = Counter("interrupted" if row.status == "interrupted" else row.error_category or "error" for row in bad)
    return {
        "totalRuns": len(rows),
        "endedRuns": len(ended),
        "succeeded": sum(row.status is RunStatus.SUCCEEDED for row in ended),
        "seconds": sum((row.ended_at - row.started_at).total_seconds() for row in ended),
        "items": sum(row.stats.items_new for row in ended),
        "drafts": sum(row.stats.drafts_created for row in ended),
        "errors": sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0])),
        "lately": (len(rows), sum(row.stats.items_new for row in rows), sum(row.stats.drafts_created for row in rows)),
    }


def told(conn: Connection, user: str) -> dict[str, Any]:
    """What the statistics say, as sums."""
    found = statistics(conn, user, NOW)
    ended = found.ended_runs
    lately = found.last30_days
    return {
        "totalRuns": found.total_runs,
        "endedRuns": ended,
        "succeeded": round(found.success_rate * ended),
        "seconds": round((found.average_duration or 0) * ended),
        "items": round(found.average_items_per_run * ended),
        "drafts": round(found.average_drafts_per_run * ended),
        "errors": [(error.category, error.count) for error in found.top_errors],
        "lately": (lately.runs, lately.items, lately.drafts),
    }


def live(conn: Connection, user: str, steps: list[Any]) -> None:
    """Let runs live as the steps say, and look at the sums after each."""
    ids: list[str] = []
    for what, place, status, figure, category in steps:
        stats = RunStats(items_new=figure, drafts_created=figure // 2)
        if what == "begin" or not ids:
            ids.append(new_id(NOW))
            conn.execute(insert(run).values(id=ids[-1], user_id=user, status="queued", started_at=NOW))
        else:
            chosen = update(run).where(run.c.id == ids[place % len(ids)])
            ended_at = NOW + timedelta(seconds=figure)
            ends = {"status": status, "ended_at": ended_at, "stats": stats, "error_category": category}
            if what == "end":
                conn.execute(chosen.values(**ends))
            elif what == "note":
                conn.execute(chosen.where(run.c.ended_at.is_(None)).values(stats=stats, stage="rank"))
            elif what == "rewrite":
                conn.execute(chosen.where(run.c.ended_at.is_not(None)).values(stats=stats))
            else:
                conn.execute(delete(run).where(run.c.id == ids.pop(place % len(ids))))
        rows = list(conn.execute(select(run).where(run.c.user_id == user)))
        assert told(conn, user) == scanned(rows)


@hypothesis_settings(max_examples=40, deadline=None)
@given(st.lists(lived, max_size=25))
def test_the_statistics_are_those_of_a_full_scan_after_every_write(steps: list[Any]) -> None:
    async def play() -> None:
        with TemporaryDirectory() as folder:
            store = await open_store(Path(folder))
            await store.write(lambda conn: [live(conn, add_user(conn, name), steps) for name in ("Ada", "Bob")])
            await store.close()

    asyncio.run(play())
