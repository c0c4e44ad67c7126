"""Tests for workers: what they find to do, who does it, and what happens when one of them dies."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from procrastinate.periodic import PeriodicDeferrer

from copydesk import worker as worker_module
from copydesk.desk import Desk
from copydesk.desk.context import utc_now
from copydesk.desk.publishing.publish import start_posting
from copydesk.jobs import HANDLERS
from copydesk.model.delivery import Account, Intent, StepResult
from copydesk.model.job import JobName
from copydesk.model.source import SourceGroup
from copydesk.model.user import User
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.platform import PostImage
from copydesk.store.postgresql.host_locks import HOST_LOCK_CLASS
from copydesk.store.postgresql.work_queue import QUEUES
from copydesk.worker import FETCHES_PER_USER, Worker
from desk_fixtures import NOW, FakeWeb, create_source, entry, execute_sql, feed, list_drafts, query_db
from posting_fixtures import connect_account, create_approved_draft
from running_workers import all_posted, keys_of, make_worker, open_desks_now, running, wait_until
from schedule_fixtures import insert_scheduled
from store_fixtures import postgresql_server
from worker_process import add_deliveries, add_feeds, connect

NO_PIPELINE = {"jobs__pipeline": "never"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A desk whose database is dropped after the test, with the queue that a worker creates there."""
    server = postgresql_server()
    assert server is not None
    server.url_without_tables(tmp_path)
    return tmp_path


async def add_due_drafts(desk: Desk, count: int) -> list[str]:
    """Give the desk an account each for `count` drafts, which are due; return the ids of the drafts."""
    now = datetime.now(UTC)
    drafts = []
    for number in range(count):
        await connect_account(desk, f"{desk.user.name}{number}", now=now)
        target = [f"fake:{desk.user.name}{number}"]
        at = now - timedelta(minutes=1)
        drafts.append(
            await insert_scheduled(desk, at, text=f"Post {number} of {desk.user.name}.", target_platforms=target)
        )
    return drafts


async def test_sources_of_all_users_are_fetched(home):
    web, messages = FakeWeb(), []
    urls = {name: f"https://{name}.example/feed" for name in ("owner", "anna")}
    for number, url in enumerate(urls.values()):
        web.put(url, feed(entry(number, now=datetime.now(UTC))))
    async with open_desks_now(home, web) as desks:
        users = (desks.owner, await desks.users.add("anna"))
        for user in users:
            await create_source(await desks.get(user), urls[user.name])
        async with running(make_worker(home, desks, messages)):
            await wait_until(lambda: asyncio.sleep(0, len(messages) == 2))
            # Other jobs of these users may end after the runs; none is left of any.
            left = "SELECT count(*) FROM procrastinate_jobs WHERE queue_name <> 'look'"
            await wait_until(lambda: asyncio.sleep(0, query_db(home, left) == [(0,)]))
        for user in users:
            assert len(await list_drafts(await desks.get(user))) == 1
    assert sorted(messages) == [
        "anna pipeline: succeeded: 1 draft from 1 item",
        "owner pipeline: succeeded: 1 draft from 1 item",
    ]


async def test_failed_sources_fail_the_run(home):
    web, messages = FakeWeb(), []
    web.fail("https://one.example/feed", 500)
    async with open_desks_now(home, web) as desks:
        await create_source(await desks.get(desks.owner), "https://one.example/feed")
        async with running(make_worker(home, desks, messages)):
            await wait_until(lambda: asyncio.sleep(0, messages))
    assert "All sources failed (1)" in messages[0]


async def test_due_drafts_are_posted_once_by_two_workers(home):
    server, sent = FakeServer(), []
    async with (
        open_desks_now(home, server=server, **NO_PIPELINE) as here,
        open_desks_now(home, server=server, **NO_PIPELINE) as elsewhere,
    ):
        desk = await here.get(here.owner)
        drafts = await add_due_drafts(desk, 12)
        async with running(make_worker(home, here, sent), make_worker(home, elsewhere, sent)):
            await wait_until(lambda: asyncio.sleep(0, len(server.posts) >= len(drafts)))
            await wait_until(lambda: all_posted(desk))
    assert sorted(keys_of(server).values()) == [1] * len(drafts)


