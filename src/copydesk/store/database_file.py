"""A database file seen from outside: its revision and schema, the lock on its folder, and the backups of it."""

import asyncio
import fcntl
import os
import re
import shlex
import sqlite3
import time
from contextlib import closing, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from copydesk.errors import StoreBusyError, StoreCorruptError, StoreError, StoreSchemaError, StoreTooNewError
from copydesk.model.backup import Backup

FINGERPRINTS: Final = {
    "0001": "8b5eeeab26c8ec4b",
    "0002": "641d3ebe12a659ed",
    "0003": "4aaafde48322d0a4",
    "0004": "925ee57045987a0b",
    "0005": "d985cdb2004fd5ba",
    "0006": "7ee4297e9b0e8085",
    "0007": "63ddcf1b16f1c672",
    "0008": "c0ac0db767c2aa5a",
    "0009": "e344e5728b42bb2c",
    "0010": "e19ebfdb9e82f785",
    "0011": "ef12bcd5f62e7db6",
    "0012": "1f2ee2830b9961af",
    "0013": "55ff66495db2c2a4",
    "0014": "1b508e6a9f235c0d",
    "0015": "cf630b02cf2f1062",
    "0016": "c3904cdff0ae3cbf",
    "0017": "8479dd82796360dd",
    "0018": "6178e12f2c8d3f97",
    "0019": "2d9147e9eb9bef24",
    "0020": "42b951f2d1753c13",
    "0021": "756bc52d3d7845b9",
    "0022": "6825de7f42675e6c",
    "0023": "91589d52c6bdfd4c",
    "0024": "e80edd6fe71e5904",
    "0025": "f238ed8c9422fb10",
    "0026": "80e0764a6616b7be",
}
"""Every revision that this version can read, oldest first, with the fingerprint of its schema.

A revision is frozen: databases of it exist. A change of the schema is a new revision, with a fixture in
`tests/store/released/`.
"""
REVISIONS: Final = tuple(FINGERPRINTS)
HEAD_REVISION: Final = REVISIONS[-1]

_INTERNAL = re.compile(r"sqlite_\w+|draft_words_\w+")
"""Matches the tables that SQLite makes by itself, those of the full text index among them."""

LOCK_POLL_INTERVAL: Final = 0.05
"""Seconds between two attempts to take a lock."""
BACKUP_FOLDER: Final = "backups"
"""Beside the database."""
_AUTOMATIC, _MANUAL = "auto", "copydesk"
BACKUP_NAME: Final = re.compile(rf"(?P<kind>{_AUTOMATIC}|{_MANUAL})-(?P<time>\d{{8}}T\d{{6}}Z)\.db")
"""Matches the names of files in that folder."""
TIME_FORMAT: Final = "%Y%m%dT%H%M%SZ"
_MIGRATION_TIME_FORMAT = "%Y%m%dT%H%M%S.%fZ"


def connect_readonly(path: Path) -> sqlite3.Connection:
    """Open the database at `path` for reading; nothing is created or repaired."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    if not _cannot_be_locked(path):
        return connection
    try:
        connection.execute("PRAGMA schema_version")
    except sqlite3.OperationalError:
        connection.close()
        # Without a log nobody is writing now. Another user who may write here and begins to is not noticed.
        return sqlite3.connect(f"{uri}&immutable=1", uri=True, check_same_thread=False)
    return connection


def _cannot_be_locked(path: Path) -> bool:
    """Return True if SQLite cannot create its log and its locks beside `path`, and there is no log."""
    log = path.with_name(f"{path.name}-wal")
    return not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)


def raise_read_error(result: str) -> None:
    """Raise the error that kept a check from reading a page: SQLite reports it like damage, as a line of the `result`.

    The code in the line tells a failing disk or too little memory from damage.
    """
    if found := re.search(r"error code=(\d+)", result):
        error = sqlite3.DatabaseError(result)
        error.sqlite_errorcode = int(found[1])
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_NOMEM:
            raise MemoryError
        raise error


def read_revision(path: Path) -> str | None:
    """Return the revision of the database at `path`, None if it has no tables yet, without touching the file.

    Raise StoreCorruptError if it is empty or of another program, StoreTooNewError if a newer version wrote it,
    StoreSchemaError if its schema is not the one of its revision, and sqlite3.Error.
    """
    # SQLite takes an empty file for a new database.
    with suppress(OSError):
        if path.stat().st_size == 0:
            raise StoreCorruptError(f"{path} is damaged: the file is empty.", hint=restore_hint(path))
    with closing(connect_readonly(path)) as connection:
        schema = _read_schema(connection)
        if not schema:
            return None
        row = None
        if "alembic_version" in schema:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    if row is None:
        raise StoreCorruptError(f"{path} is a database of another program.", hint="Move it away.")
    revision = str(row[0])
    if revision not in FINGERPRINTS:
        raise StoreTooNewError(
            f"A newer version of Copydesk created {path} (revision {revision}); nothing changed.",
            hint="Install that version, or move the file away to start over.",
        )
    if fingerprint(schema) != FINGERPRINTS[revision]:
        raise StoreSchemaError(
            f"A development version of Copydesk created {path}, and its tables differ from this version's;"
            " nothing changed.",
            hint="Open it with that version, or move it away to start over.",
        )
    return revision


def read_fingerprint(connection: sqlite3.Connection) -> str:
    """Return the fingerprint of an open database's schema."""
    return fingerprint(_read_schema(connection))


