"""Pipeline runs: queue them, execute them one at a time, cancel them, and recover those whose process died."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from copydesk.desk.context import Clock, DeskContext
from copydesk.desk.leases import CLOCK_TOLERANCE, current_owner, is_alive, is_holder_dead
from copydesk.desk.operation import operation
from copydesk.desk.pipeline.progress import Listener, RunProgress
from copydesk.errors import (
    ConflictError,
    CopydeskError,
    DeskClosedError,
    NotFoundError,
    RunCancelledError,
    SourceNotFoundError,
    StoreError,
)
from copydesk.model.page import Page, PageSize, decode_cursor, encode_cursor
from copydesk.model.run import Run, RunRequest, RunStatistics, RunStats, RunStatus, validate_run
from copydesk.store import runs, sources
from copydesk.store.database import Transaction
from copydesk.store.ids import new_id
from copydesk.store.runs import RunLease
from copydesk.switch_interval import short_switch_interval

if TYPE_CHECKING:
    from copydesk.model.desk_status import FailingSource

log = logging.getLogger(__name__)
RECENT_WINDOW = timedelta(days=30)
MAX_ERRORS = 10
LEASE_DURATION = timedelta(seconds=30)
"""Time after its last heartbeat at which a run counts as dead, if its process cannot be checked: on another host, or
without /proc.
"""
HEARTBEAT_INTERVAL = 1.0
"""Seconds between heartbeats; also the delay until a run notices that another process cancelled it."""
SAVE_INTERVAL = 1.0
"""Seconds between attempts to store the result of a run while the database cannot be reached."""
QUEUE_POLL_INTERVAL = 0.1
"""Seconds between checks whether a queued run may start."""


class Pipeline:
    """Runs from sources to drafts. A user's runs execute one at a time, in queue order."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._unsaved_results: dict[str, dict[str, object]] = {}
        self._saving: asyncio.Task[None] | None = None
        """Stores results for which that failed at first."""
        self._fetch_due: Callable[[DeskContext, Sequence[str]], Awaitable[int]] | None = None
        """Set by the first `fetch`."""

    @operation
    async def run(
        self, request: RunRequest | Mapping[str, object] | None = None, on_progress: Listener | None = None
    ) -> Run:
        """Queue a run, wait for its slot, execute it and return it finished. Raise as `queue` and `execute` do."""
        return await self.execute((await self.queue(request)).id, on_progress)

    @operation
    async def queue(self, request: RunRequest | Mapping[str, object] | None = None) -> Run:
        """Append a run to the queue and return it.

        Raise InvalidError for invalid fields, SourceNotFoundError for an unknown source.
        """
        request = validate_run(RunRequest() if request is None else request)
        await self._check_sources(request)
        run_id = new_id(self._ctx.clock())
        try:
            await self._enqueue(run_id, request)
            return await self.get(run_id)
        except asyncio.CancelledError:
            # The row may be committed all the same, and what nobody executes would stay in the queue.
            await self._finish(run_id, RunStatus.CANCELLED, RunCancelledError())
            raise
        except StoreError as error:
            # As above: the connection may have broken after the commit.
            with contextlib.suppress(StoreError):
                await self._finish(run_id, RunStatus.FAILED, error)
            raise

    @operation
    async def execute(self, run_id: str, on_progress: Listener | None = None) -> Run:
        """Execute a queued run; return it as it ended: succeeded, failed or cancelled.

        One that another process has started is left to it, and returned as it is. If the calling task is cancelled, the
        run is marked as cancelled and the cancellation propagates.
        """
        progress = RunProgress(run_id, on_progress)
        task = asyncio.create_task(self._execute(progress))
        self._tasks[run_id] = task
        try:
            # Shielded: if this is cancelled, the run must still be stored as cancelled before it ends.
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled_here = not task.done()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            # A task cancelled before its first step never enters its own `except` block, so finish the run here.
            await self._finish(run_id, RunStatus.CANCELLED, RunCancelledError(), progress.stats)
            if cancelled_here:
                raise
        finally:
            del self._tasks[run_id]
        return await self.get(run_id)

    @operation
    async def fetch(self, source_ids: Sequence[str]) -> int:
        """Fetch those of the sources that are due, and store their items; return their number.

        A part of a scheduled run, which any process can carry out: of two with the same part, the second does nothing.
        """
        if self._fetch_due is None:
            self._fetch_due = await asyncio.to_thread(_import_fetch)
        with short_switch_interval():
            return await self._fetch_due(self._ctx, source_ids)

    @operation
    async def fail_fetch(self, source_ids: Sequence[str], message: str) -> int:
        """Store a failure, with `message`, for those of the sources that are due; return their number.

        For a part of a scheduled run that nobody will carry out any more: its sources stay due for the next run, but
        from the third failure in a row they wait as after other failures.
        """
        from copydesk.desk.pipeline.fetch_sources import fail_due  # noqa: PLC0415 - only needed to execute a run

        return await fail_due(self._ctx, source_ids, message)

    @operation
    async def stop(self) -> None:
        """Cancel the runs of this process and wait until they have ended."""
        if self._saving is not None:
            self._saving.cancel()
        while self._tasks:
            for task in self._tasks.values():
                task.cancel()
            # Each removes itself once its result is stored.
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            await asyncio.sleep(0)

    @operation
    async def cancel(self, run_id: str) -> Run:
        """Cancel a run, in whichever process it executes. Raise ConflictError if it has already ended."""
        run = await self.get(run_id)
        if not await self._ctx.write(runs.request_cancel, run_id):
            raise ConflictError("The run has already ended.", current_status=run.status)
        if run_id in self._tasks:
            self._tasks[run_id].cancel()
        elif run.status is RunStatus.QUEUED:
            await self._finish(run_id, RunStatus.CANCELLED, RunCancelledError())
        return await self.get(run_id)

    @operation
    async def get(self, run_id: str) -> Run:
        """Return a run. Raise NotFoundError if the user has none with this id."""
        run = await self._ctx.read(runs.get, run_id)
        if run is None:
            raise NotFoundError(f"No run {run_id!r}.", hint="List all runs: `copydesk run list`.")
        return run

    @operation
    async def list(self, limit: PageSize = 10, cursor: str | None = None) -> Page[Run]:
        """Return a page of the user's runs, newest first.

        Raise InvalidError for a limit outside 1 to 100 and for an invalid cursor.
        """
        before = decode_cursor(cursor, "runs", self._ctx.user_id) if cursor is not None else None
        # One more than the page holds, which shows if there is another page.
        rows = await self._ctx.read(runs.list_newest, limit + 1, before)
        next_cursor = encode_cursor(rows[limit - 1].id, "runs", self._ctx.user_id) if len(rows) > limit else None
        return Page(items=rows[:limit], next_cursor=next_cursor)

    @operation
    async def statistics(self) -> RunStatistics:
        """Return totals, success rate and average duration of the user's runs."""
        return await self._ctx.read(load_statistics, self._ctx.clock())

    @operation
    async def list_failing_sources(self) -> "tuple[FailingSource, ...]":
        """Return the enabled sources whose last fetch failed. Cheap enough to poll."""
        from copydesk.desk.sources.overview import list_failing  # noqa: PLC0415 - not needed for the console's first paint

        return await self._ctx.read(list_failing)

    @operation
    async def recover(self) -> tuple[Run, ...]:
        """Mark runs whose process died as interrupted; return them."""
        await self.save_pending_results()
        active, queued = await self._ctx.read(_load_unfinished)
        in_file = not self._ctx.settings.database.url
        # Those of other systems hold nothing up once their lease has expired, and may still be executed.
        dead = [run for run in queued if is_alive(run.owner, in_file=in_file) is False]
        if active and is_holder_dead(self._ctx, active.owner, active.lease_until, LEASE_DURATION):
            dead.append(active)
        for run in dead:
            error = CopydeskError("The process was stopped during the run; stored items are kept.")
            await self._finish(run.id, RunStatus.INTERRUPTED, error)
        return tuple([await self.get(run.id) for run in dead])

    @operation
    async def save_pending_results(self) -> None:
        """Store the final state of runs for which that failed: while they count as running, no other can start."""
        # A copy, because runs may end and add theirs during the write.
        for run_id, values in list(self._unsaved_results.items()):
            await self._ctx.write_unguarded(runs.finish, run_id, values)
            # Another call may have saved it in the meantime.
            self._unsaved_results.pop(run_id, None)

    async def _check_sources(self, request: RunRequest) -> None:
        """Raise SourceNotFoundError for an unknown source."""
        if request.source_ids is None:
            return
        existing_ids = {row.source.id for row in await self._ctx.read(sources.list_to_fetch, request.source_ids)}
        for source_id in request.source_ids:
            if source_id not in existing_ids:
                raise SourceNotFoundError(source_id)

    async def _enqueue(self, run_id: str, request: RunRequest) -> None:
        await self.save_pending_results()
        now = self._ctx.clock()
        lease = RunLease(id=run_id, owner=current_owner(), lease_until=now + LEASE_DURATION)
        await self._ctx.write(runs.add, lease, request, now)

    async def _execute(self, progress: RunProgress) -> None:
        """Wait for the slot, run the stages and store the result. Re-raise errors other than CopydeskError."""
        run_id = progress.run_id
        try:
            request = await self._wait_for_slot(run_id)
            if request is None:
                return
            run_stages = await asyncio.to_thread(_import_stages)
            async with self._heartbeat(progress):
                await run_stages(self._ctx, request, progress)
        except (asyncio.CancelledError, RunCancelledError):
            await self._finish(run_id, RunStatus.CANCELLED, RunCancelledError(), progress.stats)
        except CopydeskError as error:
            await self._finish(run_id, RunStatus.FAILED, error, progress.stats)
        except BaseException:
            # Stored before the error goes on, or the run would count as active and block the queue.
            await self._finish(run_id, RunStatus.FAILED, CopydeskError("Unexpected error."), progress.stats)
            raise
        else:
            await self._finish(run_id, RunStatus.SUCCEEDED, None, progress.stats)

    async def _wait_for_slot(self, run_id: str) -> RunRequest | None:
        """Wait until no other run is active, then start this one and return its request.

        Return None if it was started by another process, or has ended. Raise RunCancelledError if it was cancelled
        meanwhile.
        """
        while True:
            started, request, cancel_requested = await self._ctx.write(_try_start, run_id, self._ctx.clock)
            if request is None:
                raise NotFoundError(f"No run {run_id!r}.")
            if cancel_requested:
                raise RunCancelledError
            if started:
                return request
            if (await self.get(run_id)).status is not RunStatus.QUEUED:
                return None
            # The active run may belong to a process that has died since.
            await self.recover()
            await asyncio.sleep(QUEUE_POLL_INTERVAL)

    @contextlib.asynccontextmanager
    async def _heartbeat(self, progress: RunProgress) -> AsyncIterator[None]:
        """Send heartbeats while the run executes; cancel it when another process asks for that."""
        task = asyncio.current_task()
        assert task is not None

        async def send_heartbeats() -> None:
            while True:
                await asyncio.sleep(HEARTBEAT_INTERVAL)
                # The next heartbeat may succeed, and the work reports its own errors.
                with contextlib.suppress(StoreError):
                    if not await self._save_progress(progress):
                        task.cancel()

        heartbeats = asyncio.create_task(send_heartbeats())
        try:
            yield
        finally:
            # Wait for its transaction to end: the task must not outlive the run.
            heartbeats.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await heartbeats

    async def _save_progress(self, progress: RunProgress) -> bool:
        """Store the run's progress and renew its lease; return False if the run should stop."""
        lease = self._ctx.clock() + LEASE_DURATION
        values = {"stage": progress.stage, "stats": progress.stats, "lease_until": lease}

        def save(conn: Transaction, user_id: str) -> bool:
            is_owner = runs.update_running(conn, user_id, progress.run_id, values)
            return is_owner and not runs.is_cancel_requested(conn, user_id, progress.run_id)

        return await self._ctx.write(save)

    async def _finish(
        self, run_id: str, status: RunStatus, error: CopydeskError | None, stats: RunStats | None = None
    ) -> None:
        """Store how a run ended, now or, if that fails, later. Without `stats` those stored last stay."""
        values: dict[str, object] = {"status": status, "ended_at": self._ctx.clock()}
        if error is not None:
            # What the run stored before it failed stays.
            message = str(error).replace("; nothing changed", "", 1)
            values |= {"error": message, "error_category": error.category}
        if stats is not None:
            values["stats"] = stats
        # The first result counts: a cancellation that comes later must not replace it.
        self._unsaved_results.setdefault(run_id, values)
        try:
            await self.save_pending_results()
        except (StoreError, asyncio.CancelledError):
            # The next run may be that of another process, which cannot store the end of this one.
            if self._saving is None or self._saving.done():
                self._saving = asyncio.create_task(self._save_pending_results_later())
            raise

    async def _save_pending_results_later(self) -> None:
        """Try to store results until it succeeds, or the desk is closed."""
        while self._unsaved_results:
            await asyncio.sleep(SAVE_INTERVAL)
            try:
                await self.save_pending_results()
            except DeskClosedError:
                return
            except StoreError:
                log.debug("The result of a run was not stored; trying again", exc_info=True)