async def test_deliveries_to_an_account_go_out_in_order(home, monkeypatch):
    monkeypatch.setattr(worker_module, "POSTS_PER_JOB", 2)
    server = FakeServer()
    async with open_desks_now(home, server=server, **NO_PIPELINE) as desks:
        desk = await desks.get(desks.owner)
        await add_deliveries(desk, [await connect(desk, "me")], 7)
        async with running(make_worker(home, desks)):
            await wait_until(lambda: all_posted(desk))
    assert [post.text for post in server.posts] == [f"Post {number}." for number in range(7)]


class SlowPlatform(FakePlatform):
    """Takes its time to post, and counts the requests at once."""

    def __init__(self, server: FakeServer) -> None:
        super().__init__(server)
        self._open = 0
        self.most = 0

    async def send(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], images: Sequence[PostImage] = ()
    ) -> StepResult:
        """Create the post."""
        self._open += 1
        self.most = max(self.most, self._open)
        try:
            await asyncio.sleep(0.05)
            return await super().send(account, intent, completed, images)
        finally:
            self._open -= 1


async def test_two_workers_post_to_an_account_one_at_a_time_in_order(home, monkeypatch):
    # They take turns.
    monkeypatch.setattr(worker_module, "POSTS_PER_JOB", 1)
    server, now = FakeServer(), datetime.now(UTC)
    platform = SlowPlatform(server)
    async with (
        open_desks_now(home, platform=platform, **NO_PIPELINE) as here,
        open_desks_now(home, platform=platform, **NO_PIPELINE) as elsewhere,
    ):
        desk = await here.get(here.owner)
        await connect(desk, "me")
        # Each is due one second after the one before, but created in another order.
        for number in (3, 0, 6, 1, 4, 2, 7, 5):
            draft = await create_approved_draft(desk, f"Post {number}.")
            due_at = now - timedelta(seconds=60 - number)
            await desk._context.write(start_posting, draft, (), due_at, desk._context.platforms)

        async def wake_until_posted() -> bool:
            # A job that is running does not keep others for the account out of the queue.
            execute_sql(home, f"SELECT worker_wake('{desk.user.id}', NULL)")
            return platform.most > 1 or await all_posted(desk)

        async with running(make_worker(home, here), make_worker(home, elsewhere)):
            await wait_until(wake_until_posted)
    assert platform.most == 1
    assert [post.text for post in server.posts] == [f"Post {number}." for number in range(8)]


async def test_tick_in_two_workers_defers_each_periodic_job_once(home):
    deferred = []
    async with open_desks_now(home, **NO_PIPELINE) as here, open_desks_now(home, **NO_PIPELINE) as elsewhere:
        for worker in (make_worker(home, here), make_worker(home, elsewhere)):
            await here.prepare_queue("3.10.0", worker)
            async with worker._open():
                deferrer = PeriodicDeferrer(worker._app.periodic_registry)
                await deferrer.defer_jobs(deferrer.get_previous_tasks(at=NOW.timestamp() + 1))
            deferred += query_db(home, "SELECT task_name FROM procrastinate_jobs")
            # It has run: it is not by waiting that it keeps out the same one of the other worker.
            execute_sql(home, "DELETE FROM procrastinate_jobs")
    assert sorted(deferred) == [("sweep",), ("take over",)]


