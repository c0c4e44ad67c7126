"""Tests for the schedule's keys that act on drafts, and for automatic scheduling."""

import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from copydesk.model.draft import Status
from copydesk.tui.review.screen import ReviewScreen
from copydesk.tui.runtime import desk_tasks
from copydesk.tui.schedule.week import GridPosition, Hour
from copydesk.tui.schedule.week_pane import WeekLoaded
from desk_fixtures import Watch, open_desk_at
from schedule_driver import DAY, HOUR, NOW, fill_schedule, open_schedule
from schedule_fixtures import FRI, MON, THU, WED, draft_status, insert_draft, make_slot, scheduled_times

# NOW is Wednesday, 25 March 2026, 10:30 in Prague.


# Drafts


async def test_draft_moves_by_hours_and_days(tmp_path: Path) -> None:
    """The cursor follows it."""
    (draft,) = await fill_schedule(tmp_path, at=[NOW + HOUR])
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "shift+down", "shift+down", "shift+right")
        assert await scheduled_times(ui.desk) == {draft: NOW + 3 * HOUR + DAY}
        assert ui.cursor == GridPosition(date(2026, 3, 26), Hour(13))
        await ui.press("shift+up", "shift+left")
        assert await scheduled_times(ui.desk) == {draft: NOW + 2 * HOUR}


async def test_fast_move_keys_are_all_applied(tmp_path: Path) -> None:
    (draft,) = await fill_schedule(tmp_path, at=[NOW + HOUR])
    async with open_schedule(tmp_path) as ui:
        await ui.press("j")
        for key in (*["shift+down"] * 3, *["shift+right"] * 2):
            ui.app.simulate_key(key)
        await ui.wait()
        assert await scheduled_times(ui.desk) == {draft: NOW + 4 * HOUR + 2 * DAY}


async def test_week_loaded_before_move_is_ignored(tmp_path: Path) -> None:
    (draft,) = await fill_schedule(tmp_path, at=[NOW + HOUR])
    async with open_schedule(tmp_path) as ui:
        await ui.press("j")
        week = await ui.desk.schedule.week()
        stale_week = WeekLoaded(week, None, approved=0, requested_day=week.monday, changes=ui.pane.change_count)
        await ui.press("shift+down")
        ui.pane.post_message(stale_week)
        await ui.press("shift+down")
        assert await scheduled_times(ui.desk) == {draft: NOW + 3 * HOUR}


async def test_cursor_follows_undone_and_redone_draft(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, at=[NOW + HOUR])
    async with open_schedule(tmp_path) as ui:
        await ui.press("j")
        start = ui.cursor
        await ui.press(*["shift+right"] * 5, "g", "u")
        assert ui.cursor == start._replace(day=start.day + 4 * DAY)
        await ui.press("g", "ctrl+r")
        assert ui.cursor == start._replace(day=start.day + 5 * DAY)


async def test_move_is_undone_and_redone(tmp_path: Path) -> None:
    (draft,) = await fill_schedule(tmp_path, at=[NOW + HOUR])
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "shift+down", "shift+down", "u")
        assert await scheduled_times(ui.desk) == {draft: NOW + 2 * HOUR}
        assert ui.toasts[-1] == "Undid reschedule (back to Wed 25 Mar 12:30)"
        await ui.press("ctrl+r")
        assert await scheduled_times(ui.desk) == {draft: NOW + 3 * HOUR}


async def test_refused_redo_gives_way_to_the_one_before(tmp_path: Path) -> None:
    """The second draft was changed elsewhere after its move was undone."""
    first, second = await fill_schedule(tmp_path, at=[NOW + HOUR, NOW + 3 * HOUR])
    async with open_schedule(tmp_path) as ui:
        await ui.move_to("03-25 13")
        await ui.press("shift+right", "g")
        await ui.move_to("03-25 11")
        await ui.press("shift+right", "u", "u")
        assert await scheduled_times(ui.desk) == {first: NOW + HOUR, second: NOW + 3 * HOUR}
        await ui.desk.drafts.cancel_schedule(second)
        await ui.press("ctrl+r")
        assert await scheduled_times(ui.desk) == {first: NOW + HOUR}
        await ui.press("ctrl+r")
        assert await scheduled_times(ui.desk) == {first: NOW + HOUR + DAY}


