"""Tests for storing fetched entries: each once, none lost, old ones not taken for news."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.desk.pipeline import fetch_sources
from copydesk.desk.pipeline.fetch_sources import match_entries, store_fetches
from copydesk.desk.pipeline.progress import RunProgress
from copydesk.errors import StoreFullError
from copydesk.ingest.fetch_context import FetchResult
from copydesk.model.item import Entry
from copydesk.model.run import RunRequest, RunStatus
from copydesk.store import sources
from copydesk.store.items import ExistingItem, content_hash
from desk_fixtures import (
    NOW,
    URL_ONE,
    URL_THREE,
    URL_TWO,
    FakeWeb,
    Watch,
    create_source,
    draft_titles,
    entry,
    feed,
    item_states,
    list_drafts,
    open_desk_at,
    query_db,
    story_title,
)


async def test_entries_are_stored_once(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1), entry(2)), etag=False)
    async with open_desk_at(tmp_path, web, clock) as desk:
        source = await create_source(desk)
        for _ in range(3):
            clock.advance(60)
            await desk.pipeline.run()
        reloaded = await desk.sources.get(source.id)

    assert sorted(item_states(tmp_path)) == sorted([story_title(1), story_title(2)])
    assert reloaded.item_count == 2


async def test_sources_are_saved_although_an_earlier_save_was_cancelled(tmp_path):
    """At the end of a run, the save of each second was cancelled while it waited for its turn."""
    async with open_desk_at(tmp_path) as desk:
        await create_source(desk)
        ctx, may_write = desk._context, threading.Event()
        (stored,) = await ctx.read(sources.list_to_fetch, None)
        async with ctx.network() as http:
            stage = fetch_sources._FetchStage(ctx, http, RunProgress(""))
            stage._unchanged.append((stored, FetchResult(unchanged=True)))
            tasks = [asyncio.create_task(ctx.write(lambda *_: may_write.wait(60)))]
            tasks += [asyncio.create_task(stage.flush_unchanged())]
            await asyncio.sleep(0)
            tasks[1].cancel()
            await asyncio.wait(tasks[1:])
            may_write.set()
            await asyncio.wait(tasks)
            await stage.flush_unchanged()
        assert [row.state.last_fetch for row in await ctx.read(sources.list_to_fetch, None)] == [NOW]


async def test_corrected_link_updates_canonical_url(tmp_path):
    """The item once kept the canonical URL of the wrong link, so another source's entry became a second story."""
    web, clock = FakeWeb(), Watch()
    old_feed, new_feed = (feed(entry(1, link=f"https://site.example/{name}")) for name in ("wrong", "right"))
    web.put(URL_ONE, old_feed, etag=False)
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        web.put(URL_ONE, new_feed, etag=False)
        clock.advance(60)
        await desk.pipeline.run()

    assert query_db(tmp_path, "SELECT url, canonical FROM item") == [("https://site.example/right",) * 2]


async def test_slow_storing_pauses_fetching(tmp_path, monkeypatch):
    """All sources were fetched at once, and their entries waited in memory."""
    monkeypatch.setattr(fetch_sources, "MAX_UNSTORED_RESULTS", 4)
    web, counts = FakeWeb(), []
    urls = [f"https://site{number}.example/feed" for number in range(40)]
    for number, url in enumerate(urls):
        web.put(url, feed(entry(number)))
    async with open_desk_at(tmp_path, web, Watch()) as desk:
        for url in urls:
            await create_source(desk, url)
        write = desk._context.write

        async def slow_write(work, *args):
            if work is store_fetches and not counts:
                for _ in range(1_000):
                    await asyncio.sleep(0)
                counts.append(len(web.requests))
            return await write(work, *args)

        monkeypatch.setattr(desk._context, "write", slow_write)
        desk._context.is_interactive = True
        run = await desk.pipeline.run()
    assert counts[0] <= 4 + 16
    assert run.stats.sources_fetched == 40


@asynccontextmanager
async def desk_with_slow_first_write(home: Path, stored_together: list[int], *, attended: bool) -> AsyncIterator[Desk]:
    """Open a desk whose first fetched source is stored once all are fetched; record the sizes of the groups."""
    web = FakeWeb()
    for number, url in enumerate((URL_ONE, URL_TWO, URL_THREE)):
        web.put(url, feed(entry(number)))
    async with open_desk_at(home, web, Watch()) as desk:
        for url in (URL_ONE, URL_TWO, URL_THREE):
            await create_source(desk, url)
        write = desk._context.write

        async def record_write(work, *args):
            if work is store_fetches:
                if not stored_together:
                    for _ in range(1_000):
                        await asyncio.sleep(0)
                    assert len(web.requests) == 3
                stored_together.append(len(args[1]))
            return await write(work, *args)

        desk._context.is_interactive, desk._context.write = attended, record_write
        yield desk


