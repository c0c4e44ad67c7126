"""Tests that a search reads drafts of its user only, however many others there are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from copydesk.model.filters import DraftView, Filters
from copydesk.store import draft_queries, queue_window, search
from copydesk.store.raw_sql import execute_sql, raw_execute
from store_fixtures import add_item, add_user, connect_in_memory

USERS, DRAFTS = 40, 100
_DRAFTS = """INSERT INTO draft
        (id, user_id, item_id, story_id, format, status, origin, confidence, text, created_at, updated_at)
    SELECT lpad(CAST(n * ? + ? AS TEXT), 36, '0'), ?, ?, ?, 'SHORT', 'pending_review', 'direct', 0.5, 'A harbour.', 0, 0
    FROM generate_series(1, ?) AS n"""


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    """A connection to a desk of many users, whose drafts all have the same word."""
    with connect_in_memory(tmp_path) as connection:
        for number in range(USERS):
            user = add_user(connection, f"user{number}")
            item = add_item(connection, user, None)
            execute_sql(connection, _DRAFTS, (USERS, number, user, item, item, DRAFTS))
        execute_sql(connection, "ANALYZE")
        yield connection


def _explain(connection: Connection, statement: str, values: dict[str, object]) -> str:
    rows = raw_execute(connection)(f"EXPLAIN {statement}", values).fetchall()
    return "\n".join(row[0] for row in rows)


def _user(connection: Connection) -> str:
    return str(connection.exec_driver_sql('SELECT min(id) FROM "user"').scalar())


def _explain_page(connection: Connection, *, among_newest: bool) -> str:
    values = draft_queries.page_parameters(_user(connection), Filters(), 26, None)
    statement = search._find_on_server_sql(draft_queries.page_shape(Filters(), None), among_newest=among_newest)
    return _explain(connection, statement, values | {"words": "'harbour'", "newest": search.NEWEST})


@pytest.mark.parametrize("among_newest", [True, False])
def test_page_of_results(connection: Connection, among_newest: bool) -> None:
    assert "user_id = " in _index_condition(_explain_page(connection, among_newest=among_newest))


def test_all_drafts_are_not_read_in_order(connection: Connection) -> None:
    """Otherwise all of them would be read to find a word that few have."""
    assert "Sort Key: ((draft.id || ''" in _explain_page(connection, among_newest=False)


def test_window_of_results(connection: Connection) -> None:
    shape, values = queue_window._plan(connection, _user(connection), DraftView(query="harbour"), None)
    statement = queue_window.positions_sql(shape)
    plan = _explain(connection, statement, values | {"limit": 26, "offset": 0})
    assert "user_id = " in _index_condition(plan)


def _index_condition(plan: str) -> str:
    """Return the condition of the first index that leads to drafts."""
    return plan[plan.index("Index Cond:") :].split("\n", maxsplit=1)[0]
