"""Tests for regeneration: versions of a draft and the differences between them."""

import msgspec
import pytest

from copydesk.drafting.fake_writer import FakeWriter
from copydesk.errors import ConflictError, InvalidError, NotFoundError
from copydesk.model.draft import Action, Format, Status
from copydesk.model.requests import ChangeDraft
from copydesk.model.serialization import to_json
from copydesk.model.transitions import NextUndo
from desk_fixtures import NOW, URL_ONE, FakeWeb, create_source, entry, feed, list_drafts, open_desk_at, query_db
from draft_consistency import insert_drafts

WRITER = "copydesk.drafting.writer.get_writer"


@pytest.fixture
def writer(monkeypatch):
    writer = FakeWriter()
    monkeypatch.setattr(WRITER, lambda: writer)
    return writer


async def run_for_draft(desk, **config):
    """Run the pipeline and return the only draft."""
    await create_source(desk, **config)
    await desk.pipeline.run()
    (draft,) = await list_drafts(desk)
    return draft


def web_with_feed(**fields):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1, **fields)))
    return web


async def regenerate(desk, draft_id, feedback=None):
    """Regenerate the draft and return the new version."""
    await desk.drafts.regenerate(draft_id, feedback)
    assert len(await desk.generation.drain()) == 1
    return (await list_drafts(desk))[-1]


async def test_new_version_replaces_old(tmp_path, writer):
    writer.answers = ["Old words.", "New words."]
    async with open_desk_at(tmp_path, web_with_feed()) as desk:
        old = await run_for_draft(desk, tags=["kept"])
        new = await regenerate(desk, old.id, "Funnier.")
        old = await desk.drafts.get(old.id)

    assert (old.status, old.archived_at, old.text, old.feedback) == (
        Status.CHANGES_REQUESTED,
        NOW,
        "Old words.",
        "Funnier.",
    )
    assert (new.status, new.text, new.feedback) == (Status.AWAITING_REVIEW, "New words.", None)
    assert (new.regenerated_from_id, new.item_id, new.tags, new.score) == (old.id, old.item_id, ("kept",), old.score)
    assert (writer.briefs[1].feedback, writer.briefs[1].previous) == ("Funnier.", "Old words.")
    assert new.writer == "fake"


async def test_regeneration_events_are_by_the_system(tmp_path, writer):
    async with open_desk_at(tmp_path, web_with_feed()) as desk:
        old = await run_for_draft(desk)
        new = await regenerate(desk, old.id)

        draft_events = [(event.who, event.action) for event in await desk.drafts.history(old.id)]
        assert draft_events == [("pipeline", "create"), ("user", "regenerate"), ("system", "new_version_written")]
        assert [(event.who, event.action) for event in await desk.drafts.history(new.id)] == [("system", "create")]
        with pytest.raises(ConflictError):
            await desk.drafts.undo(old.id)


async def test_failed_regeneration_keeps_old_text(tmp_path, writer):
    writer.answers = ["Old words."]
    async with open_desk_at(tmp_path, web_with_feed()) as desk:
        old = await run_for_draft(desk)
        waiting = await desk.drafts.regenerate(old.id)
        assert (waiting.status, waiting.text) == (Status.PENDING_REGENERATION, "Old words.")

        writer.fail("No words left.")
        assert await desk.generation.drain() == [False]
        (failed,) = await list_drafts(desk)

    assert (failed.status, failed.text, failed.archived_at) == (Status.GENERATION_FAILED, "Old words.", None)
    assert failed.last_error == "No words left. Regenerate it to try again."


async def fail_regeneration(desk, writer, draft_id, feedback=None):
    """Regenerate the draft with a writer that fails, and return it."""
    await desk.drafts.regenerate(draft_id, feedback)
    writer.fail("Offline.")
    await desk.generation.drain()
    return await desk.drafts.get(draft_id)


@pytest.mark.parametrize("single", [True, False], ids=["draft", "last change"])
async def test_failed_regeneration_is_undone(tmp_path, writer, single):
    async with open_desk_at(tmp_path, web_with_feed()) as desk:
        draft_id = (await run_for_draft(desk)).id
        await desk.drafts.reject(draft_id, "Dull.")
        before = await desk.drafts.get(draft_id)
        failed = await fail_regeneration(desk, writer, draft_id, "Funnier.")
        assert (failed.status, failed.rejection_feedback) == (Status.GENERATION_FAILED, None)

        undone = await desk.drafts.undo(draft_id if single else None)
        assert undone.action == "regenerate"
        restored = await desk.drafts.get(draft_id)
        assert msgspec.structs.replace(restored, version=before.version, updated_at=before.updated_at) == before

        await desk.drafts.redo(draft_id if single else None)
        again = await desk.drafts.get(draft_id)
        assert msgspec.structs.replace(again, version=failed.version, updated_at=failed.updated_at) == failed
        assert len(await desk.generation.drain()) == 0

        for _ in range(2):
            await desk.drafts.undo(draft_id)
        assert (await desk.drafts.get(draft_id)).status is Status.PENDING_REVIEW


