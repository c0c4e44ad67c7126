"""SQLite connections, each owned by a thread of its own and opened on first use.

The file they open is private to its owner, on a local disk, and still the one that was opened first.
"""

import asyncio
import errno
import logging
import os
import shutil
import sqlite3
import tempfile
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import aiosqlite
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from copydesk.errors import StoreCorruptError, StoreError, StoreMissingError
from copydesk.store.database_file import restore_hint
from copydesk.store.raw_sql import dbapi_connection

log = logging.getLogger("copydesk.store")
_NETWORK_FILE_SYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ncpfs", "afs", "fuse.sshfs"}

T = TypeVar("T")


def is_read_only(path: Path) -> bool:
    """Return True if there is a database at `path` which this process can read, but not write.

    To write, SQLite needs the folder too: it creates the log there.
    """
    return os.access(path, os.R_OK) and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def create_private_file(path: Path) -> None:
    """Create an empty database and its folder, private to their owner, if missing. Raise StoreError if that fails."""
    with _folder_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists():
            _check_writable(path)
        else:
            _create_empty_database(path)


def create_private_folder(path: Path) -> None:
    """Create a folder, private to its owner, if missing. Raise StoreError if that fails."""
    with _folder_errors(path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextmanager
def _folder_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"Cannot open or write {path}: {error.strerror}.", hint="Check the owner of the file and its folder."
        ) from error


def _check_writable(path: Path) -> None:
    """Raise OSError if this process cannot write the file.

    Not tried by opening it: closing a file releases the locks of all connections of this process to it.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(path, os.R_OK | os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _create_empty_database(path: Path) -> None:
    """Create the database under its final name in one step: a file of 0 bytes there is damage, and not a new desk."""
    wal = path.with_name(f"{path.name}-wal")
    # In this order: a process that creates the database at the same time brings the log into being after it.
    if wal.exists() and wal.stat().st_size and not path.exists():
        raise StoreCorruptError(
            f"{path} is missing, but its log {wal.name} is there; nothing changed.", hint=restore_hint(path)
        )
    content = _empty_database()
    # SQLite gives the journal files it creates next to it the same mode.
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            # Commits are synced to the log beside it: a power cut must not leave that beside an empty file.
            os.fsync(descriptor)
        link_or_copy(part, path)
    except FileExistsError:
        pass  # another process was faster
    finally:
        part.unlink(missing_ok=True)


def _empty_database() -> bytes:
    """Return the content of a database without tables."""
    with closing(sqlite3.connect(":memory:")) as connection:
        # Only possible while there are no tables; see `copydesk.store.retention`.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA user_version = 0")  # writes the header
        return connection.serialize()


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name. Raise FileExistsError if that exists."""
    try:
        target.hardlink_to(source)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with source.open("rb") as content, os.fdopen(descriptor, "wb") as copy:
            shutil.copyfileobj(content, copy)
            copy.flush()
            os.fsync(copy.fileno())


def sync_folder(folder: Path) -> None:
    """Make new names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reject_network_file_system(path: Path) -> None:
    """Raise StoreError if `path` is on a network file system, as far as the system tells."""
    fs_type = file_system_type(path, _mounts())
    if fs_type in _NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"{path} is on a network file system ({fs_type}), which can corrupt the database.",
            hint="Choose a folder on a local disk.",
        )


def _mounts() -> str:
    try:
        return Path("/proc/mounts").read_text(errors="replace")
    except OSError:
        return ""


def file_system_type(path: Path, mounts: str) -> str:
    """Return the type of the file system that holds `path`, given the text of /proc/mounts; empty if unknown."""
    folders = {str(folder) for folder in (path.resolve(), *path.resolve().parents)}
    best_match = ("", "")
    for line in mounts.splitlines():
        mount_point, fs_type = line.split(" ")[1:3]
        # /proc/mounts writes a space as an octal escape.
        mount_point = mount_point.replace("\\040", " ")
        # The longest mount point wins; of equals the later one, which hides the earlier.
        if mount_point in folders and len(mount_point) >= len(best_match[0]):
            best_match = (mount_point, fs_type)
    return best_match[1]


class Location(Protocol):
    """Where a database is."""

    def check(self) -> None:
        """Raise StoreError if the database is not there any more."""


class FileIdentity:
    """Checks that a path still leads to the file it led to at the first check.

    SQLite goes on using a file that was moved or deleted, and whatever is written to it is lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._original: tuple[int, int] | None = None
        """Device and inode number."""

    def check(self) -> None:
        """Raise StoreMissingError if the path leads to another file, or to none."""
        try:
            stat = self._path.stat()
        except OSError:
            current = None
        else:
            current = stat.st_dev, stat.st_ino
        self._original = self._original or current
        if current != self._original:
            raise StoreMissingError


