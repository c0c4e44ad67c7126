"""Tests for how often an operation waits for the server: the time to one elsewhere comes on top each time."""

from collections.abc import Generator
from typing import Any

import pytest
from psycopg.pq import PipelineStatus

from copydesk.desk import Desk
from copydesk.model.filters import DraftView, Tab
from copydesk.store.postgresql.connection import PostgresConnection
from copydesk.tui.review.marks import Marks
from copydesk.tui.review.queue_loader import QueueLoader
from copydesk.tui.review.row_window import RowOrigin, RowRequest
from desk_fixtures import NOW, open_desk_at
from schedule_fixtures import insert_drafts

GROUP = 50
"""Drafts of a bulk that are written at once."""
WAITS_PER_GROUP = 6
NOT_WAITING = {"_enter_gen", "_rollback_gen", "notifies"}


class Waits:
    """Counts the waits for results of the server."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        wait = PostgresConnection.wait

        def count_and_wait(connection: PostgresConnection, work: Generator[Any, Any, Any], *args: Any, **options: Any):
            # In a pipeline a statement is only sent.
            is_sent_only = connection.pgconn.pipeline_status != PipelineStatus.OFF and work.__name__ == "_execute_gen"
            self.count += not is_sent_only and work.__name__ not in NOT_WAITING
            return wait(connection, work, *args, **options)

        monkeypatch.setattr(PostgresConnection, "wait", count_and_wait)


@pytest.fixture
async def desk(tmp_path):
    async with open_desk_at(tmp_path) as opened:
        yield opened


async def count_bulk(desk: Desk, waits: Waits, count: int) -> int:
    ids = await insert_drafts(desk, count, status="pending_review")
    before = waits.count
    assert (await desk.drafts.bulk({"action": "approve", "ids": ids})).succeeded == count
    return waits.count - before


async def test_bulk_waits_a_few_times_for_each_group(desk, monkeypatch):
    waits = Waits(monkeypatch)
    one, two = [await count_bulk(desk, waits, groups * GROUP) for groups in (1, 2)]
    # Once for the drafts of all groups, and of several a beginning and an end are stored, so that it can be resumed.
    assert one <= 1 + WAITS_PER_GROUP
    assert two <= 1 + 2 * WAITS_PER_GROUP + 6


async def test_page_waits_twice(desk, monkeypatch):
    waits = Waits(monkeypatch)
    counts = []
    for _ in range(2):
        await insert_drafts(desk, 30, status="pending_review")
        before = waits.count
        await desk.drafts.views.load(DraftView(tab=Tab.TO_REVIEW))
        counts.append(waits.count - before)
    # The newest, the counts and the positions; and the drafts with what other tables hold of them.
    assert counts == [2, 2]


async def test_rows_of_a_tab_are_refreshed_in_one_wait(desk, monkeypatch):
    first, *ids = await insert_drafts(desk, 30, status="scheduled", scheduled_at=NOW)
    waits = Waits(monkeypatch)
    found = await desk.drafts.views.refresh(DraftView(tab=Tab.SCHEDULED), tuple(ids), first)
    assert (len(found.drafts), found.new_count, waits.count) == (29, 29, 1)


async def test_draft_is_loaded_in_one_wait(desk, monkeypatch):
    draft_id = (await desk.drafts.create({"text": "The ferry sails.", "tags": ["sea"]})).drafts[0].id
    waits = Waits(monkeypatch)
    assert (await desk.drafts.get(draft_id)).tags == ("sea",)
    assert waits.count == 1


async def test_next_undo_waits_twice(desk, monkeypatch):
    (draft_id,) = await insert_drafts(desk, 1, status="pending_review")
    await desk.drafts.approve(draft_id)
    waits = Waits(monkeypatch)
    assert (await desk.drafts.next_undo()).draft_ids == {draft_id}
    # The last changes, and the draft with its posts.
    assert waits.count == 2
    assert (await desk.drafts.history_position()).undo > 0
    assert waits.count == 3


async def test_rows_are_loaded_in_one_read_of_three_waits(desk, monkeypatch):
    await insert_drafts(desk, 30, status="pending_review")
    view = DraftView(tab=Tab.TO_REVIEW)
    loader = QueueLoader(view)
    await loader.load(desk, None, Marks(lambda *_: False))
    waits, reads = Waits(monkeypatch), []
    read = desk._context.read
    monkeypatch.setattr(
        desk._context, "read", lambda work, *rest, **options: reads.append(work) or read(work, *rest, **options)
    )
    rows = await loader.load_rows(desk, RowRequest(RowOrigin.END))
    # The positions, the drafts with what other tables hold of them, and which have arrived since.
    assert (len(rows.drafts), waits.count, len(reads)) == (30, 3, 1)


async def test_search_waits_three_times(desk, monkeypatch):
    waits = Waits(monkeypatch)
    await insert_drafts(desk, 30, text="Harbours and lanterns", status="pending_review")
    before = waits.count
    page = await desk.drafts.search("harbours lanterns")
    # The query with the names of sources, the drafts, and what other tables hold of them.
    assert (len(page.items), waits.count - before) == (25, 3)


async def test_status_waits_six_times(desk, monkeypatch):
    await insert_drafts(desk, 3, status="approved")
    waits = Waits(monkeypatch)
    await desk.status()
    # The accounts, the deliveries, the drafts that wait for an account, the clock, the sources; the time zone and the
    # roles together.
    assert waits.count == 6


async def test_progress_waits_once(desk, monkeypatch):
    waits = Waits(monkeypatch)
    await desk.learning.progress()
    assert waits.count == 1


async def test_draft_with_comments_and_approvals_waits_twice(desk, monkeypatch):
    (draft_id,) = await insert_drafts(desk, 1, status="pending_review")
    waits = Waits(monkeypatch)
    await desk.drafts.activity.overview(draft_id)
    # Most drafts have nothing more to load.
    assert waits.count == 1
    await desk.drafts.approve(draft_id)
    comment = await desk.drafts.comments.add(draft_id, "Is this so?")
    waits.count = 0
    reviewed = await desk.drafts.activity.overview(draft_id)
    assert (reviewed.comments, len(reviewed.activity.approvals)) == ((comment,), 1)
    assert waits.count == 2


async def test_decisions_edits_and_undos_wait_as_documented(desk, monkeypatch):
    warm, *ids = await insert_drafts(desk, 4, status="pending_review")
    # What is loaded once, and statements that the driver has not seen yet.
    await desk.drafts.approve(warm)
    await desk.drafts.undo()
    waits, counts = Waits(monkeypatch), []
    for change in (
        desk.drafts.approve(ids[0]),
        desk.drafts.undo(),
        desk.drafts.reject(ids[1], feedback="Old news."),
        desk.drafts.undo(),
        desk.drafts.edit(ids[2], "The ferry sails again."),
    ):
        waits.count = 0
        await change
        counts.append(waits.count)
    *decisions, edit = counts
    assert decisions == [6, 7, 6, 7]
    assert edit <= 16


async def test_time_of_a_decision_is_stored_without_a_wait(desk, monkeypatch):
    waits = Waits(monkeypatch)
    counts = []
    for draft_id, decided_in in zip(
        await insert_drafts(desk, 3, status="pending_review"), (None, None, 4.0), strict=True
    ):
        waits.count = 0
        await desk.drafts.change(draft_id, {"action": "approve"}, decided_in=decided_in)
        counts.append(waits.count)
    assert counts == [counts[0]] * 3
    assert (await desk.drafts.decision_stats()).timed == 1
