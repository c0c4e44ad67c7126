"""Tests for moving sources, and for deleting them while they are in use."""

import asyncio

import pytest
from sqlalchemy import update

from copydesk.desk import Desk
from copydesk.errors import ConflictError, FieldError, InvalidError, NotFoundError, PageNotFoundError
from copydesk.model.draft import Status
from copydesk.model.run import Progress, Run, RunStatus, Stage
from copydesk.model.source import Health, Source
from copydesk.store import tables
from desk_fixtures import (
    NOW,
    URL_ONE,
    URL_THREE,
    URL_TWO,
    FakeWeb,
    HeldResponse,
    Watch,
    create_source,
    entry,
    feed,
    list_drafts,
    open_desk_at,
)

PAGE_HTML = (
    '<html><head><link rel="alternate" type="application/rss+xml" href="/news.xml"></head><body>Hi</body></html>'
)


async def test_moved_source_is_test_fetched(tmp_path):
    web = FakeWeb()
    web.put(URL_TWO, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk)
        moved = await desk.sources.update(source.id, {"url": URL_TWO})

    assert web.requested_urls == [URL_TWO]
    assert (moved.url, moved.health, moved.last_fetch) == (URL_TWO, Health.UNKNOWN, None)


async def test_feed_is_discovered_after_move(tmp_path):
    web = FakeWeb()
    web.put("https://site.example/", PAGE_HTML, content_type="text/html")
    web.put("https://site.example/news.xml", feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk)
        moved = await desk.sources.update(source.id, {"url": "https://site.example/"})

    assert moved.url == "https://site.example/news.xml"


async def test_source_is_not_moved_to_unreadable_url(tmp_path):
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk)
        with pytest.raises(PageNotFoundError):
            await desk.sources.update(source.id, {"url": URL_TWO, "name": "Two"})

        assert await desk.sources.get(source.id) == source
        moved = await desk.sources.update(source.id, {"url": URL_TWO}, test=False)
        assert (moved.url, web.requested_urls) == (URL_TWO, [URL_TWO])


async def test_source_is_not_moved_to_existing_url(tmp_path):
    web = FakeWeb()
    web.put(URL_TWO, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        source, _ = await create_source(desk), await create_source(desk, URL_TWO, name="Two")
        with pytest.raises(InvalidError) as error:
            await desk.sources.update(source.id, {"url": URL_TWO})

        assert error.value.errors == (FieldError("url", "already added as “Two”"),)
        assert (await desk.sources.get(source.id)).url == URL_ONE


async def test_unrelated_changes_need_no_fetch(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk)
        await desk.pipeline.run()
        request_count = len(web.requests)
        changed = await desk.sources.update(
            source.id, {"url": URL_ONE, "name": "Uno", "config": {"weight": 3, "tags": ["a"]}}
        )

    assert len(web.requests) == request_count
    assert (changed.health, changed.last_fetch) == (Health.HEALTHY, NOW)


async def test_other_listing_resets_fetch_state(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        source = await create_source(desk, "https://www.reddit.com/r/python/", type="reddit", listing="new")

        def set_fetched(conn, user_id):
            conn.execute(update(tables.source).values(last_fetch=NOW, health=Health.HEALTHY, fail_count=2))

        await desk._context.write(set_fetched)
        changed = await desk.sources.update(source.id, {"config": {"listing": "top"}}, test=False)

    assert (changed.last_fetch, changed.health, changed.fail_count) == (None, Health.UNKNOWN, 0)


async def test_source_with_draft_in_posting_is_not_deleted(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2)))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk)
        await desk.pipeline.run()
        first = (await list_drafts(desk))[0]

        def set_status(conn, user_id, status):
            conn.execute(update(tables.draft).where(tables.draft.c.id == first.id).values(status=status))

        await desk._context.write(set_status, Status.POSTING)
        with pytest.raises(ConflictError, match="is being posted"):
            await desk.sources.delete(source.id)
        assert len(await list_drafts(desk)) == 2
        assert (await desk.sources.get(source.id)).item_count == 2

        await desk._context.write(set_status, Status.POSTED)
        await desk.sources.delete(source.id)
        assert await list_drafts(desk) == []
        with pytest.raises(NotFoundError):
            await desk.sources.delete(source.id)


async def test_other_source_can_be_deleted_during_posting(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        other = await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        await desk._context.write(
            lambda conn, _: conn.execute(update(tables.draft).values(status=Status.POSTING)) and None
        )
        await desk.sources.delete(other.id)

        assert len(await desk.sources.list()) == 1


async def run_and_delete(desk: Desk, source: Source, held: HeldResponse) -> Run:
    """Run and delete `source` once it was fetched, while another source is still pending."""
    was_read = asyncio.Event()

    def listen(progress: Progress) -> None:
        if progress.note == source.name:
            was_read.set()

    run = asyncio.create_task(desk.pipeline.run(on_progress=listen))
    await held.requested.wait()
    await was_read.wait()
    await desk.sources.delete(source.id)
    held.released.set()
    return await run


async def test_stats_of_run_with_deleted_source(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2)))
    web.put(URL_TWO, feed(entry(3)))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk, name="One")
        await create_source(desk, URL_TWO, name="Two")
        run = await run_and_delete(desk, source, web.hold(URL_TWO))

    stats = run.stats
    assert run.status is RunStatus.SUCCEEDED
    assert (stats.items_ingested, stats.items_waiting, stats.items_considered) == (3, 0, 3)
    assert (stats.items_filtered, stats.items_ranked, stats.drafts_created) == (1, 1, 1)
    assert set(stats.stage_timing) == set(Stage)


async def test_waiting_items_are_counted_after_deletion(tmp_path):
    web, watch = FakeWeb(), Watch()
    web.put(URL_TWO, feed(entry(3), entry(4)))
    async with open_desk_at(tmp_path, web, watch, pipeline__max_drafts="0") as desk:
        await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        source = await create_source(desk, name="One")
        await create_source(desk, URL_THREE, name="Three")
        web.put(URL_ONE, feed(entry(1)))
        web.put(URL_THREE, feed(entry(5)))
        run = await run_and_delete(desk, source, web.hold(URL_THREE))

    assert (run.stats.items_ingested, run.stats.items_waiting, run.stats.items_considered) == (2, 2, 4)
