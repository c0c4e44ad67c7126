"""Tests for the jobs of workers that have died, in a queue in memory."""

from pathlib import Path

import pytest
from procrastinate.exceptions import UniqueViolation
from procrastinate.manager import JobManager
from procrastinate.testing import InMemoryConnector

from copydesk import worker as worker_module
from copydesk.desk import Desk, Desks
from copydesk.worker import MAX_RETRIES, Worker
from desk_fixtures import create_source
from desks_fixtures import open_desks_at


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> InMemoryConnector:
    """The queue of the workers that the test creates."""
    connector = InMemoryConnector()
    monkeypatch.setattr(worker_module, "PsycopgConnector", lambda: connector)
    return connector


async def take_over(desks: Desks, queue: InMemoryConnector, attempts: int, desk: Desk, *source_ids: str) -> None:
    """Let a worker find a fetch of one that has died."""
    worker = Worker(desks, lambda *_: None, concurrency=1, url="postgresql://nowhere", password="")
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
