"""Owners of stored images. The files themselves are shared by all users, see `copydesk.images.storage`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from copydesk.model.draft import stored_image_url
from copydesk.store.column_types import to_microseconds
from copydesk.store.raw_sql import execute_sql, placeholders

_ADD: Final = """INSERT INTO stored_image (user_id, digest, stored_at) VALUES (?, ?, ?)
    ON CONFLICT (user_id, digest) DO UPDATE SET stored_at = excluded.stored_at"""
_HAS: Final = """SELECT EXISTS (SELECT 1 FROM stored_image WHERE user_id = :user AND digest = :digest)
    OR EXISTS (SELECT 1 FROM draft_image WHERE user_id = :user AND :url IN (url, stored))"""
_LIST_OLD: Final = "SELECT digest FROM stored_image WHERE user_id = ? AND stored_at < ? ORDER BY stored_at LIMIT ?"


def add(conn: Connection, user_id: str, digest: str, now: datetime) -> None:
    """Record that the user stored the image with this SHA-256."""
    execute_sql(conn, _ADD, (user_id, digest, to_microseconds(now)))


def has(conn: Connection, user_id: str, digest: str) -> bool:
    """Return True if the user stored the image with this SHA-256, or has a draft with it."""
    values = {"user": user_id, "digest": digest, "url": stored_image_url(digest)}
    return bool(execute_sql(conn, _HAS, values).fetchone()[0])


def list_digests(conn: Connection) -> frozenset[str]:
    """Return the SHA-256 of every image that any user stored."""
    return frozenset(digest for (digest,) in execute_sql(conn, "SELECT DISTINCT digest FROM stored_image"))


def list_old(conn: Connection, user_id: str, before: datetime, limit: int) -> tuple[str, ...]:
    """Return the SHA-256 of at most `limit` images that were stored before `before`, oldest first."""
    rows = execute_sql(conn, _LIST_OLD, (user_id, to_microseconds(before), limit))
    return tuple(digest for (digest,) in rows)


def delete(conn: Connection, user_id: str, digests: Sequence[str]) -> int:
    """Forget that the user stored these images; return their number. Drafts keep theirs."""
    statement = f"DELETE FROM stored_image WHERE user_id = ? AND digest IN ({placeholders(digests)})"  # noqa: S608 - no words from outside
    return execute_sql(conn, statement, (user_id, *digests)).rowcount
