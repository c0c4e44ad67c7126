"""API tokens of one user: create, list, revoke."""

from datetime import UTC, datetime

from copydesk.desk.context import DeskContext
from copydesk.desk.ids import resolve_end
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.errors import ConflictError, FieldError, InvalidError, NotFoundError
from copydesk.model.ids import MIN_END_LENGTH, IdKind
from copydesk.model.token import (
    MAX_TOKEN_NAME_LENGTH,
    CreatedToken,
    Scope,
    Token,
    hash_secret,
    new_secret,
    secret_prefix,
)
from copydesk.model.validation import parse_line, scheduled_time_problem
from copydesk.store import tokens
from copydesk.store.database import Transaction
from copydesk.store.ids import new_id


class Tokens:
    """The API tokens of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @needs(Scope.PUBLISH)
    @operation
    async def create(self, name: str, scope: Scope, expires_at: datetime | None = None) -> CreatedToken:
        """Create a token and return it with its secret, which cannot be read later.

        Raise InvalidError for a name that is blank or too long and for an expiry date in the past, ConflictError if
        there is a token with this name that is not revoked.
        """
        now = self._ctx.clock()
        name = parse_line("name", name, 1, MAX_TOKEN_NAME_LENGTH)
        if expires_at is not None:
            if problem := scheduled_time_problem(expires_at, now):
                raise InvalidError(FieldError("expiresAt", problem))
            expires_at = expires_at.astimezone(UTC)
        secret = new_secret()
        created = CreatedToken(
            id=new_id(now),
            name=name,
            scope=scope,
            prefix=secret_prefix(secret),
            created_at=now,
            expires_at=expires_at,
            secret=secret,
        )
        await self._ctx.write_durable(_add, created)
        return created

    @operation
    async def list(self) -> tuple[Token, ...]:
        """Return the tokens, oldest first, with those that are expired or revoked."""
        return await self._ctx.read(tokens.list_all)

    @operation
    async def get(self, name: str) -> Token:
        """Return the token that `revoke` would revoke. Raise NotFoundError and InvalidError as it does."""
        return await self._ctx.read(_find, name)

    @needs(Scope.PUBLISH)
    @operation
    async def revoke(self, name: str) -> Token:
        """Revoke the token with this name, id or end of an id, and return it; a revoked one stays as it is.

        Raise NotFoundError, and InvalidError if several ids end like this.
        """
        return await self._ctx.write_durable(_revoke, name, self._ctx.clock())


def _add(conn: Transaction, user_id: str, created: CreatedToken) -> None:
    if tokens.get_by_name(conn, user_id, created.name) is not None:
        hint = "Choose another name, or revoke it first: `copydesk token list`."
        raise ConflictError(f"There is already a token “{created.name}”.", hint=hint)
    # A plain SHA-256 is enough for a random secret of 256 bits; a slow hash would be paid with every request.
    secret_hash = hash_secret(created.secret)
    assert secret_hash is not None
    tokens.add(conn, user_id, created, secret_hash)


def _find(conn: Transaction, user_id: str, name: str) -> Token:
    # A name may look like the end of an id, but the user has chosen it.
    found = tokens.get_by_name(conn, user_id, name) or _find_by_id(conn, user_id, name)
    if found is None:
        raise NotFoundError(f"No token {name[:200]!r}.", hint="List all tokens: `copydesk token list`.")
    return found


def _revoke(conn: Transaction, user_id: str, name: str, now: datetime) -> Token:
    found = _find(conn, user_id, name)
    tokens.revoke(conn, user_id, found.id, now)
    revoked = tokens.get(conn, user_id, found.id)
    assert revoked is not None
    return revoked


def _find_by_id(conn: Transaction, user_id: str, text: str) -> Token | None:
    # What is too short for the end of an id can only be a name.
    if len(text.strip()) < MIN_END_LENGTH:
        return None
    return tokens.get(conn, user_id, resolve_end(conn, user_id, IdKind.TOKEN, text))
