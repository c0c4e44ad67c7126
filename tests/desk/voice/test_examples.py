"""Tests for examples from the user's own posts and edits, and for the preview of a change."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from copydesk.desk import Desk, open_desk
from copydesk.drafting.fake_writer import FakeWriter
from copydesk.errors import NotFoundError, WriterError
from copydesk.model.draft import Format
from copydesk.model.voice import MAX_EXAMPLES
from desk_fixtures import NOW, URL_ONE, FakeWeb, create_source, entry, feed, list_drafts, open_desk_at, settings_at
from draft_consistency import dump_tables

POST = "A post that I wrote before, number {}."


async def test_posts_become_examples_once(tmp_path: Path) -> None:
    content = "\n---\n".join(POST.format(number) for number in range(3))
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        first, second = await desk.voice.import_posts(content), await desk.voice.import_posts(content)
        assert (first.found, first.added, second.added) == (3, 3, 0)
        assert (await desk.voice.get()).examples == second.examples == tuple(content.split("\n---\n"))


async def test_import_stops_at_the_maximum(tmp_path: Path) -> None:
    content = "\n---\n".join(POST.format(number) for number in range(MAX_EXAMPLES + 5))
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        imported = await desk.voice.import_posts(content)
    assert (imported.found, imported.added) == (MAX_EXAMPLES + 5, MAX_EXAMPLES)


async def test_approved_edit_is_suggested_until_it_is_an_example(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put(URL_ONE, feed(*(entry(number, hours=number) for number in (1, 2))))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        edited, plain = await list_drafts(desk)
        await desk.drafts.edit(edited.id, "In my own words, after all.")
        assert await desk.voice.suggest_examples() == ()
        for draft in (edited, plain):
            await desk.drafts.change(draft.id, {"action": "approve"})
        (suggestion,) = await desk.voice.suggest_examples()
        assert (suggestion.draft_id, suggestion.text) == (edited.id, "In my own words, after all.")
        await desk.voice.update({"examples": [suggestion.text]})
        assert await desk.voice.suggest_examples() == ()


async def test_change_is_shown_on_three_items_and_not_saved(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put(URL_ONE, feed(*(entry(number, hours=number) for number in range(1, 6))))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        before = dump_tables(tmp_path)
        compared = await desk.voice.compare({"formats": {"SHORT": {"link": "never"}}}, Format.SHORT)
        assert dump_tables(tmp_path) == before
    assert len(compared) == 3
    for found in compared:
        assert found.before is not None
        assert found.after is not None
        assert "https://" in found.before
        assert "https://" not in found.after


async def test_comparison_needs_an_item(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        with pytest.raises(NotFoundError):
            await desk.voice.compare({"avoid": ["x"]}, Format.SHORT)


@asynccontextmanager
async def open_desk_with_item(home: Path, writer: FakeWriter) -> AsyncIterator[Desk]:
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk(settings_at(home), clock=lambda: NOW, transport=web, writer=writer) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        yield desk


async def test_change_is_shown_with_the_chosen_writer(tmp_path: Path) -> None:
    writer = FakeWriter()
    async with open_desk_with_item(tmp_path, writer) as desk:
        writer.answers = ["Before.", "After."]
        (found,) = await desk.voice.compare({"style": "Dry."}, Format.SHORT)
    assert (found.before, found.after, found.writer) == ("Before.", "After.", "fake")
    assert [brief.voice.style for brief in writer.briefs[-2:]] == ["", "Dry."]


async def test_change_is_shown_with_the_offline_writer_on_request(tmp_path: Path) -> None:
    writer = FakeWriter()
    async with open_desk_with_item(tmp_path, writer) as desk:
        asked = len(writer.briefs)
        (found,) = await desk.voice.compare({"style": "Dry."}, Format.SHORT, offline=True)
    assert (found.writer, len(writer.briefs)) == ("offline", asked)


async def test_writer_that_fails_is_no_declined_item(tmp_path: Path) -> None:
    writer = FakeWriter()
    async with open_desk_with_item(tmp_path, writer) as desk:
        writer.fail("The server does not answer.")
        with pytest.raises(WriterError, match="does not answer"):
            await desk.voice.compare({"style": "Dry."}, Format.SHORT)
