"""Tests for judging filtered items again when the filters change."""

from pathlib import Path

from desk_fixtures import (
    NOW,
    URL_ONE,
    URL_TWO,
    FakeWeb,
    Watch,
    create_source,
    draft_titles,
    entry,
    feed,
    filter_reasons,
    item_states,
    open_desk_at,
    query_db,
    story_title,
)


def two_feeds() -> FakeWeb:
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2)))
    web.put(URL_TWO, feed(entry(3)))
    return web


def rare_word(number: int) -> str:
    """Return a word that only this story's title contains."""
    return story_title(number).split()[0]


async def run_once(home: Path, web: FakeWeb, clock: Watch | None = None, **options: str) -> list[str]:
    """Run once with these settings and return the titles of all drafts, sorted."""
    async with open_desk_at(home, web, clock, **options) as desk:
        if not await desk.sources.list():
            await create_source(desk)
            await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        return sorted(await draft_titles(desk))


async def test_removed_exclude_setting_restores_item(tmp_path):
    web = two_feeds()
    assert await run_once(tmp_path, web, pipeline__exclude=rare_word(1)) == sorted([story_title(2), story_title(3)])
    assert filter_reasons(tmp_path) == {story_title(1): f"has the excluded {rare_word(1)}"}

    assert await run_once(tmp_path, web) == sorted([story_title(1), story_title(2), story_title(3)])
    assert filter_reasons(tmp_path) == {}


async def test_changed_language_setting_restores_item(tmp_path):
    web = FakeWeb()
    german = "Die Fähre fährt nun jeden Tag über den Fluss, und viele Leute sind darüber sehr froh, sagte der Kapitän."
    web.put(URL_ONE, feed(entry(1, title="Die neue Fähre fährt über den Fluss", text=german)))
    web.put(URL_TWO, feed())
    assert await run_once(tmp_path, web, pipeline__language="en") == []
    assert await run_once(tmp_path, web, pipeline__language="de") == ["Die neue Fähre fährt über den Fluss"]


async def test_changed_source_filter_affects_only_that_source(tmp_path):
    web = two_feeds()
    async with open_desk_at(tmp_path, web) as desk:
        first = await create_source(desk, URL_ONE, include=["nothing"])
        await create_source(desk, URL_TWO, include=["nothing"])
        await desk.pipeline.run()
        assert await draft_titles(desk) == []
        await desk.sources.update(first.id, {"config": {"include": [rare_word(2)]}})
        await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(2)]

    assert item_states(tmp_path) == {story_title(1): "filtered", story_title(2): "drafted", story_title(3): "filtered"}
    assert filter_reasons(tmp_path) == {
        story_title(1): f"has none of {rare_word(2)}",
        story_title(3): "has none of nothing",
    }


async def test_removed_interest_restores_item(tmp_path):
    web = two_feeds()
    assert await run_once(tmp_path, web, ranking__interests=f"-{rare_word(3)}") == sorted(
        [story_title(1), story_title(2)]
    )
    assert await run_once(tmp_path, web) == sorted([story_title(1), story_title(2), story_title(3)])


async def test_expired_item_stays_filtered(tmp_path):
    web, clock = two_feeds(), Watch()
    await run_once(tmp_path, web, clock, pipeline__exclude=rare_word(1))
    clock.advance(72 * 3600)
    async with open_desk_at(tmp_path, web, clock) as desk:
        result = await desk.pipeline.run()

    # Expired items are not even judged again.
    assert result.stats.items_considered == 0
    assert item_states(tmp_path)[story_title(1)] == "filtered"


async def test_longer_max_age_restores_item(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1, hours=30)))
    web.put(URL_TWO, feed())
    assert await run_once(tmp_path, web, pipeline__max_age_hours="24") == []
    assert await run_once(tmp_path, web, pipeline__max_age_hours="48") == [story_title(1)]


async def test_story_drafted_elsewhere_stays_drafted_once(tmp_path):
    web = FakeWeb()
    link = "https://stories.example/same"
    web.put(URL_ONE, feed(entry(1, link=link, extra_xml="<category>sports</category>")))
    web.put(URL_TWO, feed(entry(1, link=link)))
    assert len(await run_once(tmp_path, web, pipeline__exclude="sports")) == 1
    assert len(await run_once(tmp_path, web)) == 1
    assert sorted(str(row[0]) for row in query_db(tmp_path, "SELECT state FROM item")) == ["drafted", "duplicate"]


async def test_unchanged_filters_judge_nothing(tmp_path):
    web = two_feeds()
    await run_once(tmp_path, web, pipeline__exclude=rare_word(1))
    async with open_desk_at(tmp_path, web, pipeline__exclude=rare_word(1), pipeline__max_drafts="3") as desk:
        result = await desk.pipeline.run()

    assert (result.stats.items_waiting, result.stats.items_considered) == (0, 0)
    assert filter_reasons(tmp_path) == {story_title(1): f"has the excluded {rare_word(1)}"}
    assert query_db(tmp_path, "SELECT count(*) FROM item WHERE seen > ?", int(NOW.timestamp() * 1e6)) == [(0,)]
