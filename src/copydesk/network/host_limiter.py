"""Per-host politeness: one request at a time, a pause between requests, and cooldowns that hosts ask for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from copydesk.network.headers import MAX_WAIT
from copydesk.network.response import throttled_error


class _HostState:
    """State of one host: its lock, and the end of its last request on the event loop's clock."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.last_request_end: float | None = None


class HostLimiter:
    """Limits requests by host. `cooldowns` maps a host to the end of its cooldown."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.cooldowns: dict[str, datetime] = {}
        self._clock = clock
        self._states: dict[str, _HostState] = {}

    @asynccontextmanager
    async def acquire(self, host: str, min_interval: float) -> AsyncIterator[None]:
        """Hold `host` for one request, after any running one has ended and `min_interval` seconds after the last.

        Raise RateLimitedError if the host cools down, or starts to while waiting.
        """
        self.raise_if_cooling_down(host)
        state = self._states.setdefault(host, _HostState())
        # The lock is held during the pause, so that waiting requests start one interval apart.
        async with state.lock:
            await self._wait_for_gap(state, min_interval)
            self.raise_if_cooling_down(host)
            try:
                yield
            finally:
                # Also after a failure: the host was contacted.
                state.last_request_end = asyncio.get_running_loop().time()

    def set_cooldown(self, host: str, seconds: float) -> None:
        """Start a cooldown of `seconds`; a longer one in force stays."""
        until = self._clock() + timedelta(seconds=min(seconds, MAX_WAIT))
        self.cooldowns[host] = max(until, self.cooldowns.get(host, until))

    def raise_if_cooling_down(self, host: str) -> None:
        """Raise RateLimitedError while `host` cools down."""
        until = self.cooldowns.get(host)
        if until is None:
            return
        remaining = (until - self._clock()).total_seconds()
        # A longer cooldown is never set: the clock was wrong then or is now.
        if 0 < remaining <= MAX_WAIT:
            raise throttled_error(host, remaining)
        del self.cooldowns[host]

    @staticmethod
    async def _wait_for_gap(state: _HostState, min_interval: float) -> None:
        if min_interval <= 0 or state.last_request_end is None:
            return
        remaining = state.last_request_end + min_interval - asyncio.get_running_loop().time()
        if remaining > 0:
            await asyncio.sleep(remaining)
