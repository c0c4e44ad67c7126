"""Backups of a desk, and copies of it to another database."""

from datetime import datetime
from enum import StrEnum

from copydesk.model.serialization import Struct


class Backup(Struct, frozen=True):
    """A file with a copy of the database."""

    path: str
    created_at: datetime
    size: int
    """Bytes."""
    automatic: bool
    """Made by the daemon or the console, and deleted when there are enough newer ones."""


class BackupContent(Struct, frozen=True):
    """The contents of a backup that was read and found intact."""

    path: str
    size: int
    """Bytes."""
    revision: str
    """Revision of its schema."""
    drafts: int
    sources: int
    posts: int
    """Posts that are live on a platform."""


class RestoredDesk(Struct, frozen=True):
    """The result of a restore."""

    content: BackupContent
    replaced: str | None
    """Path of the database that was there before; None if there was none."""


class CopyStage(StrEnum):
    """The stages of a copy to another database, in their order."""

    COPY = "copy"
    COMPARE = "compare"
    FINISH = "finish"


class CopyProgress(Struct, frozen=True):
    """The progress of a copy to another database."""

    stage: CopyStage
    done: int
    total: int
    """Rows of all tables; 1 for the last stage."""
    table: str = ""


class MigratedDesk(Struct, frozen=True):
    """The result of a copy to another database."""

    source: str
    """Path of the file, or the URL without user and password."""
    target: str
    rows: int
    tables: int
