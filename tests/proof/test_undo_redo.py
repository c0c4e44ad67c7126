"""Tests that undoing 200 random steps restores everything, and redoing them restores the results."""

import random
from collections.abc import Sequence
from datetime import timedelta

import pytest

from copydesk.desk import Desk
from copydesk.errors import ConflictError
from copydesk.model.draft import BULK_ACTIONS, Action
from copydesk.model.requests import BulkChange, ChangeDraft
from copydesk.model.transitions import allowed_actions
from desk_fixtures import NOW, open_desk_at
from draft_consistency import (
    HOURLY_SLOTS,
    assert_consistent,
    draft_text,
    dump_tables,
    insert_drafts,
    load_drafts,
)
from sampling import EXHAUSTIVE

STEPS = 200 if EXHAUSTIVE else 60
SEEDS = range(25) if EXHAUSTIVE else range(1)
INITIAL_STATUSES = (
    *("pending_review", "approved", "awaiting_review", "rejected", "changes_requested"),
    *("generation_failed", "posted"),
)
FORMATS = ("SHORT", "THREAD", "BLOG")
FINAL_STATUSES = ("posted", "pending_regeneration")


class RandomUser:
    """Makes random changes at one of two desks."""

    def __init__(self, desks: Sequence[Desk], ids: list[str], seed: int) -> None:
        self.desks = desks
        self.ids = ids
        self.rng = random.Random(seed)

    async def step(self) -> frozenset[str]:
        """Make one random change; return the ids of the changed drafts, empty if nothing could be changed."""
        kind = self.rng.choice([self._change, self._change, self._edit, self._edit, self._bulk, self._auto])
        return await kind(self.rng.choice(self.desks))

    async def _change(self, desk: Desk) -> frozenset[str]:
        draft = await desk.drafts.get(self.rng.choice(self.ids))
        allowed = allowed_actions(draft.status, archived=draft.archived_at is not None)
        # Nothing can follow archiving or regenerating, so choose them rarely.
        excluded = {Action.POST} if self.rng.random() < 0.1 else {Action.POST, Action.ARCHIVE, Action.REGENERATE}
        candidates = sorted(set(allowed) - excluded)
        if not candidates:
            return frozenset()
        request = self._request(self.rng.choice(candidates))
        if self.rng.random() < 0.2 and draft.status not in (*FINAL_STATUSES, "rejected"):
            request = {**request, "text": self._text()}
        await desk.drafts.change(draft.id, ChangeDraft(**request))
        return frozenset({draft.id})

    async def _edit(self, desk: Desk) -> frozenset[str]:
        draft_id = self.rng.choice(self.ids)
        try:
            await desk.drafts.edit(draft_id, self._text())
        except ConflictError:
            return frozenset()
        return frozenset({draft_id})

    async def _bulk(self, desk: Desk) -> frozenset[str]:
        action = self.rng.choice([action for action in BULK_ACTIONS if action != "archive" or self.rng.random() < 0.1])
        ids = (*self.rng.sample(self.ids, self.rng.randrange(1, 9)), "nobody")
        outcome = await desk.drafts.bulk(BulkChange(ids=ids, **self._request(action)))
        return frozenset(outcome.results.succeeded)

    async def _auto(self, desk: Desk) -> frozenset[str]:
        outcome = await desk.schedule.auto_schedule(self.rng.sample(self.ids, 3))
        return frozenset(assignment.draft_id for assignment in outcome.scheduled)

    def _request(self, action: Action) -> dict[str, object]:
        request: dict[str, object] = {"action": action}
        if action in (Action.REJECT, Action.UNAPPROVE):
            request["feedback"] = self.rng.choice([None, "Too long.", "Another sentence, please."])
        if action is Action.RESCHEDULE or (action is Action.SCHEDULE and self.rng.random() < 0.5):
            request["scheduled_at"] = NOW + timedelta(hours=self.rng.randrange(1, 200))
        return request

    def _text(self) -> str:
        return draft_text(self.rng.randrange(50), self.rng.randrange(9))


@pytest.mark.parametrize("seed", SEEDS)
async def test_random_steps_are_undone_and_redone(tmp_path, seed):
    async with open_desk_at(tmp_path) as first_desk, open_desk_at(tmp_path) as second_desk:
        ids = await insert_drafts(first_desk, INITIAL_STATUSES * 4, FORMATS)
        await first_desk.schedule.set_slots(HOURLY_SLOTS)
        initial = load_drafts(tmp_path)
        user = RandomUser([first_desk, second_desk], ids, seed)
        snapshots, changes = [dump_tables(tmp_path)], []
        while len(changes) < STEPS:
            if changed_ids := await user.step():
                changes.append(changed_ids)
                snapshots.append(dump_tables(tmp_path))
        assert {1} < {len(changed_ids) for changed_ids in changes}  # both single changes and bulks

        for before, changed_ids in zip(reversed(snapshots[:-1]), reversed(changes), strict=True):
            undone = await user.rng.choice(user.desks).drafts.undo()
            assert (frozenset(undone.succeeded), undone.failed) == (changed_ids, ())
            assert dump_tables(tmp_path) == before
        with pytest.raises(ConflictError, match="Nothing to undo"):
            await first_desk.drafts.undo()

        for after, changed_ids in zip(snapshots[1:], changes, strict=True):
            redone = await user.rng.choice(user.desks).drafts.redo()
            assert (frozenset(redone.succeeded), redone.failed) == (changed_ids, ())
            assert dump_tables(tmp_path) == after
    assert_consistent(tmp_path, initial)


@pytest.mark.parametrize("seed", SEEDS)
async def test_undoing_draft_by_draft_restores_everything(tmp_path, seed):
    async with open_desk_at(tmp_path) as first_desk, open_desk_at(tmp_path) as second_desk:
        ids = await insert_drafts(first_desk, INITIAL_STATUSES * 4, FORMATS)
        await first_desk.schedule.set_slots(HOURLY_SLOTS)
        initial, all_initial = load_drafts(tmp_path), dump_tables(tmp_path)
        user = RandomUser([first_desk, second_desk], ids, 1000 + seed)
        pending = [draft_id for _ in range(STEPS) for draft_id in await user.step()]
        user.rng.shuffle(pending)
        for draft_id in pending:
            await user.rng.choice(user.desks).drafts.undo(draft_id)
    assert dump_tables(tmp_path) == all_initial
    assert_consistent(tmp_path, initial)
