"""What the keys of the schedule do to drafts."""

from datetime import UTC, date, datetime
from pathlib import Path

from copydesk.model.draft import Status
from copydesk.tui.screens.review import ReviewScreen
from copydesk.tui.screens.week_screen import WeekRead
from copydesk.tui.week_clock import Hour, Place
from desk_fixtures import Watch, open_at
from schedule_fixtures import FRI, THU, WED, put_one, slot, status_of, times
from schedule_screen import DAY, HOUR, NOW, fill, on_schedule

# NOW is Wednesday, 25 March 2026, 10:30 in Prague.


# Drafts.


async def test_a_draft_is_moved_by_hours_and_days_and_the_cursor_follows_it(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, at=[NOW + HOUR])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "J", "J", "L")
        assert await times(seen.desk) == {draft: NOW + 3 * HOUR + DAY}
        assert seen.cursor == Place(date(2026, 3, 26), Hour(13))
        await seen.press("K", "H")
        assert await times(seen.desk) == {draft: NOW + 2 * HOUR}


async def test_keys_that_come_faster_than_the_desk_writes_are_all_counted(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, at=[NOW + HOUR])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j")
        for key in "JJJLL":
            seen.app.simulate_key(key)
        await seen.wait()
        assert await times(seen.desk) == {draft: NOW + 4 * HOUR + 2 * DAY}


async def test_a_week_that_was_read_before_a_move_does_not_come_after_it(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, at=[NOW + HOUR])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j")
        week = await seen.desk.schedule.week()
        read = WeekRead(week, None, approved=0, wanted=week.monday, changes=seen.screen.changes)
        await seen.press("J")
        seen.screen.post_message(read)
        await seen.press("J")
        assert await times(seen.desk) == {draft: NOW + 3 * HOUR}


async def test_a_move_is_undone_and_done_again(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, at=[NOW + HOUR])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "J", "J", "u")
        assert await times(seen.desk) == {draft: NOW + 2 * HOUR}
        assert seen.toasts[-1] == "Undone: the other time"
        await seen.press("ctrl+r")
        assert await times(seen.desk) == {draft: NOW + 3 * HOUR}


async def test_only_what_was_done_here_is_undone(tmp_path: Path) -> None:
    """What was done on another screen meanwhile is the user's last change, and stays."""
    (moved,) = await fill(tmp_path, at=[NOW + HOUR], approved=1)
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "J")
        (other,) = (await seen.desk.drafts.list(status=Status.APPROVED)).items
        await seen.desk.drafts.reject(other.id, "Not now.")
        await seen.press("u")
        assert await times(seen.desk) == {moved: NOW + HOUR}
        assert (await seen.desk.drafts.get(other.id)).status is Status.REJECTED


async def test_a_draft_moved_over_the_end_of_the_week_is_followed(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, at=[datetime(2026, 3, 29, 10, tzinfo=UTC)])
    async with on_schedule(tmp_path) as seen:
        await seen.to("03-29 12")
        await seen.press("L")
        assert await times(seen.desk) == {draft: datetime(2026, 3, 30, 10, tzinfo=UTC)}
        assert seen.cursor == Place(date(2026, 3, 30), Hour(12))
        assert "Draft 1" in seen.text


async def test_a_day_later_keeps_the_time_of_the_clock_over_a_clock_change(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, at=[datetime(2026, 3, 28, 8, tzinfo=UTC)])
    async with on_schedule(tmp_path) as seen:
        await seen.to("03-28 09")
        await seen.press("L")
        assert await times(seen.desk) == {draft: datetime(2026, 3, 29, 7, tzinfo=UTC)}


async def test_nothing_is_moved_into_the_past(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, at=[NOW + HOUR])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "K")
        assert await times(seen.desk) == {draft: NOW + HOUR}
        assert seen.toasts == ["That is in the past: the draft stays."]


