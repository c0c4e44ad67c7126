"""Tests for cancelling runs at any time, from this desk and from another: stored data stays and stays consistent."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from copydesk.errors import ConflictError, StoreBusyError
from copydesk.model.run import Run, RunStatus, Stage
from copydesk.store.engine import Engines
from desk_fixtures import (
    ONE,
    THREE,
    TWO,
    StubbornWriter,
    Watch,
    Web,
    add,
    damage,
    entry,
    feed,
    open_at,
    states,
    title,
    titles,
)

WRITER = "copydesk.drafting.writer.choose_writer"


def web_of_three() -> Web:
    web = Web()
    for number, url in enumerate((ONE, TWO, THREE)):
        web.put(url, feed(entry(number)))
    return web


async def add_three(desk) -> None:
    for url in (ONE, TWO, THREE):
        await add(desk, url)


async def newest(desk) -> Run:
    return (await desk.pipeline.runs()).items[0]


@pytest.fixture
def quick_beats(monkeypatch):
    """Check often whether the run was cancelled from another desk."""
    monkeypatch.setattr("copydesk.desk.pipeline.BEAT", 0.01)


async def test_queued_run_is_cancelled_before_start(tmp_path):
    web = web_of_three()
    async with open_at(tmp_path, web) as desk:
        await add_three(desk)
        queued = await desk.pipeline.queue()
        cancelled = await desk.pipeline.cancel(queued.id)
        executed = await desk.pipeline.execute(queued.id)

    assert cancelled.status is executed.status is RunStatus.CANCELLED
    assert (executed.error, executed.stage, web.asked) == ("The run was cancelled.", None, [])


async def test_waiting_run_is_cancelled_from_another_desk(tmp_path):
    web = web_of_three()
    async with open_at(tmp_path, web) as desk, open_at(tmp_path, web) as other:
        await add_three(desk)
        held = web.hold(ONE)
        first = asyncio.create_task(desk.pipeline.run())
        await held.came.wait()
        queued = await desk.pipeline.queue()
        second = asyncio.create_task(desk.pipeline.execute(queued.id))
        await other.pipeline.cancel(queued.id)
        assert (await second).status is RunStatus.CANCELLED
        held.go.set()
        assert (await first).status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("where", ["here", "elsewhere"])
async def test_cancel_during_fetch_keeps_stored_items(tmp_path, where, quick_beats):
    web = web_of_three()
    async with open_at(tmp_path, web) as desk, open_at(tmp_path, web) as other:
        await add_three(desk)
        response, remaining_stored = web.hold(ONE), asyncio.Event()
        run_task = asyncio.create_task(desk.pipeline.run(None, lambda step: step.done == 2 and remaining_stored.set()))
        await asyncio.gather(response.came.wait(), remaining_stored.wait())
        await (desk if where == "here" else other).pipeline.cancel((await newest(desk)).id)
        run = await run_task
        assert (run.status, run.stats.items_new) == (RunStatus.CANCELLED, 2)
        assert set(run.stats.stage_timing) == {Stage.INGEST}
        assert set(states(tmp_path).values()) == {"new"}

        next_run = await desk.pipeline.run()
        assert (next_run.stats.items_new, next_run.stats.items_waiting) == (1, 2)
        assert sorted(await titles(desk)) == sorted(title(number) for number in range(3))
    assert damage(tmp_path) == []


@pytest.mark.parametrize("where", ["here", "elsewhere"])
async def test_cancel_during_drafting_keeps_stored_drafts(tmp_path, where, quick_beats, monkeypatch):
    writer = StubbornWriter(waits=(title(1),))
    monkeypatch.setattr(WRITER, lambda: writer)
    web = Web()
    web.put(ONE, feed(*(entry(number, hours=number) for number in range(3))))
    async with open_at(tmp_path, web) as desk, open_at(tmp_path, web) as other:
        await add(desk)
        run_task = asyncio.create_task(desk.pipeline.run())
        await writer.began.wait()
        await (desk if where == "here" else other).pipeline.cancel((await newest(desk)).id)
        run = await run_task
        assert (run.status, run.stats.drafts_created) == (RunStatus.CANCELLED, 1)
        assert set(run.stats.stage_timing) == set(Stage)
        assert await titles(desk) == [title(0)]

        writer.waits = ()
        await desk.pipeline.run()
        assert await titles(desk) == [title(0), title(1), title(2)]


@pytest.mark.parametrize("stage", list(Stage))
async def test_cancel_at_stage_start(tmp_path, stage):
    web = web_of_three()
    async with open_at(tmp_path, web) as desk:
        await add_three(desk)
        run_task = None

        def stop(progress) -> None:
            if progress.stage is stage:
                run_task.cancel()

        run_task = asyncio.create_task(desk.pipeline.run(None, stop))
        with pytest.raises(asyncio.CancelledError):
            await run_task
        run = await newest(desk)
        assert run.status is RunStatus.CANCELLED
        assert run.stats.drafts_created == 0
        next_run = await desk.pipeline.run()
        assert next_run.status is RunStatus.SUCCEEDED
        assert len(await titles(desk)) == 3


class Turns:
    """Counts database calls at three points: before submission, inside the worker thread, and after the return."""

    def __init__(self) -> None:
        self.count = 0
        self.last = -1
        self.cancel: Callable[[], object] = lambda: None

    def tick(self) -> None:
        """Call `cancel` when the count reaches `last`."""
        if self.count == self.last:
            self.cancel()
        self.count += 1

    def wrap(self, original):
        """Return `original` with counting."""

        async def counting_call(engines, work, *args, **kwargs):
            loop = asyncio.get_running_loop()

            def counted(connection, *args, **kwargs):
                result = work(connection, *args, **kwargs)
                ticked = threading.Event()
                loop.call_soon_threadsafe(lambda: (self.tick(), ticked.set()))
                assert ticked.wait(60)
                return result

            self.tick()
            result = await original(engines, counted, *args, **kwargs)
            self.tick()
            return result

        return counting_call


async def test_cancel_at_any_database_call(tmp_path, monkeypatch):
    """A run cancelled between queueing and starting once stayed in the queue and blocked every later run."""
    calls, web, clock = Turns(), web_of_three(), Watch()
    for method in ("read", "write"):
        monkeypatch.setattr(Engines, method, calls.wrap(getattr(Engines, method)))

    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        for cancel_at in range(-1, 200, 2):
            clock.forward(60)
            web.put(ONE, feed(entry(cancel_at)))
            calls.count, calls.last = 0, cancel_at
            run_task = asyncio.create_task(desk.pipeline.run())
            calls.cancel = run_task.cancel
            await asyncio.wait([run_task])
            all_calls_covered, calls.last = calls.count <= cancel_at, -1
            status = (await desk.pipeline.runs(1)).items[0].status
            assert status in {RunStatus.CANCELLED, RunStatus.SUCCEEDED}, cancel_at
            async with asyncio.timeout(60):
                assert (await desk.pipeline.run()).status is RunStatus.SUCCEEDED, cancel_at
            if all_calls_covered:
                break
        assert await titles(desk) == [title(number) for number in range(-1, cancel_at + 1, 2)]
    assert cancel_at > 20
    assert damage(tmp_path) == []


async def test_finished_run_cannot_be_cancelled(tmp_path):
    async with open_at(tmp_path, Web()) as desk:
        run = await desk.pipeline.run()
        with pytest.raises(ConflictError, match="The run has ended") as conflict:
            await desk.pipeline.cancel(run.id)
        assert conflict.value.current_status == RunStatus.SUCCEEDED
        assert await desk.pipeline.get(run.id) == run


async def test_failed_heartbeat_does_not_fail_run(tmp_path, quick_beats, monkeypatch):
    """A database held briefly by another process once failed a run whose work was complete."""
    web = web_of_three()
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        response, refused, loop = web.hold(ONE), asyncio.Event(), asyncio.get_running_loop()

        def busy(*_: object) -> bool:
            loop.call_soon_threadsafe(refused.set)
            raise StoreBusyError

        with monkeypatch.context() as patched:
            patched.setattr("copydesk.store.runs.note", busy)
            run_task = asyncio.create_task(desk.pipeline.run())
            await asyncio.gather(response.came.wait(), refused.wait())
            response.go.set()
            run = await run_task
        assert run.status is RunStatus.SUCCEEDED
        assert await titles(desk) == [title(0)]


async def test_running_progress_is_visible_to_other_desk(tmp_path, quick_beats):
    web = web_of_three()
    async with open_at(tmp_path, web) as desk, open_at(tmp_path, web) as other:
        await add_three(desk)
        response = web.hold(ONE)
        run_task = asyncio.create_task(desk.pipeline.run())
        await response.came.wait()
        async with asyncio.timeout(60):
            while (snapshot := await newest(other)).stats.items_new < 2:  # noqa: ASYNC110 - as another process polls
                await asyncio.sleep(0.01)
        assert (snapshot.status, snapshot.stage) == (RunStatus.RUNNING, Stage.INGEST)
        response.go.set()
        await run_task
