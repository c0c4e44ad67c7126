"""What a place is where secrets are kept, and which there are."""

from enum import StrEnum
from typing import ClassVar, Protocol

from copydesk.secrets.content import Secrets


class Where(StrEnum):
    """Where secrets are kept."""

    KEYRING = "keyring"
    """In the system's keyring."""
    SEALED = "sealed"
    """In a file that is encrypted with a passphrase."""
    PLAIN = "plain"
    """In a file of its owner alone, as they are."""


FILES = {Where.KEYRING: "keyring.json", Where.SEALED: "secrets.sealed", Where.PLAIN: "secrets.json"}
"""The file that is there as long as anything is kept at the place. In the keyring's there are only names."""


class Place(Protocol):
    """A place where secrets are kept. Every method blocks, and may raise SecretsError.

    Whoever calls `keep` or `remove` has locked the folder.
    """

    where: ClassVar[Where]

    def read(self, name: str) -> Secrets | None:
        """The secrets under a name; None where there are none."""
        ...

    def keep(self, name: str, secrets: Secrets) -> None:
        """Replace the secrets under a name."""
        ...

    def remove(self, name: str) -> None:
        """Forget a name; one that is not there is no error."""
        ...

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        ...
