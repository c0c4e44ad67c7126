"""The schedule on the screen: what is seen of a week, and where the cursor goes."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from rich.cells import cell_len

from copydesk.errors import StoreBusyError
from copydesk.tui.week_clock import Hour, Place
from desk_fixtures import Watch, open_at
from schedule_fixtures import FRI, THU, put, put_at, slot
from schedule_screen import DAY, HOUR, MINUTE, NOW, fill, on_schedule

# NOW is Wednesday, 25 March 2026, 10:30 in Prague.
TODAY = date(2026, 3, 25)


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


# Bad input.


@pytest.mark.parametrize("text", ["[/foo] [@click=app.quit]x[/]", "\x1b[2J\x1b]52;c;x\x07", "日本語" * 60, "\u202eabc"])
async def test_hostile_texts_break_nothing(tmp_path: Path, text: str) -> None:
    async with open_at(tmp_path, clock=Watch(NOW)) as desk:
        await put_at(desk, NOW + HOUR, text=text)
        await put(desk, 1, text=text)
        await desk.schedule.set_slots([slot(FRI, 9)])
    for size in ((120, 30), (80, 24), (40, 12)):
        async with on_schedule(tmp_path, size=size) as seen:
            await seen.press("j", "enter", "2", "s", "escape", "A")
            assert "\x1b" not in seen.text
            assert "\u202e" not in seen.text
            await seen.press("escape")
            assert max(cell_len(line) for line in seen.lines) <= size[0]
