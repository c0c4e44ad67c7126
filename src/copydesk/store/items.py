"""Items: entries that sources brought, and pages or prompts that the user gave."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

import msgspec
from sqlalchemy import Connection, ScalarSelect, bindparam, insert, select, update

from copydesk.model.item import Entry, Item, ItemState, digest
from copydesk.model.serialization import Struct
from copydesk.store.column_types import to_microseconds
from copydesk.store.raw_sql import BulkInsert, ColumnCodec, chunked, execute_many, execute_sql, placeholders
from copydesk.store.tables import item, source

_ENTRY_FIELDS = tuple(name for name in Entry.__struct_fields__ if name != "published")
_entry_values = attrgetter(*_ENTRY_FIELDS)
_ITEM_FIELDS = ("id", "source_id", "story_id", "canonical", "published", "seen", "state", "reason")
_SOURCE_COLUMNS = (source.c.name, source.c.type, source.c.named_by_user)
_ITEM = ColumnCodec([*(item.c[name] for name in (*_ENTRY_FIELDS, *_ITEM_FIELDS)), *_SOURCE_COLUMNS])
_MEMBER = ColumnCodec(item.c[name] for name in ("id", "source_id", "story_id", "title", "canonical", "published"))
_OTHER_FIELDS = (*_ITEM_FIELDS, "source_name", "source_type", "source_named_by_user")
_INSERT = BulkInsert(
    item,
    (
        "id",
        "user_id",
        "source_id",
        "story_id",
        "canonical",
        "published",
        "seen",
        "state",
        "content_hash",
        *_ENTRY_FIELDS,
    ),
)

# The texts of two weeks are large. Stories are compared by no more than this.
_SUMMARY = "substr(CASE WHEN item.summary <> '' THEN item.summary ELSE item.text END, 1, 250)"
_ASSIGN_STORY = "UPDATE item SET story_id = ? WHERE id = ? AND user_id = ?"
# As literals, because each of the two states has a partial index: with a parameter SQLite would not use it.
_IS_NEW = f"state = '{ItemState.NEW.value}'"
_IS_FILTERED = f"state = '{ItemState.FILTERED.value}'"
_REOPEN_DUPLICATE = f"""UPDATE item SET state = ?, reason = NULL
    WHERE id = ? AND user_id = ? AND state = '{ItemState.DUPLICATE.value}'"""  # noqa: S608 - a word of our own
# Only items still new: another process may have drafted one meanwhile.
_SET_OUTCOME = f"UPDATE item SET state = ?, reason = ? WHERE id = ? AND user_id = ? AND {_IS_NEW}"  # noqa: S608

_IS_APPROVED = "draft.status IN ('approved', 'scheduled') AND draft.archived_at IS NULL"
_HAS_APPROVED = f"""(EXISTS (SELECT 1 FROM draft WHERE draft.item_id = item.id AND {_IS_APPROVED})
    OR EXISTS (SELECT 1 FROM draft_item JOIN draft ON draft.id = draft_item.draft_id
        WHERE draft_item.item_id = item.id AND {_IS_APPROVED}))"""  # noqa: S608 - words of our own

USER_SOURCE_NAME = "you"
"""The source name of items that the user gave."""


class ExistingItem(Struct, frozen=True, gc=False):
    """The part of a stored item that tells if an entry is new, changed or the same."""

    id: str
    ident: str
    alias: str
    content_hash: bytes


class NewItem(Struct, frozen=True, gc=False):
    """An entry to insert."""

    id: str
    entry: Entry
    canonical: str
    published: datetime
    state: ItemState


class StoryMember(Struct, frozen=True, gc=False):
    """The part of a stored item that assigns other items to its story."""

    id: str
    source_id: str
    story_id: str
    title: str
    canonical: str
    published: datetime
    summary: str
    """The beginning of the summary, or of the text if there is none."""


def content_hash(entry: Entry) -> bytes:
    """Return 16 bytes that change when any field of the entry does."""
    return digest(msgspec.msgpack.encode(entry))


def find_existing(conn: Connection, user_id: str, source_id: str, entries: Sequence[Entry]) -> tuple[ExistingItem, ...]:
    """Return the stored items of the source whose `ident` or `alias` is that of one of `entries`."""
    columns = select(item.c.id, item.c.ident, item.c.alias, item.c.content_hash)
    query = columns.where(item.c.source_id == _own_source(user_id, source_id))
    existing: dict[str, ExistingItem] = {}
    for chunk in chunked(entries):
        # Two queries, one per index: with OR all items of the source would be read.
        for key in ("ident", "alias"):
            for row in conn.execute(query.where(item.c[key].in_([getattr(entry, key) for entry in chunk]))):
                existing[row.id] = ExistingItem(
                    id=row.id, ident=row.ident, alias=row.alias, content_hash=row.content_hash
                )
    return tuple(existing.values())


def add(conn: Connection, user_id: str, source_id: str, items: Sequence[NewItem], fetched_at: datetime) -> None:
    """Insert new items. They have no story yet."""
    rows = [
        [
            new.id,
            user_id,
            source_id,
            "",
            new.canonical,
            new.published,
            fetched_at,
            new.state,
            content_hash(new.entry),
            *_entry_values(new.entry),
        ]
        for new in items
    ]
    _INSERT.insert(conn, rows)


def update_entries(conn: Connection, user_id: str, changed: Sequence[tuple[str, Entry, str]]) -> None:
    """Update stored items whose entries changed at the source: (item id, entry, canonical URL). Their dates stay."""
    rows = [
        {"b_id": item_id, "b_user": user_id, "content_hash": content_hash(entry), "canonical": canonical}
        # These identify the item, so a change of the entry must not change them.
        | {name: value for name, value in _values(entry).items() if name not in {"ident", "alias"}}
        for item_id, entry, canonical in changed
    ]
    if rows:
        values: dict[str, object] = {name: bindparam(name) for name in rows[0] if not name.startswith("b_")}
        conditions = (item.c.id == bindparam("b_id"), item.c.user_id == bindparam("b_user"))
        conn.execute(update(item).where(*conditions).values(**values), rows)


def list_new(conn: Connection, user_id: str, source_ids: Collection[str] | None) -> tuple[Item, ...]:
    """Return the items that are not drafted and not filtered out yet, by date, then by source, oldest first.

    Items of a disabled source are left out unless `source_ids` names it.
    """
    condition, values = ("source.enabled", ()) if source_ids is None else (_in_sources(source_ids), tuple(source_ids))
    # Not by id alone: the order in which sources were stored depends on the network.
    order = "ORDER BY item.published, item.source_id, item.id"
    return _select_items(conn, f"item.{_IS_NEW} AND {condition} {order}", user_id, *values)


def list_new_since(conn: Connection, user_id: str, start: datetime) -> frozenset[str]:
    """Return the ids of those that `list_new` returns and that were stored since `start`."""
    query = f"SELECT id FROM item WHERE user_id = ? AND {_IS_NEW} AND seen >= ?"  # noqa: S608 - words of our own
    return frozenset(item_id for (item_id,) in execute_sql(conn, query, (user_id, to_microseconds(start))))


def get(conn: Connection, user_id: str, item_id: str) -> Item | None:
    """Return the item, or None if the user has no such item. Includes the user's own items."""
    return next(iter(_select_items(conn, "item.id = ?", user_id, item_id, also_own=True)), None)


