"""Tests that pages of the queue are read from an index in their order, of however many drafts: nothing is sorted."""

import re
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert

from copydesk.desk import Desk
from copydesk.model.draft import Agent, Format
from copydesk.model.filters import DraftPosition, DraftView, Order, Tab, has_index, list_orders
from copydesk.store import draft_events, queue_window, tables
from copydesk.store.column_types import to_microseconds
from copydesk.store.raw_sql import execute_sql
from desk_fixtures import NOW, open_desk_at
from schedule_fixtures import insert_drafts
from store_fixtures import add_source, connect_to

LISTS = [(tab, order) for tab in Tab for order in list_orders(tab) if has_index(tab, order)]
WITH_KEY = {Order.BEST: 0.5, Order.CONFIDENT: 0.5, Order.SOONEST: 1, Order.SOURCE: "a"}


def explain(conn: Connection, user: str, view: DraftView, position: DraftPosition | None, *, backwards: bool) -> str:
    """Return the plan of a page without the methods that the planner prefers for few rows."""
    shape, values = queue_window._plan(conn, user, view, position)
    statement = queue_window.positions_sql(shape._replace(backwards=backwards))
    for method in ("sort", "seqscan", "bitmapscan"):
        execute_sql(conn, f"SET LOCAL enable_{method} = off")
    rows = execute_sql(conn, f"EXPLAIN {statement}", values | {"limit": 101, "offset": 0, "stop": 101})
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize(("tab", "order"), LISTS)
async def test_page_is_not_sorted(tmp_path: Path, tab: Tab, order: Order) -> None:
    positions = [None, DraftPosition(WITH_KEY.get(order), "b")]
    if order not in (Order.CONFIDENT, Order.SOONEST):  # every draft has a confidence, every scheduled one a time
        positions.append(DraftPosition(None, "b"))
    # Of the scheduled ones those that are being posted without a time: few.
    allowed = (tab, order) == (Tab.SCHEDULED, Order.SOONEST)
    async with open_desk_at(tmp_path) as desk:
        for position in positions:
            for backwards in (False, True):
                show_plan = partial(explain, view=DraftView(tab=tab, sort=order), backwards=backwards)
                plan = await desk._context.write(show_plan, position=position)
                assert "Limit" in plan
                assert plan.count("Sort  (") <= allowed, plan


