"""A run can be cancelled at every moment, from here and from elsewhere; what was stored stays, and nothing is half."""

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
    """A run looks often whether it was cancelled elsewhere."""
    monkeypatch.setattr("copydesk.desk.pipeline.BEAT", 0.01)


async def test_a_run_that_waits_is_cancelled_before_it_begins(tmp_path):
    web = web_of_three()
    async with open_at(tmp_path, web) as desk:
        await add_three(desk)
        queued = await desk.pipeline.queue()
        cancelled = await desk.pipeline.cancel(queued.id)
        ended = await desk.pipeline.execute(queued.id)

    assert cancelled.status is ended.status is RunStatus.CANCELLED
    assert (ended.error, ended.stage, web.asked) == ("The run was cancelled.", None, [])


async def test_a_run_that_waits_for_its_turn_can_be_cancelled_from_another_desk(tmp_path):
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
async def test_cancelled_while_a_source_is_slow_what_the_others_brought_stays(tmp_path, where, quick_beats):
    web = web_of_three()
    async with open_at(tmp_path, web) as desk, open_at(tmp_path, web) as other:
        await add_three(desk)
        held, others_are_in = web.hold(ONE), asyncio.Event()
        work = asyncio.create_task(desk.pipeline.run(None, lambda step: step.done == 2 and others_are_in.set()))
        await asyncio.gather(held.came.wait(), others_are_in.wait())
        await (desk if where == "here" else other).pipeline.cancel((await newest(desk)).id)
        run = await work
        assert (run.status, run.stats.items_new) == (RunStatus.CANCELLED, 2)
        assert set(run.stats.stage_timing) == {Stage.INGEST}
        assert set(states(tmp_path).values()) == {"new"}

        again = await desk.pipeline.run()
        assert (again.stats.items_new, again.stats.items_waiting) == (1, 2)
        assert sorted(await titles(desk)) == sorted(title(number) for number in range(3))
    assert damage(tmp_path) == []


@pytest.mark.parametrize("where", ["here", "elsewhere"])
async def test_cancelled_while_the_writer_is_slow_the_drafts_before_it_stay(tmp_path, where, quick_beats, monkeypatch):
    writer = StubbornWriter(waits=(title(1),))
    monkeypatch.setattr(WRITER, lambda: writer)
    web = Web()
    web.put(ONE, feed(*(entry(number, hours=number) for number in range(3))))
    async with open_at(tmp_path, web) as desk, open_at(tmp_path, web) as other:
        await add(desk)
        work = asyncio.create_task(desk.pipeline.run())
        await writer.began.wait()
        await (desk if where == "here" else other).pipeline.cancel((await newest(desk)).id)
        run = await work
        assert (run.status, run.stats.drafts_created) == (RunStatus.CANCELLED, 1)
        assert set(run.stats.stage_timing) == set(Stage)
        assert await titles(desk) == [title(0)]

        writer.waits = ()
        await desk.pipeline.run()
        assert await titles(desk) == [title(0), title(1), title(2)]


@pytest.mark.parametrize("stage", list(Stage))
async def test_cancelled_as_a_stage_begins_it_is_cancelled_at_once(tmp_path, stage):
    web = web_of_three()
    async with open_at(tmp_path, web) as desk:
        await add_three(desk)
        work = None

        def stop(progress) -> None:
            if progress.stage is stage:
                work.cancel()

        work = asyncio.create_task(desk.pipeline.run(None, stop))
        with pytest.raises(asyncio.CancelledError):
            await work
        run = await newest(desk)
        assert run.status is RunStatus.CANCELLED
        assert run.stats.drafts_created == 0
        again = await desk.pipeline.run()
        assert again.status is RunStatus.SUCCEEDED
        assert len(await titles(desk)) == 3


