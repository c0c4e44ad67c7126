"""Tests that queries for a few drafts do not read all of them."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import Connection, event

from copydesk.store import draft_queries, drafts, experiments
from copydesk.store.database import Database
from store_fixtures import NOW

pytestmark = pytest.mark.sqlite("the plans of SQLite")


def explain(connection: Connection, query: Callable[[Connection], object]) -> list[str]:
    """Return the plan of the statement that `query` executes."""
    executed: list[tuple[str, tuple[object, ...]]] = []

    def record(_c: object, _k: object, text: str, values: tuple[object, ...], *_: object) -> None:
        executed.append((text, values))

    event.listen(connection, "before_cursor_execute", record)
    query(connection)
    ((text, values),) = executed
    return [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)]


async def test_approved_stories_are_read_since_a_time(store: Database) -> None:
    def plan(connection: Connection) -> list[str]:
        since = NOW - timedelta(days=14)
        return explain(connection, lambda conn: drafts.list_approved_stories(conn, "nobody", since, 10))

    assert "status=? AND id>?" in (await store.read(plan))[0]


async def test_versions_are_found_without_reading_all_drafts(store: Database) -> None:
    def add_statistics(connection: Connection) -> None:
        connection.exec_driver_sql("ANALYZE")
        row = "('draft', 'ix_draft_regenerated_from_id', '300000 2')"
        connection.exec_driver_sql(f"INSERT INTO sqlite_stat1 VALUES {row}")

    def plan(connection: Connection) -> list[str]:
        connection.exec_driver_sql("ANALYZE sqlite_schema")
        return explain(connection, lambda conn: draft_queries.list_versions(conn, "nobody", "none"))

    await store.write(add_statistics)
    assert not [step for step in await store.write(plan) if "BLOOM" in step]


async def test_participants_are_found_by_experiment(store: Database) -> None:
    def plan(connection: Connection) -> list[str]:
        return explain(connection, lambda conn: experiments.list_participants(conn, "nobody", "none"))

    assert "draft_variant USING INDEX ix_draft_variant_experiment_id" in (await store.read(plan))[0]
