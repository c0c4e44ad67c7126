"""Per-host politeness: one request at a time, a pause between requests, and cooldowns that hosts ask for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from copydesk.ingest.answer import throttled
from copydesk.network.headers import LONGEST_WAIT


class _HostState:
    """State of one host: its lock, and the end of its last request on the event loop's clock."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.left: float | None = None


class Hosts:
    """Limits requests by host. `cooldowns` maps a host to the end of its cooldown."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.cooldowns: dict[str, datetime] = {}
        self._clock = clock
        self._doors: dict[str, _HostState] = {}

    @asynccontextmanager
    async def turn(self, host: str, gap: float) -> AsyncIterator[None]:
        """Hold `host` for one request, after any running one has ended and `min_interval` seconds after the last.

        Raise ThrottledError if the host cools down, or starts to while waiting.
        """
        self.check(host)
        state = self._doors.setdefault(host, _HostState())
        # The lock is held during the pause, so that waiting requests start one interval apart.
        async with state.lock:
            await self._wait_for_gap(state, gap)
            self.check(host)
            try:
                yield
            finally:
                # Also after a failure: the host was contacted.
                state.left = asyncio.get_running_loop().time()

    def cool(self, host: str, seconds: float) -> None:
        """Start a cooldown of `seconds`; a longer one in force stays."""
        until = self._clock() + timedelta(seconds=min(seconds, LONGEST_WAIT))
        self.cooldowns[host] = max(until, self.cooldowns.get(host, until))

    def check(self, host: str) -> None:
        """Raise ThrottledError while `host` cools down."""
        until = self.cooldowns.get(host)
        if until is None:
            return
        remaining = (until - self._clock()).total_seconds()
        # A longer cooldown is never set: the clock was wrong then or is now.
        if 0 < remaining <= LONGEST_WAIT:
            raise throttled(host, remaining)
        del self.cooldowns[host]

    @staticmethod
    async def _wait_for_gap(state: _HostState, min_interval: float) -> None:
        if min_interval <= 0 or state.left is None:
            return
        remaining = state.left + min_interval - asyncio.get_running_loop().time()
        if remaining > 0:
            await asyncio.sleep(remaining)