async def test_next_undo_is_that_of_failed_regeneration_until_another_change(tmp_path, writer):
    async with open_desk_at(tmp_path, web_with_feed()) as desk:
        draft_id = (await run_for_draft(desk)).id
        assert await desk.drafts.next_undo() == NextUndo()
        await fail_regeneration(desk, writer, draft_id)
        failed = NextUndo("regenerate", frozenset({draft_id}))
        assert await desk.drafts.next_undo() == failed
        other = (await desk.drafts.create({"text": "Words of my own."})).drafts[0].id
        await desk.drafts.approve(other)
        assert await desk.drafts.next_undo() == NextUndo("approve", frozenset({other}))
        await desk.drafts.undo()
        assert await desk.drafts.next_undo() == failed


async def test_each_failed_regeneration_is_undone(tmp_path, writer):
    async with open_desk_at(tmp_path, web_with_feed()) as desk:
        draft_id = (await run_for_draft(desk)).id
        first = await fail_regeneration(desk, writer, draft_id)
        await fail_regeneration(desk, writer, draft_id)

        await desk.drafts.undo(draft_id)
        restored = await desk.drafts.get(draft_id)
        assert (restored.status, restored.last_error) == (Status.GENERATION_FAILED, first.last_error)
        await desk.drafts.archive(draft_id)
        await desk.drafts.undo(draft_id)
        assert (await desk.drafts.get(draft_id)).last_error == first.last_error
        await desk.drafts.undo(draft_id)
        restored = await desk.drafts.get(draft_id)
        assert (restored.status, restored.last_error) == (Status.PENDING_REVIEW, None)


async def test_redo_reverts_exactly_what_the_undo_of_a_regeneration_did(tmp_path, writer):
    async with open_desk_at(tmp_path) as desk:
        (draft_id,) = await insert_drafts(desk, ["generation_failed"])
        await desk.drafts.regenerate(draft_id, "Funnier.")
        await desk.drafts.undo(draft_id)
        await desk.drafts.redo(draft_id)

        undo, redo = (await desk.drafts.history(draft_id))[-2:]
        assert (redo.before, redo.after) == (undo.after, undo.before)


async def test_new_version_keeps_images_and_platforms(tmp_path, writer):
    image_fields = {"url": "https://pictures.example/1.png", "source": "UPLOAD", "alt": "A drill", "position": 3}
    async with open_desk_at(tmp_path) as desk:
        created = await desk.drafts.create(
            {"text": "Words.", "format": "THREAD", "images": [image_fields], "targetPlatforms": ["bluesky"]}
        )
        new = await regenerate(desk, created.drafts[0].id)
        old, _ = await list_drafts(desk)

    assert (new.format, new.target_platforms) == (Format.THREAD, ("bluesky",))
    (image,) = new.images
    assert (image.url, image.alt, image.position) == (image_fields["url"], "A drill", 3)
    assert image.id != old.images[0].id


async def test_new_version_keeps_experiment_variant(tmp_path, writer):
    variants = [{"id": name, "label": name, "config": {"hook": name}} for name in ("question", "figure")]
    async with open_desk_at(tmp_path, web_with_feed()) as desk:
        await desk.experiments.create({"name": "Hooks", "parameter": "hook", "variants": variants})
        old = await run_for_draft(desk)
        await regenerate(desk, old.id)

    first, second = query_db(
        tmp_path, "SELECT experiment_id, variant_id FROM draft LEFT JOIN draft_variant ON draft_id = id ORDER BY id"
    )
    assert first == second != (None, None)
    assert writer.briefs[0].parameters == writer.briefs[1].parameters == {"hook": first[1]}


async def test_requested_draft_joins_experiment(tmp_path, writer):
    variants = [{"id": name, "label": name, "config": {"hashtags": count}} for count, name in enumerate("ab")]
    async with open_desk_at(tmp_path) as desk:
        await desk.experiments.create({"name": "Tags", "parameter": "hashtags", "variants": variants})
        for _ in range(2):
            await desk.drafts.create({"prompt": "Words."})
        await desk.generation.drain()

    assert {brief.settings.hashtags for brief in writer.briefs} == {0, 1}
    assert {
        variant
        for (variant,) in query_db(tmp_path, "SELECT variant_id FROM draft LEFT JOIN draft_variant ON draft_id = id")
    } == {"a", "b"}


