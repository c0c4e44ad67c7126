"""Tests for trying a voice on an item before saving it."""

from pathlib import Path

import pytest

from copydesk.errors import InvalidError, NotFoundError
from copydesk.model.draft import Format
from desk_fixtures import URL_ONE, FakeWeb, create_source, entry, feed, made_up_word, open_desk_at, query_db


async def test_preview_stores_nothing(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        before = await desk.voice.get()
        with_link = await desk.voice.preview({}, Format.SHORT)
        without = await desk.voice.preview({"formats": {"SHORT": {"link": "never"}}}, Format.SHORT)
        assert (await desk.voice.get()).updated_at == before.updated_at
    assert made_up_word(4) in with_link.title
    assert "https://stories.example/1" in with_link.text
    assert "https://stories.example/1" not in without.text
    assert with_link.writer == "offline"
    assert with_link.checks.ran > 0
    assert query_db(tmp_path, "SELECT count(*) FROM draft") == [(1,)]


async def test_item_with_tags_is_preferred(tmp_path: Path) -> None:
    # Only an item with tags can show what the hashtag settings do.
    web = FakeWeb()
    tagged = entry(2, hours=9, extra_xml="<category>harbours</category><category>ferries</category>")
    web.put(URL_ONE, feed(entry(1), tagged, entry(3, hours=11)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        previews = [
            await desk.voice.preview({"formats": {"SHORT": {"hashtags": count}}}, Format.SHORT) for count in (0, 2)
        ]
    assert made_up_word(8) in previews[0].title
    assert previews[0].tags == ("harbours", "ferries")
    assert ["#" in preview.text for preview in previews] == [False, True]


async def test_stored_voice_is_the_default(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        await desk.voice.update({"formats": {"SHORT": {"link": "never"}}})
        assert "https://" not in (await desk.voice.preview({}, Format.SHORT)).text


async def test_invalid_voice_is_refused(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        with pytest.raises(InvalidError, match="hashtags"):
            await desk.voice.preview({"formats": {"SHORT": {"hashtags": 99}}}, Format.SHORT)


async def test_preview_without_items(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        with pytest.raises(NotFoundError, match="No item to preview with"):
            await desk.voice.preview({}, Format.SHORT)
