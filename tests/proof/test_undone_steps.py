"""Two hundred random steps, undone one by one, bring back all that there was; done again, all that came of them."""

import random
from collections.abc import Sequence
from datetime import timedelta

import pytest

from copydesk.desk import Desk
from copydesk.errors import ConflictError
from copydesk.model.change import BulkChange, ChangeDraft
from copydesk.model.draft import BULK_ACTIONS, Action
from copydesk.model.transitions import allowed_actions
from desk_fixtures import NOW, open_at
from proof_desk import HOURLY, PROVE, assert_agrees, drafts_in, everything, furnish, text

STEPS = 200
SEEDS = range(25) if PROVE else range(1)
STARTS = (
    *("pending_review", "approved", "awaiting_review", "rejected", "changes_requested"),
    *("generation_failed", "posted"),
)
FORMATS = ("SHORT", "THREAD", "BLOG")
ENDED = ("posted", "pending_regeneration")


class Person:
    """Does one random thing after another, at one of two desks."""

    def __init__(self, desks: Sequence[Desk], ids: list[str], seed: int) -> None:
        self.desks = desks
        self.ids = ids
        self.rng = random.Random(seed)

    async def step(self) -> frozenset[str]:
        """The drafts that it changed; none where there was nothing to do."""
        kind = self.rng.choice([self._change, self._change, self._edit, self._edit, self._bulk, self._auto])
        return await kind(self.rng.choice(self.desks))

    async def _change(self, desk: Desk) -> frozenset[str]:
        draft = await desk.drafts.get(self.rng.choice(self.ids))
        allowed = allowed_actions(draft.status, archived=draft.archived_at is not None)
        # Archiving and regenerating lead nowhere that anything else can be done; they are done, but now and then.
        ends = {Action.POST} if self.rng.random() < 0.1 else {Action.POST, Action.ARCHIVE, Action.REGENERATE}
        fit = sorted(set(allowed) - ends)
        if not fit:
            return frozenset()
        asked = self._asked(self.rng.choice(fit))
        if self.rng.random() < 0.2 and draft.status not in (*ENDED, "rejected"):
            asked = {**asked, "text": self._text()}
        await desk.drafts.change(draft.id, ChangeDraft(**asked))
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
        outcome = await desk.drafts.bulk(BulkChange(ids=ids, **self._asked(action)))
        return frozenset(outcome.results.succeeded)

    async def _auto(self, desk: Desk) -> frozenset[str]:
        outcome = await desk.schedule.auto(self.rng.sample(self.ids, 3))
        return frozenset(each.draft_id for each in outcome.scheduled)

    def _asked(self, action: Action) -> dict[str, object]:
        asked: dict[str, object] = {"action": action}
        if action in (Action.REJECT, Action.UNAPPROVE):
            asked["feedback"] = self.rng.choice([None, "Too long.", "Who says so?"])
        if action is Action.RESCHEDULE or (action is Action.SCHEDULE and self.rng.random() < 0.5):
            asked["scheduled_at"] = NOW + timedelta(hours=self.rng.randrange(1, 200))
        return asked

    def _text(self) -> str:
        return text(self.rng.randrange(50), self.rng.randrange(9))


@pytest.mark.parametrize("seed", SEEDS)
async def test_two_hundred_steps_back_and_forth_again(tmp_path, seed):
    async with open_at(tmp_path) as one, open_at(tmp_path) as two:
        ids = await furnish(one, STARTS * 4, FORMATS)
        await one.schedule.set_slots(HOURLY)
        first = drafts_in(tmp_path)
        person = Person([one, two], ids, seed)
        were, changed = [everything(tmp_path)], []
        while len(changed) < STEPS:
            if done := await person.step():
                changed.append(done)
                were.append(everything(tmp_path))
        assert {1} < {len(done) for done in changed}  # single steps and bulks

        for before, done in zip(reversed(were[:-1]), reversed(changed), strict=True):
            undone = await person.rng.choice(person.desks).drafts.undo()
            assert (frozenset(undone.succeeded), undone.failed) == (done, ())
            assert everything(tmp_path) == before
        with pytest.raises(ConflictError, match="nothing"):
            await one.drafts.undo()

        for after, done in zip(were[1:], changed, strict=True):
            redone = await person.rng.choice(person.desks).drafts.redo()
            assert (frozenset(redone.succeeded), redone.failed) == (done, ())
            assert everything(tmp_path) == after
    assert_agrees(tmp_path, first)


@pytest.mark.parametrize("seed", SEEDS)
async def test_undone_draft_by_draft_in_any_order_they_come_to_the_same(tmp_path, seed):
    async with open_at(tmp_path) as one, open_at(tmp_path) as two:
        ids = await furnish(one, STARTS * 4, FORMATS)
        await one.schedule.set_slots(HOURLY)
        first, all_first = drafts_in(tmp_path), everything(tmp_path)
        person = Person([one, two], ids, 1000 + seed)
        left = [draft_id for _ in range(STEPS) for draft_id in await person.step()]
        person.rng.shuffle(left)
        for draft_id in left:
            await person.rng.choice(person.desks).drafts.undo(draft_id)
    assert everything(tmp_path) == all_first
    assert_agrees(tmp_path, first)
