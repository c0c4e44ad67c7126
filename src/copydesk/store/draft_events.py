"""Draft events: the append-only history of every draft, which undo and redo are based on."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, bindparam, func, insert, select, text

from copydesk.errors import StoreCorruptError
from copydesk.model.serialization import Struct
from copydesk.model.transitions import EventKind
from copydesk.store.column_types import from_microseconds, to_microseconds
from copydesk.store.raw_sql import POSTGRESQL, execute_sql, send_query, to_sql
from copydesk.store.tables import draft, draft_event

# Sequences rather than max(rid): numbers of deleted events are not used again.
_LAST_RID: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'draft_event'"
_TAKE_RIDS: Final = "SELECT nextval('draft_event_rid_seq') FROM generate_series(1, ?)"
MAX_RID = 2**63 - 1
"""Greater than or equal to any event's number."""
FEEDBACK_SCAN_LIMIT = 5_000
"""Number of the user's latest changes searched for feedback, so that the cost has a limit."""
_FEEDBACK: Final = (
    "SELECT feedback FROM (SELECT rid, action, feedback FROM draft_event WHERE user_id = :owner AND kind = 'change'"
    " ORDER BY rid DESC LIMIT :among) AS latest"
    " WHERE action = :named AND feedback IS NOT NULL GROUP BY feedback ORDER BY max(rid) DESC LIMIT :most"
)

_decode_columns = msgspec.json.Decoder(dict[str, Any]).decode
_DECODERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "at": from_microseconds,
    "kind": EventKind,
    "before": _decode_columns,
    "after": _decode_columns,
}


class EventData(Struct, frozen=True):
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


class EventRow(EventData, frozen=True, kw_only=True):
    """An event read from the database."""

    rid: int


_PARAMETERS: dict[str, Any] = {name: bindparam(name) for name in ("user_id", *EventRow.__struct_fields__)}
_INSERT: Final = to_sql(insert(draft_event).values(**_PARAMETERS))
_OWNED = select(*(draft_event.c[name] for name in EventRow.__struct_fields__)).where(
    draft_event.c.user_id == bindparam("owner")
)
_OF_ONE_DRAFT = _OWNED.where(draft_event.c.draft_id == bindparam("draft"))
_BY_RID: Final = to_sql(_OWNED.where(draft_event.c.rid == bindparam("wanted")))
_OF_DRAFT: Final = to_sql(_OF_ONE_DRAFT.order_by(draft_event.c.version))
_NEWEST_OF_DRAFT: Final = to_sql(_OF_ONE_DRAFT.order_by(draft_event.c.version.desc())) + " LIMIT 1"
_OF_BULK: Final = to_sql(_OWNED.where(draft_event.c.bulk_id == bindparam("bulk")).order_by(draft_event.c.rid.desc()))
# As text: SQLite uses a partial index only if the condition is written as in its definition. A server returns all rows
# of a query at once, however few are read.
_LAST_CHANGE: Final = to_sql(_OWNED.where(text("kind = 'change'")).order_by(draft_event.c.rid.desc())) + " LIMIT 1"


def _newest_referenced(name: str) -> str:
    conditions = (draft.c.user_id == bindparam("owner"), draft.c[name] < bindparam("below"))
    return to_sql(
        _OWNED.where(draft_event.c.rid == select(func.max(draft.c[name])).where(*conditions).scalar_subquery())
    )


_NEXT_REVERSIBLE: Final = {
    EventKind.UNDO: _newest_referenced("undo_rid"),
    EventKind.REDO: _newest_referenced("redo_rid"),
}


def query_next_rids(conn: Connection, count: int) -> Callable[[], Sequence[int]]:
    """Send the query for the numbers of the next events; return what waits for them, once.

    Call it in a write transaction, where no other process can take them.
    """
    if conn.dialect.name == POSTGRESQL:
        taken = send_query(conn, _TAKE_RIDS, (count,))
        return lambda: [int(rid) for (rid,) in taken()]
    last = int(execute_sql(conn, _LAST_RID).fetchone()[0])
    return lambda: range(last + 1, last + 1 + count)


