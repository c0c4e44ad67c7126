"""A voice is tried on a real item before it is kept."""

from pathlib import Path

import pytest

from copydesk.errors import InvalidError, NotFoundError
from copydesk.model.draft import Format
from desk_fixtures import ONE, Web, add, entry, feed, open_at, rows, word


async def test_what_would_be_written_is_shown_and_nothing_is_kept(tmp_path: Path) -> None:
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        await desk.pipeline.run()
        before = await desk.voice.read()
        with_link = await desk.voice.try_out({}, Format.SHORT)
        without = await desk.voice.try_out({"formats": {"SHORT": {"link": "never"}}}, Format.SHORT)
        assert (await desk.voice.read()).updated_at == before.updated_at
    assert word(4) in with_link.title
    assert "https://stories.example/1" in with_link.text
    assert "https://stories.example/1" not in without.text
    assert with_link.writer == "offline"
    assert with_link.checks.ran > 0
    assert rows(tmp_path, "SELECT count(*) FROM draft") == [(1,)]


async def test_an_item_with_tags_is_taken_where_there_is_one_for_hashtags_are_to_be_seen(tmp_path: Path) -> None:
    web = Web()
    tagged = entry(2, hours=9, more="<category>harbours</category><category>ferries</category>")
    web.put(ONE, feed(entry(1), tagged, entry(3, hours=11)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        await desk.pipeline.run()
        tried = [await desk.voice.try_out({"formats": {"SHORT": {"hashtags": most}}}, Format.SHORT) for most in (0, 2)]
    assert word(8) in tried[0].title
    assert tried[0].tags == ("harbours", "ferries")
    assert ["#" in each.text for each in tried] == [False, True]


async def test_what_is_kept_holds_where_nothing_else_is_given(tmp_path: Path) -> None:
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        await desk.pipeline.run()
        await desk.voice.update({"formats": {"SHORT": {"link": "never"}}})
        assert "https://" not in (await desk.voice.try_out({}, Format.SHORT)).text


async def test_a_voice_that_breaks_a_rule_is_not_tried(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        with pytest.raises(InvalidError, match="hashtags"):
            await desk.voice.try_out({"formats": {"SHORT": {"hashtags": 99}}}, Format.SHORT)


async def test_without_an_item_there_is_nothing_to_try_it_on(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        with pytest.raises(NotFoundError, match="no item to try it on"):
            await desk.voice.try_out({}, Format.SHORT)
