"""Draft events: the append-only history of every draft, which undo and redo are based on."""

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
    """An event to insert."""

    draft_id: str
    version: int
    at: datetime
    who: str
    kind: EventKind
    action: str
    before: Mapping[str, Any]
    """The changed columns, with their stored values."""
    after: Mapping[str, Any]
    feedback: str | None = None
    bulk_id: str | None = None
    of_rid: int | None = None
    """For an undo the change that it reverts, for a redo the undo."""
    undo_rid: int | None = None
    """The event that the draft's next undo would revert if this event were taken back; `redo_rid` likewise."""
    redo_rid: int | None = None


class KeptEvent(Event, frozen=True, kw_only=True):
    """An event read from the database."""

    rid: int


_PARAMETERS: dict[str, Any] = {name: bindparam(name) for name in ("user_id", *KeptEvent.__struct_fields__)}
_INSERT: Final = text_of(insert(draft_event).values(**_PARAMETERS))
_OWNED = select(*(draft_event.c[name] for name in KeptEvent.__struct_fields__)).where(
    draft_event.c.user_id == bindparam("owner")
)
_OF_ONE_DRAFT = _OWNED.where(draft_event.c.draft_id == bindparam("draft"))
_BY_RID: Final = text_of(_OWNED.where(draft_event.c.rid == bindparam("wanted")))
_OF_DRAFT: Final = text_of(_OF_ONE_DRAFT.order_by(draft_event.c.version))
_NEWEST_OF_DRAFT: Final = text_of(_OF_ONE_DRAFT.order_by(draft_event.c.version.desc()))
_OF_BULK: Final = text_of(_OWNED.where(draft_event.c.bulk_id == bindparam("bulk")).order_by(draft_event.c.rid.desc()))
# As text: SQLite uses a partial index only if the condition is written as in its definition.
_LAST_CHANGE: Final = text_of(_OWNED.where(text("kind = 'change'")).order_by(draft_event.c.rid.desc()))
LAST_NUMBER = 2**63 - 1
"""Greater than or equal to any event's number."""
LOOKED_AT = 5_000
"""Number of the user's latest changes searched for feedback, so that the cost has a limit."""
_FEEDBACK: Final = (
    "SELECT feedback FROM (SELECT rid, action, feedback FROM draft_event WHERE user_id = :owner AND kind = 'change'"
    " ORDER BY rid DESC LIMIT :among)"
    " WHERE action = :named AND feedback IS NOT NULL GROUP BY feedback ORDER BY max(rid) DESC LIMIT :most"
)


def _newest_referenced(name: str) -> str:
    conditions = (draft.c.user_id == bindparam("owner"), draft.c[name] < bindparam("below"))
    return text_of(
        _OWNED.where(draft_event.c.rid == select(func.max(draft.c[name])).where(*conditions).scalar_subquery())
    )


_NEXT_REVERSIBLE: Final = {
    EventKind.UNDO: _newest_referenced("undo_rid"),
    EventKind.REDO: _newest_referenced("redo_rid"),
}


def next_number(execute: Callable[..., sqlite3.Cursor]) -> int:
    """Return the number of the next event. Call it in a write transaction, where no other process can take it."""
    # sqlite_sequence rather than max(rid): numbers of deleted events are not used again.
    (rid,) = execute("SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'draft_event'").fetchone()
    return int(rid)


def add(execute: Callable[..., sqlite3.Cursor], user_id: str, rid: int, event: Event) -> None:
    """Insert an event under the number `rid`."""
    values = msgspec.structs.asdict(event)
    values |= {"rid": rid, "user_id": user_id, "at": microseconds(event.at), "kind": event.kind.value}
    values |= {"before": _json(event.before), "after": _json(event.after)}
    execute(_INSERT, values)


def _json(columns: Mapping[str, Any]) -> str:
    return msgspec.json.encode(columns).decode()


def one(conn: Connection, user_id: str, rid: int) -> KeptEvent:
    """Return the event with this number. Raise StoreDamagedError if it is missing: only references are looked up."""
    row = run(conn, _BY_RID, {"owner": user_id, "wanted": rid}).fetchone()
    if row is None:
        raise StoreDamagedError(f"The database lacks the event {rid} of a draft.")
    return _event(row)


def of_draft(conn: Connection, user_id: str, draft_id: str) -> tuple[KeptEvent, ...]:
    """Return the events of the draft, oldest first."""
    return tuple(_event(row) for row in run(conn, _OF_DRAFT, {"owner": user_id, "draft": draft_id}))


def newest(conn: Connection, user_id: str, draft_id: str) -> KeptEvent | None:
    """Return the newest event of the draft, or None."""
    row = run(conn, _NEWEST_OF_DRAFT, {"owner": user_id, "draft": draft_id}).fetchone()
    return _event(row) if row else None


def last_change(conn: Connection, user_id: str) -> KeptEvent | None:
    """Return the user's newest change to any draft, undone or not, or None."""
    row = run(conn, _LAST_CHANGE, {"owner": user_id}).fetchone()
    return _event(row) if row else None


def of_bulk(conn: Connection, user_id: str, bulk_id: str) -> tuple[KeptEvent, ...]:
    """Return the events of a bulk change, newest first."""
    return tuple(_event(row) for row in run(conn, _OF_BULK, {"owner": user_id, "bulk": bulk_id}))


def feedback(conn: Connection, user_id: str, action: str, most: int) -> tuple[str, ...]:
    """Return the distinct feedback recently given with an action, most recently used first."""
    rows = run(conn, _FEEDBACK, {"owner": user_id, "named": action, "among": LOOKED_AT, "most": most})
    return tuple(feedback_text for (feedback_text,) in rows)


def next_back(conn: Connection, user_id: str, kind: EventKind, below: int = LAST_NUMBER) -> KeptEvent | None:
    """Return the newest event that an undo, or a redo, of any of the user's drafts reverts, below `below_rid`."""
    row = run(conn, _NEXT_REVERSIBLE[kind], {"owner": user_id, "below": below}).fetchone()
    return _event(row) if row else None


def taken_back(events: Sequence[KeptEvent]) -> frozenset[int]:
    """Return the numbers of the events that are currently reverted; `events` are all of a draft's, oldest first."""
    reverted: set[int] = set()
    # Newest first: an undo that was itself reverted by a redo no longer reverts anything.
    for event in reversed(events):
        if event.of_rid is not None and event.rid not in reverted:
            reverted.add(event.of_rid)
    return frozenset(reverted)


def _event(row: Sequence[Any]) -> KeptEvent:
    values = dict(zip(KeptEvent.__struct_fields__, row, strict=True))
    try:
        values |= {name: decode(values[name]) for name, decode in _DECODERS.items()}
    except (ValueError, msgspec.DecodeError) as error:
        raise StoreDamagedError(f"The database holds an event that cannot be read: {error}") from error
    return KeptEvent(**values)


_decode_columns = msgspec.json.Decoder(dict[str, Any]).decode
_DECODERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "at": moment_of,
    "kind": EventKind,
    "before": _decode_columns,
    "after": _decode_columns,
}
