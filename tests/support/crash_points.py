"""Orders for the senders of the sending proof, and the crash points that they pass.

A crash point is a place where being killed makes a difference: before and after every commit, every request to a
server, and every save of new tokens. Nothing between two of them outlives the process.
"""

import json
import os
import resource
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec

from copydesk.model.delivery import Account, Intent, StepResult
from copydesk.network.transport import GuardedTransport
from copydesk.posting.fake import FakePlatform, FakePost, FakeServer
from copydesk.posting.platform import PostImage
from copydesk.store.deliveries import DeliveryUpdate
from desk_fixtures import NOW

DUE = NOW + timedelta(minutes=1)
"""Due time of the drafts, and start of the senders' clock."""


class Order(msgspec.Struct, frozen=True):
    """Instructions for one sender, or several concurrent ones."""

    home: str
    platform: str
    variables: Mapping[str, str] = {}
    """The environment variables that name the desk's database."""
    server: str = ""
    """The file of a FakeServer."""
    keyed: bool = True
    """The FakeServer honours idempotency keys."""
    ahead: float = 0.0
    """Seconds of the senders' clock since DUE."""
    kill_at: int = 0
    """Die at this crash point, counted from 1; 0 for never."""
    kill_on: str = ""
    """Die at the first crash point of this name; "" for never."""
    kill_after: float = 0.0
    """Die this many seconds after the start; 0 for never."""
    full_from: int = 0
    """The disk is full from this commit on, counted from 1; 0 for never."""
    faults: tuple[str, ...] = ()
    """Faults of the FakeServer, one per request; "" for none."""
    wrong: str = ""
    """The mutant to use: one of MUTANTS."""
    senders: int = 1


class CrashPoints:
    """Counts crash points, writes their names to `status_fd`, and dies at the ordered one."""

    def __init__(self, status_fd: int, order: Order) -> None:
        self.enabled = False
        self._status_fd = status_fd
        self._order = order
        self._count = 0
        self._commits = 0

    def reach(self, name: str) -> None:
        """Pass a crash point."""
        if not self.enabled:
            return
        self._count += 1
        os.write(self._status_fd, f"{name}\n".encode())
        if self._count == self._order.kill_at or name == self._order.kill_on:
            os.kill(os.getpid(), signal.SIGKILL)

    @asynccontextmanager
    async def around(self, name: str) -> AsyncIterator[None]:
        """Pass a crash point before and one after the block; none after an error."""
        self.reach(f"before {name}")
        yield
        self.reach(f"after {name}")

    def wrap_write(self, write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """Wrap a write method of the store with crash points."""

        async def wrapped(work: Callable[..., Any], *args: object, **kwargs: object) -> Any:
            self._commits += self.enabled
            disk_full = self.enabled and 0 < self._order.full_from <= self._commits
            async with self.around(_commit_name(work, args)):
                if not disk_full:
                    return await write(work, *args, **kwargs)
                with full_disk(self._order):
                    return await write(work, *args, **kwargs)

        return wrapped


def _commit_name(work: Callable[..., Any], args: Sequence[object]) -> str:
    """Return a commit's name, from its function and the delivery event."""
    events = [argument.event for argument in args if isinstance(argument, DeliveryUpdate)]
    # Drafts are dispatched in groups, by a function without a name.
    name = {"<lambda>": "dispatch"}.get(work.__name__, work.__name__.strip("_").replace("_", " "))
    return " ".join([name, *events])


def full_disk(order: Order) -> AbstractContextManager[None]:
    """Let the database refuse commits during the block."""
    return _full_server(order.variables) if order.variables else full_file(Path(order.home))


@contextmanager
def full_file(home: Path) -> Iterator[None]:
    """Let no file grow beyond the database's log, so that the system refuses further commits."""
    log = home / "copydesk.db-wal"
    size = log.stat().st_size if log.exists() else 0
    hard_limit = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard_limit))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard_limit, hard_limit))


_REFUSE = """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full';
END $$;
DO $$ DECLARE name text; BEGIN
FOR name IN SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema() LOOP
    EXECUTE format('CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE OR DELETE ON %s
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()', name);
END LOOP;
END $$"""


@contextmanager
def _full_server(variables: Mapping[str, str]) -> Iterator[None]:
    """Let commits of changes fail, as if the server's disk was full: everything before them succeeds."""
    # Its driver is installed with the servers.
    from copydesk.store.postgresql.connection import connect

    with connect(variables["COPYDESK_DATABASE__URL"], lock_timeout=5, read_only=False) as connection:
        connection.control(_REFUSE)
        try:
            yield
        finally:
            connection.control("DROP FUNCTION refuse CASCADE")


class CrashPointTransport(httpx.AsyncBaseTransport):
    """The network, with crash points around each request."""

    def __init__(self, crash_points: CrashPoints) -> None:
        self._crash_points = crash_points
        self._inner = GuardedTransport(allow_private=True, concurrency=4)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request between two crash points."""
        name = request.url.path.rsplit("/" if "/xrpc/" not in request.url.path else ".", 1)[1]
        async with self._crash_points.around(f"{request.method} {name}"):
            return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


class CrashPointPlatform(FakePlatform):
    """A fake platform with crash points around each request."""

    crash_points: CrashPoints

    async def send(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], images: Sequence[PostImage] = ()
    ) -> StepResult:
        async with self.crash_points.around("send"):
            return await super().send(account, intent, completed, images)

    async def find_post(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], since: Any
    ) -> StepResult | None:
        async with self.crash_points.around("find post"):
            return await super().find_post(account, intent, completed, since)


class LateServer(FakeServer):
    """Stores late requests in a file, so that they outlive the sender."""

    def delay(self, account: str, key: str, text: str, parent: str | None) -> None:
        """Store a request that arrives with `deliver_late`."""
        assert self._path is not None
        late = FakePost(id="", account=account, key=key, text=text, parent=parent)
        with late_file(self._path).open("ab") as file:
            file.write(msgspec.json.encode(late) + b"\n")


def late_file(path: Path) -> Path:
    """Return the file with the late requests of a FakeServer."""
    return path.with_suffix(".late")


def deliver_late(path: Path, *, keyed: bool) -> None:
    """Process the late requests of the FakeServer in `path`."""
    file = late_file(path)
    server = FakeServer(path, knows_keys=keyed)
    for line in file.read_bytes().splitlines() if file.exists() else ():
        post = msgspec.json.decode(line, type=FakePost)
        server.accept(post.account, post.key, post.text, post.parent)
    file.unlink(missing_ok=True)


class FileSecrets:
    """Secrets in a file that is replaced atomically."""

    def __init__(self, path: Path, crash_points: CrashPoints | None = None) -> None:
        self._path = path
        self._crash_points = crash_points

    async def read(self, account: Account) -> Mapping[str, str]:
        """Return the secrets of the only account."""
        return dict(json.loads(self._path.read_bytes()))

    async def save(self, account: Account, secrets: Mapping[str, str]) -> None:
        """Replace the secrets."""
        assert self._crash_points is not None
        async with self._crash_points.around("save secrets"):
            new = self._path.with_suffix(f".{os.getpid()}")
            new.write_text(json.dumps(dict(secrets)), encoding="utf-8")
            new.replace(self._path)
