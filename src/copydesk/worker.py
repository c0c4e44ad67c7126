"""Jobs on any number of machines that share a PostgreSQL database, woken by Procrastinate: `copydesk worker`.

    change -> poll (a user) -> work (a job of the user), post (an account), run (the pipeline) -> fetch (a few sources)

As in `copydesk.jobs`, the database says what is due, and leases decide who does it. A job in the queue only says whom
to poll. So one that runs twice finds nothing to do, and for one that is lost the sweep defers another.
"""

import asyncio
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, TypedDict

import psycopg
from procrastinate import App, PsycopgConnector, RetryStrategy
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, UniqueViolation
from procrastinate.jobs import DeleteJobCondition, Status
from procrastinate.worker import Worker as QueueReader
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from copydesk.desk import Desks
from copydesk.errors import NotFoundError, StoreError
from copydesk.jobs import JobMessage, Jobs, Listener, UserListener
from copydesk.model.job import JobName
from copydesk.model.source import SourceGroup
from copydesk.store.postgresql.work_queue import POLL, WAKE

if TYPE_CHECKING:
    from procrastinate import JobContext
    from procrastinate.tasks import Task

log = logging.getLogger(__name__)
# Without a handler Python prints warnings to stderr.
logging.getLogger("procrastinate").addHandler(logging.NullHandler())

HORIZON: Final = timedelta(minutes=1)
"""What is due later waits in the tables of the desk, not in the queue; see `copydesk.store.postgresql.work_queue`."""
SWEEP: Final = "* * * * * */30"
"""When to look for users with work that no change announced: a source whose interval is over, a lost job."""
WAKES_PER_STATEMENT: Final = 100
"""Users that a sweep wakes at once. Changes of these users wait until that is done."""
TAKEOVER: Final = "* * * * * */5"
"""When to look for the jobs of dead workers."""
HEARTBEAT_TIMEOUT: Final = 15.0
"""Seconds without a heartbeat after which a worker counts as dead."""
HEARTBEAT_INTERVAL: Final = HEARTBEAT_TIMEOUT / 5
POLL_INTERVAL: Final = 1.0
"""Seconds between reads of a queue when no notification comes: for jobs whose time has come."""
LOCKED_POLL_INTERVAL: Final = 0.2
"""The same where jobs wait for their turn, at a host or an account: nothing announces the end of the one before."""
FETCHES_PER_USER: Final = 16
"""Jobs of one run that are in the queue at once, so that the sources of others come between them."""
MAX_RETRIES: Final = 5
"""How often a job is put back into the queue, after an error or because its worker died."""
FETCH_RETRIES: Final = RetryStrategy(max_attempts=MAX_RETRIES, wait=1, retry_exceptions={StoreError})
"""How often a job is repeated that could not store what it fetched; the run waits, as the next one is minutes away."""
FETCH_POLL_INTERVAL: Final = 0.05
"""Seconds between two polls for the jobs of runs that have ended; a run of many sources is no faster than they are."""
POSTS_PER_JOB: Final = 100
"""Deliveries to one account before other accounts have their turn."""
SHUTDOWN_TIMEOUT: Final = 30.0
"""Seconds that jobs in progress get when the worker stops; a run gets none, as it waits for jobs of its own."""
RECONNECT_DELAY: Final = 2.0
QUEUE_TIMEOUT: Final = 10.0
"""Seconds to wait for a connection to the queue before it counts as lost."""
RECONNECT_TIMEOUT: Final = 10.0
"""Seconds after which the pool starts over with connecting: its pauses double, to as long as the server was gone."""
POOL_SIZE: Final = 4
QUEUE_ERRORS: Final = (ConnectorException, psycopg.Error, PoolTimeout)


class _Options(TypedDict, total=False):
    lock: str
    queueing_lock: str
    schedule_at: datetime
    priority: int


