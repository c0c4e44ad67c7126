"""Workers in processes of their own, which post to a file and wait less than real ones before they look again."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

from copydesk import settings
from copydesk import worker as worker_module
from copydesk.desk import Desk, open_desks
from copydesk.desk.publishing.publish import start_posting
from copydesk.model.delivery import Account, ConnectedAccount
from copydesk.posting import delivery_states
from copydesk.posting.fake import FakePlatform, FakePost, FakeServer
from copydesk.posting.platform import DeliveryGuarantees
from copydesk.store import accounts, sources
from copydesk.store.database import Transaction
from copydesk.store.ids import new_id
from copydesk.worker import Worker
from store_fixtures import add_draft, add_item

CONCURRENCY = 8


class PostsFile(FakeServer):
    """A platform that only appends to its file: its cost does not grow, and a repeated post is there twice."""

    def accept(self, account: str, key: str, text: str, parent: str | None) -> FakePost:
        """Store a post and return it."""
        post = FakePost(id=key, account=account, key=key, text=text, parent=parent)
        self._append(post)
        return post


def posts_by_key(file: Path) -> Counter[str]:
    """Return how often each post is in the file."""
    return Counter(post.key for post in PostsFile(file).posts)


async def add_deliveries(desk: Desk, account_ids: list[str], count: int, batch: int = 500) -> None:
    """Add `count` deliveries that are due, spread over the accounts."""
    now = desk.clock()
    connected = [account for account in await desk.accounts.list() if account.id in account_ids]

    def targets(number: int) -> Callable[..., tuple[ConnectedAccount, ...]]:
        return lambda *_: (connected[number % len(connected)],)

    def add(conn: Transaction, user_id: str, numbers: range) -> None:
        item = add_item(conn, user_id, None)
        for number in numbers:
            # An own text for each: the same one is not posted twice.
            draft = add_draft(conn, user_id, item, status="approved", origin="direct", text=f"Post {number}.")
            start_posting(conn, user_id, draft, (), now, targets(number))

    for start in range(0, count, batch):
        await desk._context.write(add, range(start, min(start + batch, count)))


async def mark_sources_due(desk: Desk) -> None:
    """Let the next run fetch all sources, as if they had just been added."""

    def forget(conn: Transaction, user_id: str) -> None:
        stored = sources.list_to_fetch(conn, user_id, None)
        conn.exec_driver_sql("UPDATE source SET next_at = NULL, last_fetch = NULL, fetch = '{}'")
        assert stored

    await desk._context.write(forget)


async def connect(desk: Desk, name: str) -> str:
    """Store an account of the fake platform; return its id."""
    details = Account(platform="fake", server="https://fake.example", id=name, name=name)
    return await desk._context.write(accounts.save, new_id(desk.clock()), details, desk.clock())


class WorkerProcess:
    """One worker, which is started at once."""

    def __init__(self, home: Path, url: str, posts: Path) -> None:
        variables = {
            "COPYDESK_DATABASE__URL": url,
            "COPYDESK_NETWORK__ALLOW_PRIVATE": "true",
            "COPYDESK_JOBS__PIPELINE_MINUTES": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(home), str(posts)],
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def wait_until_started(self) -> None:
        """Wait until the worker takes jobs."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "started\n"

    def kill(self) -> None:
        """Kill the worker, as `kill -9` does."""
        self._process.kill()
        self._process.communicate()

    def stop(self) -> int:
        """Ask the worker to stop; return its exit code."""
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=60)
        return self._process.returncode


async def work(home: Path, posts: Path) -> None:
    """Work until SIGTERM."""
    platform = FakePlatform(PostsFile(posts), guarantees=DeliveryGuarantees(settle_time=timedelta(0)))
    configured = settings.load(home=home)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_desks(configured, platforms={"fake": platform}) as desks:
        worker = Worker(desks, lambda *_: None, concurrency=CONCURRENCY, url=configured.database.url, password="")
        await worker.run(stop, lambda: print("started", flush=True))


if __name__ == "__main__":
    # A real worker waits longer before it takes over, looks twice, or runs the pipeline again.
    short = {"SILENCE": 2.0, "HEARTBEAT": 0.5, "TAKEOVER": "* * * * * */1", "SWEEP": "* * * * * */2"}
    # And asks the user about a post whose request was lost three times, which is rare if nobody kills it each second.
    second = timedelta(seconds=1)
    patient = {"LOOKUP_INTERVAL": second, "BACKOFF": (second,) * 4, "MAX_ATTEMPTS": 1000, "MAX_RESENDS": 1000}
    with (
        patch.multiple(worker_module, **short),
        patch.multiple(delivery_states, **patient),
        patch("copydesk.jobs.ERROR_BACKOFF", timedelta(seconds=1)),
    ):
        asyncio.run(work(Path(sys.argv[1]), Path(sys.argv[2])))
