"""Content-addressed image storage: a folder of files named by the SHA-256 of their content, which never change.

File names are always digests computed here, never external input. The media type is detected by the first bytes; file
names and Content-Type headers are ignored.
"""

import errno
import fcntl
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG

from copydesk.errors import ImageError
from copydesk.model.draft import stored_image_digest, stored_image_url

MiB = 2**20
MAX_BYTES = 20 * MiB
"""Maximum size of an input image; no camera's JPEG is larger."""

_CONVERT_HINT = "Save it as a JPEG or PNG."
_FORMATS_HINT = "Use a JPEG, PNG, GIF or WebP."
_SNIFF_BYTES = 1024
"""Bytes in which a text format identifies itself."""

_UNSUPPORTED_BRANDS = {
    **dict.fromkeys((b"avif", b"avis"), "AVIF"),
    **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"), "HEIC"),
}
"""Brands of ISO media files (ISO/IEC 23008-12; AV1 Image File Format), for a better error message."""

_TEMPORARY_NAME = re.compile(r"\.[0-9a-f]{64}\.[0-9a-f]{8}")
# A symlink in the folder was not created by Copydesk and may point to any file of the user.
_SAFE_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


class ImageFormat(StrEnum):
    """Accepted input formats, by media type."""

    JPEG = "image/jpeg"
    PNG = "image/png"
    GIF = "image/gif"
    WEBP = "image/webp"


def sniff(content: bytes) -> ImageFormat | None:
    """Return the format that `content` begins with, or None."""
    if content.startswith(b"\xff\xd8\xff"):
        return ImageFormat.JPEG
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return ImageFormat.PNG
    if content.startswith((b"GIF87a", b"GIF89a")):
        return ImageFormat.GIF
    return ImageFormat.WEBP if content.startswith(b"RIFF") and content[8:12] == b"WEBP" else None


def validate_format(content: bytes) -> ImageFormat:
    """Return the format. Raise ImageError if it is not accepted or the content is too large."""
    if len(content) > MAX_BYTES:
        raise too_large_error()
    kind = sniff(content)
    if kind is None:
        message, hint = _unsupported_message(content)
        raise ImageError(message, hint=hint)
    return kind


def too_large_error() -> ImageError:
    """Return the error for content over `MAX_BYTES`."""
    return ImageError(f"It is larger than {MAX_BYTES // MiB} MB.", hint="Save it in a smaller size.")


