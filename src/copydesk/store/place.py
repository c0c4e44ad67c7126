"""Where the database lies: in a file of its owner alone, on a disk of this machine."""

import os
from pathlib import Path

from copydesk.errors import StoreError, StoreGoneError

_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ncpfs", "afs", "fuse.sshfs"}


def make_private(path: Path) -> None:
    """Make the file and its folder, for their owner alone, where they are not there. StoreError where that fails."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives the files that it adds beside this one the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(
            f"{path} cannot be opened or written: {error.strerror}.", hint="Check who owns it and its folder."
        ) from error


def refuse_network(path: Path) -> None:
    """Raise StoreError for a place that is shared over a network, as far as the system tells."""
    kind = file_system(path, _mounts())
    if kind in _NETWORK:
        raise StoreError(
            f"{path} is on a network file system ({kind}), where a database gets damaged.",
            hint="Choose a folder on a local disk.",
        )


def _mounts() -> str:
    try:
        return Path("/proc/mounts").read_text(errors="replace")
    except OSError:
        return ""


def file_system(path: Path, mounts: str) -> str:
    """The type of the file system that `path` is on, by the text of /proc/mounts; empty when not known."""
    folders = {str(folder) for folder in (path.resolve(), *path.resolve().parents)}
    found = ("", "")
    for line in mounts.splitlines():
        place, kind = line.split(" ")[1:3]
        place = place.replace("\\040", " ")
        if place in folders and len(place) >= len(found[0]):
            found = (place, kind)
    return found[1]


class SameFile:
    """Whether a path still leads to the file that it led to when it was first looked at.

    SQLite goes on with a file that was moved or deleted, and whatever is written to it is lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._first: tuple[int, int] | None = None
        """The device and the number of the file."""

    def check(self) -> None:
        """StoreGoneError where it leads to another file, or to none."""
        try:
            found = self._path.stat()
        except OSError:
            now = None
        else:
            now = found.st_dev, found.st_ino
        self._first = self._first or now
        if now != self._first:
            raise StoreGoneError
