"""The two ways into the database: one connection that writes, four that read."""

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from copydesk.errors import StoreError
from copydesk.store.faults import translated

BUSY_TIMEOUT = 5.0
"""Seconds to wait for another process's transaction."""

_PRAGMAS = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA temp_store = MEMORY;
PRAGMA journal_size_limit = 67108864;
"""
_ON_CLOSE = """
PRAGMA analysis_limit = 400;
PRAGMA optimize;
"""
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ncpfs", "afs", "fuse.sshfs"}


class Engines:
    """An open database. Units of work go through `writing` and `reading`; `close` ends it."""

    def __init__(self, path: Path, busy_timeout: float) -> None:
        self.path = path
        self._busy_timeout = busy_timeout
        self._write = _write_engine(path, busy_timeout, foreign_keys=True)
        self._read = _read_engine(path, busy_timeout)
        self._written = False

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """One transaction that holds the write lock from its start: committed at the end, rolled back on an error.

        Never wait for the network inside it, and never open another one inside it: there is one write connection,
        handed out in the order of asking. Raises StoreBusyError, StoreFullError, StoreDamagedError, StoreError.
        """
        with translated(self.path):
            async with self._write.begin() as connection:
                self._written = True
                yield connection

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection that cannot write and holds no snapshot: each statement sees what is committed by then.

        Keep it short; there are four. Raises as `writing` does.
        """
        with translated(self.path):
            async with self._read.connect() as connection:
                yield connection

    @asynccontextmanager
    async def upgrading(self) -> AsyncIterator[AsyncConnection]:
        """As `writing`, on a connection of its own with foreign keys off.

        An upgrade builds tables anew; with them on, dropping the old table deletes every row that points at it.
        They cannot be switched inside a transaction.
        """
        engine = _write_engine(self.path, self._busy_timeout, foreign_keys=False)
        try:
            with translated(self.path):
                async with engine.begin() as connection:
                    yield connection
        finally:
            await engine.dispose()

    async def close(self) -> None:
        """Lets SQLite refresh its statistics, then ends every connection and its thread."""
        try:
            if self._written:
                # It does not wait for another process, and is worth no error.
                with suppress(StoreError):
                    await self._optimize()
        finally:
            await self._read.dispose()
            await self._write.dispose()

    async def _optimize(self) -> None:
        with translated(self.path):
            async with self._write.connect() as connection:
                await connection.run_sync(lambda sync: _run_script(sync.connection.dbapi_connection, _ON_CLOSE))


class _Connection(sqlite3.Connection):
    """Gives its lock back when it is closed.

    SQLite keeps a closed connection alive, with its transaction, for as long as a cursor of it is: after a
    cancellation that is until Python collects the garbage, and until then nobody could write.
    """

    def close(self) -> None:
        """Roll back what is open, and close."""
        with suppress(sqlite3.Error):
            self.rollback()
        super().close()


def open_engines(path: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> Engines:
    """The database at `path`; file and folder are made, for their owner alone, where they are not there.

    Connections are opened when they are first needed. `busy_timeout` is how many seconds to wait for another
    process. StoreError for a place that cannot hold a database.
    """
    path = path.absolute()
    _make_private(path)
    _refuse_network(path)
    return Engines(path, busy_timeout)


def _write_engine(path: Path, busy_timeout: float, *, foreign_keys: bool) -> AsyncEngine:
    engine = _engine(path, busy_timeout, pool_size=1)
    event.listen(engine.sync_engine, "begin", _begin_immediate)
    switch = f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'};"
    _on_connect(engine, _PRAGMAS + switch)
    return engine


def _read_engine(path: Path, busy_timeout: float) -> AsyncEngine:
    engine = _engine(
        path,
        busy_timeout,
        pool_size=4,
        isolation_level="AUTOCOMMIT",
        # There is nothing to roll back, and each rollback is a crossing to the connection's thread.
        pool_reset_on_return=None,
        skip_autocommit_rollback=True,
    )
    _on_connect(engine, _PRAGMAS + "PRAGMA query_only = ON;")
    return engine


def _engine(path: Path, busy_timeout: float, **options: Any) -> AsyncEngine:
    # isolation_level None keeps the driver from beginning transactions by itself, which leave a released savepoint
    # and every CREATE TABLE behind after a rollback: each BEGIN is ours.
    return create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(path)),
        connect_args={"timeout": busy_timeout, "isolation_level": None, "factory": _Connection},
        max_overflow=0,
        **options,
    )


def _begin_immediate(connection: Connection) -> None:
    # A deferred transaction that reads and then writes fails at once, without waiting, when another one
    # committed in between.
    # The driver's own execute is one crossing to the connection's thread; through a cursor it would be three.
    driver: Any = connection.connection.dbapi_connection
    driver.run_async(lambda own: own.execute("BEGIN IMMEDIATE"))


def _on_connect(engine: AsyncEngine, script: str) -> None:
    event.listen(engine.sync_engine, "connect", lambda connection, _record: _run_script(connection, script))


def _run_script(connection: Any, script: str) -> None:
    """Runs `script` in one crossing to the connection's thread."""

    async def run(driver: Any) -> None:
        await (await driver.executescript(script)).close()

    connection.run_async(run)


def _make_private(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives the files that it adds beside this one the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(
            f"{path} cannot be opened or written: {error.strerror}.", hint="Check who owns it and its folder."
        ) from error


def _refuse_network(path: Path) -> None:
    kind = file_system(path, _mounts())
    if kind in _NETWORK:
        raise StoreError(
            f"{path} is on a network file system ({kind}), where a database gets damaged.",
            hint="Choose a folder on a local disk.",
        )


def _mounts() -> str:
    try:
        return Path("/proc/mounts").read_text(errors="replace")
    except OSError:
        return ""


def file_system(path: Path, mounts: str) -> str:
    """The type of the file system that `path` is on, by the text of /proc/mounts; empty when not known."""
    folders = {str(folder) for folder in (path.resolve(), *path.resolve().parents)}
    found = ("", "")
    for line in mounts.splitlines():
        place, kind = line.split(" ")[1:3]
        place = place.replace("\\040", " ")
        if place in folders and len(place) >= len(found[0]):
            found = (place, kind)
    return found[1]
