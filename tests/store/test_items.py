"""Tests for finding items by index, per user and source."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, event, update

from copydesk.model.item import Entry
from copydesk.store import items, tables
from copydesk.store.database import Database
from copydesk.store.raw_sql import dbapi_connection
from store_fixtures import NOW, add_item, add_source, add_user


def make_entry(number: int) -> Entry:
    return Entry(ident=f"id {number}", alias=f"alias {number}", title=f"Title {number}")


@pytest.mark.sqlite("plans of SQLite")
async def test_existing_entries_are_found_by_index(store: Database) -> None:
    """Querying both keys at once made SQLite read all items of the source."""
    executed: list[tuple[str, Any]] = []

    def plans_of(conn: Connection) -> list[list[str]]:
        event.listen(conn, "before_cursor_execute", lambda *args: executed.append((args[2], args[3])))
        items.find_existing(conn, "user", "source", [make_entry(1), make_entry(2)])
        return [
            [row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)]
            for text, values in tuple(executed)
        ]

    plans = await store.read(plans_of)

    assert not any(step.startswith("SCAN") for plan in plans for step in plan)
    assert "(source_id=? AND ident=?)" in plans[0][0]
    assert "(source_id=? AND alias=?)" in plans[1][0]


@pytest.mark.sqlite("plans of SQLite")
@pytest.mark.parametrize(
    ("query", "index"),
    [
        (lambda conn: items.list_new(conn, "user", None), "ix_item_user_id_state_published_new"),
        (lambda conn: items.list_new(conn, "user", ["one", "other"]), "ix_item_user_id_state_published_new"),
        (
            lambda conn: items.reopen_filtered(conn, "user", ["one", "other"], NOW),
            "ix_item_user_id_state_published_filtered",
        ),
        (lambda conn: items.list_newest(conn, "user", 20), "ix_item_user_id_published"),
        (lambda conn: items.list_story_members(conn, "user", NOW), "ix_item_user_id_published"),
    ],
    ids=["waiting", "waiting of some sources", "left out", "newest", "told in the window"],
)
async def test_item_query_uses_index(store: Database, query: Callable[[Connection], object], index: str) -> None:
    def plan_of(conn: Connection) -> list[str]:
        statements: list[str] = []
        driver = dbapi_connection(conn)
        driver.set_trace_callback(statements.append)
        query(conn)
        driver.set_trace_callback(None)
        (statement,) = statements
        return [row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")]

    plan = await store.write(plan_of)

    assert any(step.startswith(f"SEARCH item USING INDEX {index} ") for step in plan)
    assert "USE TEMP B-TREE FOR ORDER BY" not in plan


async def test_entry_is_matched_once_by_either_key(store: Database) -> None:
    def add(conn: Connection) -> tuple[str, str, list[str]]:
        user = add_user(conn)
        source = add_source(conn, user)
        both = add_item(conn, user, source, ident="id 1", alias="alias 1", content_hash=b"")
        renamed = add_item(conn, user, source, ident="old id 2", alias="alias 2", content_hash=b"")
        add_item(conn, user, source, ident="id 3", alias="alias 3", content_hash=b"")
        return (
            both,
            renamed,
            [item.id for item in items.find_existing(conn, user, source, [make_entry(1), make_entry(2)])],
        )

    both, renamed, found = await store.write(add)

    assert sorted(found) == sorted([both, renamed])


async def test_other_users_items_are_excluded(store: Database) -> None:
    def add(conn: Connection) -> tuple[str, str, str]:
        user, other = add_user(conn), add_user(conn)
        source = add_source(conn, user)
        for number in range(3):
            hours = timedelta(hours=number)
            add_item(conn, user, source, ident=f"id {number}", alias="", content_hash=b"", published=NOW + hours)
        return user, other, source

    user, other, source = await store.write(add)

    assert len(await store.read(items.find_existing, user, source, [make_entry(1)])) == 1
    assert await store.read(items.find_existing, other, source, [make_entry(1)]) == ()
    newest = (NOW + timedelta(hours=2), NOW + timedelta(hours=1))
    assert await store.read(items.list_publication_times, user, source, 2) == newest
    assert await store.read(items.list_publication_times, other, source) == ()


async def test_items_of_disabled_source_do_not_wait(store: Database) -> None:
    """Drafts kept coming from a disabled source as long as it had items left."""

    def add(conn: Connection) -> tuple[str, str, str, str]:
        user = add_user(conn)
        enabled, disabled = add_source(conn, user), add_source(conn, user, enabled=False)
        return user, disabled, add_item(conn, user, enabled), add_item(conn, user, disabled)

    user, disabled, enabled_item, disabled_item = await store.write(add)

    assert [item.id for item in await store.read(items.list_new, user, None)] == [enabled_item]
    # A disabled source's items are listed when the source is requested by its id.
    assert [item.id for item in await store.read(items.list_new, user, [disabled])] == [disabled_item]
    await store.write(lambda conn: conn.execute(update(tables.source).values(enabled=True)).rowcount)
    assert {item.id for item in await store.read(items.list_new, user, None)} == {enabled_item, disabled_item}
