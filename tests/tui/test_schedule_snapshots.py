"""Snapshots of the schedule screen."""

import asyncio
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from textual.pilot import Pilot

from copydesk.tui.screens.schedule import ScheduleScreen
from copydesk.tui.themes import LIGHT
from copydesk.tui.week_clock import Hour, Place
from desk_fixtures import Watch, open_at
from schedule_fixtures import FRI, MON, SUN, THU, TUE, WED, put_at, put_one, slot
from schedule_screen import HOUR, MINUTE, NOW, console_of
from tui_fixtures import TEXTS, settled

Compare = Callable[..., bool]
AUTUMN = datetime(2026, 10, 24, 9, tzinfo=UTC)


def after(*keys: str, theme: str = "", on: Place | None = None) -> Callable[[Pilot[int]], object]:
    """Return a step to run before the snapshot: open the schedule, press keys, move the cursor."""

    async def run(pilot: Pilot[int]) -> None:
        if theme:
            pilot.app.theme = theme
        await settled(pilot)
        for key in ("2", *keys):
            pilot.app.simulate_key(key)
            await settled(pilot)
        if on is not None:
            screen = pilot.app.screen_stack[0]
            assert isinstance(screen, ScheduleScreen)
            screen.grid.go(on)
            await settled(pilot)

    return run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the home of a desk with a busy week."""

    async def furnish() -> None:
        async with open_at(tmp_path, clock=Watch(NOW)) as desk:
            await desk.schedule.set_zone("Europe/Prague")
            mornings = [slot(day, 9) for day in (MON, TUE, WED, THU, FRI)]
            await desk.schedule.set_slots([*mornings, slot(WED, 14, 30), slot(FRI, 14, 30), slot(SUN, 2, 30)])
            for number, hours in enumerate((4, 4.25, 26, 22.5)):
                await put_at(desk, NOW + hours * HOUR, text=TEXTS[number])
            await put_one(
                desk, status="posted", scheduled_at=NOW - 49.5 * HOUR, posted_at=NOW - 49.5 * HOUR, text=TEXTS[4]
            )
            await put_one(desk, status="missed", scheduled_at=NOW - 25.5 * HOUR, text=TEXTS[5])
            for number in range(4):
                await put_one(desk, text=TEXTS[number + 4], confidence=0.9 - number / 10)

    asyncio.run(furnish())
    return tmp_path


@pytest.mark.parametrize("theme", ["", LIGHT.name], ids=["dark", "light"])
def test_full_week(snap_compare: Compare, home: Path, theme: str) -> None:
    assert snap_compare(console_of(home), terminal_size=(120, 40), run_before=after(*"jjjj", theme=theme))


@pytest.mark.parametrize("size", [(80, 24), (40, 16)], ids=["80x24", "40x16"])
def test_narrow_terminal(snap_compare: Compare, home: Path, size: tuple[int, int]) -> None:
    assert snap_compare(console_of(home), terminal_size=size, run_before=after(*"jjjj"))


@pytest.mark.parametrize("key", ["A", "s"], ids=["plan", "pick"])
def test_dialogs(snap_compare: Compare, home: Path, key: str) -> None:
    assert snap_compare(console_of(home), terminal_size=(100, 28), run_before=after("j", key))


def test_empty_schedule_with_clock_warning(snap_compare: Compare, tmp_path: Path) -> None:
    async def furnish() -> None:
        async with open_at(tmp_path, clock=Watch(NOW + 3 * HOUR)) as desk:
            await desk.schedule.set_zone("Asia/Kathmandu")
            await desk.schedule.clock_doubt()

    asyncio.run(furnish())
    # The desk has seen a clock three hours ahead; now the clock is back.
    assert snap_compare(console_of(tmp_path), terminal_size=(80, 24), run_before=after("j"))


def test_week_with_repeated_hour(snap_compare: Compare, tmp_path: Path) -> None:
    async def furnish() -> None:
        async with open_at(tmp_path, clock=Watch(AUTUMN)) as desk:
            await desk.schedule.set_zone("Europe/Prague")
            first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
            await put_at(desk, first, text="The first half past two")
            await put_at(desk, first + HOUR - 10 * MINUTE, text="The second twenty past two")

    asyncio.run(furnish())
    sunday = Place(date(2026, 10, 25), Hour(2, again=True))
    assert snap_compare(console_of(tmp_path, AUTUMN), terminal_size=(100, 24), run_before=after(on=sunday))
