"""Manners towards hosts: one request at a time, a pause between two, and silence for as long as a host asks for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from copydesk.ingest.answer import throttled
from copydesk.network.headers import LONGEST_WAIT


class _Door:
    """One host: who is inside, and when the last one left (seconds of the event loop's clock)."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.left: float | None = None


class Hosts:
    """Who may ask which host when. `cooldowns` says until when a host is left alone."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.cooldowns: dict[str, datetime] = {}
        self._clock = clock
        self._doors: dict[str, _Door] = {}

    @asynccontextmanager
    async def turn(self, host: str, gap: float) -> AsyncIterator[None]:
        """Wait until nobody else asks `host` and `gap` seconds have passed since the last request to it.

        Raises ThrottledError while the host cools down, also when that begins while waiting.
        """
        self.check(host)
        door = self._doors.setdefault(host, _Door())
        async with door.lock:
            await self._pause(door, gap)
            self.check(host)
            try:
                yield
            finally:
                door.left = asyncio.get_running_loop().time()

    def cool(self, host: str, seconds: float) -> None:
        """Leave `host` alone for `seconds`, or for as long as was said before if that is longer."""
        until = self._clock() + timedelta(seconds=min(seconds, LONGEST_WAIT))
        self.cooldowns[host] = max(until, self.cooldowns.get(host, until))

    def check(self, host: str) -> None:
        """Raise ThrottledError while `host` cools down."""
        until = self.cooldowns.get(host)
        if until is None:
            return
        left = (until - self._clock()).total_seconds()
        # More than the longest wait was never written; the clock was wrong then or is now.
        if 0 < left <= LONGEST_WAIT:
            raise throttled(host, left)
        del self.cooldowns[host]

    @staticmethod
    async def _pause(door: _Door, gap: float) -> None:
        if gap <= 0 or door.left is None:
            return
        left = door.left + gap - asyncio.get_running_loop().time()
        if left > 0:
            await asyncio.sleep(left)
