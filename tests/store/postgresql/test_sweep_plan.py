"""Tests that the sweep reads what is due and nothing else, however much there is."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from copydesk.store import jobs
from copydesk.store.column_types import to_microseconds
from copydesk.store.jobs import MissedCutoffs
from copydesk.store.raw_sql import execute_sql
from store_fixtures import NOW, add_item, add_user, connect_in_memory

USERS, ROWS = 40, 100
LATER = to_microseconds(NOW + timedelta(days=1))
_SOURCES = """INSERT INTO source (id, user_id, type, name, created_at, updated_at, next_at)
    SELECT CAST(n * ? + ? AS TEXT), ?, 'rss', '', 0, 0, ? FROM generate_series(1, ?) AS n"""
_DRAFTS = """INSERT INTO draft (id, user_id, item_id, story_id, format, status, scheduled_at, origin, confidence, text,
        created_at, updated_at)
    SELECT CAST(n * ? + ? AS TEXT), ?, ?, ?, 'SHORT', 'scheduled', ?, 'direct', 0.5, '', 0, 0
    FROM generate_series(1, ?) AS n"""


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    """A connection to a desk of many users, for whom everything is due tomorrow."""
    with connect_in_memory(tmp_path) as connection:
        for number in range(USERS):
            user = add_user(connection, f"user{number}")
            item = add_item(connection, user, None)
            execute_sql(connection, _SOURCES, (USERS, number, user, LATER, ROWS))
            execute_sql(connection, _DRAFTS, (USERS, number, user, item, item, LATER, ROWS))
        execute_sql(connection, "ANALYZE")
        yield connection


def test_sweep_reads_no_row_that_is_due_later(connection: Connection) -> None:
    steps = [step for step in _steps(_explain_sweep(connection)) if step.get("Relation Name") in {"source", "draft"}]

    assert {step["Actual Rows"] for step in steps} == {0}
    assert "Seq Scan" not in {step["Node Type"] for step in steps}
    assert {"source", "draft"} == {step["Relation Name"] for step in steps}


def _explain_sweep(connection: Connection) -> dict[str, Any]:
    """Return the plan that was carried out."""
    executed: list[tuple[str, Any]] = []

    def record(_c: object, _k: object, text: str, values: Any, *_: object) -> None:
        executed.append((text, values))

    event.listen(connection, "before_cursor_execute", record)
    cutoffs = MissedCutoffs(short=NOW, thread=NOW, blog=NOW)
    jobs.list_users_with_work(connection, NOW, cutoffs, timedelta(minutes=1))
    text, values = executed[0]
    found = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}", values).scalar_one()
    plan: dict[str, Any] = json.loads(found)[0]["Plan"]
    return plan


def _steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from _steps(part)
