"""Items as they are kept."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

import msgspec
from sqlalchemy import Connection, ScalarSelect, bindparam, insert, select, update

from copydesk.model.item import Entry, Item, ItemState
from copydesk.model.wire import Struct
from copydesk.store.parts import in_parts
from copydesk.store.statements import Columns, Rows, places, run, run_many
from copydesk.store.tables import item, source
from copydesk.store.types import microseconds
from copydesk.text.digest import digest

_ENTRY = tuple(name for name in Entry.__struct_fields__ if name != "published")
_values_of = attrgetter(*_ENTRY)
_FOUND = ("id", "source_id", "story_id", "canonical", "published", "seen", "state", "reason")
_ITEM = Columns([*(item.c[name] for name in (*_ENTRY, *_FOUND)), source.c.name, source.c.type])
_MEMBER = Columns(item.c[name] for name in ("id", "source_id", "story_id", "title", "canonical", "published"))
_BESIDE = (*_FOUND, "source_name", "source_type")
_NEW = Rows(
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
        *_ENTRY,
    ),
)

_PLACE = "UPDATE item SET story_id = ? WHERE id = ? AND user_id = ?"
# Written out, as each of the two states has an index of its own.
_NEW_ONE = f"state = '{ItemState.NEW.value}'"
_LEFT_OUT = f"state = '{ItemState.FILTERED.value}'"
_SETTLE = f"UPDATE item SET state = ?, reason = ? WHERE id = ? AND user_id = ? AND {_NEW_ONE}"  # noqa: S608

YOU = "you"
"""In the place of a source's name, for what the user gave."""


class KnownItem(Struct, frozen=True):
    """Of a stored item what decides whether an entry is new, changed, or the same."""

    id: str
    ident: str
    alias: str
    content_hash: bytes


class NewItem(Struct, frozen=True):
    """An entry that is to be stored."""

    id: str
    entry: Entry
    canonical: str
    published: datetime
    state: ItemState


class StoryMember(Struct, frozen=True):
    """Of a stored item what places another one in its story."""

    id: str
    source_id: str
    story_id: str
    title: str
    canonical: str
    published: datetime


def content_hash(entry: Entry) -> bytes:
    """16 bytes that change when anything of the entry does."""
    return digest(msgspec.msgpack.encode(entry))


def known(conn: Connection, user_id: str, source_id: str, entries: Sequence[Entry]) -> tuple[KnownItem, ...]:
    """The stored items of the user's source that have the id, or the second key, of one of `entries`."""
    columns = select(item.c.id, item.c.ident, item.c.alias, item.c.content_hash)
    query = columns.where(item.c.source_id == _own_source(user_id, source_id))
    found: dict[str, KnownItem] = {}
    for some in in_parts(entries):
        # Two queries, for each has its index: with an "or" all items of the source would be read.
        for key in ("ident", "alias"):
            for row in conn.execute(query.where(item.c[key].in_([getattr(entry, key) for entry in some]))):
                found[row.id] = KnownItem(id=row.id, ident=row.ident, alias=row.alias, content_hash=row.content_hash)
    return tuple(found.values())


def add(conn: Connection, user_id: str, source_id: str, items: Sequence[NewItem], seen: datetime) -> None:
    """Store new items; their story is found later."""
    rows = [
        [
            new.id,
            user_id,
            source_id,
            "",
            new.canonical,
            new.published,
            seen,
            new.state,
            content_hash(new.entry),
            *_values_of(new.entry),
        ]
        for new in items
    ]
    _NEW.add(conn, rows)


def refresh(conn: Connection, user_id: str, changed: Sequence[tuple[str, Entry, str]]) -> None:
    """Take over what a source changed in entries that are stored: (item id, entry, canonical). Their time stays."""
    rows = [
        {"b_id": item_id, "b_user": user_id, "content_hash": content_hash(entry), "canonical": canonical}
        | {name: value for name, value in _values(entry).items() if name not in {"ident", "alias"}}
        for item_id, entry, canonical in changed
    ]
    if rows:
        values: dict[str, object] = {name: bindparam(name) for name in rows[0] if not name.startswith("b_")}
        mine = (item.c.id == bindparam("b_id"), item.c.user_id == bindparam("b_user"))
        conn.execute(update(item).where(*mine).values(**values), rows)


