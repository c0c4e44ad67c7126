"""Run slow work only for the newest of many requests."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Request = TypeVar("Request")


class Coalescer(Generic[Request]):
    """Runs `work` for the newest request, one at a time.

    Requests that arrive while one is running replace each other. Running work is never cancelled, because it may be in
    the middle of a query.
    """

    def __init__(self, work: Callable[[Request], Awaitable[None]]) -> None:
        self._work = work
        self._pending: list[Request] = []
        self._running = False
        self._idle = asyncio.Event()
        self._last_error: Exception | None = None
        """The error of the last finished work; None if it succeeded."""

    async def submit_and_wait(self, request: Request) -> None:
        """Submit `request` and wait until it, or a newer one, has finished; raise the error of the last work."""
        await self.submit(request)
        await self._idle.wait()
        if self._last_error is not None:
            raise self._last_error

    async def submit(self, request: Request) -> None:
        """Submit `request`; return when it, or a newer one, has finished or is running.

        The first caller processes the queue, and raises the last error, if any, when nothing is left to do.
        """
        self._pending = [request]
        if self._running:
            return
        self._running = True
        self._idle.clear()
        last_error: Exception | None = None
        try:
            while self._pending:
                self._last_error = None
                try:
                    await self._work(self._pending.pop())
                except Exception as error:
                    last_error = self._last_error = error
        finally:
            self._running = False
            self._idle.set()
        if last_error is not None:
            raise last_error
