"""Items as they are kept: what is known is found by an index, and only what is the user's."""

from datetime import timedelta
from typing import Any

from sqlalchemy import event, update

from copydesk.model.item import Entry
from copydesk.store import items, tables
from copydesk.store.engine import Engines
from store_fixtures import NOW, add_item, add_source, add_user


def told(number: int) -> Entry:
    return Entry(ident=f"id {number}", alias=f"alias {number}", title=f"Title {number}")


async def test_known_entries_are_found_by_an_index_for_each_of_their_keys(store: Engines) -> None:
    """Asked for both keys at once, the database read all the items of the source."""
    asked: list[tuple[str, Any]] = []
    async with store.reading() as conn:
        event.listen(store._read.sync_engine, "before_cursor_execute", lambda *args: asked.append((args[2], args[3])))
        await items.known(conn, "user", "source", [told(1), told(2)])
        plans = [
            [row.detail for row in await conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)]
            for text, values in tuple(asked)
        ]

    assert not any(step.startswith("SCAN") for plan in plans for step in plan)
    assert "(source_id=? AND ident=?)" in plans[0][0]
    assert "(source_id=? AND alias=?)" in plans[1][0]


async def test_an_entry_is_known_by_either_key_and_once(store: Engines) -> None:
    async with store.writing() as conn:
        user = await add_user(conn)
        source = await add_source(conn, user)
        both = await add_item(conn, user, source, ident="id 1", alias="alias 1", content_hash=b"")
        renamed = await add_item(conn, user, source, ident="old id 2", alias="alias 2", content_hash=b"")
        await add_item(conn, user, source, ident="id 3", alias="alias 3", content_hash=b"")
        found = await items.known(conn, user, source, [told(1), told(2)])

    assert sorted(item.id for item in found) == sorted([both, renamed])


async def test_items_of_another_user_are_neither_known_nor_counted(store: Engines) -> None:
    async with store.writing() as conn:
        user, other = await add_user(conn), await add_user(conn)
        source = await add_source(conn, user)
        for number in range(3):
            hours = timedelta(hours=number)
            await add_item(conn, user, source, ident=f"id {number}", alias="", content_hash=b"", published=NOW + hours)

        assert len(await items.known(conn, user, source, [told(1)])) == 1
        assert await items.known(conn, other, source, [told(1)]) == ()
        assert await items.recent_times(conn, user, source, 2) == (NOW + timedelta(hours=2), NOW + timedelta(hours=1))
        assert await items.recent_times(conn, other, source) == ()


async def test_what_came_from_a_source_that_is_switched_off_does_not_wait_for_a_draft(store: Engines) -> None:
    """Drafts went on coming from a source after it was switched off, as long as it had items left."""
    async with store.writing() as conn:
        user = await add_user(conn)
        on, off = await add_source(conn, user), await add_source(conn, user, enabled=False)
        kept, left = await add_item(conn, user, on), await add_item(conn, user, off)

        assert [item.id for item in await items.waiting(conn, user, None)] == [kept]
        assert [item.id for item in await items.waiting(conn, user, [off])] == [left]  # asked for by its id
        await conn.execute(update(tables.source).values(enabled=True))
        assert {item.id for item in await items.waiting(conn, user, None)} == {kept, left}
