"""Tests for choosing a writer, building its brief, and the fake writer."""

import json
import subprocess
import sys

import pytest

from copydesk.drafting.fake_writer import FakeWriter
from copydesk.drafting.writer import WRITERS, Field, SourceItem, Writer, build_brief, get_writer
from copydesk.errors import SettingsError, WriterError
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.draft import Format
from copydesk.model.item import Entry, Item, ItemState
from copydesk.model.voice import Voice
from copydesk.posting.registry import PLATFORMS
from drafting_fixtures import NOW, assert_traced, make_brief


async def test_offline_writer_is_default() -> None:
    writer: Writer = get_writer()
    assert writer.name == "offline"
    assert_traced(await writer.write(make_brief()), make_brief())


@pytest.mark.parametrize("name", WRITERS)
def test_writers_can_be_chosen_by_name(name: str) -> None:
    assert get_writer(name).name == name


def test_unknown_writer_is_refused_with_existing_names() -> None:
    with pytest.raises(SettingsError, match=r"Unknown writer 'poet'.*offline"):
        get_writer("poet")


def test_brief_is_built_from_item() -> None:
    entry = Entry(
        ident="1",
        alias="1",
        title="T",
        url="https://a.example",
        summary="S",
        text="X",
        author="A",
        language="en",
        publisher="P",
        published=NOW,
        image="https://a.example/i.png",
        tags=("t",),
    )
    item = Item(
        id="i1",
        source_id="s1",
        source_name="Source",
        source_type="rss",
        story_id="y1",
        entry=entry,
        canonical="a.example",
        published=NOW,
        seen=NOW,
        state=ItemState.NEW,
    )
    voice = Voice(style="dry")
    built = build_brief(
        item,
        Format.THREAD,
        voice,
        source_type=SOURCE_TYPES["rss"],
        other_sources=("Other",),
        platforms=(PLATFORMS["x"],),
        feedback="f",
        previous="p",
    )
    assert (built.item_id, built.title, built.summary, built.text) == ("i1", "T", "S", "X")
    assert (built.source_name, built.source_type, built.publisher, built.author) == (
        "Source",
        SOURCE_TYPES["rss"],
        "P",
        "A",
    )
    assert (built.url, built.language, built.published) == ("https://a.example", "en", NOW)
    assert (built.image, built.tags) == ("https://a.example/i.png", ("t",))
    assert (built.format, built.voice.style, built.other_sources, built.platforms) == (
        Format.THREAD,
        "dry",
        ("Other",),
        (PLATFORMS["x"],),
    )
    assert (built.feedback, built.previous) == ("f", "p")


def test_brief_of_other_item_has_only_its_facts() -> None:
    item = SourceItem(id="i2", title="Other", url="https://b.example/2", source_name="B", author="Bo", tags=("b",))
    brief = make_brief(Format.BLOG, other_items=(item,), other_sources=("B",), image="https://a.example/i.png")
    other = brief.for_item(item)
    assert (other.item_id, other.title, other.url, other.source_name) == ("i2", "Other", "https://b.example/2", "B")
    assert (other.summary, other.text, other.author, other.tags) == ("", "", "Bo", ("b",))
    assert (other.image, other.other_items, other.other_sources) == (None, (), ())
    assert (other.format, other.voice) == (brief.format, brief.voice)


async def test_fake_writer_records_briefs_and_returns_results() -> None:
    writer = FakeWriter("First.", WriterError("No."))
    assert (await writer.write(make_brief())).text == "First."
    with pytest.raises(WriterError, match="No"):
        await writer.write(make_brief())
    assert (
        await writer.write(make_brief())
    ).text == "A library where you borrow drills\n\nhttps://rivernews.example/library"
    writer.fail("Out of ink.")
    with pytest.raises(WriterError, match="Out of ink"):
        await writer.write(make_brief(Format.BLOG))
    assert [received.format for received in writer.briefs] == [Format.SHORT] * 3 + [Format.BLOG]


async def test_trace_names_field_and_position() -> None:
    draft = await get_writer().write(make_brief())
    fields = [trace.field for trace in draft.sentences]
    assert {Field.TITLE, Field.TEMPLATE} <= set(fields)
    title = next(trace for trace in draft.sentences if trace.field is Field.TITLE)
    assert make_brief().title[title.start : title.end] == title.text


def test_writers_import_no_network_or_feed_parser() -> None:
    code = (
        "import sys, json, copydesk.drafting.offline_writer, copydesk.drafting.checks;"
        "print(json.dumps(list(sys.modules)))"
    )
    modules = set(json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout))
    assert not modules & {"httpx", "feedparser", "sqlalchemy", "textual", "numpy", "alembic"}
    assert not {name for name in modules if name.startswith(("copydesk.store", "copydesk.ingest", "copydesk.ranking"))}
