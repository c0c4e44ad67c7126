"""Copies of the database, made before it is changed by an upgrade."""

import os
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from copydesk.errors import StoreError

KEPT: Final = 3


def back_up(path: Path, revision: str, now: datetime) -> Path:
    """A copy of the database at `path`, readable by its owner alone, beside it; the newest three are kept.

    SQLite's own copying, because the newest changes may still be in the write-ahead log: a plain copy of the file
    would miss them. On an error nothing of the copy is left. Raises sqlite3.Error; StoreError where the folder
    takes no file.
    """
    moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    copy = path.with_name(f"{path.name}.bak-{revision}-{moment}")
    part = path.with_name(f"{copy.name}.part")
    try:
        _copy(path, part)
        part.replace(copy)
        for old in copies(path)[:-KEPT]:
            old.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"No copy of {path} could be made: {error.strerror}; nothing was changed.",
            hint="Check the folder and the space on the disk.",
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return copy


def copies(path: Path) -> list[Path]:
    """The copies of the database at `path`, oldest first."""
    found = [
        file for file in path.parent.iterdir() if file.name.startswith(f"{path.name}.bak-") and file.suffix != ".part"
    ]
    return sorted(found, key=lambda file: file.name.rpartition("-")[2])


def _copy(path: Path, to: Path) -> None:
    os.close(os.open(to, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
    with (
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as origin,
        closing(sqlite3.connect(to)) as copy,
    ):
        origin.backup(copy)
