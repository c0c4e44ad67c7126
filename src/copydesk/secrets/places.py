"""Interface of the storage backends for credentials."""

from enum import StrEnum
from typing import ClassVar, Protocol

from copydesk.secrets.content import Secrets


class Where(StrEnum):
    """Kinds of storage backends."""

    KEYRING = "keyring"
    """The system keyring."""
    SEALED = "sealed"
    """A file encrypted with a passphrase."""
    PLAIN = "plain"
    """An unencrypted file that only its owner can read."""


FILES = {Where.KEYRING: "keyring.json", Where.SEALED: "secrets.sealed", Where.PLAIN: "secrets.json"}
"""File that exists while a backend stores anything. The keyring's file holds account names only."""


class Place(Protocol):
    """A storage backend for credentials. Every method blocks and may raise CredentialsError.

    Callers of `save` and `remove` hold the folder's lock.
    """

    where: ClassVar[Where]

    def read(self, name: str) -> Secrets | None:
        """Return the secrets of an account, or None."""
        ...

    def keep(self, name: str, secrets: Secrets) -> None:
        """Replace the secrets of an account."""
        ...

    def remove(self, name: str) -> None:
        """Delete the secrets of an account. A missing account is not an error."""
        ...

    def names(self) -> tuple[str, ...]:
        """Return the names of all accounts, sorted."""
        ...
