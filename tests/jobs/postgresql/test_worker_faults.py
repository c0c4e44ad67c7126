"""Tests that workers come back by themselves after faults of the server, and neither lose nor repeat anything."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk import worker as worker_module
from copydesk.desk import Desk, Desks
from copydesk.desk.context import utc_now
from copydesk.desk.pipeline import fetch_sources
from copydesk.errors import StoreError
from copydesk.posting import delivery_states
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.platform import DeliveryGuarantees
from copydesk.store import runs
from desk_fixtures import FakeWeb, create_source, entry, execute_sql, feed, query_db
from desks_fixtures import open_desks_at
from postgresql_server import PostgresqlServer, add_conflicts, count_conflicts, cut_connections, stopped
from running_workers import keys_of, make_worker, running, wait_until
from worker_process import add_deliveries, connect

ACCOUNTS, DELIVERIES, SOURCES = 4, 24, 8
JOB_TABLES = ("procrastinate_jobs", "procrastinate_workers", "procrastinate_periodic_defers")
LOST = "queue: the connection to PostgreSQL is lost; trying again"
FOUND = "queue: connected to PostgreSQL again"
DESK_TABLES = ("draft", "delivery", "engagement", "account", "source", "item", "run", "job", "event")


@pytest.fixture
def home(tmp_path: Path, server: PostgresqlServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A desk on a database of its own. What takes seconds or minutes in the product takes less than a second."""
    server.url_without_tables(tmp_path)
    server.sync_commits(tmp_path)
    waits = {"RECONNECT_DELAY": 0.1, "HEARTBEAT_INTERVAL": 0.2, "HEARTBEAT_TIMEOUT": 1.0, "QUEUE_TIMEOUT": 1.0}
    for name, value in {**waits, "SWEEP": "* * * * * */1", "TAKEOVER": "* * * * * */1"}.items():
        monkeypatch.setattr(worker_module, name, value)
    monkeypatch.setattr(delivery_states, "LOOKUP_INTERVAL", timedelta(seconds=0.2))
    monkeypatch.setattr(delivery_states, "BACKOFF", (timedelta(seconds=0.2),) * 4)
    monkeypatch.setattr("copydesk.jobs.ERROR_BACKOFF", timedelta(seconds=0.2))
    monkeypatch.setattr("copydesk.desk.job_leases.LEASE_DURATION", timedelta(seconds=2))
    return tmp_path


class Work:
    """Deliveries and sources of one desk, and what became of them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.web = FakeWeb()
        self.server = FakeServer()
        self.platform = FakePlatform(self.server, guarantees=DeliveryGuarantees(settle_time=timedelta(0)), latency=0.01)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[Desks, Desk]]:
        """Open the desks with what their workers need, and add what these are to do to the owner's."""
        platforms = {"fake": self.platform}
        async with open_desks_at(self.home, self.web, clock=utc_now, platforms=platforms) as desks:
            async with running(make_worker(self.home, desks)):
                pass
            desk = await desks.get(desks.owner)
            await self._add_to(desk)
            yield desks, desk

    async def _add_to(self, desk: Desk) -> None:
        accounts = [await connect(desk, f"account {number}") for number in range(ACCOUNTS)]
        await add_deliveries(desk, accounts, DELIVERIES)
        for number in range(SOURCES):
            url = f"https://{number}.example/feed"
            self.web.put(url, feed(entry(number, now=desk.clock())))
            await create_source(desk, url)

    async def has_begun(self) -> bool:
        """Return True once a few deliveries are posted."""
        return len(self.server.posts) >= 3

    async def wait_until_done(self) -> None:
        """Wait until nothing is left."""
        unsent = "SELECT state, progress FROM delivery WHERE state <> 'sent'"
        unread = "SELECT name FROM source WHERE last_fetch IS NULL"
        # A lease whose release failed holds up its job for a minute.
        latest = time.monotonic() + 150
        while left := [*query_db(self.home, unsent), *query_db(self.home, unread)]:
            assert time.monotonic() < latest, left
            await asyncio.sleep(0.1)

    def check(self) -> None:
        """Assert that each delivery was posted once, and each source is stored once."""
        assert sorted(keys_of(self.server).values()) == [1] * DELIVERIES
        assert query_db(self.home, "SELECT count(*) FROM item WHERE source_id IS NOT NULL") == [(SOURCES,)]


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_server_is_stopped_and_started(home, server, mode):
    work, messages = Work(home), []
    async with work.open() as (desks, desk), running(make_worker(home, desks, messages)):
        await wait_until(work.has_begun)
        async with stopped(server, mode):
            with pytest.raises(StoreError, match=r"Cannot reach postgresql://.*Check that PostgreSQL runs"):
                await desk.drafts.list()
            await wait_until(lambda: asyncio.sleep(0, LOST in messages))
        await work.wait_until_done()
        await wait_until(lambda: asyncio.sleep(0, FOUND in messages))
    work.check()


