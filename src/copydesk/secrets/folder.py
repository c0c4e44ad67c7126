"""A folder of its owner alone, with files in it that are whole whenever somebody is killed."""

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from copydesk.errors import SecretsError

LARGEST = 2**20
"""Bytes of one file: a hundred accounts are some 50 kB."""
LONGEST_WAIT, LOOK_AGAIN = 10.0, 0.02
"""Seconds to wait for another process that is writing, and between two looks whether it is done."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class PrivateFolder:
    """A folder of mode 0700 whose files have mode 0600. Every method may raise SecretsError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def holds(self, name: str) -> bool:
        """Whether there is such a file."""
        try:
            return stat.S_ISREG(os.lstat(self.path / name).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise self._failed("looked at", name, error) from None

    def read(self, name: str) -> bytes | None:
        """What is in a file; None where it is not there. One that others may read or write is refused."""
        try:
            with os.fdopen(os.open(self.path / name, _READ), "rb") as file:
                self._check(name, os.fstat(file.fileno()))
                content = file.read(LARGEST + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failed("read", name, error) from None
        if len(content) > LARGEST:
            raise SecretsError(f"{self.path / name} is larger than anything Copydesk writes.", hint="Move it away.")
        return content

    def write(self, name: str, content: bytes) -> None:
        """Replace a file: safe on the disk when this returns, the old one until then. `name.1` is the one before."""
        before = self.read(name)
        if before is not None:
            self.replace(f"{name}.1", before)
        self.replace(name, content)

    def replace(self, name: str, content: bytes) -> None:
        """The same, and nothing of the old one stays."""
        if len(content) > LARGEST:
            raise SecretsError(f"{self.path / name} would be larger than {LARGEST} bytes. Nothing was changed.")
        new = self.path / f"{name}.new"
        try:
            _write_down(new, content)
            new.rename(self.path / name)
            _sync(self.path)
        except OSError as error:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            raise self._failed("written", name, error) from None

    def remove(self, *names: str) -> None:
        """Remove files, as far as they are there."""
        for name in names:
            try:
                (self.path / name).unlink(missing_ok=True)
            except OSError as error:
                raise self._failed("removed", name, error) from None
        _sync(self.path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process, and every other thread, from changing anything meanwhile."""
        try:
            self._prepare()
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._failed("locked", "lock", error) from None
        try:
            _wait_for(lock)
            yield
        finally:
            os.close(lock)

    def _prepare(self) -> None:
        """Make the folder, or see that it is nobody else's."""
        # One by one: `parents` would leave the folder above, where the database lies, open to others.
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.mkdir(mode=0o700, exist_ok=True)
        found = self.path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise SecretsError(f"{self.path} is not a folder of yours.", hint="Move it away.")
        if found.st_mode & 0o077:
            self.path.chmod(0o700)
        ignored = self.path / ".gitignore"
        if not ignored.exists():
            ignored.write_text("*\n")  # the folder above may be kept in git

    def _check(self, name: str, found: os.stat_result) -> None:
        path = self.path / name
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise SecretsError(f"{path} is not a file of yours.", hint="Move it away.")
        if found.st_mode & 0o077:
            hint = f"`chmod 600 {path}`, and if anybody else uses this machine, change the passwords of your accounts."
            raise SecretsError(f"{path} can be read by others.", hint=hint)

    def _failed(self, what: str, name: str, error: OSError) -> SecretsError:
        hint = "Check the space on the disk, and who owns the file and its folder."
        return SecretsError(f"{self.path / name} could not be {what}: {error.strerror or error}.", hint=hint)


def _write_down(new: Path, content: bytes) -> None:
    """Make a file that is safe on the disk, in place of one that somebody was killed over."""
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, _NEW, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make names in a folder safe on the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _wait_for(lock: int) -> None:
    until = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise SecretsError(
                    "Another Copydesk is changing the keys to your accounts.", hint="Try again in a moment."
                ) from None
            time.sleep(LOOK_AGAIN)
        except OSError as error:
            raise SecretsError(f"The keys to your accounts cannot be locked: {error.strerror}.") from None
        else:
            return