def load_statistics(conn: Transaction, user_id: str, now: datetime) -> RunStatistics:
    """Return the statistics of the user's runs. Rates and averages cover ended runs."""
    totals = runs.load_totals(conn, user_id)
    ended = totals.ended
    return RunStatistics(
        total_runs=ended + runs.count_unfinished(conn, user_id),
        success_rate=totals.succeeded / ended if ended else 0.0,
        average_duration=totals.microseconds / 1e6 / ended if ended else None,
        average_items_per_run=totals.items / ended if ended else 0.0,
        average_drafts_per_run=totals.drafts / ended if ended else 0.0,
        top_errors=runs.list_errors(conn, user_id, MAX_ERRORS),
        last30_days=runs.summarize_since(conn, user_id, now - RECENT_WINDOW),
        ended_runs=ended,
    )


def _load_unfinished(conn: Transaction, user_id: str) -> tuple[RunLease | None, tuple[RunLease, ...]]:
    """Return the active run, if any, and the queued ones."""
    return runs.get_running(conn, user_id), runs.list_queued(conn, user_id)


def _import_fetch() -> Callable[[DeskContext, Sequence[str]], Awaitable[int]]:
    from copydesk.desk.pipeline.fetch_sources import fetch_due  # noqa: PLC0415 - only needed to execute a run
    from copydesk.ingest.registry import load_readers  # noqa: PLC0415 - as above

    load_readers()
    return fetch_due


def _import_stages() -> Callable[[DeskContext, RunRequest, RunProgress], Awaitable[None]]:
    from copydesk.desk.pipeline.stages import run_stages  # noqa: PLC0415 - only needed to execute a run
    from copydesk.ingest.registry import load_readers  # noqa: PLC0415 - as above

    load_readers()
    return run_stages


def _try_start(conn: Transaction, user_id: str, run_id: str, clock: Clock) -> tuple[bool, RunRequest | None, bool]:
    """Try to start the run; return (started, request, cancel requested). The request is None without such a run."""
    now = clock()  # read inside the transaction: waiting for the write lock may take seconds
    lease = RunLease(id=run_id, owner=current_owner(), lease_until=now + LEASE_DURATION)
    started = runs.claim(conn, user_id, lease, now, tolerance=CLOCK_TOLERANCE)
    return started, runs.get_request(conn, user_id, run_id), runs.is_cancel_requested(conn, user_id, run_id)
