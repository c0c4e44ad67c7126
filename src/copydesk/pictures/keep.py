"""Keeps the bytes of pictures in a folder, each under the SHA-256 of what is in it: once kept, never another.

Only digests of our own become names of files there.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG

from copydesk.model.picture import kept_digest, kept_url
from copydesk.pictures.errors import PictureError
from copydesk.pictures.kind import MOST_BYTES, checked_kind, too_large

_HERE = os.O_CLOEXEC | os.O_NOFOLLOW


def keep(folder: Path, content: bytes) -> str:
    """Keep a picture in `folder`, which is made where it is not there; returns its url, `copydesk:picture/<sha256>`.

    It is safe on the disk when this returns, and the owner alone can read it. Raises PictureError, also for what is no
    picture.
    """
    checked_kind(content)
    digest = sha256(content).hexdigest()
    with _told("It cannot be kept"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _read(folder / digest) != content:
            _write(folder, digest, content)
    return kept_url(digest)


def stored(folder: Path, url: str) -> bytes:
    """The bytes of the kept picture at `url`; PictureError where they are not there, or not what they were."""
    digest = kept_digest(url)
    if digest is None:
        raise PictureError("It is no picture that Copydesk keeps.", hint="Give its file or its address again.")
    with _told("It cannot be read"):
        content = _read(folder / digest)
    if content is None:
        raise PictureError("It is not kept any more.", hint=f"It belongs into {folder}; bring it back from a copy.")
    if sha256(content).hexdigest() != digest:
        raise PictureError("What was kept of it is damaged.", hint=f"Bring {folder / digest} back from a copy.")
    return content


def is_stored(folder: Path, url: str) -> bool:
    """Whether there is a kept picture at `url`; what is in it is not looked at."""
    digest = kept_digest(url)
    return digest is not None and (folder / digest).is_file()


def kept_in(folder: Path) -> dict[str, int]:
    """The SHA-256 of every picture that is kept in `folder`, with its bytes; nothing where there is no folder."""
    try:
        with os.scandir(folder) as entries:
            found = [
                (each, kept_digest(kept_url(each.name))) for each in entries if each.is_file(follow_symlinks=False)
            ]
            return {digest: each.stat(follow_symlinks=False).st_size for each, digest in found if digest}
    except OSError:
        return {}


def read_file(path: Path) -> bytes:
    """The picture in a file that the user names; PictureError for what is none, or no file with an end."""
    with _told(f"{path} cannot be read"):
        # Without waiting: a pipe that nobody writes into would be waited for.
        content = _taken(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
    if content is None:
        raise PictureError(f"{path} is no file.", hint="Give a JPEG, PNG, GIF or WebP.")
    try:
        checked_kind(content)
    except PictureError as error:
        raise PictureError(f"{path}: {error.message}", hint=error.hint) from None
    return content


def _read(path: Path) -> bytes | None:
    """What is in the file; None where there is none."""
    try:
        return _taken(os.open(path, os.O_RDONLY | os.O_NONBLOCK | _HERE))
    except OSError as error:
        # A link is none of ours.
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return None
        raise


def _taken(descriptor: int) -> bytes | None:
    """The content of an open file, which is closed; None where it is no file but a folder, a pipe or a device."""
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MOST_BYTES:
        raise too_large()
    return content


def _write(folder: Path, digest: str, content: bytes) -> None:
    """Write beside, then rename: whoever looks finds all of it or nothing."""
    beside = folder / f".{digest}.{os.urandom(4).hex()}"
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _HERE, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(folder / digest)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    _sync(folder)


def _sync(folder: Path) -> None:
    """The name, too, is to outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Raises what the disk says as a PictureError."""
    try:
        yield
    except (OSError, ValueError) as error:  # a path with a NUL in it is a ValueError
        why = (error.strerror or "") if isinstance(error, OSError) else "no path has such a character"
        says = f"{what}: {why[:1].lower()}{why[1:]}." if why else f"{what}."
        raise PictureError(says, hint="Check the path and the disk.", later=isinstance(error, OSError)) from None
