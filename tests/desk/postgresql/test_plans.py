"""Tests that pages of the queue are read from an index in their order, of however many drafts: nothing is sorted."""

from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection

from copydesk.model.filters import DraftPosition, DraftView, Order, Tab, has_index, list_orders
from copydesk.store import queue_window
from copydesk.store.raw_sql import execute_sql
from desk_fixtures import open_desk_at

LISTS = [(tab, order) for tab in Tab for order in list_orders(tab) if has_index(tab, order)]
WITH_KEY = {Order.BEST: 0.5, Order.CONFIDENT: 0.5, Order.SOONEST: 1, Order.SOURCE: "a"}


def explain(conn: Connection, user: str, view: DraftView, position: DraftPosition | None, *, backwards: bool) -> str:
    """Return the plan of a page without the methods that the planner prefers for few rows."""
    shape, values = queue_window._plan(conn, user, view, position)
    statement = queue_window.positions_sql(shape._replace(backwards=backwards))
    for method in ("sort", "seqscan", "bitmapscan"):
        execute_sql(conn, f"SET LOCAL enable_{method} = off")
    rows = execute_sql(conn, f"EXPLAIN {statement}", values | {"limit": 101, "offset": 0})
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