def list_of_draft(conn: Connection, user_id: str, draft_id: str) -> tuple[Item, ...]:
    """Return the items of a draft that has several, the lead first; empty for any other."""
    condition = "item.id IN (SELECT item_id FROM draft_item WHERE draft_id = ?)"
    order = "ORDER BY (SELECT position FROM draft_item WHERE draft_id = ? AND item_id = item.id)"
    return _select_items(conn, f"{condition} {order}", user_id, draft_id, draft_id, also_own=True)


def list_approved(conn: Connection, user_id: str, item_ids: Collection[str]) -> tuple[Item, ...]:
    """Return those of the items of which a draft is approved or scheduled."""
    found: list[Item] = []
    for chunk in chunked(tuple(item_ids)):
        found += _select_items(conn, f"item.id IN ({placeholders(chunk)}) AND {_HAS_APPROVED}", user_id, *chunk)
    return tuple(found)


def list_approved_ids(conn: Connection, user_id: str, source_id: str) -> tuple[str, ...]:
    """Return the ids of the source's items of which a draft is approved or scheduled."""
    statement = f"SELECT item.id FROM item WHERE item.user_id = ? AND item.source_id = ? AND {_HAS_APPROVED}"  # noqa: S608
    return tuple(item_id for (item_id,) in execute_sql(conn, statement, (user_id, source_id)))


