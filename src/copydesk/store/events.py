"""Events, inserted by triggers in the transaction of the change that they tell of."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import takewhile

import msgspec
from sqlalchemy import Connection

from copydesk.errors import StoreCorruptError
from copydesk.model.event import Event, EventRange, EventType
from copydesk.store.column_types import from_microseconds, to_microseconds
from copydesk.store.raw_sql import chunked, execute_sql, placeholders

_AFTER = "SELECT id, type, created_at, data FROM event WHERE user_id = ? AND id > ? ORDER BY id LIMIT ?"
_RANGE = """SELECT coalesce((SELECT min(id) FROM event WHERE user_id = :user), 0),
    coalesce((SELECT max(id) FROM event WHERE user_id = :user), 0)"""
# The newest stays: the next one is numbered after it.
_OLDEST = """SELECT id, created_at FROM event WHERE user_id = :user
    AND id < (SELECT max(id) FROM event WHERE user_id = :user) ORDER BY id LIMIT :limit"""
_DECODE_DATA = msgspec.json.Decoder(dict[str, object]).decode


def list_after(conn: Connection, user_id: str, after: int, limit: int) -> tuple[Event, ...]:
    """Return at most `limit` events with a greater number than `after`, oldest first."""
    rows = execute_sql(conn, _AFTER, (user_id, after, limit))
    return tuple(make_event(*row) for row in rows)


def make_event(event_id: int, type_: str, created_at: int, data: str) -> Event:
    """Return an event from its stored columns. Raise StoreCorruptError."""
    try:
        return Event(
            id=event_id, type=EventType(type_), timestamp=from_microseconds(created_at), data=_DECODE_DATA(data)
        )
    except ValueError as error:
        raise StoreCorruptError(f"The database contains an unreadable event: {error}") from error


def get_range(conn: Connection, user_id: str) -> EventRange:
    """Return the numbers of the oldest and the newest event that are kept."""
    oldest, newest = execute_sql(conn, _RANGE, {"user": user_id}).fetchone()
    return EventRange(oldest=oldest, newest=newest)


def list_newest(conn: Connection, user_ids: Collection[str]) -> Mapping[str, int]:
    """Return the number of the newest event of each of these users; those without any are missing."""
    newest: dict[str, int] = {}
    for chunk in chunked(tuple(user_ids)):
        # One lookup for each: grouped by user, SQLite would read all events.
        query = f"""SELECT id, (SELECT max(event.id) FROM event WHERE user_id = "user".id) FROM "user"
            WHERE id IN ({placeholders(chunk)})"""  # noqa: S608 - words of our own
        newest.update((user_id, event_id) for user_id, event_id in execute_sql(conn, query, chunk) if event_id)
    return newest


def list_old(conn: Connection, user_id: str, before: datetime, limit: int) -> tuple[int, ...]:
    """Return the numbers of at most `limit` events from before `before`, oldest first.

    None is younger than an event that follows.
    """
    rows = execute_sql(conn, _OLDEST, {"user": user_id, "limit": limit})
    return tuple(event_id for event_id, _ in takewhile(lambda row: row[1] < to_microseconds(before), rows))


def delete(conn: Connection, user_id: str, event_ids: Sequence[int]) -> int:
    """Delete these events with their webhook deliveries; return their number."""
    own = f"user_id = ? AND {{}} IN ({placeholders(event_ids)})"
    execute_sql(conn, f"DELETE FROM webhook_delivery WHERE {own.format('event_id')}", (user_id, *event_ids))  # noqa: S608
    return execute_sql(conn, f"DELETE FROM event WHERE {own.format('id')}", (user_id, *event_ids)).rowcount  # noqa: S608
