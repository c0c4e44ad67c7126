"""Tests for storing fetched entries: each once, none lost, old ones not taken for news."""

import asyncio
from datetime import timedelta

import pytest

from copydesk.desk import ingesting
from copydesk.desk.left_behind import keep_reading, sort_entries
from copydesk.model.item import Entry
from copydesk.model.run import RunRequest, RunStatus
from copydesk.store.items import KnownItem, content_hash
from desk_fixtures import (
    NOW,
    ONE,
    THREE,
    TWO,
    Watch,
    Web,
    add,
    drafts_of,
    entry,
    feed,
    open_at,
    rows,
    states,
    title,
    titles,
)


async def test_entries_are_stored_once(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1), entry(2)), etag=False)
    async with open_at(tmp_path, web, clock) as desk:
        source = await add(desk)
        for _ in range(3):
            clock.forward(60)
            await desk.pipeline.run()
        reloaded = await desk.sources.get(source.id)

    assert sorted(states(tmp_path)) == sorted([title(1), title(2)])
    assert reloaded.item_count == 2


async def test_corrected_link_updates_canonical_url(tmp_path):
    """The item once kept the canonical URL of the wrong link, so another source's entry became a second story."""
    web, clock = Web(), Watch()
    old_feed, new_feed = (feed(entry(1, link=f"https://site.example/{name}")) for name in ("wrong", "right"))
    web.put(ONE, old_feed, etag=False)
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await desk.pipeline.run()
        web.put(ONE, new_feed, etag=False)
        clock.forward(60)
        await desk.pipeline.run()

    assert rows(tmp_path, "SELECT url, canonical FROM item") == [("https://site.example/right",) * 2]


@pytest.mark.parametrize(("attended", "most"), [(False, 2), (True, 1)])
async def test_console_limits_concurrent_storing(tmp_path, monkeypatch, attended, most):
    """With the next source queued, the storing thread works without a gap and a key press waits longer."""
    monkeypatch.setattr(ingesting, "MOST_WAITING", 2)
    web, active, limit_reached = Web(), [], asyncio.Event()
    for number, url in enumerate((ONE, TWO, THREE)):
        web.put(url, feed(entry(number)))
    async with open_at(tmp_path, web, Watch()) as desk:
        for url in (ONE, TWO, THREE):
            await add(desk, url)
        write = desk.ground.write

        async def tracked_write(work, *args):
            if work is not keep_reading:
                return await write(work, *args)
            active.append(work)
            if len(active) == most:
                limit_reached.set()
            await asyncio.wait_for(limit_reached.wait(), 60)
            try:
                return await write(work, *args)
            finally:
                active.remove(work)
                assert len(active) < most

        desk.ground.attended, desk.ground.write = attended, tracked_write
        run = await desk.pipeline.run()

    assert run.stats.items_new == 3


async def test_unchanged_feed_is_not_parsed(tmp_path, monkeypatch):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2)), etag=False)
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await add(desk, TWO)
        await desk.pipeline.run()
        monkeypatch.setattr("copydesk.ingest.visit.parse_feed", None)
        clock.forward(60)
        run = await desk.pipeline.run()

    assert (run.stats.sources_fetched, run.stats.sources_unchanged) == (2, 2)
    assert (run.stats.items_new, run.stats.drafts_created, run.stats.sources_failed) == (0, 0, 0)
    assert web.asked[-1].headers.get("if-none-match") or web.asked[-2].headers.get("if-none-match")


async def test_backlog_is_drafted_over_several_runs(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(*(entry(number) for number in range(30))))
    counts = []
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        for _ in range(3):
            clock.forward(300)
            run = await desk.pipeline.run(RunRequest(max_drafts=10))
            counts.append((run.stats.items_new, run.stats.items_waiting, run.stats.drafts_created))
        drafted = await titles(desk)
        idle_run = await desk.pipeline.run()

    assert counts == [(30, 0, 10), (0, 20, 10), (0, 10, 10)]
    assert sorted(drafted) == sorted(title(number) for number in range(30))
    assert idle_run.stats.drafts_created == 0


