"""Connections that live in threads of their own, each opened when it is first needed."""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeVar, cast

import aiosqlite
from sqlalchemy import Connection, Engine

from copydesk.store.place import SameFile
from copydesk.store.statements import driver_of

T = TypeVar("T")


class Lane(aiosqlite.Connection):
    """A connection and the thread that it lives in, with SQLAlchemy inside the thread."""

    def __init__(self, engine: Engine, file: SameFile) -> None:
        super().__init__(self._open, iter_chunk_size=64)
        self._file = file
        self.used = True
        """Since the last `rest`."""
        # A thread that hangs in a statement must not keep the program from ending.
        self._thread.daemon = True
        self._engine = engine

    def _open(self) -> sqlite3.Connection:
        self._file.check()
        self.connection = self._engine.connect()
        return driver_of(self.connection)

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns, carried out in the thread; not begun where the caller is cancelled before that."""
        wanted = True

        def begin() -> T | None:
            return work() if wanted else None

        try:
            return cast("T", await self._execute(begin))  # type: ignore[no-untyped-call]
        except asyncio.CancelledError:
            wanted = False
            raise


class Lanes:
    """At most so many connections to one file, each opened when it is first needed; `parting` is its last work."""

    def __init__(
        self, engine: Engine, most: int, file: SameFile, *, parting: Callable[[Connection], None] | None = None
    ) -> None:
        self._engine = engine
        self._most = most
        self._file = file
        self._parting = parting
        self._free = asyncio.Semaphore(most)
        self._idle: list[Lane] = []
        self._open: list[Lane] = []

    async def run(self, how: Callable[[Connection, Any], T], work: Any) -> T:
        """What `how` makes of `work` on the next connection that is free; first come, first served."""
        async with self._free:
            lane = self._idle.pop() if self._idle else await self._another()
            lane.used = True
            try:
                return await lane.run(lambda: self._there(how, lane.connection, work))
            finally:
                self._idle.append(lane)

    def _there(self, how: Callable[[Connection, Any], T], connection: Connection, work: Any) -> T:
        # In the thread: the one that answers keys asks nothing of the disk.
        self._file.check()
        return how(connection, work)

    async def _another(self) -> Lane:
        lane = Lane(self._engine, self._file)
        try:
            await to_the_end(self._opened(lane))
        except asyncio.CancelledError:
            if lane in self._open:
                self._idle.append(lane)
            raise
        return lane

    async def _opened(self, lane: Lane) -> None:
        await lane
        self._open.append(lane)

    async def rest(self) -> bool:
        """End the connections that were not used since the last time; whether there were any."""
        unused = [lane for lane in self._idle if not lane.used]
        self._idle = [lane for lane in self._idle if lane.used]
        for lane in self._open:
            lane.used = False
        await to_the_end(self._end(unused))
        return bool(unused)

    async def _end(self, unused: Sequence[Lane]) -> None:
        for lane in unused:
            async with self._free:
                if lane in self._open:  # else `close` was before this
                    self._open.remove(lane)
                    await self._ended(lane)

    async def close(self) -> None:
        """Ends every connection after what it is still at, and after what was asked for before."""
        async with AsyncExitStack() as every:
            # A connection that is just being opened is in no list yet.
            for _ in range(self._most):
                await every.enter_async_context(self._free)
            self._idle.clear()
            while self._open:
                await self._ended(self._open.pop())

    async def _ended(self, lane: Lane) -> None:
        try:
            await lane.run(lambda: self._part(lane.connection))
        finally:
            await lane.close()

    def _part(self, connection: Connection) -> None:
        try:
            if self._parting is not None:
                self._parting(connection)
        finally:
            connection.close()


async def to_the_end(work: Coroutine[object, object, object]) -> None:
    """Waits for the end of `work`, even where this is cancelled: what is half open or half closed would be lost."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # Whoever would hear of it is gone: it is not worth a complaint in the log.
        raise
    await task