async def test_filtered_page_is_read_no_further_than_it_goes(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        for format_ in (Format.SHORT, Format.THREAD):
            await insert_drafts(desk, 1000, status="pending_review", format=format_.value)
        plan = await desk._context.write(analyze, DraftView(format=Format.SHORT))
    # 1,000 drafts match.
    assert max(int(rows) for rows in re.findall(r"actual rows=(\d+)", plan)) == 101, plan


@pytest.fixture
async def tagged_desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk of 3,000 drafts to review with the tag sea, 20 of them with the tag odd."""
    async with open_desk_at(tmp_path) as desk:
        ids = await insert_drafts(desk, 3000, status="pending_review")
        await desk._context.write(add_tags, {"sea": ids, "odd": ids[::150]})
        yield desk


def count_drafts_read(plan: str) -> int:
    """Return how many rows of `draft` were read, those that did not match included."""
    scans = re.findall(r"on draft .*actual rows=([\d.]+) loops=(\d+)\)((?:\n(?! *->).*)*)", plan)
    assert scans, plan
    removed = [sum(map(int, re.findall(r"Rows Removed by .*: (\d+)", details))) for *_, details in scans]
    return sum((round(float(rows)) + more) * int(loops) for (rows, loops, _), more in zip(scans, removed, strict=True))


def add_tags(conn: Connection, user: str, drafts: dict[str, list[str]]) -> None:
    """Give the drafts these tags."""
    for name, ids in drafts.items():
        (tag,) = conn.execute(
            insert(tables.tag).returning(tables.tag.c.id), {"id": name, "user_id": user, "name": name}
        )
        conn.execute(insert(tables.draft_tag), [{"tag_id": tag.id, "draft_id": id_, "user_id": user} for id_ in ids])


@pytest.mark.parametrize("tags", [("odd",), ("odd", "sea"), ("sea", "odd")])
async def test_rare_tag_leads(tagged_desk: Desk, tags: tuple[str, ...]) -> None:
    plan = await tagged_desk._context.write(analyze, DraftView(tags=tags))
    # 20 drafts match.
    assert count_drafts_read(plan) == 20, plan


async def test_source_leads_to_its_few_drafts_of_a_large_tab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_window, "MAX_SORTED", 0)
    async with open_desk_at(tmp_path) as desk:
        source = await desk._context.write(add_source)
        await insert_drafts(desk, 3000, status="pending_review")
        await insert_drafts(desk, 100, status="rejected", source_id=source)
        await insert_drafts(desk, 20, status="pending_review", source_id=source)
        plan = await desk._context.write(analyze, DraftView(source_id=source))
    # Those of the tab alone, if the planner skips the other states in the index.
    assert count_drafts_read(plan) <= 120, plan


async def test_few_drafts_by_agents_are_found_by_index(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await insert_drafts(desk, 3000, status="pending_review")
        await insert_drafts(desk, 20, status="pending_review", agent=Agent(name="scout"))
        plans = [
            await desk._context.write(analyze, DraftView(tab=tab, by_agent=True)) for tab in (Tab.TO_REVIEW, Tab.ALL)
        ]
    for plan in plans:
        assert count_drafts_read(plan) == 20, plan


async def test_scheduled_drafts_before_position_are_counted_in_index(tmp_path: Path) -> None:
    def explain_count(conn: Connection, user: str) -> str:
        shape, values = queue_window._plan(conn, user, DraftView(tab=Tab.SCHEDULED), position)
        for method in ("seqscan", "bitmapscan"):
            execute_sql(conn, f"SET LOCAL enable_{method} = off")
        rows = execute_sql(conn, f"EXPLAIN {queue_window.count_sql(shape._replace(backwards=True))}", values)
        return "\n".join(row[0] for row in rows)

    position = DraftPosition(to_microseconds(NOW) + 1, "b")
    async with open_desk_at(tmp_path) as desk:
        await insert_drafts(desk, 1000, status="scheduled", scheduled_at=NOW)
        # What all transactions see is read from an index alone. One that began before the drafts may still be open: the
        # server analyzes tables by itself.
        with closing(connect_to(tmp_path)) as connection:
            is_visible = False
            while not is_visible:
                connection.execute("VACUUM ANALYZE draft")
                is_visible = connection.execute(
                    "SELECT relallvisible = relpages FROM pg_class WHERE oid = 'draft'::regclass"
                ).fetchone()[0]
        plan = await desk._context.write(explain_count)
    assert "Index Only Scan using ix_draft_user_id_status_scheduled_at_id_archived_at" in plan, plan


def analyze(conn: Connection, user: str, view: DraftView) -> str:
    """Return the plan of the first page and how many rows each of its steps returned."""
    shape, values = queue_window._plan(conn, user, view, None)
    execute_sql(conn, "ANALYZE draft, draft_tag")
    statement = f"EXPLAIN (ANALYZE, TIMING OFF) {queue_window.positions_sql(shape)}"
    rows = execute_sql(conn, statement, values | {"limit": 101, "offset": 0, "stop": 101})
    return "\n".join(row[0] for row in rows)


async def test_page_is_planned_for_its_length(tmp_path: Path) -> None:
    def load_often(conn: Connection, user: str) -> list[tuple[str]]:
        for _ in range(8):
            queue_window.query_slice(conn, user, DraftView(), limit=10)()
            queue_window.query_newest(conn, user)()
        return list(execute_sql(conn, "SELECT statement FROM pg_prepared_statements"))

    async with open_desk_at(tmp_path) as desk:
        prepared = await desk._context.read(load_often)
    # A plan for any length would read a tenth of all drafts.
    assert [statement for (statement,) in prepared if "max(rid)" in statement]
    assert not [statement for (statement,) in prepared if "UNION ALL" in statement]


async def test_undo_loads_the_last_event_and_no_others(tmp_path: Path) -> None:
    """A server returns all rows of a query at once: those of all changes of a user could be a million."""

    def count_rows(conn: Connection, user: str) -> int:
        return execute_sql(conn, draft_events._LAST_CHANGE, {"owner": user}).rowcount

    async with open_desk_at(tmp_path) as desk:
        for draft_id in await insert_drafts(desk, 3, status="pending_review"):
            await desk.drafts.approve(draft_id)
        assert await desk._context.read(count_rows) == 1


async def test_reads_start_no_parallel_workers(tagged_desk: Desk) -> None:
    def explain_count(conn: Connection, _user: str) -> str:
        # As if workers cost nothing.
        for setting in ("parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size"):
            execute_sql(conn, f"SET {setting} = 0")
        rows = execute_sql(conn, "EXPLAIN SELECT count(*) FROM draft WHERE text LIKE '%a%'")
        return "\n".join(row[0] for row in rows)

    plan = await tagged_desk._context.read(explain_count)
    assert "Seq Scan on draft" in plan, plan
    assert "Gather" not in plan, plan
