"""Tests for changes to sources and stories while a run is in progress."""

import asyncio

import pytest

from copydesk.errors import InvalidError
from copydesk.model.item import ItemState
from copydesk.model.run import RunRequest, RunStatus
from copydesk.model.source import Health
from desk_fixtures import ONE, TWO, Watch, Web, add, drafts_of, entry, feed, open_at, rows, states, title


async def test_failure_is_stored_before_other_responses(tmp_path):
    web = Web()
    web.fail(ONE, 429, retry_after="7200")
    web.put(TWO, feed(entry(1)))
    response = web.hold(TWO)
    async with open_at(tmp_path, web) as desk:
        await add(desk, ONE)
        await add(desk, TWO)
        run = asyncio.create_task(desk.pipeline.run())
        await response.came.wait()
        async with asyncio.timeout(60):
            while not rows(tmp_path, "SELECT 1 FROM source WHERE last_error IS NOT NULL"):  # noqa: ASYNC110
                await asyncio.sleep(0)
        assert rows(tmp_path, "SELECT count(*) FROM host_cooldown") == [(1,)]
        response.go.set()
        assert (await run).stats.sources_failed == 1


async def test_fetch_is_discarded_after_url_change(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2), entry(3, hours=60)))
    response = web.hold(ONE)
    async with open_at(tmp_path, web) as desk:
        source = await add(desk, ONE)
        run = asyncio.create_task(desk.pipeline.run())
        await response.came.wait()
        await desk.sources.update(source.id, {"url": TWO})
        response.go.set()
        await run
        changed = await desk.sources.get(source.id)
        assert (changed.url, changed.health, changed.item_count) == (TWO, Health.UNKNOWN, 0)
        await desk.pipeline.run()
    assert states(tmp_path) == {title(2): ItemState.DRAFTED, title(3): ItemState.HISTORY}


async def test_deleted_source_does_not_stop_other_drafts(tmp_path, monkeypatch):
    web = Web()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2), entry(3)))
    async with open_at(tmp_path, web) as desk:
        deleted = await add(desk, ONE, weight=10.0)
        await add(desk, TWO)

        def on_progress(progress):
            if progress.stage == "draft" and progress.done == 0 and delete_tasks == []:
                delete_tasks.append(asyncio.ensure_future(desk.sources.delete(deleted.id)))

        delete_tasks = []
        run = await desk.pipeline.run(None, on_progress)
        await asyncio.gather(*delete_tasks)
        assert run.status is RunStatus.SUCCEEDED
        assert {draft.item.title for draft in await drafts_of(desk)} == {title(2), title(3)}


async def test_all_formats_of_a_story_or_none(tmp_path):
    web = Web()
    text = " ".join(f"The ferry number {n} carries {n + 40} passengers to the island each day." for n in range(12))
    web.put(ONE, feed(*(entry(n, text=text) for n in range(3))))
    request = RunRequest(formats=("SHORT", "BLOG"), max_drafts=3)
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        created_counts = [(await desk.pipeline.run(request)).stats.drafts_created for _ in range(4)]
    assert created_counts == [2, 2, 2, 0]
    assert rows(tmp_path, "SELECT count(DISTINCT format) FROM draft GROUP BY item_id") == [(2,), (2,), (2,)]


async def test_due_run_skips_other_sources(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1)), cache_control="max-age=3600")
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await desk.pipeline.run()
        await desk.pipeline.run(RunRequest(due=True))
        assert len(web.asked) == 1
        clock.forward(3 * 3600)
        await desk.pipeline.run(RunRequest(due=True))
        assert len(web.asked) == 2


async def test_url_is_unique_among_sources(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        first = await add(desk, ONE)
        with pytest.raises(InvalidError, match=first.id):
            await desk.sources.create("rss", ONE)
        assert len(await desk.sources.list()) == 1


async def test_sentence_offsets_are_stored(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        await desk.pipeline.run()
        (draft,) = await drafts_of(desk)
        item = await desk.drafts.item(draft.item_id)
    traces = [trace for trace in draft.sentences if trace.start is not None]
    assert traces
    for trace in traces:
        assert trace.text.strip("“”") in getattr(item.entry, trace.field)[trace.start : trace.end]


async def test_abandoned_queued_run_blocks_no_run(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        abandoned = await desk.pipeline.queue()
        clock.forward(31)
        run = await asyncio.wait_for(desk.pipeline.run(), 60)
        assert run.status is RunStatus.SUCCEEDED
        assert (await desk.pipeline.get(abandoned.id)).status is RunStatus.QUEUED
        assert (await desk.pipeline.execute(abandoned.id)).status is RunStatus.SUCCEEDED
