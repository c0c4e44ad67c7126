"""What the tables promise: nothing doubled, nothing orphaned, counts that are right, queries that find an index."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, Executable, Table, UniqueConstraint, delete, event, func, select, text, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import IntegrityError

from copydesk.store import tables
from copydesk.store.engine import Engines
from copydesk.store.ids import new_id
from store_fixtures import NOW, add_draft, add_item, add_source, add_user

ALL = list(tables.metadata.tables.values())


def names(table: Table) -> str:
    return table.name


def indexes(table: Table) -> Iterator[tuple[str, ...]]:
    """The columns of each index of `table`, those of its keys with them."""
    yield tuple(column.name for column in table.primary_key)
    for index in table.indexes:
        yield tuple(column.name for column in index.columns)
    for constraint in table.constraints:
        if isinstance(constraint, UniqueConstraint):
            yield tuple(column.name for column in constraint.columns)


@pytest.mark.parametrize("table", ALL, ids=names)
def test_every_row_belongs_to_a_user(table: Table) -> None:
    if table.name != "user":
        assert not table.c.user_id.nullable
        (key,) = table.c.user_id.foreign_keys
        assert (key.column, key.ondelete) == (tables.user.c.id, "CASCADE")


@pytest.mark.parametrize("table", ALL, ids=names)
def test_a_deleted_row_finds_those_that_point_at_it_by_an_index(table: Table) -> None:
    # Without one, each delete reads the whole table.
    leading = {columns[0] for columns in indexes(table)}

    assert {column.name for column in table.columns if column.foreign_keys} <= leading


@pytest.mark.parametrize("table", ALL, ids=names)
def test_every_constraint_has_a_name(table: Table) -> None:
    assert all(constraint.name for constraint in table.constraints)


async def count(store: Engines, table: Table) -> int:
    return await store.read(lambda connection: int(connection.scalar(select(func.count()).select_from(table)) or 0))


def add_everything(connection: Connection) -> tuple[str, str, str]:
    """A user, source and draft with everything that can hang on them."""
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


async def change(store: Engines, *statements: Executable) -> None:
    """One transaction with these statements."""

    def work(connection: Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    await store.write(work)


async def test_a_deleted_source_takes_its_items_and_drafts_with_it(store: Engines) -> None:
    _, source, _ = await store.write(add_everything)
    await change(store, delete(tables.source).where(tables.source.c.id == source))

    gone = [tables.item, tables.draft, tables.draft_image, tables.draft_event, tables.engagement, tables.draft_tag]
    assert [await count(store, table) for table in gone] == [0] * 6
    assert await count(store, tables.tag) == 1


async def test_a_deleted_user_takes_everything_with_it(store: Engines) -> None:
    await store.write(add_everything)
    await change(store, delete(tables.user))

    assert sum([await count(store, table) for table in ALL]) == 0


async def test_a_deleted_run_or_older_version_leaves_the_draft(store: Engines) -> None:
    def add(connection: Connection) -> tuple[str, str]:
        user, source, old = add_everything(connection)
        run, item = new_id(NOW), add_item(connection, user, source)
        connection.execute(insert(tables.run).values(id=run, user_id=user, status="succeeded", started_at=NOW))
        return old, add_draft(connection, user, item, run_id=run, regenerated_from_id=old)

    old, new = await store.write(add)
    await change(store, delete(tables.run), delete(tables.draft).where(tables.draft.c.id == old))

    draft = tables.draft.c
    query = select(draft.id, draft.run_id, draft.regenerated_from_id)
    assert await store.read(lambda connection: connection.execute(query).all()) == [(new, None, None)]


async def test_a_source_knows_how_many_items_it_has(store: Engines) -> None:
    item, source = tables.item.c, tables.source.c
    chance = random.Random(7)

    def add(connection: Connection) -> None:
        user = add_user(connection)
        sources = [add_source(connection, user) for _ in range(3)]
        for number in range(60):
            add_item(connection, user, chance.choice([*sources, None]), ident=str(number), points=number)
        connection.execute(delete(tables.item).where(item.points % 3 == 0))
        connection.execute(update(tables.item).values(state="filtered"))

    await store.write(add)

    own = select(func.count()).where(item.source_id == source.id).scalar_subquery()
    told = await store.read(lambda connection: connection.execute(select(source.item_count, own)).all())
    assert all(kept == counted for kept, counted in told)
    assert sum(kept for kept, _ in told) > 0


async def test_an_item_that_comes_again_is_not_counted_again(store: Engines) -> None:
    def add_again(connection: Connection) -> str:
        user = add_user(connection)
        source = add_source(connection, user)
        item = add_item(connection, user, source, ident="x")
        row = connection.execute(select(tables.item)).mappings().one()
        again = insert(tables.item).values({**row, "rid": None, "id": new_id(NOW), "title": "New title"})
        connection.execute(
            again.on_conflict_do_update(index_elements=["source_id", "ident"], set_={"title": again.excluded.title})
        )
        return item

    item = await store.write(add_again)

    counted = select(tables.source.c.item_count)
    kept = select(tables.item.c.id, tables.item.c.title)
    assert await store.read(lambda connection: connection.execute(counted).scalar_one()) == 1
    assert await store.read(lambda connection: connection.execute(kept).all()) == [(item, "New title")]


async def test_an_entry_is_stored_once_for_each_source(store: Engines) -> None:
    def add(connection: Connection) -> None:
        user = add_user(connection)
        first, second = add_source(connection, user), add_source(connection, user)
        add_item(connection, user, first, ident="x")
        add_item(connection, user, second, ident="x")
        with pytest.raises(IntegrityError):
            add_item(connection, user, first, ident="x")

    await store.write(add)
    assert await count(store, tables.item) == 2


async def test_what_the_user_gives_twice_is_two_items(store: Engines) -> None:
    def add(connection: Connection) -> None:
        user = add_user(connection)
        add_item(connection, user, None, ident="same")
        add_item(connection, user, None, ident="same")

    await store.write(add)
    assert await count(store, tables.item) == 2


async def test_runs_draft_a_story_once_for_each_format(store: Engines) -> None:
    def add(connection: Connection) -> None:
        user = add_user(connection)
        source = add_source(connection, user)
        one, other = add_item(connection, user, source), add_item(connection, user, source)
        add_draft(connection, user, one, story_id="story")
        add_draft(connection, user, one, story_id="story", format="THREAD")
        add_draft(connection, user, one, story_id="story", origin="regenerate")
        with pytest.raises(IntegrityError):
            add_draft(connection, user, other, story_id="story")

    await store.write(add)
    assert await count(store, tables.draft) == 3


async def test_a_user_has_one_run_at_a_time_and_others_may_wait(store: Engines) -> None:
    def add(connection: Connection) -> None:
        for user in (add_user(connection), add_user(connection)):
            for status in ("queued", "queued", "succeeded", "running"):
                row = {"id": new_id(NOW), "user_id": user, "status": status, "started_at": NOW}
                connection.execute(insert(tables.run).values(row))
        with pytest.raises(IntegrityError):
            connection.execute(
                insert(tables.run).values(id=new_id(NOW), user_id=user, status="running", started_at=NOW)
            )

    await store.write(add)
    assert await count(store, tables.run) == 8


async def test_a_word_that_the_interface_does_not_know_is_refused_by_the_database_too(store: Engines) -> None:
    await store.write(add_everything)

    with pytest.raises(IntegrityError, match="ck_draft_status"):
        await change(store, text("UPDATE draft SET status = 'lost'"))


async def test_many_rows_are_one_statement(store: Engines) -> None:
    # With a key that the database makes, rows can go in one by one, which takes seven times as long.
    seen = []

    def add(connection: Connection) -> None:
        user = add_user(connection)
        add_item(connection, user, None)
        row = dict(connection.execute(select(tables.item)).mappings().one())
        del row["rid"]
        event.listen(connection, "before_cursor_execute", lambda *args: seen.append(args[-1]))
        connection.execute(insert(tables.item), [row | {"id": new_id(NOW)} for _ in range(500)])

    await store.write(add)

    assert seen == [True]
    assert await count(store, tables.item) == 501


def rids(path: Path, statement: str) -> list[int]:
    """The numbers of the items' rows after `statement`."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)
        return [rid for (rid,) in connection.execute("SELECT rid FROM item ORDER BY rid")]


