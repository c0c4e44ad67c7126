"""What happens to sources, stories and runs while somebody else changes them."""

import asyncio

import pytest

from copydesk.errors import InvalidError
from copydesk.model.item import ItemState
from copydesk.model.run import RunRequest, RunStatus
from copydesk.model.source import Health
from desk_fixtures import ONE, TWO, Watch, Web, add, drafts_of, entry, feed, open_at, rows, states, title


async def test_a_failure_is_kept_before_the_other_sources_have_answered(tmp_path):
    web = Web()
    web.fail(ONE, 429, retry_after="7200")
    web.put(TWO, feed(entry(1)))
    held = web.hold(TWO)
    async with open_at(tmp_path, web) as desk:
        await add(desk, ONE)
        await add(desk, TWO)
        run = asyncio.create_task(desk.pipeline.run())
        await held.came.wait()
        async with asyncio.timeout(60):
            while not rows(tmp_path, "SELECT 1 FROM source WHERE last_error IS NOT NULL"):  # noqa: ASYNC110
                await asyncio.sleep(0)
        assert rows(tmp_path, "SELECT count(*) FROM host_cooldown") == [(1,)]
        held.go.set()
        assert (await run).stats.sources_failed == 1


async def test_what_an_address_brought_is_dropped_where_the_source_has_another_one_by_then(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2), entry(3, hours=60)))
    held = web.hold(ONE)
    async with open_at(tmp_path, web) as desk:
        source = await add(desk, ONE)
        run = asyncio.create_task(desk.pipeline.run())
        await held.came.wait()
        await desk.sources.update(source.id, {"url": TWO})
        held.go.set()
        await run
        after = await desk.sources.get(source.id)
        assert (after.url, after.health, after.item_count) == (TWO, Health.UNKNOWN, 0)
        await desk.pipeline.run()
    assert states(tmp_path) == {title(2): ItemState.DRAFTED, title(3): ItemState.HISTORY}


async def test_a_story_whose_source_is_deleted_meanwhile_does_not_stop_the_others(tmp_path, monkeypatch):
    web = Web()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2), entry(3)))
    async with open_at(tmp_path, web) as desk:
        doomed = await add(desk, ONE, weight=10.0)
        await add(desk, TWO)

        def told(progress):
            if progress.stage == "draft" and progress.done == 0 and deleting == []:
                deleting.append(asyncio.ensure_future(desk.sources.delete(doomed.id)))

        deleting = []
        run = await desk.pipeline.run(None, told)
        await asyncio.gather(*deleting)
        assert run.status is RunStatus.SUCCEEDED
        assert {draft.item.title for draft in await drafts_of(desk)} == {title(2), title(3)}


async def test_of_a_story_all_formats_are_drafted_or_none(tmp_path):
    web = Web()
    long = " ".join(f"The ferry number {n} carries {n + 40} passengers to the island each day." for n in range(12))
    web.put(ONE, feed(*(entry(n, text=long) for n in range(3))))
    both = RunRequest(formats=("SHORT", "BLOG"), max_drafts=3)
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        made = [(await desk.pipeline.run(both)).stats.drafts_created for _ in range(4)]
    assert made == [2, 2, 2, 0]
    assert rows(tmp_path, "SELECT count(DISTINCT format) FROM draft GROUP BY item_id") == [(2,), (2,), (2,)]


async def test_a_run_that_asks_only_what_is_due_leaves_the_others_alone(tmp_path):
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


async def test_one_address_is_one_source(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        first = await add(desk, ONE)
        with pytest.raises(InvalidError, match=first.id):
            await desk.sources.create("rss", ONE)
        assert len(await desk.sources.list()) == 1


async def test_where_the_words_of_a_draft_come_from_is_stored_with_it(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        await desk.pipeline.run()
        (draft,) = await drafts_of(desk)
        item = await desk.drafts.item(draft.item_id)
    quoted = [trace for trace in draft.sentences if trace.start is not None]
    assert quoted
    for trace in quoted:
        assert trace.text.strip("“”") in getattr(item.entry, trace.field)[trace.start : trace.end]


async def test_a_waiting_run_of_a_process_that_does_not_work_on_it_holds_up_nobody(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        left = await desk.pipeline.queue()
        clock.forward(31)
        run = await asyncio.wait_for(desk.pipeline.run(), 60)
        assert run.status is RunStatus.SUCCEEDED
        assert (await desk.pipeline.get(left.id)).status is RunStatus.QUEUED
        assert (await desk.pipeline.execute(left.id)).status is RunStatus.SUCCEEDED
