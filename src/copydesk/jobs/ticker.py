"""Call a function every 30 seconds, and when the next draft is due.

APScheduler provides the timer only. No jobs are stored in it: what is due is in the database, so nothing is lost when a
process ends and nothing runs twice in two processes.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler

INTERVAL = timedelta(seconds=30)
"""Upper bound for noticing that the machine was suspended or its clock was set."""
_JOB_ID = "look"
# Without a handler Python prints APScheduler's warnings to stderr, which is the console's screen.
logging.getLogger("apscheduler").addHandler(logging.NullHandler())


class Ticker:
    """Call `callback` periodically, never concurrently. It returns the longest time until it should be
    called again, or None.
    """

    def __init__(self, callback: Callable[[], Awaitable[timedelta | None]], interval: timedelta = INTERVAL) -> None:
        self._callback = callback
        self._interval = interval
        self._tasks: set[asyncio.Task[None]] = set()
        self._watchdog: asyncio.TimerHandle | None = None
        # After a suspend run once instead of dropping the missed runs or running each.
        defaults = {"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        self._scheduler = AsyncIOScheduler(timezone=UTC, job_defaults=defaults)

    def start(self) -> None:
        """Start the timer, with a first call at once."""
        seconds = self._interval.total_seconds()
        self._scheduler.add_job(self._tick, "interval", seconds=seconds, id=_JOB_ID, next_run_time=datetime.now(UTC))
        self._scheduler.start()
        self._check_next_run()

    def _call_sooner(self, wait: timedelta) -> None:
        """Schedule the next call after `wait`, if that is sooner than the interval."""
        if self._scheduler.running and wait < self._interval:
            self._scheduler.modify_job(_JOB_ID, next_run_time=datetime.now(UTC) + wait)

    async def stop(self) -> None:
        """Stop the timer and cancel a running call, which is safe because it only reads."""
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._scheduler.shutdown(wait=False)
        await asyncio.sleep(0)  # shutdown() only schedules its work in the loop; let it run
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _tick(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            wait = await self._callback()
            if wait is not None:
                self._call_sooner(wait)
        finally:
            self._tasks.discard(task)

    def _check_next_run(self) -> None:
        """Bring the next call forward if it is too far away, as after the wall clock was set back."""
        now = datetime.now(UTC)
        job = self._scheduler.get_job(_JOB_ID)
        if job is not None and job.next_run_time is not None and job.next_run_time > now + self._interval:
            self._scheduler.modify_job(_JOB_ID, next_run_time=now)
        self._watchdog = asyncio.get_running_loop().call_later(self._interval.total_seconds(), self._check_next_run)
