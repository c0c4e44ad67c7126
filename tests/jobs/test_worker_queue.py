"""Tests for what workers put into their queue, which is in memory: what the sweep finds, and jobs of dead workers."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
from procrastinate.exceptions import UniqueViolation
from procrastinate.manager import JobManager
from procrastinate.testing import InMemoryConnector

from copydesk import worker as worker_module
from copydesk.desk import Desk, Desks
from copydesk.errors import CopydeskError, StoreBusyError
from copydesk.jobs import ERROR_BACKOFF, HANDLERS, Jobs
from copydesk.model.job import JobName
from copydesk.worker import HORIZON, MAX_RETRIES, Worker
from desk_fixtures import NOW, FakeWeb, Watch, create_source
from desks_fixtures import open_desks_at
from posting_fixtures import connect_account, create_approved_draft, fake_platforms
from schedule_fixtures import insert_drafts, insert_scheduled

HOUR = timedelta(hours=1)


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> InMemoryConnector:
    """The queue of the workers that the test creates."""
    connector = InMemoryConnector()
    monkeypatch.setattr(worker_module, "PsycopgConnector", lambda: connector)
    return connector


def make_worker(desks: Desks) -> Worker:
    return Worker(desks, lambda *_: None, concurrency=1, url="postgresql://nowhere", password="")


async def begin(desk: Desk, name: JobName, error: Exception | None = None) -> None:
    """Begin and end a job, with `error` if given."""
    lease = await desk.job_leases.acquire(name, await desk.job_leases.states())
    assert lease is not None
    await desk.job_leases.release(lease, error=error)


async def add_nothing(_desk: Desk, _watch: Watch) -> None:
    """Leave the desk as it is: the job was never begun."""


async def add_missed(desk: Desk, _watch: Watch) -> None:
    await insert_scheduled(desk, NOW - HOUR)


async def add_due(desk: Desk, _watch: Watch) -> None:
    await connect_account(desk)
    await insert_scheduled(desk, NOW)


async def add_delivery(desk: Desk, watch: Watch) -> None:
    await add_due(desk, watch)
    await desk.schedule.due_drafts.dispatch_due()


async def add_event(desk: Desk, _watch: Watch) -> None:
    await desk.webhooks.create({"url": "https://hooks.example/"})
    await create_approved_draft(desk)


async def add_post(desk: Desk, watch: Watch) -> None:
    await connect_account(desk)
    await desk.posting.post(await create_approved_draft(desk))
    watch.now += 2 * HOUR


async def add_pending(desk: Desk, _watch: Watch) -> None:
    await insert_drafts(desk, status="pending_generation")


async def add_decisions(desk: Desk, watch: Watch) -> None:
    """Add enough decisions, after which the job failed."""
    await insert_drafts(desk, 10)
    await begin(desk, JobName.CONFIDENCE, CopydeskError("No."))
    watch.now += ERROR_BACKOFF


async def add_source(desk: Desk, _watch: Watch) -> None:
    await create_source(desk)


WORK: dict[JobName, Callable[[Desk, Watch], Awaitable[None]]] = {
    JobName.ZONES: add_nothing,
    JobName.MISSED: add_missed,
    JobName.DUE: add_due,
    JobName.POSTING: add_delivery,
    JobName.WEBHOOKS: add_event,
    JobName.METRICS: add_post,
    JobName.GENERATION: add_pending,
    JobName.CONFIDENCE: add_decisions,
    JobName.PIPELINE: add_source,
    JobName.RETENTION: add_nothing,
}
"""What makes a job due, of all jobs but the backups: a server's database has those of its own."""


def test_work_of_every_job_is_tested() -> None:
    assert WORK.keys() == HANDLERS.keys() - {JobName.BACKUP}


