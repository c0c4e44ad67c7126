"""Keyring backend: Secret Service or KWallet on Linux, the keychain on macOS."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar

from copydesk.credentials.backends import BACKEND_FILES, BackendKind, MaskedSecrets, Secrets, decode, encode, is_secrets
from copydesk.credentials.encryption import damaged_file_error
from copydesk.credentials.private_folder import PrivateFolder
from copydesk.errors import CredentialsError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

T = TypeVar("T")

SERVICE = "copydesk"
"""Service name under which the keyring's own user interface lists the entries."""
_INSECURE_BACKENDS = ("keyrings.alt.", "keyring.backends.fail", "keyring.backends.null")
"""The first stores passwords in files, some of them unencrypted; the others store nothing."""


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
