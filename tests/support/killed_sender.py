"""Send due drafts in processes that are killed at a chosen crash point.

As a script it reads an `Order` per line, forks a process for each of its senders, and prints how they ended. The
parent has imported everything a sender needs, so that each one starts within milliseconds.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import msgspec
from msgspec.structs import replace

import copydesk.desk.publishing.service
import copydesk.desk.schedule
from copydesk.desk import Desk, open_desk
from copydesk.errors import StoreError
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.client import PlatformClient
from copydesk.posting.fake import Fault
from copydesk.posting.mastodon import Mastodon
from copydesk.posting.platform import DeliveryGuarantees, Platform
from copydesk.settings import load
from crash_points import DUE, CrashPointPlatform, CrashPoints, CrashPointTransport, FileSecrets, LateServer, Order
from sender_mutants import MUTANTS
from store_fixtures import database_variables

__all__ = ["copydesk"]
KILLED, STORE_FAILED, UNEXPECTED = -signal.SIGKILL, 3, 70


class SenderResult(msgspec.Struct, frozen=True):
    """The end of a sender."""

    code: int
    """KILLED, STORE_FAILED if the disk was full, else 0."""
    crash_points: tuple[str, ...]
    """The crash points reached, in order."""
    seconds: float = 0.0
    """Seconds from start to end; 0 if it did not finish."""


def make_platform(order: Order, crash_points: CrashPoints, transport: httpx.AsyncBaseTransport) -> Platform:
    """Return the platform that is sent to."""

    def clock() -> datetime:
        return _now(order)

    secrets = FileSecrets(Path(order.home) / "secrets.json", crash_points)
    if order.platform == "bluesky":
        return Bluesky(PlatformClient(transport), secrets, clock=clock)
    if order.platform == "mastodon":
        return Mastodon(PlatformClient(transport), secrets, clock=clock)
    server = LateServer(Path(order.server), knows_keys=order.keyed)
    server.faults.extend(Fault(fault) if fault else None for fault in order.faults)
    fake = CrashPointPlatform(server, guarantees=DeliveryGuarantees(idempotent=order.keyed))
    fake.crash_points = crash_points
    return fake


def _now(order: Order) -> datetime:
    return DUE + timedelta(seconds=order.ahead)


def run_sender(order: Order, status_fd: int) -> None:
    """Dispatch what is due and send it."""
    crash_points = CrashPoints(status_fd, order)

    async def run() -> None:
        transport = CrashPointTransport(crash_points)
        platform = make_platform(order, crash_points, transport)
        if order.wrong:
            MUTANTS[order.wrong](platform)
        settings, platforms = load(order.variables, Path(order.home)), {order.platform: platform}
        async with open_desk(settings, clock=lambda: _now(order), platforms=platforms) as desk:
            try:
                await _send_due(desk, crash_points, order)
            finally:
                crash_points.enabled = False
        await transport.aclose()

    asyncio.run(run())


async def _send_due(desk: Desk, crash_points: CrashPoints, order: Order) -> None:
    database = desk._context.database
    for method_name in ("write", "write_durable", "write_groups"):
        setattr(database, method_name, crash_points.wrap_write(getattr(database, method_name)))
    crash_points.enabled = True
    if order.kill_after:
        threading.Timer(order.kill_after, os.kill, (os.getpid(), signal.SIGKILL)).start()
    started = time.monotonic()
    await desk.schedule.due_drafts.dispatch_due()
    await desk.posting.send_due()
    os.write(crash_points._status_fd, f"took {time.monotonic() - started}\n".encode())


def serve() -> None:
    """Execute the orders on standard input."""
    for line in sys.stdin:
        order = msgspec.json.decode(line, type=Order)
        forked = [_fork(order) for _ in range(order.senders)]
        results = [_wait_for(child, read_fd) for child, read_fd in forked]
        print(msgspec.json.encode(results).decode(), flush=True)


def _fork(order: Order) -> tuple[int, int]:
    """Start a sender; return its process id and the pipe from which its crash points are read."""
    read_fd, write_fd = os.pipe()
    child = os.fork()
    if child:
        os.close(write_fd)
        return child, read_fd
    code = 0
    try:
        run_sender(order, write_fd)
    except StoreError:
        code = STORE_FAILED
    except BaseException:
        traceback.print_exc()
        code = UNEXPECTED
    os._exit(code)


def _wait_for(child: int, read_fd: int) -> SenderResult:
    with os.fdopen(read_fd, encoding="utf-8") as file:
        lines = file.read().splitlines()
    _, status = os.waitpid(child, 0)
    seconds = [float(line.removeprefix("took ")) for line in lines if line.startswith("took ")]
    crash_points = tuple(line for line in lines if not line.startswith("took "))
    return SenderResult(os.waitstatus_to_exitcode(status), crash_points, seconds[0] if seconds else 0.0)


class KillRunner:
    """The test's side of the script."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    async def send(self, order: Order) -> list[SenderResult]:
        """Run the order's senders; return how they ended."""
        variables = database_variables(Path(order.home))
        return await asyncio.to_thread(self._send, replace(order, variables=variables))

    def _send(self, order: Order) -> list[SenderResult]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(msgspec.json.encode(order).decode() + "\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=list[SenderResult])


@contextmanager
def kill_runner() -> Iterator[KillRunner]:
    """Run the script for the block."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield KillRunner(process)
        assert process.stdin
        process.stdin.close()


if __name__ == "__main__":
    serve()
