"""Delete old data that nothing needs, in small transactions, so that other writers wait for one of them at most."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from copydesk.desk.backups import run_interruptible
from copydesk.desk.context import DeskContext
from copydesk.desk.idempotency import KEY_LIFETIME
from copydesk.desk.operation import operation
from copydesk.errors import ConflictError, StoreFullError
from copydesk.model.job import Pruned
from copydesk.store import drafts, events, idempotency, retention, stored_images
from copydesk.store.database import Transaction
from copydesk.store.retention import Scan

T = TypeVar("T")
SCAN_SIZE = 1_000
"""Rows looked at in one read."""
BATCH_SIZE = 50
"""Rows changed in one transaction."""
PAUSE = 0.02
"""Seconds between two transactions, in which others write."""
MIN_RUN_AGE = timedelta(days=31)
"""Statistics report the runs of the last 30 days."""
MIN_EVENT_AGE = timedelta(days=2)
"""Attempts to send an event to a webhook go on for 28 hours."""
PAGES_PER_STEP = 256
"""Pages of 4 KiB that are returned to the disk in one transaction."""
FREE_PAGES = 1_024
"""Free pages that stay in the file: what is stored next goes there."""


class Retention:
    """Old data of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def prune(self) -> Pruned:
        """Delete what is older than the settings allow, and return free space in the database file to the disk.

        May be cancelled or killed at any time; the next call goes on.
        """
        days, max_age = self._ctx.settings.retention, timedelta(hours=self._ctx.settings.pipeline.max_age_hours)
        pruned = Pruned(
            # Filtered items younger than this are filtered again when the rules change.
            items=await self._prune(
                self._before(days.items_days, at_least=max_age), retention.scan_items, retention.clear_items
            ),
            runs=await self._prune_batches(
                self._before(days.runs_days, at_least=MIN_RUN_AGE), retention.list_old_runs, retention.delete_runs
            ),
            readings=await self._prune(
                self._before(days.readings_days), retention.scan_readings, retention.delete_readings
            ),
            undone=await self._prune_undone(self._before(days.undone_days)),
            images=await self._prune_images(self._before(days.images_days)),
            idempotency_keys=await self._prune_batches(
                self._ctx.clock() - KEY_LIFETIME, idempotency.list_old, idempotency.delete
            ),
            events=await self._prune_batches(
                self._before(days.events_days, at_least=MIN_EVENT_AGE), events.list_old, events.delete
            ),
        )
        has_more = True
        while has_more:
            has_more = await self._ctx.write(retention.vacuum, FREE_PAGES, PAGES_PER_STEP)
            await asyncio.sleep(PAUSE)
        return pruned

    @operation
    async def compact(self) -> None:
        """Rewrite the database without its free space. Others can read, but not write meanwhile.

        A file made by an earlier version can return free space by itself only afterwards. Raise StoreFullError if the
        disk has no room for the copy, StoreBusyError if another process writes.
        """
        if self._ctx.settings.database.url:
            raise ConflictError(
                "The desk is on PostgreSQL, which reuses free space by itself; nothing was compacted.",
                hint="To return it to the disk, run VACUUM FULL in psql while nobody uses the desk.",
            )
        database = self._ctx.settings.database_file
        size = await self._ctx.read(retention.database_size)
        # The new content is first copied to a temporary file, then to the log.
        free = await asyncio.to_thread(lambda: shutil.disk_usage(database.parent).free)
        if free < 2 * size:
            raise StoreFullError(
                f"Compacting needs {2 * size / 2**20:.1f} MiB of free disk space; there are {free / 2**20:.1f} MiB.",
                hint="Free some space.",
            )
        timeout = self._ctx.settings.database.busy_timeout
        await run_interruptible(
            database, lambda interrupter: retention.compact_database(database, timeout, interrupter)
        )

    def _before(self, days: int, *, at_least: timedelta = timedelta()) -> datetime | None:
        """Return the time before which data is deleted, None for never."""
        before = self._ctx.clock() - max(timedelta(days=days), at_least)
        return before if days else None

    async def _prune(
        self,
        before: datetime | None,
        scan: Callable[[Transaction, str, datetime, int, int], Scan],
        delete: Callable[[Transaction, str, Sequence[int]], int],
    ) -> int:
        """Delete the rows from before `before`; return their number."""
        count = 0
        last_rid: int | None = 0 if before is not None else None
        while before is not None and last_rid is not None:
            found = await self._ctx.read(scan, before, last_rid, SCAN_SIZE)
            for start in range(0, len(found.rids), BATCH_SIZE):
                count += await self._ctx.write(delete, found.rids[start : start + BATCH_SIZE])
                await asyncio.sleep(PAUSE)
            last_rid = found.last_rid
        return count

    async def _prune_batches(
        self,
        before: datetime | None,
        list_old: Callable[[Transaction, str, datetime, int], Sequence[T]],
        delete: Callable[[Transaction, str, Sequence[T]], int],
    ) -> int:
        """Delete the rows from before `before`, which an index finds; return their number."""
        count, has_more = 0, before is not None
        while before is not None and has_more:
            ids = await self._ctx.read(list_old, before, BATCH_SIZE)
            if ids:
                count += await self._ctx.write(delete, ids)
                await asyncio.sleep(PAUSE)
            has_more = len(ids) == BATCH_SIZE
        return count

    async def _prune_undone(self, before: datetime | None) -> int:
        if before is None:
            return 0

        def delete(conn: Transaction, user_id: str, rids: Sequence[int]) -> int:
            return retention.delete_undone(conn, user_id, rids, before)

        return await self._prune(before, retention.scan_undone, delete)

    async def _prune_images(self, before: datetime | None) -> int:
        if before is None:
            return 0
        from copydesk.images.storage import delete_unused  # noqa: PLC0415 - seldom needed

        used = await self._ctx.database.read(drafts.list_stored_image_digests)
        # A draft that gets an image only now has made its file young again.
        await self._prune_batches(before, stored_images.list_old, stored_images.delete)
        work = partial(delete_unused, self._ctx.settings.images_folder, used, before)
        return await asyncio.to_thread(work)
