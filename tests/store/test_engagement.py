"""Tests for the engagement totals that triggers maintain."""

import asyncio
import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, insert, select, update

from copydesk.desk.engagement import summarize
from copydesk.model.engagement import INTERACTION_METRICS, METRICS, engagement_rate
from copydesk.store import engagement, tables
from copydesk.store.database import Database
from copydesk.store.ids import new_id
from sampling import sample_size
from store_fixtures import NOW, add_draft, add_item, add_source, add_user, open_store

PLATFORMS = ("x", "bluesky", "mastodon")
STATUSES = ("pending", "posted", "posted", "failed")
engagement_table = tables.engagement
metric = st.one_of(st.none(), st.integers(0, 50))
record_values = st.fixed_dictionaries({"status": st.sampled_from(STATUSES), **dict.fromkeys(METRICS, metric)})
step = st.tuples(
    st.sampled_from(["write", "write", "write", "publish", "delete", "drop"]), st.integers(0, 5), record_values
)


def write_record(conn: Connection, user: str, draft: str, platform: str, values: dict[str, Any], format: str) -> None:
    """Write a record with plain SQL, bypassing the store's functions."""
    where = (engagement_table.c.draft_id == draft, engagement_table.c.platform == platform)
    if conn.execute(select(engagement_table.c.id).where(*where)).first():
        conn.execute(update(engagement_table).where(*where).values(values))
        return
    row = {"id": new_id(NOW), "user_id": user, "draft_id": draft, "platform": platform, "format": format}
    conn.execute(insert(engagement_table).values(row | {"created_at": NOW} | values))


def scan_totals(rows: Iterable[Any]) -> dict[tuple[str, str], dict[str, int]]:
    """Return the totals computed from all records."""
    totals: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        if row.status != "posted":
            continue
        sums = totals.setdefault((row.platform, row.format), dict.fromkeys(SUMS, 0))
        metrics = {name: getattr(row, name) for name in METRICS}
        rate = engagement_rate(metrics)
        interactions = sum(metrics[name] or 0 for name in INTERACTION_METRICS)
        sums["posts"] += 1
        sums["measured"] += any(value is not None for value in metrics.values())
        for name, value in metrics.items():
            sums[name] += value or 0
        if rate is not None:
            sums["rated"] += 1
            sums["rated_interactions"] += min(interactions, metrics["impressions"])
            sums["rated_impressions"] += metrics["impressions"]
    return totals


SUMS = (*("posts", "measured", "rated"), *METRICS, "rated_interactions", "rated_impressions")


def scan_best(rows: Iterable[Any], limit: int) -> list[tuple[str, str]]:
    """Return the best posts, found by sorting all of them."""
    candidates = []
    for row in rows:
        metrics = {name: getattr(row, name) for name in METRICS}
        interactions = [metrics[name] for name in INTERACTION_METRICS if metrics[name] is not None]
        if row.status == "posted" and interactions:
            rate = engagement_rate(metrics)
            candidates.append(
                ((sum(interactions), -1.0 if rate is None else rate, row.id), (row.draft_id, row.platform))
            )
    return [post for _, post in sorted(candidates, reverse=True)[:limit]]


def assert_totals_match(conn: Connection, user: str) -> None:
    rows = conn.execute(select(engagement_table).where(engagement_table.c.user_id == user)).all()
    stored = {
        (total.platform, total.format.value): {name: getattr(total, name) for name in SUMS}
        for total in engagement.list_totals(conn, user)
        if total.posts
    }
    assert stored == scan_totals(rows)
    for quarter in {None, *(row.published_at for row in rows)}:
        assert_quarter_matches(conn, user, quarter, [row for row in rows if row.published_at == quarter])
    for row in rows:
        assert row.published_at == conn.scalar(
            select(tables.draft.c.posted_at).where(tables.draft.c.id == row.draft_id)
        )
        assert row.engagement_rate == engagement_rate({name: getattr(row, name) for name in METRICS})
    for limit in (1, 3, 50):
        top = [(post.draft_id, post.platform) for post in engagement.list_top(conn, user, limit)]
        assert top == scan_best(rows, limit)


