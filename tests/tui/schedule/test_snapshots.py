"""Snapshots of the schedule screen."""

import asyncio
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from console_driver import TEXTS, ConsoleDriver
from copydesk.tui.schedule.screen import ScheduleScreen
from copydesk.tui.schedule.week import GridPosition, Hour
from copydesk.tui.themes import LIGHT
from desk_fixtures import Watch, open_desk_at
from schedule_driver import HOUR, MINUTE, NOW, make_schedule_console
from schedule_fixtures import FRI, MON, SUN, THU, TUE, WED, insert_draft, insert_scheduled, make_slot
from snapshots import Compare, press_keys

AUTUMN = datetime(2026, 10, 24, 9, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the home of a desk with a busy week."""

    async def furnish() -> None:
        async with open_desk_at(tmp_path, clock=Watch(NOW)) as desk:
            await desk.schedule.set_zone("Europe/Prague")
            mornings = [make_slot(day, 9) for day in (MON, TUE, WED, THU, FRI)]
            await desk.schedule.set_slots(
                [*mornings, make_slot(WED, 14, 30), make_slot(FRI, 14, 30), make_slot(SUN, 2, 30)]
            )
            for number, hours in enumerate((4, 4.25, 26, 22.5)):
                await insert_scheduled(desk, NOW + hours * HOUR, text=TEXTS[number])
            await insert_draft(
                desk, status="posted", scheduled_at=NOW - 49.5 * HOUR, posted_at=NOW - 49.5 * HOUR, text=TEXTS[4]
            )
            await insert_draft(desk, status="missed", scheduled_at=NOW - 25.5 * HOUR, text=TEXTS[5])
            for number in range(4):
                await insert_draft(desk, text=TEXTS[number + 4], confidence=0.9 - number / 10)

    asyncio.run(furnish())
    return tmp_path


@pytest.mark.parametrize("theme", ["", LIGHT.name], ids=["dark", "light"])
def test_full_week(snap_compare: Compare, home: Path, theme: str) -> None:
    assert snap_compare(
        make_schedule_console(home), terminal_size=(120, 40), run_before=press_keys("2", *"jjjj", theme=theme)
    )


@pytest.mark.parametrize("size", [(80, 24), (40, 16)], ids=["80x24", "40x16"])
def test_narrow_terminal(snap_compare: Compare, home: Path, size: tuple[int, int]) -> None:
    assert snap_compare(make_schedule_console(home), terminal_size=size, run_before=press_keys("2", *"jjjj"))


@pytest.mark.parametrize("key", ["Q", "s"], ids=["plan", "pick"])
def test_dialogs(snap_compare: Compare, home: Path, key: str) -> None:
    assert snap_compare(make_schedule_console(home), terminal_size=(100, 28), run_before=press_keys("2", "j", key))


def test_empty_schedule_with_clock_warning(snap_compare: Compare, tmp_path: Path) -> None:
    async def furnish() -> None:
        async with open_desk_at(tmp_path, clock=Watch(NOW + 3 * HOUR)) as desk:
            await desk.schedule.set_zone("Asia/Kathmandu")
            await desk.schedule.clock_warning()

    asyncio.run(furnish())
    # The desk has seen a clock three hours ahead; now the clock is back.
    assert snap_compare(make_schedule_console(tmp_path), terminal_size=(80, 24), run_before=press_keys("2", "j"))


def test_week_with_repeated_hour(snap_compare: Compare, tmp_path: Path) -> None:
    async def furnish() -> None:
        async with open_desk_at(tmp_path, clock=Watch(AUTUMN)) as desk:
            await desk.schedule.set_zone("Europe/Prague")
            first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
            await insert_scheduled(desk, first, text="The first half past two")
            await insert_scheduled(desk, first + HOUR - 10 * MINUTE, text="The second twenty past two")

    asyncio.run(furnish())

    async def move_to_second_hour(ui: ConsoleDriver) -> None:
        screen = ui.app.screen_stack[0]
        assert isinstance(screen, ScheduleScreen)
        screen.week_pane.grid.move_to(GridPosition(date(2026, 10, 25), Hour(2, is_repeat=True)))
        await ui.wait()

    assert snap_compare(
        make_schedule_console(tmp_path, AUTUMN),
        terminal_size=(100, 24),
        run_before=press_keys("2", then=move_to_second_hour),
    )
