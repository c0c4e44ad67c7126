"""Tests for running jobs: each due job runs once, whichever process claims it first, and failures stay isolated."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.desk.process import me
from copydesk.errors import StoreBusyError
from copydesk.jobs import Jobs, Said, running
from copydesk.jobs import jobs as module
from copydesk.jobs.doing import Did
from copydesk.model.job import JobName, Outlook
from copydesk.model.run import RunStatus
from copydesk.store import jobs as kept
from copydesk.store.jobs import Claim
from desk_fixtures import NOW, ONE, TWO, Watch, Web, add, change, entry, feed, open_at, rows
from schedule_fixtures import put, put_at, status_of

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


class Heard:
    """A listener that records job messages."""

    def __init__(self) -> None:
        self.said: list[Said] = []

    def __call__(self, said: Said) -> None:
        self.said.append(said)

    @property
    def texts(self) -> list[str]:
        """The messages' texts, in order."""
        return [f"{said.job}: {said.text}" for said in self.said]


async def done(jobs: Jobs) -> None:
    """Tick once and finish the jobs that result."""
    await jobs.look()
    await jobs.finish()


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(60):
        while not await true():  # noqa: ASYNC110 - the condition is in the database
            await asyncio.sleep(0.005)


async def _begun(desk: Desk, count: int) -> bool:
    return len(await desk.work.states()) >= count


async def _is(desk: Desk, draft: str, status: str) -> bool:
    return await status_of(desk, draft) == status


def instead(monkeypatch: pytest.MonkeyPatch, name: JobName, work: Callable[[Desk], Awaitable[Sequence[Did]]]) -> None:
    """Replace a job's handler."""
    monkeypatch.setitem(module.DOING, name, work)


def web_with_news() -> Web:
    web = Web()
    web.put(ONE, feed(entry(1), entry(2)))
    return web


async def test_tick_without_due_jobs_does_nothing(tmp_path: Path) -> None:
    messages = Heard()
    async with open_at(tmp_path) as desk:
        jobs = Jobs(desk, listener=messages)
        await done(jobs)  # the time zones, once
        stored = rows(tmp_path, "SELECT * FROM job")
        assert await jobs.look() is None
        await jobs.finish()
        assert rows(tmp_path, "SELECT * FROM job") == stored
    assert messages.texts == []


async def test_late_draft_is_marked_missed(tmp_path: Path) -> None:
    messages, watch = Heard(), Watch()
    async with open_at(tmp_path, clock=watch) as desk:
        draft = await put_at(desk, NOW + HOUR)
        jobs = Jobs(desk, listener=messages)
        assert await jobs.look() == HOUR
        await jobs.finish()
        watch.now = NOW + HOUR + 30 * MINUTE
        await done(jobs)
        assert await status_of(desk, draft) == "scheduled"
        watch.now += MINUTE
        await done(jobs)
        assert await status_of(desk, draft) == "missed"
    assert messages.texts == ["missed: 1 draft missed: nothing was sent"]


async def test_source_is_fetched_when_due(tmp_path: Path) -> None:
    messages, watch, web = Heard(), Watch(), web_with_news()
    async with open_at(tmp_path, web, watch, jobs__pipeline_minutes="10") as desk:
        await add(desk, interval=60)
        jobs = Jobs(desk, reads_sources=True, listener=messages)
        await done(jobs)
        assert len(web.asked) == 1
        assert messages.texts == ["pipeline: succeeded: 2 drafts from 2 items"]
        watch.now += 30 * MINUTE
        await done(jobs)
        assert len(web.asked) == 1
        watch.now += 60 * MINUTE
        await done(jobs)
        assert len(web.asked) == 2
        # A new source that is due at once waits for the pause between two runs.
        web.put(TWO, feed(entry(3)))
        await add(desk, TWO)
        await done(jobs)
        assert len(web.asked) == 2
        watch.now += 10 * MINUTE
        await done(jobs)
        assert len(web.asked) == 3


async def test_sources_are_not_fetched_by_default(tmp_path: Path) -> None:
    web = web_with_news()
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        await done(Jobs(desk))
    assert web.asked == []


