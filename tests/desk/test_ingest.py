"""What a run stores of its sources: everything once, nothing lost, nothing made news that is not."""

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


async def test_what_stands_in_a_feed_is_stored_once_however_often_it_is_read(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1), entry(2)), etag=False)
    async with open_at(tmp_path, web, clock) as desk:
        source = await add(desk)
        for _ in range(3):
            clock.forward(60)
            await desk.pipeline.run()
        again = await desk.sources.get(source.id)

    assert sorted(states(tmp_path)) == sorted([title(1), title(2)])
    assert again.item_count == 2


async def test_a_corrected_link_is_the_key_to_compare_by_too(tmp_path):
    """The item kept the key of the wrong link, so that another source's item of the right one was a second story."""
    web, clock = Web(), Watch()
    wrong, right = (feed(entry(1, link=f"https://site.example/{name}")) for name in ("wrong", "right"))
    web.put(ONE, wrong, etag=False)
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await desk.pipeline.run()
        web.put(ONE, right, etag=False)
        clock.forward(60)
        await desk.pipeline.run()

    assert rows(tmp_path, "SELECT url, canonical FROM item") == [("https://site.example/right",) * 2]


@pytest.mark.parametrize(("attended", "most"), [(False, 2), (True, 1)])
async def test_beside_somebody_at_the_keys_one_source_at_a_time_is_handed_to_the_thread_that_stores(
    tmp_path, monkeypatch, attended, most
):
    """Where it has the next at hand it is at work without a gap, and each key has half of the interpreter."""
    monkeypatch.setattr(ingesting, "MOST_WAITING", 2)
    web, asked, together = Web(), [], asyncio.Event()
    for number, url in enumerate((ONE, TWO, THREE)):
        web.put(url, feed(entry(number)))
    async with open_at(tmp_path, web, Watch()) as desk:
        for url in (ONE, TWO, THREE):
            await add(desk, url)
        write = desk.ground.write

        async def watched(work, *args):
            if work is not keep_reading:
                return await write(work, *args)
            asked.append(work)
            if len(asked) == most:
                together.set()
            await asyncio.wait_for(together.wait(), 60)
            try:
                return await write(work, *args)
            finally:
                asked.remove(work)
                assert len(asked) < most

        desk.ground.attended, desk.ground.write = attended, watched
        run = await desk.pipeline.run()

    assert run.stats.items_new == 3


async def test_a_feed_that_did_not_change_is_not_parsed(tmp_path, monkeypatch):
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


async def test_thirty_stories_that_come_at_once_are_drafted_in_three_runs_of_ten(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(*(entry(number) for number in range(30))))
    made = []
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        for _ in range(3):
            clock.forward(300)
            run = await desk.pipeline.run(RunRequest(max_drafts=10))
            made.append((run.stats.items_new, run.stats.items_waiting, run.stats.drafts_created))
        drafted = await titles(desk)
        empty = await desk.pipeline.run()

    assert made == [(30, 0, 10), (0, 20, 10), (0, 10, 10)]
    assert sorted(drafted) == sorted(title(number) for number in range(30))
    assert empty.stats.drafts_created == 0


async def test_of_a_first_fetch_only_the_last_two_days_can_become_drafts(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1, hours=47.9), entry(2, hours=48.1), entry(3, hours=500)))
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await desk.pipeline.run()
        assert await titles(desk) == [title(1)]

        # Not later either, whatever the source does to them.
        web.put(ONE, feed(entry(1, hours=47.9), entry(2, hours=1, text="Changed."), entry(3, hours=500)))
        clock.forward(3600)
        await desk.pipeline.run()
        assert await titles(desk) == [title(1)]

    assert states(tmp_path) == {title(1): "drafted", title(2): "history", title(3): "history"}


async def test_the_hours_of_a_first_fetch_are_a_setting(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1, hours=5), entry(2, hours=7)))
    async with open_at(tmp_path, web, pipeline__first_fetch_hours="6") as desk:
        await add(desk)
        await desk.pipeline.run()
        assert await titles(desk) == [title(1)]