def list_newest(conn: Connection, user_id: str, limit: int) -> tuple[Item, ...]:
    """Return at most `limit` items of sources, most recently published first."""
    # The row id breaks ties between entries that a feed dates alike.
    order = "ORDER BY item.published DESC, item.rid DESC LIMIT ?"
    return _select_items(conn, f"item.source_id IS NOT NULL {order}", user_id, limit)


def list_since(conn: Connection, user_id: str, since: datetime, limit: int) -> tuple[Item, ...]:
    """Return at most the newest `limit` items of sources published since `since`, newest first."""
    condition = "item.source_id IS NOT NULL AND item.published >= ? ORDER BY item.published DESC, item.rid DESC LIMIT ?"
    return _select_items(conn, condition, user_id, to_microseconds(since), limit)


def find_by_address(conn: Connection, user_id: str, url: str, canonical: str) -> tuple[Item, ...]:
    """Return the items with this address, newest first. Reads all the user's items."""
    condition = """(item.url = ? OR item.ident = ? OR item.canonical = ? AND item.canonical <> '')
        ORDER BY item.published DESC, item.rid DESC LIMIT 10"""
    return _select_items(conn, condition, user_id, url, url, canonical, also_own=True)


def add_user_item(conn: Connection, user_id: str, new: NewItem) -> None:
    """Insert an item that the user gave. It belongs to no source and is a story of its own."""
    conn.execute(
        insert(item).values(
            **_values(new.entry),
            id=new.id,
            user_id=user_id,
            story_id=new.id,
            canonical=new.canonical,
            published=new.published,
            seen=new.published,
            state=new.state,
        )
    )


def list_story_members(conn: Connection, user_id: str, since: datetime) -> tuple[StoryMember, ...]:
    """Return the items published since `since` that have a story, oldest first."""
    query = f"""SELECT {_MEMBER.column_list}, {_SUMMARY} FROM item
        WHERE user_id = ? AND published >= ? AND story_id <> '' AND source_id IS NOT NULL
        ORDER BY published, id"""  # noqa: S608 - names of our own
    rows = _MEMBER.decode(execute_sql(conn, query, (user_id, to_microseconds(since))))
    return tuple(StoryMember(**dict(zip((*_MEMBER.names, "summary"), row, strict=True))) for row in rows)


def list_story(conn: Connection, user_id: str, story_id: str) -> tuple[Item, ...]:
    """Return the items of a story, oldest first."""
    return _select_items(conn, "item.story_id = ? ORDER BY item.published, item.id", user_id, story_id)


def list_publication_times(conn: Connection, user_id: str, source_id: str, count: int = 50) -> tuple[datetime, ...]:
    """Return the publication dates of the source's newest items, newest first."""
    own = item.c.source_id == _own_source(user_id, source_id)
    query = select(item.c.published).where(own).order_by(item.c.published.desc())
    return tuple(conn.execute(query.limit(count)).scalars())