def waiting(conn: Connection, user_id: str, source_ids: Collection[str] | None) -> tuple[Item, ...]:
    """The items that no draft was made of yet and no filter left out, oldest first; of equals, by their source.

    Those of a source that is switched off wait until it is on again, or is asked for by its id.
    """
    asked_for, wanted = ("source.enabled", ()) if source_ids is None else (_among(source_ids), tuple(source_ids))
    # Not by id alone: which source was stored first is the network's luck.
    order = "ORDER BY item.published, item.source_id, item.id"
    return _found(conn, f"item.{_NEW_ONE} AND {asked_for} {order}", user_id, *wanted)


def one(conn: Connection, user_id: str, item_id: str) -> Item | None:
    """One of the user's items."""
    return next(iter(_found(conn, "item.id = ?", user_id, item_id, also_own=True)), None)


def newest(conn: Connection, user_id: str, most: int) -> tuple[Item, ...]:
    """What sources published last, the newest first."""
    order = "ORDER BY item.published DESC, item.rid DESC LIMIT ?"
    return _found(conn, f"item.source_id IS NOT NULL {order}", user_id, most)


def add_own(conn: Connection, user_id: str, new: NewItem) -> None:
    """Store what the user gave, which belongs to no source and is a story of its own."""
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


def story_members(conn: Connection, user_id: str, since: datetime) -> tuple[StoryMember, ...]:
    """The placed items published since, oldest first."""
    query = f"""SELECT {_MEMBER.text} FROM item
        WHERE user_id = ? AND published >= ? AND story_id <> '' AND source_id IS NOT NULL
        ORDER BY published, id"""  # noqa: S608 - names of our own
    rows = _MEMBER.read(run(conn, query, (user_id, microseconds(since))))
    return tuple(StoryMember(**dict(zip(_MEMBER.names, row, strict=True))) for row in rows)


def recent_times(conn: Connection, user_id: str, source_id: str, count: int = 50) -> tuple[datetime, ...]:
    """When the newest items of the user's source were published, newest first."""
    own = item.c.source_id == _own_source(user_id, source_id)
    query = select(item.c.published).where(own).order_by(item.c.published.desc())
    return tuple(conn.execute(query.limit(count)).scalars())


def place(conn: Connection, user_id: str, stories: Iterable[tuple[str, str]]) -> None:
    """Put items in their stories: (item id, story id)."""
    run_many(conn, _PLACE, [(story_id, item_id, user_id) for item_id, story_id in stories])


def settle(conn: Connection, user_id: str, outcomes: Iterable[tuple[str, ItemState, str | None]]) -> int:
    """Say what became of items that waited: (item id, state, reason); of how many that still did."""
    return run_many(conn, _SETTLE, [(state.value, reason, item_id, user_id) for item_id, state, reason in outcomes])


def reopen(conn: Connection, user_id: str, source_ids: Sequence[str], since: datetime) -> int:
    """Let what filters left out of these sources wait again, where it was published since; of how many items."""
    count = 0
    for some in in_parts(source_ids):
        again = f"""UPDATE item SET state = ?, reason = NULL
            WHERE user_id = ? AND {_LEFT_OUT} AND published >= ? AND {_among(some)}"""  # noqa: S608 - names of our own
        count += run(conn, again, (ItemState.NEW.value, user_id, microseconds(since), *some)).rowcount
    return count


def _own_source(user_id: str, source_id: str) -> ScalarSelect[str]:
    """The source's id if it is the user's. Asked of an item itself, the user leads the database to a worse index."""
    return select(source.c.id).where(source.c.id == source_id, source.c.user_id == user_id).scalar_subquery()


def _among(source_ids: Collection[str]) -> str:
    return f"item.source_id IN ({places(source_ids)})"


def _values(entry: Entry) -> dict[str, object]:
    return {name: getattr(entry, name) for name in _ENTRY}


def _found(conn: Connection, which: str, *values: object, also_own: bool = False) -> tuple[Item, ...]:
    """Items of the user, who is the first of `values`; what he gave himself is among them if asked for."""
    join = "LEFT JOIN" if also_own else "JOIN"
    query = f"""SELECT {_ITEM.text} FROM item {join} source ON source.id = item.source_id
        WHERE item.user_id = ? AND {which}"""  # noqa: S608 - names of our own
    return tuple(_item(row) for row in _ITEM.read(run(conn, query, values)))


def _item(row: list[Any]) -> Item:
    beside = dict(zip(_BESIDE, row[len(_ENTRY) :], strict=True))
    entry = Entry(**dict(zip(_ENTRY, row, strict=False)), published=beside["published"])
    if beside["source_id"] is None:
        beside |= {"source_id": "", "source_name": YOU}
    return Item(entry=entry, **beside)
