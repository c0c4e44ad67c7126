"""Tests for cancelling runs at any time, from this desk and from another: stored data stays and stays consistent."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from copydesk.errors import ConflictError, StoreBusyError, StoreError
from copydesk.model.run import Run, RunStatus, Stage
from copydesk.store.runs import RunLease
from desk_fixtures import (
    URL_ONE,
    URL_THREE,
    URL_TWO,
    FailingWriter,
    FakeWeb,
    Watch,
    create_source,
    draft_titles,
    entry,
    feed,
    integrity_errors,
    item_states,
    open_desk_at,
    story_title,
)

WRITER = "copydesk.drafting.writer.get_writer"


def three_feeds() -> FakeWeb:
    web = FakeWeb()
    for number, url in enumerate((URL_ONE, URL_TWO, URL_THREE)):
        web.put(url, feed(entry(number)))
    return web


async def add_three(desk) -> None:
    for url in (URL_ONE, URL_TWO, URL_THREE):
        await create_source(desk, url)


async def latest_run(desk) -> Run:
    return (await desk.pipeline.list()).items[0]


@pytest.fixture
def fast_heartbeat(monkeypatch):
    """Check often whether the run was cancelled from another desk."""
    monkeypatch.setattr("copydesk.desk.pipeline.service.HEARTBEAT_INTERVAL", 0.01)


async def test_queued_run_is_cancelled_before_start(tmp_path):
    web = three_feeds()
    async with open_desk_at(tmp_path, web) as desk:
        await add_three(desk)
        queued = await desk.pipeline.queue()
        cancelled = await desk.pipeline.cancel(queued.id)
        executed = await desk.pipeline.execute(queued.id)

    assert cancelled.status is executed.status is RunStatus.CANCELLED
    assert (executed.error, executed.stage, web.requests) == ("The run was cancelled.", None, [])


async def test_waiting_run_is_cancelled_from_another_desk(tmp_path):
    web = three_feeds()
    async with open_desk_at(tmp_path, web) as desk, open_desk_at(tmp_path, web) as other:
        await add_three(desk)
        held = web.hold(URL_ONE)
        first = asyncio.create_task(desk.pipeline.run())
        await held.requested.wait()
        queued = await desk.pipeline.queue()
        second = asyncio.create_task(desk.pipeline.execute(queued.id))
        await other.pipeline.cancel(queued.id)
        assert (await second).status is RunStatus.CANCELLED
        held.released.set()
        assert (await first).status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("where", ["here", "elsewhere"])
async def test_cancel_during_fetch_keeps_stored_items(tmp_path, where, fast_heartbeat):
    web = three_feeds()
    async with open_desk_at(tmp_path, web) as desk, open_desk_at(tmp_path, web) as other:
        await add_three(desk)
        response, remaining_stored = web.hold(URL_ONE), asyncio.Event()
        run_task = asyncio.create_task(desk.pipeline.run(None, lambda step: step.done == 2 and remaining_stored.set()))
        await asyncio.gather(response.requested.wait(), remaining_stored.wait())
        await (desk if where == "here" else other).pipeline.cancel((await latest_run(desk)).id)
        run = await run_task
        assert (run.status, run.stats.items_new) == (RunStatus.CANCELLED, 2)
        assert set(run.stats.stage_timing) == {Stage.INGEST}
        assert set(item_states(tmp_path).values()) == {"new"}

        next_run = await desk.pipeline.run()
        assert (next_run.stats.items_ingested, next_run.stats.items_waiting) == (1, 2)
        assert sorted(await draft_titles(desk)) == sorted(story_title(number) for number in range(3))
    assert integrity_errors(tmp_path) == []


@pytest.mark.parametrize("where", ["here", "elsewhere"])
async def test_cancel_during_drafting_keeps_stored_drafts(tmp_path, where, fast_heartbeat, monkeypatch):
    writer = FailingWriter(hang_on=(story_title(1),))
    monkeypatch.setattr(WRITER, lambda: writer)
    web = FakeWeb()
    web.put(URL_ONE, feed(*(entry(number, hours=number) for number in range(3))))
    async with open_desk_at(tmp_path, web) as desk, open_desk_at(tmp_path, web) as other:
        await create_source(desk)
        run_task = asyncio.create_task(desk.pipeline.run())
        await writer.started.wait()
        await (desk if where == "here" else other).pipeline.cancel((await latest_run(desk)).id)
        run = await run_task
        assert (run.status, run.stats.drafts_created) == (RunStatus.CANCELLED, 1)
        assert set(run.stats.stage_timing) == set(Stage)
        assert await draft_titles(desk) == [story_title(0)]

        writer.hang_on = ()
        await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(0), story_title(1), story_title(2)]


@pytest.mark.parametrize("stage", list(Stage))
async def test_cancel_at_stage_start(tmp_path, stage):
    web = three_feeds()
    async with open_desk_at(tmp_path, web) as desk:
        await add_three(desk)
        run_task = None

        def stop(progress) -> None:
            if progress.stage is stage:
                run_task.cancel()

        run_task = asyncio.create_task(desk.pipeline.run(None, stop))
        with pytest.raises(asyncio.CancelledError):
            await run_task
        run = await latest_run(desk)
        assert run.status is RunStatus.CANCELLED
        assert run.stats.drafts_created == 0
        next_run = await desk.pipeline.run()
        assert next_run.status is RunStatus.SUCCEEDED
        assert len(await draft_titles(desk)) == 3


class DatabaseCalls:
    """Counts database calls at three points: before submission, inside the worker thread, and after the return."""

    def __init__(self) -> None:
        self.count = 0
        self.cancel_at = -1
        self.cancel: Callable[[], object] = lambda: None

    def tick(self) -> None:
        """Call `cancel` when the count reaches `last`."""
        if self.count == self.cancel_at:
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
    calls, web, clock = DatabaseCalls(), three_feeds(), Watch()
    async with open_desk_at(tmp_path, web, clock) as desk:
        database = type(desk._context.database)
        for method in ("read", "write"):
            monkeypatch.setattr(database, method, calls.wrap(getattr(database, method)))
        await create_source(desk)
        for cancel_at in range(-1, 200, 2):
            clock.advance(60)
            web.put(URL_ONE, feed(entry(cancel_at)))
            calls.count, calls.cancel_at = 0, cancel_at
            run_task = asyncio.create_task(desk.pipeline.run())
            calls.cancel = run_task.cancel
            await asyncio.wait([run_task])
            all_calls_covered, calls.cancel_at = calls.count <= cancel_at, -1
            status = (await desk.pipeline.list(1)).items[0].status
            assert status in {RunStatus.CANCELLED, RunStatus.SUCCEEDED}, cancel_at
            async with asyncio.timeout(60):
                assert (await desk.pipeline.run()).status is RunStatus.SUCCEEDED, cancel_at
            if all_calls_covered:
                break
        assert await draft_titles(desk) == [story_title(number) for number in range(-1, cancel_at + 1, 2)]
    assert cancel_at > 20
    assert integrity_errors(tmp_path) == []


@pytest.mark.parametrize("cancel_at", range(5))
async def test_run_whose_request_is_cancelled_is_not_left_in_the_queue(tmp_path, monkeypatch, cancel_at):
    """It held up others for half a minute, and was queued for as long as the service ran."""
    calls, loop = DatabaseCalls(), asyncio.get_running_loop()
    monkeypatch.setattr("copydesk.desk.pipeline.service.SAVE_INTERVAL", 0)

    def cancel() -> None:
        # As anyio does it, whose scopes the MCP server cancels: again and again, during the clean-up too.
        if not request.done():
            request.cancel()
            loop.call_soon(cancel)

    async with open_desk_at(tmp_path) as desk:
        database = type(desk._context.database)
        with monkeypatch.context() as patch:
            for method in ("read", "write"):
                patch.setattr(database, method, calls.wrap(getattr(database, method)))
            request = asyncio.create_task(desk.pipeline.queue())
            calls.cancel_at, calls.cancel = cancel_at, cancel
            await asyncio.wait([request])
        assert request.cancelled()
        async with asyncio.timeout(60):
            while {run.status for run in (await desk.pipeline.list()).items} - {RunStatus.CANCELLED}:  # noqa: ASYNC110 - a commit is no event
                await asyncio.sleep(0)


async def test_finished_run_cannot_be_cancelled(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        run = await desk.pipeline.run()
        with pytest.raises(ConflictError, match="The run has already ended") as conflict:
            await desk.pipeline.cancel(run.id)
        assert conflict.value.current_status == RunStatus.SUCCEEDED
        assert await desk.pipeline.get(run.id) == run


async def test_failed_heartbeat_does_not_fail_run(tmp_path, fast_heartbeat, monkeypatch):
    """A database held briefly by another process once failed a run whose work was complete."""
    web = three_feeds()
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        response, refused, loop = web.hold(URL_ONE), asyncio.Event(), asyncio.get_running_loop()

        def busy(*_: object) -> bool:
            loop.call_soon_threadsafe(refused.set)
            raise StoreBusyError

        with monkeypatch.context() as patched:
            patched.setattr("copydesk.store.runs.update_running", busy)
            run_task = asyncio.create_task(desk.pipeline.run())
            await asyncio.gather(response.requested.wait(), refused.wait())
            response.released.set()
            run = await run_task
        assert run.status is RunStatus.SUCCEEDED
        assert await draft_titles(desk) == [story_title(0)]


async def test_result_is_stored_once_the_database_can_be_used(tmp_path, monkeypatch):
    """Until then the run counted as active, and kept those of other processes waiting for as long as this one lived."""
    monkeypatch.setattr("copydesk.desk.pipeline.service.SAVE_INTERVAL", 0.01)
    web = three_feeds()
    async with open_desk_at(tmp_path, web) as desk, open_desk_at(tmp_path, web) as other:
        await create_source(desk)
        with monkeypatch.context() as patched:
            patched.setattr("copydesk.store.runs.finish", raise_busy)
            with pytest.raises(StoreBusyError):
                await desk.pipeline.run()
        async with asyncio.timeout(30):
            run = await other.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED


async def test_run_whose_start_broke_off_after_the_commit_is_no_obstacle(tmp_path, monkeypatch):
    web = three_feeds()
    async with open_desk_at(tmp_path, web) as desk:
        write = desk._context.database.write

        async def break_off_after_commit(work, *args, **options):
            result = await write(work, *args, **options)
            if RunLease in map(type, args):
                raise StoreError("Cannot reach the server.")
            return result

        with monkeypatch.context() as patched:
            patched.setattr(desk._context.database, "write", break_off_after_commit)
            with pytest.raises(StoreError):
                await desk.pipeline.run()
        async with asyncio.timeout(30):
            run = await desk.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED


async def test_run_that_could_not_be_read_once_it_was_queued_is_no_obstacle(tmp_path, monkeypatch):
    async with open_desk_at(tmp_path) as desk:
        with monkeypatch.context() as patched:
            patched.setattr("copydesk.store.runs.get", raise_busy)
            with pytest.raises(StoreBusyError):
                await desk.pipeline.queue()
        assert [run.status for run in (await desk.pipeline.list()).items] == [RunStatus.FAILED]


def raise_busy(*_: object) -> None:
    raise StoreBusyError


async def test_running_progress_is_visible_to_other_desk(tmp_path, fast_heartbeat):
    web = three_feeds()
    async with open_desk_at(tmp_path, web) as desk, open_desk_at(tmp_path, web) as other:
        await add_three(desk)
        response = web.hold(URL_ONE)
        run_task = asyncio.create_task(desk.pipeline.run())
        await response.requested.wait()
        async with asyncio.timeout(60):
            while (snapshot := await latest_run(other)).stats.items_new < 2:  # noqa: ASYNC110 - as another process polls
                await asyncio.sleep(0.01)
        assert (snapshot.status, snapshot.stage) == (RunStatus.RUNNING, Stage.INGEST)
        response.released.set()
        await run_task


async def test_heartbeats_are_an_interval_apart(tmp_path, monkeypatch):
    """Without the pause between them they would keep the only writer busy for the whole run."""
    web, beats = FakeWeb(), []
    monkeypatch.setattr("copydesk.desk.pipeline.service.HEARTBEAT_INTERVAL", 3600)
    monkeypatch.setattr("copydesk.store.runs.update_running", lambda *args: not beats.append(args))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        response = web.hold(URL_ONE)
        run_task = asyncio.create_task(desk.pipeline.run())
        await response.requested.wait()
        before = len(beats)
        for _ in range(5):
            await desk.pipeline.list()
        assert len(beats) == before
        response.released.set()
        await run_task
