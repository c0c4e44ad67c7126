"""Storage backends for credentials: their interface, the files, the system keyring, and the environment.

A file holds all credentials as JSON (account name -> secret name -> secret), encrypted with a passphrase or, with
consent, unencrypted. The keyring is Secret Service or KWallet on Linux and the keychain on macOS.

The environment is for servers: it takes precedence over every backend and is never written. For accounts of a platform
it is the variable `COPYDESK_SECRET_<PLATFORM>`, such as `COPYDESK_SECRET_BLUESKY`, else the file `copydesk-<platform>`
in `$CREDENTIALS_DIRECTORY`, where systemd puts what `LoadCredential=` names. The value is one of

- a single secret, such as `hunter2-hunter2`, if the platform needs only one;
- secrets by name: `{"password": "hunter2-hunter2"}`. Like a single secret, these apply to every account of the platform
  on any server, so with more than one account use the next form;
- secrets by account: `{"bluesky:did:plc:xyz@https://bsky.social": {"password": "hunter2-hunter2"}}`. Other accounts
  are read from the backend.

A value that begins with `{` is parsed as JSON. The passphrase of the encrypted file comes from `COPYDESK_PASSPHRASE`,
else from the file `copydesk-passphrase` in the same directory.
"""

import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeGuard, TypeVar

from copydesk.credentials.encryption import Passphrase, damaged_file_error
from copydesk.credentials.private_folder import MAX_FILE_SIZE, PrivateFolder
from copydesk.errors import CredentialsError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend


Secrets = dict[str, str]

PASSPHRASE = "COPYDESK_PASSPHRASE"  # noqa: S105 - the name of a variable
_PREFIX = "COPYDESK_SECRET_"
_CREDENTIALS_DIRECTORY = "CREDENTIALS_DIRECTORY"

T = TypeVar("T")

SERVICE = "copydesk"
"""Service name under which the keyring's own user interface lists the entries."""
_INSECURE_BACKENDS = ("keyrings.alt.", "keyring.backends.fail", "keyring.backends.null")
"""The first stores passwords in files, some of them unencrypted; the others store nothing."""


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


class Environment:
    """Credentials found in `environ`. `single` maps platforms to the secret name that a bare value stands for."""

    def __init__(self, environ: Mapping[str, str], single: Mapping[str, str]) -> None:
        self._environ = environ
        self._single = single

    def load(self, name: str) -> Secrets | None:
        """Return the secrets of an account (`platform:...@server`), or None if the environment has none.

        Raise CredentialsError if a value is malformed or a file cannot be read.
        """
        platform, _, account = name.partition(":")
        # A webhook for events has no server in its name: its secret is not that of the platform "webhook".
        if "@" not in account:
            return None
        origin, text = self._lookup(f"{_PREFIX}{_normalize(platform).upper()}", f"copydesk-{_normalize(platform)}")
        if not text:
            return None
        if not text.lstrip().startswith("{"):
            return MaskedSecrets({self._single_secret_name(platform, origin): text})
        value = decode(text)
        if isinstance(value, dict) and value:
            # Both shapes are dicts; an account's secrets are strings, accounts are dicts of them.
            if is_secrets(value):
                return MaskedSecrets(value)
            if all(is_secrets(secrets) for secrets in value.values()):
                return MaskedSecrets(value[name]) if name in value else None
        hint = 'Use a single value, {"name": "value"} or {"account": {"name": "value"}}.'
        raise CredentialsError(f"{origin} is not JSON of the expected form.", hint=hint)

    def passphrase(self) -> str | None:
        """Return the passphrase of the encrypted file, or None."""
        return self._lookup(PASSPHRASE, "copydesk-passphrase")[1] or None

    def origins(self) -> tuple[str, ...]:
        """Return the names of the variables and files found, for display. Their values are not included."""
        files = self._folder.glob("copydesk-*") if self._folder else ()
        variables = (name for name in self._environ if name.startswith(_PREFIX) or name == PASSPHRASE)
        return (*sorted(variables), *sorted(str(file) for file in files))

    @property
    def _folder(self) -> Path | None:
        folder = self._environ.get(_CREDENTIALS_DIRECTORY)
        return Path(folder) if folder else None

    def _lookup(self, variable: str, file: str) -> tuple[str, str]:
        """Return the name of the variable or file, and its text, which is empty if neither is set."""
        if text := self._environ.get(variable, "").rstrip("\r\n"):
            return variable, text
        if self._folder is None:
            return "", ""
        path = self._folder / file
        return str(path), _read_text(path)

    def _single_secret_name(self, platform: str, where: str) -> str:
        if platform not in self._single:
            hint = 'Use their names: {"name": "value"}.'
            raise CredentialsError(f"{where} contains one value; {platform} needs several.", hint=hint)
        return self._single[platform]


