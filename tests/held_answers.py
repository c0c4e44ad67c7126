"""Delay the desk's responses until the test releases them, so that they arrive after a later event."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_fixtures import Seen

DEADLINE = 60
"""Seconds to wait at most for an expected event."""
ROUNDS = 100
"""Rounds of the console, a millisecond or longer each, in which any response that is not delayed arrives."""


class HeldBack:
    """Delays the first responses of one method of `target`.

    The response is computed at once, so it may be stale later.
    """

    def __init__(self, of: Any, name: str, *, first: int = 1) -> None:
        self._original: Callable[..., Any] = getattr(of, name)
        self._remaining = first
        self._called = asyncio.Event()
        self.go = asyncio.Event()
        """Lets the response through."""
        setattr(of, name, self._delay)

    async def asked(self) -> None:
        """Wait until the method was called and its response is ready."""
        async with asyncio.timeout(DEADLINE):
            await self._called.wait()

    async def _delay(self, *args: Any, **kwargs: Any) -> Any:
        delayed, self._remaining = self._remaining > 0, self._remaining - 1
        try:
            return await self._original(*args, **kwargs)
        finally:
            if delayed:
                self._called.set()
                async with asyncio.timeout(DEADLINE):
                    await self.go.wait()


async def so(is_so: Callable[[], object], wait: Callable[[], Awaitable[object]]) -> None:
    """Wait until `condition` is true, calling `pause` in between. Raise TimeoutError if it never is."""
    async with asyncio.timeout(DEADLINE):
        while not is_so():
            await wait()


async def stays(seen: "Seen", is_so: Callable[[], object]) -> None:
    """Assert that `condition` is true, and stays so while responses that are not delayed arrive."""
    for _ in range(ROUNDS):
        await seen._pilot.pause(0.001)
        assert is_so()


async def long_enough(seen: "Seen") -> None:
    """Wait for the responses that are not delayed, where no condition tells that they have arrived."""
    await stays(seen, lambda: True)


async def press(seen: "Seen", *keys: str) -> None:
    """Press keys without waiting for responses to earlier ones."""
    for key in keys:
        await seen._pilot.press(key)
        while seen.app.type_ahead.busy:
            await seen._pilot.pause(0)
