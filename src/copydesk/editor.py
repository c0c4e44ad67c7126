"""The user's external editor, and autosave files for unsaved text.

A draft's text is written to a file while it is edited, so that a crash of the editor, the console or the machine loses
nothing.
"""

import hashlib
import os
import re
import shlex
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from copydesk.errors import ConflictError

if TYPE_CHECKING:
    from copydesk.desk import Desk

FALLBACK_EDITORS = ("sensible-editor", "vim", "nano", "vi")
"""Fallbacks, in order, where neither VISUAL nor EDITOR is set."""
MAX_READ_BYTES = 400_000
"""Bytes read back from an edited file: the longest text allowed is 50,000 characters of at most 4 bytes, times two."""
_NAME = re.compile(r"(?P<draft>[0-9a-zA-Z-]{1,100})\.v(?P<version>\d{1,9})\.md")


def get_editor_command(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the editor and its arguments; the caller appends the file name.

    VISUAL takes precedence over EDITOR, then FALLBACK_EDITORS. Raise ConflictError if none is found.
    """
    for variable in ("VISUAL", "EDITOR"):
        with suppress(ValueError):  # shlex rejects an unclosed quotation mark
            if parts := shlex.split(environ.get(variable, "")):
                return tuple(parts)
    fallback = next((name for name in FALLBACK_EDITORS if shutil.which(name)), None)
    if fallback is None:
        raise ConflictError("No editor found.", hint="Set the environment variable EDITOR.")
    return (fallback,)


@contextmanager
def ignore_interrupts() -> Iterator[None]:
    """Leave Ctrl+C to the program that owns the terminal."""

    def ignore(number: int, frame: FrameType | None) -> None:
        """Do nothing. Not SIG_IGN, which the program would inherit."""

    handlers = {number: signal.signal(number, ignore) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def create_temporary_file(text: str) -> Path:
    """Write `text` to a new temporary file readable by the user only; return its path."""
    descriptor, name = tempfile.mkstemp(prefix="draft-", suffix=".md")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(name)


def read_edited_file(path: Path) -> str:
    """Return the file's text without a byte order mark.

    Invalid UTF-8 is replaced, because the editor may have written anything.
    """
    with path.open("rb") as file:
        return file.read(MAX_READ_BYTES).decode("utf-8", errors="replace").removeprefix("\ufeff")


def without_added_newline(text: str, original: str) -> str:
    """Return `text` without the line break that editors add to the last line of a file."""
    return text if original.endswith("\n") else text.removesuffix("\n").removesuffix("\r")


class UnsavedText(NamedTuple):
    """A draft's unsaved text."""

    path: Path
    draft_id: str
    version: int
    """The draft's version that the edit started from."""
    text: str
    saved_at: datetime


class Autosave:
    """Unsaved texts, one file per draft and version, each deleted when its draft is saved."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, draft_id: str, version: int, text: str) -> Path:
        """Write the text atomically and return its path. Raise OSError if it cannot be written."""
        from copydesk.file_replacement import replace_file  # noqa: PLC0415 - not needed for the console's first paint

        path = self._folder / f"{draft_id}.v{version}.md"
        # A lone surrogate cannot be encoded; replacing it is better than losing the text.
        replace_file(path, text.encode(errors="replace"))
        return path

    def find(self, draft_id: str) -> UnsavedText | None:
        """Return the draft's most recent unsaved text, or None."""
        return max(
            (unsaved for unsaved in self.list_all() if unsaved.draft_id == draft_id),
            key=lambda unsaved: unsaved.saved_at,
            default=None,
        )

    def list_all(self) -> Sequence[UnsavedText]:
        """Return all unsaved texts, oldest first. Files that cannot be read are skipped, not deleted."""
        unsaved = []
        for path in self._folder.glob("*.md") if self._folder.is_dir() else ():
            with suppress(OSError):
                if (match := _NAME.fullmatch(path.name)) and path.is_file():
                    at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                    unsaved.append(UnsavedText(path, match["draft"], int(match["version"]), read_edited_file(path), at))
        return sorted(unsaved, key=lambda saved: saved.saved_at)

    def delete(self, draft_id: str) -> None:
        """Delete the draft's unsaved texts, because they were saved or discarded. Raise OSError if that fails."""
        for unsaved in self.list_all():
            if unsaved.draft_id == draft_id:
                unsaved.path.unlink(missing_ok=True)


def user_autosave(desk: "Desk", name: str) -> Autosave:
    """Return the autosave files of one kind of text, of the desk's user and reviewer only.

    Others may use the same data folder: none may be offered, overwrite or delete what another one typed.
    """
    user = "" if desk.user.is_owner else desk.user.id
    typist = f"{user}{desk.settings.console.reviewer}"
    suffix = f"-{hashlib.blake2s(typist.encode(), digest_size=6).hexdigest()}" if typist else ""
    return Autosave(desk.settings.data_home / f"{name}{suffix}")
