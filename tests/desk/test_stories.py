"""Tests for merging and splitting stories, and for later runs that keep it."""

import pytest

from copydesk.errors import ConflictError, NotFoundError
from desk_fixtures import (
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
    open_desk_at,
    query_db,
    story_title,
)

HEADLINE = "Harbour bridge collapses in Port Ellery after storm"


@pytest.fixture
def web():
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    web.put(URL_TWO, feed(entry(2)))
    web.put(URL_THREE, feed())
    return web


@pytest.fixture
def clock():
    return Watch()


@pytest.fixture
async def desk(tmp_path, web, clock):
    async with open_desk_at(tmp_path, web, clock) as desk:
        for url in (URL_ONE, URL_TWO, URL_THREE):
            await create_source(desk, url)
        yield desk


async def run_later(desk, clock, max_drafts=10):
    clock.advance(600)
    await desk.pipeline.run({"maxDrafts": max_drafts})


def item_ids(home):
    """Return the ids of all items, oldest first."""
    return [str(row[0]) for row in query_db(home, "SELECT id FROM item ORDER BY published, title")]


def count_stories(home):
    return query_db(home, "SELECT count(DISTINCT story_id) FROM item")[0][0]


async def test_merged_stories_are_drafted_once(tmp_path, desk, clock):
    await run_later(desk, clock, max_drafts=0)
    one, two = item_ids(tmp_path)
    change = await desk.stories.merge(one, two)
    assert len(change.moves) == count_stories(tmp_path) == 1
    assert [item.id for item in await desk.stories.get(one)] == [item.id for item in await desk.stories.get(two)]

    await run_later(desk, clock)
    assert len(await draft_titles(desk)) == 1


async def test_new_item_joins_a_merged_story(tmp_path, desk, web, clock):
    await run_later(desk, clock, max_drafts=0)
    await desk.stories.merge(*item_ids(tmp_path))
    web.put(URL_THREE, feed(entry(3, title=story_title(2), hours=0)))
    await run_later(desk, clock)

    assert count_stories(tmp_path) == 1
    assert len(await draft_titles(desk)) == 1


async def test_story_with_a_draft_stays(tmp_path, desk, web, clock):
    web.put(URL_TWO, feed())
    await run_later(desk, clock)
    (drafted,) = item_ids(tmp_path)
    web.put(URL_TWO, feed(entry(2, hours=0)))
    await run_later(desk, clock, max_drafts=0)
    other = next(item for item in item_ids(tmp_path) if item != drafted)
    await desk.stories.merge(other, drafted)
    await run_later(desk, clock)

    assert await draft_titles(desk) == [story_title(1)]
    assert item_states(tmp_path)[story_title(2)] == "duplicate"


async def test_merge_is_undone(tmp_path, desk, clock):
    await run_later(desk, clock, max_drafts=0)
    before = query_db(tmp_path, "SELECT id, story_id FROM item ORDER BY id")
    change = await desk.stories.merge(*item_ids(tmp_path))
    back = await desk.stories.undo(change)

    assert query_db(tmp_path, "SELECT id, story_id FROM item ORDER BY id") == before
    await desk.stories.undo(back)
    assert count_stories(tmp_path) == 1
    with pytest.raises(ConflictError, match="has changed since"):
        await desk.stories.undo(back)


async def test_split_item_is_drafted_and_stays_apart(tmp_path, desk, web, clock):
    web.put(URL_ONE, feed(entry(1, title=HEADLINE, text="The bridge fell at noon. " * 30)))
    web.put(URL_TWO, feed(entry(2, title=HEADLINE, text="Short.")))
    await run_later(desk, clock)
    ((duplicate,),) = query_db(tmp_path, "SELECT id FROM item WHERE state = 'duplicate'")
    await desk.stories.split([duplicate])
    assert count_stories(tmp_path) == 2
    for _ in range(2):
        await run_later(desk, clock)

    assert count_stories(tmp_path) == 2
    assert query_db(tmp_path, "SELECT state FROM item WHERE id = ?", duplicate) != [("duplicate",)]


async def test_split_draft_leaves_the_others_to_the_next_run(tmp_path, desk, web, clock):
    web.put(URL_ONE, feed(entry(1, title=HEADLINE, text="The bridge fell at noon. " * 30)))
    web.put(URL_TWO, feed(entry(2, title=HEADLINE, text="Short.")))
    await run_later(desk, clock)
    ((drafted,),) = query_db(tmp_path, "SELECT id FROM item WHERE state = 'drafted'")
    change = await desk.stories.split([drafted])

    assert query_db(tmp_path, "SELECT story_id FROM draft") == [(change.story_id,)]
    assert query_db(tmp_path, "SELECT state FROM item WHERE id <> ?", drafted) == [("new",)]
    await desk.stories.undo(change)
    assert query_db(tmp_path, "SELECT DISTINCT story_id FROM item") == query_db(tmp_path, "SELECT story_id FROM draft")


async def test_impossible_changes_are_refused(tmp_path, desk, web, clock):
    web.put(URL_TWO, feed(entry(2, title=story_title(1), text="Short.")))
    await run_later(desk, clock)
    drafted, other = query_db(tmp_path, "SELECT id FROM item ORDER BY state = 'duplicate'")

    with pytest.raises(ConflictError, match="already belong to one story"):
        await desk.stories.merge(drafted[0], other[0])
    await desk.stories.split([other[0]])
    with pytest.raises(ConflictError, match="no other items"):
        await desk.stories.split([other[0]])
    with pytest.raises(ConflictError, match="of one story"):
        await desk.stories.split([drafted[0], other[0]])
    with pytest.raises(NotFoundError):
        await desk.stories.get("none")