@pytest.mark.parametrize("what", ["enabled = 0", "fetch = '{\"gone\": true}'", "not_before = next_at + 9e15"])
async def test_excluded_source_is_not_due(tmp_path: Path, what: str) -> None:
    async with open_at(tmp_path) as desk:
        await add(desk)
        change(tmp_path, f"UPDATE source SET next_at = {int(NOW.timestamp() * 1e6) - 1}")
        assert (await desk.work.outlook()).to_read
        change(tmp_path, f"UPDATE source SET {what}")
        assert not (await desk.work.outlook()).to_read


async def test_failed_run_sets_error_until_next_success(tmp_path: Path) -> None:
    messages, watch, web = Heard(), Watch(), Web()
    async with open_at(tmp_path, web, watch) as desk:
        await add(desk)
        jobs = Jobs(desk, reads_sources=True, listener=messages)
        await done(jobs)
        assert [message.failed for message in messages.said] == [True]
        (state,) = [state for state in await desk.work.states() if state.name == "pipeline"]
        assert state.error
        assert state.failed_at == NOW
        assert state.owner is None
        web.put(ONE, feed(entry(1)))
        watch.now += timedelta(days=2)
        await done(jobs)
        (state,) = [state for state in await desk.work.states() if state.name == "pipeline"]
        assert (state.error, state.failed_at) == (None, None)


async def test_queued_drafts_are_generated(tmp_path: Path) -> None:
    class FakeGeneration:
        waiting = 2

        async def work_off(self) -> int:
            change(tmp_path, "UPDATE draft SET status = 'pending_review'")
            return self.waiting

    messages = Heard()
    async with open_at(tmp_path) as desk:
        jobs = Jobs(desk, listener=messages)
        await put(desk, 2, status="pending_generation")
        desk.__dict__["generation"] = FakeGeneration()
        await done(jobs)
    assert messages.texts == ["generation: the writing of 2 drafts ended"]


async def test_failing_job_does_not_stop_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_: Desk) -> Sequence[Did]:
        raise RuntimeError("no such luck")

    messages, watch = Heard(), Watch()
    instead(monkeypatch, JobName.ZONES, fail)
    async with open_at(tmp_path, clock=watch) as desk:
        draft = await put_at(desk, NOW - HOUR)
        jobs = Jobs(desk, listener=messages)
        await done(jobs)
        assert await status_of(desk, draft) == "missed"
        assert {state.name: state.error for state in await desk.work.states()} == {
            "zones": "RuntimeError('no such luck')",
            "missed": None,
        }
        assert "zones: Copydesk did not expect this: RuntimeError('no such luck')" in messages.texts
        # It is retried, after a pause.
        await done(jobs)
        assert len(messages.said) == 2


async def test_two_desks_run_job_once(tmp_path: Path) -> None:
    web = web_with_news()
    hold = web.hold(ONE)
    async with open_at(tmp_path, web) as first, open_at(tmp_path, web) as second:
        await add(first)
        daemon, console = Jobs(first, reads_sources=True), Jobs(second, reads_sources=True)
        await daemon.look()
        await hold.came.wait()
        await done(console)
        hold.go.set()
        await daemon.finish()
        await done(console)
        assert len(web.asked) == 1
        assert [run.status for run in (await first.pipeline.runs()).items] == [RunStatus.SUCCEEDED]


async def test_two_desks_never_run_same_job_concurrently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running_jobs: list[str] = []
    most = 0

    def counting_handler(name: JobName) -> Callable[[Desk], Awaitable[Sequence[Did]]]:
        async def work(desk: Desk) -> Sequence[Did]:
            nonlocal most
            running_jobs.append(name)
            most = max(most, running_jobs.count(name))
            await desk.work.states()
            running_jobs.remove(name)
            return ()

        return work

    for name in JobName:
        instead(monkeypatch, name, counting_handler(name))
    async with open_at(tmp_path) as first, open_at(tmp_path) as second:
        await put_at(first, NOW - HOUR)
        first_jobs, second_jobs = Jobs(first), Jobs(second)
        for _ in range(10):
            await asyncio.gather(done(first_jobs), done(second_jobs))
    assert most == 1
    assert rows(tmp_path, "SELECT count(*) FROM job WHERE owner IS NOT NULL") == [(0,)]


