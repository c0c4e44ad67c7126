"""Tests for creating drafts from a given text."""

import pytest

from copydesk.errors import InvalidError
from copydesk.model.draft import Format, Status
from copydesk.model.serialization import to_json_value
from desk_fixtures import NOW, URL_ONE, FakeWeb, create_source, entry, feed, open_desk_at, query_db

TEXT = "The harbour opens on Monday.\n\nBring a coat."
IMAGE = {"url": "https://pictures.example/a.png", "source": "UPLOAD"}
GENERATED_IMAGE = {"url": "https://pictures.example/b.png", "source": "AI_PROVIDER_A", "alt": "A crane", "position": 7}


@pytest.fixture
async def desk(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        yield desk


async def test_text_becomes_draft_awaiting_review(desk, tmp_path):
    created = await desk.drafts.create(
        {"text": f"  {TEXT}\n", "tags": ["sea", "sea", "news"], "targetPlatforms": ["x"]}
    )
    (summary,) = created.drafts
    draft = await desk.drafts.get(summary.id)

    assert (created.mode, created.item_id) == ("direct", draft.item_id)
    assert (draft.text, draft.format, draft.status) == (f"  {TEXT}\n", Format.SHORT, Status.AWAITING_REVIEW)
    assert (draft.writer, draft.version, draft.tags) == ("user", 1, ("news", "sea"))
    assert draft.target_platforms == ("x",)
    assert draft.created_at == draft.updated_at == NOW
    assert query_db(tmp_path, "SELECT origin FROM draft") == [("direct",)]
    assert query_db(tmp_path, "SELECT version, who, kind, action FROM draft_event") == [(1, "user", "fixed", "create")]


async def test_response_as_json(desk):
    answer = to_json_value(
        await desk.drafts.create({"text": TEXT, "format": "BLOG", "images": [GENERATED_IMAGE, IMAGE]})
    )

    assert list(answer) == ["mode", "itemId", "drafts"]
    (draft,) = answer["drafts"]
    assert list(draft) == ["id", "text", "format", "status", "confidence", "images", "createdAt", "confidenceKnown"]
    assert [list(image) for image in draft["images"]] == [["id", "url", "alt", "position", "source"]] * 2
    assert [image["position"] for image in draft["images"]] == [1, 7]
    assert (draft["format"], draft["status"]) == ("BLOG", "awaiting_review")


async def test_images_keep_their_order(desk):
    created = await desk.drafts.create({"text": TEXT, "images": [GENERATED_IMAGE, IMAGE]})
    draft = await desk.drafts.get(created.drafts[0].id)

    assert draft.images == created.drafts[0].images
    assert [(image.url, image.alt) for image in draft.images] == [
        (IMAGE["url"], None),
        (GENERATED_IMAGE["url"], "A crane"),
    ]


async def test_item_belongs_to_user_titled_by_first_line(desk):
    created = await desk.drafts.create({"text": TEXT})
    created_draft = await desk.drafts.get(created.drafts[0].id)
    item = await desk.drafts.item(created.item_id)

    assert to_json_value(created_draft.item) == {
        "id": created.item_id,
        "title": "The harbour opens on Monday.",
        "sourceType": "manual",
        "published": "2026-02-10T12:00:00.000Z",
    }
    assert (item.entry.title, item.source_type, item.source_name) == ("The harbour opens on Monday.", None, "you")
    assert [draft.id for draft in (await desk.drafts.list()).items] == [created_draft.id]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("x" * 500, "x" * 120 + "…"),
        ("word " * 100, ("word " * 24).strip() + "…"),
        ("\n \nSecond line", "Second line"),
        ("[red]é\x1b[31m", "[red]é\x1b[31m"),
    ],
)
async def test_title_is_first_line_cut_at_word(desk, text, title):
    created = await desk.drafts.create({"text": text})

    assert (await desk.drafts.item(created.item_id)).entry.title == title


async def test_checks_use_voice_and_recent_drafts(desk):
    await desk.voice.update({"avoid": ["synergy"]})
    first = await desk.drafts.create({"text": "Pure synergy for everybody in the whole harbour, from Monday on."})
    second = await desk.drafts.create({"text": "Pure synergy for everybody in the whole harbour, from Monday on!"})
    first_draft, second_draft = [await desk.drafts.get(created.drafts[0].id) for created in (first, second)]

    assert first_draft.checks.ran > 0
    assert first_draft.confidence == first.drafts[0].confidence
    assert len(second_draft.checks.findings) > len(first_draft.checks.findings)


async def test_run_ignores_items_of_the_user(desk):
    web = desk._context.transport
    web.put(URL_ONE, feed(entry(1)))
    await create_source(desk)
    item_id = (await desk.drafts.create({"text": "Bafarn opens a berern ferry to Lolorn"})).item_id
    run = await desk.pipeline.run()

    assert run.stats.items_ranked == 1
    drafts = (await desk.drafts.list()).items
    assert {draft.item.source_type for draft in drafts} == {"rss", "manual"}
    assert len({draft.item_id for draft in drafts}) == 2
    assert item_id in {draft.item_id for draft in drafts}


INVALID_REQUESTS = {
    "text": [{}, {"text": ""}, {"text": "x" * 50_001}, {"text": "\ud800"}, {"text": 5}],
    "url": [{"text": TEXT, "url": "https://example.com"}, {"url": "ftp://example.com"}],
    "prompt": [{"text": TEXT, "prompt": "Say it"}, {"prompt": "x" * 5001}],
    "formats": [{"text": TEXT, "formats": ["SHORT"]}, {"prompt": "x", "formats": ["SHORT"] * 4}],
    "formats[1]": [{"prompt": "x", "formats": ["SHORT", "SHORT"]}],
    "tags": [{"text": TEXT, "tags": [str(number) for number in range(21)]}],
    "tags[0]": [{"text": TEXT, "tags": ["x" * 51]}, {"text": TEXT, "tags": [" "]}],
    "images": [{"text": TEXT, "images": [IMAGE] * 11}],
    "images[0].url": [{"text": TEXT, "images": [{"url": "javascript:alert(1)", "source": "OG"}]}],
    "images[1].source": [{"text": TEXT, "images": [IMAGE, {**IMAGE, "source": "CAMERA"}]}],
}


@pytest.mark.parametrize(
    ("field", "payload"), [(field, payload) for field, payloads in INVALID_REQUESTS.items() for payload in payloads]
)
async def test_invalid_request_names_field_and_stores_nothing(desk, tmp_path, field, payload):
    with pytest.raises(InvalidError) as refused:
        await desk.drafts.create(payload)

    assert field in [error.field for error in refused.value.errors]
    for table in ("draft", "item", "draft_event", "tag", "draft_image"):
        assert query_db(tmp_path, f"SELECT count(*) FROM {table}") == [(0,)]