@pytest.mark.parametrize(("attended", "groups"), [(False, [1, 2]), (True, [1, 1, 1])])
async def test_waiting_sources_are_stored_together_unless_console_is_open(tmp_path, attended, groups):
    """A key press waits for the transaction that has begun."""
    stored_together = []
    async with desk_with_slow_first_write(tmp_path, stored_together, attended=attended) as desk:
        run = await desk.pipeline.run()
    assert stored_together == groups
    assert run.stats.items_new == 3


async def test_transaction_of_waiting_sources_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch_sources, "MAX_GROUPED_ENTRIES", 1)
    stored_together = []
    async with desk_with_slow_first_write(tmp_path, stored_together, attended=False) as desk:
        await desk.pipeline.run()
    assert stored_together == [1, 1, 1]


async def test_group_that_the_database_refuses_is_not_tried_again(tmp_path):
    stored_together = []
    async with desk_with_slow_first_write(tmp_path, stored_together, attended=False) as desk:
        write = desk._context.write

        async def fail_second(work, *args):
            if work is store_fetches and stored_together:
                stored_together.append(len(args[1]))
                raise StoreFullError
            return await write(work, *args)

        desk._context.write = fail_second
        run = await desk.pipeline.run()
    assert run.status is RunStatus.FAILED
    assert stored_together == [1, 2]


async def test_source_that_cannot_be_stored_costs_no_other(tmp_path, monkeypatch):
    store_fetch = fetch_sources.store_fetch

    def fail_for_two(conn, user_id, ctx, stored, result, now):
        new = store_fetch(conn, user_id, ctx, stored, result, now)
        if stored.source.url == URL_TWO:
            raise ValueError("not to be stored")
        return new

    monkeypatch.setattr(fetch_sources, "store_fetch", fail_for_two)
    stored_together = []
    async with desk_with_slow_first_write(tmp_path, stored_together, attended=False) as desk:
        run = await desk.pipeline.run()
        listed = await desk.sources.list()
    assert stored_together[:2] == [1, 2]
    assert (run.stats.items_new, run.stats.sources_fetched, run.stats.sources_failed) == (2, 2, 1)
    assert {source.url: source.item_count for source in listed} == {URL_ONE: 1, URL_TWO: 0, URL_THREE: 1}
    assert query_db(tmp_path, "SELECT count(*) FROM item") == [(2,)]


async def test_unchanged_feed_is_not_parsed(tmp_path, monkeypatch):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))
    web.put(URL_TWO, feed(entry(2)), etag=False)
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        monkeypatch.setattr("copydesk.ingest.fetch_context.parse_feed", None)
        clock.advance(60)
        run = await desk.pipeline.run()

    assert (run.stats.sources_fetched, run.stats.sources_unchanged) == (2, 2)
    assert (run.stats.items_new, run.stats.drafts_created, run.stats.sources_failed) == (0, 0, 0)
    # Only the first feed sent an ETag; the second is recognized by its body.
    conditional = {str(request.url): "if-none-match" in request.headers for request in web.requests[-2:]}
    assert conditional == {URL_ONE: True, URL_TWO: False}


async def test_backlog_is_drafted_over_several_runs(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(*(entry(number) for number in range(30))))
    counts = []
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        for _ in range(3):
            clock.advance(300)
            run = await desk.pipeline.run(RunRequest(max_drafts=10))
            counts.append((run.stats.items_new, run.stats.items_waiting, run.stats.drafts_created))
        drafted = await draft_titles(desk)
        idle_run = await desk.pipeline.run()

    assert counts == [(30, 0, 10), (0, 20, 10), (0, 10, 10)]
    assert sorted(drafted) == sorted(story_title(number) for number in range(30))
    assert idle_run.stats.drafts_created == 0


async def test_first_fetch_drafts_only_recent_entries(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1, hours=47.9), entry(2, hours=48.1), entry(3, hours=500)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(1)]

        # They must not become drafts later either, even if the source changes them.
        web.put(URL_ONE, feed(entry(1, hours=47.9), entry(2, hours=1, text="Changed."), entry(3, hours=500)))
        clock.advance(3600)
        await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(1)]

    assert item_states(tmp_path) == {story_title(1): "drafted", story_title(2): "history", story_title(3): "history"}


async def test_first_fetch_hours_setting(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1, hours=5), entry(2, hours=7)))
    async with open_desk_at(tmp_path, web, pipeline__first_fetch_hours="6") as desk:
        await create_source(desk)
        await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(1)]


async def test_later_fetches_accept_older_entries(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        web.put(URL_ONE, feed(entry(2, hours=60), entry(1)))
        clock.advance(60)
        await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(1), story_title(2)]