class Worker:
    """Runs jobs of all users until it is stopped. Any number may share a database."""

    def __init__(
        self,
        desks: Desks,
        listener: UserListener,
        *,
        concurrency: int,
        url: str,
        password: str,
        queue_listener: Listener = lambda _: None,
    ) -> None:
        self._desks = desks
        self._listener = listener
        self._queue_listener = queue_listener
        """Is told when the queue cannot be reached, and when it can again."""
        self._is_disconnected = False
        """The queue could not be reached when it was last tried."""
        self._concurrency = concurrency
        self._jobs: dict[str, Jobs] = {}
        """By user id."""
        self._readers: dict[str, QueueReader] = {}
        """By queue."""
        self._running: dict[int, tuple[str, asyncio.Task[Any]]] = {}
        """Queue and task of the jobs that are running here, by their ids."""
        self._awaited: set[int] = set()
        """Ids of the jobs for which runs wait."""
        self._next_check: asyncio.Task[set[int]] | None = None
        """The next check of which have ended."""
        self._pool = AsyncConnectionPool(
            url,
            kwargs={"password": password or None, "application_name": "copydesk worker", "connect_timeout": 10},
            configure=_commit_each_statement,
            min_size=1,
            max_size=POOL_SIZE,
            timeout=QUEUE_TIMEOUT,
            reconnect_timeout=RECONNECT_TIMEOUT,
            open=False,
        )
        self._app = App(connector=PsycopgConnector())
        task = self._app.task
        self._poll_task: Task[..., Any, ...] = task(name=POLL, queue=POLL)(self._poll)
        self._work_task: Task[..., Any, ...] = task(name="work", queue="work")(self._work)
        self._run_task: Task[..., Any, ...] = task(name="run", queue="run")(self._work)
        self._post_task: Task[..., Any, ...] = task(name="post", queue="post")(self._post)
        self._fetch_task: Task[..., Any, ...] = task(name="fetch", queue="fetch", retry=FETCH_RETRIES)(self._fetch)
        for cron, name, work in ((SWEEP, "sweep", self._sweep), (TAKEOVER, "take over", self._take_over)):
            # Not locked: the lock of one whose worker died would hold up those that follow.
            periodic = task(name=name, queue=POLL, queueing_lock=name, priority=20)(work)
            self._app.periodic(cron=cron, periodic_id=name)(periodic)

    async def run(self, stop: asyncio.Event, on_start: Callable[[], None]) -> None:
        """Work until `stop` is set, then finish the jobs in progress. Raise StoreError if the queue cannot be used."""
        await self._desks.prepare_queue(version("procrastinate"), self)
        async with self._open():
            # One reader of the queue for each kind of job, so that none waits behind jobs of another kind.
            limits = dict.fromkeys((POLL, "work", "post", "fetch"), self._concurrency)
            # Runs mostly wait for their fetches.
            limits["run"] = 4 * self._concurrency
            readers = [
                asyncio.create_task(self._read(queue, limit, stop), name=queue) for queue, limit in limits.items()
            ]
            releasing = asyncio.create_task(self._release_lost_jobs(stop), name="release lost jobs")
            on_start()
            stopping = asyncio.create_task(stop.wait())
            try:
                await asyncio.wait([stopping, *readers], return_when=asyncio.FIRST_COMPLETED)
            finally:
                # Also if a reader failed. Told instead of cancelled: Python 3.11 may lose a cancellation.
                stop.set()
                for reader in self._readers.values():
                    reader.stop()
                cancelling = asyncio.create_task(self._cancel_jobs())
                await asyncio.gather(*readers, releasing)
                for task in (stopping, cancelling):
                    task.cancel()

    async def _cancel_jobs(self) -> None:
        """Cancel runs now, since the next one fetches what is left, and other jobs once their time is over.

        Not by a limit of the readers: one that has lost its connection waits for its jobs already, without a limit.
        """
        for queue, task in self._running.values():
            if queue == "run":
                task.cancel()
        await asyncio.sleep(SHUTDOWN_TIMEOUT)
        for _, task in self._running.values():
            task.cancel()

    async def fetch(self, user_id: str, groups: Sequence[SourceGroup]) -> AsyncIterator[SourceGroup]:
        """Defer a job for each group, a few at a time; yield each group once its job has ended. Raise StoreError."""
        try:
            async for group in self._fetch_groups(user_id, groups):
                yield group
        except QUEUE_ERRORS as error:
            raise StoreError("Cannot reach the queue of the workers.", hint="Check that PostgreSQL runs.") from error

    async def _fetch_groups(self, user_id: str, groups: Sequence[SourceGroup]) -> AsyncIterator[SourceGroup]:
        waiting, deferred = deque(groups), dict[int, SourceGroup]()
        while waiting or deferred:
            added = [waiting.popleft() for _ in range(min(len(waiting), FETCHES_PER_USER - len(deferred)))]
            if added:
                deferred |= zip(await self._defer_fetches(user_id, added), added, strict=True)
            for job_id in sorted(await self._find_ended(deferred)):
                yield deferred.pop(job_id)

    async def _defer_fetches(self, user_id: str, groups: Sequence[SourceGroup]) -> list[int]:
        """Defer a job for each group in one round trip; return their ids."""
        jobs = [
            # Jobs that would wait for each other's requests to a host wait in the queue, not in a worker.
            self._fetch_task.configure(
                lock=f"host:{group.host}", task_kwargs={"user_id": user_id, "source_ids": list(group.source_ids)}
            ).job
            for group in groups
        ]
        deferred = await self._app.job_manager.batch_defer_jobs_async(jobs)
        return [job.id for job in deferred if job.id is not None]

    async def _find_ended(self, job_ids: Iterable[int]) -> set[int]:
        """Return those of the jobs that have ended by the next check, which is one for all runs here."""
        self._awaited.update(job_ids)
        if self._next_check is None:
            self._next_check = asyncio.create_task(self._list_unfinished())
        # Shielded: others wait for it, too.
        return set(job_ids) - await asyncio.shield(self._next_check)

    async def _list_unfinished(self) -> set[int]:
        await asyncio.sleep(FETCH_POLL_INTERVAL)
        # Who comes from now on waits for the next check.
        job_ids, self._awaited, self._next_check = list(self._awaited), set(), None
        rows = await self._app.connector.execute_query_all_async(
            "SELECT id FROM procrastinate_jobs WHERE id = ANY(%(ids)s) AND status IN ('todo', 'doing')", ids=job_ids
        )
        return {row["id"] for row in rows}

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[None]:
        try:
            await self._pool.open(wait=True)
        except PoolTimeout as error:
            await self._pool.close()
            raise StoreError("Cannot reach the queue of the workers.", hint="Check that PostgreSQL runs.") from error
        try:
            async with self._app.open_async(self._pool):
                yield
        finally:
            await self._pool.close()

    async def _read(self, queue: str, concurrency: int, stop: asyncio.Event) -> None:
        """Take jobs from a queue until `stop` is set, also after the connection was lost."""
        while not stop.is_set():
            self._readers[queue] = reader = QueueReader(
                self._app,
                name=queue,
                queues=[queue],
                concurrency=concurrency,
                fetch_job_polling_interval=LOCKED_POLL_INTERVAL if queue in {"fetch", "post"} else POLL_INTERVAL,
                # Errors are stored with the job of the desk, and what is due is looked up again.
                delete_jobs=DeleteJobCondition.ALWAYS,
                shutdown_graceful_timeout=None,
                install_signal_handlers=False,
                update_heartbeat_interval=HEARTBEAT_INTERVAL,
                stalled_worker_timeout=HEARTBEAT_TIMEOUT,
                worker_middleware=[self._track],
            )
            try:
                await reader.run()
            except QUEUE_ERRORS as error:
                log.warning("Reading the queue %s failed; trying again", queue, exc_info=error)
                self._report_connection()
            await _is_set_within(stop, RECONNECT_DELAY)

    def _report_connection(self, *, is_lost: bool = True) -> None:
        """Tell the listener if the queue could be reached before and cannot be now, or the other way round."""
        if is_lost != self._is_disconnected:
            text = "the connection to PostgreSQL is lost; trying again" if is_lost else "connected to PostgreSQL again"
            self._queue_listener(JobMessage(at=datetime.now(UTC), job="queue", text=text, failed=is_lost))
        self._is_disconnected = is_lost

    async def _track(self, run_job: Callable[[], Awaitable[Any]], context: "JobContext", reader: QueueReader) -> None:
        """Run a job; it is in `_running` meanwhile."""
        task = asyncio.current_task()
        assert context.job.id is not None
        assert task is not None
        self._running[context.job.id] = (context.job.queue, task)
        try:
            await run_job()
        finally:
            del self._running[context.job.id]

    async def _release_lost_jobs(self, stop: asyncio.Event) -> None:
        """Let go of jobs that are this worker's in the queue, but are not running here, until `stop` is set.

        That happens if the end of a job could not be stored, or the response to a read of the queue was lost. The
        heartbeat goes on, so nobody would take them over, and their locks would hold up a host or an account.
        """
        lost: set[int] = set()
        while not await _is_set_within(stop, HEARTBEAT_INTERVAL):
            owners = [reader.worker_id for reader in self._readers.values() if reader.worker_id is not None]
            try:
                rows = await self._app.connector.execute_query_all_async(
                    "SELECT id FROM procrastinate_jobs WHERE status = 'doing' AND worker_id = ANY(%(owners)s)",
                    owners=owners,
                )
                found = {row["id"] for row in rows} - self._running.keys()
                # One that starts or ends at this moment is not lost.
                if again := found & lost:
                    # As those of a worker that is gone, which `_take_over` looks for.
                    await self._app.connector.execute_query_async(
                        "UPDATE procrastinate_jobs SET worker_id = NULL WHERE id = ANY(%(ids)s) AND status = 'doing'",
                        ids=list(again),
                    )
                lost = found - again
                self._report_connection(is_lost=False)
            except QUEUE_ERRORS as error:
                log.debug("The jobs of this worker could not be checked; trying again", exc_info=error)
                self._report_connection()

    async def _poll(self, user_id: str) -> None:
        """Defer what is due for a user."""
        jobs = await self._jobs_of(user_id)
        if jobs is None:
            return
        # After the change that asked for it, which may still be under way.
        for name in await jobs.find_due(settled=True):
            if name is JobName.POSTING:
                for account_id in await (await self._desks.get(user_id)).posting.list_ready_accounts():
                    await self._defer_post(user_id, account_id)
            else:
                task = self._run_task if name is JobName.PIPELINE else self._work_task
                key = f"{name}:{user_id}"
                await _defer(task, {"lock": key, "queueing_lock": key}, user_id=user_id, name=name.value)
        if jobs.next_draft is not None and jobs.next_draft - datetime.now(UTC) <= HORIZON:
            await self._defer_poll(user_id, jobs.next_draft)

    async def _work(self, user_id: str, name: str) -> None:
        """Run a job of a user, then poll again: it may have made another one due."""
        jobs = await self._jobs_of(user_id)
        if jobs is not None and await jobs.run(JobName(name)):
            await self._defer_poll(user_id)

    async def _post(self, user_id: str, account_id: str) -> None:
        """Send to an account; if there may be more, defer the rest, behind other accounts."""
        jobs = await self._jobs_of(user_id)
        if jobs is not None and await jobs.send_account(account_id, POSTS_PER_JOB) == POSTS_PER_JOB:
            await self._defer_post(user_id, account_id)

    async def _fetch(self, user_id: str, source_ids: list[str]) -> None:
        with suppress(NotFoundError):
            # Not looked up if it is open: a user who was removed has no sources any more.
            desk = self._desks.find_open(user_id) or await self._desks.get(user_id)
            await desk.pipeline.fetch(source_ids)

    async def _fail_fetch(self, arguments: Mapping[str, Any], attempts: int) -> None:
        """Let the sources that a dropped job has not fetched say why; `arguments` are those of the job."""
        with suppress(NotFoundError):
            desk = await self._desks.get(arguments["user_id"])
            message = f"Not fetched: its worker died, after {attempts} unsuccessful attempts."
            await desk.pipeline.fail_fetch(arguments["source_ids"], message)

    async def _sweep(self, timestamp: int) -> None:
        """Wake the users with work that no change has announced."""
        user_ids = await self._desks.list_users_with_work(HORIZON)
        for start in range(0, len(user_ids), WAKES_PER_STATEMENT):
            await self._app.connector.execute_query_async(
                WAKE, user_ids=list(user_ids[start : start + WAKES_PER_STATEMENT])
            )

    async def _take_over(self, timestamp: int) -> None:
        """Put the jobs of dead workers back into the queue; drop those that may be what kills workers."""
        manager = self._app.job_manager
        for job in await manager.get_stalled_jobs(seconds_since_heartbeat=HEARTBEAT_TIMEOUT):
            if job.task_name not in self._app.tasks:  # another application has its queue in this database, too
                continue
            assert job.id is not None
            drop = partial(manager.finish_job, job, Status.FAILED, delete_job=True)
            # Another one may have taken it over at the same time.
            with suppress(ConnectorException):
                if job.attempts >= MAX_RETRIES:
                    # What it leaves is deferred anew; before the run that waits for a fetch goes on.
                    if job.task_name == self._fetch_task.name:
                        try:
                            await self._fail_fetch(job.task_kwargs, job.attempts)
                        except StoreError as error:
                            # It is found again in the next pass; the other jobs must not wait for that.
                            log.warning("Could not drop the job %s; trying again", job.task_name, exc_info=error)
                            continue
                    await drop()
                    message = "Dropped the job %s: it was put back %d times, and its worker has died again"
                    log.warning(message, job.task_name, job.attempts)
                    continue
                try:
                    await manager.retry_job(job)
                except UniqueViolation:
                    await drop()
                    log.warning("Dropped the job %s of a worker that has died: the same is waiting", job.task_name)
                else:
                    log.warning("Took over the job %s of a worker that has died", job.task_name)

    async def _defer_poll(self, user_id: str, at: datetime | None = None) -> None:
        key = f"{POLL}:{user_id}"
        if at is None:
            await _defer(self._poll_task, {"queueing_lock": key, "priority": 10}, user_id=user_id)
        else:
            options = _Options(queueing_lock=f"{key}:{math.ceil(at.timestamp())}", priority=10, schedule_at=at)
            await _defer(self._poll_task, options, user_id=user_id)

    async def _defer_post(self, user_id: str, account_id: str) -> None:
        key = f"account:{account_id}"
        await _defer(self._post_task, {"lock": key, "queueing_lock": key}, user_id=user_id, account_id=account_id)

    async def _jobs_of(self, user_id: str) -> Jobs | None:
        """Return the jobs of a user, None if the user was removed."""
        try:
            desk = await self._desks.get(user_id)
        except NotFoundError:
            self._jobs.pop(user_id, None)
            return None
        if user_id not in self._jobs:
            self._jobs[user_id] = Jobs(
                desk,
                fetches_sources=desk.settings.jobs.pipeline != "never",
                backup_delay=timedelta(0),
                makes_backups=False,
                checks_zones_at_start=False,
                listener=partial(self._listener, desk.user),
            )
        return self._jobs[user_id]


async def _defer(task: "Task[..., Any, ...]", options: _Options, **arguments: str) -> None:
    """Defer a job, unless one with its queueing lock is waiting already."""
    with suppress(AlreadyEnqueued):
        await task.configure(**options).defer_async(**arguments)


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for `event`, but not longer; return True if it is set."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


async def _commit_each_statement(connection: psycopg.AsyncConnection[Any]) -> None:
    await connection.set_autocommit(True)
