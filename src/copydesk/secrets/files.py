"""File backends: one file with all credentials, encrypted with a passphrase or, with consent, plaintext."""

from typing import ClassVar

from copydesk.secrets.content import Secrets, encode, parse_secrets
from copydesk.secrets.folder import PrivateFolder
from copydesk.secrets.places import BACKEND_FILES, BackendKind
from copydesk.secrets.seal import Passphrase, damaged_file_error


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
