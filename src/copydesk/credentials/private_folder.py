"""A directory that only its owner can access, with files that are replaced atomically."""

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from copydesk.errors import CredentialsError

MAX_FILE_SIZE = 2**20
"""Bytes per file. A hundred accounts take about 50 kB."""
LOCK_TIMEOUT, LOCK_POLL_INTERVAL = 10.0, 0.02
"""Seconds to wait for another process's lock, and seconds between attempts."""
# O_NOFOLLOW: do not follow a planted symlink. O_NONBLOCK: do not hang on a FIFO.
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class PrivateFolder:
    """A directory of mode 0700 with files of mode 0600. Every method may raise CredentialsError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self, name: str) -> bool:
        """Return True if the regular file exists."""
        try:
            # lstat: a symlink with this name is not ours.
            return stat.S_ISREG(os.lstat(self.path / name).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise self._os_error("checked", name, error) from None

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it does not exist.

        Raise CredentialsError if others can access it, it has another owner, or it is too large.
        """
        try:
            with os.fdopen(os.open(self.path / name, _READ_FLAGS), "rb") as file:
                # On the descriptor: the path may be exchanged between a check and the reading.
                self._check_private(name, os.fstat(file.fileno()))
                content = file.read(MAX_FILE_SIZE + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._os_error("read", name, error) from None
        if len(content) > MAX_FILE_SIZE:
            raise CredentialsError(f"{self.path / name} is too large to be a file of Copydesk.", hint="Move it away.")
        return content

    def write(self, name: str, content: bytes) -> None:
        """Replace a file durably and atomically, keeping the previous content as `name.1`."""
        previous = self.read(name)
        if previous is not None:
            self.replace(f"{name}.1", previous)
        self.replace(name, content)

    def replace(self, name: str, content: bytes) -> None:
        """Replace a file durably and atomically, keeping no copy of the previous content."""
        if len(content) > MAX_FILE_SIZE:
            raise CredentialsError(f"{self.path / name} would be larger than {MAX_FILE_SIZE} bytes. Nothing changed.")
        # In the same folder: a rename is atomic within one file system only.
        temporary = self.path / f"{name}.new"
        try:
            _write_durable(temporary, content)
            temporary.rename(self.path / name)
            _fsync_directory(self.path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise self._os_error("written", name, error) from None

    def remove(self, *names: str) -> None:
        """Delete the files that exist."""
        for name in names:
            try:
                (self.path / name).unlink(missing_ok=True)
            except OSError as error:
                raise self._os_error("removed", name, error) from None
        try:
            _fsync_directory(self.path)
        except OSError as error:
            raise self._os_error("removed", ", ".join(names), error) from None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold an exclusive lock on the directory, against other processes and other threads."""
        try:
            self._prepare()
            descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._os_error("locked", "lock", error) from None
        try:
            _acquire_lock(descriptor)
            yield
        finally:
            # Closing the descriptor releases the lock.
            os.close(descriptor)

    def _prepare(self) -> None:
        """Create the directory, or check that it belongs to this user."""
        # Create the data folder explicitly: `parents=True` would create it with default permissions, readable by
        # others.
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.mkdir(mode=0o700, exist_ok=True)
        status = self.path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise CredentialsError(f"{self.path} is not a folder you own.", hint="Move it away.")
        if status.st_mode & 0o077:
            self.path.chmod(0o700)
        gitignore = self.path / ".gitignore"
        if not gitignore.exists():
            gitignore.write_text("*\n")  # the data folder may be under version control

    def _check_private(self, name: str, status: os.stat_result) -> None:
        path = self.path / name
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise CredentialsError(f"{path} is not a file you own.", hint="Move it away.")
        if status.st_mode & 0o077:
            hint = f"`chmod 600 {path}`, and change the passwords of your accounts if others use this machine."
            raise CredentialsError(f"Others can read {path}.", hint=hint)

    def _os_error(self, action: str, name: str, error: OSError) -> CredentialsError:
        hint = "Check the free disk space and the owner of the file and its folder."
        return CredentialsError(f"{self.path / name} could not be {action}: {error.strerror or error}.", hint=hint)


def _write_durable(path: Path, content: bytes) -> None:
    """Create a file and fsync it. A leftover of a killed process is replaced."""
    # O_EXCL below refuses a file that is there, of whoever it is.
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, _CREATE_FLAGS, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _fsync_directory(folder: Path) -> None:
    """Fsync a directory, so that created and renamed entries survive a power failure."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _acquire_lock(descriptor: int) -> None:
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            # Poll instead of blocking, so that the wait can time out.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise CredentialsError(
                    "Another Copydesk process is changing your credentials.", hint="Try again in a moment."
                ) from None
            time.sleep(LOCK_POLL_INTERVAL)
        except OSError as error:
            raise CredentialsError(f"Cannot lock your credentials: {error.strerror}.") from None
        else:
            return
