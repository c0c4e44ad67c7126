"""Tests that the slower of two concurrent changes is refused as a conflict."""

import pytest

from copydesk.errors import ConflictError
from copydesk.model.draft import Action, Status
from copydesk.model.requests import BulkChange
from desk_fixtures import open_desk_at
from draft_consistency import assert_consistent, insert_drafts, load_drafts


async def run_before_write(desk, monkeypatch, method, other_change):
    """Run `other_change` after `desk` has read and before it writes."""
    write = getattr(desk._context, method)

    async def run_then_write(*args):
        monkeypatch.setattr(desk._context, method, write)
        await other_change()
        return await write(*args)

    monkeypatch.setattr(desk._context, method, run_then_write)


async def test_slower_change_conflicts_with_current_state(tmp_path, monkeypatch):
    async with open_desk_at(tmp_path) as slow, open_desk_at(tmp_path) as fast:
        (draft_id,) = await insert_drafts(slow, ["pending_review"])
        before = load_drafts(tmp_path)
        await run_before_write(slow, monkeypatch, "write_durable", lambda: fast.drafts.approve(draft_id))
        with pytest.raises(ConflictError) as caught:
            await slow.drafts.reject(draft_id)
    assert caught.value.current_status == Status.APPROVED
    assert set(caught.value.allowed_actions) == {"reject", "schedule", "archive", "unapprove", "post"}
    assert load_drafts(tmp_path)[draft_id]["status"] == "approved"
    assert_consistent(tmp_path, before)


async def test_edit_without_status_change_conflicts_too(tmp_path, monkeypatch):
    async with open_desk_at(tmp_path) as slow, open_desk_at(tmp_path) as fast:
        (draft_id,) = await insert_drafts(slow, ["pending_review"])
        before = load_drafts(tmp_path)
        await run_before_write(
            slow, monkeypatch, "write_durable", lambda: fast.drafts.edit(draft_id, "The faster one's words.")
        )
        with pytest.raises(ConflictError, match="changed in the meantime"):
            await slow.drafts.edit(draft_id, "The slower one's words.")
    assert load_drafts(tmp_path)[draft_id]["text"] == "The faster one's words."
    assert_consistent(tmp_path, before)


async def test_only_conflicting_drafts_of_bulk_fail(tmp_path, monkeypatch):
    async with open_desk_at(tmp_path) as slow, open_desk_at(tmp_path) as fast:
        ids = await insert_drafts(slow, ["pending_review"] * 60)
        before = load_drafts(tmp_path)
        conflicting = tuple(ids[10:50:7])
        other_change = BulkChange(action=Action.ARCHIVE, ids=conflicting)
        await run_before_write(slow, monkeypatch, "write_groups", lambda: fast.drafts.bulk(other_change))
        outcome = await slow.drafts.bulk(BulkChange(action=Action.APPROVE, ids=tuple(ids)))
    assert tuple(failure.id for failure in outcome.results.failed) == conflicting
    assert all("archived now" in failure.error for failure in outcome.results.failed)
    assert {row["status"] for row in load_drafts(tmp_path).values()} == {"approved", "pending_review"}
    assert_consistent(tmp_path, before)
