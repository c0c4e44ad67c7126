"""Workers in processes of their own, which post to a file; most poll more often than real ones."""

import asyncio
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from unittest.mock import patch

import msgspec

from copydesk import settings
from copydesk import worker as worker_module
from copydesk.desk import Desk, open_desks
from copydesk.desk.publishing.publish import start_posting
from copydesk.model.delivery import Account, Evidence, Intent, StepResult
from copydesk.model.source import Health, Source
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

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file = path

    def accept(self, account: str, key: str, text: str, parent: str | None) -> FakePost:
        """Store a post and return it."""
        post = FakePost(id=key, account=account, key=key, text=text, parent=parent)
        # In one write, and not synced: what a killed process has written is there all the same.
        with self._file.open("ab", buffering=0) as file:
            file.write(msgspec.json.encode(post) + b"\n")
        return post

    def has(self, key: str) -> bool:
        """Return True if a post with this key is in the file."""
        return self._file.exists() and key.encode() in self._file.read_bytes()


class FilePlatform(FakePlatform):
    """Finds a post by its key without decoding all the others."""

    server: PostsFile

    async def find_post(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], since: datetime
    ) -> StepResult | None:
        """Return the post with the step's key."""
        key = intent.steps[len(completed)].keys[0]
        return StepResult(ids=(key,), urls=(), evidence=Evidence.READ_BACK) if self.server.has(key) else None


def posts_by_key(server: PostsFile) -> Counter[str]:
    """Return how often each post was made."""
    return Counter(post.key for post in server.posts)


async def add_deliveries(desk: Desk, account_ids: list[str], count: int, batch: int = 500) -> None:
    """Add `count` deliveries that are due, spread over the accounts."""
    now = desk.clock()
    labels = [account.label for account in await desk.accounts.list() if account.id in account_ids]

    def add(conn: Transaction, user_id: str, numbers: range) -> None:
        item = add_item(conn, user_id, None)
        for number in numbers:
            # An own text for each: the same one is not posted twice.
            draft = add_draft(conn, user_id, item, status="approved", origin="direct", text=f"Post {number}.")
            start_posting(conn, user_id, draft, (labels[number % len(labels)],), now, desk._context.platforms)

    for start in range(0, count, batch):
        await desk._context.write(add, range(start, min(start + batch, count)))


async def add_feeds(desk: Desk, urls: Sequence[str]) -> None:
    """Add sources for feeds in one transaction, without a look at them."""
    now = desk.clock()
    new = [
        Source(
            id=new_id(now),
            type="rss",
            name=f"Site {number}",
            url=url,
            config=None,
            enabled=True,
            last_fetch=None,
            health=Health.UNKNOWN,
            fail_count=0,
            last_error=None,
            created_at=now,
            updated_at=now,
            item_count=0,
        )
        for number, url in enumerate(urls)
    ]
    await desk._context.write(sources.add, new)


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


async def work(home: Path, url: str, posts: Path, on_start: Callable[[], None]) -> None:
    """Work until SIGTERM."""
    platform = FilePlatform(PostsFile(posts), guarantees=DeliveryGuarantees(settle_time=timedelta(0)))
    variables = {
        "COPYDESK_DATABASE__URL": url,
        "COPYDESK_NETWORK__ALLOW_PRIVATE": "true",
        "COPYDESK_JOBS__PIPELINE_MINUTES": "1",
        # What a large load leaves longer than this is given up as missed.
        "COPYDESK_SCHEDULE__GRACE_SHORT_MINUTES": "10080",
        "COPYDESK_SCHEDULE__GRACE_THREAD_MINUTES": "10080",
        "COPYDESK_SCHEDULE__GRACE_BLOG_HOURS": "168",
    }
    configured = settings.load(os.environ | variables, home)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_desks(configured, platforms={"fake": platform}) as desks:
        worker = Worker(desks, lambda *_: None, concurrency=CONCURRENCY, url=url, password="")
        await worker.run(stop, on_start)


def run_worker(home: Path, url: str, posts: Path, started: Connection) -> None:
    """Work as `work` does."""
    # What it logs about lost connections would bury the figures.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    asyncio.run(work(home, url, posts, lambda: started.send("started")))


def run_impatient_worker(home: Path, url: str, posts: Path, started: Connection) -> None:
    """Work as `work` does, but take over, sweep and run the pipeline again sooner than a real worker."""
    short = {
        "HEARTBEAT_TIMEOUT": 2.0,
        "HEARTBEAT_INTERVAL": 0.5,
        "TAKEOVER": "* * * * * */1",
        "SWEEP": "* * * * * */10",
    }
    # How often a post is sent again before the user is asked is that of the product.
    second = timedelta(seconds=1)
    with (
        patch.multiple(worker_module, **short),
        patch.multiple(delivery_states, LOOKUP_INTERVAL=second, BACKOFF=(second,) * 4),
        patch("copydesk.jobs.ERROR_BACKOFF", second),
    ):
        run_worker(home, url, posts, started)


_FORKS = multiprocessing.get_context("forkserver")
# Imported once, in a process that only forks: a worker that is killed each second would mostly import otherwise.
_FORKS.set_forkserver_preload([__name__, "copydesk.desk.pipeline.stages"])


class WorkerProcess:
    """One worker, which is started at once."""

    def __init__(
        self,
        home: Path,
        url: str,
        posts: Path,
        run: Callable[[Path, str, Path, Connection], None] = run_impatient_worker,
    ) -> None:
        self._started, child = _FORKS.Pipe(duplex=False)
        self._process = _FORKS.Process(target=run, args=(home, url, posts, child))
        self._process.start()
        child.close()

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        return self._process.pid

    def wait_until_started(self) -> None:
        """Wait until the worker takes jobs."""
        assert self._started.recv() == "started"

    def kill(self) -> int | None:
        """Kill the worker, as `kill -9` does; return its exit code."""
        self._process.kill()
        self._process.join()
        self._started.close()
        return self._process.exitcode

    def stop(self) -> int | None:
        """Ask the worker to stop; return its exit code."""
        self._process.terminate()
        self._process.join(timeout=60)
        return self._process.exitcode
