"""Keeps secrets in a file: encrypted with a passphrase, or by consent as they are."""

from typing import ClassVar

from copydesk.secrets.content import Secrets, by_name, encoded
from copydesk.secrets.folder import PrivateFolder
from copydesk.secrets.places import FILES, Where
from copydesk.secrets.seal import Passphrase, damaged


class PlainFile:
    """All secrets in one file, as they are."""

    where: ClassVar[Where] = Where.PLAIN

    def __init__(self, folder: PrivateFolder) -> None:
        self._folder = folder
        self._file = FILES[self.where]
        self._shown = str(folder.path / self._file)

    def read(self, name: str) -> Secrets | None:
        """The secrets under a name; None where there are none."""
        return self._all().get(name)

    def keep(self, name: str, secrets: Secrets) -> None:
        """Replace the secrets under a name; the file as it was stays beside."""
        every = self._all() | {name: secrets}
        self._folder.write(self._file, self._closed(encoded(every)))

    def remove(self, name: str) -> None:
        """Forget a name; the file goes with the last one."""
        every = self._all()
        if every.pop(name, None) is None:
            return
        # First the file of before, so that whoever is killed over this has not removed it in one and left it in the
        # other.
        self._folder.remove(f"{self._file}.1", f"{self._file}.new", f"{self._file}.1.new")
        if every:
            self._folder.replace(self._file, self._closed(encoded(every)))
        else:
            self._folder.remove(self._file)

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        return tuple(sorted(self._all()))

    def _all(self) -> dict[str, Secrets]:
        content = self._folder.read(self._file)
        return {} if content is None else by_name(self._opened(content), damaged(self._shown))

    def _opened(self, content: bytes) -> bytes:
        return content

    def _closed(self, content: bytes) -> bytes:
        return content


class SealedFile(PlainFile):
    """All secrets in one file, encrypted with a passphrase."""

    where: ClassVar[Where] = Where.SEALED

    def __init__(self, folder: PrivateFolder, passphrase: Passphrase) -> None:
        super().__init__(folder)
        self._passphrase = passphrase

    def _opened(self, content: bytes) -> bytes:
        return self._passphrase.unseal(content, self._shown)

    def _closed(self, content: bytes) -> bytes:
        return self._passphrase.seal(content)
