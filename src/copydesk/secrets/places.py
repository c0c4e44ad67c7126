"""Interface of the storage backends for credentials."""

from enum import StrEnum
from typing import ClassVar, Protocol

from copydesk.secrets.content import Secrets


class BackendKind(StrEnum):
    """Kinds of storage backends."""

    KEYRING = "keyring"
    """The system keyring."""
    ENCRYPTED = "sealed"
    """A file encrypted with a passphrase."""
    PLAIN = "plain"
    """An unencrypted file that only its owner can read."""


BACKEND_FILES = {
    BackendKind.KEYRING: "keyring.json",
    BackendKind.ENCRYPTED: "secrets.sealed",
    BackendKind.PLAIN: "secrets.json",
}
"""File that exists while a backend stores anything. The keyring's file holds account names only."""


class SecretBackend(Protocol):
    """A storage backend for credentials. Every method blocks and may raise CredentialsError.

    Callers of `save` and `remove` hold the folder's lock.
    """

    kind: ClassVar[BackendKind]

    def load(self, name: str) -> Secrets | None:
        """Return the secrets of an account, or None."""
        ...

    def save(self, name: str, secrets: Secrets) -> None:
        """Replace the secrets of an account."""
        ...

    def remove(self, name: str) -> None:
        """Delete the secrets of an account. A missing account is not an error."""
        ...

    def names(self) -> tuple[str, ...]:
        """Return the names of all accounts, sorted."""
        ...
