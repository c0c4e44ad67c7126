"""Answers of the desk that come when a test lets them: what was asked before something happened can come after it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_fixtures import Seen

DEADLINE = 60
"""Seconds that are waited at most for what a test knows to come."""
ROUNDS = 100
"""Rounds of the console, of a millisecond at least, in which an answer comes that nothing holds back."""


class HeldBack:
    """Holds back what one operation of a desk answers to the first who asks; what it answers is what was so then."""

    def __init__(self, of: Any, name: str, *, first: int = 1) -> None:
        self._ask: Callable[..., Any] = getattr(of, name)
        self._left = first
        self._came = asyncio.Event()
        self.go = asyncio.Event()
        """The answer may come."""
        setattr(of, name, self._held)

    async def asked(self) -> None:
        """Wait until it was asked, and has its answer."""
        async with asyncio.timeout(DEADLINE):
            await self._came.wait()

    async def _held(self, *given: Any, **named: Any) -> Any:
        held, self._left = self._left > 0, self._left - 1
        try:
            return await self._ask(*given, **named)
        finally:
            if held:
                self._came.set()
                async with asyncio.timeout(DEADLINE):
                    await self.go.wait()


async def so(is_so: Callable[[], object], wait: Callable[[], Awaitable[object]]) -> None:
    """Wait, by `wait`, until something is so; TimeoutError where it never is."""
    async with asyncio.timeout(DEADLINE):
        while not is_so():
            await wait()


async def stays(seen: "Seen", is_so: Callable[[], object]) -> None:
    """See that something is so, and remains so as long as an answer takes that nothing holds back."""
    for _ in range(ROUNDS):
        await seen._pilot.pause(0.001)
        assert is_so()


async def long_enough(seen: "Seen") -> None:
    """Wait as long as that, where nothing tells whether an answer comes before the one that is held back."""
    await stays(seen, lambda: True)


async def press(seen: "Seen", *keys: str) -> None:
    """Press keys without waiting for what was asked for before."""
    for key in keys:
        await seen._pilot.press(key)
        while seen.app.type_ahead.busy:
            await seen._pilot.pause(0)
