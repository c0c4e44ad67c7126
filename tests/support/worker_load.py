"""Work for workers in processes of their own, and what is left of it."""

import asyncio
import random
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from copydesk.desk import Desk, open_desks
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.platform import DeliveryGuarantees
from desk_fixtures import entry, feed, query_db, settings_at
from feed_server import FeedServer
from store_fixtures import connect_to
from worker_process import FilePlatform, PostsFile, WorkerProcess, add_deliveries, add_feeds, connect, posts_by_key

Disturbance = Callable[[list[WorkerProcess]], Awaitable[None]]
"""Disturbs the workers or their server; it may replace workers in the list."""


class Load(NamedTuple):
    """Sources that are due, and deliveries, spread evenly over users and their accounts."""

    sources: int
    deliveries: int
    users: int = 2
    accounts: int = 8

    def divided_by(self, divisor: int) -> "Load":
        """Return a part of it for the same users and accounts."""
        return self._replace(sources=self.sources // divisor, deliveries=self.deliveries // divisor)

    async def add_to(self, home: Path, server: FeedServer) -> None:
        """Add it to the desks in `home`; the sources are served by `server`."""
        platforms = {"fake": FakePlatform(FakeServer())}
        async with open_desks(settings_at(home), platforms=platforms) as desks:
            for number in range(self.users):
                user = await desks.users.add(f"user{number}") if number else desks.owner
                desk = await desks.get(user)
                share = self.sources // self.users
                await _add_sources(desk, server, range(number * share, (number + 1) * share))
                names = [f"{user.name}-{index}" for index in range(self.accounts // self.users)]
                ids = [await connect(desk, name) for name in names]
                await add_deliveries(desk, ids, self.deliveries // self.users)


async def _add_sources(desk: Desk, server: FeedServer, numbers: range) -> None:
    urls = []
    for number in numbers:
        path = f"/feed/{number}"
        server.serve(path, feed(entry(number, now=desk.clock()), title=f"Site {number}"))
        # Ten share a host.
        urls.append(server.url(path, host=f"127.0.{number // 2500}.{number // 10 % 250 + 1}"))
    await add_feeds(desk, urls)


_UNFINISHED = (
    "SELECT count(*) FROM delivery WHERE state NOT IN ('sent', 'needs_user')",
    "SELECT count(*) FROM source WHERE last_fetch IS NULL",
    "SELECT count(*) FROM run WHERE status IN ('queued', 'running')",
    # What was left by one that was interrupted belongs to the next, which starts when a source is due again.
    """SELECT count(*) FROM "user" WHERE NOT EXISTS (SELECT FROM run WHERE user_id = "user".id AND ended_at > 0)""",
)


def unfinished(home: Path) -> list[int]:
    """Return the numbers of deliveries, sources, runs and users for which something is left to do."""
    with closing(connect_to(home)) as connection:
        return [connection.execute(query).fetchone()[0] for query in _UNFINISHED]


class Killer:
    """Kills one of the workers, and starts another in its place."""

    def __init__(self, choice: random.Random, home: Path, url: str) -> None:
        self.count = 0
        """Workers killed so far, without those that had ended by themselves."""
        self.start_seconds = 0.0
        """Seconds that the starts of the others took."""
        self._choice = choice
        self._home = home
        self._url = url

    async def __call__(self, running: list[WorkerProcess]) -> None:
        index = self._choice.randrange(len(running))
        self.count += running[index].kill() == -signal.SIGKILL
        killed_at = time.monotonic()
        running[index] = WorkerProcess(self._home, self._url, self._home / "posts.jsonl")
        # On a busy machine a start takes longer than the second until the next kill.
        await asyncio.to_thread(running[index].wait_until_started)
        self.start_seconds += time.monotonic() - killed_at

    def expected_count(self, seconds: float) -> int:
        """Return the least number of kills in a run of `seconds`: one in three of those in which no worker started.

        A busy machine takes more than the second between a start and the next kill.
        """
        return int((seconds - self.start_seconds) / 3)


async def run_to_the_end(
    home: Path, workers: list[WorkerProcess], limit: float, disturb: Disturbance | None = None
) -> float:
    """Wait until the workers have left nothing to do, disturbed every second; return the seconds it took."""
    started, next_disturbance = time.monotonic(), time.monotonic() + 1
    try:
        while any(left := unfinished(home)):
            assert time.monotonic() < started + limit, left
            if disturb is not None and time.monotonic() >= next_disturbance:
                await disturb(workers)
                next_disturbance = time.monotonic() + 1
            # Counting takes the time of the server; what is done in a second need not be known sooner.
            await asyncio.sleep(0.1 if sum(left) < 100 else 0.5)
        return time.monotonic() - started
    finally:
        for process in workers:
            process.kill()


async def resend_asking(home: Path, posts: PostsFile) -> int:
    """Resend the deliveries that ask the user, who finds none of them on the accounts; return their number.

    These were interrupted as often as the product allows. They are looked for, and sent again at most twice.
    """
    asking = query_db(home, "SELECT user_id, id FROM delivery WHERE state = 'needs_user'")
    posted = posts_by_key(posts)
    assert len(posted) + len(asking) == query_db(home, "SELECT count(*) FROM delivery")[0][0]
    platform = FilePlatform(posts, guarantees=DeliveryGuarantees(settle_time=timedelta(0)))
    async with open_desks(settings_at(home), platforms={"fake": platform}) as desks:
        for user_id, delivery_id in asking:
            await (await desks.get(user_id)).posting.resend(delivery_id)
    return len(asking)


def check_end(home: Path, posts: PostsFile, load: Load) -> None:
    """Assert that everything was done, and that each delivery was sent, once: one that is left is an error."""
    counts = posts_by_key(posts)
    assert [key for key, count in counts.items() if count != 1] == []
    assert query_db(home, "SELECT state, count(*) FROM delivery GROUP BY state") == [("sent", load.deliveries)]
    assert len(counts) == load.deliveries
    assert query_db(home, "SELECT count(*) FROM item WHERE source_id IS NOT NULL") == [(load.sources,)]
    assert query_db(home, "SELECT count(*) FROM run WHERE ended_at IS NULL") == [(0,)]
