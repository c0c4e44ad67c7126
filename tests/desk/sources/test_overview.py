"""Tests for the source overview and for importing lists of feeds one by one."""

import asyncio
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from copydesk.desk.sources.feed_import import DuplicateSourceError, FeedImportResult, Outcome
from copydesk.desk.sources.overview import DAYS, deletion_prompt, start_of_days
from copydesk.errors import InvalidError
from copydesk.model.draft import Status
from copydesk.model.transitions import EventKind
from copydesk.store import draft_updates
from copydesk.store.draft_updates import DraftUpdate
from copydesk.store.ids import new_id
from desk_fixtures import (
    NOW,
    URL_ONE,
    URL_THREE,
    URL_TWO,
    FakeWeb,
    create_source,
    entry,
    execute_sql,
    feed,
    hours_ago,
    open_desk_at,
    story_title,
)

OPML_LIST = f"""<opml version="2.0"><body>
<outline text="One" xmlUrl="{URL_ONE}"/><outline text="Two" xmlUrl="{URL_TWO}"/>
<outline text="Three" xmlUrl="{URL_THREE}"/>
<outline text="None" xmlUrl="ftp://nowhere.example/"/>
</body></opml>""".encode()


async def test_items_are_counted_by_publication_day(tmp_path):
    web = FakeWeb()
    web.put(
        URL_ONE, feed(entry(1), entry(2, hours=2), entry(3, hours=25), entry(4, hours=24 * 13), entry(5, hours=24 * 14))
    )
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        quiet = await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        first, second = await desk.sources.list_overviews()

    assert first.days == (1, *[0] * (DAYS - 3), 1, 2)
    assert first.source.item_count == 5
    assert second.source.id == quiet.id
    assert second.days == (0,) * DAYS


async def test_overview_shows_next_fetch_and_draft_count(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        (before,) = await desk.sources.list_overviews()
        run = await desk.pipeline.run()
        (after,) = await desk.sources.list_overviews()

    assert (before.next_fetch, before.drafts) == (None, 0)
    assert after.next_fetch is not None
    assert after.next_fetch > NOW
    assert after.drafts == run.stats.drafts_created == 2


async def test_deletion_question_names_scheduled_and_posted_drafts(tmp_path):
    def mark_posted(conn, user_id):
        snapshot = draft_updates.load_snapshot(conn, user_id, drafts[1].id)
        after = draft_updates.to_column_values({"status": Status.POSTED})
        draft_updates.apply_update(
            conn, user_id, snapshot, DraftUpdate(kind=EventKind.PERMANENT, action="ended_live", after=after, at=NOW)
        )

    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2), entry(3), title="The Lighthouse"))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk, name="The Lighthouse")
        await desk.pipeline.run()
        (row,) = await desk.sources.list_overviews()
        assert deletion_prompt(row) == "Delete The Lighthouse, with its 3 items and 3 drafts? This cannot be undone."
        drafts = (await desk.drafts.list()).items
        await desk.drafts.approve(drafts[0].id)
        await desk.drafts.schedule(drafts[0].id, NOW + timedelta(days=1))
        await desk._context.write(mark_posted)
        (row,) = await desk.sources.list_overviews()

    assert deletion_prompt(row) == (
        "Delete The Lighthouse, with its 3 items and 3 drafts, including 1 scheduled and 1 posted? "
        "Posts stay online but are no longer tracked. This cannot be undone."
    )


async def test_days_follow_users_zone_and_clock_changes(tmp_path):
    edges = start_of_days(datetime(2026, 3, 30, 1, tzinfo=UTC), ZoneInfo("Europe/Prague"))
    assert edges[-1].astimezone(UTC) == datetime(2026, 3, 29, 22, tzinfo=UTC)
    assert edges[-2].astimezone(UTC) == datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert len(edges) == DAYS


async def test_recent_items_of_a_source(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1, hours=3), entry(2, hours=1), entry(3, hours=2)))
    web.put(URL_TWO, feed(entry(4)))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk)
        await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        items = await desk.sources.recent(source.id, 2)

    assert [(item.title, item.published) for item in items] == [
        (story_title(2), hours_ago(1)),
        (story_title(3), hours_ago(2)),
    ]


