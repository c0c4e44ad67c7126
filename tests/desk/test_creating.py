"""Drafts that are made on request, of a text as the user gave it."""

import pytest

from copydesk.errors import InvalidError
from copydesk.model.draft import Format, Status
from copydesk.model.wire import to_wire
from desk_fixtures import NOW, ONE, Web, add, entry, feed, open_at, rows

TEXT = "The harbour opens on Monday.\n\nBring a coat."
PICTURE = {"url": "https://pictures.example/a.png", "source": "UPLOAD"}
LONG = {"url": "https://pictures.example/b.png", "source": "AI_PROVIDER_A", "alt": "A crane", "position": 7}


@pytest.fixture
async def desk(tmp_path):
    async with open_at(tmp_path, Web()) as desk:
        yield desk


async def test_a_text_becomes_a_draft_that_waits_for_a_look(desk, tmp_path):
    made = await desk.drafts.create({"text": f"  {TEXT}\n", "tags": ["sea", "sea", "news"], "targetPlatforms": ["x"]})
    (new,) = made.drafts
    found = await desk.drafts.get(new.id)

    assert (made.mode, made.item_id) == ("direct", found.item_id)
    assert (found.text, found.format, found.status) == (TEXT, Format.SHORT, Status.AWAITING_REVIEW)
    assert (found.writer, found.version, found.tags) == ("user", 1, ("news", "sea"))
    assert found.target_platforms == ("x",)
    assert found.created_at == found.updated_at == NOW
    assert rows(tmp_path, "SELECT origin FROM draft") == [("direct",)]
    assert rows(tmp_path, "SELECT version, who, kind, action FROM draft_event") == [(1, "user", "fixed", "create")]


async def test_the_answer_has_the_shape_of_the_interface(desk):
    answer = to_wire(await desk.drafts.create({"text": TEXT, "format": "BLOG", "images": [LONG, PICTURE]}))

    assert list(answer) == ["mode", "itemId", "drafts"]
    (draft,) = answer["drafts"]
    assert list(draft) == ["id", "text", "format", "status", "confidence", "images", "createdAt"]
    assert [list(image) for image in draft["images"]] == [["id", "url", "alt", "position", "source"]] * 2
    assert [image["position"] for image in draft["images"]] == [1, 7]
    assert (draft["format"], draft["status"]) == ("BLOG", "awaiting_review")


async def test_its_pictures_are_kept_in_their_order(desk):
    made = await desk.drafts.create({"text": TEXT, "images": [LONG, PICTURE]})
    found = await desk.drafts.get(made.drafts[0].id)

    assert found.images == made.drafts[0].images
    assert [(image.url, image.alt) for image in found.images] == [(PICTURE["url"], None), (LONG["url"], "A crane")]


async def test_its_item_is_the_users_own_and_named_by_the_first_line(desk):
    made = await desk.drafts.create({"text": TEXT})
    found = await desk.drafts.get(made.drafts[0].id)
    item = await desk.drafts.item(made.item_id)

    assert to_wire(found.item) == {"id": made.item_id, "title": "The harbour opens on Monday.", "sourceType": "manual"}
    assert (item.entry.title, item.source_type, item.source_name) == ("The harbour opens on Monday.", None, "you")
    assert [draft.id for draft in (await desk.drafts.list()).items] == [found.id]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("x" * 500, "x" * 120 + "…"),
        ("word " * 100, ("word " * 24).strip() + "…"),
        ("\n \nSecond line", "Second line"),
        ("[red]é\x1b[31m", "[red]é\x1b[31m"),
    ],
)
async def test_a_title_is_the_first_line_that_says_something_cut_at_a_word(desk, text, title):
    made = await desk.drafts.create({"text": text})

    assert (await desk.drafts.item(made.item_id)).entry.title == title


async def test_its_checks_run_by_the_users_voice_and_against_what_was_written_lately(desk):
    await desk.voice.update({"avoid": ["synergy"]})
    first = await desk.drafts.create({"text": "Pure synergy for everybody in the whole harbour, from Monday on."})
    again = await desk.drafts.create({"text": "Pure synergy for everybody in the whole harbour, from Monday on!"})
    one, two = [await desk.drafts.get(made.drafts[0].id) for made in (first, again)]

    assert one.checks.ran > 0
    assert one.confidence == first.drafts[0].confidence < 0.7
    assert len(two.checks.findings) > len(one.checks.findings)


async def test_the_users_own_items_are_no_part_of_a_run(desk):
    web = desk.ground.transport
    web.put(ONE, feed(entry(1)))
    await add(desk)
    told = (await desk.drafts.create({"text": "Bafarn opens a berern ferry to Lolorn"})).item_id
    run = await desk.pipeline.run()

    assert run.stats.items_ranked == 1
    drafts = (await desk.drafts.list()).items
    assert {draft.item.source_type for draft in drafts} == {"rss", "manual"}
    assert len({draft.item_id for draft in drafts}) == 2
    assert told in {draft.item_id for draft in drafts}


BAD = {
    "text": [{}, {"text": ""}, {"text": " \n"}, {"text": "x" * 50_001}, {"text": "\ud800"}, {"text": 5}],
    "url": [{"text": TEXT, "url": "https://example.com"}, {"url": "ftp://example.com"}],
    "prompt": [{"text": TEXT, "prompt": "Say it"}, {"prompt": "x" * 5001}],
    "formats": [{"text": TEXT, "formats": ["SHORT"]}, {"prompt": "x", "formats": ["SHORT"] * 4}],
    "formats[1]": [{"prompt": "x", "formats": ["SHORT", "SHORT"]}],
    "tags": [{"text": TEXT, "tags": [str(number) for number in range(21)]}],
    "tags[0]": [{"text": TEXT, "tags": ["x" * 51]}, {"text": TEXT, "tags": [" "]}],
    "images": [{"text": TEXT, "images": [PICTURE] * 11}],
    "images[0].url": [{"text": TEXT, "images": [{"url": "javascript:alert(1)", "source": "OG"}]}],
    "images[1].source": [{"text": TEXT, "images": [PICTURE, {**PICTURE, "source": "CAMERA"}]}],
}


@pytest.mark.parametrize(("field", "asked"), [(field, asked) for field, every in BAD.items() for asked in every])
async def test_what_breaks_a_rule_is_refused_by_its_field_and_nothing_is_kept(desk, tmp_path, field, asked):
    with pytest.raises(InvalidError) as refused:
        await desk.drafts.create(asked)

    assert field in [error.field for error in refused.value.errors]
    for table in ("draft", "item", "draft_event", "tag", "draft_image"):
        assert rows(tmp_path, f"SELECT count(*) FROM {table}") == [(0,)]
