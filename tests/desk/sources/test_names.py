"""Tests for who gave a source its name, and how drafts credit it."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.drafting.extract.attribution import get_source_name
from copydesk.drafting.writer import build_brief
from copydesk.model.draft import Format
from copydesk.model.source import Source
from copydesk.model.voice import Voice
from copydesk.store import items
from desk_fixtures import URL_ONE, FakeWeb, create_source, entry, execute_sql, feed, open_desk_at

TITLE, GIVEN = "The Quay – News", "The Quay: harbour notes"
OPML = f'<opml version="2.0"><body><outline text="{TITLE}" xmlUrl="{URL_ONE}"/></body></opml>'.encode()


def one_feed() -> FakeWeb:
    """Return the web with one feed."""
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), title=TITLE))
    return web


async def credited(desk: Desk) -> str:
    """Run the pipeline; return the name that drafts of the stored item credit."""
    await desk.pipeline.run()
    (item,) = await desk._context.read(items.list_newest, 10)
    return get_source_name(build_brief(item, Format.SHORT, Voice(), source_type=None))


@pytest.mark.parametrize("name", [GIVEN, TITLE])
async def test_name_of_the_user_is_credited_whole(tmp_path: Path, name: str) -> None:
    async with open_desk_at(tmp_path, one_feed()) as desk:
        source = await create_source(desk, URL_ONE, name=name)
        assert (source.named_by_user, await credited(desk)) == (True, name)


async def test_name_without_readable_characters_is_not_credited(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, one_feed()) as desk:
        await create_source(desk, URL_ONE, name="<br>")
        assert await credited(desk) == "stories.example"


@pytest.mark.parametrize("title", ["", TITLE])
async def test_title_of_the_feed_is_shortened(tmp_path: Path, title: str) -> None:
    async with open_desk_at(tmp_path, one_feed()) as desk:
        source = await desk.sources.create({"type": "rss", "url": URL_ONE}, test=not title, title=title)
        assert (source.name, source.named_by_user, await credited(desk)) == (TITLE, False, "The Quay")


@pytest.mark.parametrize("name", [GIVEN, TITLE])
async def test_renamed_source_is_credited_by_its_new_name(tmp_path: Path, name: str) -> None:
    async with open_desk_at(tmp_path, one_feed()) as desk:
        source = await desk.sources.create({"type": "rss", "url": URL_ONE})
        await desk.sources.update(source.id, {"enabled": False})
        assert not (await desk.sources.get(source.id)).named_by_user
        await desk.sources.update(source.id, {"enabled": True, "name": name})
        assert await credited(desk) == name


async def test_moved_source_keeps_the_name_of_the_user(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, one_feed()) as desk:
        source = await create_source(desk, "https://old.example/feed", name=GIVEN)
        await desk.sources.update(source.id, {"url": URL_ONE})
        assert await credited(desk) == GIVEN


async def import_in_background(desk: Desk, body: bytes) -> None:
    """Import the feeds as the console does."""
    await desk.sources.import_feeds(await desk.sources.read_opml(body), lambda _: None)


async def import_at_once(desk: Desk, body: bytes) -> None:
    """Import the feeds as the command line does."""
    await desk.sources.import_opml(body)


IMPORTS = pytest.mark.parametrize("import_opml", [import_in_background, import_at_once])


@IMPORTS
async def test_title_in_the_list_of_another_reader_is_shortened(
    tmp_path: Path, import_opml: Callable[[Desk, bytes], Awaitable[None]]
) -> None:
    async with open_desk_at(tmp_path, one_feed()) as desk:
        await import_opml(desk, OPML)
        assert await credited(desk) == "The Quay"


@IMPORTS
async def test_own_export_tells_names_of_the_user(
    tmp_path: Path, import_opml: Callable[[Desk, bytes], Awaitable[None]]
) -> None:
    async with open_desk_at(tmp_path / "here", FakeWeb()) as desk:
        await create_source(desk, URL_ONE, name=GIVEN)
        await desk.sources.create({"type": "rss", "url": "https://other.example/feed"}, test=False, title=TITLE)
        exported = await desk.sources.export_opml()
    web = one_feed()
    web.put("https://other.example/feed", feed(entry(2)))
    async with open_desk_at(tmp_path / "there", web) as desk:
        await import_opml(desk, exported.encode())

        def names(sources: tuple[Source, ...]) -> dict[str, bool]:
            return {source.name: source.named_by_user for source in sources}

        assert names(await desk.sources.list()) == {GIVEN: True, TITLE: False}


async def test_name_from_before_it_was_stored_counts_as_the_feeds(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, one_feed()) as desk:
        await create_source(desk, URL_ONE, name=TITLE)
    # As the upgrade leaves it.
    execute_sql(tmp_path, "UPDATE source SET named_by_user = (1 = 0)")
    async with open_desk_at(tmp_path, one_feed()) as desk:
        assert await credited(desk) == "The Quay"
