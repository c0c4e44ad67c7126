"""The user's own editor, and the files that it is given: nothing that was typed is lost, whatever becomes of it."""

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from copydesk.errors import ConflictError

EDITORS = ("sensible-editor", "vim", "nano", "vi")
"""What is looked for where neither VISUAL nor EDITOR is set."""
MOST_READ = 400_000
"""Bytes that are read back: twice the longest text, in the widest characters."""
_NAME = re.compile(r"(?P<draft>[0-9a-zA-Z-]{1,100})\.v(?P<version>\d{1,9})\.md")


def command(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The program and its arguments, to which the file's name is added. ConflictError where there is none."""
    for variable in ("VISUAL", "EDITOR"):
        with suppress(ValueError):  # an open quotation mark
            if words := shlex.split(environ.get(variable, "")):
                return tuple(words)
    found = next((name for name in EDITORS if shutil.which(name)), None)
    if found is None:
        raise ConflictError("There is no editor.", hint="Set EDITOR.")
    return (found,)


def kept(text: str) -> Path:
    """A new file of the user's alone that holds the text."""
    descriptor, name = tempfile.mkstemp(prefix="draft-", suffix=".md")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(name)


def read_back(path: Path) -> str:
    """What is in the file now: text, whatever it is."""
    with path.open("rb") as file:
        return file.read(MOST_READ).decode("utf-8", errors="replace")


class Typed(NamedTuple):
    """What somebody typed and has not saved."""

    path: Path
    draft_id: str
    version: int
    """The draft's version that it began with."""
    text: str
    at: datetime


class TypedTexts:
    """The texts that are being typed, each in a file of its own until its draft has it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, draft_id: str, version: int, text: str) -> Path:
        """Write the text down, wholly or not at all; OSError where it cannot be."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"{draft_id}.v{version}.md"
        new = path.with_suffix(f".{os.getpid()}.new")
        with open(new, "w", encoding="utf-8", errors="replace", opener=_private) as file:
            file.write(text)
        new.replace(path)
        return path

    def find(self, draft_id: str) -> Typed | None:
        """What was typed last of this draft."""
        return max((each for each in self.every() if each.draft_id == draft_id), key=lambda each: each.at, default=None)

    def every(self) -> Sequence[Typed]:
        """All that was typed and not saved, the oldest first. What cannot be read is left where it is."""
        found = []
        for path in self._folder.glob("*.md") if self._folder.is_dir() else ():
            with suppress(OSError):
                if (named := _NAME.fullmatch(path.name)) and path.is_file():
                    at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                    found.append(Typed(path, named["draft"], int(named["version"]), read_back(path), at))
        return sorted(found, key=lambda each: each.at)

    def forget(self, draft_id: str) -> None:
        """The draft has it by now, or nobody wants it."""
        for each in self.every():
            if each.draft_id == draft_id:
                with suppress(OSError):
                    each.path.unlink()


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)
