"""What stands beside the sources in their list, and lists of feeds that are tried one by one."""

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


async def test_items_are_counted_by_the_day_they_are_dated_on(tmp_path):
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


async def test_it_says_when_a_source_is_read_next_and_how_many_drafts_it_has(tmp_path):
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


async def test_the_question_before_a_source_is_deleted_says_what_of_it_is_scheduled_and_posted(tmp_path):
    def posted(conn, user_id):
        seen = changes.one_seen(conn, user_id, drafts[1].id)
        after = changes.stored({"status": Status.POSTED})
        changes.put(conn, user_id, seen, Step(kind=EventKind.FIXED, action="ended_live", after=after, at=NOW))

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
        await desk.ground.write(posted)
        (row,) = await desk.sources.overview()

    assert deletion(row) == (
        "Delete The Lighthouse, with its 3 items and 3 drafts, of them 1 scheduled and 1 posted? "
        "What was posted stays where it is, but is no longer known here. This cannot be undone."
    )


async def test_a_day_is_one_of_the_users_zone_and_may_have_23_hours(tmp_path):
    edges = days_before(datetime(2026, 3, 30, 1, tzinfo=UTC), ZoneInfo("Europe/Prague"))
    assert edges[-1].astimezone(UTC) == datetime(2026, 3, 29, 22, tzinfo=UTC)
    assert edges[-2].astimezone(UTC) == datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert len(edges) == DAYS


async def test_what_a_source_brought_last(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1, hours=3), entry(2, hours=1), entry(3, hours=2)))
    web.put(TWO, feed(entry(4)))
    async with open_at(tmp_path, web) as desk:
        source = await add(desk)
        await add(desk, TWO)
        await desk.pipeline.run()
        found = await desk.sources.recent(source.id, 2)

    assert [(item.title, item.published) for item in found] == [(title(2), at(1)), (title(3), at(2))]


async def test_nobody_elses_sources_are_seen(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        theirs = await add(desk)
        await desk.pipeline.run()
        assert len(await desk.sources.recent(theirs.id)) == 1
    # The owner is the first user there is: another one comes before, whose desk it is now.
    another = "INSERT INTO user (id, name, time_zone, created_at) VALUES (?, 'new', 'UTC', 0)"
    change(tmp_path, another, "0" * 8 + new_id(NOW)[8:])
    async with open_at(tmp_path, web) as desk:
        assert await desk.sources.overview() == ()
        assert await desk.sources.recent(theirs.id) == ()
        mine = await add(desk, TWO)
        (only,) = await desk.sources.overview()
        assert (only.source.id, only.drafts, sum(only.days)) == (mine.id, 0, 0)


async def test_what_may_become_a_source_is_tried_out_and_stored_nowhere(tmp_path):
    web = Web()
    page = '<html><head><link rel="alternate" type="application/rss+xml" href="/news.xml"></head></html>'
    web.put("https://site.example/", page, content_type="text/html")
    web.put("https://site.example/news.xml", feed(entry(1), title="News"))
    async with open_at(tmp_path, web) as desk:
        tried = await desk.sources.try_out("rss", "https://site.example/")
        failed = await desk.sources.try_out("rss", ONE)
        with pytest.raises(InvalidError):
            await desk.sources.try_out("rss", "ftp://site.example/")
        assert await desk.sources.list() == ()

    assert (tried.ok, tried.url, tried.title) == (True, "https://site.example/news.xml", "News")
    assert [item.title for item in tried.items] == [title(1)]
    assert not failed.ok
    assert failed.error


async def test_each_feed_of_a_list_is_tested_and_told_of(tmp_path):
    web = Web()
    web.put(TWO, feed(entry(1)))
    told: list[TriedFeed] = []
    async with open_at(tmp_path, web) as desk:
        await add(desk, ONE)
        await desk.sources.import_each(desk.sources.read_opml(LIST), told.append)
        names = [source.name for source in await desk.sources.list()]

    outcomes = {each.feed.name: each.outcome for each in told}
    assert outcomes == {
        "One": Outcome.KNOWN,
        "Two": Outcome.ADDED,
        "Three": Outcome.FAILED,
        "None": Outcome.FAILED,
    }
    assert ONE not in web.urls
    assert all(each.why for each in told if each.outcome is Outcome.FAILED)
    assert names == ["one.example", "Two"]


async def test_what_failed_can_be_added_all_the_same(tmp_path):
    told: list[TriedFeed] = []
    web = Web()
    async with open_at(tmp_path, web) as desk:
        await desk.sources.import_each(desk.sources.read_opml(LIST)[:2], told.append, test=False)
        assert len(await desk.sources.list()) == 2
    assert web.urls == []


async def test_what_was_added_before_it_was_cancelled_stays(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    held = web.hold(TWO)
    told = asyncio.Event()
    async with open_at(tmp_path, web) as desk:
        feeds = desk.sources.read_opml(LIST)[:2]
        importing = asyncio.create_task(desk.sources.import_each(feeds, lambda _: told.set()))
        await asyncio.gather(held.came.wait(), told.wait())
        importing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await importing
        assert [source.name for source in await desk.sources.list()] == ["One"]


async def test_those_that_fail_now_without_those_that_are_switched_off(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        lost = await add(desk, TWO, name="Lost")
        off = await add(desk, THREE, name="Off")
        await desk.pipeline.run()
        await desk.sources.update(off.id, {"enabled": False})
        (failing,) = await desk.pipeline.failing()
        web.put(TWO, feed(entry(2)))
        await desk.pipeline.run()
        assert await desk.pipeline.failing() == ()

    assert (failing.id, failing.name) == (lost.id, "Lost")
    assert failing.error
