"""The schedule on the screen: what is seen of a week, and what the keys do to it."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from rich.cells import cell_len

from copydesk.errors import StoreBusyError
from copydesk.model.job import ClockDoubt
from copydesk.model.schedule import Slot
from copydesk.tui.week_clock import Hour, Place
from desk_fixtures import Watch, open_at
from schedule_fixtures import FRI, MON, SUN, THU, TUE, WED, put, put_at, put_one, slot, status_of, times
from schedule_screen import DAY, HOUR, MINUTE, NOW, on_schedule

# NOW is Wednesday, 25 March 2026, 10:30 in Prague.
TODAY = date(2026, 3, 25)


async def fill(home: Path, *, slots: Sequence[Slot] = (), at: Sequence[datetime] = (), approved: int = 0) -> list[str]:
    """A desk with these slots, drafts at these times and approved drafts; the ids of those that have a time."""
    async with open_at(home, clock=Watch(NOW)) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        await desk.schedule.set_slots(slots)
        await put(desk, approved, text="An approved draft")
        return [await put_at(desk, each, text=f"Draft {number}") for number, each in enumerate(at, 1)]


# What is seen.


async def test_the_cursor_begins_at_this_hour(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        assert seen.cursor == Place(TODAY, Hour(10))
        assert "▸10:30" in seen.text
        assert seen.said[0] == "Wed 25 Mar 2026 10:00–10:59, UTC+01:00 · now"


async def test_an_empty_schedule_says_what_to_press(tmp_path: Path) -> None:
    await fill(tmp_path, approved=2)
    async with on_schedule(tmp_path) as seen:
        assert "No slots yet: n makes one here, every week for 2 approved drafts." in seen.text


async def test_slots_drafts_and_conflicts_are_seen_and_told(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(THU, 9, 15)], at=[NOW + 4 * HOUR, NOW + 4 * HOUR + 20 * MINUTE, NOW + DAY])
    async with on_schedule(tmp_path) as seen:
        assert "[:15" in seen.text
        assert ":30!S Dra" in seen.text
        assert "+1" in seen.text
        await seen.press("j", "j", "j", "j")
        assert seen.said[1:] == [
            "▌14:30 S scheduled !20 min before another short  Draft 1",
            "14:50 S scheduled !20 min after another short  Draft 2",
        ]
        await seen.press("tab")
        assert ":50!S Dra" in seen.text
        assert seen.said[2].startswith("▌14:50")


async def test_the_zone_and_its_change_are_in_the_title(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        assert "Mon 23 Mar – Sun 29 Mar 2026 · Europe/Prague, UTC+01:00, from Sun UTC+02:00" in seen.title
        await seen.press("]")
        assert "Sun 5 Apr 2026 · Europe/Prague, UTC+02:00 (now UTC+01:00)" in seen.title
        await seen.press("t")
        assert seen.cursor == Place(TODAY, Hour(10))


async def test_the_hour_that_does_not_exist_is_marked(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.to("03-29 02")
        assert "skipped" in seen.text
        assert seen.said == [
            "Sun 29 Mar 2026 02:00 does not exist: the clocks skip it",
            "The clocks go forward on Sun 29 Mar: 02:00–03:00 does not exist.",
            "No slots yet: n makes one here, every week.",
        ]


async def test_the_hour_that_comes_twice_is_shown_twice_with_its_offsets(tmp_path: Path) -> None:
    async with on_schedule(tmp_path, now=datetime(2026, 10, 24, 9, tzinfo=UTC)) as seen:
        assert " again " in seen.text
        assert "UTC+02:00" in seen.text
        await seen.to("10-25 02")
        assert seen.said[0] == "Sun 25 Oct 2026 02:00–02:59 (the first time), UTC+02:00 · in 1 day"
        await seen.press("j")
        assert seen.said[0] == "Sun 25 Oct 2026 02:00–02:59 (the second time), UTC+01:00 · in 1 day"


async def test_half_an_hour_that_does_not_exist(tmp_path: Path) -> None:
    now = datetime(2026, 10, 1, 0, tzinfo=UTC)
    async with on_schedule(tmp_path, zone="Australia/Lord_Howe", now=now) as seen:
        await seen.to("10-04 02")
        assert "from :30" in seen.text
        assert seen.said[0].startswith("Sun 4 Oct 2026 02:30–02:59, UTC+11:00")


async def test_a_draft_that_was_meant_in_another_zone_says_so(tmp_path: Path) -> None:
    async with open_at(tmp_path, clock=Watch(NOW)) as desk:
        await put_at(desk, NOW + HOUR, scheduled_wall="2026-03-25T06:30", scheduled_zone="America/New_York")
    async with on_schedule(tmp_path, zone="Asia/Kathmandu") as seen:
        await seen.press("j")
        assert "meant as 06:30 America/New_York" in seen.said[1]


async def test_a_narrow_terminal_shows_one_day_and_goes_on_to_the_next(tmp_path: Path) -> None:
    await fill(tmp_path, at=[NOW + DAY])
    async with on_schedule(tmp_path, size=(40, 16)) as seen:
        assert "Wed 25 Mar" in seen.lines[2]
        await seen.press("l")
        assert "Thu 26 Mar" in seen.lines[2]
        assert ":30 S Draft 1" in seen.text
        await seen.resize(120, 16)
        assert "Mon 23 Mar" in seen.lines[2]


async def test_a_terminal_with_room_for_all_hours_shows_them(tmp_path: Path) -> None:
    async with on_schedule(tmp_path, size=(80, 44)) as seen:
        assert all(f" {hour:02}:00 " in seen.text for hour in range(24) if hour != 10)


async def test_what_another_process_schedules_appears_under_a_cursor_that_stays(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "j")
        await put_at(seen.desk, NOW + 2 * HOUR, text="From elsewhere")
        seen.app.changes += 1
        seen.screen._read_changes()
        await seen.wait()
        assert "From elsewhere" in seen.text
        assert seen.cursor == Place(TODAY, Hour(12))


async def test_the_line_of_now_goes_on_with_the_time(tmp_path: Path) -> None:
    watch = Watch(NOW)
    async with on_schedule(tmp_path, clock=watch) as seen:
        watch.now = NOW + HOUR + 7 * MINUTE
        seen.screen._tick()
        await seen.wait()
        assert "▸11:37" in seen.text
        assert "▸10:30" not in seen.text
        assert seen.cursor == Place(TODAY, Hour(10))


async def test_a_desk_that_cannot_be_read_leaves_the_week_and_says_why(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:

        async def week(_: object = None) -> None:
            raise StoreBusyError(hint="Is Copydesk open elsewhere?")

        assert seen.app.desk
        seen.app.desk.schedule.week = week
        await seen.press("]")
        assert "Is Copydesk open elsewhere?" in seen.toasts[-1]
        assert "Wed 25 Mar" in seen.text


# The cursor.


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ("jjk", Place(TODAY, Hour(11))),
        ("hh", Place(date(2026, 3, 23), Hour(10))),
        ("hhh", Place(date(2026, 3, 22), Hour(10))),
        ("lllll", Place(date(2026, 3, 30), Hour(10))),
        ("g", Place(TODAY, Hour(2))),
        ("Gj", Place(TODAY, Hour(23))),
        ("[[", Place(date(2026, 3, 11), Hour(10))),
        ("]]]t", Place(TODAY, Hour(10))),
    ],
)
async def test_the_keys_move_the_cursor_into_other_weeks_too(tmp_path: Path, keys: str, where: Place) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press(*keys)
        assert seen.cursor == where


async def test_a_click_is_a_cursor(tmp_path: Path) -> None:
    async with on_schedule(tmp_path, size=(80, 24)) as seen:
        await seen._pilot.click("#week", offset=(7 + 10 * 4 + 3, 2 + 5))
        await seen.wait()
        assert seen.cursor == Place(date(2026, 3, 27), Hour(10))


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


async def test_a_move_is_undone_and_done_again(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, at=[NOW + HOUR])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "J", "J", "u")
        assert await times(seen.desk) == {draft: NOW + 2 * HOUR}
        assert seen.toasts[-1] == "Undone: reschedule"
        await seen.press("ctrl+r")
        assert await times(seen.desk) == {draft: NOW + 3 * HOUR}


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
        await seen.press("J", "c", "enter", "d")
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
        await seen.press("j", "c")
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


async def test_enter_reads_the_draft(tmp_path: Path) -> None:
    await fill(tmp_path, at=[NOW + HOUR])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "enter")
        assert "Draft · q closes" in seen.text
        await seen.press("q")
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
        assert seen.toasts == ["2 approved drafts left out: there are no slots to schedule to."]


# Slots.


@pytest.mark.parametrize(
    ("answer", "made"), [("", slot(WED, 12)), ("30", slot(WED, 12, 30)), ("4:05", slot(WED, 4, 5))]
)
async def test_a_slot_is_made_at_the_cursor(tmp_path: Path, answer: str, made: Slot) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "j", "n")
        assert "A slot every Wed, at which minute of 12:00–12:59?" in seen.text
        await (seen.type(answer) if answer else seen.press("enter"))
        assert await seen.desk.schedule.slots() == (made,)
        assert f"[:{made.minute:02}" in seen.text


async def test_an_answer_that_is_no_minute_is_asked_for_again(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("n")
        await seen.type("60")
        assert "That is no minute and no time" in seen.text
        await seen.type("25:00")
        await seen.press("escape")
        assert await seen.desk.schedule.slots() == ()


async def test_a_slot_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(WED, 10)])
    async with on_schedule(tmp_path) as seen:
        await seen.press("n", "enter")
        assert seen.toasts == ["There is a slot every Wed 10:00 already."]


async def test_slots_are_deleted_and_come_back(tmp_path: Path) -> None:
    both = (slot(MON, 9), slot(WED, 11))
    await fill(tmp_path, slots=both)
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "d")
        assert await seen.desk.schedule.slots() == both[:1]
        assert seen.toasts[-1] == "Slot Wed 11:00 deleted · u undo"
        await seen.press("u")
        assert await seen.desk.schedule.slots() == both
        await seen.press("ctrl+r")
        assert await seen.desk.schedule.slots() == both[:1]


async def test_the_slot_of_a_scheduled_draft_is_deleted_and_the_draft_stays(tmp_path: Path) -> None:
    (draft,) = await fill(tmp_path, slots=[slot(WED, 11, 30)], at=[NOW + HOUR])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "d")
        assert await seen.desk.schedule.slots() == ()
        assert await times(seen.desk) == {draft: NOW + HOUR}


async def test_slots_that_were_changed_elsewhere_are_not_undone(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(WED, 11)])
    async with on_schedule(tmp_path) as seen:
        await seen.press("j", "d")
        await seen.desk.schedule.set_slots([slot(TUE, 8)])
        await seen.press("u")
        assert await seen.desk.schedule.slots() == (slot(TUE, 8),)
        assert "changed since" in seen.toasts[-1]


async def test_a_slot_in_the_hour_that_is_skipped_says_what_it_is_meant_as(tmp_path: Path) -> None:
    await fill(tmp_path, slots=[slot(SUN, 2, 30)])
    async with on_schedule(tmp_path) as seen:
        await seen.to("03-29 03")
        assert "▌03:00 free slot, every Sun 02:30, which the clocks skip here" in seen.said


# Zone and clock.


async def test_the_zone_is_changed_and_comes_back(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("z")
        await seen.type("Asia/Kathmandu")
        assert "Asia/Kathmandu, UTC+05:45" in seen.title
        await seen.press("u")
        assert "Europe/Prague" in seen.title


async def test_a_zone_that_does_not_exist_is_asked_for_again_with_what_was_typed(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("z")
        await seen.type("Europe/Pragu")
        assert "is no time zone" in seen.text
        assert "Europe/Pragu" in seen.text
        await seen.press("escape")
        assert await seen.desk.schedule.zone() == "Europe/Prague"


async def test_a_clock_in_doubt_stands_above_the_week_until_it_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_schedule(tmp_path) as seen:
        doubts: list[ClockDoubt | None] = [ClockDoubt(since=NOW, seconds=3 * 3600.0)]

        async def doubt() -> ClockDoubt | None:
            return doubts[0]

        async def accept() -> ClockDoubt | None:
            before, doubts[0] = doubts[0], None
            return before

        assert seen.app.desk
        monkeypatch.setattr(seen.app.desk.schedule, "clock_doubt", doubt)
        monkeypatch.setattr(seen.app.desk.schedule, "accept_clock", accept)
        await seen.press("]")
        assert "C accept · The clock jumped forward by 3 hours: nothing goes out." in seen.text
        await seen.press("C")
        assert "jumped" not in seen.text


# Bad input.


@pytest.mark.parametrize("text", ["[/foo] [@click=app.quit]x[/]", "\x1b[2J\x1b]52;c;x\x07", "日本語" * 60, "\u202eabc"])
async def test_hostile_texts_break_nothing(tmp_path: Path, text: str) -> None:
    async with open_at(tmp_path, clock=Watch(NOW)) as desk:
        await put_at(desk, NOW + HOUR, text=text)
        await put(desk, 1, text=text)
        await desk.schedule.set_slots([slot(FRI, 9)])
    for size in ((120, 30), (80, 24), (40, 12)):
        async with on_schedule(tmp_path, size=size) as seen:
            await seen.press("j", "enter", "q", "s", "escape", "A")
            assert "\x1b" not in seen.text
            assert "\u202e" not in seen.text
            await seen.press("escape")
            assert max(cell_len(line) for line in seen.lines) <= size[0]
