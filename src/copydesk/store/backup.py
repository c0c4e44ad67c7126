"""Copies of the database, made before an upgrade."""

import os
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from copydesk.errors import StoreError

MAX_BACKUPS: Final = 3


def create_backup(path: Path, revision: str, now: datetime) -> Path:
    """Copy the database at `path` to a private file next to it and return its path. Keep the newest three copies.

    Uses SQLite's backup API, because the newest changes may still be in the write-ahead log, which a plain file copy
    would miss. On an error nothing of the copy is left. Raise sqlite3.Error, or StoreError if the folder cannot be
    written.
    """
    timestamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    copy = path.with_name(f"{path.name}.bak-{revision}-{timestamp}")
    partial = path.with_name(f"{copy.name}.part")
    try:
        _copy(path, partial)
        # Renamed only once complete: a crash leaves a .part file, never a truncated backup.
        partial.replace(copy)
        for outdated in list_backups(path)[:-MAX_BACKUPS]:
            outdated.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"Cannot back up {path}: {error.strerror}; nothing changed.",
            hint="Check the folder and the free disk space.",
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return copy


def list_backups(path: Path) -> list[Path]:
    """Return the copies of the database at `path`, oldest first."""
    found = [
        file for file in path.parent.iterdir() if file.name.startswith(f"{path.name}.bak-") and file.suffix != ".part"
    ]
    # By the timestamp at the end of the name, as copies of several revisions are mixed.
    return sorted(found, key=lambda file: file.name.rpartition("-")[2])


def _copy(path: Path, target: Path) -> None:
    # Created here rather than by SQLite, to set the mode before any data is in it.
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
    with (
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(target)) as copy,
    ):
        source.backup(copy)