def _normalize(platform: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", platform.lower())


def _read_text(path: Path) -> str:
    content, reason = b"", ""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_SIZE)
        return content.decode().rstrip("\r\n")
    except FileNotFoundError:
        return ""
    except OSError as error:
        reason = error.strerror or "not a file"
    except UnicodeDecodeError:
        reason = "not a text file"
    raise CredentialsError(f"Cannot read {path}: {reason}.")


def find_keyring() -> "KeyringBackend | None":
    """Return the system keyring, or None if there is none that stores secrets securely."""
    from keyring.backends.chainer import ChainerBackend  # noqa: PLC0415 - takes 0.1 s, and not every system has a keyring
    from keyring.core import get_keyring  # noqa: PLC0415

    try:
        backend = get_keyring()
        # Pick one backend of a chain: the chain itself would also read from, and fall back to, the insecure ones.
        backends = backend.backends if isinstance(backend, ChainerBackend) else [backend]
        return next((candidate for candidate in backends if _is_secure(candidate)), None)
    except Exception:  # its configuration may name a backend that fails to load, with any exception
        return None


def _is_secure(backend: "KeyringBackend") -> bool:
    return not f"{type(backend).__module__}.".startswith(_INSECURE_BACKENDS) and backend.priority > 0


class Keyring:
    """One keyring entry per account. The account names are stored in a file, as not every keyring can list its entries.

    The previous value stays in a second entry: macOS replaces a password by deleting it first.
    """

    kind: ClassVar[BackendKind] = BackendKind.KEYRING

    def __init__(self, folder: PrivateFolder, backend: "KeyringBackend") -> None:
        self._folder = folder
        self._backend = backend

    def load(self, name: str) -> Secrets | None:
        """Return the secrets of an account, or None."""
        if name not in self.names():
            return None
        text = self._get(name) or self._get(_backup_name(name))
        if text is None:
            return None
        value = decode(text)
        if not is_secrets(value):
            message = f"The keyring entry for {name} was not created by Copydesk."
            raise CredentialsError(message, hint=f"Check it under {SERVICE}, or connect the account again.")
        return MaskedSecrets(value)

    def save(self, name: str, secrets: Secrets) -> None:
        """Replace the secrets of an account; the previous ones stay in the backup entry."""
        names = self.names()
        previous = self._get(name)
        if previous is not None:
            self._set(_backup_name(name), previous)
        # Order matters if the process is killed: backup first, then the entry, then its name.
        self._set(name, encode(secrets).decode())
        if name not in names:
            self._save_names((*names, name))

    def remove(self, name: str) -> None:
        """Delete the secrets of an account and their backup."""
        names = self.names()
        if name not in names:
            return
        for entry in (_backup_name(name), name):
            if self._get(entry) is not None:
                self._delete(entry)
        self._save_names(tuple(other for other in names if other != name))

    def names(self) -> tuple[str, ...]:
        """Return the names of all accounts, sorted."""
        return list_names(self._folder)

    def load_note(self, name: str) -> str | None:
        """Return a text that is no secret and belongs to no account, or None."""
        return self._get(name)

    def save_note(self, name: str, text: str) -> None:
        """Store a text that is no secret and belongs to no account."""
        self._set(name, text)

    def _save_names(self, names: tuple[str, ...]) -> None:
        file = BACKEND_FILES[self.kind]
        if names:
            self._folder.write(file, encode(sorted(names)))
        else:
            self._folder.remove(f"{file}.1", file)

    def _get(self, name: str) -> str | None:
        return _call_keyring(lambda: self._backend.get_password(SERVICE, name))

    def _set(self, name: str, secret: str) -> None:
        _call_keyring(lambda: self._backend.set_password(SERVICE, name, secret))

    def _delete(self, name: str) -> None:
        _call_keyring(lambda: self._backend.delete_password(SERVICE, name))


def list_names(folder: PrivateFolder) -> tuple[str, ...]:
    """Return the account names stored in the keyring, without accessing the keyring itself."""
    file = BACKEND_FILES[BackendKind.KEYRING]
    content = folder.read(file)
    names = [] if content is None else decode(content)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise damaged_file_error(str(folder.path / file))
    return tuple(sorted(names))


def _backup_name(name: str) -> str:
    return f"{name} (before)"


def _call_keyring(call: Callable[[], T]) -> T:
    """Return the result of a keyring call. Raise CredentialsError if it fails in any way."""
    # Raise outside of the handler: the backend's exception, and the frames in its traceback, may hold the secret.
    try:
        return call()
    except Exception as error:
        locked = "locked" in type(error).__name__.lower()
        reason = "is locked" if locked else f"failed ({type(error).__name__})"
    hint = "Unlock it and try again. Nothing was overwritten."
    raise CredentialsError(f"The system keyring {reason}.", hint=hint)
