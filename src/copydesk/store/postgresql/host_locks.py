"""One request at a time to a host, over all processes: advisory locks of the sessions that asked for them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from typing import Any, Final

import psycopg

from copydesk.store.connection_pool import shield_to_completion
from copydesk.store.postgresql.connection import connect_errors

HOST_LOCK_CLASS: Final = 1668247674
"""First number of the locks; the second one is a hash of the host."""
IDLE_TIMEOUT: Final = 400
"""Seconds, longer than a request may take. The server then ends a session, and with it the locks of a process that was
suspended, for which all others would wait."""
MAX_WAITING: Final = 4
"""Sessions that wait for hosts, or hold one for which they had to wait."""
RELEASE_TIMEOUT: Final = 10
"""Seconds to release a host, which nobody can cancel; then its session is closed, which releases others of it, too."""
_TRY: Final = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"
_WAIT: Final = "SELECT pg_advisory_lock(%s, hashtext(%s))"
_UNLOCK: Final = "SELECT pg_advisory_unlock(%s, hashtext(%s))"


class HostLocks:
    """The locks of this process. `translated_errors` turns errors of the server into those that callers expect."""

    def __init__(self, url: str, password: str, translated_errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._connect = partial(
            psycopg.AsyncConnection.connect,
            url,
            password=password or None,
            autocommit=True,
            connect_timeout=10,
            application_name="copydesk hosts",
        )
        self._translated_errors = translated_errors
        self._session: psycopg.AsyncConnection[Any] | None = None
        """For hosts that are free when they are asked for; opened on first use."""
        self._is_used = False
        """Set with each host, cleared by `close_idle`."""
        self._opening = asyncio.Lock()
        self._held: set[str] = set()
        """Hosts that are held, or asked for, in that session."""
        self._waiting = asyncio.Semaphore(MAX_WAITING)

    @asynccontextmanager
    async def hold(self, host: str) -> AsyncIterator[None]:
        """Hold `host` for the block. Raise StoreError if the server cannot be reached."""
        # The server would give a session a lock that it has already.
        if host not in self._held:
            self._held.add(host)
            self._is_used = True
            may_be_held = True
            try:
                with self._translated_errors():
                    may_be_held = await self._try_lock(host)
                if may_be_held:
                    yield
                    return
            finally:
                # Also if cancelled, or before the response: nobody else could ever have the host.
                await shield_to_completion(self._release(host, may_be_held=may_be_held))
        # The server keeps the order of the sessions that wait, so that none with many requests holds up the others.
        async with self._waiting:
            with self._translated_errors():
                session = await self._open_session()
            async with session:
                with self._translated_errors():
                    await session.execute(_WAIT, (HOST_LOCK_CLASS, host))
                yield

    async def close_idle(self) -> bool:
        """Close the session if it was not used since the last call. Return True if it was open."""
        was_used, self._is_used = self._is_used, False
        if was_used or self._held or self._session is None or self._session.closed:
            return False
        await self._session.close()
        return True

    async def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()

    async def _try_lock(self, host: str) -> bool:
        session = await self._open_shared()
        try:
            cursor = await session.execute(_TRY, (HOST_LOCK_CLASS, host))
        except psycopg.OperationalError:
            if not session.closed:
                raise
            # It was idle for too long, or the server was restarted.
            session = await self._open_shared()
            cursor = await session.execute(_TRY, (HOST_LOCK_CLASS, host))
        row = await cursor.fetchone()
        return row is not None and bool(row[0])

    async def _release(self, host: str, *, may_be_held: bool) -> None:
        session = self._session
        # The end of a session has released its locks.
        if may_be_held and session is not None and not session.closed:
            try:
                async with asyncio.timeout(RELEASE_TIMEOUT):
                    await session.execute(_UNLOCK, (HOST_LOCK_CLASS, host))
            except (psycopg.Error, TimeoutError):
                await session.close()
        self._held.discard(host)

    async def _open_shared(self) -> psycopg.AsyncConnection[Any]:
        async with self._opening:
            if self._session is None or self._session.closed:
                self._session = await self._open_session()
            return self._session

    async def _open_session(self) -> psycopg.AsyncConnection[Any]:
        with connect_errors():
            session = await self._connect()
        try:
            # Those of the role may be shorter than others take for their requests.
            await session.execute("SET statement_timeout = 0")
            await session.execute("SET lock_timeout = 0")
            await session.execute(f"SET idle_session_timeout = '{IDLE_TIMEOUT}s'")
        except BaseException:  # a cancellation, too
            await session.close()
            raise
        return session
