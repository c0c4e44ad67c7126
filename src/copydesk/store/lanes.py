"""Connections that live in threads of their own, each opened when it is first needed."""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeVar, cast

import aiosqlite
from sqlalchemy import Connection, Engine

from copydesk.store.place import SameFile
from copydesk.store.statements import driver_of

T = TypeVar("T")


class _Opened(aiosqlite.Connection):
    """A connection and the thread that it lives in, with SQLAlchemy inside the thread."""

    def __init__(self, engine: Engine, file: SameFile) -> None:
        super().__init__(self._open, iter_chunk_size=64)
        self._file = file
        # A thread that hangs in a statement must not keep the program from ending.
        self._thread.daemon = True
        self._engine = engine

    def _open(self) -> sqlite3.Connection:
        self._file.check()
        self.connection = self._engine.connect()
        return driver_of(self.connection)

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns, carried out in the thread; not begun where the caller was cancelled before that."""
        caller = asyncio.current_task()
        assert caller is not None
        # The thread asks the task itself: what waits here would hear of it only when the loop comes round. Whoever was
        # cancelled earlier, and is cleaning up, may go on asking; a timeout takes its cancellation back.
        before, wanted = caller.cancelling(), True

        def begin() -> T | None:
            return work() if wanted and caller.cancelling() == before else None

        try:
            return cast("T", await self._execute(begin))  # type: ignore[no-untyped-call]
        except asyncio.CancelledError:
            wanted = False
            raise


class Lane:
    """One connection to a file; `parting` is its last work.

    What waits for it waits in its own thread, which so goes from one to the next without asking the event loop: that
    may be busy for longer than the work takes.
    """

    def __init__(self, engine: Engine, file: SameFile, *, parting: Callable[[Connection], None] | None = None) -> None:
        self._engine = engine
        self._file = file
        self._parting = parting
        self._opened: _Opened | None = None
        self._changing = asyncio.Lock()
        """Held while it is opened or ended."""
        self._used = False
        """Since the last `rest`."""
        self._asked = 0
        """Units that are at work, or wait."""

    @property
    def is_open(self) -> bool:
        """Whether there is a connection now."""
        return self._opened is not None

    async def run(self, how: Callable[[Connection, Any], T], work: Any) -> T:
        """What `how` makes of `work` on the connection; first come, first served."""
        self._used = True
        self._asked += 1
        try:
            # Also where it is open: whoever waits for that was here before.
            opened = await self._open()
            return await opened.run(lambda: self._there(how, opened.connection, work))
        finally:
            self._asked -= 1

    def _there(self, how: Callable[[Connection, Any], T], connection: Connection, work: Any) -> T:
        # In the thread: the one that answers keys asks nothing of the disk.
        self._file.check()
        return how(connection, work)

    async def _open(self) -> _Opened:
        async with self._changing:
            if self._opened is None:
                await to_the_end(self._begin())
            assert self._opened is not None
            return self._opened

    async def _begin(self) -> None:
        opened = _Opened(self._engine, self._file)
        await opened
        self._opened = opened

    async def rest(self) -> bool:
        """End the connection if it was not used since the last time; whether there was one to end."""
        unused = self.is_open and not self._used and not self._asked
        self._used = False
        if unused:
            await to_the_end(self.close())
        return unused

    async def close(self) -> None:
        """End the connection after what it is still at, and after what waits for it."""
        async with self._changing:
            opened, self._opened = self._opened, None
            if opened is None:
                return
            try:
                await opened.run(lambda: self._part(opened.connection))
            finally:
                await opened.close()

    def _part(self, connection: Connection) -> None:
        try:
            if self._parting is not None:
                self._parting(connection)
        finally:
            connection.close()


class Lanes:
    """Several connections to one file."""

    def __init__(self, engine: Engine, most: int, file: SameFile) -> None:
        self._free = asyncio.Semaphore(most)
        self.lanes = tuple(Lane(engine, file) for _ in range(most))
        self._idle = list(self.lanes)
        """The one to take next is the last: so the others are not opened without need, and rest."""

    async def run(self, how: Callable[[Connection, Any], T], work: Any) -> T:
        """What `how` makes of `work` on the next connection that is free; first come, first served."""
        async with self._free:
            lane = self._idle.pop()
            try:
                return await lane.run(how, work)
            finally:
                self._idle.append(lane)

    async def rest(self) -> bool:
        """End the connections that were not used since the last time; whether there were any."""
        return any([await lane.rest() for lane in self.lanes])

    async def close(self) -> None:
        """Ends every connection after what it is still at, and after what was asked for before."""
        async with AsyncExitStack() as every:
            for _ in self.lanes:
                await every.enter_async_context(self._free)
            for lane in self.lanes:
                await lane.close()


async def to_the_end(work: Coroutine[object, object, object]) -> None:
    """Waits for the end of `work`, however often this is cancelled: what is half open or half closed would be lost."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if not cancelled:
        task.result()
        return
    if not task.cancelled():
        task.exception()  # Whoever would hear of it is gone: it is not worth a complaint in the log.
    raise asyncio.CancelledError
