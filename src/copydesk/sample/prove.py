"""Kill the sender at random moments, again and again, and count what a fake platform received: `copydesk prove`.

Desk and platform are temporary: a folder, and a server on the loopback interface in this process. The senders are
processes of their own, which are killed while requests are on their way; what was sent still arrives. A naive sender,
which notes each post after its response, is killed after the same delays for comparison.

The desk's clock is simulated: the senders skip the minutes that a sender waits before it looks for a lost post.
"""

import asyncio
import json
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import msgspec

from copydesk.desk import Desk, open_desk, utc_now
from copydesk.errors import CopydeskError
from copydesk.model.delivery import Account, Evidence, Intent, StepResult
from copydesk.model.platform import PlatformInfo
from copydesk.model.serialization import Struct
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.platform import DeliveryGuarantees, PostImage
from copydesk.settings import load

ACCOUNTS = ("keyed:ada", "plain:ben", "plain:cleo")
"""Each draft goes to all of them. `keyed` recognizes a repeated request, `plain` does not."""
KILLS_IN_A_ROW = 2
"""Then a sender may finish: after a third interruption of the same post it would ask the user."""
LATENCY = (0.01, 0.04)
"""Seconds that a request, and a response, is on its way."""
ROUND = timedelta(minutes=15)
"""Simulated time between two senders, of which each may use that between two posts of an account and two lookups."""
STEP = timedelta(seconds=31)
START_TIMEOUT = 60.0
ARRIVAL_TIME = 0.03
"""Seconds in which the server accepts what a killed process has sent."""


class SenderResult(Struct, frozen=True):
    """The posts of one kind of sender on the platform, compared with those that were expected."""

    kills: int
    doubled: int
    """Posts beyond the first of each text and account."""
    lost: int
    """Posts that are missing, and not reported as unknown."""
    unknown: int = 0
    """Deliveries that wait for the user's decision."""


class ProofResult(Struct, frozen=True):
    """The result of a proof."""

    posts: int
    """Posts that should be on the platform."""
    seconds: float
    seed: int
    sender: SenderResult
    naive: SenderResult

    @property
    def ok(self) -> bool:
        """True if Copydesk doubled and lost nothing."""
        return not self.sender.doubled and not self.sender.lost


class _Clock:
    """The simulated clock of a desk."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class _Service:
    """The platform: a server on the loopback interface that keeps every post that arrives."""

    def __init__(self, seed: str) -> None:
        self.posts: list[dict[str, str]] = []
        self.port = 0
        self._random = random.Random(seed)  # noqa: S311 - nothing secret
        self._open_requests = 0

    @asynccontextmanager
    async def serve(self) -> "AsyncIterator[_Service]":
        """Serve during the block."""
        server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def wait_until_idle(self) -> None:
        """Wait until every request that was sent has arrived, also those of a killed process."""
        await asyncio.sleep(ARRIVAL_TIME)
        while self._open_requests:  # noqa: ASYNC110 - a few milliseconds
            await asyncio.sleep(ARRIVAL_TIME)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open_requests += 1
        try:
            # Python 3.11 prints a traceback for a handler that ends cancelled, as after Ctrl-C.
            with suppress(asyncio.CancelledError):
                await self._respond_slowly(reader, writer)
        finally:
            self._open_requests -= 1
            writer.close()

    async def _respond_slowly(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if line := await reader.readline():
            await asyncio.sleep(self._random.uniform(*LATENCY))
            response = self._respond(json.loads(line))
            await asyncio.sleep(self._random.uniform(*LATENCY))
            writer.write(json.dumps(response).encode() + b"\n")

    def _respond(self, request: dict[str, str]) -> dict[str, str] | None:
        """Find or create a post; return it, or None if there is none."""
        is_lookup = request["action"] == "find"
        if is_lookup or request["account"].startswith("keyed"):
            for post in self.posts:
                if post["key"] == request["key"]:
                    return post
        if is_lookup:
            return None
        self.posts.append(request | {"id": f"{len(self.posts) + 1}"})
        return self.posts[-1]


async def _request(port: int, **request: str) -> dict[str, str] | None:
    """Send one request to the platform; return its response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(json.dumps(request).encode() + b"\n")
        post: dict[str, str] | None = json.loads(await reader.readline())
        return post
    finally:
        writer.close()


