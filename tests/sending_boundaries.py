"""What a sender in the proof of sending is told, and the boundaries that it passes.

A boundary is a place at which dying makes a difference: before and after every commit of the store, every request to a
server, and every time that new tokens are kept. Between two of them nothing changes that outlives the process.
"""

import json
import os
import resource
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec

from copydesk.model.delivery import Account, Intent, Made
from copydesk.network.transport import GuardedTransport
from copydesk.posting.fake import FakePlatform, FakePost, FakeServer
from copydesk.posting.platform import Picture
from copydesk.store.delivery_changes import Happened
from desk_fixtures import NOW

DUE = NOW + timedelta(minutes=1)
"""When the drafts of these desks are due, and the senders' time begins."""


class Order(msgspec.Struct, frozen=True):
    """What one sender, or several at once, shall do."""

    home: str
    platform: str
    server: str = ""
    """The file of a FakeServer."""
    keyed: bool = True
    """Whether a FakeServer knows keys."""
    ahead: float = 0.0
    """Seconds since DUE."""
    kill_at: int = 0
    """Die at this boundary; 0 for none."""
    kill_on: str = ""
    """Die at the first boundary of this name; "" for none."""
    kill_after: float = 0.0
    """Die so many seconds after the beginning; 0 for never."""
    full_from: int = 0
    """From this commit on the disk is full; 0 for never."""
    faults: tuple[str, ...] = ()
    """Of the FakeServer, one for each request; "" for none."""
    wrong: str = ""
    """What is done wrongly: one of MUTANTS."""
    senders: int = 1


class Boundaries:
    """Counts what is passed and says it to `says`; dies at one."""

    def __init__(self, says: int, order: Order) -> None:
        self.on = False
        self._says = says
        self._order = order
        self._passed = 0
        self._commits = 0

    def reach(self, name: str) -> None:
        """Here is one."""
        if not self.on:
            return
        self._passed += 1
        os.write(self._says, f"{name}\n".encode())
        if self._passed == self._order.kill_at or name == self._order.kill_on:
            os.kill(os.getpid(), signal.SIGKILL)

    @asynccontextmanager
    async def around(self, name: str) -> AsyncIterator[None]:
        """One before and one after; none after an error."""
        self.reach(f"before {name}")
        yield
        self.reach(f"after {name}")

    def committing(self, write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """The same way into the store, with boundaries."""

        async def watched(work: Callable[..., Any], *args: object, **kwargs: object) -> Any:
            self._commits += self.on
            full = self.on and 0 < self._order.full_from <= self._commits
            async with self.around(_named(work, args)):
                if not full:
                    return await write(work, *args, **kwargs)
                with full_disk(Path(self._order.home)):
                    return await write(work, *args, **kwargs)

        return watched


def _named(work: Callable[..., Any], args: Sequence[object]) -> str:
    """What a commit is called: by its function, and by what happened to a delivery."""
    what = [each.what for each in args if isinstance(each, Happened)]
    name = {"mine": "pick up"}.get(work.__name__, work.__name__.strip("_").replace("_", " "))
    return " ".join([name, *what])


@contextmanager
def full_disk(home: Path) -> Iterator[None]:
    """No file becomes longer than the database's log is now: the system refuses to write another commit to it."""
    log = home / "copydesk.db-wal"
    size = log.stat().st_size if log.exists() else 0
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


class WatchedTransport(httpx.AsyncBaseTransport):
    """The network, with boundaries around each request."""

    def __init__(self, boundaries: Boundaries) -> None:
        self._boundaries = boundaries
        self._inner = GuardedTransport(allow_private=True, concurrency=4)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Ask."""
        name = request.url.path.rsplit("/" if "/xrpc/" not in request.url.path else ".", 1)[1]
        async with self._boundaries.around(f"{request.method} {name}"):
            return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class WatchedFake(FakePlatform):
    """A platform that is all here, with boundaries around each request."""

    boundaries: Boundaries

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Make the next post."""
        async with self.boundaries.around("send"):
            return await super().send(account, intent, made, pictures)

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: Any) -> Made | None:
        """Look for it."""
        async with self.boundaries.around("look up"):
            return await super().look_up(account, intent, made, since)


class LateServer(FakeServer):
    """Keeps in a file what is still on its way, so that it outlives whoever sent it."""

    def hold_back(self, account: str, key: str, text: str, parent: str | None) -> None:
        """A request that arrives with `arrive_late`."""
        assert self._path is not None
        late = FakePost(id="", account=account, key=key, text=text, parent=parent)
        with late_file(self._path).open("ab") as file:
            file.write(msgspec.json.encode(late) + b"\n")


def late_file(path: Path) -> Path:
    """Where the requests to a FakeServer are that are still on their way."""
    return path.with_suffix(".late")


def arrive_late(path: Path, *, keyed: bool) -> None:
    """What was on its way to the FakeServer is there now."""
    late = late_file(path)
    server = FakeServer(path, knows_keys=keyed)
    for line in late.read_bytes().splitlines() if late.exists() else ():
        post = msgspec.json.decode(line, type=FakePost)
        server.take(post.account, post.key, post.text, post.parent)
    late.unlink(missing_ok=True)


class FileSecrets:
    """Secrets in a file that is whole whenever somebody is killed."""

    def __init__(self, path: Path, boundaries: Boundaries | None = None) -> None:
        self._path = path
        self._boundaries = boundaries

    async def read(self, account: Account) -> Mapping[str, str]:
        """The secrets of the one account."""
        return dict(json.loads(self._path.read_bytes()))

    async def keep(self, account: Account, secrets: Mapping[str, str]) -> None:
        """Replace them."""
        assert self._boundaries is not None
        async with self._boundaries.around("keep secrets"):
            new = self._path.with_suffix(f".{os.getpid()}")
            new.write_text(json.dumps(dict(secrets)), encoding="utf-8")
            new.replace(self._path)
