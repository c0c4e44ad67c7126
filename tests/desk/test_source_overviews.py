"""Tests for the source overview and for importing lists of feeds one by one."""

import asyncio
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from copydesk.desk.feed_import import Outcome, TriedFeed
from copydesk.desk.overviews import DAYS, days_before, deletion
from copydesk.errors import InvalidError
from copydesk.model.draft import Status
from copydesk.model.history import EventKind
from copydesk.store import changes
from copydesk.store.changes import Step
from copydesk.store.ids import new_id
from desk_fixtures import NOW, ONE, THREE, TWO, Web, add, at, change, entry, feed, open_at, title

LIST = f"""<opml version="2.0"><body>
<outline text="One" xmlUrl="{ONE}"/><outline text="Two" xmlUrl="{TWO}"/><outline text="Three" xmlUrl="{THREE}"/>
<outline text="None" xmlUrl="ftp://nowhere.example/"/>
</body></opml>""".encode()


async def test_items_are_counted_by_publication_day(tmp_path):
    web = Web()
    web.put(
        ONE, feed(entry(1), entry(2, hours=2), entry(3, hours=25), entry(4, hours=24 * 13), entry(5, hours=24 * 14))
    )
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        quiet = await add(desk, TWO)
        await desk.pipeline.run()
        first, second = await desk.sources.overview()

    assert first.days == (1, *[0] * (DAYS - 3), 1, 2)
    assert first.source.item_count == 5
    assert second.source.id == quiet.id
    assert second.days == (0,) * DAYS


async def test_overview_shows_next_fetch_and_draft_count(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1), entry(2)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        (before,) = await desk.sources.overview()
        run = await desk.pipeline.run()
        (after,) = await desk.sources.overview()

    assert (before.next_fetch, before.drafts) == (None, 0)
    assert after.next_fetch is not None
    assert after.next_fetch > NOW
    assert after.drafts == run.stats.drafts_created == 2


async def test_deletion_question_names_scheduled_and_posted_drafts(tmp_path):
    def mark_posted(conn, user_id):
        snapshot = changes.one_seen(conn, user_id, drafts[1].id)
        after = changes.stored({"status": Status.POSTED})
        changes.put(conn, user_id, snapshot, Step(kind=EventKind.FIXED, action="ended_live", after=after, at=NOW))

    web = Web()
    web.put(ONE, feed(entry(1), entry(2), entry(3), title="The Lighthouse"))
    async with open_at(tmp_path, web) as desk:
        await add(desk, name="The Lighthouse")
        await desk.pipeline.run()
        (row,) = await desk.sources.overview()
        assert deletion(row) == "Delete The Lighthouse, with its 3 items and 3 drafts? This cannot be undone."
        drafts = (await desk.drafts.list()).items
        await desk.drafts.approve(drafts[0].id)
        await desk.drafts.schedule(drafts[0].id, NOW + timedelta(days=1))
        await desk.ground.write(mark_posted)
        (row,) = await desk.sources.overview()

    assert deletion(row) == (
        "Delete The Lighthouse, with its 3 items and 3 drafts, of them 1 scheduled and 1 posted? "
        "What was posted stays where it is, but is no longer known here. This cannot be undone."
    )


async def test_days_follow_users_zone_and_clock_changes(tmp_path):
    edges = days_before(datetime(2026, 3, 30, 1, tzinfo=UTC), ZoneInfo("Europe/Prague"))
    assert edges[-1].astimezone(UTC) == datetime(2026, 3, 29, 22, tzinfo=UTC)
    assert edges[-2].astimezone(UTC) == datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert len(edges) == DAYS


async def test_recent_items_of_a_source(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1, hours=3), entry(2, hours=1), entry(3, hours=2)))
    web.put(TWO, feed(entry(4)))
    async with open_at(tmp_path, web) as desk:
        source = await add(desk)
        await add(desk, TWO)
        await desk.pipeline.run()
        items = await desk.sources.recent(source.id, 2)

    assert [(item.title, item.published) for item in items] == [(title(2), at(1)), (title(3), at(2))]


