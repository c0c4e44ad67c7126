"""Two see the same draft; the one who is slower is told so, whatever both wanted."""

import pytest

from copydesk.errors import ConflictError
from copydesk.model.change import BulkChange
from copydesk.model.draft import Action, Status
from desk_fixtures import open_at
from proof_desk import assert_agrees, drafts_in, furnish


async def between(desk, monkeypatch, method, meanwhile):
    """Let `meanwhile` happen after `desk` has read and before it writes."""
    write = getattr(desk.ground, method)

    async def late(*args):
        monkeypatch.setattr(desk.ground, method, write)
        await meanwhile()
        return await write(*args)

    monkeypatch.setattr(desk.ground, method, late)


async def test_the_slower_of_two_changes_is_a_conflict_with_the_state_as_it_is_now(tmp_path, monkeypatch):
    async with open_at(tmp_path) as slow, open_at(tmp_path) as fast:
        (draft_id,) = await furnish(slow, ["pending_review"])
        before = drafts_in(tmp_path)
        await between(slow, monkeypatch, "write", lambda: fast.drafts.approve(draft_id))
        with pytest.raises(ConflictError) as refused:
            await slow.drafts.reject(draft_id)
    assert refused.value.current_status == Status.APPROVED
    assert set(refused.value.allowed_actions) == {"reject", "schedule", "archive", "unapprove", "post"}
    assert drafts_in(tmp_path)[draft_id]["status"] == "approved"
    assert_agrees(tmp_path, before)


async def test_an_edit_that_leaves_the_state_overtakes_too(tmp_path, monkeypatch):
    async with open_at(tmp_path) as slow, open_at(tmp_path) as fast:
        (draft_id,) = await furnish(slow, ["pending_review"])
        before = drafts_in(tmp_path)
        await between(slow, monkeypatch, "write", lambda: fast.drafts.edit(draft_id, "The faster one's words."))
        with pytest.raises(ConflictError, match="changed meanwhile"):
            await slow.drafts.edit(draft_id, "The slower one's words.")
    assert drafts_in(tmp_path)[draft_id]["text"] == "The faster one's words."
    assert_agrees(tmp_path, before)


async def test_in_a_bulk_only_the_overtaken_drafts_fail(tmp_path, monkeypatch):
    async with open_at(tmp_path) as slow, open_at(tmp_path) as fast:
        ids = await furnish(slow, ["pending_review"] * 60)
        before = drafts_in(tmp_path)
        taken = tuple(ids[10:50:7])
        meanwhile = BulkChange(action=Action.ARCHIVE, ids=taken)
        await between(slow, monkeypatch, "write_each", lambda: fast.drafts.bulk(meanwhile))
        outcome = await slow.drafts.bulk(BulkChange(action=Action.APPROVE, ids=tuple(ids)))
    assert tuple(failure.id for failure in outcome.results.failed) == taken
    assert all("archived now" in failure.error for failure in outcome.results.failed)
    assert {each["status"] for each in drafts_in(tmp_path).values()} == {"approved", "pending_review"}
    assert_agrees(tmp_path, before)