def assert_quarter_matches(conn: Connection, user: str, time: datetime | None, rows: list[Any]) -> None:
    number = None if time is None else int(time.timestamp()) // 900
    (kinds,) = engagement.sum_spans(conn, user, [engagement.UNDATED if number is None else (number, number + 1)])
    sums = {(kind.platform, kind.format.value): kind.sums for kind in kinds}
    expected = scan_totals(rows)
    assert {key: {name: getattr(value, name) for name in SUMS} for key, value in sums.items()} == expected
    live = [row for row in rows if row.status == "posted"]
    for name in (*METRICS, "interactions"):
        known = sum(getattr(row, name) is not None for row in live)
        assert known == sum(getattr(value, f"with_{name}") for value in sums.values())


async def run_steps(store: Database, steps: list[tuple[str, int, dict[str, Any]]]) -> None:
    def work(conn: Connection) -> None:
        for user in (add_user(conn), add_user(conn, "Bob")):
            item = add_item(conn, user, add_source(conn, user))
            drafts = [(add_draft(conn, user, item, format=kind), kind) for kind in ("SHORT", "BLOG")]
            for action, position, values in steps:
                draft, kind = drafts[position % 2]
                platform = PLATFORMS[position // 2]
                if action == "write":
                    if conn.execute(select(tables.draft.c.id).where(tables.draft.c.id == draft)).first():
                        write_record(conn, user, draft, platform, values, kind)
                elif action == "publish":
                    posted_at = NOW + timedelta(minutes=20 * position) if position else None
                    conn.execute(update(tables.draft).where(tables.draft.c.id == draft).values(posted_at=posted_at))
                elif action == "delete":
                    conn.execute(
                        delete(engagement_table).where(
                            engagement_table.c.draft_id == draft, engagement_table.c.platform == platform
                        )
                    )
                else:
                    conn.execute(delete(tables.draft).where(tables.draft.c.id == draft))
                assert_totals_match(conn, user)

    await store.write(work)


@hypothesis_settings(max_examples=sample_size(40), deadline=None)
@given(st.lists(step, max_size=25))
def test_totals_equal_full_scan_after_any_write(steps: list[tuple[str, int, dict[str, Any]]]) -> None:
    async def run() -> None:
        with TemporaryDirectory() as folder:
            store = await open_store(Path(folder))
            await run_steps(store, steps)
            await store.close()

    asyncio.run(run())


async def test_bulk_deletes_update_totals(store: Database) -> None:
    rng = random.Random(3)

    def work(conn: Connection) -> None:
        user = add_user(conn)
        item = add_item(conn, user, add_source(conn, user))
        for _ in range(60):
            kind = rng.choice(("SHORT", "THREAD", "BLOG"))
            draft = add_draft(conn, user, item, format=kind, origin="direct")
            for platform in PLATFORMS:
                values = {name: rng.choice((None, 0, rng.randrange(1000))) for name in METRICS}
                write_record(conn, user, draft, platform, values | {"status": rng.choice(STATUSES)}, kind)
        assert_totals_match(conn, user)
        conn.execute(delete(tables.source))
        assert_totals_match(conn, user)
        assert summarize(engagement.list_totals(conn, user), ()).total_posted == 0

    await store.write(work)


async def test_large_metrics_stay_integers(store: Database) -> None:
    def work(conn: Connection) -> None:
        user = add_user(conn)
        item = add_item(conn, user, add_source(conn, user))
        for _ in range(20):
            largest = {"status": "posted", **dict.fromkeys(METRICS, 10**12)}
            write_record(conn, user, add_draft(conn, user, item, origin="direct"), "x", largest, "SHORT")
        (total,) = engagement.list_totals(conn, user)
        assert (total.impressions, total.rated_interactions) == (20 * 10**12, 20 * 10**12)
        assert type(total.likes) is int

    await store.write(work)


@pytest.mark.sqlite("plans of SQLite")
@pytest.mark.parametrize("statement", [engagement._TOP, engagement._TOTALS])
async def test_summary_query_scans_no_table(store: Database, statement: Any) -> None:
    def plan(conn: Connection) -> str:
        sql = str(statement.compile(conn.engine))
        if statement is engagement._TOTALS:
            sql += " WHERE engagement_total.user_id = ?"
        values = ("u", 10, 0)[: sql.count("?")]
        return "\n".join(row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values))

    details = await store.read(plan)
    assert "SCAN" not in details
    assert "TEMP B-TREE" not in details