class _Plain(FakePlatform):
    """A platform that creates a second post if a request is repeated; a lost one can be looked for."""

    info: ClassVar[PlatformInfo] = msgspec.structs.replace(FakePlatform.info, name="plain")
    promise: ClassVar[DeliveryGuarantees] = DeliveryGuarantees()

    def __init__(self, port: int) -> None:
        super().__init__(FakeServer(), guarantees=self.promise)
        self._port = port

    async def send(
        self, account: Account, intent: Intent, completed: Any, images: Iterable[PostImage] = ()
    ) -> StepResult:
        """Create the post."""
        result = await self._ask("post", account, intent)
        assert result is not None
        return result

    async def find_post(self, account: Account, intent: Intent, completed: Any, since: datetime) -> StepResult | None:
        """Return the post with the step's key."""
        return await self._ask("find", account, intent)

    async def _ask(self, action: str, account: Account, intent: Intent) -> StepResult | None:
        (step,) = intent.steps
        label = f"{account.platform}:{account.name}"
        post = await _request(self._port, action=action, account=label, key=step.keys[0], text=str(step.body["text"]))
        evidence = Evidence.READ_BACK if action == "find" else Evidence.ANSWERED
        return StepResult(ids=(post["id"],), urls=(), evidence=evidence) if post else None


class _Keyed(_Plain):
    """A platform that recognizes a repeated request by its key."""

    info: ClassVar[PlatformInfo] = msgspec.structs.replace(FakePlatform.info, name="keyed")
    promise: ClassVar[DeliveryGuarantees] = DeliveryGuarantees(idempotent=True, idempotency_window=timedelta(days=30))


def _open_desk(folder: Path, port: int, clock: _Clock) -> AbstractAsyncContextManager[Desk]:
    """Return the temporary desk. Nothing of the user's is read: no environment, settings file or keyring."""
    settings = load({}, folder)
    secrets = msgspec.structs.replace(settings.secrets, keyring=False, plain=True)
    schedule = msgspec.structs.replace(settings.schedule, grace_short_minutes=10_080)
    settings = msgspec.structs.replace(settings, secrets=secrets, schedule=schedule)
    return open_desk(settings, clock=clock, platforms={"keyed": _Keyed(port), "plain": _Plain(port)})


def _send(folder: str, port: int, start: datetime, started: Connection) -> None:
    """Post what is due; in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it

    async def send() -> None:
        clock = _Clock(start)
        async with _open_desk(Path(folder), port, clock) as desk:
            due_drafts, posting = desk.schedule.due_drafts, desk.posting  # imports them
            started.send_bytes(b"started")
            while await _is_unfinished(desk) and clock() < start + ROUND - STEP:
                await due_drafts.dispatch_due()
                await posting.send_due()
                clock.now += STEP

    asyncio.run(send())


async def _is_unfinished(desk: Desk) -> bool:
    pages = [await desk.drafts.list(status=status, limit=1) for status in ("scheduled", "posting")]
    return any(page.items for page in pages)


def _send_naively(folder: str, port: int, _start: datetime, started: Connection) -> None:
    """Post what is in the file `queue` and not in the file `sent`, and note each post there after its response."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    queue, sent = Path(folder) / "queue", Path(folder) / "sent"

    async def send(account: str) -> None:
        lines = sent.read_text(encoding="utf-8").splitlines() if sent.exists() else []
        for line in queue.read_text(encoding="utf-8").splitlines():
            if line.startswith(f"{account} ") and line not in lines:
                text = line.removeprefix(f"{account} ")
                await _request(port, action="post", account=account, key=os.urandom(8).hex(), text=text)
                _append(sent, line)

    async def send_all() -> None:
        started.send_bytes(b"started")
        await asyncio.gather(*map(send, ACCOUNTS))

    asyncio.run(send_all())


def _append(path: Path, line: str) -> None:
    with path.open("ab") as file:
        file.write(f"{line}\n".encode())
        file.flush()
        os.fsync(file.fileno())


_Target = Callable[[str, int, datetime, Connection], None]
# Forked from a process that has imported everything, so that each sender starts within milliseconds.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__])


async def _run_sender(
    target: _Target, folder: Path, port: int, now: datetime, kill_after: float | None
) -> float | None:
    """Run a sender, killed after this many seconds if given; return its seconds, or None if it was killed."""
    receiver, sender = _PROCESSES.Pipe(duplex=False)
    process = _PROCESSES.Process(target=target, args=(str(folder), port, now, sender), daemon=True)
    try:
        process.start()
    except OSError as error:
        # Not an error of the system: Python checks the length of the path of the socket to the fork server.
        if "AF_UNIX" not in str(error):
            raise
        raise CopydeskError(
            "The path of the folder for temporary files is too long.", hint="Set TMPDIR to a folder with a short path."
        ) from error
    sender.close()
    try:
        await asyncio.to_thread(receiver.poll, START_TIMEOUT)
        started = time.monotonic()
        await asyncio.to_thread(process.join, kill_after)
        seconds = time.monotonic() - started
    finally:
        process.kill()
        process.join()
        receiver.close()
    if process.exitcode not in (0, -signal.SIGKILL):
        raise CopydeskError(f"A sender ended with the exit code {process.exitcode}.")
    return seconds if process.exitcode == 0 else None


