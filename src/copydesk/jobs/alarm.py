"""Wakes whoever looks for work: every half minute by the wall clock, and when the next draft is due.

APScheduler does the waking and nothing else. It keeps no job anywhere: what is due is in the database, so nothing is
lost when a process ends, and nothing is done twice when there are two.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler

EVERY = timedelta(seconds=30)
"""A machine that slept or whose clock was set is noticed after so long."""
_LOOK = "look"
# Whoever wants to see what it says adds a handler: Python would print warnings on the console's screen.
logging.getLogger("apscheduler").addHandler(logging.NullHandler())


class Alarm:
    """Calls `look` again and again, never twice at the same time; it answers how long the next look may wait."""

    def __init__(self, look: Callable[[], Awaitable[timedelta | None]], every: timedelta = EVERY) -> None:
        self._look = look
        self._every = every
        self._ringing: set[asyncio.Task[None]] = set()
        self._watch: asyncio.TimerHandle | None = None
        # A job that comes late, because the machine slept, is done once and not dropped.
        defaults = {"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        self._scheduler = AsyncIOScheduler(timezone=UTC, job_defaults=defaults)

    def start(self) -> None:
        """Begin, with a first look at once."""
        seconds = self._every.total_seconds()
        self._scheduler.add_job(self._ring, "interval", seconds=seconds, id=_LOOK, next_run_time=datetime.now(UTC))
        self._scheduler.start()
        self._watch_over()

    def _set(self, wait: timedelta) -> None:
        """Look again after `wait`, where that is before the next look."""
        if self._scheduler.running and wait < self._every:
            self._scheduler.modify_job(_LOOK, next_run_time=datetime.now(UTC) + wait)

    async def stop(self) -> None:
        """End. A look that is under way is broken off, which does no harm: it only reads."""
        if self._watch is not None:
            self._watch.cancel()
        self._scheduler.shutdown(wait=False)
        await asyncio.sleep(0)  # it shuts down in a step of the loop of its own
        await asyncio.gather(*self._ringing, return_exceptions=True)

    async def _ring(self) -> None:
        ringing = asyncio.current_task()
        assert ringing is not None
        self._ringing.add(ringing)
        try:
            wait = await self._look()
            if wait is not None:
                self._set(wait)
        finally:
            self._ringing.discard(ringing)

    def _watch_over(self) -> None:
        """See that the next look is not far away: by a clock that was set back it would be hours."""
        now = datetime.now(UTC)
        job = self._scheduler.get_job(_LOOK)
        if job is not None and job.next_run_time is not None and job.next_run_time > now + self._every:
            self._scheduler.modify_job(_LOOK, next_run_time=now)
        self._watch = asyncio.get_running_loop().call_later(self._every.total_seconds(), self._watch_over)
