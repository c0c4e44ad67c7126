"""Tests for bulk actions that were killed: what was left undone is told, and can be finished or undone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk, leases
from copydesk.desk.drafts import review
from copydesk.desk.drafts.review import Review
from copydesk.errors import ConflictError, InvalidError
from copydesk.model.draft import Action, Status
from copydesk.model.requests import ChangeDraft
from copydesk.model.schedule import Slot
from copydesk.model.transitions import EventKind, InterruptedBulk
from desk_fixtures import FakeWeb, Watch, open_desk_at, query_db

COUNT, FIRST_BATCH = 130, 100
EVERY_HOUR = tuple(Slot(day_of_week=day, hour=hour, minute=0) for day in range(7) for hour in range(24))


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
async def desk(tmp_path: Path, watch: Watch) -> AsyncIterator[Desk]:
    async with open_desk_at(tmp_path, FakeWeb(), watch) as desk:
        yield desk


async def create_drafts(desk: Desk) -> list[str]:
    return [(await desk.drafts.create({"text": f"Text {number}."})).drafts[0].id for number in range(COUNT)]


async def kill_in_second_batch(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, change: Awaitable[object]
) -> InterruptedBulk:
    """Run a bulk action that does not come to its second batch, as if its process had been killed there."""
    write_groups, calls = desk._context.write_groups, 0

    async def write_first(*args: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise asyncio.CancelledError
        return await write_groups(*args)

    monkeypatch.setattr(desk._context, "write_groups", write_first)
    with pytest.raises(asyncio.CancelledError):
        await change
    monkeypatch.setattr(desk._context, "write_groups", write_groups)
    monkeypatch.setattr(leases, "is_alive", lambda *_, **_options: False)
    (bulk,) = await desk.drafts.interrupted_bulks()
    return bulk


async def count(desk: Desk, status: Status) -> int:
    return len(await desk.drafts.matching_ids(status=status.value))


async def test_interrupted_bulk_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    bulk = await kill_in_second_batch(
        desk, monkeypatch, desk.drafts.bulk_all(Action.APPROVE, await create_drafts(desk))
    )

    assert (bulk.action, bulk.kind, bulk.changed, bulk.total) == ("approve", EventKind.CHANGE, FIRST_BATCH, COUNT)
    assert bulk.summary == (
        "Interrupted: approve, 100 of 130 drafts done. To finish it: `copydesk draft resume`."
        " To undo it: `copydesk draft resume --undo`."
    )


@pytest.mark.parametrize(("clock_ahead", "is_told"), [(timedelta(seconds=1), False), (timedelta(hours=1), True)])
async def test_bulk_of_another_machine_whose_clock_is_ahead(
    desk: Desk, watch: Watch, monkeypatch: pytest.MonkeyPatch, clock_ahead: timedelta, *, is_told: bool
) -> None:
    await kill_in_second_batch(desk, monkeypatch, desk.drafts.bulk_all(Action.APPROVE, await create_drafts(desk)))
    monkeypatch.setattr(leases, "is_alive", lambda *_, **_options: None)
    watch.now -= clock_ahead
    assert bool(await desk.drafts.interrupted_bulks()) == is_told


async def test_bulk_of_another_machine_is_listed_after_an_hour(
    desk: Desk, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await kill_in_second_batch(desk, monkeypatch, desk.drafts.bulk_all(Action.APPROVE, await create_drafts(desk)))
    monkeypatch.setattr(leases, "is_alive", lambda *_, **_options: None)
    assert await desk.drafts.interrupted_bulks() == ()
    watch.now += timedelta(hours=1, seconds=1)
    assert len(await desk.drafts.interrupted_bulks()) == 1


async def test_resumed_bulk_is_undone_as_one(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await create_drafts(desk)
    bulk = await kill_in_second_batch(
        desk, monkeypatch, desk.drafts.bulk_all(Action.REJECT, ids, ChangeDraft(feedback="Too long."))
    )

    outcome = await desk.drafts.resume_bulk(bulk.id)

    assert (outcome.results.succeeded, outcome.failed) == (tuple(ids[FIRST_BATCH:]), 0)
    assert (await desk.drafts.get(ids[-1])).rejection_feedback == "Too long."
    assert await desk.drafts.interrupted_bulks() == ()
    assert len((await desk.drafts.undo()).succeeded) == COUNT
    assert await count(desk, Status.AWAITING_REVIEW) == COUNT


async def test_resume_leaves_changed_drafts_alone(desk: Desk, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await create_drafts(desk)
    bulk = await kill_in_second_batch(desk, monkeypatch, desk.drafts.bulk_all(Action.APPROVE, ids))
    watch.now += timedelta(minutes=1)
    await desk.drafts.edit(ids[-1], "Changed since.")

    outcome = await desk.drafts.resume_bulk(bulk.id)

    assert (outcome.succeeded, [failure.id for failure in outcome.results.failed]) == (29, [ids[-1]])
    assert (await desk.drafts.get(ids[-1])).status is Status.AWAITING_REVIEW


async def test_interrupted_bulk_is_undone(desk: Desk, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await create_drafts(desk)
    bulk = await kill_in_second_batch(desk, monkeypatch, desk.drafts.bulk_all(Action.APPROVE, ids))
    watch.now += timedelta(minutes=1)
    # No longer the last change.
    await desk.drafts.reject(ids[-1])

    outcome = await desk.drafts.undo_bulk(bulk.id)

    assert outcome.succeeded == FIRST_BATCH
    assert await count(desk, Status.AWAITING_REVIEW) == COUNT - 1
    assert await desk.drafts.interrupted_bulks() == ()


async def test_undo_of_the_last_change_answers_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await kill_in_second_batch(desk, monkeypatch, desk.drafts.bulk_all(Action.APPROVE, await create_drafts(desk)))
    await desk.drafts.undo()
    assert await desk.drafts.interrupted_bulks() == ()


async def test_interrupted_bulk_is_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    bulk = await kill_in_second_batch(
        desk, monkeypatch, desk.drafts.bulk_all(Action.APPROVE, await create_drafts(desk))
    )

    await desk.drafts.keep_bulk(bulk.id)

    assert await desk.drafts.interrupted_bulks() == ()
    assert await count(desk, Status.APPROVED) == FIRST_BATCH
    with pytest.raises(ConflictError, match="is complete"):
        await desk.drafts.resume_bulk(bulk.id)


@pytest.mark.parametrize(
    ("answer", "status"), [("resume_bulk", Status.AWAITING_REVIEW), ("undo_bulk", Status.APPROVED)]
)
async def test_interrupted_undo(desk: Desk, monkeypatch: pytest.MonkeyPatch, answer: str, status: Status) -> None:
    ids = await create_drafts(desk)
    await desk.drafts.bulk_all(Action.APPROVE, ids)
    bulk = await kill_in_second_batch(desk, monkeypatch, desk.drafts.undo())
    assert bulk.summary.startswith("Interrupted: undo of approve, 100 of 130 drafts done.")

    await getattr(desk.drafts, answer)(bulk.id)

    assert await count(desk, status) == COUNT
    assert await desk.drafts.interrupted_bulks() == ()


async def test_interrupted_automatic_schedule_is_finished(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await create_drafts(desk)
    await desk.drafts.bulk_all(Action.APPROVE, ids)
    await desk.schedule.set_slots(EVERY_HOUR)
    monkeypatch.setattr("copydesk.desk.schedule.PLAN_BATCH_SIZE", FIRST_BATCH)
    bulk = await kill_in_second_batch(desk, monkeypatch, desk.schedule.auto_schedule())
    await desk.drafts.resume_bulk(bulk.id)

    assert await count(desk, Status.SCHEDULED) == COUNT


async def test_interrupted_schedule_of_drafts_with_and_without_time_is_finished(
    desk: Desk, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batch has the approved drafts, the second those that are moved: killed between them, it is one bulk."""
    ids = await create_drafts(desk)
    await desk.drafts.bulk_all(Action.APPROVE, ids)
    early, late = watch.now + timedelta(hours=1), watch.now + timedelta(hours=5)
    timed = ids[FIRST_BATCH:]
    await desk.drafts.bulk_all(Action.SCHEDULE, timed, ChangeDraft(scheduled_at=early))
    bulk = await kill_in_second_batch(desk, monkeypatch, desk.drafts.schedule_all_at(ids, late))
    assert bulk.summary.startswith(
        "Interrupted: schedule, 100 of 130 drafts done. To finish it: `copydesk draft resume"
    )

    outcome = await desk.drafts.resume_bulk(bulk.id)

    assert (outcome.results.succeeded, outcome.failed) == (tuple(timed), 0)
    assert {(await desk.drafts.get(draft_id)).scheduled_at for draft_id in ids} == {late}
    assert await desk.drafts.interrupted_bulks() == ()
    assert len((await desk.drafts.undo()).succeeded) == COUNT
    assert {(await desk.drafts.get(draft_id)).scheduled_at for draft_id in timed} == {early}
    assert await count(desk, Status.APPROVED) == FIRST_BATCH