def killed() -> str:
    """Return the owner string of a process that has just been killed."""
    with subprocess.Popen(
        [sys.executable, "-c", "from copydesk.desk.process import me; print(me(), flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        name = process.stdout.readline().strip()
        process.send_signal(signal.SIGKILL)
    return name


async def test_job_of_killed_process_is_taken_over(tmp_path: Path) -> None:
    owner = await asyncio.to_thread(killed)
    async with open_at(tmp_path) as desk:
        draft = await put_at(desk, NOW - HOUR)
        claim = Claim(id="dead", job=JobName.MISSED, owner=owner, lease_until=NOW + HOUR)
        assert await desk.ground.write(kept.claim, claim, NOW)
        await done(Jobs(desk))
        assert await status_of(desk, draft) == "missed"


async def test_remote_owner_is_waited_for_until_lease_ends(tmp_path: Path) -> None:
    watch = Watch()
    async with open_at(tmp_path, clock=watch) as desk:
        draft = await put_at(desk, NOW - HOUR)
        claim = Claim(id="far", job=JobName.MISSED, owner="elsewhere/1/1", lease_until=NOW + MINUTE)
        assert await desk.ground.write(kept.claim, claim, NOW)
        await done(Jobs(desk))
        assert await status_of(desk, draft) == "scheduled"
        # The clock is set back, so the lease would end in an hour now.
        watch.now -= timedelta(minutes=59)
        change(tmp_path, "UPDATE draft SET scheduled_at = scheduled_at - 7200000000")
        change(tmp_path, "DELETE FROM clock_check")
        await done(Jobs(desk))
        assert await status_of(desk, draft) == "missed"


async def test_job_of_live_process_is_left_during_lease(tmp_path: Path) -> None:
    watch = Watch()
    async with open_at(tmp_path, clock=watch) as desk:
        draft = await put_at(desk, NOW - HOUR)
        claim = Claim(id="other", job=JobName.MISSED, owner=me(), lease_until=NOW + MINUTE)
        assert await desk.ground.write(kept.claim, claim, NOW)
        await done(Jobs(desk))
        assert await status_of(desk, draft) == "scheduled"
        watch.now += MINUTE + timedelta(seconds=1)
        await done(Jobs(desk))
        assert await status_of(desk, draft) == "missed"
        # The first owner learns that the job is no longer its own.
        assert not await desk.work.renew(claim)
        await desk.work.end(claim)


async def test_job_taken_over_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = asyncio.Event()

    async def hang(_: Desk) -> Sequence[Did]:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ()

    instead(monkeypatch, JobName.ZONES, hang)
    monkeypatch.setattr(module, "BEAT", 0.01)
    async with open_at(tmp_path) as desk:
        jobs = Jobs(desk)
        await jobs.look()
        await until(lambda: _begun(desk, 1))
        change(tmp_path, "UPDATE job SET claim_id = 'another', owner = 'elsewhere/1/1'")
        await asyncio.wait_for(cancelled.wait(), 60)
        await jobs.finish()
    assert rows(tmp_path, "SELECT owner, error FROM job") == [("elsewhere/1/1", None)]


async def test_clock_warning_is_reported_once_and_pauses_schedule(tmp_path: Path) -> None:
    from copydesk.desk.steady import Steady

    messages, watch = Heard(), Watch()
    async with open_at(tmp_path, clock=watch) as desk:
        desk.schedule.clock.steady = lambda: Steady(boot="one", seconds=1.0, counts_sleep=True)
        jobs = Jobs(desk, listener=messages)
        await done(jobs)
        draft = await put_at(desk, NOW + HOUR)
        watch.now += 2 * HOUR
        await done(jobs)
        await done(jobs)
        assert await status_of(desk, draft) == "scheduled"
        await desk.schedule.accept_clock()
        await done(jobs)
        assert await status_of(desk, draft) == "missed"
    assert [message.job for message in messages.said] == ["clock", "missed"]


async def test_busy_database_is_reported_once_and_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = Heard()
    async with open_at(tmp_path) as desk:
        jobs = Jobs(desk, listener=messages)

        async def busy() -> None:
            raise StoreBusyError

        with monkeypatch.context() as patched:
            patched.setattr(desk.work, "outlook", busy)
            await done(jobs)
            await done(jobs)
        assert [message.job for message in messages.said] == ["look"]
        draft = await put_at(desk, NOW - HOUR)
        await done(jobs)
        assert await status_of(desk, draft) == "missed"


async def test_scheduler_ticks_by_itself(tmp_path: Path) -> None:
    """With the real clock: a draft due in a moment does not wait for the next half-minute tick."""
    from copydesk.desk.ground import utc_now

    async with open_at(tmp_path, clock=utc_now) as desk:
        grace = timedelta(minutes=30)
        draft = await put_at(desk, utc_now() - grace + timedelta(milliseconds=150))
        interval = timedelta(milliseconds=50)
        async with running(desk, every=interval):
            await until(lambda: _is(desk, draft, "missed"))
    assert rows(tmp_path, "SELECT count(*) FROM job WHERE owner IS NOT NULL") == [(0,)]


async def test_ticker_wakes_for_next_draft(tmp_path: Path) -> None:
    from copydesk.jobs.alarm import Alarm

    rang = 0
    twice = asyncio.Event()

    async def tick() -> timedelta | None:
        nonlocal rang
        rang += 1
        if rang == 2:
            twice.set()
        return timedelta(milliseconds=40) if rang == 1 else None

    ticker = Alarm(tick, HOUR)
    ticker.start()
    await asyncio.wait_for(twice.wait(), 60)
    await ticker.stop()


async def test_backward_clock_does_not_delay_ticker(monkeypatch: pytest.MonkeyPatch) -> None:
    """APScheduler waits for a wall-clock time: an hour back would have been an hour without ticks."""
    from copydesk.jobs.alarm import Alarm

    ticked = asyncio.Event()

    async def tick() -> None:
        ticked.set()

    ticker = Alarm(tick, timedelta(milliseconds=50))
    ticker.start()
    await asyncio.wait_for(ticked.wait(), 60)
    ticked.clear()
    ticker._scheduler.modify_job("look", next_run_time=ticker._scheduler.get_job("look").next_run_time + HOUR)
    await asyncio.wait_for(ticked.wait(), 60)
    await ticker.stop()


async def test_end_cancels_pending_tick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def finish_at_once(_: Desk) -> list[Did]:
        return [Did("done")]

    instead(monkeypatch, JobName.ZONES, finish_at_once)
    async with open_at(tmp_path) as desk:
        jobs, outlook, second_tick = Jobs(desk), desk.work.outlook, asyncio.Event()
        ticks = []

        async def block_second_call() -> Outlook:
            ticks.append(1)
            if len(ticks) > 1:
                second_tick.set()
                await asyncio.Event().wait()
            return await outlook()

        monkeypatch.setattr(desk.work, "outlook", block_second_call)
        await jobs.look()
        await asyncio.wait_for(second_tick.wait(), 60)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(jobs.finish(), 0.02)
        await jobs.end(0)
        assert [task for task in asyncio.all_tasks() if task.get_name().startswith("job ")] == []


async def test_end_finishes_short_job_and_cancels_long_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    completed = []

    async def short(_: Desk) -> Sequence[Did]:
        await asyncio.sleep(0.02)
        completed.append("short")
        return ()

    async def long(_: Desk) -> Sequence[Did]:
        await asyncio.Event().wait()
        return ()

    instead(monkeypatch, JobName.ZONES, short)
    instead(monkeypatch, JobName.MISSED, long)
    async with open_at(tmp_path) as desk:
        await put_at(desk, NOW - HOUR)
        async with running(desk, patience=2):
            await until(lambda: _begun(desk, 2))
    assert completed == ["short"]
    assert rows(tmp_path, "SELECT name, owner, error FROM job ORDER BY name") == [
        ("missed", None, None),
        ("zones", None, None),
    ]


async def test_cancelled_run_is_marked_cancelled(tmp_path: Path) -> None:
    web = web_with_news()
    hold = web.hold(ONE)
    async with open_at(tmp_path, web, jobs__pipeline="always") as desk:
        await add(desk)
        async with running(desk, patience=0):
            await asyncio.wait_for(hold.came.wait(), 60)
        assert [run.status for run in (await desk.pipeline.runs()).items] == [RunStatus.CANCELLED]
    assert rows(tmp_path, "SELECT owner FROM job WHERE name = 'pipeline'") == [(None,)]


@pytest.mark.parametrize(
    ("setting", "daemon", "reads"),
    [("daemon", True, True), ("daemon", False, False), ("always", False, True), ("never", True, False)],
)
async def test_fetching_sources_follows_setting(tmp_path: Path, setting: str, daemon: bool, reads: bool) -> None:
    web = web_with_news()
    async with open_at(tmp_path, web, jobs__pipeline=setting) as desk:
        await add(desk)
        async with running(desk, daemon=daemon) as jobs:
            await until(lambda: _begun(desk, 1))
            await jobs.finish()
    assert bool(web.asked) is reads
