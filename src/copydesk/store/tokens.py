"""API tokens. Only the SHA-256 of a secret is stored."""

from datetime import datetime
from hmac import compare_digest
from typing import Final

from sqlalchemy import Connection, insert, select, update

from copydesk.model.token import Access, Scope, Token
from copydesk.model.user import User
from copydesk.store.column_types import from_microseconds, to_microseconds
from copydesk.store.raw_sql import execute_sql
from copydesk.store.tables import token

_COLUMNS = tuple(token.c[name] for name in Token.__struct_fields__)
# On each request of the HTTP service: one lookup in a unique index.
_ACCESS: Final = """SELECT token.hash, token.id, token.name, token.scope, token.expires_at,
        "user".id, "user".name, "user".time_zone, "user".created_at, "user".id = (SELECT min(id) FROM "user")
    FROM token JOIN "user" ON "user".id = token.user_id
    WHERE token.hash = ? AND token.revoked_at IS NULL"""


def add(conn: Connection, user_id: str, new: Token, secret_hash: bytes) -> None:
    """Insert a token."""
    values = {name: getattr(new, name) for name in Token.__struct_fields__}
    conn.execute(insert(token).values(user_id=user_id, hash=secret_hash, **values))


def list_all(conn: Connection, user_id: str) -> tuple[Token, ...]:
    """Return the user's tokens, revoked ones too, oldest first."""
    rows = conn.execute(select(*_COLUMNS).where(token.c.user_id == user_id).order_by(token.c.id))
    return tuple(Token(**row._mapping) for row in rows)


def get(conn: Connection, user_id: str, token_id: str) -> Token | None:
    """Return the token, or None if the user has no such token."""
    row = conn.execute(select(*_COLUMNS).where(token.c.user_id == user_id, token.c.id == token_id)).first()
    return Token(**row._mapping) if row else None


def get_by_name(conn: Connection, user_id: str, name: str) -> Token | None:
    """Return the user's token with that name that is not revoked, or None."""
    conditions = (token.c.user_id == user_id, token.c.name == name, token.c.revoked_at.is_(None))
    row = conn.execute(select(*_COLUMNS).where(*conditions)).first()
    return Token(**row._mapping) if row else None


def exist(conn: Connection, now: datetime) -> bool:
    """Return True if any user has a token that is neither revoked nor expired."""
    valid = token.c.revoked_at.is_(None) & (token.c.expires_at.is_(None) | (token.c.expires_at > now))
    return conn.execute(select(token.c.id).where(valid).limit(1)).first() is not None


def revoke(conn: Connection, user_id: str, token_id: str, now: datetime) -> None:
    """Mark the token as revoked, unless it already is."""
    conditions = (token.c.user_id == user_id, token.c.id == token_id, token.c.revoked_at.is_(None))
    conn.execute(update(token).where(*conditions).values(revoked_at=now))


def find_access(conn: Connection, secret_hash: bytes, now: datetime) -> Access | None:
    """Return what the token with that hash allows, or None if there is none, or it is revoked or expired."""
    row = execute_sql(conn, _ACCESS, (secret_hash,)).fetchone()
    if row is None:
        return None
    stored_hash, token_id, token_name, scope, expires_at, *values, is_owner = row
    # The index compares bytes one by one. What its timing may tell is a part of a hash, of which no secret follows.
    if not compare_digest(stored_hash, secret_hash) or (expires_at is not None and expires_at <= to_microseconds(now)):
        return None
    user_id, name, time_zone, created_at = values
    created = from_microseconds(created_at)
    user = User(id=user_id, name=name, time_zone=time_zone, created_at=created, is_owner=bool(is_owner))
    return Access(user=user, token_id=token_id, token_name=token_name, scope=Scope(scope))
