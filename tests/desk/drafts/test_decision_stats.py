"""Tests for the figures of the user's decisions: how long they took, and how many were undone soon after."""

from datetime import timedelta

import pytest
from msgspec import structs

from copydesk.desk import Desk, open_desk
from copydesk.errors import ConflictError, StaleVersionError
from copydesk.model.draft import Draft
from copydesk.settings import load
from copydesk.store import decisions
from copydesk.store.column_types import to_microseconds
from desk_fixtures import NOW, Watch, open_desk_at, query_db


async def decide(desk: Desk, *seconds: float) -> list[Draft]:
    """Approve as many new drafts, each so long after it was shown; return them."""
    ids = [(await desk.drafts.create({"text": f"Draft {number}."})).drafts[0].id for number in range(len(seconds))]
    return [
        await desk.drafts.change(draft_id, {"action": "approve"}, decided_in=taken)
        for draft_id, taken in zip(ids, seconds, strict=True)
    ]


async def test_median_leaves_out_times_of_an_absent_user(tmp_path) -> None:
    async with open_desk_at(tmp_path) as desk:
        assert (await desk.drafts.decision_stats()).median_seconds is None
        await decide(desk, 2.0, 9.0, 4.0, 3_600.0, -1.0)
        stats = await desk.drafts.decision_stats()
        assert (stats.timed, stats.decided, stats.median_seconds) == (3, 5, 4.0)


async def test_nothing_is_recorded_with_the_setting_off(tmp_path) -> None:
    settings = load({}, tmp_path)
    off = structs.replace(settings, console=structs.replace(settings.console, record_decision_times=False))
    async with open_desk(off) as desk:
        await decide(desk, 2.0)
    assert query_db(tmp_path, "SELECT count(*) FROM decision_time") == [(0,)]


async def test_only_newest_times_are_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(decisions, "MAX_ROWS", 3)
    async with open_desk_at(tmp_path) as desk:
        await decide(desk, 1.0, 1.0, 7.0, 8.0, 9.0)
        assert sorted(await desk._context.read(decisions.list_seconds)) == [7.0, 8.0, 9.0]


async def test_time_is_stored_with_the_decision_or_not_at_all(tmp_path) -> None:
    async with open_desk_at(tmp_path) as desk:
        (draft,) = await decide(desk, 2.0)
        change = {"action": "reject", "feedback": "Old."}
        with pytest.raises(StaleVersionError):
            await desk.drafts.change(draft.id, change, expected_version=draft.version - 1, decided_in=3.0)
        with pytest.raises(ConflictError):
            await desk.drafts.change(draft.id, {"action": "approve"}, decided_in=3.0)
        assert await desk._context.read(decisions.list_seconds) == [2.0]


async def test_stored_time_does_not_tell_which_draft_was_decided(tmp_path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await decide(desk, 2.0)
    day = to_microseconds(NOW.replace(hour=0, minute=0, second=0, microsecond=0))
    assert query_db(tmp_path, "SELECT at, seconds FROM decision_time") == [(day, 2.0)]


async def test_decisions_undone_within_ten_minutes_are_counted(tmp_path) -> None:
    watch = Watch(NOW)
    async with open_desk_at(tmp_path, clock=watch) as desk:
        ids = [(await desk.drafts.create({"text": f"Draft {number}."})).drafts[0].id for number in range(3)]
        for draft_id in ids:
            await desk.drafts.approve(draft_id)
        watch.now = NOW + timedelta(minutes=9)
        await desk.drafts.undo(ids[0])
        watch.now = NOW + timedelta(minutes=11)
        await desk.drafts.undo(ids[1])
        stats = await desk.drafts.decision_stats()
        assert (stats.decided, stats.undone) == (3, 1)