async def test_first_fetch_drafts_only_recent_entries(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1, hours=47.9), entry(2, hours=48.1), entry(3, hours=500)))
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await desk.pipeline.run()
        assert await titles(desk) == [title(1)]

        # They must not become drafts later either, even if the source changes them.
        web.put(ONE, feed(entry(1, hours=47.9), entry(2, hours=1, text="Changed."), entry(3, hours=500)))
        clock.forward(3600)
        await desk.pipeline.run()
        assert await titles(desk) == [title(1)]

    assert states(tmp_path) == {title(1): "drafted", title(2): "history", title(3): "history"}


async def test_first_fetch_hours_setting(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1, hours=5), entry(2, hours=7)))
    async with open_at(tmp_path, web, pipeline__first_fetch_hours="6") as desk:
        await add(desk)
        await desk.pipeline.run()
        assert await titles(desk) == [title(1)]


async def test_later_fetches_accept_older_entries(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await desk.pipeline.run()
        web.put(ONE, feed(entry(2, hours=60), entry(1)))
        clock.forward(60)
        await desk.pipeline.run()
        assert await titles(desk) == [title(1), title(2)]


async def test_max_items_limits_drafted_entries(tmp_path):
    web = Web()
    web.put(ONE, feed(*(entry(number, hours=number + 1) for number in range(6))))
    async with open_at(tmp_path, web) as desk:
        await add(desk, maxItems=2)
        run = await desk.pipeline.run()
        assert sorted(await titles(desk)) == sorted([title(0), title(1)])

    assert run.stats.items_new == 6
    assert sorted(states(tmp_path).values()) == ["drafted"] * 2 + ["history"] * 4


async def test_changed_entry_updates_item(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await desk.pipeline.run(RunRequest(max_drafts=0))
        web.put(ONE, feed(entry(1, named="The ferry opens a day later", hours=0)))
        clock.forward(60)
        await desk.pipeline.run(RunRequest(max_drafts=0))

    assert rows(tmp_path, "SELECT title, published FROM item") == [
        ("The ferry opens a day later", int((NOW - timedelta(hours=1)).timestamp() * 1e6))
    ]


async def test_renamed_ids_and_links_are_recognized(tmp_path):
    web, clock = Web(), Watch()
    old, new = ("http://stories.example/", "https://www.stories.example/")
    web.put(ONE, feed(*(entry(n, guid=f"{old}{n}", link=f"{old}{n}") for n in range(5))))
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await desk.pipeline.run()
        web.put(ONE, feed(*(entry(n, guid=f"{new}{n}", link=f"{new}{n}") for n in range(6))))
        clock.forward(60)
        run = await desk.pipeline.run()

    assert run.stats.items_new == 1
    assert len(states(tmp_path)) == 6


async def test_moved_source_keeps_its_items(tmp_path):
    """The fetch state is reset with the URL; the first items were once inserted a second time."""
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1), entry(2)))
    web.put(TWO, feed(entry(1), entry(2), entry(3)))
    async with open_at(tmp_path, web, clock) as desk:
        source = await add(desk)
        await desk.pipeline.run()
        moved = await desk.sources.update(source.id, {"url": TWO})
        assert (moved.last_fetch, moved.health) == (None, "unknown")
        clock.forward(60)
        run = await desk.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED
        assert sorted(await titles(desk)) == sorted([title(1), title(2), title(3)])

    assert len(states(tmp_path)) == 3


async def test_source_deleted_during_fetch_leaves_nothing(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2)))
    async with open_at(tmp_path, web) as desk:
        source = await add(desk)
        await add(desk, TWO)
        response = web.hold(ONE)
        run_task = asyncio.create_task(desk.pipeline.run())
        await response.came.wait()
        await desk.sources.delete(source.id)
        response.go.set()
        run = await run_task
        assert await titles(desk) == [title(2)]

    assert (run.status, run.stats.items_new) == (RunStatus.SUCCEEDED, 1)
    assert states(tmp_path) == {title(2): "drafted"}


