"""Sends what is due of a desk in processes of their own, each killed at the moment that the test chose.

As a script it reads a line with an Order, forks a process for each sender of it, and prints how they ended. What a
sender needs is imported by then, so that each one takes milliseconds to start.

A boundary is a place at which dying makes a difference: before and after every commit of the store, every request to a
server, and every time that new tokens are kept. Between two of them nothing changes that outlives the process.
"""

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
from msgspec.structs import replace

import copydesk.desk.posting
import copydesk.desk.schedule
from copydesk.desk import Desk, open_desk
from copydesk.desk import sending as desk_sending
from copydesk.errors import StoreError
from copydesk.model.delivery import Account, Intent, Made
from copydesk.network.transport import GuardedTransport
from copydesk.posting import delivery as may
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.fake import FakePlatform, FakePost, FakeServer, Fault
from copydesk.posting.http import Caller
from copydesk.posting.mastodon import Mastodon
from copydesk.posting.platform import Picture, Platform, Trust
from copydesk.store.deliveries import Happened
from copydesk.store.ids import new_id
from desk_fixtures import NOW, settings_at

__all__ = ["copydesk"]
KILLED, NO_STORE, UNEXPECTED = -signal.SIGKILL, 3, 70
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


class Ended(msgspec.Struct, frozen=True):
    """How a sender ended."""

    code: int
    """KILLED, NO_STORE where the disk was full, 0."""
    passed: tuple[str, ...]
    """The boundaries that it reached, in order."""
    took: float = 0.0
    """Seconds from its beginning to its end, where it came to that."""


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


def platform_of(order: Order, boundaries: Boundaries, transport: httpx.AsyncBaseTransport) -> Platform:
    """The platform that is sent to."""

    def clock() -> Any:
        return _now(order)

    secrets = FileSecrets(Path(order.home) / "secrets.json", boundaries)
    if order.platform == "bluesky":
        return Bluesky(Caller(transport), secrets, clock=clock)
    if order.platform == "mastodon":
        return Mastodon(Caller(transport), secrets, clock=clock)
    server = LateServer(Path(order.server), knows_keys=order.keyed)
    server.faults.extend(Fault(each) if each else None for each in order.faults)
    fake = WatchedFake(server, trust=Trust(keyed=order.keyed))
    fake.boundaries = boundaries
    return fake


def _now(order: Order) -> Any:
    return DUE + timedelta(seconds=order.ahead)


def send(order: Order, says: int) -> None:
    """Pick up what is due, and send it."""
    boundaries = Boundaries(says, order)

    async def work() -> None:
        transport = WatchedTransport(boundaries)
        platform = platform_of(order, boundaries, transport)
        if order.wrong:
            MUTANTS[order.wrong](platform)
        settings, given = settings_at(Path(order.home)), {order.platform: platform}
        async with open_desk(settings, clock=lambda: _now(order), platforms=given) as desk:
            try:
                await _watched(desk, boundaries, order)
            finally:
                boundaries.on = False
        await transport.aclose()

    asyncio.run(work())


async def _watched(desk: Desk, boundaries: Boundaries, order: Order) -> None:
    engines = desk.ground.engines
    for way in ("write", "write_through", "write_each"):
        setattr(engines, way, boundaries.committing(getattr(engines, way)))
    boundaries.on = True
    if order.kill_after:
        threading.Timer(order.kill_after, os.kill, (os.getpid(), signal.SIGKILL)).start()
    began = time.monotonic()
    await desk.schedule.picking_up.pick_up()
    await desk.posting.send_due()
    os.write(boundaries._says, f"took {time.monotonic() - began}\n".encode())


def _new_keys(platform: Platform) -> None:
    """A new key for each attempt: what was settled before is forgotten."""

    def forgetting(do: Any) -> Any:
        async def done(errand: Any, kept: Any) -> Any:
            material = await desk_sending.material_of(errand._ground, kept, platform.limits)
            fresh = platform.render(material.post, errand._account.details, new_id(NOW))
            return await do(errand, replace(kept, intent=fresh))

        return done

    errand: Any = desk_sending._Errand
    errand._send, errand._look = forgetting(errand._send), forgetting(errand._look)


def _no_read_back(platform: Any) -> None:
    """What nobody looked for is taken as absent."""

    async def nothing(*_: object) -> None:
        return None

    platform.look_up = nothing


def _no_quiet_period(platform: Any) -> None:
    """What is not there yet is taken as absent."""
    trust = platform.trust
    platform.trust = lambda account: replace(trust(account), quiet=timedelta(0))
    may.BETWEEN_LOOKS = timedelta(0)


def _done_before_sent(platform: Any) -> None:
    """That it is sent is kept before it is, and what comes of it is nobody's business."""

    async def send_later(errand: Any, kept: Any) -> Any:
        material = await desk_sending.material_of(errand._ground, kept, platform.limits)
        intent = kept.intent or await errand._settled(kept, material)
        begun = may.sent_now(kept.progress, errand._ground.clock(), steps=len(intent.steps))
        made = Made(ids=intent.steps[len(begun.made)].expects or ("?",), urls=("https://fake.example/?",))
        after = await errand._keep(kept, may.made_step(begun, made), "made")
        with suppress(Exception):
            await platform.send(errand._account.details, intent, begun.made, material.pictures)
        return after

    wrong: Any = desk_sending._Errand
    wrong._send = send_later


MUTANTS: Mapping[str, Callable[[Any], None]] = {
    "new keys": _new_keys,
    "no read-back": _no_read_back,
    "no quiet period": _no_quiet_period,
    "done before sent": _done_before_sent,
}


def serve() -> None:
    """Do what the lines on standard input say."""
    for line in sys.stdin:
        order = msgspec.json.decode(line, type=Order)
        forked = [_fork(order) for _ in range(order.senders)]
        ended = [_outcome(child, hears) for child, hears in forked]
        print(msgspec.json.encode(ended).decode(), flush=True)


def _fork(order: Order) -> tuple[int, int]:
    """Start a sender; its process id, and where it says what it passes."""
    hears, says = os.pipe()
    child = os.fork()
    if child:
        os.close(says)
        return child, hears
    code = 0
    try:
        send(order, says)
    except StoreError:
        code = NO_STORE
    except BaseException:
        traceback.print_exc()
        code = UNEXPECTED
    os._exit(code)


def _outcome(child: int, hears: int) -> Ended:
    with os.fdopen(hears, encoding="utf-8") as file:
        said = file.read().splitlines()
    _, status = os.waitpid(child, 0)
    took = [float(each.removeprefix("took ")) for each in said if each.startswith("took ")]
    passed = tuple(each for each in said if not each.startswith("took "))
    return Ended(os.waitstatus_to_exitcode(status), passed, took[0] if took else 0.0)


class Doom:
    """The script, for the test."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    async def send(self, order: Order) -> list[Ended]:
        """Let one or more senders do it; how they ended."""
        return await asyncio.to_thread(self._send, order)

    def _send(self, order: Order) -> list[Ended]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(msgspec.json.encode(order).decode() + "\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=list[Ended])


@contextmanager
def doom() -> Iterator[Doom]:
    """Start the script, and end it."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Doom(process)
        assert process.stdin
        process.stdin.close()


if __name__ == "__main__":
    serve()