async def test_where_there_is_no_draft_nothing_is_moved(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("J", "x", "enter", "d")
        assert "There is no slot here to delete." in seen.toasts[-1]


async def test_what_went_out_keeps_its_time(tmp_path: Path) -> None:
    async with open_at(tmp_path, clock=Watch(NOW)) as desk:
        at = NOW - HOUR
        posted = await put_one(desk, status="posted", scheduled_at=at, posted_at=at)
    async with on_schedule(tmp_path) as seen:
        await seen.press("k", "L")
        assert "posted: its time stays" in seen.toasts[-1]
        assert await status_of(seen.desk, posted) == "posted"


async def test_a_missed_draft_gets_another_time(tmp_path: Path) -> None:
    async with open_at(tmp_path, clock=Watch(NOW)) as desk:
        missed = await put_one(desk, status="missed", scheduled_at=NOW - HOUR)
    async with on_schedule(tmp_path) as seen:
        await seen.press("k", "L")
        assert await status_of(seen.desk, missed) == "scheduled"


async def test_a_move_that_is_refused_is_told_and_shown_as_it_is(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, at=[NOW + HOUR])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j")
        await seen.desk.drafts.cancel_schedule(draft)
        await seen.press("L")
        assert seen.toasts
        assert "Draft 1" not in seen.text


async def test_the_schedule_of_a_draft_is_cancelled(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, at=[NOW + HOUR])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "x")
        assert await status_of(seen.desk, draft) == "approved"
        assert "u undo" in seen.toasts[-1]
        await seen.press("u")
        assert await times(seen.desk) == {draft: NOW + HOUR}


async def test_an_approved_draft_fills_the_slot_under_the_cursor(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(WED, 14, 30)], approved=1)
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "j", "j", "j", "s")
        assert "Wed 25 Mar 2026 14:30 CET, UTC+01:00 (in 4 hours) · Enter schedules" in seen.text
        await seen.press("enter")
        assert list((await times(seen.desk)).values()) == [NOW + 4 * HOUR]
        assert "u undo" in seen.toasts[-1]


async def test_the_list_of_approved_drafts_can_be_left(tmp_path: Path) -> None:
    await fill(tmp_path, approved=1)
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "s", "escape")
        assert await times(seen.desk) == {}
        await seen.press("k", "s")
        assert seen.toasts == ["That time has passed."]


async def test_without_approved_drafts_there_is_nothing_to_choose(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "s")
        assert seen.toasts == ["No approved draft waits for a time."]
        await seen.press("A")
        assert seen.toasts[-1] == "No approved draft waits for a time."


async def test_enter_shows_the_draft_on_the_review_in_the_tab_that_has_it(tmp_path: Path) -> None:
    _, draft = await fill(tmp_path, at=[NOW + 30 * HOUR, NOW + HOUR])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "enter")
        review = seen.app.screen
        assert isinstance(review, ReviewScreen)
        assert review.tab == "scheduled"
        assert review.queue.current is not None
        assert review.queue.current.id == draft
        await seen.press("2")
        assert seen.app.screen is seen.screen


# The automatic schedule.


async def test_the_plan_is_shown_first_and_carried_out_as_one(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(THU, 9), slot(FRI, 9)], approved=3)
    async with on_schedule(tmp_path) as seen:
        await seen.press("A")
        assert "Schedule 3 drafts · Enter does it" in seen.text
        assert "Thu 26 Mar 09:00" in seen.text
        assert "Thu 2 Apr 09:00" in seen.text
        assert await times(seen.desk) == {}
        await seen.press("enter")
        assert seen.toasts[-1] == "3 drafts scheduled · u undo"
        assert len(await times(seen.desk)) == 3
        await seen.press("u")
        assert await times(seen.desk) == {}


async def test_the_plan_can_be_left(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(THU, 9)], approved=1)
    async with on_schedule(tmp_path) as seen:
        await seen.press("A", "escape")
        assert await times(seen.desk) == {}


async def test_without_slots_the_plan_says_why_nothing_goes_anywhere(tmp_path: Path) -> None:
    await fill(tmp_path, approved=2)
    async with on_schedule(tmp_path) as seen:
        await seen.press("A")
        assert seen.toasts == ["2 approved drafts left out: there are no slots to schedule to. n makes one."]