async def test_connections_are_cut_again_and_again(home, server):
    work = Work(home)
    async with work.open() as (desks, _desk), running(make_worker(home, desks)):
        for _ in range(12):
            await asyncio.sleep(0.1)
            await asyncio.to_thread(cut_connections, server, home)
        await work.wait_until_done()
    work.check()


def cut_first(monkeypatch, module, name):
    """Cut the connection of the first transaction that calls a function of the store."""
    function, is_cut = getattr(module, name), False

    def cut_or_call(connection, *args, **options):
        nonlocal is_cut
        if not is_cut:
            is_cut = True
            connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
        return function(connection, *args, **options)

    monkeypatch.setattr(module, name, cut_or_call)


@asynccontextmanager
async def fetching_one_source(home) -> AsyncIterator[list[str]]:
    """Run a worker, which is to fetch one source; yield its messages."""
    web, messages, url = FakeWeb(), [], "https://1.example/feed"
    web.put(url, feed(entry(1, now=utc_now())))
    async with open_desks_at(home, web, clock=utc_now) as desks:
        await create_source(await desks.get(desks.owner), url)
        async with running(make_worker(home, desks, messages)):
            yield messages


async def test_run_that_failed_is_repeated_soon(home, monkeypatch):
    """The pause between two runs, 15 minutes, held up the sources that it had left."""
    cut_first(monkeypatch, runs, "claim")
    async with fetching_one_source(home) as messages:
        await wait_until(lambda: asyncio.sleep(0, query_db(home, "SELECT count(*) FROM item") == [(1,)]))
    assert "pipeline: Cannot reach postgresql://" in messages[0]


async def test_fetch_that_was_not_stored_is_repeated_in_the_same_run(home, monkeypatch):
    cut_first(monkeypatch, fetch_sources, "store_fetch")
    async with fetching_one_source(home) as messages:
        await wait_until(lambda: asyncio.sleep(0, messages))
    assert messages[0] == "owner pipeline: succeeded: 1 draft from 1 item"


async def test_deadlocks_and_serialization_failures_are_repeated(home, server):
    work, every = Work(home), 29
    async with work.open() as (desks, desk):
        add_conflicts(server, home, (*DESK_TABLES, *JOB_TABLES), every)
        async with running(make_worker(home, desks)):
            created = await asyncio.gather(*(desk.drafts.create({"text": f"Draft {number}."}) for number in range(20)))
            await work.wait_until_done()
        assert len({result.drafts[0].id for result in created}) == 20
    work.check()
    assert count_conflicts(server, home, every) > 5


async def test_worker_stops_though_readers_wait_for_jobs_without_limit(home, server, monkeypatch):
    """As they do once they have lost their connection. The run waits for a fetch that does not end."""
    monkeypatch.setattr(worker_module, "SHUTDOWN_TIMEOUT", 0.5)
    work, messages = Work(home), []
    async with work.open() as (desks, _desk):
        held = work.web.hold("https://0.example/feed")
        async with asyncio.timeout(120), running(make_worker(home, desks, messages)):
            await held.requested.wait()
            async with stopped(server, "fast"):
                await wait_until(lambda: asyncio.sleep(0, LOST in messages))


async def test_job_whose_end_was_not_stored_is_taken_over(home):
    """Its worker is alive, so nobody took it over, and its lock held up the account until the worker was restarted."""
    work = Work(home)
    async with work.open() as (desks, desk), running(make_worker(home, desks)):
        await wait_until(work.has_begun)
        values = "'post', 'post', 'lost', jsonb_build_object('user_id', ?::text, 'account_id', 'x'), 'doing', max(id)"
        columns = "queue_name, task_name, lock, args, status, worker_id"
        insert = f"INSERT INTO procrastinate_jobs ({columns}) SELECT {values} FROM procrastinate_workers"
        execute_sql(home, insert, desk.user.id)
        lost = "SELECT count(*) FROM procrastinate_jobs WHERE lock = 'lost'"
        await wait_until(lambda: asyncio.sleep(0, query_db(home, lost) == [(0,)]))
        await work.wait_until_done()
    work.check()
