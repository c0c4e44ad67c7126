"""Storage backends for credentials: their interface, and the two that use a file.

The file holds all credentials as JSON (account name -> secret name -> secret), encrypted with a passphrase or, with
consent, unencrypted.
"""

import json
from enum import StrEnum
from typing import ClassVar, Protocol, TypeGuard

from copydesk.credentials.encryption import Passphrase, damaged_file_error
from copydesk.credentials.private_folder import PrivateFolder
from copydesk.errors import CredentialsError

Secrets = dict[str, str]


class MaskedSecrets(Secrets):
    """Secrets whose repr shows only their names."""

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name!r}: •••" for name in self) + "}"


def encode(value: object) -> bytes:
    """Return `value` as ASCII JSON. Escapes can represent any string, including lone surrogates."""
    return json.dumps(value).encode("ascii")


def decode(content: bytes | str) -> object:
    """Return the parsed JSON, or None if it is invalid."""
    # Do not chain the exception: JSONDecodeError holds the whole text, and with it the secrets.
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found


def is_secrets(value: object) -> TypeGuard[Secrets]:
    """Return True if `value` is a dict of strings."""
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def parse_secrets(content: bytes, error: CredentialsError) -> dict[str, Secrets]:
    """Return the secrets of every account in a file. Raise `error` if the content has another shape."""
    value = decode(content)
    if not isinstance(value, dict) or not all(is_secrets(secrets) for secrets in value.values()):
        raise error
    return {name: MaskedSecrets(secrets) for name, secrets in value.items()}


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


class PlainFile:
    """All credentials in one unencrypted file."""

    kind: ClassVar[BackendKind] = BackendKind.PLAIN

    def __init__(self, folder: PrivateFolder) -> None:
        self._folder = folder
        self._file = BACKEND_FILES[self.kind]
        self._display_path = str(folder.path / self._file)

    def load(self, name: str) -> Secrets | None:
        """Return the secrets of an account, or None."""
        return self._load_all().get(name)

    def save(self, name: str, secrets: Secrets) -> None:
        """Replace the secrets of an account. The previous file is kept as a backup."""
        accounts = self._load_all() | {name: secrets}
        self._folder.write(self._file, self._wrap(encode(accounts)))

    def remove(self, name: str) -> None:
        """Delete the secrets of an account. The file is deleted with the last one."""
        accounts = self._load_all()
        if accounts.pop(name, None) is None:
            return
        # Delete the backups first: if the process is killed in between, the secret must not survive in one of them
        # while it is gone from the main file.
        self._folder.remove(f"{self._file}.1", f"{self._file}.new", f"{self._file}.1.new")
        if accounts:
            self._folder.replace(self._file, self._wrap(encode(accounts)))
        else:
            self._folder.remove(self._file)

    def names(self) -> tuple[str, ...]:
        """Return the names of all accounts, sorted."""
        return tuple(sorted(self._load_all()))

    def _load_all(self) -> dict[str, Secrets]:
        content = self._folder.read(self._file)
        return {} if content is None else parse_secrets(self._unwrap(content), damaged_file_error(self._display_path))

    def _unwrap(self, content: bytes) -> bytes:
        return content

    def _wrap(self, content: bytes) -> bytes:
        return content


class EncryptedFile(PlainFile):
    """All credentials in one file, encrypted with a passphrase."""

    kind: ClassVar[BackendKind] = BackendKind.ENCRYPTED

    def __init__(self, folder: PrivateFolder, passphrase: Passphrase) -> None:
        super().__init__(folder)
        self._passphrase = passphrase

    def _unwrap(self, content: bytes) -> bytes:
        return self._passphrase.decrypt(content, self._display_path)

    def _wrap(self, content: bytes) -> bytes:
        return self._passphrase.encrypt(content)
