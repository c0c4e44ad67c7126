"""Tests for what is learnt from decisions: the confidence of drafts, its report, reset."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.desk.confidence import REFRESH_EVERY
from copydesk.errors import ConflictError
from copydesk.jobs import Jobs
from copydesk.model.confidence import DecisionProgress
from copydesk.model.draft import Field, Status, Trace
from copydesk.store import confidence
from desk_fixtures import FakeWeb, Watch, open_desk_at
from schedule_fixtures import insert_drafts

GOOD = "The harbour of Oslo opened 12 new berths for electric ferries in March 2026."
BAD = "This was the last time they said so."


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
async def desk(tmp_path: Path, watch: Watch) -> AsyncIterator[Desk]:
    async with open_desk_at(tmp_path, FakeWeb(), clock=watch) as opened:
        yield opened


def quoting(text: str) -> dict[str, object]:
    """Return the columns of a draft that quotes `text`."""
    sentences = (Trace(text=text, field=Field.TEXT, start=0, end=len(text)),)
    return {"text": text, "sentences": sentences, "origin": "pipeline", "confidence": 0.5, "confidence_known": False}


async def propose(desk: Desk, text: str, count: int) -> list[str]:
    """Insert drafts to review that quote `text`; return their ids."""
    ids = []
    for _ in range(count):
        ids += await insert_drafts(desk, status="pending_review", **quoting(text))
    return ids


async def decide(desk: Desk, count: int) -> None:
    """Approve `count` drafts with a good quotation, and reject as many with a bad one."""
    good, bad = await propose(desk, GOOD, count), await propose(desk, BAD, count)
    for approved, rejected in zip(good, bad, strict=True):
        await desk.drafts.change(approved, {"action": "approve"})
        await desk.drafts.change(rejected, {"action": "reject"})


async def test_confidence_is_not_known_before_twenty_decisions(desk: Desk) -> None:
    await decide(desk, 9)
    (waiting,) = await propose(desk, GOOD, 1)
    await desk.learning.refresh_confidence()
    draft = await desk.drafts.get(waiting)
    assert (draft.confidence, draft.confidence_known) == (0.5, False)
    report = (await desk.learning.report()).confidence
    assert (report.decisions, report.needed, report.known, report.brier) == (18, 20, False, None)


async def test_progress_counts_decisions_on_proposed_drafts(desk: Desk) -> None:
    assert (await desk.learning.progress()).decisions == 0
    await decide(desk, 3)
    (own,) = await insert_drafts(desk, status="pending_review", origin="direct")
    await desk.drafts.change(own, {"action": "approve"})
    assert await desk.learning.progress() == DecisionProgress(decisions=6, needed=20)
    await decide(desk, 10)
    assert (await desk.learning.progress()).decisions == 20


async def test_confidence_follows_decisions(desk: Desk) -> None:
    await decide(desk, 20)
    (good,), (bad,) = await propose(desk, GOOD, 1), await propose(desk, BAD, 1)
    await desk.learning.refresh_confidence()
    liked, disliked = await desk.drafts.get(good), await desk.drafts.get(bad)
    assert liked.confidence_known
    assert liked.confidence > 0.7
    assert disliked.confidence < 0.3
    assert liked.version == 1
    report = (await desk.learning.report()).confidence
    assert report.brier is not None
    assert report.brier < (report.brier_of_base_rate or 0)


async def test_edited_draft_is_not_approved_as_it_was(desk: Desk) -> None:
    plain, edited, restored = await propose(desk, GOOD, 3)
    await desk.drafts.edit(edited, "Other words.")
    await desk.drafts.edit(restored, "Other words.")
    await desk.drafts.undo(restored)
    for draft_id in (plain, edited, restored):
        await desk.drafts.change(draft_id, {"action": "approve"})
    report = (await desk.learning.report()).confidence
    assert report.base_rate == pytest.approx((2 + 1) / (3 + 2))


async def test_own_texts_teach_nothing_about_confidence(desk: Desk) -> None:
    created = await desk.drafts.create({"text": "My own words."})
    await desk.drafts.change(created.drafts[0].id, {"action": "approve"})
    report = await desk.learning.report()
    assert (report.approved, report.confidence.decisions) == (1, 0)


async def test_new_text_has_the_confidence_of_its_features(desk: Desk) -> None:
    await decide(desk, 20)
    (draft_id,) = await propose(desk, GOOD, 1)
    edited = await desk.drafts.edit(draft_id, BAD)
    assert edited.confidence_known
    assert edited.confidence < 0.5
    await desk.drafts.undo(draft_id)
    restored = await desk.drafts.get(draft_id)
    assert (restored.confidence, restored.confidence_known) == (0.5, False)


async def test_job_keeps_stored_confidences_up_to_date(desk: Desk) -> None:
    (waiting,) = await propose(desk, GOOD, 1)
    await decide(desk, REFRESH_EVERY)
    assert (await desk.job_leases.due_work()).to_estimate
    jobs = Jobs(desk)
    await jobs.tick()
    await jobs.drain()
    assert (await desk.drafts.get(waiting)).confidence_known
    assert not (await desk.job_leases.due_work()).to_estimate


async def test_approved_drafts_are_estimated_for_the_schedule(desk: Desk) -> None:
    await decide(desk, 20)
    await desk.learning.refresh_confidence()
    page = await desk.drafts.list(status=Status.APPROVED, limit=1)
    assert page.items[0].confidence_known


async def test_reset_forgets_decisions_until_it_is_taken_back(desk: Desk, watch: Watch) -> None:
    await decide(desk, 20)
    (waiting,) = await propose(desk, GOOD, 1)
    await desk.learning.refresh_confidence()
    reset = await desk.learning.reset()
    report = await desk.learning.report()
    assert reset.since == reset.reset_at == report.since is not None
    assert (report.approved, report.rejected, report.confidence.decisions) == (0, 0, 0)
    assert not (await desk.drafts.get(waiting)).confidence_known
    assert (await desk.learning.progress()).decisions == 0

    watch.now += timedelta(minutes=1)
    await decide(desk, 1)
    assert (await desk.learning.report()).approved == 1

    undone = await desk.learning.undo_reset()
    assert (undone.since, undone.reset_at) == (None, None)
    report = await desk.learning.report()
    assert (report.since, report.approved, report.rejected) == (None, 21, 21)
    assert (await desk.drafts.get(waiting)).confidence_known


async def test_reset_that_never_was_cannot_be_taken_back(desk: Desk) -> None:
    with pytest.raises(ConflictError, match="no reset to take back"):
        await desk.learning.undo_reset()


async def test_checks_of_the_first_text_are_learnt_from(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        request = {"text": "The harbour opens.", "agent": {"name": "scout"}}
        (created,) = (await desk.drafts.create(request)).drafts
        draft = await desk.drafts.get(created.id)
        for text in ("The harbour closes.", "The harbour closes at {time}."):
            await desk.drafts.edit(draft.id, text)
        await desk.drafts.approve(draft.id)
        (decided,) = await desk._context.read(confidence.list_decided, 10, None)
    assert (decided.draft.text, decided.draft.checks) == (draft.text, draft.checks)
    assert decided.edited_text == "The harbour closes at {time}."