async def test_undo_skips_changes_of_other_screens(tmp_path: Path) -> None:
    """A change made on another screen is newer, and stays."""
    (moved,) = await fill_schedule(tmp_path, at=[NOW + HOUR], approved=1)
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "shift+down")
        (other,) = (await ui.desk.drafts.list(status=Status.APPROVED)).items
        await ui.desk.drafts.reject(other.id, "Not now.")
        await ui.press("u")
        assert await scheduled_times(ui.desk) == {moved: NOW + HOUR}
        assert (await ui.desk.drafts.get(other.id)).status is Status.REJECTED


async def test_draft_moved_past_week_end_is_followed(tmp_path: Path) -> None:
    (draft,) = await fill_schedule(tmp_path, at=[datetime(2026, 3, 29, 10, tzinfo=UTC)])
    async with open_schedule(tmp_path) as ui:
        await ui.move_to("03-29 12")
        await ui.press("shift+right")
        assert await scheduled_times(ui.desk) == {draft: datetime(2026, 3, 30, 10, tzinfo=UTC)}
        assert ui.cursor == GridPosition(date(2026, 3, 30), Hour(12))
        assert "Draft 1" in ui.text


async def test_move_by_day_keeps_wall_time_across_dst(tmp_path: Path) -> None:
    (draft,) = await fill_schedule(tmp_path, at=[datetime(2026, 3, 28, 8, tzinfo=UTC)])
    async with open_schedule(tmp_path) as ui:
        await ui.move_to("03-28 09")
        await ui.press("shift+right")
        assert await scheduled_times(ui.desk) == {draft: datetime(2026, 3, 29, 7, tzinfo=UTC)}


async def test_draft_cannot_move_into_past(tmp_path: Path) -> None:
    (draft,) = await fill_schedule(tmp_path, at=[NOW + HOUR])
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "shift+up")
        assert await scheduled_times(ui.desk) == {draft: NOW + HOUR}
        assert ui.toasts == ["Cannot move a draft into the past"]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("shift+down", "No draft here to move. s schedules one at this time."),
        ("T", "No draft here to unschedule. s schedules one at this time."),
        ("enter", "No draft here to open. s schedules one at this time."),
        ("D", "No slot here to delete. A adds one."),
    ],
)
async def test_keys_without_draft_do_nothing(tmp_path: Path, key: str, message: str) -> None:
    async with open_schedule(tmp_path) as ui:
        await ui.press(key)
        assert ui.toasts == [message]


async def test_posted_draft_keeps_its_time(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, clock=Watch(NOW)) as desk:
        past = NOW - HOUR
        posted = await insert_draft(desk, status="posted", scheduled_at=past, posted_at=past)
    async with open_schedule(tmp_path) as ui:
        await ui.press("k", "shift+right")
        assert ui.toasts == ["This draft is posted: its time is fixed."]
        assert await draft_status(ui.desk, posted) == "posted"


async def test_missed_draft_can_be_rescheduled(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, clock=Watch(NOW)) as desk:
        missed = await insert_draft(desk, status="missed", scheduled_at=NOW - HOUR)
    async with open_schedule(tmp_path) as ui:
        await ui.press("k", "shift+right")
        assert await draft_status(ui.desk, missed) == "scheduled"


async def test_refused_move_is_reported(tmp_path: Path) -> None:
    (draft,) = await fill_schedule(tmp_path, at=[NOW + HOUR])
    async with open_schedule(tmp_path) as ui:
        await ui.press("j")
        await ui.desk.drafts.cancel_schedule(draft)
        await ui.press("shift+right")
        (refusal,) = ui.toasts
        assert "approved" in refusal
        assert "Draft 1" not in ui.text


async def test_schedule_is_cancelled_and_restored(tmp_path: Path) -> None:
    (draft,) = await fill_schedule(tmp_path, at=[NOW + HOUR])
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "T")
        assert await draft_status(ui.desk, draft) == "approved"
        assert "u undo" in ui.toasts[-1]
        await ui.press("u")
        assert await scheduled_times(ui.desk) == {draft: NOW + HOUR}


async def test_approved_draft_fills_slot_at_cursor(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, slots=[make_slot(WED, 14, 30)], approved=1)
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "j", "j", "j", "s")
        assert "Schedule for Wed 25 Mar 2026 14:30 CET, UTC+01:00 (in 4 h) ─" in ui.text
        await ui.press("enter")
        assert list((await scheduled_times(ui.desk)).values()) == [NOW + 4 * HOUR]
        assert "u undo" in ui.toasts[-1]


async def test_draft_list_can_be_cancelled(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, approved=1)
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "s", "escape")
        assert await scheduled_times(ui.desk) == {}
        await ui.press("k", "s")
        assert ui.toasts == ["This time has passed. Choose a later hour."]