async def prove(
    *, seconds: float, kills: int | None = None, seed: int, on_kill: Callable[[int, int], None] = lambda *_: None
) -> ProofResult:
    """Kill senders for about `seconds`, at most `kills` of them; `on_kill` gets the numbers of kills and posts.

    The delays follow from `seed`; the moments that they meet also depend on the machine.
    """
    with TemporaryDirectory(prefix="copydesk-prove-") as folder:
        async with _Service(f"{seed} copydesk").serve() as service, _Service(f"{seed} naive").serve() as naive:
            clock = _Clock(utc_now())
            async with _open_desk(Path(folder), service.port, clock) as desk:
                rng = random.Random(seed)  # noqa: S311 - nothing secret
                proof = _Proof(desk, clock, Path(folder), service, naive, rng)
                return await proof.run(seconds, kills, seed, on_kill)


class _Proof:
    """A proof in progress: the desk, both platforms, and the counts so far."""

    def __init__(
        self, desk: Desk, clock: _Clock, folder: Path, service: _Service, naive: _Service, rng: random.Random
    ) -> None:
        self._desk = desk
        self._clock = clock
        self._folder = folder
        self._service = service
        self._naive = naive
        self._random = rng
        self._texts: dict[str, str] = {}
        """By draft id."""
        self._windows: dict[_Target, float] = {}
        """Seconds that each sender takes for a draft."""
        self._kills = Counter({_send: 0, _send_naively: 0})

    async def run(
        self, seconds: float, kills: int | None, seed: int, on_kill: Callable[[int, int], None]
    ) -> ProofResult:
        """Kill and count."""
        started = time.monotonic()
        for account in ACCOUNTS:
            platform, name = account.split(":")
            await self._desk.accounts.connect(platform, {"name": name})
        # The first senders finish: they tell how long one takes.
        self._windows = await self._post(None)
        while time.monotonic() - started < seconds and (kills is None or self._kills[_send] < kills):
            for _ in range(KILLS_IN_A_ROW):
                if kills is None or self._kills[_send] < kills:
                    await self._post(self._random.random())
                    on_kill(self._kills[_send], len(self._expected))
            await self._send()
        # Nothing may be sent again a day later.
        self._clock.now += timedelta(days=1)
        await self._send()
        reports = await self._desk.posting.list_unsettled()
        reported = {(report.account, self._texts[report.draft_id]) for report in reports}
        return ProofResult(
            posts=len(self._expected),
            seconds=round(time.monotonic() - started, 1),
            seed=seed,
            sender=count(self._expected, self._service.posts, reported, kills=self._kills[_send]),
            naive=count(self._expected, self._naive.posts, set(), kills=self._kills[_send_naively]),
        )

    @property
    def _expected(self) -> list[tuple[str, str]]:
        return [(account, text) for text in self._texts.values() for account in ACCOUNTS]

    async def _post(self, kill_at: float | None) -> dict[_Target, float]:
        """Schedule a draft for both senders, and run them as `_send` does."""
        text = f"Post {len(self._texts) + 1}."
        created = await self._desk.drafts.create({"text": text})
        draft_id = created.drafts[0].id
        self._texts[draft_id] = text
        await self._desk.drafts.approve(draft_id)
        await self._desk.drafts.schedule(draft_id, self._clock() + STEP)
        for account in ACCOUNTS:
            _append(self._folder / "queue", f"{account} {text}")
        return await self._send(kill_at)

    async def _send(self, kill_at: float | None = None) -> dict[_Target, float]:
        """Run both senders, killed after this part of the time that each takes; return their seconds."""
        self._clock.now += ROUND
        durations: dict[_Target, float] = {}
        for target, service in ((_send, self._service), (_send_naively, self._naive)):
            kill_after = None if kill_at is None else kill_at * self._windows[target]
            seconds = await _run_sender(target, self._folder, service.port, self._clock(), kill_after)
            self._kills[target] += seconds is None
            durations[target] = seconds or 0.0
            if seconds and kill_after:
                self._windows[target] = seconds  # it ended before its kill
            # The clock of the next sender is minutes ahead: by then every request has arrived.
            await service.wait_until_idle()
        return durations


def count(
    expected: Iterable[tuple[str, str]],
    posts: Iterable[dict[str, str]],
    reported: set[tuple[str, str]],
    *,
    kills: int,
) -> SenderResult:
    """Compare the posts on the platform with the (account, text) pairs that are expected there."""
    received = Counter((post["account"], post["text"]) for post in posts)
    missing = {post for post in expected if not received[post]}
    return SenderResult(
        kills=kills,
        doubled=sum(number - 1 for number in received.values()),
        lost=len(missing - reported),
        unknown=len(reported),
    )
