"""Tests for changes to sources and stories while a run is in progress."""

import asyncio

import pytest

from copydesk.errors import InvalidError
from copydesk.model.item import ItemState
from copydesk.model.run import RunRequest, RunStatus
from copydesk.model.source import Health
from desk_fixtures import (
    URL_ONE,
    URL_TWO,
    FakeWeb,
    Watch,
    create_source,
    entry,
    feed,
    item_states,
    list_drafts,
    made_up_word,
    open_desk_at,
    query_db,
    story_title,
)


async def test_failure_is_stored_before_other_responses(tmp_path):
    web = FakeWeb()
    web.fail(URL_ONE, 429, retry_after="7200")
    web.put(URL_TWO, feed(entry(1)))
    response = web.hold(URL_TWO)
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk, URL_ONE)
        await create_source(desk, URL_TWO)
        run = asyncio.create_task(desk.pipeline.run())
        await response.requested.wait()
        async with asyncio.timeout(60):
            while not query_db(tmp_path, "SELECT 1 FROM source WHERE last_error IS NOT NULL"):  # noqa: ASYNC110
                await asyncio.sleep(0)
        assert query_db(tmp_path, "SELECT count(*) FROM host_cooldown") == [(1,)]
        response.released.set()
        assert (await run).stats.sources_failed == 1


async def test_fetch_is_discarded_after_url_change(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    web.put(URL_TWO, feed(entry(2), entry(3, hours=60)))
    response = web.hold(URL_ONE)
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk, URL_ONE)
        run = asyncio.create_task(desk.pipeline.run())
        await response.requested.wait()
        await desk.sources.update(source.id, {"url": URL_TWO})
        response.released.set()
        await run
        changed = await desk.sources.get(source.id)
        assert (changed.url, changed.health, changed.item_count) == (URL_TWO, Health.UNKNOWN, 0)
        await desk.pipeline.run()
    assert item_states(tmp_path) == {story_title(2): ItemState.DRAFTED, story_title(3): ItemState.HISTORY}


async def test_deleted_source_does_not_stop_other_drafts(tmp_path, monkeypatch):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    web.put(URL_TWO, feed(entry(2), entry(3)))
    async with open_desk_at(tmp_path, web) as desk:
        deleted = await create_source(desk, URL_ONE, weight=10.0)
        await create_source(desk, URL_TWO)

        def on_progress(progress):
            if progress.stage == "draft" and progress.done == 0 and delete_tasks == []:
                delete_tasks.append(asyncio.ensure_future(desk.sources.delete(deleted.id)))

        delete_tasks = []
        run = await desk.pipeline.run(None, on_progress)
        await asyncio.gather(*delete_tasks)
        assert run.status is RunStatus.SUCCEEDED
        assert {draft.item.title for draft in await list_drafts(desk)} == {story_title(2), story_title(3)}


async def test_all_formats_of_a_story_or_none(tmp_path):
    web = FakeWeb()

    def text(number: int) -> str:
        place = made_up_word(4 * number + 2)
        return (
            f"The ferry to {place} carries 40 passengers each day. Sailors of {place} repair the engines at night. "
            f"Tickets to {place} cost two euros for children. The council of {place} paid half of the ships. "
            f"Winter storms keep visitors away from {place} on thirty days a year."
        )

    web.put(URL_ONE, feed(*(entry(n, text=text(n)) for n in range(3))))
    request = RunRequest(formats=("SHORT", "THREAD"), max_drafts=3)
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        created_counts = [(await desk.pipeline.run(request)).stats.drafts_created for _ in range(4)]
    assert created_counts == [2, 2, 2, 0]
    assert query_db(tmp_path, "SELECT count(DISTINCT format) FROM draft GROUP BY item_id") == [(2,), (2,), (2,)]


async def test_due_run_skips_other_sources(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)), cache_control="max-age=3600")
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        await desk.pipeline.run(RunRequest(due=True))
        assert len(web.requests) == 1
        clock.advance(3 * 3600)
        await desk.pipeline.run(RunRequest(due=True))
        assert len(web.requests) == 2


async def test_url_is_unique_among_sources(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        first = await create_source(desk, URL_ONE)
        with pytest.raises(InvalidError, match=f"already added as “{first.name}”"):
            await desk.sources.create({"type": "rss", "url": URL_ONE})
        assert len(await desk.sources.list()) == 1


async def test_sentence_offsets_are_stored(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        (draft,) = await list_drafts(desk)
        item = await desk.drafts.item(draft.item_id)
    traces = [trace for trace in draft.sentences if trace.start is not None]
    assert traces
    for trace in traces:
        assert trace.text.strip("“”") in getattr(item.entry, trace.field)[trace.start : trace.end]


async def test_abandoned_queued_run_blocks_no_run(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        abandoned = await desk.pipeline.queue()
        clock.advance(31)
        run = await asyncio.wait_for(desk.pipeline.run(), 60)
        assert run.status is RunStatus.SUCCEEDED
        assert (await desk.pipeline.get(abandoned.id)).status is RunStatus.QUEUED
        assert (await desk.pipeline.execute(abandoned.id)).status is RunStatus.SUCCEEDED