async def test_foreign_sources_are_not_visible(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        foreign = await create_source(desk)
        await desk.pipeline.run()
        assert len(await desk.sources.recent(foreign.id)) == 1
    # The desk belongs to the first user; insert one that sorts before the owner of the source.
    statement = "INSERT INTO user (id, name, time_zone, created_at) VALUES (?, 'new', 'UTC', 0)"
    execute_sql(tmp_path, statement, "0" * 8 + new_id(NOW)[8:])
    async with open_desk_at(tmp_path, web) as desk:
        assert await desk.sources.list_overviews() == ()
        assert await desk.sources.recent(foreign.id) == ()
        own = await create_source(desk, URL_TWO)
        (row,) = await desk.sources.list_overviews()
        assert (row.source.id, row.drafts, sum(row.days)) == (own.id, 0, 0)


async def test_try_out_stores_nothing(tmp_path):
    web = FakeWeb()
    page = '<html><head><link rel="alternate" type="application/rss+xml" href="/news.xml"></head></html>'
    web.put("https://site.example/", page, content_type="text/html")
    web.put("https://site.example/news.xml", feed(entry(1), title="News"))
    async with open_desk_at(tmp_path, web) as desk:
        result = await desk.sources.test_candidate({"type": "rss", "url": "https://site.example/"})
        failed = await desk.sources.test_candidate({"type": "rss", "url": URL_ONE})
        with pytest.raises(InvalidError):
            await desk.sources.test_candidate({"type": "rss", "url": "ftp://site.example/"})
        assert await desk.sources.list() == ()

    assert (result.ok, result.url, result.title) == (True, "https://site.example/news.xml", "News")
    assert [item.title for item in result.items] == [story_title(1)]
    assert not failed.ok
    assert failed.error


async def test_try_out_refuses_stored_source_without_fetching_it(tmp_path):
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk, URL_ONE)
        fetched = list(web.requests)
        with pytest.raises(DuplicateSourceError, match="already added"):
            await desk.sources.test_candidate({"type": "rss", "url": URL_ONE})
        assert list(web.requests) == fetched


async def test_imported_feeds_are_tested(tmp_path):
    web = FakeWeb()
    web.put(URL_TWO, feed(entry(1)))
    results: list[FeedImportResult] = []
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk, URL_ONE)
        await desk.sources.import_feeds(await desk.sources.read_opml(OPML_LIST), results.append)
        names = [source.name for source in await desk.sources.list()]

    outcomes = {result.feed.name: result.outcome for result in results}
    assert outcomes == {
        "One": Outcome.DUPLICATE,
        "Two": Outcome.ADDED,
        "Three": Outcome.FAILED,
        "None": Outcome.FAILED,
    }
    assert URL_ONE not in web.requested_urls
    assert all(result.error for result in results if result.outcome is Outcome.FAILED)
    assert names == ["one.example", "Two"]


async def test_failed_feed_can_be_added_untested(tmp_path):
    results: list[FeedImportResult] = []
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        await desk.sources.import_feeds((await desk.sources.read_opml(OPML_LIST))[:2], results.append, test=False)
        assert len(await desk.sources.list()) == 2
    assert web.requested_urls == []


async def test_cancelled_import_keeps_added_feeds(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    response = web.hold(URL_TWO)
    reported = asyncio.Event()
    async with open_desk_at(tmp_path, web) as desk:
        feeds = (await desk.sources.read_opml(OPML_LIST))[:2]
        import_task = asyncio.create_task(desk.sources.import_feeds(feeds, lambda _: reported.set()))
        await asyncio.gather(response.requested.wait(), reported.wait())
        import_task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await import_task
        assert [source.name for source in await desk.sources.list()] == ["One"]


async def test_failing_sources_exclude_disabled_ones(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        unreachable = await create_source(desk, URL_TWO, name="Lost")
        disabled = await create_source(desk, URL_THREE, name="Off")
        await desk.pipeline.run()
        await desk.sources.update(disabled.id, {"enabled": False})
        (failing,) = await desk.pipeline.list_failing_sources()
        web.put(URL_TWO, feed(entry(2)))
        await desk.pipeline.run()
        assert await desk.pipeline.list_failing_sources() == ()

    assert (failing.id, failing.name) == (unreachable.id, "Lost")
    assert failing.error