def _unsupported_message(content: bytes) -> tuple[str, str]:
    """Return the message and hint for an unsupported format."""
    prefix = content[:_SNIFF_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not content:
        return "The file is empty.", _FORMATS_HINT
    if content[4:8] == b"ftyp" and (name := _UNSUPPORTED_BRANDS.get(content[8:12])):
        return f"Platforms do not accept the format {name}.", _CONVERT_HINT
    if b"<svg" in prefix:
        return "Platforms do not accept SVG.", _CONVERT_HINT
    if prefix.startswith((b"<!doctype html", b"<html")):
        return "It is a web page, not an image.", "Use the address of the image itself."
    return "It is not a readable image.", _FORMATS_HINT


def save(folder: Path, content: bytes) -> str:
    """Store an image in `folder`, creating it if needed; return its URL, `copydesk:picture/<sha256>`.

    The file is fsynced and readable by its owner only. Raise ImageError, also if `content` is not an image.
    """
    validate_format(content)
    digest = sha256(content).hexdigest()
    with _convert_os_errors("Cannot store it"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _lock(folder, exclusive=False):
            # Compare contents: a file damaged since it was stored is replaced.
            if _read(folder / digest) != content:
                _write_atomic(folder, digest, content)
            else:
                os.utime(folder / digest)
    return stored_image_url(digest)


def load(folder: Path, url: str) -> bytes:
    """Return the bytes of the stored image at `url`. Raise ImageError if they are missing or altered."""
    digest = stored_image_digest(url)
    if digest is None:
        raise ImageError("It is not an image stored by Copydesk.", hint="Attach it again.")
    with _convert_os_errors("Cannot read it"):
        content = _read(folder / digest)
    if content is None:
        raise ImageError("It is no longer stored.", hint=f"Attach it again, or put the file back into {folder}.")
    # A damaged image would be posted as it is: no platform can know the original.
    if sha256(content).hexdigest() != digest:
        raise ImageError(
            "The stored file is damaged.", hint=f"Attach it again, or put the file back: {folder / digest}."
        )
    return content


def is_stored(folder: Path, url: str) -> bool:
    """Return True if the file of `url` exists. Its content is not verified."""
    digest = stored_image_digest(url)
    return digest is not None and (folder / digest).is_file()


def renew(folder: Path, url: str) -> bool:
    """Return True if the file of `url` exists; its age begins anew."""
    if not is_stored(folder, url):
        return False
    try:
        with _lock(folder, exclusive=False):
            os.utime(folder / (stored_image_digest(url) or ""))
    except FileNotFoundError:
        return False
    except OSError:
        pass  # a file of another owner
    return True


def delete_unused(folder: Path, used: Collection[str], before: datetime) -> int:
    """Delete the files whose SHA-256 is not in `used`, if not used or stored since `before`; return their number.

    The age of those in `used` begins anew.
    """
    count = 0
    for digest in list_stored(folder):
        # The age shows when a draft had it last: a backup of the database that names it may be restored.
        if digest in used:
            renew(folder, stored_image_url(digest))
        else:
            count += _delete_old(folder, digest, before)
    with suppress(OSError):
        for file in folder.iterdir():
            # Left behind by a killed process.
            if _TEMPORARY_NAME.fullmatch(file.name):
                _delete_old(folder, file.name, before)
    return count


def delete_files(folder: Path, digests: Collection[str], before: datetime) -> None:
    """Delete the files with these SHA-256, unless they were used or stored since `before`."""
    for digest in digests:
        _delete_old(folder, digest, before)


def _delete_old(folder: Path, name: str, before: datetime) -> bool:
    """Delete a file that was last used before `before`; return True if that was done."""
    with suppress(OSError), _lock(folder, exclusive=True):
        if (folder / name).stat(follow_symlinks=False).st_mtime < before.timestamp():
            (folder / name).unlink()
            return True
    return False


@contextmanager
def _lock(folder: Path, *, exclusive: bool) -> Iterator[None]:
    """Keep a file from being deleted while another process stores or renews it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Some file systems have no such locks; there the age of a file alone protects it.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def list_stored(folder: Path) -> dict[str, int]:
    """Return the size in bytes of every image stored in `folder`, by SHA-256. Empty if the folder does not exist."""
    try:
        with os.scandir(folder) as entries:
            candidates = [
                (entry, stored_image_digest(stored_image_url(entry.name)))
                for entry in entries
                if entry.is_file(follow_symlinks=False)
            ]
            return {digest: entry.stat(follow_symlinks=False).st_size for entry, digest in candidates if digest}
    except OSError:
        return {}


def read_file(path: Path) -> bytes:
    """Return the image in the user's file. Raise ImageError if it is not an image or not a regular file."""
    with _convert_os_errors(f"Cannot read {path}"):
        # O_NONBLOCK: opening a FIFO without a writer would block.
        content = _read_descriptor(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
    if content is None:
        raise ImageError(f"{path} is not a file.", hint="Use a JPEG, PNG, GIF or WebP.")
    try:
        validate_format(content)
    except ImageError as error:
        raise ImageError(f"{path}: {error.message}", hint=error.hint) from None
    return content


def _read(path: Path) -> bytes | None:
    """Return the content of a file; None if it is missing or a symlink."""
    try:
        return _read_descriptor(os.open(path, os.O_RDONLY | os.O_NONBLOCK | _SAFE_FLAGS))
    except OSError as error:
        # ELOOP: a symlink, which this module never creates.
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return None
        raise


def _read_descriptor(descriptor: int) -> bytes | None:
    """Return the content of an open descriptor and close it; None if it is a directory, FIFO or device."""
    try:
        # Checked on the descriptor, not on the path, which may be exchanged in between.
        if not S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            # One byte more than allowed tells too large from just fitting, without reading all of it.
            content = file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise too_large_error()
    return content


def _write_atomic(folder: Path, digest: str, content: bytes) -> None:
    """Write to a temporary file, then rename it, so that readers see all of the content or none."""
    # Random, because two processes may store the same image at once.
    temporary = folder / f".{digest}.{os.urandom(4).hex()}"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE_FLAGS, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / digest)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    # After the rename: a database row must not name a file that a power cut takes away.
    _fsync_directory(folder)


def _fsync_directory(folder: Path) -> None:
    """Fsync a directory, so that the new name survives a power failure."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _convert_os_errors(prefix: str) -> Iterator[None]:
    """Convert errors of the file system to ImageError, with the message prefixed by `prefix`."""
    try:
        yield
    except (OSError, ValueError) as error:  # a path that contains NUL raises ValueError
        reason = (error.strerror or "") if isinstance(error, OSError) else "invalid character in the path"
        message = f"{prefix}: {reason[:1].lower()}{reason[1:]}." if reason else f"{prefix}."
        raise ImageError(
            message, hint="Check the path and the disk.", is_temporary=isinstance(error, OSError)
        ) from None
