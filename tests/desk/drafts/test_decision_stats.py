"""Tests for the figures of the user's decisions: how long they took, and how many were undone soon after."""

from datetime import timedelta

from msgspec import structs

from copydesk.desk import open_desk
from copydesk.settings import load
from copydesk.store import decisions
from desk_fixtures import NOW, Watch, open_desk_at, query_db


async def test_median_leaves_out_times_of_an_absent_user(tmp_path) -> None:
    async with open_desk_at(tmp_path) as desk:
        assert (await desk.drafts.decision_stats()).median_seconds is None
        await desk.drafts.record_decision_times([2.0, 9.0, 4.0, 3_600.0, -1.0])
        stats = await desk.drafts.decision_stats()
        assert (stats.timed, stats.median_seconds) == (3, 4.0)


async def test_nothing_is_recorded_with_the_setting_off(tmp_path) -> None:
    settings = load({}, tmp_path)
    off = structs.replace(settings, console=structs.replace(settings.console, record_decision_times=False))
    async with open_desk(off) as desk:
        await desk.drafts.record_decision_times([2.0])
    assert query_db(tmp_path, "SELECT count(*) FROM decision_time") == [(0,)]


async def test_only_newest_times_are_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(decisions, "MAX_ROWS", 3)
    async with open_desk_at(tmp_path) as desk:
        await desk.drafts.record_decision_times([1.0, 1.0])
        await desk.drafts.record_decision_times([7.0, 8.0, 9.0])
        assert sorted(await desk._context.read(decisions.list_seconds)) == [7.0, 8.0, 9.0]


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
