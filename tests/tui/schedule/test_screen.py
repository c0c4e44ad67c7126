"""Tests for the schedule screen: the week's content and the cursor."""

from datetime import UTC, date, datetime
from itertools import cycle, product
from pathlib import Path

import pytest
from rich.cells import cell_len

from copydesk.errors import StoreBusyError
from copydesk.tui import labels
from copydesk.tui.schedule.actions import PlanDialog
from copydesk.tui.schedule.week import GridPosition, Hour
from desk_fixtures import Watch, open_desk_at
from sampling import EXHAUSTIVE
from schedule_driver import DAY, HOUR, MINUTE, NOW, fill_schedule, open_schedule
from schedule_fixtures import FRI, THU, insert_drafts, insert_scheduled, make_slot

# NOW is Wednesday, 25 March 2026, 10:30 in Prague.
TODAY = date(2026, 3, 25)


# Content


def test_title_names_utc_once() -> None:
    assert labels.week_title("Mon – Sun", "Etc/UTC", "UTC+00:00", "", 0) == "Mon – Sun · UTC"


async def test_cursor_starts_at_current_hour(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:
        assert ui.cursor == GridPosition(TODAY, Hour(10))
        assert "▸10:30" in ui.text
        assert ui.cell_lines[0] == "Wed 25 Mar 2026 10:00–10:59, UTC+01:00 · now"


async def test_empty_schedule_names_next_key(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, approved=2)
    async with open_schedule(tmp_path) as ui:
        assert "No weekly slots. A adds one here (2 approved drafts waiting)." in ui.text


async def test_empty_hour_names_the_keys_that_fill_it(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, slots=[make_slot(THU, 9, 15)])
    async with open_schedule(tmp_path) as ui:
        hint = "s schedules an approved draft here · A adds a weekly slot"
        assert hint in ui.cell_lines[1]
        await ui.press("k", "k")
        assert hint not in ui.text


async def test_later_drafts_of_the_week_are_listed_where_there_is_room(tmp_path: Path) -> None:
    await fill_schedule(
        tmp_path, slots=[make_slot(FRI, 8)], at=[NOW - HOUR, *(NOW + number * 6 * HOUR for number in range(8))]
    )
    async with open_schedule(tmp_path, size=(160, 42)) as ui:
        assert "Draft 2" in ui.cell_lines[1]
        # Neither drafts of the past and of this hour nor the free slot.
        assert [line.partition(" S ")[0].split() for line in ui.cell_lines[2:]] == [
            [],
            ["Later", "this", "week"],
            ["Wed", "25", "16:30"],
            ["22:30"],
            ["Thu", "26", "04:30"],
            ["10:30"],
            ["16:30"],
            ["22:30"],
            ["Fri", "27", "04:30"],
        ]
        await ui.resize(160, 37)
        assert ui.cell_lines[-2:] == ["Thu 26 04:30 S scheduled · short  Draft 5", "and 4 more"]
        await ui.press("l", "l", "l")
        assert "Later this week" not in ui.text
        await ui.resize(160, 32)
        await ui.press("h", "h", "h")
        assert "Later this week" not in ui.text


async def test_slots_drafts_and_conflicts_are_displayed(tmp_path: Path) -> None:
    await fill_schedule(
        tmp_path, slots=[make_slot(THU, 9, 15)], at=[NOW + 4 * HOUR, NOW + 4 * HOUR + 20 * MINUTE, NOW + DAY]
    )
    async with open_schedule(tmp_path) as ui:
        assert "[:15" in ui.text
        assert ":30!S Dra" in ui.text
        assert "+1" in ui.text
        await ui.press("j", "j", "j", "j")
        assert ui.cell_lines[1:] == [
            "▌14:30 S scheduled · Conflict: 20 min before another draft · short  Draft 1",
            "14:50 S scheduled · Conflict: 20 min after another draft · short  Draft 2",
        ]
        await ui.press("tab")
        assert ":50!S Dra" in ui.text
        assert ui.cell_lines[2].startswith("▌14:50")


async def test_title_has_zone_and_clock_change(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:
        assert "Mon 23 Mar – Sun 29 Mar 2026 · Europe/Prague, UTC+01:00, from Sun UTC+02:00" in ui.title
        await ui.press("]")
        assert "Sun 5 Apr 2026 · Europe/Prague, UTC+02:00 (now UTC+01:00)" in ui.title
        await ui.press("b")
        assert ui.cursor == GridPosition(TODAY, Hour(10))


async def test_skipped_hour_is_marked(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:
        await ui.move_to("03-29 02")
        assert "skipped" in ui.text
        assert ui.cell_lines == [
            "Sun 29 Mar 2026 02:00 does not exist: the clocks go forward",
            "Clocks go forward on Sun 29 Mar: 02:00–03:00 does not exist.",
            "No weekly slots. A adds one here.",
        ]


async def test_repeated_hour_is_displayed_twice_with_offsets(tmp_path: Path) -> None:
    async with open_schedule(tmp_path, now=datetime(2026, 10, 24, 9, tzinfo=UTC)) as ui:
        assert " again " in ui.text
        assert "UTC+02:00" in ui.text
        await ui.move_to("10-25 02")
        assert ui.cell_lines[0] == "Sun 25 Oct 2026 02:00–02:59 (first time), UTC+02:00 · in 1 day"
        await ui.press("j")
        assert ui.cell_lines[0] == "Sun 25 Oct 2026 02:00–02:59 (second time), UTC+01:00 · in 1 day"


async def test_skipped_half_hour_is_marked(tmp_path: Path) -> None:
    now = datetime(2026, 10, 1, 0, tzinfo=UTC)
    async with open_schedule(tmp_path, zone="Australia/Lord_Howe", now=now) as ui:
        await ui.move_to("10-04 02")
        assert "from :30" in ui.text
        assert ui.cell_lines[0].startswith("Sun 4 Oct 2026 02:30–02:59, UTC+11:00")


async def test_draft_scheduled_in_other_zone_says_so(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, clock=Watch(NOW)) as desk:
        await insert_scheduled(desk, NOW + HOUR, scheduled_wall="2026-03-25T06:30", scheduled_zone="America/New_York")
    async with open_schedule(tmp_path, zone="Asia/Kathmandu") as ui:
        await ui.press("j")
        assert "set as 06:30 America/New_York" in ui.cell_lines[1]


async def test_narrow_terminal_shows_one_day(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, at=[NOW + DAY])
    async with open_schedule(tmp_path, size=(40, 16)) as ui:
        assert "Wed 25 Mar" in ui.lines[2]
        await ui.press("l")
        assert "Thu 26 Mar" in ui.lines[2]
        assert ":30 S Draft 1" in ui.text
        await ui.resize(120, 16)
        assert "Mon 23 Mar" in ui.lines[2]


async def test_tall_terminal_shows_all_hours(tmp_path: Path) -> None:
    async with open_schedule(tmp_path, size=(80, 44)) as ui:
        assert all(f" {hour:02}:00 " in ui.text for hour in range(24) if hour != 10)


async def test_external_change_appears_and_cursor_stays(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:
        await ui.press("j", "j")
        await insert_scheduled(ui.desk, NOW + 2 * HOUR, text="From elsewhere")
        ui.app.change_count += 1
        ui.screen._refresh_if_changed()
        await ui.wait()
        assert "From elsewhere" in ui.text
        assert ui.cursor == GridPosition(TODAY, Hour(12))


async def test_current_time_marker_advances(tmp_path: Path) -> None:
    watch = Watch(NOW)
    async with open_schedule(tmp_path, clock=watch) as ui:
        watch.now = NOW + HOUR + 7 * MINUTE
        ui.pane.update_time()
        await ui.wait()
        assert "▸11:37" in ui.text
        assert "▸10:30" not in ui.text
        assert ui.cursor == GridPosition(TODAY, Hour(10))


@pytest.mark.parametrize(("cursor", "scroll", "move"), [("G", "scroll_home", "k"), ("g", "scroll_end", "j")])
async def test_update_does_not_scroll_back_to_the_cursor(tmp_path: Path, cursor: str, scroll: str, move: str) -> None:
    async with open_schedule(tmp_path, size=(80, 16)) as ui:
        grid = ui.pane.grid
        await ui.press(cursor)
        getattr(grid, scroll)(animate=False)
        await ui.wait()
        scrolled_to = grid.scroll_offset.y
        ui.pane.update_time()
        await ui.wait()
        assert grid.scroll_offset.y == scrolled_to
        ui.app.change_count += 1
        ui.screen._refresh_if_changed()
        await ui.wait()
        assert grid.scroll_offset.y == scrolled_to
        await ui.press(move)
        assert grid.scroll_offset.y != scrolled_to


async def test_failed_load_keeps_week_and_shows_error(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:

        async def week(_: object = None) -> None:
            raise StoreBusyError(hint="Is Copydesk open elsewhere?")

        assert ui.app.desk
        ui.app.desk.schedule.week = week
        await ui.press("]")
        assert "Is Copydesk open elsewhere?" in ui.toasts[-1]
        assert "Wed 25 Mar" in ui.text


# Cursor


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("jjk", GridPosition(TODAY, Hour(11))),
        ("hh", GridPosition(date(2026, 3, 23), Hour(10))),
        ("hhh", GridPosition(date(2026, 3, 22), Hour(10))),
        ("lllll", GridPosition(date(2026, 3, 30), Hour(10))),
        ("g", GridPosition(TODAY, Hour(2))),
        ("Gj", GridPosition(TODAY, Hour(23))),
        ("[[", GridPosition(date(2026, 3, 11), Hour(10))),
        ("]]]b", GridPosition(TODAY, Hour(10))),
    ],
)
async def test_keys_move_cursor_across_weeks(tmp_path: Path, keys: str, expected: GridPosition) -> None:
    async with open_schedule(tmp_path) as ui:
        await ui.press(*keys)
        assert ui.cursor == expected


async def test_click_moves_cursor(tmp_path: Path) -> None:
    async with open_schedule(tmp_path, size=(80, 24)) as ui:
        await ui.pilot.click("#week", offset=(7 + 10 * 4 + 3, 2 + 5))
        await ui.wait()
        assert ui.cursor == GridPosition(date(2026, 3, 27), Hour(10))


# Hostile input


HOSTILE = (
    ("[/foo] [@click=app.quit]x[/]", "[/foo] "),
    ("\x1b[2J\x1b]52;c;x\x07abc", "abc"),
    ("日本語" * 60, "日本語"),
    ("\u202eabc", "abc"),
)
SIZES = ((40, 12), (120, 30), (80, 24))


@pytest.mark.parametrize(
    ("hostile", "size"), product(HOSTILE, SIZES) if EXHAUSTIVE else zip(HOSTILE, cycle(SIZES), strict=False)
)
async def test_hostile_text_is_harmless(tmp_path: Path, hostile: tuple[str, str], size: tuple[int, int]) -> None:
    text, displayed = hostile
    async with open_desk_at(tmp_path, clock=Watch(NOW)) as desk:
        await insert_scheduled(desk, NOW + HOUR, text=text)
        await insert_drafts(desk, 1, text=text)
        await desk.schedule.set_slots([make_slot(FRI, 9)])
    async with open_schedule(tmp_path, size=size) as ui:
        await ui.press("j", "enter", "2", "s", "escape", "Q")
        assert isinstance(ui.app.screen, PlanDialog)
        assert displayed in ui.text
        assert "\x1b" not in ui.text
        assert "\u202e" not in ui.text
        await ui.press("escape")
        assert ui.app.screen is ui.screen
        assert max(cell_len(line) for line in ui.lines) <= size[0]


async def test_terminal_made_smaller_on_another_screen_keeps_drafts_of_one_hour(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, at=[NOW + 10 * MINUTE, NOW + 20 * MINUTE])
    async with open_schedule(tmp_path, size=(120, 40)) as ui:
        await ui.press("tab", "1")
        await ui.resize(80, 24)
        await ui.press("2")
        assert ui.cell_lines[2].startswith("▌10:50")