async def test_daily_jobs_run_once_over_two_workers(home, monkeypatch):
    runs = Counter[str]()

    def count(name: str, run: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def counted(*args: object, **arguments: object) -> Any:
            runs[name] += 1
            return await run(*args, **arguments)

        return counted

    for job in (JobName.ZONES, JobName.RETENTION):
        monkeypatch.setitem(HANDLERS, job, count(job, HANDLERS[job]))
    monkeypatch.setattr(Worker, "_sweep", count("sweep", Worker._sweep))
    monkeypatch.setattr(worker_module, "SWEEP", "* * * * * */1")
    async with (
        open_desks_now(home, **NO_PIPELINE) as here,
        open_desks_now(home, **NO_PIPELINE) as elsewhere,
        running(make_worker(home, here), make_worker(home, elsewhere)),
    ):
        await wait_until(lambda: asyncio.sleep(0, len(runs) == 3))
        sweeps = runs["sweep"]
        await wait_until(lambda: asyncio.sleep(0, runs["sweep"] >= sweeps + 2))
        # Changes wake the user, too.
        jobs = "SELECT 1 FROM procrastinate_jobs WHERE args ->> 'user_id' IS NOT NULL"
        for _ in range(4):
            execute_sql(home, f"SELECT worker_wake('{here.owner.id}', NULL)")
            await wait_until(lambda: asyncio.sleep(0, not query_db(home, jobs)))
    assert (runs[JobName.ZONES], runs[JobName.RETENTION]) == (1, 1)


async def test_change_and_its_job_are_one_transaction(home):
    async with open_desks_now(home, **NO_PIPELINE) as desks:
        async with running(make_worker(home, desks)):
            pass
        desk = await desks.get(desks.owner)
        execute_sql(home, "DELETE FROM procrastinate_jobs")

        def approve_and_fail(connection, user_id):
            connection.exec_driver_sql("UPDATE draft SET status = 'approved'")
            raise RuntimeError

        await insert_scheduled(desk, datetime.now(UTC) + timedelta(hours=1))
        assert waiting_polls(home) == []
        with pytest.raises(RuntimeError):
            await desk._context.write(approve_and_fail)
        assert waiting_polls(home) == []
        for _ in range(3):
            await insert_scheduled(desk, datetime.now(UTC) - timedelta(seconds=1))
        # One that waits is enough.
        assert waiting_polls(home) == [desk.user.id]


def waiting_polls(home: Path) -> list[object]:
    query = "SELECT args ->> 'user_id' FROM procrastinate_jobs WHERE task_name = 'look' AND status = 'todo'"
    return [user_id for (user_id,) in query_db(home, query)]


async def test_draft_is_posted_at_its_time(home, monkeypatch):
    # Once a year, so that it is its time that makes it due.
    monkeypatch.setattr(worker_module, "SWEEP", "0 0 1 1 *")
    server = FakeServer()
    async with open_desks_now(home, server=server, **NO_PIPELINE) as desks:
        desk = await desks.get(desks.owner)
        await connect_account(desk, now=datetime.now(UTC))
        async with running(make_worker(home, desks)):
            # While there is none, a draft that is due later is left to the sweep.
            await wait_until(lambda: are_registered(home))
            at = datetime.now(UTC) + timedelta(seconds=2)
            draft_id = await insert_scheduled(desk, at, text="On time.")
            await wait_until(lambda: all_posted(desk))
        posted_at = (await desk.drafts.get(draft_id)).posted_at
    assert posted_at >= at


async def are_registered(home: Path) -> bool:
    """Return True once a worker has registered itself with each queue."""
    return query_db(home, "SELECT count(*) FROM procrastinate_workers") == [(len(QUEUES),)]


async def test_jobs_of_a_dead_worker_are_taken_over(home, monkeypatch):
    monkeypatch.setattr(worker_module, "HEARTBEAT_TIMEOUT", 2.0)
    monkeypatch.setattr(worker_module, "HEARTBEAT_INTERVAL", 0.2)
    server = FakeServer()
    async with open_desks_now(home, server=server, **NO_PIPELINE) as desks:
        desk = await desks.get(desks.owner)
        async with running(make_worker(home, desks)):
            pass
        (draft_id,) = await add_due_drafts(desk, 1)
        # A worker that took the job and has not been heard of since; one job waits already, the other does not.
        execute_sql(home, "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour')")
        dead = "status = 'doing', worker_id = (SELECT max(id) FROM procrastinate_workers)"
        execute_sql(home, f"UPDATE procrastinate_jobs SET {dead} WHERE task_name = 'look'")
        await desk.schedule.due_drafts.dispatch_due()
        assert len(waiting_polls(home)) == 1
        async with running(make_worker(home, desks)):
            await wait_until(lambda: all_posted(desk))
            await wait_until(lambda: asyncio.sleep(0, not stalled(home)))
    assert len(server.posts) == 1
    assert draft_id


async def test_jobs_that_an_older_version_left_are_done(home, monkeypatch):
    monkeypatch.setattr(worker_module, "HEARTBEAT_TIMEOUT", 2.0)
    monkeypatch.setattr(worker_module, "TAKEOVER", "* * * * * */1")
    columns = "queue_name, task_name, queueing_lock, args, status"
    async with open_desks_now(home, **NO_PIPELINE) as desks:
        async with running(make_worker(home, desks)):
            pass
        execute_sql(home, "DELETE FROM procrastinate_jobs")
        # One of these waits, the worker of the other was killed. Their locks would hold up all that follow.
        for name, status in (("sweep", "todo"), ("take over", "doing")):
            values = f"'look', '{name}', '{name}', '{{\"timestamp\": 1}}', '{status}'"
            execute_sql(home, f"INSERT INTO procrastinate_jobs ({columns}) VALUES ({values})")
        ((newest,),) = query_db(home, "SELECT max(id) FROM procrastinate_jobs")
        async with running(make_worker(home, desks)):
            left = f"SELECT id FROM procrastinate_jobs WHERE id <= {newest}"
            await wait_until(lambda: asyncio.sleep(0, not query_db(home, left)))


async def test_jobs_of_another_application_are_not_taken_over(home, monkeypatch):
    monkeypatch.setattr(worker_module, "TAKEOVER", "* * * * * */1")
    others = "SELECT status FROM procrastinate_jobs WHERE task_name = 'other.task'"
    async with open_desks_now(home, **NO_PIPELINE) as desks:
        async with running(make_worker(home, desks)):
            pass
        execute_sql(home, "DELETE FROM procrastinate_jobs")
        columns = "queue_name, task_name, queueing_lock, args, status"
        for queue, name in (("other", "other.task"), ("look", "sweep")):
            values = f"'{queue}', '{name}', '{name}', '{{\"timestamp\": 1}}', 'doing'"
            execute_sql(home, f"INSERT INTO procrastinate_jobs ({columns}) VALUES ({values})")
        ((newest,),) = query_db(home, "SELECT max(id) FROM procrastinate_jobs")
        async with running(make_worker(home, desks)):
            # Both are of workers that have died, and the newer one is taken over.
            own = f"SELECT id FROM procrastinate_jobs WHERE id = {newest}"
            await wait_until(lambda: asyncio.sleep(0, not query_db(home, own)))
        assert query_db(home, others) == [("doing",)]


async def test_fetch_that_killed_its_workers_is_dropped(home, monkeypatch):
    monkeypatch.setattr(worker_module, "TAKEOVER", "* * * * * */1")
    web = FakeWeb()
    for number in range(2):
        web.put(f"https://{number}.example/feed", feed(entry(number, now=utc_now())))
    async with open_desks_now(home, web, **NO_PIPELINE) as desks:
        async with running(make_worker(home, desks)):
            pass
        desk = await desks.get(desks.owner)
        execute_sql(home, "DELETE FROM procrastinate_jobs")
        for number, attempts in enumerate((worker_module.MAX_RETRIES, worker_module.MAX_RETRIES - 1)):
            source = await create_source(desk, f"https://{number}.example/feed")
            execute_sql(
                home,
                "INSERT INTO procrastinate_jobs (queue_name, task_name, args, status, attempts) VALUES"
                f" ('fetch', 'fetch', jsonb_build_object('user_id', ?::text, 'source_ids', jsonb_build_array(?::text)),"
                f" 'doing', {attempts})",
                desk.user.id,
                source.id,
            )
        async with running(make_worker(home, desks)):
            left = "SELECT id FROM procrastinate_jobs WHERE task_name = 'fetch'"
            await wait_until(lambda: asyncio.sleep(0, not query_db(home, left)))
    assert [request.url.host for request in web.requests] == ["1.example"]


async def test_polls_during_a_run_do_not_repeat_it(home):
    web, messages = FakeWeb(), []
    url = "https://one.example/feed"
    web.put(url, feed(entry(1, now=datetime.now(UTC))))
    hold = web.hold(url)
    async with open_desks_now(home, web) as desks:
        desk = await desks.get(desks.owner)
        await create_source(desk, url)
        async with running(make_worker(home, desks, messages)):
            await hold.requested.wait()
            execute_sql(home, f"SELECT worker_wake('{desk.user.id}', NULL)")
            await wait_until(lambda: asyncio.sleep(0, not waiting_polls(home)))
            hold.released.set()
            ended = "SELECT 1 FROM job WHERE name = 'pipeline' AND owner IS NULL"
            await wait_until(lambda: asyncio.sleep(0, query_db(home, ended)))
            jobs = "SELECT 1 FROM procrastinate_jobs WHERE queue_name = 'run'"
            await wait_until(lambda: asyncio.sleep(0, not query_db(home, jobs)))
        assert query_db(home, "SELECT status FROM run") == [("succeeded",)]


def stalled(home: Path) -> list[tuple[object, ...]]:
    return query_db(home, "SELECT task_name FROM procrastinate_jobs WHERE status = 'doing' AND worker_id IS NULL")


async def test_user_with_many_sources_has_few_jobs_in_the_queue(home):
    async with open_desks_now(home, **NO_PIPELINE) as desks:
        worker = make_worker(home, desks)
        await desks.prepare_queue("3.10.0", worker)
        groups = [SourceGroup(f"{number}.example", (f"source {number}",)) for number in range(100)]
        async with worker._open():
            fetching = worker.fetch(desks.owner.id, groups)
            ended = asyncio.create_task(anext(fetching))
            await wait_until(lambda: asyncio.sleep(0, count_fetches(home) == FETCHES_PER_USER))
            # The next one is deferred when one has ended.
            execute_sql(home, "DELETE FROM procrastinate_jobs WHERE id = (SELECT min(id) FROM procrastinate_jobs)")
            assert await ended == groups[0]
            ended = asyncio.create_task(anext(fetching))
            await wait_until(lambda: asyncio.sleep(0, count_fetches(home) == FETCHES_PER_USER))
            ended.cancel()
    assert query_db(home, "SELECT lock FROM procrastinate_jobs ORDER BY id DESC LIMIT 1") == [("host:16.example",)]


def count_fetches(home: Path) -> object:
    return query_db(home, "SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'fetch'")[0][0]


async def test_removed_user_is_forgotten(home):
    async with open_desks_now(home, **NO_PIPELINE) as desks:
        anna = await desks.users.add("anna")
        async with running(make_worker(home, desks)):
            pass
        await insert_scheduled(await desks.get(anna), datetime.now(UTC) - timedelta(seconds=1))
        await desks.users.remove("anna")
        assert waiting_polls(home) == [anna.id]
        async with running(make_worker(home, desks)):
            await wait_until(lambda: asyncio.sleep(0, not waiting_polls(home)))


class SlowWeb(FakeWeb):
    """Takes its time to respond, so that jobs pile up, and counts the requests to a host at once."""

    def __init__(self) -> None:
        super().__init__()
        self.responds = asyncio.Event()
        self.responds.set()
        self._open: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        self._open[host] += 1
        self.most[host] = max(self.most[host], self._open[host])
        try:
            await self.responds.wait()
            await asyncio.sleep(0.02)
            return await super().handle_async_request(request)
        finally:
            self._open[host] -= 1


async def test_workers_send_one_request_at_a_time_to_a_host(home, monkeypatch):
    # A job of its own for each source.
    monkeypatch.setattr("copydesk.desk.pipeline.fetch_sources.MAX_GROUP", 1)
    web = SlowWeb()
    async with open_desks_now(home, web) as here, open_desks_now(home, web) as elsewhere:
        for user in (here.owner, await here.users.add("anna")):
            for number in range(12):
                url = f"https://{number % 2}.example/{user.name}/{number}"
                web.put(url, feed())
                await create_source(await here.get(user), url)
        async with running(make_worker(home, here), make_worker(home, elsewhere)):
            await wait_until(lambda: asyncio.sleep(0, len(web.requests) == 24))
    assert web.most == {"0.example": 1, "1.example": 1}


async def draft_from_page(desk: Desk, url: str) -> None:
    """Let the worker write a draft from a page."""
    await desk.drafts.create({"url": url})


async def run_by_hand(desk: Desk, url: str) -> None:
    await create_source(desk, url)
    await desk.pipeline.run()


@pytest.mark.parametrize("request_page", [draft_from_page, run_by_hand])
async def test_other_requests_to_a_host_wait_for_those_of_its_job(home, request_page):
    web, url = SlowWeb(), "https://one.example/feed"
    hold = web.hold(url)
    async with open_desks_now(home, web, **NO_PIPELINE) as here, open_desks_now(home, web) as elsewhere:
        source = await create_source(await here.get(here.owner), url)
        worker = make_worker(home, here)
        async with running(worker):
            await worker._defer_fetches(here.owner.id, [SourceGroup("one.example", (source.id,))])
            await hold.requested.wait()
            desk = await elsewhere.get(await elsewhere.users.add("anna"))
            requesting = asyncio.create_task(request_page(desk, "https://one.example/anna"))
            waiting = f"SELECT 1 FROM pg_locks WHERE classid = {HOST_LOCK_CLASS} AND NOT granted"
            await wait_until(lambda: asyncio.sleep(0, len(web.requests) > 1 or query_db(home, waiting)))
            hold.released.set()
            await requesting
            await wait_until(lambda: asyncio.sleep(0, len(web.requests) > 1))
    assert web.most == {"one.example": 1}


async def test_user_with_many_sources_does_not_hold_up_another(home):
    web = SlowWeb()

    async def add_sources(user: User, count: int) -> None:
        urls = [f"https://{user.name}{number}.example/feed" for number in range(count)]
        for url in urls:
            web.put(url, feed())
        # At once: what is added after a run has begun waits for the next one.
        await add_feeds(await desks.get(user), urls)

    async with open_desks_now(home, web) as desks:
        anna = await desks.users.add("anna")
        await add_sources(desks.owner, 150)
        async with running(make_worker(home, desks, concurrency=2)):
            await wait_until(lambda: asyncio.sleep(0, len(web.requests) > 20))
            web.responds.clear()
            await add_sources(anna, 5)
            hers = "SELECT count(*) FROM procrastinate_jobs WHERE queue_name = 'fetch' AND args ->> 'user_id' = ?"
            await wait_until(lambda: asyncio.sleep(0, query_db(home, hers, anna.id) == [(5,)]))
            before = len(web.requests)
            web.responds.set()
            await wait_until(lambda: asyncio.sleep(0, len(web.requests) == 155))
    positions = [number for number, url in enumerate(web.requested_urls) if "anna" in url]
    # Behind what was in the queue when her run began, not behind all.
    assert len(positions) == 5
    assert positions[-1] - before < 2 * FETCHES_PER_USER


async def test_worker_goes_on_after_its_connections_were_cut(home):
    server = FakeServer()
    async with open_desks_now(home, server=server, **NO_PIPELINE) as desks:
        desk = await desks.get(desks.owner)
        async with running(make_worker(home, desks)):
            await wait_until(lambda: are_registered(home))
            # Its readers begin to listen after that, each on a connection of its own.
            others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            more = [(len(QUEUES),)]
            await wait_until(lambda: asyncio.sleep(0, query_db(home, f"SELECT count(*) {others}") > more))
            query_db(home, f"SELECT pg_terminate_backend(pid) {others}")
            account_id = await connect(desk, "me")
            await add_deliveries(desk, [account_id], 3)
            await wait_until(lambda: all_posted(desk))
    assert sorted(keys_of(server).values()) == [1, 1, 1]
