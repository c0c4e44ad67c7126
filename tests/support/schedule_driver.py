"""The Schedule screen on a real desk with a fixed clock."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from textual.content import Content

from console_driver import ConsoleDriver, wait_until_idle
from copydesk.desk import Desk
from copydesk.model.schedule import Slot
from copydesk.tui.app import Console
from copydesk.tui.schedule.screen import ScheduleScreen
from copydesk.tui.schedule.week import GridPosition
from copydesk.tui.schedule.week_pane import WeekPane
from desk_fixtures import Watch, open_desk_at
from schedule_fixtures import insert_drafts, insert_scheduled

NOW = datetime(2026, 3, 25, 9, 30, tzinfo=UTC)
"""A Wednesday; 10:30 in Prague."""
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

_KEY_NAMES = {"[": "left_square_bracket", "]": "right_square_bracket"}


class ScheduleDriver(ConsoleDriver):
    """Drives the Schedule screen; `desk` is a second desk on the same database."""

    desk: Desk

    async def press(self, *keys: str) -> None:
        """Press keys; brackets are written as such."""
        await super().press(*(_KEY_NAMES.get(key, key) for key in keys))

    @property
    def screen(self) -> ScheduleScreen:
        """The Schedule screen, also from below a dialog."""
        screen = self.app.screen_stack[0]
        assert isinstance(screen, ScheduleScreen)
        return screen

    @property
    def pane(self) -> WeekPane:
        """The week on that screen."""
        return self.screen.week_pane

    @property
    def cursor(self) -> GridPosition:
        """The cell under the cursor."""
        assert self.pane.grid.cursor
        return self.pane.grid.cursor

    @property
    def title(self) -> str:
        """The title above the week."""
        return Content.from_markup(str(self.pane.grid.border_title)).plain

    @property
    def cell_lines(self) -> list[str]:
        """The lines about the cell under the cursor, the title first."""
        under = self.pane.detail_pane
        return [
            Content.from_markup(str(under.border_title)).plain.strip(),
            *(line.plain.strip() for line in under.lines(200)),
        ]

    async def move_to(self, wall: str) -> None:
        """Move the cursor to a day and hour like `03-25 14`."""
        day, hour = datetime.strptime(f"2026-{wall}", "%Y-%m-%d %H").date(), int(wall[-2:])  # noqa: DTZ007
        grid = self.pane.grid
        assert grid.grid
        grid.move_to(GridPosition(day, next(row for row in grid.grid.hours if row.hour == hour)))
        await self.wait()

    async def answer(self, text: str) -> None:
        """Replace the prompt's text with `text` and submit it."""
        await self.press("ctrl+u", *text, "enter")


@asynccontextmanager
async def open_schedule(
    home: Path,
    *,
    zone: str = "Europe/Prague",
    size: tuple[int, int] = (120, 30),
    now: datetime = NOW,
    clock: Callable[[], datetime] | None = None,
) -> AsyncIterator[ScheduleDriver]:
    """Open the Schedule screen."""
    async with open_desk_at(home, clock=clock or Watch(now)) as desk:
        await desk.schedule.set_zone(zone)
        app = make_schedule_console(home, now, clock)
        async with app.run_test(size=size, notifications=True) as pilot:
            await wait_until_idle(pilot)
            ui = ScheduleDriver(app, pilot)
            ui.desk = desk
            await ui.press("2")
            yield ui


def make_schedule_console(home: Path, now: datetime = NOW, clock: Callable[[], datetime] | None = None) -> Console:
    """Return the console of the desk in `home`."""
    console_clock = clock or Watch(now)
    return Console(lambda: open_desk_at(home, clock=console_clock), clock=console_clock)


async def fill_schedule(
    home: Path, *, slots: Sequence[Slot] = (), at: Sequence[datetime] = (), approved: int = 0
) -> list[str]:
    """Set the slots, insert drafts scheduled at these instants and approved ones.

    Return the ids of the scheduled drafts.
    """
    async with open_desk_at(home, clock=Watch(NOW)) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        await desk.schedule.set_slots(slots)
        await insert_drafts(desk, approved, text="An approved draft")
        return [
            await insert_scheduled(desk, scheduled_at, text=f"Draft {number}")
            for number, scheduled_at in enumerate(at, 1)
        ]
