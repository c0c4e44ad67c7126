"""Tests for running jobs: each due job runs once, whichever process claims it first, and failures stay isolated."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from copydesk import jobs as runner_module
from copydesk.desk import Desk
from copydesk.desk.leases import current_owner
from copydesk.errors import StoreBusyError
from copydesk.jobs import JobMessage, JobOutcome, Jobs, run_jobs
from copydesk.model.delivery import Account
from copydesk.model.job import DueWork, JobName
from copydesk.model.run import RunStatus
from copydesk.posting.fake import FakeServer, Fault
from copydesk.store import accounts
from copydesk.store import jobs as job_store
from copydesk.store.jobs import JobLease
from desk_fixtures import (
    NOW,
    URL_ONE,
    URL_TWO,
    FakeWeb,
    Watch,
    create_source,
    entry,
    execute_sql,
    feed,
    open_desk_at,
    query_db,
)
from posting_fixtures import connect_account as connect_posting_account
from posting_fixtures import create_approved_draft, fake_platforms, open_posting_desk
from schedule_fixtures import draft_status, insert_drafts, insert_scheduled

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


class MessageRecorder:
    """A listener that records job messages."""

    def __init__(self) -> None:
        self.messages: list[JobMessage] = []

    def __call__(self, message: JobMessage) -> None:
        self.messages.append(message)

    @property
    def texts(self) -> list[str]:
        """The messages' texts, in order."""
        return [f"{said.job}: {said.text}" for said in self.messages]


async def tick_and_finish(jobs: Jobs) -> None:
    """Tick once and finish the jobs that result."""
    await jobs.tick()
    await jobs.drain()


async def wait_until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110 - the condition is in the database
            await asyncio.sleep(0.005)


async def _has_started(desk: Desk, count: int) -> bool:
    return len(await desk.job_leases.states()) >= count


async def _has_status(desk: Desk, draft: str, status: str) -> bool:
    return await draft_status(desk, draft) == status


def replace_handler(
    monkeypatch: pytest.MonkeyPatch, name: JobName, work: Callable[[Desk], Awaitable[Sequence[JobOutcome]]]
) -> None:
    """Replace a job's handler."""
    monkeypatch.setitem(runner_module.HANDLERS, name, work)


def web_with_news() -> FakeWeb:
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2)))
    return web


async def test_tick_without_due_jobs_does_nothing(tmp_path: Path) -> None:
    messages = MessageRecorder()
    async with open_desk_at(tmp_path) as desk:
        jobs = Jobs(desk, listener=messages)
        await tick_and_finish(jobs)  # the time zones, once
        stored = query_db(tmp_path, "SELECT * FROM job")
        assert await jobs.tick() is None
        await jobs.drain()
        assert query_db(tmp_path, "SELECT * FROM job") == stored
    assert messages.texts == []