def _read_schema(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the SQL of tables, indexes and triggers by name, without what SQLite made by itself."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {name: sql for name, sql in rows if not _INTERNAL.fullmatch(name)}


def fingerprint(schema: dict[str, str]) -> str:
    """Return a hash of the schema, given as SQL by name, which depends on its meaning only."""
    definitions = sorted(map(normalize_sql, schema.values()))
    return sha256("\n".join(definitions).encode()).hexdigest()[:16]


def normalize_sql(sql: str) -> str:
    """Return the definition without what a rebuild of the table changes: white space, quotes, order of constraints."""
    definition = "".join(sql.replace('"', "").split())
    columns, *constraints = definition.removesuffix(")").split(",CONSTRAINT")
    return ",CONSTRAINT".join([columns, *sorted(constraints)])


def try_lock(folder: Path, *, exclusive: bool) -> int | None:
    """Lock the folder of a database; return the descriptor to close, or None if another process is in the way.

    Each open desk holds a shared lock, a restore the exclusive one. It ends with the process, however that ends. Raise
    StoreError if the folder cannot be opened.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreError(f"Cannot open {folder}: {error.strerror}.", hint="Check the owner of the folder.") from error
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        # Some file systems have no such locks. SQLite's own, which every open connection holds, remain.
        pass
    return descriptor


async def lock_shared(folder: Path, busy_timeout: float) -> int:
    """Take the shared lock of an open desk; return the descriptor to close. Raise StoreBusyError during a restore."""
    deadline = time.monotonic() + busy_timeout
    while (descriptor := try_lock(folder, exclusive=False)) is None:
        if time.monotonic() >= deadline:
            raise StoreBusyError("Another process is restoring the desk; nothing changed. Try again in a moment.")
        await asyncio.sleep(LOCK_POLL_INTERVAL)
    return descriptor


def automatic_backup_path(database: Path, now: datetime) -> Path:
    """Return the path of an automatic backup of `database` made now."""
    return _backup_path(database, now, _AUTOMATIC)


def manual_backup_path(database: Path, now: datetime) -> Path:
    """Return the path of a backup of `database` for which the user named no file."""
    return _backup_path(database, now, _MANUAL)


def _backup_path(database: Path, now: datetime, kind: str) -> Path:
    return database.parent / BACKUP_FOLDER / f"{kind}-{now.astimezone(UTC).strftime(TIME_FORMAT)}.db"


def migration_backup_path(database: Path, revision: str, now: datetime) -> Path:
    """Return the path of the backup made before `database` is upgraded from `revision`."""
    return database.with_name(f"{database.name}.bak-{revision}-{now.astimezone(UTC).strftime(_MIGRATION_TIME_FORMAT)}")


def list_backups(database: Path) -> list[Backup]:
    """Return the backups of `database` that exist, oldest first: those in its folder and those made before upgrades."""
    matches = [(file, BACKUP_NAME.fullmatch(file.name)) for file in _files(database.parent / BACKUP_FOLDER)]
    backups = [
        _backup(file, match["time"], TIME_FORMAT, automatic=match["kind"] == _AUTOMATIC)
        for file, match in matches
        if match
    ]
    return _oldest_first([*backups, *list_migration_backups(database)])


def list_migration_backups(database: Path) -> list[Backup]:
    """Return the backups made before upgrades, oldest first."""
    pattern = re.compile(rf"{re.escape(database.name)}\.bak-.+-(?P<time>[\dTZ.]+)")
    matches = [(file, pattern.fullmatch(file.name)) for file in _files(database.parent)]
    return _oldest_first([_backup(file, match["time"], _MIGRATION_TIME_FORMAT) for file, match in matches if match])


def _files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _backup(file: Path, timestamp: str, time_format: str, *, automatic: bool = False) -> Backup | None:
    """Return the backup in `file`, None if it is gone by now or not one of ours after all."""
    try:
        created_at = datetime.strptime(timestamp, time_format).replace(tzinfo=UTC)
        return Backup(path=str(file), created_at=created_at, size=file.stat().st_size, automatic=automatic)
    except (OSError, ValueError):
        return None


def _oldest_first(backups: list[Backup | None]) -> list[Backup]:
    return sorted(filter(None, backups), key=lambda backup: backup.created_at)


def restore_hint(database: Path) -> str:
    """Return the advice for a damaged database. It names a backup only if there is one."""
    backups = list_backups(database)
    if backups:
        return f"Restore the newest backup: copydesk restore {shlex.quote(backups[-1].path)}"
    return "There is no backup. Move it away to start over."
