"""Wait for events of any user, whichever process they come from."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from copydesk.errors import DeskClosedError
from copydesk.store import events

if TYPE_CHECKING:
    from copydesk.store.postgresql.database import AnyDatabase

POLL_INTERVAL = 0.1
"""Seconds between two polls at least: commits that follow each other closely need one."""


class EventWatcher:
    """Wakes everyone who waits for events of any user. However many wait, it polls once for all of them."""

    def __init__(self, database: "AnyDatabase") -> None:
        self._database = database
        self._waiting: dict[str, dict[asyncio.Future[None], int]] = {}
        """By user id: who waits, and for an event after which."""
        self._has_new_waiters = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def wait(self, user_id: str, after: int) -> None:
        """Wait until the user has an event with a greater number than `after`. Raise StoreError."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user_id, {})[waiter] = after
        # An event that came just before is found by the next poll.
        self._has_new_waiters.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch(), name="watch for events")
        try:
            await waiter
        finally:
            self._remove(user_id, waiter)

    async def close(self) -> None:
        """Stop watching; whoever waits gets DeskClosedError."""
        self._fail(DeskClosedError())
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _remove(self, user_id: str, waiter: asyncio.Future[None]) -> None:
        waiters = self._waiting.get(user_id, {})
        waiters.pop(waiter, None)
        if not waiters:
            self._waiting.pop(user_id, None)

    async def _watch(self) -> None:
        previous: int | None = None
        while self._waiting:
            try:
                counter = await self._database.change_counter()
                if counter != previous or self._has_new_waiters.is_set():
                    self._has_new_waiters.clear()
                    self._wake(await self._database.read(events.list_newest, tuple(self._waiting)))
                    previous = counter
                await self._wait_for_change(counter)
            except Exception as error:  # whoever waits reports it
                self._fail(error)
            await asyncio.sleep(POLL_INTERVAL)

    async def _wait_for_change(self, counter: int) -> None:
        """Wait until somebody may have committed, or somebody else waits for events."""
        tasks = [
            asyncio.ensure_future(self._database.wait_for_change(counter)),
            asyncio.ensure_future(self._has_new_waiters.wait()),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        for task in done:
            task.result()

    def _wake(self, newest: Mapping[str, int]) -> None:
        for user_id, event_id in newest.items():
            for waiter, after in self._waiting.get(user_id, {}).items():
                if event_id > after and not waiter.done():
                    waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        for waiters in self._waiting.values():
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_exception(error)