def add(execute: Callable[..., sqlite3.Cursor], user_id: str, rid: int, event: EventData) -> None:
    """Insert an event under the number `rid`."""
    values = msgspec.structs.asdict(event)
    values |= {"rid": rid, "user_id": user_id, "at": to_microseconds(event.at), "kind": event.kind.value}
    values |= {"before": _json(event.before), "after": _json(event.after)}
    execute(_INSERT, values)


def _json(columns: Mapping[str, Any]) -> str:
    return msgspec.json.encode(columns).decode()


def get(conn: Connection, user_id: str, rid: int) -> EventRow:
    """Return the event with this number. Raise StoreCorruptError if it is missing: only references are looked up."""
    row = execute_sql(conn, _BY_RID, {"owner": user_id, "wanted": rid}).fetchone()
    if row is None:
        raise StoreCorruptError(f"The database lacks the event {rid} of a draft.")
    return _event(row)


def list_by_draft(conn: Connection, user_id: str, draft_id: str) -> tuple[EventRow, ...]:
    """Return the events of the draft, oldest first."""
    return tuple(_event(row) for row in execute_sql(conn, _OF_DRAFT, {"owner": user_id, "draft": draft_id}))


def get_newest(conn: Connection, user_id: str, draft_id: str) -> EventRow | None:
    """Return the newest event of the draft, or None."""
    row = execute_sql(conn, _NEWEST_OF_DRAFT, {"owner": user_id, "draft": draft_id}).fetchone()
    return _event(row) if row else None


def query_latest_change(conn: Connection, user_id: str) -> Callable[[], EventRow | None]:
    """Send the query for the user's newest change to any draft, undone or not; return what waits for it, once."""
    rows = send_query(conn, _LAST_CHANGE, {"owner": user_id})
    return lambda: _first_event(rows())


def list_by_bulk(conn: Connection, user_id: str, bulk_id: str) -> tuple[EventRow, ...]:
    """Return the events of a bulk change, newest first."""
    return tuple(_event(row) for row in execute_sql(conn, _OF_BULK, {"owner": user_id, "bulk": bulk_id}))


def list_feedback(conn: Connection, user_id: str, action: str, limit: int) -> tuple[str, ...]:
    """Return the distinct feedback recently given with an action, most recently used first."""
    rows = execute_sql(
        conn, _FEEDBACK, {"owner": user_id, "named": action, "among": FEEDBACK_SCAN_LIMIT, "most": limit}
    )
    return tuple(feedback_text for (feedback_text,) in rows)


def query_next_reversible(
    conn: Connection, user_id: str, kind: EventKind, below_rid: int = MAX_RID
) -> Callable[[], EventRow | None]:
    """Send the query for the newest event that an undo, or a redo, of any of the user's drafts reverts, below
    `below_rid`; return what waits for it, once.
    """
    rows = send_query(conn, _NEXT_REVERSIBLE[kind], {"owner": user_id, "below": below_rid})
    return lambda: _first_event(rows())


def reverted_rids(events: Sequence[EventRow]) -> frozenset[int]:
    """Return the numbers of the events that are currently reverted; `events` are all of a draft's, oldest first."""
    reverted: set[int] = set()
    # Newest first: an undo that was itself reverted by a redo no longer reverts anything.
    for event in reversed(events):
        if event.of_rid is not None and event.rid not in reverted:
            reverted.add(event.of_rid)
    return frozenset(reverted)


def _first_event(rows: Sequence[Sequence[Any]]) -> EventRow | None:
    return _event(rows[0]) if rows else None


def _event(row: Sequence[Any]) -> EventRow:
    values = dict(zip(EventRow.__struct_fields__, row, strict=True))
    try:
        values |= {name: decode(values[name]) for name, decode in _DECODERS.items()}
    except (ValueError, msgspec.DecodeError) as error:
        raise StoreCorruptError(f"The database contains an unreadable event: {error}") from error
    return EventRow(**values)
