"""Sends what is due of a desk in processes of their own, each killed at the moment that the test chose.

As a script it reads a line with an Order, forks a process for each sender of it, and prints how they ended. What a
sender needs is imported by then, so that each one takes milliseconds to start.
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

import copydesk.desk.posting
import copydesk.desk.schedule
from copydesk.desk import Desk, open_desk
from copydesk.errors import StoreError
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.fake import Fault
from copydesk.posting.http import Caller
from copydesk.posting.mastodon import Mastodon
from copydesk.posting.platform import Platform, Trust
from desk_fixtures import settings_at
from sending_boundaries import DUE, Boundaries, FileSecrets, LateServer, Order, WatchedFake, WatchedTransport
from wrong_senders import MUTANTS

__all__ = ["copydesk"]
KILLED, NO_STORE, UNEXPECTED = -signal.SIGKILL, 3, 70


class Ended(msgspec.Struct, frozen=True):
    """How a sender ended."""

    code: int
    """KILLED, NO_STORE where the disk was full, 0."""
    passed: tuple[str, ...]
    """The boundaries that it reached, in order."""
    took: float = 0.0
    """Seconds from its beginning to its end, where it came to that."""


def platform_of(order: Order, boundaries: Boundaries, transport: httpx.AsyncBaseTransport) -> Platform:
    """The platform that is sent to."""

    def clock() -> datetime:
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


def _now(order: Order) -> datetime:
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
