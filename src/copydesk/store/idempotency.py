"""Idempotency keys: the requests that were carried out, and their responses."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from copydesk.model.serialization import Struct
from copydesk.store.column_types import from_microseconds, to_microseconds
from copydesk.store.raw_sql import dbapi_connection, execute_sql, placeholders

_FIND: Final = """SELECT id, key, fingerprint, owner, created_at, response FROM idempotency_key
    WHERE user_id = ? AND key = ? AND created_at >= ?"""
# An expired row that was not deleted yet is replaced.
_SAVE: Final = """INSERT INTO idempotency_key (id, user_id, key, fingerprint, owner, created_at, response)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (user_id, key) DO UPDATE SET id = excluded.id, fingerprint = excluded.fingerprint,
        owner = excluded.owner, created_at = excluded.created_at, response = excluded.response
    WHERE idempotency_key.id = excluded.id OR idempotency_key.created_at < ?"""
_LIST_OLD: Final = "SELECT id FROM idempotency_key WHERE user_id = ? AND created_at < ? ORDER BY created_at LIMIT ?"


class KeyedRequest(Struct, frozen=True):
    """A request that was carried out under a key."""

    id: str
    """Tells two attempts under one key apart."""
    key: str
    fingerprint: bytes
    owner: str
    """The process that carried it out; see `copydesk.desk.leases`."""
    created_at: datetime
    response: bytes | None = None
    """None until the response is known."""


def find(conn: Connection, user_id: str, key: str, not_before: datetime) -> KeyedRequest | None:
    """Return the request that was carried out under the key at `not_before` or later."""
    row = execute_sql(conn, _FIND, (user_id, key, to_microseconds(not_before))).fetchone()
    if row is None:
        return None
    id_, key, fingerprint, owner, created_at, response = row
    return KeyedRequest(
        id=id_,
        key=key,
        fingerprint=fingerprint,
        owner=owner,
        created_at=from_microseconds(created_at),
        response=response,
    )


def save(conn: Connection, user_id: str, request: KeyedRequest, not_before: datetime) -> bool:
    """Insert or update the request; return False if another one has had its key since `not_before`."""
    created_at, expired = to_microseconds(request.created_at), to_microseconds(not_before)
    values = (request.id, user_id, request.key, request.fingerprint, request.owner, created_at, request.response)
    return execute_sql(conn, _SAVE, (*values, expired)).rowcount == 1


def list_old(conn: Connection, user_id: str, before: datetime, limit: int) -> tuple[str, ...]:
    """Return the ids of at most `limit` keys from before `before`, oldest first."""
    return tuple(id_ for (id_,) in execute_sql(conn, _LIST_OLD, (user_id, to_microseconds(before), limit)))


def delete(conn: Connection, user_id: str, ids: Sequence[str]) -> int:
    """Delete the keys with these ids; return their number."""
    statement = f"DELETE FROM idempotency_key WHERE user_id = ? AND id IN ({placeholders(ids)})"  # noqa: S608 - no words from outside
    return execute_sql(conn, statement, (user_id, *ids)).rowcount


def count_changes(conn: Connection) -> int:
    """Return a number that grows with each row that the connection writes."""
    return dbapi_connection(conn).total_changes
