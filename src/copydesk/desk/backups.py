"""Back up the desk, and restore it. A backup contains the database; images, settings and credentials are not in it."""

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from copydesk.desk.context import Clock, DeskContext, utc_now
from copydesk.desk.operation import operation
from copydesk.errors import ConflictError
from copydesk.model.backup import Backup, BackupContent, RestoredDesk
from copydesk.settings import Settings
from copydesk.store import backup, database_file
from copydesk.store.backup import Interrupter
from copydesk.store.database import open_database, translate_errors
from copydesk.store.migrate import prepare_database

T = TypeVar("T")
SERVER_HAS_BACKUPS = "The desk is on PostgreSQL: Copydesk makes and restores backups of SQLite files only."
BACKUP_ADVICE = "Use pg_dump and pg_restore."


class Backups:
    """Backups of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def create(self, file: Path | None = None, *, overwrite: bool = False) -> BackupContent:
        """Write a checked copy of the database to `file`, by default one in the folder of backups; return its contents.

        Others may go on writing; the copy has what was committed when it began. Raise ConflictError if `file` exists,
        unless it is to be overwritten, StoreError if it cannot be written.
        """
        database = database_file_of(self._ctx.settings)
        target = file or database_file.manual_backup_path(database, self._ctx.clock())
        return await run_interruptible(
            database, lambda interrupter: backup.create_backup(database, target, interrupter, overwrite=overwrite)
        )

    @operation
    async def create_automatic(self) -> BackupContent:
        """Back up the desk as the settings say, and delete the oldest automatic backups beyond the number to keep."""
        database, keep, now = database_file_of(self._ctx.settings), self._ctx.settings.backup.keep, self._ctx.clock()
        return await run_interruptible(
            database, lambda interrupter: backup.create_automatic_backup(database, now, keep, interrupter)
        )

    @operation
    async def is_due(self) -> bool:
        """Return True if the newest automatic backup is older than the settings allow."""
        hours = self._ctx.settings.backup.every_hours
        if not hours or self._ctx.settings.database.url:
            return False
        now, interval = self._ctx.clock(), timedelta(hours=hours)
        # `abs`: a backup from the future was made by a clock that was ahead.
        return not any(found.automatic and abs(now - found.created_at) < interval for found in await self.list())

    @operation
    async def list(self) -> tuple[Backup, ...]:
        """Return the backups in the desk's folder, oldest first."""
        return await asyncio.to_thread(list_backups, self._ctx.settings)


def list_backups(settings: Settings) -> tuple[Backup, ...]:
    """Return the backups in the desk's folder, oldest first. The desk need not be open, nor intact."""
    return tuple(database_file.list_backups(settings.database_file))


def database_file_of(settings: Settings) -> Path:
    """Return the database's file. Raise ConflictError if the desk is on PostgreSQL."""
    if settings.database.url:
        raise ConflictError(SERVER_HAS_BACKUPS, hint=BACKUP_ADVICE)
    return settings.database_file


async def restore_desk(settings: Settings, file: Path, *, clock: Clock = utc_now) -> RestoredDesk:
    """Replace the desk that `settings` name by the backup in `file`. The replaced database is kept beside it.

    The backup is checked before, and its copy after. A backup of an older version is upgraded when the desk is opened.
    Raise StoreBusyError if any process has the desk open, StoreError if the backup cannot be used; nothing is changed
    then.
    """
    database, busy_timeout = database_file_of(settings), settings.database.busy_timeout
    now = clock()
    return await run_interruptible(
        database, lambda interrupter: backup.restore_database(database, file, now, busy_timeout, interrupter)
    )


async def try_restore(settings: Settings, file: Path, *, clock: Clock = utc_now) -> BackupContent:
    """Restore the backup in `file` to a temporary folder, upgrade it there if it is older, and return its contents.

    Raise StoreError if it cannot be used.
    """
    # Not in the data folder: a killed process would leave a whole desk there.
    with tempfile.TemporaryDirectory(prefix="copydesk-restore-") as folder:
        elsewhere = replace(settings, data_home=Path(folder))
        restored = await restore_desk(elsewhere, file, clock=clock)
        database = open_database(elsewhere.database_file)
        try:
            await prepare_database(database.path, database, clock())
        finally:
            await database.close()
    return restored.content


async def run_interruptible(database: Path, work: Callable[[Interrupter], T]) -> T:
    """Return the result of `work`, done in a thread. Stop it when the caller is cancelled."""
    interrupter = Interrupter()
    # A thread of its own, for its priority.
    with ThreadPoolExecutor(1, thread_name_prefix="copydesk-backup", initializer=_lower_priority) as executor:
        future = asyncio.get_running_loop().run_in_executor(executor, work, interrupter)
        try:
            with translate_errors(database):
                return await asyncio.shield(future)
        except asyncio.CancelledError:
            interrupter.stop()
            # Until the unfinished copy is deleted.
            await asyncio.wait([future])
            with suppress(Exception):
                future.result()
            raise


def _lower_priority() -> None:
    """Let the other threads of this process run first: one of them handles keys."""
    # Only Linux has a priority for each thread.
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
