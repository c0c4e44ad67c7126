"""The database file: private to its owner, on a local disk, and still the same file."""

import os
from pathlib import Path

from copydesk.errors import StoreError, StoreMissingError

_NETWORK_FILE_SYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ncpfs", "afs", "fuse.sshfs"}


def create_private_file(path: Path) -> None:
    """Create the file and its folder, private to their owner, if missing. Raise StoreError if that fails."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives the journal files it creates next to this one the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(
            f"Cannot open or write {path}: {error.strerror}.", hint="Check the owner of the file and its folder."
        ) from error


def reject_network_file_system(path: Path) -> None:
    """Raise StoreError if `path` is on a network file system, as far as the system tells."""
    fs_type = file_system_type(path, _mounts())
    if fs_type in _NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"{path} is on a network file system ({fs_type}), which can corrupt the database.",
            hint="Choose a folder on a local disk.",
        )


def _mounts() -> str:
    try:
        return Path("/proc/mounts").read_text(errors="replace")
    except OSError:
        return ""


def file_system_type(path: Path, mounts: str) -> str:
    """Return the type of the file system that holds `path`, given the text of /proc/mounts; empty if unknown."""
    folders = {str(folder) for folder in (path.resolve(), *path.resolve().parents)}
    best_match = ("", "")
    for line in mounts.splitlines():
        mount_point, fs_type = line.split(" ")[1:3]
        # /proc/mounts writes a space as an octal escape.
        mount_point = mount_point.replace("\\040", " ")
        # The longest mount point wins; of equals the later one, which hides the earlier.
        if mount_point in folders and len(mount_point) >= len(best_match[0]):
            best_match = (mount_point, fs_type)
    return best_match[1]


class FileIdentity:
    """Checks that a path still leads to the file it led to at the first check.

    SQLite goes on using a file that was moved or deleted, and whatever is written to it is lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._original: tuple[int, int] | None = None
        """Device and inode number."""

    def check(self) -> None:
        """Raise StoreMissingError if the path leads to another file, or to none."""
        try:
            stat = self._path.stat()
        except OSError:
            current = None
        else:
            current = stat.st_dev, stat.st_ino
        self._original = self._original or current
        if current != self._original:
            raise StoreMissingError