async def test_disabled_source_runs_only_by_id(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        source = await add(desk)
        await desk.sources.update(source.id, {"enabled": False})
        await desk.pipeline.run()
        assert web.asked == []
        await desk.pipeline.run(RunRequest(source_ids=(source.id,)))
        assert await titles(desk) == [title(1)]


async def test_run_of_one_source(tmp_path):
    web = Web()
    for number, url in enumerate((ONE, TWO, THREE)):
        web.put(url, feed(entry(number)))
    async with open_at(tmp_path, web) as desk:
        for url in (ONE, TWO, THREE):
            await add(desk, url)
        await desk.pipeline.run(RunRequest(max_drafts=0))
        source_id = (await desk.sources.list())[1].id
        web.asked.clear()
        run = await desk.pipeline.run(RunRequest(source_ids=(source_id,)))
        (draft,) = await drafts_of(desk)

    assert web.urls == [TWO]
    assert draft.item.title == title(1)
    assert run.stats.items_waiting == 1


async def test_permanent_redirect_is_followed_third_time(tmp_path):
    web, clock = Web(), Watch()
    web.fail(ONE, 301, location=TWO)
    web.put(TWO, feed(entry(1)))
    async with open_at(tmp_path, web, clock) as desk:
        source = await add(desk)
        urls = []
        for _ in range(3):
            clock.forward(60)
            await desk.pipeline.run()
            urls.append((await desk.sources.get(source.id)).url)

    assert urls == [ONE, ONE, TWO]
    assert len(states(tmp_path)) == 1


async def test_feed_of_web_page_replaces_url(tmp_path):
    web = Web()
    page = '<html><head><link rel="alternate" type="application/rss+xml" href="/news.xml"></head></html>'
    web.put("https://site.example/", page, content_type="text/html")
    web.put("https://site.example/news.xml", feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        source = await add(desk, "https://site.example/")
        await desk.pipeline.run()
        assert (await desk.sources.get(source.id)).url == "https://site.example/news.xml"
        assert await titles(desk) == [title(1)]


def known(entry: Entry, **changes: object) -> KnownItem:
    values = {"id": entry.ident, "ident": entry.ident, "alias": entry.alias, "content_hash": content_hash(entry)}
    return KnownItem(**{**values, **changes})


def test_duplicate_id_in_a_source_is_one_entry():
    """Feed parsers number duplicate ids; other source types do not, and a duplicate could fail the whole run."""
    first, duplicate = Entry(ident="a", alias="a", title="One"), Entry(ident="a", alias="b", title="Other")

    assert sort_entries([first, duplicate], ()) == ([first], [])
    assert sort_entries([first, duplicate], [known(first)]) == ([], [])


async def test_storage_error_affects_one_source(tmp_path, monkeypatch):
    """An error while storing the entries of one source once failed the whole run."""
    web = Web()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2)))
    original = content_hash

    def refuse(item_entry: Entry) -> bytes:
        if item_entry.title == title(1):
            raise OverflowError("Python int too large to convert to SQLite INTEGER")
        return original(item_entry)

    monkeypatch.setattr("copydesk.store.items.content_hash", refuse)
    async with open_at(tmp_path, web) as desk:
        failing, _ = await add(desk), await add(desk, TWO)
        run = await desk.pipeline.run()
        assert await titles(desk) == [title(2)]
        assert "did not expect" in str((await desk.sources.get(failing.id)).last_error)

    assert (run.status, run.stats.sources_failed, run.stats.sources_fetched) == (RunStatus.SUCCEEDED, 1, 1)


@pytest.mark.parametrize("changed", [False, True])
def test_entry_is_matched_by_alias(changed):
    old = Entry(ident="http://a", alias="a", title="One")
    new = Entry(ident="https://a", alias="a", title="Two" if changed else "One")

    fresh, updated = sort_entries([new], [known(old, id="item")])

    assert fresh == []
    assert [item_id for item_id, _ in updated] == ["item"]