async def test_without_approved_drafts_nothing_is_offered(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "s")
        message = "No approved drafts to schedule. 1 Review, then a approves one."
        assert ui.toasts == [message]
        await ui.press("Q")
        assert ui.toasts[-1] == message


async def test_enter_shows_draft_on_review(tmp_path: Path) -> None:
    _, draft = await fill_schedule(tmp_path, at=[NOW + 30 * HOUR, NOW + HOUR])
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "enter")
        review = ui.app.screen
        assert isinstance(review, ReviewScreen)
        assert review.queue_pane.tab == "scheduled"
        assert review.queue.current is not None
        assert review.queue.current.id == draft
        await ui.press("2")
        assert ui.app.screen is ui.screen


# Automatic scheduling


async def test_plan_is_previewed_and_applied_as_one_change(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, slots=[make_slot(THU, 9), make_slot(FRI, 9)], approved=3)
    async with open_schedule(tmp_path) as ui:
        await ui.press("Q")
        assert "Schedule 3 drafts · Enter confirm · Esc cancel" in ui.text
        assert "Thu 26 Mar 09:00" in ui.text
        assert "Thu 2 Apr 09:00" in ui.text
        assert await scheduled_times(ui.desk) == {}
        await ui.press("enter")
        assert ui.toasts[-1] == "Scheduled 3 drafts · u undo"
        assert len(await scheduled_times(ui.desk)) == 3
        await ui.press("u")
        assert await scheduled_times(ui.desk) == {}


async def test_plan_offers_the_slot_that_a_draft_has_just_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The move is still being written when the plan is requested."""
    monkeypatch.setattr(desk_tasks, "WRITE_PATIENCE", 60.0)
    slot_time = datetime(2026, 3, 26, 8, tzinfo=UTC)
    await fill_schedule(tmp_path, slots=[make_slot(THU, 9)], at=[slot_time], approved=1)
    async with open_schedule(tmp_path) as ui:
        await ui.move_to("03-26 09")
        for key in ("shift+right", "Q"):
            ui.app.simulate_key(key)
        await ui.wait()
        assert "Thu 26 Mar 09:00" in ui.text


async def test_plan_ends_a_cut_text_with_an_ellipsis(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, slots=[make_slot(THU, 9), make_slot(FRI, 9)])
    async with open_desk_at(tmp_path, clock=Watch(NOW)) as desk:
        await insert_draft(desk, text="A short one.")
        await insert_draft(desk, text="x" * 300)
    async with open_schedule(tmp_path) as ui:
        await ui.press("Q")
        assert re.search(r"x…\s", ui.text)
        assert re.search(r"A short one\.(\s|$)", ui.text)


async def test_plan_that_schedules_nothing_any_more_is_no_step_to_undo(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, slots=[make_slot(THU, 9)], approved=1)
    async with open_schedule(tmp_path) as ui:
        await ui.press("A", "enter")
        assert len(await ui.desk.schedule.slots()) == 2
        await ui.press("Q")
        (draft,) = (await ui.desk.drafts.list(status=Status.APPROVED)).items
        await ui.desk.drafts.reject(draft.id, "Not now.")
        await ui.press("enter")
        assert ui.toasts[-1].startswith("1 draft not scheduled: ")
        assert "u undo" not in ui.toasts[-1]
        await ui.press("u")
        assert (await ui.desk.drafts.get(draft.id)).status is Status.REJECTED
        assert await ui.desk.schedule.slots() == (make_slot(THU, 9),)


async def test_cursor_goes_to_the_first_draft_that_was_scheduled(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, slots=[make_slot(MON, 9)], approved=2)
    async with open_schedule(tmp_path) as ui:
        await ui.press("Q", "enter")
        first = min((await scheduled_times(ui.desk)).values())
        assert ui.pane.entry is not None
        assert (ui.pane.entry.at, ui.pane.entry.draft is not None) == (first, True)


async def test_plan_can_be_cancelled(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, slots=[make_slot(THU, 9)], approved=1)
    async with open_schedule(tmp_path) as ui:
        await ui.press("Q", "escape")
        assert await scheduled_times(ui.desk) == {}


async def test_plan_without_slots_names_next_key(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, approved=2)
    async with open_schedule(tmp_path) as ui:
        await ui.press("Q")
        assert ui.toasts == ["2 drafts not scheduled: no weekly slots yet. A adds a slot."]
