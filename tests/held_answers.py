"""Answers of the desk that come when a test lets them: what was asked before something happened can come after it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

DEADLINE = 20


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