async def test_time_that_has_passed_is_refused(desk: Desk, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await create_drafts(desk)
    await desk.drafts.bulk_all(Action.APPROVE, ids)
    at = ChangeDraft(scheduled_at=watch.now + timedelta(hours=1))
    bulk = await kill_in_second_batch(desk, monkeypatch, desk.drafts.bulk_all(Action.SCHEDULE, ids, at))
    watch.now += timedelta(hours=2)

    with pytest.raises(InvalidError, match="scheduledAt"):
        await desk.drafts.resume_bulk(bulk.id)
    assert len(await desk.drafts.interrupted_bulks()) == 1


async def test_running_bulk_is_not_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ids, seen = await create_drafts(desk), []
    apply_to_each = Review._apply_to_each

    async def list_first(*args: object) -> object:
        seen.append(await desk.drafts.interrupted_bulks())
        return await apply_to_each(*args)

    monkeypatch.setattr(Review, "_apply_to_each", list_first)
    await desk.drafts.bulk_all(Action.APPROVE, ids)
    assert seen == [(), ()]


async def test_complete_bulk_leaves_no_record(desk: Desk, tmp_path: Path) -> None:
    ids = await create_drafts(desk)
    await desk.drafts.bulk_all(Action.APPROVE, ids)
    await desk.drafts.undo()
    await desk.drafts.redo()
    assert query_db(tmp_path, "SELECT count(*) FROM bulk_action") == [(0,)]


async def test_bulk_of_one_transaction_needs_no_record(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await create_drafts(desk)
    monkeypatch.setattr(review.bulk_actions, "add", lambda *_: pytest.fail("recorded"))
    await desk.drafts.bulk_all(Action.APPROVE, ids[:50])