class Caller:
    """The task that awaits a unit of work.

    `is_gone` is called in the worker thread: a unit still queued when its task is cancelled must not run.
    """

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        # Compared with the value at submission: clean-up code of an already cancelled task may still submit work.
        self._task, self._cancellations = task, task.cancelling()
        self._has_left = False

    def leave(self) -> None:
        """Record that nobody awaits the unit any more: a timeout takes the cancellation of the task back."""
        self._has_left = True

    def is_gone(self) -> bool:
        """Return True if the caller was cancelled since it submitted the unit."""
        return self._has_left or self._task.cancelling() != self._cancellations


class _ThreadedConnection(aiosqlite.Connection):
    """An open aiosqlite connection and the thread it lives in.

    The SQLAlchemy connection on top of it is used only inside the thread.
    """

    def __init__(self, engine: Engine, file: Location) -> None:
        super().__init__(self._open, iter_chunk_size=64)
        self._file = file
        # A thread that hangs in a statement must not keep the process from exiting.
        self._thread.daemon = True
        self._engine = engine

    def join(self) -> None:
        """Wait until the thread has ended, which it does after a failed open."""
        # The system may have refused to start it.
        if self._thread.is_alive():
            self._thread.join()

    def _open(self) -> sqlite3.Connection:
        self._file.check()
        self.connection = self._engine.connect()
        return dbapi_connection(self.connection)

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in the thread and return its result. Skip it if the caller was cancelled before it started."""
        caller = Caller()

        def run_unless_cancelled() -> T | None:
            return None if caller.is_gone() else work()

        try:
            return cast("T", await self._execute(run_unless_cancelled))  # type: ignore[no-untyped-call]
        except asyncio.CancelledError:
            caller.leave()
            raise


@contextmanager
def _logged_errors() -> Iterator[None]:
    """Log errors of the database instead of raising them."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        log.warning("Closing the database failed: %s", error)


class ConnectionThread:
    """One SQLite connection and the thread that owns it. Units of work run in order.

    Waiting units queue in the thread itself, which goes from one to the next without the event loop: the loop may be
    busy for longer than the work takes. `on_close` is called with the connection as its last unit of work.
    """

    def __init__(self, engine: Engine, file: Location, *, on_close: Callable[[Connection], None] | None = None) -> None:
        self._engine = engine
        self._file = file
        self._on_close = on_close
        self._connection: _ThreadedConnection | None = None
        self._state_lock = asyncio.Lock()
        """Held while the connection is opened or closed."""
        self._was_used = False
        """Set by `run`, cleared by `close_idle`."""
        self._pending = 0
        """Units of work that are running or waiting."""
        self._started_at: float | None = None
        """Time at which the unit that is running was started; None if there is none. Set in the thread."""

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    def busy_seconds(self) -> float:
        """Return for how long the unit has been running that is running now; 0 without one."""
        started_at = self._started_at
        return 0.0 if started_at is None else time.monotonic() - started_at

    async def run(self, execute: Callable[[Connection, Any], T], work: Any) -> T:
        """Return `execute(connection, work)`, called in the thread. First come, first served."""
        # Before the first await, during which `close_idle` may run.
        self._was_used = True
        self._pending += 1
        try:
            # Always take the lock, even when the connection is open: callers that wait for it came first.
            opened = await self._open()
            return await opened.run(lambda: self._execute_checked(execute, opened.connection, work))
        finally:
            self._pending -= 1

    def _execute_checked(self, execute: Callable[[Connection, Any], T], connection: Connection, work: Any) -> T:
        # Checked in the worker thread: the thread that handles keys must not touch the disk.
        self._started_at = time.monotonic()
        try:
            self._file.check()
            return execute(connection, work)
        finally:
            self._started_at = None

    async def _open(self) -> _ThreadedConnection:
        async with self._state_lock:
            if self._connection is None:
                await shield_to_completion(self._connect())
            assert self._connection is not None
            return self._connection

    async def _connect(self) -> None:
        # aiosqlite opens the connection when it is awaited, in its new thread.
        opened = _ThreadedConnection(self._engine, self._file)
        try:
            await opened
        except BaseException:
            # Its thread ends with a message to the loop, which may be closed soon.
            await asyncio.to_thread(opened.join)
            raise
        # Only once it is open: after a failed open the next caller starts over.
        self._connection = opened

    async def close_idle(self) -> bool:
        """Close the connection if it was not used since the last call. Return True if it was closed."""
        unused = self.is_open and not self._was_used and not self._pending
        self._was_used = False
        if unused:
            await shield_to_completion(self.close())
        return unused

    async def close(self) -> None:
        """Close the connection after the units of work that are running or waiting."""
        async with self._state_lock:
            opened, self._connection = self._connection, None
            if opened is None:
                return
            try:
                await opened.run(lambda: self._close_connection(opened.connection))
            finally:
                await opened.close()

    def _close_connection(self, connection: Connection) -> None:
        # An error here concerns no unit of work: each of them was committed, or has failed with an error of its own.
        with _logged_errors():
            if self._on_close is not None:
                self._on_close(connection)
        with _logged_errors():
            connection.close()


