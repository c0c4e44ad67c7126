"""Tests for the tables: constraints, cascades, maintained counts, and indexes for the frequent queries."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import (
    Connection,
    Executable,
    Table,
    UniqueConstraint,
    delete,
    event,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError

from copydesk.store import deliveries, generation, tables
from copydesk.store.database import Database
from copydesk.store.ids import new_id
from copydesk.store.raw_sql import upsert
from store_fixtures import NOW, add_draft, add_item, add_source, add_user

TABLES = list(tables.metadata.tables.values())


def table_name(table: Table) -> str:
    return table.name


def indexed_columns(table: Table) -> Iterator[tuple[str, ...]]:
    """Yield the columns of each index of `table`, including primary and unique keys."""
    yield tuple(column.name for column in table.primary_key)
    for index in table.indexes:
        yield tuple(column.name for column in index.columns)
    for constraint in table.constraints:
        if isinstance(constraint, UniqueConstraint):
            yield tuple(column.name for column in constraint.columns)


@pytest.mark.parametrize("table", TABLES, ids=table_name)
def test_row_belongs_to_user(table: Table) -> None:
    # Removed sends are those of users, and of sources, that are gone.
    if table.name not in {"user", "removed_send"}:
        assert not table.c.user_id.nullable
        (key,) = table.c.user_id.foreign_keys
        assert (key.column, key.ondelete) == (tables.user.c.id, "CASCADE")


@pytest.mark.sqlite("plans of SQLite depend on it")
async def test_indexes_are_in_one_order(store: Database) -> None:
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY rowid"
    indexes = await store.read(lambda conn: conn.exec_driver_sql(query).all())
    names = [(" WHERE " in sql, "(user_id" not in sql, name) for name, sql in indexes]
    assert names == sorted(names)


@pytest.mark.sqlite("plans of SQLite")
@pytest.mark.parametrize(
    ("query", "index"),
    [
        (lambda conn: deliveries.has_unfinished_for_draft(conn, "user", "draft"), "ix_delivery_draft_id"),
        (lambda conn: deliveries.has_unfinished_for_account(conn, "user", "account"), "ix_delivery_account_id"),
        (lambda conn: deliveries.list_events(conn, "user", "delivery"), "ix_delivery_event_delivery_id"),
        (lambda conn: generation.has_image(conn, "user", "item"), "ix_draft_item_id"),
    ],
)
async def test_rows_of_one_thing_are_found_without_those_of_its_user(
    store: Database, query: Callable[[Connection], object], index: str
) -> None:
    """In a desk that has no statistics yet."""

    def plan(conn: Connection) -> list[str]:
        executed: list[tuple[str, tuple[object, ...]]] = []
        event.listen(conn, "before_cursor_execute", lambda _c, _k, text, values, *_: executed.append((text, values)))
        query(conn)
        text, values = executed[0]
        return [row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)]

    assert index in " ".join(await store.read(plan))


@pytest.mark.parametrize("table", TABLES, ids=table_name)
def test_foreign_keys_are_indexed(table: Table) -> None:
    # Without an index, each delete of the referenced row reads the whole table.
    leading = {columns[0] for columns in indexed_columns(table)}

    assert {column.name for column in table.columns if column.foreign_keys} <= leading


@pytest.mark.parametrize("table", TABLES, ids=table_name)
def test_constraints_have_names(table: Table) -> None:
    assert all(constraint.name for constraint in table.constraints)


async def count_rows(store: Database, table: Table) -> int:
    return await store.read(lambda connection: int(connection.scalar(select(func.count()).select_from(table)) or 0))


def add_everything(connection: Connection) -> tuple[str, str, str]:
    """Add a user, source and draft with one row of everything that can refer to them; return their ids."""
    user = add_user(connection)
    source = add_source(connection, user)
    draft = add_draft(connection, user, add_item(connection, user, source), source_id=source)
    own, tag = {"id": new_id(NOW), "user_id": user, "draft_id": draft}, new_id(NOW)
    connection.execute(insert(tables.draft_image).values(own | {"url": "u", "position": 0, "source": "OG"}))
    event = {"version": 2, "at": NOW, "who": "Ada", "kind": "change", "action": "approve"}
    connection.execute(insert(tables.draft_event).values(event | {"user_id": user, "draft_id": draft}))
    delivery = {"platform": "bluesky", "format": "SHORT", "status": "pending", "created_at": NOW}
    connection.execute(insert(tables.engagement).values(own | delivery))
    connection.execute(insert(tables.tag).values(id=tag, user_id=user, name="news"))
    connection.execute(insert(tables.draft_tag).values(tag_id=tag, draft_id=draft, user_id=user))
    return user, source, draft


async def execute(store: Database, *statements: Executable) -> None:
    """Execute the statements in one transaction."""

    def work(connection: Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    await store.write(work)


async def test_deleting_source_deletes_items_and_drafts(store: Database) -> None:
    _, source, _ = await store.write(add_everything)
    await execute(store, delete(tables.source).where(tables.source.c.id == source))

    emptied = [tables.item, tables.draft, tables.draft_image, tables.draft_event, tables.engagement, tables.draft_tag]
    assert [await count_rows(store, table) for table in emptied] == [0] * 6
    assert await count_rows(store, tables.tag) == 1


async def test_deleting_user_deletes_everything(store: Database) -> None:
    await store.write(add_everything)
    await execute(store, delete(tables.user))

    assert sum([await count_rows(store, table) for table in TABLES]) == 0


async def test_deleting_run_or_older_version_keeps_draft(store: Database) -> None:
    def add(connection: Connection) -> tuple[str, str]:
        user, source, old = add_everything(connection)
        run, item = new_id(NOW), add_item(connection, user, source)
        connection.execute(insert(tables.run).values(id=run, user_id=user, status="succeeded", started_at=NOW))
        return old, add_draft(connection, user, item, run_id=run, regenerated_from_id=old)

    old, new = await store.write(add)
    await execute(store, delete(tables.run), delete(tables.draft).where(tables.draft.c.id == old))

    draft = tables.draft.c
    query = select(draft.id, draft.run_id, draft.regenerated_from_id)
    assert await store.read(lambda connection: connection.execute(query).all()) == [(new, None, None)]


async def test_source_counts_its_items(store: Database) -> None:
    item, source = tables.item.c, tables.source.c
    rng = random.Random(7)

    def add(connection: Connection) -> None:
        user = add_user(connection)
        sources = [add_source(connection, user) for _ in range(3)]
        for number in range(60):
            add_item(connection, user, rng.choice([*sources, None]), ident=str(number), points=number)
        connection.execute(delete(tables.item).where(item.points % 3 == 0))
        connection.execute(update(tables.item).values(state="filtered"))

    await store.write(add)

    own = select(func.count()).where(item.source_id == source.id).scalar_subquery()
    rows = await store.read(lambda connection: connection.execute(select(source.item_count, own)).all())
    assert all(stored == counted for stored, counted in rows)
    assert sum(stored for stored, _ in rows) > 0


async def test_updated_item_is_not_counted_twice(store: Database) -> None:
    def add_twice(connection: Connection) -> str:
        user = add_user(connection)
        source = add_source(connection, user)
        item = add_item(connection, user, source, ident="x")
        row = connection.execute(select(tables.item)).mappings().one()
        values = {name: value for name, value in row.items() if name != "rid"} | {
            "id": new_id(NOW),
            "title": "New title",
        }
        statement = upsert(connection, tables.item).values(values)
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["source_id", "ident"], set_={"title": statement.excluded.title}
            )
        )
        return item

    item = await store.write(add_twice)

    counted = select(tables.source.c.item_count)
    stored = select(tables.item.c.id, tables.item.c.title)
    assert await store.read(lambda connection: connection.execute(counted).scalar_one()) == 1
    assert await store.read(lambda connection: connection.execute(stored).all()) == [(item, "New title")]


async def test_entry_is_unique_per_source(store: Database) -> None:
    def add(connection: Connection) -> None:
        user = add_user(connection)
        first, second = add_source(connection, user), add_source(connection, user)
        add_item(connection, user, first, ident="x")
        add_item(connection, user, second, ident="x")
        with pytest.raises(IntegrityError), connection.begin_nested():
            add_item(connection, user, first, ident="x")

    await store.write(add)
    assert await count_rows(store, tables.item) == 2


async def test_items_without_source_may_repeat(store: Database) -> None:
    def add(connection: Connection) -> None:
        user = add_user(connection)
        add_item(connection, user, None, ident="same")
        add_item(connection, user, None, ident="same")

    await store.write(add)
    assert await count_rows(store, tables.item) == 2


async def test_pipeline_drafts_story_once_per_format(store: Database) -> None:
    def add(connection: Connection) -> None:
        user = add_user(connection)
        source = add_source(connection, user)
        first, second = add_item(connection, user, source), add_item(connection, user, source)
        add_draft(connection, user, first, story_id="story")
        add_draft(connection, user, first, story_id="story", format="THREAD")
        add_draft(connection, user, first, story_id="story", origin="regenerate")
        with pytest.raises(IntegrityError), connection.begin_nested():
            add_draft(connection, user, second, story_id="story")

    await store.write(add)
    assert await count_rows(store, tables.draft) == 3


async def test_one_running_run_per_user(store: Database) -> None:
    def add(connection: Connection) -> None:
        for user in (add_user(connection), add_user(connection)):
            for status in ("queued", "queued", "succeeded", "running"):
                row = {"id": new_id(NOW), "user_id": user, "status": status, "started_at": NOW}
                connection.execute(insert(tables.run).values(row))
        with pytest.raises(IntegrityError), connection.begin_nested():
            connection.execute(
                insert(tables.run).values(id=new_id(NOW), user_id=user, status="running", started_at=NOW)
            )

    await store.write(add)
    assert await count_rows(store, tables.run) == 8


async def test_unknown_status_is_refused_by_database(store: Database) -> None:
    await store.write(add_everything)

    with pytest.raises(IntegrityError, match="ck_draft_status"):
        await execute(store, text("UPDATE draft SET status = 'lost'"))


async def test_bulk_insert_is_one_statement(store: Database) -> None:
    # With a database-generated key, SQLAlchemy may insert row by row, which takes seven times as long.
    executemany_flags = []

    def add(connection: Connection) -> None:
        user = add_user(connection)
        add_item(connection, user, None)
        row = dict(connection.execute(select(tables.item)).mappings().one())
        del row["rid"]
        event.listen(connection, "before_cursor_execute", lambda *args: executemany_flags.append(args[-1]))
        connection.execute(insert(tables.item), [row | {"id": new_id(NOW)} for _ in range(500)])

    await store.write(add)

    assert executemany_flags == [True]
    assert await count_rows(store, tables.item) == 501


def execute_and_list_rids(path: Path, statement: str) -> list[int]:
    """Run `statement` and return the items' rids in order."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)
        return [rid for (rid,) in connection.execute("SELECT rid FROM item ORDER BY rid")]