async def test_packing_the_file_does_not_number_rows_anew(store: Engines) -> None:
    # Full text search points at these numbers.
    def add(connection: Connection) -> None:
        user = add_user(connection)
        for number in range(4):
            add_item(connection, user, None, ident=str(number))

    await store.write(add)

    assert rids(store.path, "DELETE FROM item WHERE ident IN ('0', '2')") == [2, 4]
    assert rids(store.path, "VACUUM") == [2, 4]
    assert tables.draft.primary_key.columns.keys() == tables.item.primary_key.columns.keys() == ["rid"]


ONE = "SELECT id, text FROM draft WHERE user_id = 'u'"
ITEM = "SELECT id FROM item WHERE user_id = 'u'"
PAGE = "AND id < 'x' ORDER BY id DESC LIMIT 25"
WEEK = "scheduled_at >= 1 AND scheduled_at < 9 ORDER BY scheduled_at, id LIMIT 25"
HOT = {
    "drafts": f"{ONE} {PAGE}",
    "by status": f"{ONE} AND status = 'approved' {PAGE}",
    "by format": f"{ONE} AND format = 'SHORT' {PAGE}",
    "by status and format": f"{ONE} AND status = 'approved' AND format = 'SHORT' {PAGE}",
    "by source": f"{ONE} AND source_id = 's' {PAGE}",
    "by source type": f"{ONE} AND source_type = 'rss' {PAGE}",
    "this week": f"{ONE} AND {WEEK}",
    "scheduled this week": f"{ONE} AND status = 'scheduled' AND {WEEK}",
    "items that wait": f"{ITEM} AND state = 'new' ORDER BY published",
    "items that filters left out": f"{ITEM} AND state = 'filtered' AND published > 5 ORDER BY published",
    "the newest items": f"{ITEM} AND source_id IS NOT NULL ORDER BY published DESC LIMIT 20",
    "items of a time": f"{ITEM} AND published > 5 ORDER BY published",
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


@pytest.mark.parametrize("query", HOT.values(), ids=HOT)
async def test_a_page_is_found_by_an_index_and_needs_no_sorting(store: Engines, query: str) -> None:
    def explain(connection: Connection) -> list[str]:
        return [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}")]

    plan = await store.read(explain)

    assert len(plan) == 1
    assert plan[0].startswith("SEARCH")