async def test_versions_are_found_from_any_of_them(tmp_path, writer):
    writer.answers = ["One.", "Two.", "Three."]
    async with open_desk_at(tmp_path, web_with_feed()) as desk:
        first = await run_for_draft(desk)
        second = await regenerate(desk, first.id)
        third = await regenerate(desk, second.id)
        other = (await desk.drafts.create({"text": "Another."})).drafts[0]

        for version in (first, second, third):
            assert [draft.text for draft in await desk.drafts.list_versions(version.id)] == ["One.", "Two.", "Three."]
        assert [draft.id for draft in await desk.drafts.list_versions(other.id)] == [other.id]
        with pytest.raises(NotFoundError):
            await desk.drafts.list_versions("nothing")
    assert writer.briefs[2].previous_versions == ("Two.", "One.")


async def test_offline_writer_runs_out_of_versions(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        await desk.drafts.create({"prompt": "The bakery opens at eight from Monday on, which is an hour earlier."})
        await desk.generation.drain()
        (draft,) = await list_drafts(desk)
        texts = [draft.text]
        while draft.status is not Status.GENERATION_FAILED and len(texts) < 20:
            await desk.drafts.regenerate(draft.id)
            await desk.generation.drain()
            draft = (await list_drafts(desk))[-1]
            if draft.status is not Status.GENERATION_FAILED:
                texts.append(draft.text)

    assert len(set(texts)) == len(texts) < 20
    assert "cannot make another version" in (draft.last_error or "")
    assert draft.text == texts[-1]


async def test_regenerating_own_text(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        text = "We open at eight\n\nThe bakery opens an hour earlier from Monday on. Sundays stay as they are for now."
        draft_id = (await desk.drafts.create({"text": text})).drafts[0].id
        new = await regenerate(desk, draft_id)

    assert new.status is Status.AWAITING_REVIEW
    assert new.text == "We open at eight\n\nThe bakery opens an hour earlier from Monday on."


async def test_feedback_not_understood_leaves_draft_as_it_was(tmp_path):
    async with open_desk_at(tmp_path, web_with_feed()) as desk:
        draft = await run_for_draft(desk)
        with pytest.raises(InvalidError, match=r"does not understand “Funnier”\. It can do: shorter, longer, another"):
            await desk.drafts.regenerate(draft.id, "Funnier.")
        with pytest.raises(InvalidError, match="does not understand “Funnier”"):
            await desk.drafts.bulk_all(Action.REGENERATE, [draft.id], ChangeDraft(feedback="Funnier."))
        assert await desk.drafts.get(draft.id) == draft
        assert len(await desk.generation.drain()) == 0


async def test_earlier_feedback_not_understood_is_refused_too(tmp_path):
    async with open_desk_at(tmp_path, web_with_feed()) as desk:
        draft = await run_for_draft(desk)
        await desk.drafts.reject(draft.id, "Funnier.")
        with pytest.raises(InvalidError, match="does not understand “Funnier”"):
            await desk.drafts.regenerate(draft.id)
        assert (await desk.drafts.get(draft.id)).status is Status.REJECTED


async def test_difference_between_versions(tmp_path, writer):
    writer.answers = ["A fine library!!! It opened.", "A fine library. It opened on Tuesday."]
    async with open_desk_at(tmp_path, web_with_feed()) as desk:
        old = await run_for_draft(desk)
        new = await regenerate(desk, old.id)
        forward = await desk.drafts.compare(old.id, new.id)
        backward = await desk.drafts.compare(new.id, old.id)
        with pytest.raises(NotFoundError):
            await desk.drafts.compare(old.id, "nothing")

    assert "".join(piece.text for piece in forward.pieces if piece.kind != "added") == old.text
    assert "".join(piece.text for piece in forward.pieces if piece.kind != "removed") == new.text
    assert (forward.better, forward.worse) == (backward.worse, backward.better)
    assert msgspec.json.decode(to_json(forward))["pieces"][0] == {"kind": "same", "text": "A fine library"}


async def test_foreign_drafts_are_not_found(tmp_path, writer):
    async with open_desk_at(tmp_path) as desk:
        draft_id = (await desk.drafts.create({"prompt": "Words."})).drafts[0].id
        foreign_id = "00000000-0000-7000-8000-000000000000"
        desk._context.user = msgspec.structs.replace(desk._context.user, id=foreign_id)

        assert len(await desk.generation.drain()) == 0
        with pytest.raises(NotFoundError):
            await desk.drafts.list_versions(draft_id)
        with pytest.raises(NotFoundError):
            await desk.drafts.regenerate(draft_id)
