"""The pipeline: runs are queued, take their turn, get on, and end in one of five ways."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from copydesk.desk import cursor as cursors
from copydesk.desk.ground import Clock, Ground
from copydesk.desk.process import is_alive, me
from copydesk.desk.report import Listener, Report
from copydesk.errors import (
    CancelledRunError,
    ConflictError,
    CopydeskError,
    FieldError,
    InvalidError,
    NotFoundError,
    StoreError,
)
from copydesk.model.draft import Format
from copydesk.model.page import Page
from copydesk.model.run import Run, RunRequest, RunStatistics, RunStatus
from copydesk.store import runs, sources
from copydesk.store.ids import new_id
from copydesk.store.runs import Claimed

if TYPE_CHECKING:
    from copydesk.desk.overviews import FailingSource

LEASE = timedelta(seconds=30)
"""For so long a run is thought alive after the last sign of life, where its process cannot be asked."""
BEAT = 1.0
"""Seconds between two signs of life; also how soon a run notices that another process cancelled it."""
TURN = 0.1
"""Seconds between two looks whether it is a run's turn."""


class Pipeline:
    """From sources to drafts, one run of a user at a time."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._working: dict[str, asyncio.Task[None]] = {}
        self._unended: dict[str, dict[str, object]] = {}

    async def run(self, request: RunRequest | None = None, on_progress: Listener | None = None) -> Run:
        """Queue a run, wait for its turn and carry it out; the finished run. Raises as `queue` and `execute` do."""
        request = request or RunRequest()
        await self._check(request)
        run_id = new_id(self._ground.clock())
        try:
            await self._put_in_queue(run_id, request)
        except asyncio.CancelledError:
            # It may have come into the queue, where all later ones would wait for it.
            await self._end(Report(run_id), RunStatus.CANCELLED, CancelledRunError())
            raise
        return await self.execute(run_id, on_progress)

    async def queue(self, request: RunRequest | None = None) -> Run:
        """Put a run at the end of the queue. InvalidError with the field, NotFoundError for an unknown source."""
        request = request or RunRequest()
        await self._check(request)
        run_id = new_id(self._ground.clock())
        await self._put_in_queue(run_id, request)
        return await self.get(run_id)

    async def execute(self, run_id: str, on_progress: Listener | None = None) -> Run:
        """Carry out a queued run; the run as it ended: succeeded, failed or cancelled.

        Where this very task is cancelled the run is marked so, and the cancellation goes on.
        """
        report = Report(run_id, on_progress)
        work = asyncio.create_task(self._carry_out(report))
        self._working[run_id] = work
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            asked_here = not work.done()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            # A task that is cancelled before its first step does nothing at all, and ends nothing.
            await self._end(report, RunStatus.CANCELLED, CancelledRunError())
            if asked_here:
                raise
        finally:
            del self._working[run_id]
        return await self.get(run_id)

    async def cancel(self, run_id: str) -> Run:
        """Cancel a run, wherever it is worked on. ConflictError where it has ended."""
        run = await self.get(run_id)
        if not await self._ground.write(runs.ask_to_cancel, run_id):
            raise ConflictError("The run has ended.", current_status=run.status)
        if run_id in self._working:
            self._working[run_id].cancel()
        elif run.status is RunStatus.QUEUED:
            await self._end(Report(run_id), RunStatus.CANCELLED, CancelledRunError())
        return await self.get(run_id)

    async def get(self, run_id: str) -> Run:
        """One run; NotFoundError where there is none of the user's with this id."""
        found = await self._ground.read(runs.one, run_id)
        if found is None:
            raise NotFoundError(f"There is no run {run_id!r}.", hint="`copydesk run list` shows them all.")
        return found

    async def runs(self, limit: int = 10, cursor: str | None = None) -> Page[Run]:
        """A page of the user's runs, most recent first. InvalidError for a limit outside 1 to 100."""
        if not 1 <= limit <= 100:
            raise InvalidError(FieldError("limit", "takes 1 to 100"))
        before = cursors.read(cursor, "runs") if cursor else None
        found = await self._ground.read(runs.newest, limit + 1, before)
        more = cursors.write(found[limit - 1].id, "runs") if len(found) > limit else None
        return Page(items=found[:limit], next_cursor=more)

    async def statistics(self) -> RunStatistics:
        """How the user's runs went."""
        from copydesk.desk.statistics import statistics  # noqa: PLC0415 - seldom asked for

        return await self._ground.read(statistics, self._ground.clock())

    async def failing(self) -> "tuple[FailingSource, ...]":
        """The sources that are switched on and could not be read the last time; quick enough to be asked often."""
        from copydesk.desk.overviews import failing  # noqa: PLC0415 - not for the console's first rows

        return await self._ground.read(failing)

    async def recover(self) -> tuple[Run, ...]:
        """Find the runs whose process died, and say so of them."""
        await self.catch_up()
        claimed, waiting = await self._ground.read(_unfinished)
        dead = [run for run in waiting if run.owner and is_alive(run.owner) is False]
        if claimed and self._is_over(claimed):
            dead.append(claimed)
        for run in dead:
            error = CopydeskError("The process that worked on the run ended before it did; what it stored is kept.")
            await self._end(None, RunStatus.INTERRUPTED, error, run_id=run.id)
        return tuple([await self.get(run.id) for run in dead])

    async def catch_up(self) -> None:
        """End the runs whose end could not be kept: as long as they stand there as running, no other one begins."""
        for run_id, values in list(self._unended.items()):
            await self._ground.write(runs.finish, run_id, values)
            self._unended.pop(run_id, None)

    def _is_over(self, claimed: Claimed) -> bool:
        alive = is_alive(claimed.owner)
        return claimed.lease_until < self._ground.clock() if alive is None else not alive

    async def _check(self, request: RunRequest) -> None:
        if request.max_drafts is not None and request.max_drafts < 0:
            raise InvalidError(FieldError("maxDrafts", "cannot be below 0"))
        if not set(request.formats or ()) <= set(Format):
            raise InvalidError(FieldError("formats", f"takes {', '.join(Format)}"))
        if request.source_ids is None:
            return
        there = {stored.source.id for stored in await self._ground.read(sources.to_fetch, request.source_ids)}
        for source_id in request.source_ids:
            if source_id not in there:
                raise NotFoundError(f"There is no source {source_id!r}.", hint="`copydesk source list` shows them all.")

    async def _put_in_queue(self, run_id: str, request: RunRequest) -> None:
        await self.catch_up()
        now = self._ground.clock()
        claimed = Claimed(id=run_id, owner=me(), lease_until=now + LEASE)
        await self._ground.write(runs.add, claimed, request, now)

    async def _carry_out(self, report: Report) -> None:
        """Take the run's turn, do its work and keep how it ended; an error that is no CopydeskError goes on."""
        try:
            request = await self._take_turn(report.run_id)
            work = await asyncio.to_thread(_stages)
            async with self._beating(report):
                await work(self._ground, request, report)
        except (asyncio.CancelledError, CancelledRunError):
            await self._end(report, RunStatus.CANCELLED, CancelledRunError())
        except CopydeskError as error:
            await self._end(report, RunStatus.FAILED, error)
        except BaseException:
            await self._end(report, RunStatus.FAILED, CopydeskError("An error that Copydesk did not expect."))
            raise
        else:
            await self._end(report, RunStatus.SUCCEEDED, None)

    async def _take_turn(self, run_id: str) -> RunRequest:
        """Wait until no other run is under way, then start this one."""
        while True:
            mine, request, asked = await self._ground.write(_try_turn, run_id, self._ground.clock)
            if request is None:
                raise NotFoundError(f"There is no run {run_id!r}.")
            if asked:
                raise CancelledRunError
            if mine:
                return request
            run = await self.get(run_id)
            if run.status is not RunStatus.QUEUED:
                raise ConflictError("The run has begun elsewhere, or ended.", current_status=run.status)
            await self.recover()
            await asyncio.sleep(TURN)

    @contextlib.asynccontextmanager
    async def _beating(self, report: Report) -> AsyncIterator[None]:
        """Give signs of life while the run works, and stop it when it is cancelled from elsewhere."""
        work = asyncio.current_task()
        assert work is not None

        async def beat() -> None:
            while True:
                await asyncio.sleep(BEAT)
                with contextlib.suppress(StoreError):  # another one follows, and the work has troubles of its own
                    if not await self._note(report):
                        work.cancel()

        beats = asyncio.create_task(beat())
        try:
            yield
        finally:
            beats.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beats

    async def _note(self, report: Report) -> bool:
        """Keep how far the run is; False where it should stop."""
        lease = self._ground.clock() + LEASE
        values = {"stage": report.stage, "stats": report.stats, "lease_until": lease}

        def keep(conn: Connection, user_id: str) -> bool:
            still = runs.note(conn, user_id, report.run_id, values)
            return still and not runs.cancel_requested(conn, user_id, report.run_id)

        return await self._ground.write(keep)

    async def _end(
        self, report: Report | None, status: RunStatus, error: CopydeskError | None, *, run_id: str | None = None
    ) -> None:
        now = self._ground.clock()
        values: dict[str, object] = {"status": status, "ended_at": now}
        if error is not None:
            values |= {"error": str(error), "error_category": error.category}
        if report is not None:
            run_id, values["stats"] = report.run_id, report.stats
        assert run_id is not None
        self._unended.setdefault(run_id, values)
        await self.catch_up()


def _unfinished(conn: Connection, user_id: str) -> tuple[Claimed | None, tuple[Claimed, ...]]:
    """The run that is under way, and those that wait."""
    return runs.under_way(conn, user_id), runs.queued(conn, user_id)


def _stages() -> Callable[[Ground, RunRequest, Report], Awaitable[None]]:
    """The work of a run, with all that it imports later: in a thread, for a person's keys wait for what is not."""
    from copydesk.desk.stages import work  # noqa: PLC0415 - the crafts are for those who run
    from copydesk.drafting import checks, extractive  # noqa: F401, PLC0415
    from copydesk.ingest import reading  # noqa: F401, PLC0415

    return work


def _try_turn(conn: Connection, user_id: str, run_id: str, clock: Clock) -> tuple[bool, RunRequest | None, bool]:
    """Whether the run's turn has come, what it is asked for, and whether it is to be cancelled."""
    now = clock()  # not when it began to wait for the database
    mine = runs.claim(conn, user_id, run_id, owner=me(), now=now, lease_until=now + LEASE)
    return mine, runs.request_of(conn, user_id, run_id), runs.cancel_requested(conn, user_id, run_id)
