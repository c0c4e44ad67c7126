"""Copy a database into a file that stands alone, check such a file, and put it back in place of the database.

A killed process leaves the database and every finished copy as they were, and at most a file named `*.part`.
"""

import errno
import os
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Final

from msgspec.structs import replace

from copydesk.errors import ConflictError, StoreBusyError, StoreCorruptError, StoreError, StoreFullError
from copydesk.model.backup import Backup, BackupContent, RestoredDesk
from copydesk.store.connection_pool import link_or_copy, sync_folder
from copydesk.store.database import to_store_error, translate_errors
from copydesk.store.database_file import (
    BACKUP_FOLDER,
    BACKUP_NAME,
    LOCK_POLL_INTERVAL,
    TIME_FORMAT,
    automatic_backup_path,
    connect_readonly,
    list_backups,
    list_migration_backups,
    migration_backup_path,
    raise_read_error,
    read_revision,
    try_lock,
)

MAX_MIGRATION_BACKUPS: Final = 3
MAX_PART_AGE: Final = 24 * 3600
"""Seconds after which an unfinished copy was certainly left behind by a killed process."""
PAGES_PER_STEP: Final = 256
"""Pages of 4 KiB that are copied between two looks at the cancellation."""
_SIDE_FILES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps beside a database and applies to whatever file has its name."""
_COUNTS = """SELECT (SELECT count(*) FROM draft), (SELECT count(*) FROM source),
    (SELECT count(*) FROM engagement WHERE status = 'posted')"""

Copy = Callable[[Path], object]
"""Writes a copy of a database to an empty file."""


class Interrupter:
    """The connection of a thread, whose statement can be stopped from another thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._stopped = False

    @contextmanager
    def connect(
        self, path: Path, open_connection: Callable[[Path], sqlite3.Connection] = connect_readonly
    ) -> Iterator[sqlite3.Connection]:
        """Open the database at `path`, by default for reading. Raise sqlite3.OperationalError once stopped."""
        with closing(open_connection(path)) as connection:
            with self._lock:
                self.check()
                self._connection = connection
            try:
                yield connection
            finally:
                with self._lock:
                    self._connection = None

    def check(self, *_: object) -> None:
        """Raise sqlite3.OperationalError once stopped."""
        if self._stopped:
            raise sqlite3.OperationalError("interrupted")

    def stop(self) -> None:
        """Stop the statement that is running, and every later one."""
        with self._lock:
            self._stopped = True
            if self._connection is not None:
                self._connection.interrupt()


