"""An event loop whose clock jumps to the next timer whenever there is nothing else to do.

What takes a time by timers takes exactly that, however busy the machine, and the test does not wait for it.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop that waits for nothing but timers: no threads, no sockets."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__()

    def time(self) -> float:
        """Return the seconds that timers have taken since the loop was created."""
        return self._now

    def _run_once(self) -> None:
        if not self._ready:  # type: ignore[attr-defined]
            # A timer that was cancelled stays in the list until it is its turn; the loop would wait for the next one.
            timers = [timer.when() for timer in self._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
            self._now = max(self._now, min(timers, default=self._now))
        super()._run_once()  # type: ignore[misc]


def run_in_virtual_time(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in such a loop and return its result."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(work)
