"""Back up the desk, and restore it. A backup contains the database; images, settings and credentials are not in it."""

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from copydesk.desk.context import Clock, DeskContext, utc_now
from copydesk.desk.operation import operation
from copydesk.model.backup import Backup, BackupContent, RestoredDesk
from copydesk.settings import Settings
from copydesk.store import backup, database_file
from copydesk.store.backup import Interrupter
from copydesk.store.database import open_database, translate_errors
from copydesk.store.migrate import prepare_database
from copydesk.store.opening import open_server_source, open_server_to_replace
from copydesk.store.row_copy import copy_rows, copy_to_file, read_file

T = TypeVar("T")


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
        settings = self._ctx.settings
        database = settings.database_file
        now = self._ctx.clock()

        def create(interrupter: Interrupter) -> BackupContent:
            target = file or _free_backup_path(database, now)
            copy = partial(_copy_server, settings, interrupter) if settings.database.url else None
            return backup.create_backup(database, target, interrupter, overwrite=overwrite, copy=copy)

        return await run_interruptible(database, create)

    @operation
    async def create_automatic(self) -> BackupContent:
        """Back up the desk as the settings say, and delete the oldest automatic backups beyond the number to keep.

        Only of a file: that of a server would be made by every machine.
        """
        settings, now = self._ctx.settings, self._ctx.clock()
        database, keep = settings.database_file, settings.backup.keep
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


def _copy_server(settings: Settings, interrupter: Interrupter, part: Path) -> None:
    """Write one snapshot of the desk on the server to a file. Others may go on writing."""
    with open_server_source(settings.database, exclusive=False) as source:
        copy_to_file(source, part, interrupter.check)


async def check_backup(settings: Settings, file: Path) -> None:
    """Raise ConflictError or StoreError if `restore_desk` would refuse `file`, whatever else has the desk open."""
    database = settings.database_file
    await run_interruptible(database, lambda interrupter: backup.check_backup(database, file, interrupter))


async def restore_desk(settings: Settings, file: Path, *, clock: Clock = utc_now) -> RestoredDesk:
    """Replace the desk that `settings` name by the backup in `file`. The replaced database is kept beside it.

    The backup is checked before, and its copy after. A backup of an older version is upgraded when the desk is opened,
    on PostgreSQL at once; there a backup is made of the desk that is replaced. Raise StoreBusyError if any process has
    the desk open, StoreError if the backup cannot be used; nothing is changed then.
    """
    database, busy_timeout = settings.database_file, settings.database.busy_timeout
    now = clock()
    if not settings.database.url:
        return await run_interruptible(
            database, lambda interrupter: backup.restore_database(database, file, now, busy_timeout, interrupter)
        )
    async with _restored_elsewhere(settings, file, clock) as (upgraded, content):
        replaced = await run_interruptible(upgraded, partial(_replace_server, settings, upgraded, now))
    return RestoredDesk(content=content, replaced=replaced)


def _replace_server(settings: Settings, file: Path, now: datetime, interrupter: Interrupter) -> str | None:
    """Replace the desk on the server by the database in `file`; return the backup of what was there before."""
    replaced = None
    with read_file(file) as source, open_server_to_replace(settings.database) as (existing, target):
        if existing is not None:
            previous = backup.create_backup(
                settings.database_file,
                _free_backup_path(settings.database_file, now),
                interrupter,
                copy=lambda part: copy_to_file(existing, part, interrupter.check),
            )
            replaced = previous.path
            target.drop_desk()
        copy_rows(source, target, interrupter.check)
    return replaced


def _free_backup_path(database: Path, now: datetime) -> Path:
    # The names tell seconds: of two backups within one, the second gets the next name.
    times = (now + timedelta(seconds=number) for number in count())
    paths = (database_file.manual_backup_path(database, time) for time in times)
    return next(path for path in paths if not path.exists())


async def try_restore(settings: Settings, file: Path) -> BackupContent:
    """Restore the backup in `file` to a temporary folder, upgrade it there if it is older, and return its contents.

    Raise StoreError if it cannot be used.
    """
    async with _restored_elsewhere(settings, file, utc_now) as (_, content):
        return content


@asynccontextmanager
async def _restored_elsewhere(
    settings: Settings, file: Path, clock: Clock
) -> AsyncIterator[tuple[Path, BackupContent]]:
    """Restore the backup in `file` to a temporary folder and upgrade it; yield the path there and its contents."""
    # Not in the data folder: a killed process would leave a whole desk there.
    with tempfile.TemporaryDirectory(prefix="copydesk-restore-") as folder:
        elsewhere = replace(settings, data_home=Path(folder), database=replace(settings.database, url=""))
        restored = await restore_desk(elsewhere, file, clock=clock)
        database = open_database(elsewhere.database_file)
        try:
            await prepare_database(database.path, database, clock())
        finally:
            await database.close()
        yield elsewhere.database_file, restored.content


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
