"""Keeps secrets in the system's keyring: Secret Service or KWallet, the keychain of macOS."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar

from copydesk.errors import SecretsError
from copydesk.secrets.content import Hidden, Secrets, decoded, encoded, is_secrets
from copydesk.secrets.folder import PrivateFolder
from copydesk.secrets.places import FILES, Where
from copydesk.secrets.seal import damaged

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

T = TypeVar("T")

SERVICE = "copydesk"
"""By which they are found in the keyring's own window."""
_REFUSED = ("keyrings.alt.", "keyring.backends.fail", "keyring.backends.null")
"""The first keeps passwords in files, some of them as they are; the others keep nothing."""


def usable_keyring() -> "KeyringBackend | None":
    """The system's keyring; None where there is none that keeps secrets as secrets."""
    from keyring.backends.chainer import ChainerBackend  # noqa: PLC0415 - 0.1 s, and not everybody has one
    from keyring.core import get_keyring  # noqa: PLC0415

    try:
        found = get_keyring()
        # Of several, the one that would take it: the chain would also read from, and fall back to, any other.
        each = found.backends if isinstance(found, ChainerBackend) else [found]
        return next((backend for backend in each if _good(backend)), None)
    except Exception:  # its configuration names a keyring that cannot be loaded, which may fail in any way
        return None


def _good(backend: "KeyringBackend") -> bool:
    return not f"{type(backend).__module__}.".startswith(_REFUSED) and backend.priority > 0


class Keyring:
    """Each name's secrets as one password; the names in a file, as not every keyring can list them.

    What was there before stays under a second name: macOS replaces a password by removing it first.
    """

    where: ClassVar[Where] = Where.KEYRING

    def __init__(self, folder: PrivateFolder, backend: "KeyringBackend") -> None:
        self._folder = folder
        self._backend = backend

    def read(self, name: str) -> Secrets | None:
        """The secrets under a name; None where there are none."""
        if name not in self.names():
            return None
        found = self._get(name) or self._get(_before(name))
        if found is None:
            return None
        value = decoded(found)
        if not is_secrets(value):
            says = f"What is kept in the system's keyring for {name} was not written by Copydesk."
            raise SecretsError(says, hint=f"Look at it there, under {SERVICE}; or connect the account again.")
        return Hidden(value)

    def keep(self, name: str, secrets: Secrets) -> None:
        """Replace the secrets under a name; what they were stays beside."""
        names = self.names()
        before = self._get(name)
        if before is not None:
            self._set(_before(name), before)
        self._set(name, encoded(secrets).decode())
        if name not in names:
            self._list((*names, name))

    def remove(self, name: str) -> None:
        """Forget a name."""
        names = self.names()
        if name not in names:
            return
        for each in (_before(name), name):
            if self._get(each) is not None:
                self._delete(each)
        self._list(tuple(other for other in names if other != name))

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        return listed(self._folder)

    def _list(self, names: tuple[str, ...]) -> None:
        file = FILES[self.where]
        if names:
            self._folder.write(file, encoded(sorted(names)))
        else:
            self._folder.remove(f"{file}.1", file)

    def _get(self, name: str) -> str | None:
        return _ask(lambda: self._backend.get_password(SERVICE, name))

    def _set(self, name: str, secret: str) -> None:
        _ask(lambda: self._backend.set_password(SERVICE, name, secret))

    def _delete(self, name: str) -> None:
        _ask(lambda: self._backend.delete_password(SERVICE, name))


def listed(folder: PrivateFolder) -> tuple[str, ...]:
    """The names that are in the keyring, which need not be there to know them."""
    file = FILES[Where.KEYRING]
    content = folder.read(file)
    names = [] if content is None else decoded(content)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise damaged(str(folder.path / file))
    return tuple(sorted(names))


def _before(name: str) -> str:
    return f"{name} (before)"


def _ask(work: Callable[[], T]) -> T:
    """Ask the keyring; SecretsError for whatever comes of it that is no answer."""
    # Raised outside: what a backend raises, and the frames that it keeps, may hold the secret.
    try:
        return work()
    except Exception as error:
        locked = "locked" in type(error).__name__.lower()
        wrong = "is locked" if locked else f"does not do what it is asked ({type(error).__name__})"
    hint = "Unlock it and try again. Nothing was overwritten."
    raise SecretsError(f"The system's keyring {wrong}.", hint=hint)
