"""Sources that are moved, and sources that are deleted while something is at work on them."""

import asyncio

import pytest
from sqlalchemy import update

from copydesk.desk import Desk
from copydesk.errors import ConflictError, FieldError, InvalidError, MissingError, NotFoundError
from copydesk.model.draft import Status
from copydesk.model.run import Progress, Run, RunStatus, Stage
from copydesk.model.source import Health, Source
from copydesk.store import tables
from desk_fixtures import NOW, ONE, THREE, TWO, Held, Watch, Web, add, drafts_of, entry, feed, open_at

PAGE = '<html><head><link rel="alternate" type="application/rss+xml" href="/news.xml"></head><body>Hi</body></html>'


async def test_a_source_that_is_moved_is_fetched_once_to_see(tmp_path):
    web = Web()
    web.put(TWO, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        source = await add(desk)
        moved = await desk.sources.update(source.id, {"url": TWO})

    assert web.urls == [TWO]
    assert (moved.url, moved.health, moved.last_fetch) == (TWO, Health.UNKNOWN, None)


async def test_the_feed_of_the_page_that_a_source_is_moved_to_is_found(tmp_path):
    web = Web()
    web.put("https://site.example/", PAGE, content_type="text/html")
    web.put("https://site.example/news.xml", feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        source = await add(desk)
        moved = await desk.sources.update(source.id, {"url": "https://site.example/"})

    assert moved.url == "https://site.example/news.xml"


async def test_a_source_is_not_moved_to_what_cannot_be_read(tmp_path):
    web = Web()
    async with open_at(tmp_path, web) as desk:
        source = await add(desk)
        with pytest.raises(MissingError):
            await desk.sources.update(source.id, {"url": TWO, "name": "Two"})

        assert await desk.sources.get(source.id) == source
        moved = await desk.sources.update(source.id, {"url": TWO}, test=False)
        assert (moved.url, web.urls) == (TWO, [TWO])


async def test_a_source_is_not_moved_to_another_ones_address(tmp_path):
    web = Web()
    web.put(TWO, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        source, other = await add(desk), await add(desk, TWO, name="Two")
        with pytest.raises(InvalidError) as error:
            await desk.sources.update(source.id, {"url": TWO})

        assert error.value.errors == (FieldError("url", f"is the source {other.id} (Two) already"),)
        assert (await desk.sources.get(source.id)).url == ONE


async def test_what_changes_nothing_of_what_is_read_needs_no_fetch(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        source = await add(desk)
        await desk.pipeline.run()
        asked = len(web.asked)
        changed = await desk.sources.update(
            source.id, {"url": ONE, "name": "Uno", "config": {"weight": 3, "tags": ["a"]}}
        )

    assert len(web.asked) == asked
    assert (changed.health, changed.last_fetch) == (Health.HEALTHY, NOW)


async def test_another_list_of_the_same_site_is_read_from_the_start(tmp_path):
    async with open_at(tmp_path, Web()) as desk:
        source = await add(desk, "https://www.reddit.com/r/python/", type="reddit", listing="new")

        def fetched(conn, user_id):
            conn.execute(update(tables.source).values(last_fetch=NOW, health=Health.HEALTHY, fail_count=2))

        await desk.ground.write(fetched)
        changed = await desk.sources.update(source.id, {"config": {"listing": "top"}}, test=False)

    assert (changed.last_fetch, changed.health, changed.fail_count) == (None, Health.UNKNOWN, 0)


async def test_a_source_of_which_a_draft_is_being_posted_is_not_deleted(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1), entry(2)))
    async with open_at(tmp_path, web) as desk:
        source = await add(desk)
        await desk.pipeline.run()
        first = (await drafts_of(desk))[0]

        def become(conn, user_id, status):
            conn.execute(update(tables.draft).where(tables.draft.c.id == first.id).values(status=status))

        await desk.ground.write(become, Status.POSTING)
        with pytest.raises(ConflictError, match="is being posted"):
            await desk.sources.delete(source.id)
        assert len(await drafts_of(desk)) == 2
        assert (await desk.sources.get(source.id)).item_count == 2

        await desk.ground.write(become, Status.POSTED)
        await desk.sources.delete(source.id)
        assert await drafts_of(desk) == []
        with pytest.raises(NotFoundError):
            await desk.sources.delete(source.id)


async def test_another_source_is_deleted_while_a_draft_is_being_posted(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        other = await add(desk, TWO)
        await desk.pipeline.run()
        await desk.ground.write(
            lambda conn, _: conn.execute(update(tables.draft).values(status=Status.POSTING)) and None
        )
        await desk.sources.delete(other.id)

        assert len(await desk.sources.list()) == 1


async def run_without(desk: Desk, source: Source, held: Held) -> Run:
    """A run during which `source` is deleted as soon as it was read, while another one is still awaited."""
    was_read = asyncio.Event()

    def listen(progress: Progress) -> None:
        if progress.note == source.name:
            was_read.set()

    run = asyncio.create_task(desk.pipeline.run(on_progress=listen))
    await held.came.wait()
    await was_read.wait()
    await desk.sources.delete(source.id)
    held.go.set()
    return await run


async def test_a_source_that_is_deleted_during_a_run_leaves_figures_that_can_be(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1), entry(2)))
    web.put(TWO, feed(entry(3)))
    async with open_at(tmp_path, web) as desk:
        one = await add(desk, name="One")
        await add(desk, TWO, name="Two")
        done = await run_without(desk, one, web.hold(TWO))

    stats = done.stats
    assert done.status is RunStatus.SUCCEEDED
    assert (stats.items_new, stats.items_waiting, stats.items_ingested) == (3, 0, 3)
    assert (stats.items_filtered, stats.items_ranked, stats.drafts_created) == (1, 1, 1)
    assert set(stats.stage_timing) == set(Stage)


async def test_what_waited_before_is_counted_though_a_source_was_deleted_during_the_run(tmp_path):
    web, watch = Web(), Watch()
    web.put(TWO, feed(entry(3), entry(4)))
    async with open_at(tmp_path, web, watch, pipeline__max_drafts="0") as desk:
        await add(desk, TWO)
        await desk.pipeline.run()
        one = await add(desk, name="One")
        await add(desk, THREE, name="Three")
        web.put(ONE, feed(entry(1)))
        web.put(THREE, feed(entry(5)))
        done = await run_without(desk, one, web.hold(THREE))

    assert (done.stats.items_new, done.stats.items_waiting, done.stats.items_ingested) == (2, 2, 4)