async def test_after_the_first_fetch_an_entry_may_be_older_than_two_days(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await desk.pipeline.run()
        web.put(ONE, feed(entry(2, hours=60), entry(1)))
        clock.forward(60)
        await desk.pipeline.run()
        assert await titles(desk) == [title(1), title(2)]


async def test_only_the_newest_entries_within_the_cap_of_a_source_can_be_drafted(tmp_path):
    web = Web()
    web.put(ONE, feed(*(entry(number, hours=number + 1) for number in range(6))))
    async with open_at(tmp_path, web) as desk:
        await add(desk, maxItems=2)
        run = await desk.pipeline.run()
        assert sorted(await titles(desk)) == sorted([title(0), title(1)])

    assert run.stats.items_new == 6
    assert sorted(states(tmp_path).values()) == ["drafted"] * 2 + ["history"] * 4


async def test_an_entry_that_changed_is_the_same_item_with_new_words(tmp_path):
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


async def test_a_site_that_moves_to_https_and_renames_its_ids_has_no_news(tmp_path):
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


async def test_a_source_that_got_a_new_address_goes_on_with_the_items_that_it_has(tmp_path):
    """Its state is forgotten with the old address, and its first items were inserted a second time."""
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


async def test_a_source_that_is_deleted_while_it_is_read_leaves_nothing(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2)))
    async with open_at(tmp_path, web) as desk:
        source = await add(desk)
        await add(desk, TWO)
        held = web.hold(ONE)
        work = asyncio.create_task(desk.pipeline.run())
        await held.came.wait()
        await desk.sources.delete(source.id)
        held.go.set()
        run = await work
        assert await titles(desk) == [title(2)]

    assert (run.status, run.stats.items_new) == (RunStatus.SUCCEEDED, 1)
    assert states(tmp_path) == {title(2): "drafted"}


async def test_a_disabled_source_is_left_alone_unless_it_is_named(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        source = await add(desk)
        await desk.sources.update(source.id, {"enabled": False})
        await desk.pipeline.run()
        assert web.asked == []
        await desk.pipeline.run(RunRequest(source_ids=(source.id,)))
        assert await titles(desk) == [title(1)]


async def test_a_run_of_one_source_reads_and_drafts_that_source_only(tmp_path):
    web = Web()
    for number, url in enumerate((ONE, TWO, THREE)):
        web.put(url, feed(entry(number)))
    async with open_at(tmp_path, web) as desk:
        for url in (ONE, TWO, THREE):
            await add(desk, url)
        await desk.pipeline.run(RunRequest(max_drafts=0))
        named = (await desk.sources.list())[1].id
        web.asked.clear()
        run = await desk.pipeline.run(RunRequest(source_ids=(named,)))
        (draft,) = await drafts_of(desk)

    assert web.urls == [TWO]
    assert draft.item.title == title(1)
    assert run.stats.items_waiting == 1


async def test_a_permanent_redirect_is_believed_at_the_third_time(tmp_path):
    web, clock = Web(), Watch()
    web.fail(ONE, 301, location=TWO)
    web.put(TWO, feed(entry(1)))
    async with open_at(tmp_path, web, clock) as desk:
        source = await add(desk)
        seen = []
        for _ in range(3):
            clock.forward(60)
            await desk.pipeline.run()
            seen.append((await desk.sources.get(source.id)).url)

    assert seen == [ONE, ONE, TWO]
    assert len(states(tmp_path)) == 1


async def test_the_feed_of_a_web_page_is_found_and_becomes_the_address(tmp_path):
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


def test_an_id_that_a_source_gives_twice_is_one_entry():
    """Feeds number their doubles; a source that is no feed could bring the whole run down."""
    one, other = Entry(ident="a", alias="a", title="One"), Entry(ident="a", alias="b", title="Other")

    assert sort_entries([one, other], ()) == ([one], [])
    assert sort_entries([one, other], [known(one)]) == ([], [])


async def test_what_cannot_be_stored_of_one_source_stops_no_other(tmp_path, monkeypatch):
    """An error while storing was the run's error, although only one source had brought it."""
    web = Web()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2)))
    hashed = content_hash

    def refuse(told: Entry) -> bytes:
        if told.title == title(1):
            raise OverflowError("Python int too large to convert to SQLite INTEGER")
        return hashed(told)

    monkeypatch.setattr("copydesk.store.items.content_hash", refuse)
    async with open_at(tmp_path, web) as desk:
        bad, _ = await add(desk), await add(desk, TWO)
        run = await desk.pipeline.run()
        assert await titles(desk) == [title(2)]
        assert "did not expect" in str((await desk.sources.get(bad.id)).last_error)

    assert (run.status, run.stats.sources_failed, run.stats.sources_fetched) == (RunStatus.SUCCEEDED, 1, 1)


@pytest.mark.parametrize("changed", [False, True])
def test_an_entry_is_known_by_its_second_key_where_the_first_is_nobodys(changed):
    old = Entry(ident="http://a", alias="a", title="One")
    new = Entry(ident="https://a", alias="a", title="Two" if changed else "One")

    fresh, renewed = sort_entries([new], [known(old, id="item")])

    assert fresh == []
    assert [item_id for item_id, _ in renewed] == ["item"]
