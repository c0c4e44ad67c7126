"""The jobs of one process: it looks what is due, claims it, does it, and says how that went."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from copydesk.desk import Desk
from copydesk.errors import CopydeskError, StoreError
from copydesk.jobs.alarm import EVERY, Alarm
from copydesk.jobs.doing import DOING, Did
from copydesk.jobs.due import Situation, due_jobs
from copydesk.model.job import Claim, ClockDoubt, JobName, Outlook
from copydesk.model.wire import Struct

log = logging.getLogger(__name__)
BEAT = 15.0
"""Seconds between two signs of life of a job; a quarter of its lease."""
PATIENCE = 5.0
"""Seconds that a job has left when the process is to end; then it is broken off, and what it did stands."""


class Said(Struct, frozen=True):
    """What was done, or went wrong."""

    at: datetime
    job: str
    """A job's name; `clock` for the clock, `look` for the look at what is due."""
    text: str
    failed: bool = False


Listener = Callable[[Said], None]


class Jobs:
    """What one process does by itself, as long as nobody else is at it."""

    def __init__(self, desk: Desk, *, reads_sources: bool = False, listener: Listener | None = None) -> None:
        self._desk = desk
        self._reads_sources = reads_sources
        self._listener = listener
        self._clock = desk.ground.clock
        self._started = self._clock()
        self._under_way: set[JobName] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        """Those that are at a job, and those that look again after theirs."""
        self._doubt: ClockDoubt | None = None
        self._trouble = ""
        self._ending = False

    async def look(self) -> timedelta | None:
        """Begin what is due and not under way; how long it is to the next draft, None where there is none.

        What goes wrong is said and tried again at the next look.
        """
        try:
            outlook = await self._desk.work.outlook()
            await self._look_at_clock()
        except Exception as error:
            self._complain(error)
            return None
        self._trouble = ""
        for name in due_jobs(self._situation(outlook)):
            self._begin(name)
        return outlook.next_draft - self._clock() if outlook.next_draft else None

    async def finish(self) -> None:
        """Wait for what is under way, and for what turns out to be due after it."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def end(self, patience: float = PATIENCE) -> None:
        """Begin nothing more, and let what is under way end; what takes longer is broken off."""
        self._ending = True
        tasks = tuple(self._tasks)
        try:
            if tasks and patience > 0:
                await asyncio.wait(tasks, timeout=patience)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _situation(self, outlook: Outlook) -> Situation:
        return Situation(
            now=self._clock(),
            started=self._started,
            late=outlook.late and self._doubt is None,
            due=outlook.due and self._doubt is None and outlook.connected,
            to_send=outlook.to_send and self._doubt is None,
            to_measure=outlook.to_measure,
            to_write=outlook.to_write,
            to_read=outlook.to_read and self._reads_sources,
            pause=timedelta(minutes=self._desk.settings.jobs.pipeline_minutes),
            states=outlook.jobs,
        )

    async def _look_at_clock(self) -> None:
        """Notice that the clock jumped; say so once."""
        before, self._doubt = self._doubt, await self._desk.schedule.clock_doubt()
        if self._doubt is not None and before is None:
            says = "the clock jumped; nothing goes out until you say: copydesk schedule clock --accept"
            self._say("clock", says, failed=True)

    def _begin(self, name: JobName) -> None:
        if not self._ending and name not in self._under_way:
            self._under_way.add(name)
            task = asyncio.create_task(self._carry_out(name), name=f"job {name}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, name: JobName) -> None:
        """Do a job if nobody is at it, and look again where there was something to do."""
        try:
            done = await self._claimed(name)
        except Exception as error:
            # The job's own errors are kept with it: this is the database.
            self._complain(error)
            done = False
        finally:
            self._under_way.discard(name)
        if done and not self._ending:
            await self.look()

    async def _claimed(self, name: JobName) -> bool:
        """Claim a job, do it, and let go of it; whether there was something to do. One that fails ends no other."""
        claim = await self._desk.work.begin(name)
        if claim is None:
            return False
        did: Sequence[Did] = ()
        failure, finished = None, False
        try:
            async with self._beating(claim):
                did = await DOING[name](self._desk)
            finished = True
        except Exception as error:
            failure, finished = error, True
            log.exception("The job %s failed", name)
        finally:
            await self._desk.work.end(claim, finished=finished, error=failure)
        if failure is not None:
            self._say(name, _words(failure), failed=True)
        for each in did:
            self._say(name, each.says, failed=each.failed)
        return bool(did)

    @asynccontextmanager
    async def _beating(self, claim: Claim) -> AsyncIterator[None]:
        """Give signs of life while the job is done, and break it off where somebody else took it over."""
        work = asyncio.current_task()
        assert work is not None

        async def beat() -> None:
            while True:
                await asyncio.sleep(BEAT)
                with suppress(StoreError):  # another one follows, and the work has troubles of its own
                    if not await self._desk.work.renew(claim):
                        work.cancel()

        beats = asyncio.create_task(beat())
        try:
            yield
        finally:
            beats.cancel()
            with suppress(asyncio.CancelledError):
                await beats

    def _complain(self, error: Exception) -> None:
        """Say once what keeps this process from looking."""
        log.warning("The look at what is due failed", exc_info=error)
        if (says := _words(error)) != self._trouble:
            self._trouble = says
            self._say("look", says, failed=True)

    def _say(self, job: str, text: str, *, failed: bool = False) -> None:
        if self._listener is not None:
            self._listener(Said(at=self._clock(), job=job, text=text, failed=failed))


@asynccontextmanager
async def running(
    desk: Desk,
    *,
    daemon: bool = False,
    listener: Listener | None = None,
    every: timedelta = EVERY,
    patience: float = PATIENCE,
) -> AsyncIterator[Jobs]:
    """Do by itself what is due, until the block ends; `daemon` says that this process is there for nothing else.

    What is under way at the end has `patience` seconds left.
    """
    reads = desk.settings.jobs.pipeline
    jobs = Jobs(desk, reads_sources=reads == "always" or (daemon and reads == "daemon"), listener=listener)
    alarm = Alarm(jobs.look, every)
    alarm.start()
    try:
        yield jobs
    finally:
        await alarm.stop()
        await jobs.end(patience)


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, CopydeskError) else f"Copydesk did not expect this: {error!r}"
