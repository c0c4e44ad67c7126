"""API tokens: what they allow, and how their secrets are made and recognized."""

import re
import secrets
import string
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Final

from copydesk.model.serialization import Struct
from copydesk.model.user import User

MAX_TOKEN_NAME_LENGTH = 100
_ALPHABET: Final = string.ascii_letters + string.digits
_LENGTH: Final = 43
"""Characters of a secret. Base62, so that a double click selects all of it; 43 characters are 256 bits."""
_SECRET: Final = re.compile(rf"cd_[A-Za-z0-9]{{{_LENGTH}}}")
_PREFIX_LENGTH: Final = len("cd_") + 4


class Scope(StrEnum):
    """Permissions of a token. Each scope includes those before it."""

    READ = "read"
    DRAFT = "draft"
    """Create and edit drafts, run the pipeline; never a decision."""
    REVIEW = "review"
    """Approve and reject; change sources, the voice profile and experiments."""
    PUBLISH = "publish"
    """Schedule and post."""

    @property
    def rank(self) -> int:
        """The place in the order of scopes, 0 for `read`."""
        return _RANKS[self]

    def covers(self, required: "Scope") -> bool:
        """Return True if a token of this scope may do what needs `required`."""
        return self.rank >= required.rank


_RANKS: Final = {scope: rank for rank, scope in enumerate(Scope)}


class Token(Struct, frozen=True):
    """An API token of one user, without its secret."""

    id: str
    name: str
    scope: Scope
    prefix: str
    """The first characters of the secret, by which its holder recognizes it."""
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Return True if the token is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class CreatedToken(Token, frozen=True, kw_only=True):
    """A new token with its secret, which is shown only now."""

    secret: str

    def __repr__(self) -> str:
        return f"CreatedToken(id={self.id!r}, name={self.name!r}, prefix={self.prefix!r})"


class Access(Struct, frozen=True):
    """The user and the permissions of a valid token."""

    user: User
    token_id: str
    token_name: str
    scope: Scope


def new_secret() -> str:
    """Return the secret of a new token."""
    return "cd_" + "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def secret_prefix(secret: str) -> str:
    """Return the part of a secret that is kept and shown."""
    return secret[:_PREFIX_LENGTH]


def hash_secret(secret: str) -> bytes | None:
    """Return the SHA-256 of a secret, or None if it does not have the form of one.

    No salt and no slow function, unlike for a password: nobody can guess 256 random bits.
    """
    return sha256(secret.encode()).digest() if _SECRET.fullmatch(secret) else None