async def test_closed_desk_ends_jobs_without_messages(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    messages = MessageRecorder()
    async with open_desk_at(tmp_path) as desk:
        jobs = Jobs(desk, listener=messages)
    assert [await jobs.tick(), await jobs.tick()] == [None, None]
    assert (messages.texts, caplog.messages) == ([], [])


async def test_job_ends_quietly_when_desk_is_closed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def close_desk(desk: Desk) -> Sequence[JobOutcome]:
        await desk.close()
        return await desk.drafts.queue()

    replace_handler(monkeypatch, JobName.ZONES, close_desk)
    messages = MessageRecorder()
    async with open_desk_at(tmp_path) as desk:
        await tick_and_finish(Jobs(desk, listener=messages))
    assert (messages.texts, caplog.messages) == ([], [])


WAITING = "due: 1 due draft waits for an account. Connect one: copydesk account connect bluesky"


async def test_due_draft_without_account_is_told_once(tmp_path: Path) -> None:
    messages, watch = MessageRecorder(), Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        await insert_scheduled(desk, NOW)
        jobs = Jobs(desk, listener=messages)
        await tick_and_finish(jobs)
        await tick_and_finish(jobs)
        assert messages.texts == [WAITING]
        assert messages.messages[0].failed
        await insert_scheduled(desk, NOW)
        await tick_and_finish(jobs)
    assert messages.texts == [WAITING, WAITING]


async def test_due_draft_without_account_is_told_while_a_late_thread_waits(tmp_path: Path) -> None:
    messages, watch, server = MessageRecorder(), Watch(), FakeServer()
    server.faults.extend((None, Fault.LOGIN))
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_posting_account(desk)
        await desk.posting.post(await create_approved_draft(desk, "One.\n\n---\n\nTwo.", format="THREAD"))
        watch.now += HOUR
        await insert_scheduled(desk, watch.now, target_platforms=("mastodon",))
        await tick_and_finish(Jobs(desk, listener=messages))
    assert (len(server.posts), messages.texts) == (1, [WAITING])


async def test_late_thread_that_waits_for_a_login_is_not_given_up_again_and_again(tmp_path: Path) -> None:
    watch, server = Watch(), FakeServer()
    server.faults.extend((None, Fault.LOGIN))
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_posting_account(desk)
        await desk.posting.post(await create_approved_draft(desk, "One.\n\n---\n\nTwo.", format="THREAD"))
        watch.now += 24 * HOUR
        jobs = Jobs(desk)
        assert JobName.MISSED not in await jobs.find_due()
        await insert_scheduled(desk, NOW)
        assert JobName.MISSED in await jobs.find_due()


async def test_late_draft_is_marked_missed(tmp_path: Path) -> None:
    messages, watch = MessageRecorder(), Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        draft = await insert_scheduled(desk, NOW + HOUR)
        jobs = Jobs(desk, listener=messages)
        assert await jobs.tick() == HOUR
        await jobs.drain()
        watch.now = NOW + HOUR + 30 * MINUTE
        await tick_and_finish(jobs)
        assert await draft_status(desk, draft) == "scheduled"
        watch.now += MINUTE
        await tick_and_finish(jobs)
        assert await draft_status(desk, draft) == "missed"
    # The draft waited for an account until then, which is told once.
    assert messages.texts == [WAITING, "missed: 1 draft missed: nothing was sent"]


async def wait_for_account(desk: Desk) -> None:
    await insert_scheduled(desk, desk.clock(), target_platforms=("mastodon",))


async def wait_for_approval(desk: Desk) -> None:
    await desk.accounts.require_approvals("fake:me", 2)
    await insert_scheduled(desk, desk.clock())


async def wait_for_login(desk: Desk) -> None:
    await desk._context.write(accounts.set_error, await desk.accounts.get("fake:me"), "Log in.")
    await insert_scheduled(desk, desk.clock())


async def wait_for_earlier_post(desk: Desk) -> None:
    for _ in range(2):
        await insert_scheduled(desk, desk.clock(), text="Hello.")
    assert len(await desk.schedule.due_drafts.dispatch_due()) == 1
    await desk.posting.send_due()


@pytest.mark.parametrize(
    "wait", [wait_for_account, wait_for_approval, wait_for_login, wait_for_earlier_post], ids=lambda wait: wait.__name__
)
async def test_metrics_are_read_while_due_drafts_wait(tmp_path: Path, wait: Callable[[Desk], Awaitable[None]]) -> None:
    messages, watch = MessageRecorder(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(), clock=watch) as desk:
        await connect_posting_account(desk)
        await desk.posting.post(await create_approved_draft(desk))
        watch.now += 2 * HOUR
        await wait(desk)
        jobs = Jobs(desk, listener=messages)
        await tick_and_finish(jobs)
        assert JobName.DUE not in await jobs.find_due()
    assert "figures: metrics of 1 post updated" in messages.texts


async def test_source_is_fetched_when_due(tmp_path: Path) -> None:
    messages, watch, web = MessageRecorder(), Watch(), web_with_news()
    async with open_desk_at(tmp_path, web, watch, jobs__pipeline_minutes="10") as desk:
        await create_source(desk, interval=60)
        jobs = Jobs(desk, fetches_sources=True, listener=messages)
        await tick_and_finish(jobs)
        assert len(web.requests) == 1
        assert messages.texts == ["pipeline: succeeded: 2 drafts from 2 items"]
        watch.now += 30 * MINUTE
        await tick_and_finish(jobs)
        assert len(web.requests) == 1
        watch.now += 60 * MINUTE
        await tick_and_finish(jobs)
        assert len(web.requests) == 2
        # A new source that is due at once waits for the pause between two runs.
        web.put(URL_TWO, feed(entry(3)))
        await create_source(desk, URL_TWO)
        await tick_and_finish(jobs)
        assert len(web.requests) == 2
        watch.now += 10 * MINUTE
        await tick_and_finish(jobs)
        assert len(web.requests) == 3


async def test_source_is_fetched_after_the_clock_was_ahead(tmp_path: Path) -> None:
    watch, web = Watch(), web_with_news()
    async with open_desk_at(tmp_path, web, watch) as desk:
        await create_source(desk, interval=60)
        jobs = Jobs(desk, fetches_sources=True)
        watch.now += timedelta(days=365)
        await tick_and_finish(jobs)
        watch.now = NOW
        await tick_and_finish(jobs)
    assert len(web.requests) == 2


async def test_sources_are_not_fetched_by_default(tmp_path: Path) -> None:
    web = web_with_news()
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await tick_and_finish(Jobs(desk))
    assert web.requests == []


@pytest.mark.parametrize(
    "assignment", ["enabled = false", '"fetch" = \'{"gone": true}\'', "not_before = next_at + 86.4e9"]
)
async def test_excluded_source_is_not_due(tmp_path: Path, assignment: str) -> None:
    async with open_desk_at(tmp_path) as desk:
        await create_source(desk)
        execute_sql(tmp_path, f"UPDATE source SET next_at = {int(NOW.timestamp() * 1e6) - 1}")
        assert (await desk.job_leases.due_work()).to_fetch
        execute_sql(tmp_path, f"UPDATE source SET {assignment}")
        assert not (await desk.job_leases.due_work()).to_fetch


async def test_failed_run_sets_error_until_next_success(tmp_path: Path) -> None:
    messages, watch, web = MessageRecorder(), Watch(), FakeWeb()
    async with open_desk_at(tmp_path, web, watch) as desk:
        await create_source(desk)
        jobs = Jobs(desk, fetches_sources=True, listener=messages)
        await tick_and_finish(jobs)
        assert [message.failed for message in messages.messages] == [True]
        (state,) = [state for state in await desk.job_leases.states() if state.name == "pipeline"]
        assert state.error
        assert state.failed_at == NOW
        assert state.owner is None
        web.put(URL_ONE, feed(entry(1)))
        watch.now += timedelta(days=2)
        await tick_and_finish(jobs)
        (state,) = [state for state in await desk.job_leases.states() if state.name == "pipeline"]
        assert (state.error, state.failed_at) == (None, None)


async def test_queued_drafts_are_generated(tmp_path: Path) -> None:
    class FakeGeneration:
        outcomes = (True, True, False)

        async def drain(self) -> list[bool]:
            execute_sql(tmp_path, "UPDATE draft SET status = 'pending_review'")
            return [*self.outcomes]

    messages = MessageRecorder()
    async with open_desk_at(tmp_path) as desk:
        jobs = Jobs(desk, listener=messages)
        await insert_drafts(desk, 2, status="pending_generation")
        desk.__dict__["generation"] = FakeGeneration()
        await tick_and_finish(jobs)
    assert messages.texts == ["generation: 2 drafts generated, 1 failed"]


async def test_failing_job_does_not_stop_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_: Desk) -> Sequence[JobOutcome]:
        raise RuntimeError("no such luck")

    messages, watch = MessageRecorder(), Watch()
    replace_handler(monkeypatch, JobName.ZONES, fail)
    async with open_desk_at(tmp_path, clock=watch) as desk:
        draft = await insert_scheduled(desk, NOW - HOUR)
        jobs = Jobs(desk, listener=messages)
        await tick_and_finish(jobs)
        assert await draft_status(desk, draft) == "missed"
        assert {state.name: state.error for state in await desk.job_leases.states()} == {
            "zones": "Unexpected error: RuntimeError.",
            "missed": None,
        }
        assert "zones: Unexpected error: RuntimeError." in messages.texts
        # It is retried, after a pause.
        await tick_and_finish(jobs)
        assert len(messages.messages) == 2


