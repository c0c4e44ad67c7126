"""Delay the desk's responses until the test releases them, so that they arrive after a later event."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from console_driver import pass_round, wait_for_messages

if TYPE_CHECKING:
    from console_driver import ConsoleDriver

WAIT_TIMEOUT = 60
"""Seconds to wait at most for an expected event."""
STABLE_ROUNDS = 100
"""Rounds of the console, a millisecond or longer each, in which any response that is not delayed arrives."""


class DelayedResponse:
    """Delays the first responses of one method of `target`.

    The response is computed at once, so it may be stale later.
    """

    def __init__(self, target: Any, name: str, *, count: int = 1) -> None:
        self._original: Callable[..., Any] = getattr(target, name)
        self._remaining = count
        self._called = asyncio.Event()
        self.released = asyncio.Event()
        """Lets the response through."""
        setattr(target, name, self._delay)

    async def wait_until_called(self) -> None:
        """Wait until the method was called and its response is ready."""
        async with asyncio.timeout(WAIT_TIMEOUT):
            await self._called.wait()

    async def _delay(self, *args: Any, **kwargs: Any) -> Any:
        delayed, self._remaining = self._remaining > 0, self._remaining - 1
        try:
            return await self._original(*args, **kwargs)
        finally:
            if delayed:
                self._called.set()
                async with asyncio.timeout(WAIT_TIMEOUT):
                    await self.released.wait()


async def wait_until(condition: Callable[[], object], pause: Callable[[], Awaitable[object]]) -> None:
    """Wait until `condition` is true, calling `pause` in between. Raise TimeoutError if it never is."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while not condition():
            await pause()


async def assert_stays(ui: "ConsoleDriver", condition: Callable[[], object]) -> None:
    """Assert that `condition` is true, and stays so while responses that are not delayed arrive."""
    for _ in range(STABLE_ROUNDS):
        await pass_round(ui.app)
        assert condition()


async def wait_stable_rounds(ui: "ConsoleDriver") -> None:
    """Wait for the responses that are not delayed, where no condition tells that they have arrived."""
    await assert_stays(ui, lambda: True)


async def press_without_waiting(ui: "ConsoleDriver", *keys: str) -> None:
    """Press keys without waiting for responses to earlier ones."""
    for key in keys:
        ui.app.simulate_key(key)
        await wait_for_messages(ui.app)
