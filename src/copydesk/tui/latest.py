"""Slow work for the newest of many requests."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Wish = TypeVar("Wish")


class Latest(Generic[Wish]):
    """Does `work` for what was wished last, one at a time.

    What was wished in between is dropped; work that has begun is never cancelled, for it may be in the middle of
    a query.
    """

    def __init__(self, work: Callable[[Wish], Awaitable[None]]) -> None:
        self._work = work
        self._wishes: list[Wish] = []
        self._working = False
        self._idle = asyncio.Event()
        self._failed: Exception | None = None
        """What went wrong with what was done last."""

    async def settle(self, wish: Wish) -> None:
        """As `wish`, but returns when it, or what was wished after it, is done; raises what failed there."""
        await self.wish(wish)
        await self._idle.wait()
        if self._failed is not None:
            raise self._failed

    async def wish(self, wish: Wish) -> None:
        """Ask for `wish`; returns when it, or what was wished after it, is done or is being worked on.

        An error of the work, the last where there are several, is raised when nothing is left to be done.
        """
        self._wishes = [wish]
        if self._working:
            return
        self._working = True
        self._idle.clear()
        failed: Exception | None = None
        try:
            while self._wishes:
                self._failed = None
                try:
                    await self._work(self._wishes.pop())
                except Exception as error:
                    failed = self._failed = error
        finally:
            self._working = False
            self._idle.set()
        if failed is not None:
            raise failed