class ConnectionPool:
    """A fixed number of connections to one file.

    One of them does all the work while each unit is short, however many wait. Another one helps when every connection
    in use has been at its unit for `PATIENCE`: threads that run at the same time compete for the interpreter lock, and
    three more of them made short reads take twice as long.
    """

    PATIENCE = 0.002
    """Seconds; short reads take less."""

    def __init__(self, engine: Engine, size: int, file: Location) -> None:
        self.threads = tuple(ConnectionThread(engine, file) for _ in range(size))
        self._idle = list(self.threads)
        """A stack: connections beyond the number in use at once are never opened, or become idle and are closed."""
        self._waiting: deque[asyncio.Future[ConnectionThread]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        """Runs while units wait."""
        self._all_idle = asyncio.Event()

    async def run(self, execute: Callable[[Connection, Any], T], work: Any) -> T:
        """Return `execute(connection, work)`, called in the thread of a free connection. First come, first served."""
        thread = self._take_idle() if len(self._idle) == len(self.threads) else await self._wait()
        try:
            return await thread.run(execute, work)
        finally:
            self._give_back(thread)

    def _take_idle(self) -> ConnectionThread:
        # A unit whose caller was cancelled may still be running: rather one that has nothing to do.
        thread = next((thread for thread in reversed(self._idle) if not thread.busy_seconds()), self._idle[-1])
        self._idle.remove(thread)
        return thread

    async def _wait(self) -> ConnectionThread:
        waiter: asyncio.Future[ConnectionThread] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._start_timer()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._give_back(waiter.result())
            raise

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.PATIENCE, self._help)

    def _help(self) -> None:
        """Let another connection work for the units that wait, if those in use do not get on."""
        self._timer = None
        if self._idle and self._is_held_up():
            self._give_back(self._take_idle())
        if self._waiting:
            self._start_timer()

    def _is_held_up(self) -> bool:
        """Return True if no connection will be free soon."""
        return all(thread.busy_seconds() >= self.PATIENCE for thread in self.threads if thread not in self._idle)

    def _give_back(self, thread: ConnectionThread) -> None:
        """Give the thread to the unit that has waited longest, if there is one and no other connection will do."""
        self._idle.append(thread)
        while self._waiting and self._is_held_up():
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(self._take_idle())
                return
        if len(self._idle) == len(self.threads):
            self._all_idle.set()

    async def close_idle(self) -> bool:
        """Close the connections that were not used since the last call. Return True if there were any."""
        return any([await thread.close_idle() for thread in self.threads])

    async def close(self) -> None:
        """Close every connection after the units of work that were submitted before."""
        while len(self._idle) < len(self.threads):
            self._all_idle.clear()
            await self._all_idle.wait()
        # Held until all are closed: a unit that is submitted meanwhile opens one again.
        self._idle, held = [], self._idle
        try:
            for thread in self.threads:
                await thread.close()
        finally:
            for thread in held:
                self._give_back(thread)


async def shield_to_completion(coro: Coroutine[object, object, object]) -> None:
    """Await `coro` to its end even if cancelled, then re-raise the cancellation.

    For opening and closing: a connection that is half open or half closed would leak.
    """
    task = asyncio.ensure_future(coro)
    was_cancelled = False
    # `asyncio.shield` would return at once on cancellation; wait for the task instead.
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            was_cancelled = True
    if not was_cancelled:
        task.result()
        return
    if not task.cancelled():
        task.exception()  # Mark the exception as retrieved: nobody is left to handle it, and asyncio would log it.
    raise asyncio.CancelledError