async def test_foreign_sources_are_not_visible(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        foreign = await add(desk)
        await desk.pipeline.run()
        assert len(await desk.sources.recent(foreign.id)) == 1
    # The desk belongs to the first user; insert one that sorts before the owner of the source.
    statement = "INSERT INTO user (id, name, time_zone, created_at) VALUES (?, 'new', 'UTC', 0)"
    change(tmp_path, statement, "0" * 8 + new_id(NOW)[8:])
    async with open_at(tmp_path, web) as desk:
        assert await desk.sources.overview() == ()
        assert await desk.sources.recent(foreign.id) == ()
        own = await add(desk, TWO)
        (row,) = await desk.sources.overview()
        assert (row.source.id, row.drafts, sum(row.days)) == (own.id, 0, 0)


async def test_try_out_stores_nothing(tmp_path):
    web = Web()
    page = '<html><head><link rel="alternate" type="application/rss+xml" href="/news.xml"></head></html>'
    web.put("https://site.example/", page, content_type="text/html")
    web.put("https://site.example/news.xml", feed(entry(1), title="News"))
    async with open_at(tmp_path, web) as desk:
        result = await desk.sources.try_out("rss", "https://site.example/")
        failed = await desk.sources.try_out("rss", ONE)
        with pytest.raises(InvalidError):
            await desk.sources.try_out("rss", "ftp://site.example/")
        assert await desk.sources.list() == ()

    assert (result.ok, result.url, result.title) == (True, "https://site.example/news.xml", "News")
    assert [item.title for item in result.items] == [title(1)]
    assert not failed.ok
    assert failed.error


async def test_imported_feeds_are_tested(tmp_path):
    web = Web()
    web.put(TWO, feed(entry(1)))
    results: list[TriedFeed] = []
    async with open_at(tmp_path, web) as desk:
        await add(desk, ONE)
        await desk.sources.import_each(desk.sources.read_opml(LIST), results.append)
        names = [source.name for source in await desk.sources.list()]

    outcomes = {result.feed.name: result.outcome for result in results}
    assert outcomes == {
        "One": Outcome.KNOWN,
        "Two": Outcome.ADDED,
        "Three": Outcome.FAILED,
        "None": Outcome.FAILED,
    }
    assert ONE not in web.urls
    assert all(result.why for result in results if result.outcome is Outcome.FAILED)
    assert names == ["one.example", "Two"]


async def test_failed_feed_can_be_added_untested(tmp_path):
    results: list[TriedFeed] = []
    web = Web()
    async with open_at(tmp_path, web) as desk:
        await desk.sources.import_each(desk.sources.read_opml(LIST)[:2], results.append, test=False)
        assert len(await desk.sources.list()) == 2
    assert web.urls == []


async def test_cancelled_import_keeps_added_feeds(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    response = web.hold(TWO)
    reported = asyncio.Event()
    async with open_at(tmp_path, web) as desk:
        feeds = desk.sources.read_opml(LIST)[:2]
        import_task = asyncio.create_task(desk.sources.import_each(feeds, lambda _: reported.set()))
        await asyncio.gather(response.came.wait(), reported.wait())
        import_task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await import_task
        assert [source.name for source in await desk.sources.list()] == ["One"]


async def test_failing_sources_exclude_disabled_ones(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        unreachable = await add(desk, TWO, name="Lost")
        disabled = await add(desk, THREE, name="Off")
        await desk.pipeline.run()
        await desk.sources.update(disabled.id, {"enabled": False})
        (failing,) = await desk.pipeline.failing()
        web.put(TWO, feed(entry(2)))
        await desk.pipeline.run()
        assert await desk.pipeline.failing() == ()

    assert (failing.id, failing.name) == (unreachable.id, "Lost")
    assert failing.error