async def test_max_items_limits_drafted_entries(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(*(entry(number, hours=number + 1) for number in range(6))))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk, maxItems=2)
        run = await desk.pipeline.run()
        assert sorted(await draft_titles(desk)) == sorted([story_title(0), story_title(1)])

    assert run.stats.items_new == 6
    assert sorted(item_states(tmp_path).values()) == ["drafted"] * 2 + ["history"] * 4


async def test_changed_entry_updates_item(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await desk.pipeline.run(RunRequest(max_drafts=0))
        web.put(URL_ONE, feed(entry(1, title="The ferry opens a day later", hours=0)))
        clock.advance(60)
        await desk.pipeline.run(RunRequest(max_drafts=0))

    assert query_db(tmp_path, "SELECT title, published FROM item") == [
        ("The ferry opens a day later", int((NOW - timedelta(hours=1)).timestamp() * 1e6))
    ]


async def test_renamed_ids_and_links_are_recognized(tmp_path):
    web, clock = FakeWeb(), Watch()
    old, new = ("http://stories.example/", "https://www.stories.example/")
    web.put(URL_ONE, feed(*(entry(n, guid=f"{old}{n}", link=f"{old}{n}") for n in range(5))))
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        web.put(URL_ONE, feed(*(entry(n, guid=f"{new}{n}", link=f"{new}{n}") for n in range(6))))
        clock.advance(60)
        run = await desk.pipeline.run()

    assert run.stats.items_new == 1
    assert len(item_states(tmp_path)) == 6


async def test_moved_source_keeps_its_items(tmp_path):
    """The fetch state is reset with the URL; the first items were once inserted a second time."""
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1), entry(2)))
    web.put(URL_TWO, feed(entry(1), entry(2), entry(3)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        source = await create_source(desk)
        await desk.pipeline.run()
        moved = await desk.sources.update(source.id, {"url": URL_TWO})
        assert (moved.last_fetch, moved.health) == (None, "unknown")
        clock.advance(60)
        run = await desk.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED
        assert sorted(await draft_titles(desk)) == sorted([story_title(1), story_title(2), story_title(3)])

    assert len(item_states(tmp_path)) == 3


async def test_source_deleted_during_fetch_leaves_nothing(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    web.put(URL_TWO, feed(entry(2)))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk)
        await create_source(desk, URL_TWO)
        response = web.hold(URL_ONE)
        run_task = asyncio.create_task(desk.pipeline.run())
        await response.requested.wait()
        await desk.sources.delete(source.id)
        response.released.set()
        run = await run_task
        assert await draft_titles(desk) == [story_title(2)]

    assert (run.status, run.stats.items_new) == (RunStatus.SUCCEEDED, 1)
    assert item_states(tmp_path) == {story_title(2): "drafted"}


async def test_offline_run_does_not_count_against_sources(tmp_path):
    """Three hosts that cannot be reached at once mean that this machine has no network."""
    web = FakeWeb()
    urls = [f"https://host-{number}.example/feed" for number in range(3)]
    for url in urls:
        web.disconnect(url)
    async with open_desk_at(tmp_path, web) as desk:
        for url in urls:
            await create_source(desk, url)
        run = await desk.pipeline.run()
        assert "this machine seems to be offline" in (run.error or "")
        assert query_db(tmp_path, "SELECT fail_count FROM source") == [(0,)] * 3


async def test_disabled_source_runs_only_by_id(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk)
        await desk.sources.update(source.id, {"enabled": False})
        await desk.pipeline.run()
        assert web.requests == []
        await desk.pipeline.run(RunRequest(source_ids=(source.id,)))
        assert await draft_titles(desk) == [story_title(1)]


async def test_run_of_one_source(tmp_path):
    web = FakeWeb()
    for number, url in enumerate((URL_ONE, URL_TWO, URL_THREE)):
        web.put(url, feed(entry(number)))
    async with open_desk_at(tmp_path, web) as desk:
        for url in (URL_ONE, URL_TWO, URL_THREE):
            await create_source(desk, url)
        await desk.pipeline.run(RunRequest(max_drafts=0))
        source_id = (await desk.sources.list())[1].id
        web.requests.clear()
        run = await desk.pipeline.run(RunRequest(source_ids=(source_id,)))
        (draft,) = await list_drafts(desk)

    assert web.requested_urls == [URL_TWO]
    assert draft.item.title == story_title(1)
    assert run.stats.items_waiting == 1


async def test_permanent_redirect_is_followed_third_time(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.fail(URL_ONE, 301, location=URL_TWO)
    web.put(URL_TWO, feed(entry(1)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        source = await create_source(desk)
        urls = []
        for _ in range(3):
            clock.advance(60)
            await desk.pipeline.run()
            urls.append((await desk.sources.get(source.id)).url)

    assert urls == [URL_ONE, URL_ONE, URL_TWO]
    assert len(item_states(tmp_path)) == 1


async def test_feed_of_web_page_replaces_url(tmp_path):
    web = FakeWeb()
    page = '<html><head><link rel="alternate" type="application/rss+xml" href="/news.xml"></head></html>'
    web.put("https://site.example/", page, content_type="text/html")
    web.put("https://site.example/news.xml", feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk, "https://site.example/")
        await desk.pipeline.run()
        assert (await desk.sources.get(source.id)).url == "https://site.example/news.xml"
        assert await draft_titles(desk) == [story_title(1)]


def existing_item(entry: Entry, **changes: object) -> ExistingItem:
    values = {"id": entry.ident, "ident": entry.ident, "alias": entry.alias, "content_hash": content_hash(entry)}
    return ExistingItem(**{**values, **changes})


def test_duplicate_id_in_a_source_is_one_entry():
    """Feed parsers number duplicate ids; other source types do not, and a duplicate could fail the whole run."""
    first, duplicate = Entry(ident="a", alias="a", title="One"), Entry(ident="a", alias="b", title="Other")

    assert match_entries([first, duplicate], ()) == ([first], [])
    assert match_entries([first, duplicate], [existing_item(first)]) == ([], [])


async def test_storage_error_affects_one_source(tmp_path, monkeypatch):
    """An error while storing the entries of one source once failed the whole run."""
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    web.put(URL_TWO, feed(entry(2)))
    original = content_hash

    def refuse(item_entry: Entry) -> bytes:
        if item_entry.title == story_title(1):
            raise OverflowError("Python int too large to convert to SQLite INTEGER")
        return original(item_entry)

    monkeypatch.setattr("copydesk.store.items.content_hash", refuse)
    async with open_desk_at(tmp_path, web) as desk:
        failing, _ = await create_source(desk), await create_source(desk, URL_TWO)
        run = await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(2)]
        assert "unexpected error" in str((await desk.sources.get(failing.id)).last_error)

    assert (run.status, run.stats.sources_failed, run.stats.sources_fetched) == (RunStatus.SUCCEEDED, 1, 1)


@pytest.mark.parametrize("changed", [False, True])
def test_entry_is_matched_by_alias(changed):
    old = Entry(ident="http://a", alias="a", title="One")
    new = Entry(ident="https://a", alias="a", title="Two" if changed else "One")

    fresh, updated = match_entries([new], [existing_item(old, id="item")])

    assert fresh == []
    assert [item_id for item_id, _ in updated] == ["item"]


async def test_new_item_has_canonical_url(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1, link="https://site.example/a?utm_source=feed")))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await desk.pipeline.run()

    assert query_db(tmp_path, "SELECT canonical FROM item") == [("https://site.example/a",)]


@pytest.mark.parametrize(("urls", "status"), [((URL_ONE, URL_TWO), "succeeded"), ((URL_TWO,), "failed")])
async def test_sources_whose_fetch_was_dropped_have_failed(tmp_path, urls, status):
    """A run that waited for a job that workers died of succeeded, as if the sources had been fetched."""
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))

    class Queue:
        async def fetch(self, _user_id, groups):
            for group in groups:
                url = by_id[group.source_ids[0]]
                if url == URL_TWO:
                    assert await desk.pipeline.fail_fetch(group.source_ids, "Not fetched: its worker died.") == 1
                else:
                    await desk.pipeline.fetch(group.source_ids)
                yield group

    async with open_desk_at(tmp_path, web, clock) as desk:
        by_id = {(await create_source(desk, url)).id: url for url in urls}
        desk._context.shared.fetch_queue = Queue()
        clock.advance(60)
        run = await desk.pipeline.run(RunRequest(due=True))
        errors = {source.url: source.last_error for source in await desk.sources.list()}
        due_again = await desk.pipeline.fetch(list(by_id))
    assert due_again == 1
    assert (run.status, run.stats.sources_fetched, run.stats.sources_failed) == (status, len(urls) - 1, 1)
    assert [errors[url] for url in urls] == [*(None for _ in urls[1:]), "Not fetched: its worker died."]


async def test_source_whose_fetch_is_dropped_again_and_again_waits(tmp_path):
    clock = Watch()
    async with open_desk_at(tmp_path, FakeWeb(), clock) as desk:
        source = await create_source(desk, URL_ONE)
        counts = [await desk.pipeline.fail_fetch([source.id], "Not fetched: its worker died.") for _ in range(4)]
        assert counts == [1, 1, 1, 0]
        clock.advance(24 * 3600)
        assert await desk.pipeline.fail_fetch([source.id], "Not fetched: its worker died.") == 1
