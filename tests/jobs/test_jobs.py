"""Jobs: what is due is done once, by whoever asks first, and one that fails ends no other."""

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
    """Remembers what jobs said."""

    def __init__(self) -> None:
        self.said: list[Said] = []

    def __call__(self, said: Said) -> None:
        self.said.append(said)

    @property
    def texts(self) -> list[str]:
        """What was said, in order."""
        return [f"{said.job}: {said.text}" for said in self.said]


async def done(jobs: Jobs) -> None:
    """One look, and all that comes of it."""
    await jobs.look()
    await jobs.finish()


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something has come true."""
    async with asyncio.timeout(60):
        while not await true():  # noqa: ASYNC110 - what comes true is in the database
            await asyncio.sleep(0.005)


async def _begun(desk: Desk, count: int) -> bool:
    return len(await desk.work.states()) >= count


async def _is(desk: Desk, draft: str, status: str) -> bool:
    return await status_of(desk, draft) == status


def instead(monkeypatch: pytest.MonkeyPatch, name: JobName, work: Callable[[Desk], Awaitable[Sequence[Did]]]) -> None:
    """Let a job do something else."""
    monkeypatch.setitem(module.DOING, name, work)


def web_with_news() -> Web:
    web = Web()
    web.put(ONE, feed(entry(1), entry(2)))
    return web


async def test_a_look_when_nothing_is_due_does_nothing(tmp_path: Path) -> None:
    heard = Heard()
    async with open_at(tmp_path) as desk:
        jobs = Jobs(desk, listener=heard)
        await done(jobs)  # the zones, once
        before = rows(tmp_path, "SELECT * FROM job")
        assert await jobs.look() is None
        await jobs.finish()
        assert rows(tmp_path, "SELECT * FROM job") == before
    assert heard.texts == []


async def test_a_late_draft_is_missed(tmp_path: Path) -> None:
    heard, watch = Heard(), Watch()
    async with open_at(tmp_path, clock=watch) as desk:
        draft = await put_at(desk, NOW + HOUR)
        jobs = Jobs(desk, listener=heard)
        assert await jobs.look() == HOUR
        await jobs.finish()
        watch.now = NOW + HOUR + 30 * MINUTE
        await done(jobs)
        assert await status_of(desk, draft) == "scheduled"
        watch.now += MINUTE
        await done(jobs)
        assert await status_of(desk, draft) == "missed"
    assert heard.texts == ["missed: 1 draft missed: nothing was sent"]


async def test_a_source_is_read_when_its_time_has_come(tmp_path: Path) -> None:
    heard, watch, web = Heard(), Watch(), web_with_news()
    async with open_at(tmp_path, web, watch, jobs__pipeline_minutes="10") as desk:
        await add(desk, interval=60)
        jobs = Jobs(desk, reads_sources=True, listener=heard)
        await done(jobs)
        assert len(web.asked) == 1
        assert heard.texts == ["pipeline: succeeded: 2 drafts from 2 items"]
        watch.now += 30 * MINUTE
        await done(jobs)
        assert len(web.asked) == 1
        watch.now += 60 * MINUTE
        await done(jobs)
        assert len(web.asked) == 2
        # Another source that is new at once waits for the pause between two runs.
        web.put(TWO, feed(entry(3)))
        await add(desk, TWO)
        await done(jobs)
        assert len(web.asked) == 2
        watch.now += 10 * MINUTE
        await done(jobs)
        assert len(web.asked) == 3


async def test_only_who_is_to_read_sources_reads_them(tmp_path: Path) -> None:
    web = web_with_news()
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        await done(Jobs(desk))
    assert web.asked == []


@pytest.mark.parametrize("what", ["enabled = 0", "fetch = '{\"gone\": true}'", "not_before = next_at + 9e15"])
async def test_a_source_that_is_not_to_be_read_is_not_due(tmp_path: Path, what: str) -> None:
    async with open_at(tmp_path) as desk:
        await add(desk)
        change(tmp_path, f"UPDATE source SET next_at = {int(NOW.timestamp() * 1e6) - 1}")
        assert (await desk.work.outlook()).to_read
        change(tmp_path, f"UPDATE source SET {what}")
        assert not (await desk.work.outlook()).to_read


async def test_a_run_that_failed_is_the_jobs_error_and_the_next_one_ends_it(tmp_path: Path) -> None:
    heard, watch, web = Heard(), Watch(), Web()
    async with open_at(tmp_path, web, watch) as desk:
        await add(desk)
        jobs = Jobs(desk, reads_sources=True, listener=heard)
        await done(jobs)
        assert [said.failed for said in heard.said] == [True]
        (state,) = [state for state in await desk.work.states() if state.name == "pipeline"]
        assert state.error
        assert state.failed_at == NOW
        assert state.owner is None
        web.put(ONE, feed(entry(1)))
        watch.now += timedelta(days=2)
        await done(jobs)
        (state,) = [state for state in await desk.work.states() if state.name == "pipeline"]
        assert (state.error, state.failed_at) == (None, None)


async def test_drafts_that_wait_for_their_text_are_written(tmp_path: Path) -> None:
    class Writing:
        waiting = 2

        async def work_off(self) -> int:
            change(tmp_path, "UPDATE draft SET status = 'pending_review'")
            return self.waiting

    heard = Heard()
    async with open_at(tmp_path) as desk:
        jobs = Jobs(desk, listener=heard)
        await put(desk, 2, status="pending_generation")
        desk.__dict__["generation"] = Writing()
        await done(jobs)
    assert heard.texts == ["generation: the writing of 2 drafts ended"]


async def test_one_that_fails_ends_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_: Desk) -> Sequence[Did]:
        raise RuntimeError("no such luck")

    heard, watch = Heard(), Watch()
    instead(monkeypatch, JobName.ZONES, fail)
    async with open_at(tmp_path, clock=watch) as desk:
        draft = await put_at(desk, NOW - HOUR)
        jobs = Jobs(desk, listener=heard)
        await done(jobs)
        assert await status_of(desk, draft) == "missed"
        assert {state.name: state.error for state in await desk.work.states()} == {
            "zones": "RuntimeError('no such luck')",
            "missed": None,
        }
        assert "zones: Copydesk did not expect this: RuntimeError('no such luck')" in heard.texts
        # It is tried again, after a rest.
        await done(jobs)
        assert len(heard.said) == 2


async def test_two_desks_on_one_database_do_one_thing_once(tmp_path: Path) -> None:
    web = web_with_news()
    held = web.hold(ONE)
    async with open_at(tmp_path, web) as one, open_at(tmp_path, web) as two:
        await add(one)
        daemon, console = Jobs(one, reads_sources=True), Jobs(two, reads_sources=True)
        await daemon.look()
        await held.came.wait()
        await done(console)
        held.go.set()
        await daemon.finish()
        await done(console)
        assert len(web.asked) == 1
        assert [run.status for run in (await one.pipeline.runs()).items] == [RunStatus.SUCCEEDED]


async def test_two_desks_are_never_at_one_job_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[str] = []
    most = 0

    def counted(name: JobName) -> Callable[[Desk], Awaitable[Sequence[Did]]]:
        async def work(desk: Desk) -> Sequence[Did]:
            nonlocal most
            inside.append(name)
            most = max(most, inside.count(name))
            await desk.work.states()
            inside.remove(name)
            return ()

        return work

    for name in JobName:
        instead(monkeypatch, name, counted(name))
    async with open_at(tmp_path) as one, open_at(tmp_path) as two:
        await put_at(one, NOW - HOUR)
        here, there = Jobs(one), Jobs(two)
        for _ in range(10):
            await asyncio.gather(done(here), done(there))
    assert most == 1
    assert rows(tmp_path, "SELECT count(*) FROM job WHERE owner IS NOT NULL") == [(0,)]


def killed() -> str:
    """A process that was there a moment ago."""
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


async def test_what_a_killed_process_was_at_is_taken_over_at_once(tmp_path: Path) -> None:
    owner = await asyncio.to_thread(killed)
    async with open_at(tmp_path) as desk:
        draft = await put_at(desk, NOW - HOUR)
        claim = Claim(id="dead", job=JobName.MISSED, owner=owner, lease_until=NOW + HOUR)
        assert await desk.ground.write(kept.claim, claim, NOW)
        await done(Jobs(desk))
        assert await status_of(desk, draft) == "missed"


async def test_who_cannot_be_asked_is_waited_for_no_longer_than_a_lease_whatever_the_clock_was(tmp_path: Path) -> None:
    watch = Watch()
    async with open_at(tmp_path, clock=watch) as desk:
        draft = await put_at(desk, NOW - HOUR)
        claim = Claim(id="far", job=JobName.MISSED, owner="elsewhere/1/1", lease_until=NOW + MINUTE)
        assert await desk.ground.write(kept.claim, claim, NOW)
        await done(Jobs(desk))
        assert await status_of(desk, draft) == "scheduled"
        # The clock is put back, and the lease ends in an hour now.
        watch.now -= timedelta(minutes=59)
        change(tmp_path, "UPDATE draft SET scheduled_at = scheduled_at - 7200000000")
        change(tmp_path, "DELETE FROM clock_check")
        await done(Jobs(desk))
        assert await status_of(desk, draft) == "missed"


async def test_what_a_living_process_is_at_is_left_to_it_for_as_long_as_it_shows_life(tmp_path: Path) -> None:
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
        # And the first one hears that it is no longer its own.
        assert not await desk.work.renew(claim)
        await desk.work.end(claim)


async def test_a_job_that_was_taken_over_is_broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = asyncio.Event()

    async def hang(_: Desk) -> Sequence[Did]:
        try:
            await asyncio.Event().wait()
        finally:
            broken.set()
        return ()

    instead(monkeypatch, JobName.ZONES, hang)
    monkeypatch.setattr(module, "BEAT", 0.01)
    async with open_at(tmp_path) as desk:
        jobs = Jobs(desk)
        await jobs.look()
        await until(lambda: _begun(desk, 1))
        change(tmp_path, "UPDATE job SET claim_id = 'another', owner = 'elsewhere/1/1'")
        await asyncio.wait_for(broken.wait(), 60)
        await jobs.finish()
    assert rows(tmp_path, "SELECT owner, error FROM job") == [("elsewhere/1/1", None)]


async def test_a_doubtful_clock_is_said_once_and_holds_what_has_a_time(tmp_path: Path) -> None:
    from copydesk.desk.steady import Steady

    heard, watch = Heard(), Watch()
    async with open_at(tmp_path, clock=watch) as desk:
        desk.schedule.clock.steady = lambda: Steady(boot="one", seconds=1.0, counts_sleep=True)
        jobs = Jobs(desk, listener=heard)
        await done(jobs)
        draft = await put_at(desk, NOW + HOUR)
        watch.now += 2 * HOUR
        await done(jobs)
        await done(jobs)
        assert await status_of(desk, draft) == "scheduled"
        await desk.schedule.accept_clock()
        await done(jobs)
        assert await status_of(desk, draft) == "missed"
    assert [said.job for said in heard.said] == ["clock", "missed"]


async def test_a_database_that_cannot_be_asked_is_said_once_and_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard()
    async with open_at(tmp_path) as desk:
        jobs = Jobs(desk, listener=heard)

        async def busy() -> None:
            raise StoreBusyError

        with monkeypatch.context() as patched:
            patched.setattr(desk.work, "outlook", busy)
            await done(jobs)
            await done(jobs)
        assert [said.job for said in heard.said] == ["look"]
        draft = await put_at(desk, NOW - HOUR)
        await done(jobs)
        assert await status_of(desk, draft) == "missed"


async def test_a_real_scheduler_looks_by_itself_and_at_the_next_draft(tmp_path: Path) -> None:
    """With the real clock: a draft that is due in a moment is not left to the next half minute."""
    from copydesk.desk.ground import utc_now

    async with open_at(tmp_path, clock=utc_now) as desk:
        grace = timedelta(minutes=30)
        draft = await put_at(desk, utc_now() - grace + timedelta(milliseconds=150))
        tick = timedelta(milliseconds=50)
        async with running(desk, every=tick):
            await until(lambda: _is(desk, draft, "missed"))
    assert rows(tmp_path, "SELECT count(*) FROM job WHERE owner IS NOT NULL") == [(0,)]


async def test_the_alarm_rings_when_the_next_draft_is_due(tmp_path: Path) -> None:
    from copydesk.jobs.alarm import Alarm

    rang = 0
    twice = asyncio.Event()

    async def look() -> timedelta | None:
        nonlocal rang
        rang += 1
        if rang == 2:
            twice.set()
        return timedelta(milliseconds=40) if rang == 1 else None

    alarm = Alarm(look, HOUR)
    alarm.start()
    await asyncio.wait_for(twice.wait(), 60)
    await alarm.stop()


async def test_a_clock_that_went_back_does_not_put_the_alarm_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """APScheduler waits for a time on the wall clock: an hour back would have been an hour of silence."""
    from copydesk.jobs.alarm import Alarm

    rang = asyncio.Event()

    async def look() -> None:
        rang.set()

    alarm = Alarm(look, timedelta(milliseconds=50))
    alarm.start()
    await asyncio.wait_for(rang.wait(), 60)
    rang.clear()
    alarm._scheduler.modify_job("look", next_run_time=alarm._scheduler.get_job("look").next_run_time + HOUR)
    await asyncio.wait_for(rang.wait(), 60)
    await alarm.stop()


async def test_the_end_leaves_nobody_behind_who_looks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def soon(_: Desk) -> list[Did]:
        return [Did("done")]

    instead(monkeypatch, JobName.ZONES, soon)
    async with open_at(tmp_path) as desk:
        jobs, outlook, again = Jobs(desk), desk.work.outlook, asyncio.Event()
        looks = []

        async def once_and_then_never() -> Outlook:
            looks.append(1)
            if len(looks) > 1:
                again.set()
                await asyncio.Event().wait()
            return await outlook()

        monkeypatch.setattr(desk.work, "outlook", once_and_then_never)
        await jobs.look()
        await asyncio.wait_for(again.wait(), 60)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(jobs.finish(), 0.02)
        await jobs.end(0)
        assert [task for task in asyncio.all_tasks() if task.get_name().startswith("job ")] == []


async def test_the_end_lets_a_short_job_finish_and_breaks_a_long_one_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []

    async def short(_: Desk) -> Sequence[Did]:
        await asyncio.sleep(0.02)
        ended.append("short")
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
    assert ended == ["short"]
    assert rows(tmp_path, "SELECT name, owner, error FROM job ORDER BY name") == [
        ("missed", None, None),
        ("zones", None, None),
    ]


async def test_a_run_that_is_broken_off_is_marked_as_cancelled(tmp_path: Path) -> None:
    web = web_with_news()
    held = web.hold(ONE)
    async with open_at(tmp_path, web, jobs__pipeline="always") as desk:
        await add(desk)
        async with running(desk, patience=0):
            await asyncio.wait_for(held.came.wait(), 60)
        assert [run.status for run in (await desk.pipeline.runs()).items] == [RunStatus.CANCELLED]
    assert rows(tmp_path, "SELECT owner FROM job WHERE name = 'pipeline'") == [(None,)]


@pytest.mark.parametrize(
    ("setting", "daemon", "reads"),
    [("daemon", True, True), ("daemon", False, False), ("always", False, True), ("never", True, False)],
)
async def test_who_reads_sources_is_a_setting(tmp_path: Path, setting: str, daemon: bool, reads: bool) -> None:
    web = web_with_news()
    async with open_at(tmp_path, web, jobs__pipeline=setting) as desk:
        await add(desk)
        async with running(desk, daemon=daemon) as jobs:
            await until(lambda: _begun(desk, 1))
            await jobs.finish()
    assert bool(web.asked) is reads