class Turns:
    """Counts the turns at the database: as each is asked for, while it is at work, after it ended."""

    def __init__(self) -> None:
        self.count = 0
        self.last = -1
        self.cancel: Callable[[], object] = lambda: None

    def tick(self) -> None:
        """Cancel at the turn that was asked for."""
        if self.count == self.last:
            self.cancel()
        self.count += 1

    def wrap(self, original):
        """`original`, counted."""

        async def turn(engines, work, *args, **kwargs):
            loop = asyncio.get_running_loop()

            def counted(connection, *args, **kwargs):
                made = work(connection, *args, **kwargs)
                ticked = threading.Event()
                loop.call_soon_threadsafe(lambda: (self.tick(), ticked.set()))
                assert ticked.wait(60)
                return made

            self.tick()
            made = await original(engines, counted, *args, **kwargs)
            self.tick()
            return made

        return turn


async def test_cancelled_at_any_turn_at_the_database_the_next_run_works(tmp_path, monkeypatch):
    """Cancelled between queueing and working, a run stayed in the queue, and every later one waited for it."""
    turns, web, clock = Turns(), web_of_three(), Watch()
    for way in ("read", "write"):
        monkeypatch.setattr(Engines, way, turns.wrap(getattr(Engines, way)))

    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        for last in range(-1, 200, 2):
            clock.forward(60)
            web.put(ONE, feed(entry(last)))
            turns.count, turns.last = 0, last
            work = asyncio.create_task(desk.pipeline.run())
            turns.cancel = work.cancel
            await asyncio.wait([work])
            all_turns_taken, turns.last = turns.count <= last, -1
            ended = (await desk.pipeline.runs(1)).items[0].status
            assert ended in {RunStatus.CANCELLED, RunStatus.SUCCEEDED}, last
            async with asyncio.timeout(60):
                assert (await desk.pipeline.run()).status is RunStatus.SUCCEEDED, last
            if all_turns_taken:
                break
        assert await titles(desk) == [title(number) for number in range(-1, last + 1, 2)]
    assert last > 20
    assert damage(tmp_path) == []


async def test_a_run_that_has_ended_cannot_be_cancelled(tmp_path):
    async with open_at(tmp_path, Web()) as desk:
        run = await desk.pipeline.run()
        with pytest.raises(ConflictError, match="The run has ended") as conflict:
            await desk.pipeline.cancel(run.id)
        assert conflict.value.current_status == RunStatus.SUCCEEDED
        assert await desk.pipeline.get(run.id) == run


async def test_a_sign_of_life_that_cannot_be_kept_is_no_reason_to_fail(tmp_path, quick_beats, monkeypatch):
    """Another process that held the database for a moment made the run fail when all its work was done."""
    web = web_of_three()
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        held, refused, loop = web.hold(ONE), asyncio.Event(), asyncio.get_running_loop()

        def busy(*_: object) -> bool:
            loop.call_soon_threadsafe(refused.set)
            raise StoreBusyError

        with monkeypatch.context() as patched:
            patched.setattr("copydesk.store.runs.note", busy)
            work = asyncio.create_task(desk.pipeline.run())
            await asyncio.gather(held.came.wait(), refused.wait())
            held.go.set()
            run = await work
        assert run.status is RunStatus.SUCCEEDED
        assert await titles(desk) == [title(0)]


async def test_what_a_run_has_done_can_be_seen_from_another_desk_while_it_works(tmp_path, quick_beats):
    web = web_of_three()
    async with open_at(tmp_path, web) as desk, open_at(tmp_path, web) as other:
        await add_three(desk)
        held = web.hold(ONE)
        work = asyncio.create_task(desk.pipeline.run())
        await held.came.wait()
        async with asyncio.timeout(60):
            while (seen := await newest(other)).stats.items_new < 2:  # noqa: ASYNC110 - as another process looks
                await asyncio.sleep(0.01)
        assert (seen.status, seen.stage) == (RunStatus.RUNNING, Stage.INGEST)
        held.go.set()
        await work