def check_database(path: Path, interrupter: Interrupter) -> BackupContent:
    """Read the whole database at `path`; return its contents.

    Raise StoreCorruptError, StoreTooNewError or StoreSchemaError if this version cannot use it, StoreError if it cannot
    be read.
    """
    if not path.is_file():
        raise StoreError(f"{path} {'is not a file' if path.exists() else 'does not exist'}.")
    try:
        with translate_errors(path):
            revision = read_revision(path)
            with interrupter.connect(path) as connection:
                (problem,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
                raise_read_error(problem)
                if problem != "ok":
                    raise StoreCorruptError(f"{path} is damaged: {' '.join(problem.split())}.")
                if revision is None:
                    raise StoreCorruptError(f"{path} is an empty database.")
                drafts, sources, posts = connection.execute(_COUNTS).fetchone()
    except StoreError as error:
        # Other hints are about the desk's own database.
        raise type(error)(error.message, hint=error.hint if isinstance(error, StoreFullError) else "") from error
    size = path.stat().st_size
    return BackupContent(path=str(path), size=size, revision=revision, drafts=drafts, sources=sources, posts=posts)


def create_backup(
    database: Path, target: Path, interrupter: Interrupter, *, overwrite: bool = False, copy: Copy | None = None
) -> BackupContent:
    """Write a copy of `database` to `target`, a private file that stands alone; return its contents.

    The copy is a snapshot, taken while others write, and is checked before it gets its name; `copy` writes that of a
    desk which is on a server. Raise ConflictError if `target` exists and is not to be overwritten, StoreError, and
    sqlite3.Error.
    """
    with os_errors(f"Cannot write {target}"):
        _check_target(database, target, overwrite=overwrite)
        if target.parent == database.parent / BACKUP_FOLDER:
            target.parent.mkdir(mode=0o700, exist_ok=True)
        with _part_of(target, copy or partial(_copy_pages, database, interrupter)) as part:
            content = check_database(part, interrupter)
            publish(part, target, overwrite=overwrite)
    return replace(content, path=str(target))


def create_automatic_backup(database: Path, now: datetime, keep: int, interrupter: Interrupter) -> BackupContent:
    """Back up `database` in its folder of backups, and delete the oldest automatic ones beyond `keep`."""
    content = create_backup(database, automatic_backup_path(database, now), interrupter, overwrite=True)
    # Only now: a backup that failed must not cost an older one.
    _delete_oldest([backup for backup in list_backups(database) if backup.automatic], keep, now)
    return content


def create_migration_backup(database: Path, revision: str, now: datetime) -> Path:
    """Back up `database` next to it before an upgrade; return the path. Keep the newest three."""
    target = migration_backup_path(database, revision, now)
    create_backup(database, target, Interrupter(), overwrite=True)
    _delete_oldest(list_migration_backups(database), MAX_MIGRATION_BACKUPS, now)
    return target


def check_backup(database: Path, file: Path, interrupter: Interrupter) -> None:
    """Raise ConflictError if `file` is `database` itself, and as `check_database` does if it cannot be restored."""
    if file.exists() and database.exists() and file.samefile(database):
        raise ConflictError(f"{file} is the desk's own database.", hint="Choose a backup: copydesk backup --list")
    check_database(file, interrupter)


def restore_database(
    database: Path, file: Path, now: datetime, busy_timeout: float, interrupter: Interrupter
) -> RestoredDesk:
    """Put a copy of `file` in the place of `database`, which is kept beside it; return both.

    Both `file` and the copy are checked first. Raise StoreBusyError if a process has the desk open, and as
    `create_backup` does.
    """
    check_backup(database, file, interrupter)
    folder = database.parent
    with os_errors(f"Cannot restore to {database}"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (
            exclusive_lock(folder, busy_timeout),
            _part_of(database, partial(_copy_pages, file, interrupter)) as part,
        ):
            content = check_database(part, interrupter)
            with _closed_by_all(database, busy_timeout):
                replaced = _keep(database, now)
                # Gone before the copy has its name: SQLite would apply them to it.
                for suffix in _SIDE_FILES:
                    Path(f"{database}{suffix}").unlink(missing_ok=True)
                part.replace(database)
                sync_folder(folder)
    with translate_errors(database):
        read_revision(database)
    return RestoredDesk(content=replace(content, path=str(file)), replaced=str(replaced) if replaced else None)


def _check_target(database: Path, target: Path, *, overwrite: bool) -> None:
    """Raise ConflictError if a backup must not be written to `target`."""
    own_files = {Path(f"{database.resolve()}{suffix}") for suffix in ("", *_SIDE_FILES)}
    if target.resolve() in own_files:
        raise ConflictError(f"{target} belongs to the desk's own database.", hint="Choose another name.")
    if target.exists() and not target.is_file():
        raise ConflictError(f"{target} is not a file.", hint="Choose another name.")
    if target.exists() and not overwrite:
        raise _exists_error(target)


def _exists_error(target: Path) -> ConflictError:
    return ConflictError(f"{target} already exists; nothing changed.", hint="Choose another name, or use --force.")


@contextmanager
def _part_of(target: Path, copy: Copy) -> Iterator[Path]:
    """Yield a private file next to `target` to which `copy` has written. It is deleted unless renamed."""
    _delete_stale_parts(target)
    # Created here rather than by SQLite, to set the mode before any data is in it.
    descriptor, name = tempfile.mkstemp(prefix=f"{target.name}.", suffix=".part", dir=target.parent)
    part = Path(name)
    try:
        copy(part)
        os.fsync(descriptor)
        yield part
    finally:
        os.close(descriptor)
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _copy_pages(source: Path, interrupter: Interrupter, part: Path) -> None:
    """Copy the database at `source` to `part`.

    The pages are copied in small steps, so that it can be stopped, and within one read transaction: without that, each
    commit of another process would make SQLite start over. Writers do not wait. (VACUUM INTO fails on a read-only
    connection to tables with generated columns, at least up to SQLite 3.40.)
    """
    with interrupter.connect(source) as connection, closing(sqlite3.connect(part)) as copy:
        # It has no name yet, and is synced later.
        copy.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.backup(copy, pages=PAGES_PER_STEP, progress=interrupter.check)
        # Without a write-ahead log the copy needs no file beside it, and can be read from a read-only disk.
        copy.execute("PRAGMA journal_mode = DELETE")


def _delete_stale_parts(target: Path) -> None:
    """Delete unfinished copies of killed processes."""
    pattern = re.compile(rf"({re.escape(target.name)}|{BACKUP_NAME.pattern})\.\w{{8}}\.part")
    with suppress(OSError):
        for file in target.parent.iterdir():
            if pattern.fullmatch(file.name) and time.time() - file.stat().st_mtime > MAX_PART_AGE:
                file.unlink(missing_ok=True)


def publish(part: Path, target: Path, *, overwrite: bool) -> None:
    """Give the finished copy its name, in one step."""
    if overwrite:
        part.replace(target)
    else:
        try:
            link_or_copy(part, target)
        except FileExistsError:
            raise _exists_error(target) from None
    sync_folder(target.parent)


def _delete_oldest(backups: list[Backup], keep: int, now: datetime) -> None:
    # Those from the future go first: the clock was ahead, or is behind now.
    for backup in sorted(backups, key=lambda backup: backup.created_at <= now)[:-keep]:
        with suppress(OSError):
            Path(backup.path).unlink(missing_ok=True)


@contextmanager
def exclusive_lock(folder: Path, timeout: float) -> Iterator[None]:
    """Keep every other process from opening the desk. Raise StoreBusyError if one has it open."""
    deadline = time.monotonic() + timeout
    while (descriptor := try_lock(folder, exclusive=True)) is None:
        # A command that is about to end is worth waiting for.
        if time.monotonic() >= deadline:
            raise _in_use_error()
        time.sleep(LOCK_POLL_INTERVAL)
    try:
        yield
    finally:
        os.close(descriptor)


def _in_use_error() -> StoreBusyError:
    return StoreBusyError(
        "The desk is open in another process; nothing changed.",
        hint="Quit the console and stop the daemon and the service first.",
    )


@contextmanager
def _closed_by_all(database: Path, timeout: float) -> Iterator[None]:
    """Merge the write-ahead log into the database and hold SQLite's exclusive lock on it.

    The lock of the folder does not keep other programs out, such as the sqlite3 shell. A damaged database has no lock.
    """
    if not database.exists() or not database.stat().st_size:
        # Opening an empty file would delete a log that is left of the database.
        yield
        return
    with closing(sqlite3.connect(database, timeout=timeout, isolation_level=None)) as connection:
        try:
            # Leaving WAL mode fails while anybody else has the database open.
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            store_error = to_store_error(database, error)
            if isinstance(store_error, StoreBusyError):
                raise _in_use_error() from error
            if not isinstance(store_error, StoreCorruptError):
                raise store_error or error from error
        yield


def _keep(database: Path, now: datetime) -> Path | None:
    """Give the database a second name, and its log too if it has one; return the name, None if there is nothing."""
    # Left by a process that was killed right here: a second name of this very database.
    for other in database.parent.glob(f"{database.name}.replaced-*"):
        if database.exists() and other.samefile(database):
            other.unlink()
    stem = f"{database.name}.replaced-{now.astimezone(UTC).strftime(TIME_FORMAT)}"
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    new_path = next(path for name in names if not (path := database.with_name(name)).exists())
    existing = [suffix for suffix in ("", "-wal", "-journal") if Path(f"{database}{suffix}").exists()]
    for suffix in existing:
        link_or_copy(Path(f"{database}{suffix}"), Path(f"{new_path}{suffix}"))
    return new_path if existing else None


@contextmanager
def os_errors(action: str) -> Iterator[None]:
    """Re-raise errors of the file system as StoreError."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFullError from error
        raise StoreError(
            f"{action}: {error.strerror}; nothing changed.", hint="Check the folder and the free disk space."
        ) from error