async def test_two_desks_run_job_once(tmp_path: Path) -> None:
    web = web_with_news()
    hold = web.hold(URL_ONE)
    async with open_desk_at(tmp_path, web) as first, open_desk_at(tmp_path, web) as second:
        await create_source(first)
        daemon, console = Jobs(first, fetches_sources=True), Jobs(second, fetches_sources=True)
        await daemon.tick()
        await hold.requested.wait()
        await tick_and_finish(console)
        hold.released.set()
        await daemon.drain()
        await tick_and_finish(console)
        assert len(web.requests) == 1
        assert [run.status for run in (await first.pipeline.list()).items] == [RunStatus.SUCCEEDED]


async def test_run_that_another_process_has_made_is_not_repeated(tmp_path: Path) -> None:
    web = web_with_news()
    async with open_desk_at(tmp_path, web) as first, open_desk_at(tmp_path, web) as second:
        await create_source(first)
        daemon, console = Jobs(first, fetches_sources=True), Jobs(second, fetches_sources=True)
        assert JobName.PIPELINE in await console.find_due()
        await tick_and_finish(daemon)
        assert not await console.run(JobName.PIPELINE)
        assert [run.status for run in (await first.pipeline.list()).items] == [RunStatus.SUCCEEDED]


async def test_run_of_another_process_is_not_due(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as first, open_desk_at(tmp_path) as second:
        await first.job_leases.acquire(JobName.PIPELINE, ())
        assert JobName.PIPELINE not in await Jobs(second, fetches_sources=True).find_due()


async def begin_in(owner: str, desk: Desk, name: JobName) -> None:
    """Let the process `owner` begin a job."""
    with patch("copydesk.desk.job_leases.current_owner", return_value=owner):
        assert await desk.job_leases.acquire(name, await desk.job_leases.states())


async def test_run_whose_process_dies_again_waits(tmp_path: Path) -> None:
    watch = Watch()
    killed = await asyncio.to_thread(run_killed_process)
    async with open_desk_at(tmp_path, clock=watch) as desk:
        jobs = Jobs(desk, fetches_sources=True)
        is_due = []
        for _ in range(2):
            await begin_in(killed, desk, JobName.PIPELINE)
            # Later than after an error.
            watch.now += 2 * MINUTE
            is_due.append(JobName.PIPELINE in await jobs.find_due())
        assert is_due == [True, False]
        watch.now += timedelta(minutes=desk.settings.jobs.pipeline_minutes)
        assert await jobs.run(JobName.PIPELINE)
        assert JobName.PIPELINE not in await jobs.find_due()


async def test_job_whose_process_dies_again_waits(tmp_path: Path) -> None:
    watch = Watch()
    killed = await asyncio.to_thread(run_killed_process)
    async with open_desk_at(tmp_path, clock=watch) as desk:
        draft = await insert_scheduled(desk, NOW - HOUR)
        jobs = Jobs(desk)
        is_due = []
        for _ in range(2):
            await begin_in(killed, desk, JobName.MISSED)
            is_due.append(JobName.MISSED in await jobs.find_due())
        assert is_due == [True, False]
        # As it was put into the queue of workers before.
        assert not await jobs.run(JobName.MISSED)
        assert await draft_status(desk, draft) == "scheduled"
        watch.now += MINUTE
        await tick_and_finish(jobs)
        assert await draft_status(desk, draft) == "missed"


async def test_job_of_closed_consoles_does_not_wait(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await insert_scheduled(desk, NOW - HOUR)
        for _ in range(3):
            lease = await desk.job_leases.acquire(JobName.MISSED, await desk.job_leases.states())
            assert lease is not None
            await desk.job_leases.release(lease, finished=False)
        assert JobName.MISSED in await Jobs(desk).find_due()


async def test_lease_that_is_committed_after_cancellation_is_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquire_lease, loop = job_store.acquire_lease, asyncio.get_running_loop()

    def cancel_and_acquire(*args: Any, **values: Any) -> bool:
        # Before the commit, of which the task would learn later.
        loop.call_soon_threadsafe(task.cancel)
        return acquire_lease(*args, **values)

    monkeypatch.setattr(job_store, "acquire_lease", cancel_and_acquire)
    async with open_desk_at(tmp_path) as desk:
        task = asyncio.create_task(desk.job_leases.acquire(JobName.RETENTION, ()))
        await asyncio.wait([task])
        assert task.cancelled()
        assert query_db(tmp_path, "SELECT name FROM job WHERE owner IS NOT NULL") == []


async def test_lease_is_released_if_job_is_cancelled_after_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write = threading.Event()
    async with open_desk_at(tmp_path) as desk:
        context = desk._context

        async def end_during_write(_: Desk) -> Sequence[JobOutcome]:
            writes.append(asyncio.create_task(context.write(lambda *_: may_write.wait(60))))
            await asyncio.sleep(0)
            return ()

        writes: list[asyncio.Task[bool]] = []
        replace_handler(monkeypatch, JobName.ZONES, end_during_write)
        job = asyncio.create_task(Jobs(desk).run(JobName.ZONES))
        async with asyncio.timeout(60):
            # The one of the test, and the release that waits for its turn.
            while context.database._writer._pending < 2:  # noqa: ASYNC110 - it is in the queue of a thread
                await asyncio.sleep(0)
        job.cancel()
        await asyncio.wait([job], timeout=0)
        may_write.set()
        await asyncio.wait([job, *writes])
        assert job.cancelled()
        assert query_db(tmp_path, "SELECT name FROM job WHERE owner IS NOT NULL OR ended_at IS NULL") == []


async def test_two_desks_never_run_same_job_concurrently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running_jobs: list[str] = []
    max_concurrent = 0

    def counting_handler(name: JobName) -> Callable[[Desk], Awaitable[Sequence[JobOutcome]]]:
        async def work(desk: Desk) -> Sequence[JobOutcome]:
            nonlocal max_concurrent
            running_jobs.append(name)
            max_concurrent = max(max_concurrent, running_jobs.count(name))
            await desk.job_leases.states()
            running_jobs.remove(name)
            return ()

        return work

    for name in JobName:
        replace_handler(monkeypatch, name, counting_handler(name))
    async with open_desk_at(tmp_path) as first, open_desk_at(tmp_path) as second:
        await insert_scheduled(first, NOW - HOUR)
        first_jobs, second_jobs = Jobs(first), Jobs(second)
        for _ in range(10):
            await asyncio.gather(tick_and_finish(first_jobs), tick_and_finish(second_jobs))
    assert max_concurrent == 1
    assert query_db(tmp_path, "SELECT count(*) FROM job WHERE owner IS NOT NULL") == [(0,)]


def run_killed_process() -> str:
    """Return the owner string of a process that has just been killed."""
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from copydesk.desk.leases import current_owner; print(current_owner(), flush=True); input()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        name = process.stdout.readline().strip()
        process.send_signal(signal.SIGKILL)
    return name


async def test_job_of_killed_process_is_taken_over(tmp_path: Path) -> None:
    owner = await asyncio.to_thread(run_killed_process)
    async with open_desk_at(tmp_path) as desk:
        draft = await insert_scheduled(desk, NOW - HOUR)
        claim = JobLease(id="dead", job=JobName.MISSED, owner=owner, lease_until=NOW + HOUR)
        assert await desk._context.write(job_store.acquire_lease, claim, NOW)
        await tick_and_finish(Jobs(desk))
        assert await draft_status(desk, draft) == "missed"


async def test_remote_owner_is_waited_for_until_lease_ends(tmp_path: Path) -> None:
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        draft = await insert_scheduled(desk, NOW - HOUR)
        claim = JobLease(id="far", job=JobName.MISSED, owner="elsewhere/1/1", lease_until=NOW + MINUTE)
        assert await desk._context.write(job_store.acquire_lease, claim, NOW)
        await tick_and_finish(Jobs(desk))
        assert await draft_status(desk, draft) == "scheduled"
        # The clock is set back, so the lease would end in an hour now.
        watch.now -= timedelta(minutes=59)
        execute_sql(tmp_path, "UPDATE draft SET scheduled_at = scheduled_at - 7200000000")
        execute_sql(tmp_path, "DELETE FROM clock_reading")
        await tick_and_finish(Jobs(desk))
        assert await draft_status(desk, draft) == "missed"


async def test_job_of_live_process_is_left_during_lease(tmp_path: Path) -> None:
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        draft = await insert_scheduled(desk, NOW - HOUR)
        claim = JobLease(id="other", job=JobName.MISSED, owner=current_owner(), lease_until=NOW + MINUTE)
        assert await desk._context.write(job_store.acquire_lease, claim, NOW)
        await tick_and_finish(Jobs(desk))
        assert await draft_status(desk, draft) == "scheduled"
        watch.now += MINUTE + timedelta(seconds=1)
        await tick_and_finish(Jobs(desk))
        assert await draft_status(desk, draft) == "missed"
        # The first owner learns that the job is no longer its own.
        assert not await desk.job_leases.renew(claim)
        await desk.job_leases.release(claim)


async def test_job_taken_over_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = asyncio.Event()

    async def hang(_: Desk) -> Sequence[JobOutcome]:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ()

    replace_handler(monkeypatch, JobName.ZONES, hang)
    monkeypatch.setattr(runner_module, "HEARTBEAT_INTERVAL", 0.01)
    async with open_desk_at(tmp_path) as desk:
        jobs = Jobs(desk)
        await jobs.tick()
        await wait_until(lambda: _has_started(desk, 1))
        execute_sql(tmp_path, "UPDATE job SET claim_id = 'another', owner = 'elsewhere/1/1'")
        await asyncio.wait_for(cancelled.wait(), 60)
        await jobs.drain()
    assert query_db(tmp_path, "SELECT owner, error FROM job") == [("elsewhere/1/1", None)]


async def test_clock_warning_is_reported_once_and_pauses_schedule(tmp_path: Path) -> None:
    from copydesk.desk.clock_guard import MonotonicReading

    messages, watch = MessageRecorder(), Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        desk.schedule._clock_guard.monotonic = lambda: MonotonicReading(boot="one", seconds=1.0, counts_sleep=True)
        jobs = Jobs(desk, listener=messages)
        await tick_and_finish(jobs)
        draft = await insert_scheduled(desk, NOW + HOUR)
        watch.now += 2 * HOUR
        await tick_and_finish(jobs)
        await tick_and_finish(jobs)
        assert await draft_status(desk, draft) == "scheduled"
        await desk.schedule.accept_clock()
        await tick_and_finish(jobs)
        assert await draft_status(desk, draft) == "missed"
    assert [message.job for message in messages.messages] == ["clock", "missed"]


async def test_job_of_a_worker_that_last_polled_before_the_time_was_accepted_runs(tmp_path: Path) -> None:
    from copydesk.desk.clock_guard import MonotonicReading

    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        desk.schedule._clock_guard.monotonic = lambda: MonotonicReading(boot="one", seconds=1.0, counts_sleep=True)
        jobs = Jobs(desk)
        await tick_and_finish(jobs)
        draft = await insert_scheduled(desk, NOW + HOUR)
        watch.now += 2 * HOUR
        await tick_and_finish(jobs)
        await desk.schedule.accept_clock()
        # As another worker found it due.
        assert await jobs.run(JobName.MISSED)
        assert await draft_status(desk, draft) == "missed"


async def test_clock_warning_is_reported_once_by_jobs_that_begin_together(tmp_path: Path) -> None:
    from copydesk.desk.clock_guard import MonotonicReading

    messages, watch = MessageRecorder(), Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        desk.schedule._clock_guard.monotonic = lambda: MonotonicReading(boot="one", seconds=1.0, counts_sleep=True)
        jobs = Jobs(desk, listener=messages)
        await tick_and_finish(jobs)
        watch.now += 2 * HOUR
        await asyncio.gather(jobs.run(JobName.MISSED), jobs.run(JobName.DUE))
    assert [message.job for message in messages.messages] == ["clock"]


async def test_nothing_is_deleted_while_the_clock_is_in_doubt(tmp_path: Path) -> None:
    from copydesk.desk.clock_guard import MonotonicReading

    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        desk.schedule._clock_guard.monotonic = lambda: MonotonicReading(boot="one", seconds=1.0, counts_sleep=True)
        await tick_and_finish(Jobs(desk))
        watch.now += timedelta(days=400)
        await tick_and_finish(Jobs(desk, backup_delay=timedelta(0)))
        assert "retention" not in {state.name for state in await desk.job_leases.states()}
        await desk.schedule.accept_clock()
        await tick_and_finish(Jobs(desk, backup_delay=timedelta(0)))
        assert "retention" in {state.name for state in await desk.job_leases.states()}


async def test_old_data_is_deleted_after_the_clock_was_set_back(tmp_path: Path) -> None:
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        jobs = Jobs(desk, backup_delay=timedelta(0))
        watch.now -= 8 * HOUR
        await tick_and_finish(jobs)
        assert "retention" in {state.name for state in await desk.job_leases.states()}


async def test_no_metrics_are_read_while_the_clock_is_in_doubt(tmp_path: Path) -> None:
    """By a clock that was a month ahead, each reading would have been the last one of its post."""
    from copydesk.desk.clock_guard import MonotonicReading

    messages, watch = MessageRecorder(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(), clock=watch) as desk:
        desk.schedule._clock_guard.monotonic = lambda: MonotonicReading(boot="one", seconds=1.0, counts_sleep=True)
        await connect_posting_account(desk)
        await desk.posting.post(await create_approved_draft(desk))
        jobs = Jobs(desk, listener=messages)
        watch.now += timedelta(days=30)
        await tick_and_finish(jobs)
        assert "figures" not in {message.job for message in messages.messages}
        await desk.schedule.accept_clock()
        await tick_and_finish(jobs)
    assert "figures: metrics of 1 post updated" in messages.texts


async def test_busy_database_is_reported_once_and_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = MessageRecorder()
    async with open_desk_at(tmp_path) as desk:
        jobs = Jobs(desk, listener=messages)

        async def busy() -> None:
            raise StoreBusyError

        with monkeypatch.context() as patched:
            patched.setattr(desk.job_leases, "due_work", busy)
            await tick_and_finish(jobs)
            await tick_and_finish(jobs)
        assert [message.job for message in messages.messages] == ["poll"]
        draft = await insert_scheduled(desk, NOW - HOUR)
        await tick_and_finish(jobs)
        assert await draft_status(desk, draft) == "missed"


async def test_scheduler_ticks_by_itself(tmp_path: Path) -> None:
    """With the real clock: a draft due in a moment does not wait for the next half-minute tick."""
    from copydesk.desk.context import utc_now

    async with open_desk_at(tmp_path, clock=utc_now) as desk:
        grace = timedelta(minutes=30)
        draft = await insert_scheduled(desk, utc_now() - grace + timedelta(milliseconds=150))
        interval = timedelta(milliseconds=50)
        async with run_jobs(desk, interval=interval):
            await wait_until(lambda: _has_status(desk, draft, "missed"))
    assert query_db(tmp_path, "SELECT count(*) FROM job WHERE owner IS NOT NULL") == [(0,)]


async def test_tick_waits_until_next_draft(tmp_path: Path) -> None:
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        await insert_scheduled(desk, NOW + HOUR)
        jobs = Jobs(desk)
        assert await jobs.tick() == HOUR
        await jobs.drain()
        watch.now += timedelta(minutes=59)
        assert await jobs.tick() == MINUTE
        await jobs.drain()


async def test_draft_scheduled_by_another_process_is_new_work(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as daemon, open_desk_at(tmp_path) as console:
        jobs = Jobs(daemon)
        await tick_and_finish(jobs)
        await jobs.tick()
        assert not await jobs.has_new_work()
        await insert_scheduled(console, NOW + MINUTE)
        # A server may notify a moment after the commit.
        await wait_until(jobs.has_new_work)
        assert await jobs.tick() == MINUTE
        assert not await jobs.has_new_work()


async def test_unexpected_error_does_not_end_the_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail() -> int:
        raise MemoryError

    async with open_desk_at(tmp_path) as desk:
        jobs = Jobs(desk)
        await tick_and_finish(jobs)
        monkeypatch.setattr(desk, "change_counter", fail)
        assert not await jobs.has_new_work()


async def test_draft_moved_ahead_while_waiting_is_new_work(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        draft = await insert_scheduled(desk, NOW + HOUR)
        jobs = Jobs(desk)
        await tick_and_finish(jobs)
        await jobs.tick()
        await desk.drafts.reschedule(draft, NOW + MINUTE)
        await wait_until(jobs.has_new_work)
        assert await jobs.tick() == MINUTE


async def test_passed_time_is_new_work(tmp_path: Path) -> None:
    """As after a suspend, during which timers stand still."""
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        await insert_scheduled(desk, NOW + HOUR)
        jobs = Jobs(desk)
        await tick_and_finish(jobs)
        await jobs.tick()
        watch.now += HOUR
        assert await jobs.has_new_work()


async def test_work_that_cannot_be_done_is_not_new(tmp_path: Path) -> None:
    """A draft that waits for its account would otherwise start its job, and write, twice a second."""
    async with open_desk_at(tmp_path) as desk:
        await insert_scheduled(desk, NOW)
        # Its platform is not installed, so nothing can be posted to it.
        account = Account(platform="elsewhere", server="https://elsewhere.example", id="me", name="me")
        await desk._context.write(accounts.save, "me", account, NOW)
        jobs = Jobs(desk)
        await tick_and_finish(jobs)
        await jobs.tick()
        await jobs.drain()
        assert not await jobs.has_new_work()


async def test_ticker_calls_at_once_when_there_is_new_work() -> None:
    from copydesk.jobs import Ticker

    calls: list[int] = []
    called_again = asyncio.Event()

    async def tick() -> timedelta | None:
        calls.append(1)
        if len(calls) == 2:
            called_again.set()
        return HOUR

    async def has_new_work() -> bool:
        return len(calls) == 1

    ticker = Ticker(tick, HOUR, has_new_work=has_new_work, watch_interval=timedelta(milliseconds=5))
    ticker.start()
    await asyncio.wait_for(called_again.wait(), 60)
    await ticker.stop()


async def test_ticker_wakes_for_next_draft(tmp_path: Path) -> None:
    from copydesk.jobs import Ticker

    ticks = 0
    twice = asyncio.Event()

    async def tick() -> timedelta | None:
        nonlocal ticks
        ticks += 1
        if ticks == 2:
            twice.set()
        return timedelta(milliseconds=40) if ticks == 1 else None

    ticker = Ticker(tick, HOUR)
    ticker.start()
    await asyncio.wait_for(twice.wait(), 60)
    await ticker.stop()


async def test_backward_clock_does_not_delay_ticker(monkeypatch: pytest.MonkeyPatch) -> None:
    """APScheduler waits for a wall-clock time: an hour back would have been an hour without ticks."""
    from copydesk.jobs import Ticker

    ticked = asyncio.Event()

    async def tick() -> None:
        ticked.set()

    ticker = Ticker(tick, timedelta(milliseconds=50))
    ticker.start()
    await asyncio.wait_for(ticked.wait(), 60)
    ticked.clear()
    ticker._scheduler.modify_job("poll", next_run_time=ticker._scheduler.get_job("poll").next_run_time + HOUR)
    await asyncio.wait_for(ticked.wait(), 60)
    await ticker.stop()


async def test_end_cancels_pending_tick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def finish_at_once(_: Desk) -> list[JobOutcome]:
        return [JobOutcome("done")]

    replace_handler(monkeypatch, JobName.ZONES, finish_at_once)
    async with open_desk_at(tmp_path) as desk:
        jobs, due_work, second_tick = Jobs(desk), desk.job_leases.due_work, asyncio.Event()
        ticks = []

        async def block_second_call(**options: bool) -> DueWork:
            ticks.append(1)
            if len(ticks) > 1:
                second_tick.set()
                await asyncio.Event().wait()
            return await due_work()

        monkeypatch.setattr(desk.job_leases, "due_work", block_second_call)
        await jobs.tick()
        await asyncio.wait_for(second_tick.wait(), 60)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(jobs.drain(), 0.02)
        await jobs.stop(0)
        assert [task for task in asyncio.all_tasks() if task.get_name().startswith("job ")] == []


async def test_end_finishes_short_job_and_cancels_long_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    completed = []

    async def short(_: Desk) -> Sequence[JobOutcome]:
        await asyncio.sleep(0.02)
        completed.append("short")
        return ()

    async def long(_: Desk) -> Sequence[JobOutcome]:
        await asyncio.Event().wait()
        return ()

    replace_handler(monkeypatch, JobName.ZONES, short)
    replace_handler(monkeypatch, JobName.MISSED, long)
    async with open_desk_at(tmp_path) as desk:
        await insert_scheduled(desk, NOW - HOUR)
        async with run_jobs(desk, shutdown_timeout=2):
            await wait_until(lambda: _has_started(desk, 2))
    assert completed == ["short"]
    assert query_db(tmp_path, "SELECT name, owner, error FROM job ORDER BY name") == [
        ("missed", None, None),
        ("zones", None, None),
    ]


async def test_cancelled_run_is_marked_cancelled(tmp_path: Path) -> None:
    web = web_with_news()
    hold = web.hold(URL_ONE)
    async with open_desk_at(tmp_path, web, jobs__pipeline="always") as desk:
        await create_source(desk)
        async with run_jobs(desk, shutdown_timeout=0):
            await asyncio.wait_for(hold.requested.wait(), 60)
        assert [run.status for run in (await desk.pipeline.list()).items] == [RunStatus.CANCELLED]
    assert query_db(tmp_path, "SELECT owner FROM job WHERE name = 'pipeline'") == [(None,)]


@pytest.mark.parametrize(
    ("setting", "daemon", "reads"),
    [("daemon", True, True), ("daemon", False, False), ("always", False, True), ("never", True, False)],
)
async def test_fetching_sources_follows_setting(tmp_path: Path, setting: str, daemon: bool, reads: bool) -> None:
    web = web_with_news()
    async with open_desk_at(tmp_path, web, jobs__pipeline=setting) as desk:
        await create_source(desk)
        async with run_jobs(desk, daemon=daemon) as jobs:
            await wait_until(lambda: _has_started(desk, 1))
            await jobs.drain()
    assert bool(web.requests) is reads


@pytest.mark.parametrize(
    ("setting", "daemon", "posts"), [("daemon", True, True), ("daemon", False, False), ("always", False, True)]
)
async def test_posting_follows_setting(tmp_path: Path, setting: str, daemon: bool, posts: bool) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server), COPYDESK_JOBS__POSTING=setting) as desk:
        await connect_posting_account(desk)
        await insert_scheduled(desk, NOW)
        async with run_jobs(desk, daemon=daemon) as jobs:
            await wait_until(lambda: _has_started(desk, 1))
            await jobs.drain()
    assert bool(server.posts) is posts