@pytest.mark.parametrize("name", WORK)
async def test_sweep_finds_what_a_daemon_would_run(tmp_path: Path, queue: InMemoryConnector, name: JobName) -> None:
    watch = Watch()
    async with open_desks_at(tmp_path, FakeWeb(), watch, fake_platforms()) as desks:
        desk, idle = await desks.get(desks.owner), await desks.get(await desks.users.add("anna"))
        for daily_job in (JobName.ZONES, JobName.RETENTION):
            await begin(idle, daily_job)
            if daily_job is not name:
                await begin(desk, daily_job)
        await WORK[name](desk, watch)

        daemon = Jobs(desk, fetches_sources=True, backup_delay=timedelta(0))
        assert name in await daemon.find_due()
        assert await desks.list_users_with_work(HORIZON) == (desk.user.id,)
        await make_worker(desks)._poll(desk.user.id)
    queued = {job["args"].get("name", job["task_name"]) for job in queue.jobs.values()}
    assert ("post" if name is JobName.POSTING else name) in queued


async def take_over(desks: Desks, queue: InMemoryConnector, attempts: int, desk: Desk, *source_ids: str) -> None:
    """Let a worker find a fetch of one that has died."""
    worker = make_worker(desks)
    job_id = await worker._fetch_task.defer_async(user_id=desk.user.id, source_ids=source_ids)
    queue.jobs[job_id] |= {"status": "doing", "attempts": attempts}
    await worker._take_over(0)


async def test_job_is_taken_over(tmp_path: Path, queue: InMemoryConnector, caplog: pytest.LogCaptureFixture) -> None:
    async with open_desks_at(tmp_path) as desks:
        await take_over(desks, queue, MAX_RETRIES - 1, await desks.get(desks.owner))
    assert [job["status"] for job in queue.jobs.values()] == ["todo"]
    assert caplog.messages == ["Took over the job fetch of a worker that has died"]


async def test_job_that_was_put_back_too_often_is_dropped(
    tmp_path: Path, queue: InMemoryConnector, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_desks_at(tmp_path) as desks:
        desk = await desks.get(desks.owner)
        source = await create_source(desk)
        await take_over(desks, queue, MAX_RETRIES, desk, source.id)
        reloaded = await desk.sources.get(source.id)
    assert queue.jobs == {}
    assert caplog.messages == ["Dropped the job fetch: it was put back 5 times, and its worker has died again"]
    assert reloaded.last_error == "Not fetched: its worker died, after 5 unsuccessful attempts."


async def test_jobs_after_one_that_cannot_be_dropped_are_taken_over(
    tmp_path: Path, queue: InMemoryConnector, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise StoreBusyError

    async with open_desks_at(tmp_path) as desks:
        desk = await desks.get(desks.owner)
        source = await create_source(desk)
        job_id = await make_worker(desks)._fetch_task.defer_async(user_id=desk.user.id, source_ids=[source.id])
        queue.jobs[job_id] |= {"status": "doing", "attempts": MAX_RETRIES}
        with monkeypatch.context() as patch:
            patch.setattr(desk.pipeline, "fail_fetch", fail)
            await take_over(desks, queue, 0, desk)
        assert [job["status"] for job in queue.jobs.values()] == ["doing", "todo"]
        assert caplog.messages == [
            "Could not drop the job fetch; trying again",
            "Took over the job fetch of a worker that has died",
        ]

        await make_worker(desks)._take_over(0)
        assert [job["status"] for job in queue.jobs.values()] == ["todo"]


async def test_job_that_waits_already_is_dropped(
    tmp_path: Path, queue: InMemoryConnector, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def retry_job(*_: object) -> None:
        raise UniqueViolation(constraint_name="queueing_lock", queueing_lock="fetch")

    monkeypatch.setattr(JobManager, "retry_job", retry_job)
    async with open_desks_at(tmp_path) as desks:
        await take_over(desks, queue, 0, await desks.get(desks.owner))
    assert queue.jobs == {}
    assert caplog.messages == ["Dropped the job fetch of a worker that has died: the same is waiting"]
