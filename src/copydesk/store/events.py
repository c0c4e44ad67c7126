"""What happened to drafts, as it is kept: written once, never changed."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, bindparam, func, insert, select, text

from copydesk.errors import StoreDamagedError
from copydesk.model.history import EventKind
from copydesk.model.wire import Struct
from copydesk.store.statements import run, text_of
from copydesk.store.tables import draft, draft_event
from copydesk.store.types import microseconds, moment_of


class Event(Struct, frozen=True):
    """An event that is to be written."""

    draft_id: str
    version: int
    at: datetime
    who: str
    kind: EventKind
    action: str
    before: Mapping[str, Any]
    """The columns that it changed, with the values that the database keeps."""
    after: Mapping[str, Any]
    feedback: str | None = None
    bulk_id: str | None = None
    of_rid: int | None = None
    """Of an undo the change that it takes back, of a redo the undo."""
    undo_rid: int | None = None
    redo_rid: int | None = None


class KeptEvent(Event, frozen=True, kw_only=True):
    """An event that is there."""

    rid: int


_NAMED: dict[str, Any] = {name: bindparam(name) for name in ("user_id", *KeptEvent.__struct_fields__)}
_INSERT: Final = text_of(insert(draft_event).values(**_NAMED))
_MINE = select(*(draft_event.c[name] for name in KeptEvent.__struct_fields__)).where(
    draft_event.c.user_id == bindparam("owner")
)
_OF_ONE_DRAFT = _MINE.where(draft_event.c.draft_id == bindparam("draft"))
_ONE: Final = text_of(_MINE.where(draft_event.c.rid == bindparam("wanted")))
_OF_DRAFT: Final = text_of(_OF_ONE_DRAFT.order_by(draft_event.c.version))
_NEWEST: Final = text_of(_OF_ONE_DRAFT.order_by(draft_event.c.version.desc()))
_OF_BULK: Final = text_of(_MINE.where(draft_event.c.bulk_id == bindparam("bulk")).order_by(draft_event.c.rid.desc()))
# In words, for SQLite knows the index over changes by the very condition of its making.
_LAST_CHANGE: Final = text_of(_MINE.where(text("kind = 'change'")).order_by(draft_event.c.rid.desc()))
LAST_NUMBER = 2**63 - 1
"""Beyond any that an event has."""
LOOKED_AT = 5_000
"""The user's last changes among which reasons are looked for: no more, however many there are."""
_FEEDBACK: Final = (
    "SELECT feedback FROM (SELECT rid, action, feedback FROM draft_event WHERE user_id = :owner AND kind = 'change'"
    " ORDER BY rid DESC LIMIT :among)"
    " WHERE action = :named AND feedback IS NOT NULL GROUP BY feedback ORDER BY max(rid) DESC LIMIT :most"
)


def _newest_of(name: str) -> str:
    there = (draft.c.user_id == bindparam("owner"), draft.c[name] < bindparam("below"))
    return text_of(_MINE.where(draft_event.c.rid == select(func.max(draft.c[name])).where(*there).scalar_subquery()))


_NEXT: Final = {EventKind.UNDO: _newest_of("undo_rid"), EventKind.REDO: _newest_of("redo_rid")}


def next_number(execute: Callable[..., sqlite3.Cursor]) -> int:
    """The number of the next event; in a transaction that writes, for nobody else can take it there."""
    (number,) = execute("SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'draft_event'").fetchone()
    return int(number)


def add(execute: Callable[..., sqlite3.Cursor], user_id: str, rid: int, event: Event) -> None:
    """Write an event under the next number."""
    values = msgspec.structs.asdict(event)
    values |= {"rid": rid, "user_id": user_id, "at": microseconds(event.at), "kind": event.kind.value}
    values |= {"before": _json(event.before), "after": _json(event.after)}
    execute(_INSERT, values)


def _json(columns: Mapping[str, Any]) -> str:
    return msgspec.json.encode(columns).decode()


def one(conn: Connection, user_id: str, rid: int) -> KeptEvent:
    """The event of this number, which is known to be there."""
    row = run(conn, _ONE, {"owner": user_id, "wanted": rid}).fetchone()
    if row is None:
        raise StoreDamagedError(f"The database lacks the event {rid} of a draft.")
    return _event(row)


def of_draft(conn: Connection, user_id: str, draft_id: str) -> tuple[KeptEvent, ...]:
    """Everything that happened to a draft, in order."""
    return tuple(_event(row) for row in run(conn, _OF_DRAFT, {"owner": user_id, "draft": draft_id}))


def newest(conn: Connection, user_id: str, draft_id: str) -> KeptEvent | None:
    """The last thing that happened to a draft."""
    row = run(conn, _NEWEST, {"owner": user_id, "draft": draft_id}).fetchone()
    return _event(row) if row else None


def last_change(conn: Connection, user_id: str) -> KeptEvent | None:
    """The last thing that the user did to any draft, undone by now or not."""
    row = run(conn, _LAST_CHANGE, {"owner": user_id}).fetchone()
    return _event(row) if row else None


def of_bulk(conn: Connection, user_id: str, bulk_id: str) -> tuple[KeptEvent, ...]:
    """Everything that was done at once, the last first."""
    return tuple(_event(row) for row in run(conn, _OF_BULK, {"owner": user_id, "bulk": bulk_id}))


def feedback(conn: Connection, user_id: str, action: str, most: int) -> tuple[str, ...]:
    """What the user lately said with an action, each once, the last first."""
    rows = run(conn, _FEEDBACK, {"owner": user_id, "named": action, "among": LOOKED_AT, "most": most})
    return tuple(words for (words,) in rows)


def next_back(conn: Connection, user_id: str, kind: EventKind, below: int = LAST_NUMBER) -> KeptEvent | None:
    """Of all the user's drafts the newest event that an undo, or a redo, takes back; of those before `below`."""
    row = run(conn, _NEXT[kind], {"owner": user_id, "below": below}).fetchone()
    return _event(row) if row else None


def taken_back(events: Sequence[KeptEvent]) -> frozenset[int]:
    """Which of a draft's events are taken back by now; `events` are all of them in their order."""
    gone: set[int] = set()
    for event in reversed(events):
        if event.of_rid is not None and event.rid not in gone:
            gone.add(event.of_rid)
    return frozenset(gone)


def _event(row: Sequence[Any]) -> KeptEvent:
    values = dict(zip(KeptEvent.__struct_fields__, row, strict=True))
    try:
        values |= {name: read(values[name]) for name, read in _READ.items()}
    except (ValueError, msgspec.DecodeError) as error:
        raise StoreDamagedError(f"The database holds an event that cannot be read: {error}") from error
    return KeptEvent(**values)


_columns = msgspec.json.Decoder(dict[str, Any]).decode
_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "at": moment_of,
    "kind": EventKind,
    "before": _columns,
    "after": _columns,
}
