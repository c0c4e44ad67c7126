"""Tests for judging filtered items again when the filters change."""

from pathlib import Path

from desk_fixtures import NOW, ONE, TWO, Watch, Web, add, entry, feed, open_at, reasons, rows, states, title, titles


def two_feeds() -> Web:
    web = Web()
    web.put(ONE, feed(entry(1), entry(2)))
    web.put(TWO, feed(entry(3)))
    return web


def word_of(number: int) -> str:
    """Return a word that only this story's title contains."""
    return title(number).split()[0]


async def run(home: Path, web: Web, watch: Watch | None = None, **named: str) -> list[str]:
    """Run once with these settings and return the titles of all drafts, sorted."""
    async with open_at(home, web, watch, **named) as desk:
        if not await desk.sources.list():
            await add(desk)
            await add(desk, TWO)
        await desk.pipeline.run()
        return sorted(await titles(desk))


async def test_removed_exclude_setting_restores_item(tmp_path):
    web = two_feeds()
    assert await run(tmp_path, web, pipeline__exclude=word_of(1)) == sorted([title(2), title(3)])
    assert reasons(tmp_path) == {title(1): f"has the excluded {word_of(1)}"}

    assert await run(tmp_path, web) == sorted([title(1), title(2), title(3)])
    assert reasons(tmp_path) == {}


async def test_changed_language_setting_restores_item(tmp_path):
    web = Web()
    german = "Die Fähre fährt nun jeden Tag über den Fluss, und viele Leute sind darüber sehr froh, sagte der Kapitän."
    web.put(ONE, feed(entry(1, named="Die neue Fähre fährt über den Fluss", text=german)))
    web.put(TWO, feed())
    assert await run(tmp_path, web, pipeline__language="en") == []
    assert await run(tmp_path, web, pipeline__language="de") == ["Die neue Fähre fährt über den Fluss"]


async def test_changed_source_filter_affects_only_that_source(tmp_path):
    web = two_feeds()
    async with open_at(tmp_path, web) as desk:
        first = await add(desk, ONE, include=["nothing"])
        await add(desk, TWO, include=["nothing"])
        await desk.pipeline.run()
        assert await titles(desk) == []
        await desk.sources.update(first.id, {"config": {"include": [word_of(2)]}})
        await desk.pipeline.run()
        assert await titles(desk) == [title(2)]

    assert states(tmp_path) == {title(1): "filtered", title(2): "drafted", title(3): "filtered"}
    assert reasons(tmp_path) == {title(1): f"has none of {word_of(2)}", title(3): "has none of nothing"}


async def test_removed_interest_restores_item(tmp_path):
    web = two_feeds()
    assert await run(tmp_path, web, ranking__interests=f"-{word_of(3)}") == sorted([title(1), title(2)])
    assert await run(tmp_path, web) == sorted([title(1), title(2), title(3)])


async def test_expired_item_stays_filtered(tmp_path):
    web, clock = two_feeds(), Watch()
    await run(tmp_path, web, clock, pipeline__exclude=word_of(1))
    clock.forward(72 * 3600)
    async with open_at(tmp_path, web, clock) as desk:
        result = await desk.pipeline.run()

    # Expired items are not even judged again.
    assert result.stats.items_ingested == 0
    assert states(tmp_path)[title(1)] == "filtered"


async def test_longer_max_age_restores_item(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1, hours=30)))
    web.put(TWO, feed())
    assert await run(tmp_path, web, pipeline__max_age_hours="24") == []
    assert await run(tmp_path, web, pipeline__max_age_hours="48") == [title(1)]


async def test_story_drafted_elsewhere_stays_drafted_once(tmp_path):
    web = Web()
    link = "https://stories.example/same"
    web.put(ONE, feed(entry(1, link=link, more="<category>sports</category>")))
    web.put(TWO, feed(entry(1, link=link)))
    assert len(await run(tmp_path, web, pipeline__exclude="sports")) == 1
    assert len(await run(tmp_path, web)) == 1
    assert sorted(str(row[0]) for row in rows(tmp_path, "SELECT state FROM item")) == ["drafted", "duplicate"]


async def test_unchanged_filters_judge_nothing(tmp_path):
    web = two_feeds()
    await run(tmp_path, web, pipeline__exclude=word_of(1))
    async with open_at(tmp_path, web, pipeline__exclude=word_of(1), pipeline__max_drafts="3") as desk:
        result = await desk.pipeline.run()

    assert (result.stats.items_waiting, result.stats.items_ingested) == (0, 0)
    assert reasons(tmp_path) == {title(1): f"has the excluded {word_of(1)}"}
    assert rows(tmp_path, "SELECT count(*) FROM item WHERE seen > ?", int(NOW.timestamp() * 1e6)) == [(0,)]