def list_language_samples(
    conn: Connection, user_id: str, source_ids: Iterable[str], count: int
) -> dict[str, tuple[Entry, ...]]:
    """Return the newest items of each source, with the fields that tell their language only."""
    return {source_id: _list_language_sample(conn, user_id, source_id, count) for source_id in source_ids}


def _list_language_sample(conn: Connection, user_id: str, source_id: str, count: int) -> tuple[Entry, ...]:
    # The plus keeps SQLite from reading the items of all sources by date.
    query = f"""SELECT item.title, {_SUMMARY}, item.language FROM item
        WHERE source_id = ? AND +user_id = ? ORDER BY published DESC LIMIT ?"""  # noqa: S608 - names of our own
    return tuple(
        Entry(ident="", alias="", title=title, summary=summary, language=language)
        for title, summary, language in execute_sql(conn, query, (source_id, user_id, count))
    )


def assign_stories(conn: Connection, user_id: str, stories: Iterable[tuple[str, str]]) -> None:
    """Assign items to stories: (item id, story id)."""
    execute_many(conn, _ASSIGN_STORY, [(story_id, item_id, user_id) for item_id, story_id in stories])


def set_outcomes(conn: Connection, user_id: str, outcomes: Iterable[tuple[str, ItemState, str | None]]) -> int:
    """Store the result for items still in NEW: (item id, state, reason). Return the number of items updated."""
    return execute_many(
        conn, _SET_OUTCOME, [(state.value, reason, item_id, user_id) for item_id, state, reason in outcomes]
    )


def reopen_duplicates(conn: Connection, user_id: str, item_ids: Iterable[str]) -> None:
    """Set items that were duplicates back to NEW."""
    execute_many(conn, _REOPEN_DUPLICATE, [(ItemState.NEW.value, item_id, user_id) for item_id in item_ids])


def reopen_filtered(conn: Connection, user_id: str, source_ids: Sequence[str], since: datetime) -> int:
    """Set items of these sources that were filtered out back to NEW if published since `since`; return their number."""
    count = 0
    for chunk in chunked(source_ids):
        statement = f"""UPDATE item SET state = ?, reason = NULL
            WHERE user_id = ? AND {_IS_FILTERED} AND published >= ? AND {_in_sources(chunk)}"""  # noqa: S608 - names of our own
        count += execute_sql(conn, statement, (ItemState.NEW.value, user_id, to_microseconds(since), *chunk)).rowcount
    return count


def _own_source(user_id: str, source_id: str) -> ScalarSelect[str]:
    """Return a subquery for the source's id, empty if it is not the user's.

    A condition on the item's own user id would lead SQLite to a worse index.
    """
    return select(source.c.id).where(source.c.id == source_id, source.c.user_id == user_id).scalar_subquery()


def _in_sources(source_ids: Collection[str]) -> str:
    return f"item.source_id IN ({placeholders(source_ids)})"


def _values(entry: Entry) -> dict[str, object]:
    return {name: getattr(entry, name) for name in _ENTRY_FIELDS}


def _select_items(conn: Connection, condition: str, *values: object, also_own: bool = False) -> tuple[Item, ...]:
    """Return items that meet `condition`; `values[0]` is the user id. `also_own` includes the user's own items."""
    join = "LEFT JOIN" if also_own else "JOIN"
    query = f"""SELECT {_ITEM.column_list} FROM item {join} source ON source.id = item.source_id
        WHERE item.user_id = ? AND {condition}"""  # noqa: S608 - names of our own
    return tuple(_item(row) for row in _ITEM.decode(execute_sql(conn, query, values)))


def _item(row: list[Any]) -> Item:
    fields = dict(zip(_OTHER_FIELDS, row[len(_ENTRY_FIELDS) :], strict=True))
    entry = Entry(**dict(zip(_ENTRY_FIELDS, row, strict=False)), published=fields["published"])
    # The rest of the program knows no item without a source.
    if fields["source_id"] is None:
        fields |= {"source_id": "", "source_name": USER_SOURCE_NAME, "source_named_by_user": False}
    return Item(entry=entry, **fields)