@pytest.mark.sqlite("vacuum of the file")
async def test_vacuum_keeps_rids(store: Database) -> None:
    # Full-text search refers to these rids.
    def add(connection: Connection) -> None:
        user = add_user(connection)
        for number in range(4):
            add_item(connection, user, None, ident=str(number))

    await store.write(add)

    assert execute_and_list_rids(store.path, "DELETE FROM item WHERE ident IN ('0', '2')") == [2, 4]
    assert execute_and_list_rids(store.path, "VACUUM") == [2, 4]
    assert tables.draft.primary_key.columns.keys() == tables.item.primary_key.columns.keys() == ["rid"]


SELECT_DRAFT = "SELECT id, text FROM draft WHERE user_id = 'u'"
SELECT_ITEM = "SELECT id FROM item WHERE user_id = 'u'"
PAGE = "AND id < 'x' ORDER BY id DESC LIMIT 25"
WEEK = "scheduled_at >= 1 AND scheduled_at < 9 ORDER BY scheduled_at, id LIMIT 25"
FREQUENT_QUERIES = {
    "drafts": f"{SELECT_DRAFT} {PAGE}",
    "by status": f"{SELECT_DRAFT} AND status = 'approved' {PAGE}",
    "by format": f"{SELECT_DRAFT} AND format = 'SHORT' {PAGE}",
    "by status and format": f"{SELECT_DRAFT} AND status = 'approved' AND format = 'SHORT' {PAGE}",
    "by source": f"{SELECT_DRAFT} AND source_id = 's' {PAGE}",
    "by source type": f"{SELECT_DRAFT} AND source_type = 'rss' {PAGE}",
    "this week": f"{SELECT_DRAFT} AND {WEEK}",
    "scheduled this week": f"{SELECT_DRAFT} AND status = 'scheduled' AND {WEEK}",
    "items that wait": f"{SELECT_ITEM} AND state = 'new' ORDER BY published",
    "items that filters left out": f"{SELECT_ITEM} AND state = 'filtered' AND published > 5 ORDER BY published",
    "the newest items": f"{SELECT_ITEM} AND source_id IS NOT NULL ORDER BY published DESC LIMIT 20",
    "items of a time": f"{SELECT_ITEM} AND published > 5 ORDER BY published",
    "a known entry": "SELECT id FROM item WHERE source_id = 's' AND ident = 'x'",
    "a renamed entry": "SELECT id FROM item WHERE source_id = 's' AND alias = 'x'",
    "runs": "SELECT id FROM run WHERE user_id = 'u' AND id < 'x' ORDER BY id DESC LIMIT 10",
    "due sources": "SELECT id FROM source WHERE user_id = 'u' AND next_at < 5",
    "a draft's story": "SELECT rid FROM draft_event WHERE draft_id = 'd' ORDER BY version",
    "a bulk": "SELECT rid FROM draft_event WHERE user_id = 'u' AND bulk_id = 'b' ORDER BY rid DESC",
    "the last change": "SELECT rid FROM draft_event WHERE user_id = 'u' AND kind = 'change' ORDER BY rid DESC LIMIT 1",
    "the next undo": "SELECT id FROM draft WHERE user_id = 'u' AND undo_rid IS NOT NULL ORDER BY undo_rid DESC LIMIT 1",
    "the next redo": "SELECT id FROM draft WHERE user_id = 'u' AND redo_rid IS NOT NULL ORDER BY redo_rid DESC LIMIT 1",
    "drafts with a tag": "SELECT draft_id FROM draft_tag WHERE tag_id = 't' AND draft_id < 'x' ORDER BY draft_id DESC",
}


@pytest.mark.sqlite("plans of SQLite")
@pytest.mark.parametrize("query", FREQUENT_QUERIES.values(), ids=FREQUENT_QUERIES)
async def test_frequent_query_uses_index_without_sorting(store: Database, query: str) -> None:
    def explain(connection: Connection) -> list[str]:
        return [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}")]

    plan = await store.read(explain)

    assert len(plan) == 1
    assert plan[0].startswith("SEARCH")
