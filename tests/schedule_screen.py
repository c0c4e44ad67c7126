"""The console on its screen Schedule, before a real desk whose clock stands still."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from copydesk.desk import Desk
from copydesk.model.schedule import Slot
from copydesk.tui.app import Console
from copydesk.tui.screens.schedule import ScheduleScreen
from copydesk.tui.week_clock import Place
from desk_fixtures import Watch, open_at
from schedule_fixtures import put, put_at
from tui_fixtures import Seen, settled

NOW = datetime(2026, 3, 25, 9, 30, tzinfo=UTC)
"""Wednesday; in Prague it is half past ten."""
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

_NAMES = {"[": "left_square_bracket", "]": "right_square_bracket"}


class Scheduled(Seen):
    """The console on the schedule, and the desk behind it to look into."""

    desk: Desk

    async def press(self, *keys: str) -> None:
        """As others, with brackets as they are written."""
        await super().press(*(_NAMES.get(key, key) for key in keys))

    @property
    def screen(self) -> ScheduleScreen:
        """The schedule, which may lie below a question."""
        found = self.app.screen_stack[0]
        assert isinstance(found, ScheduleScreen)
        return found

    @property
    def cursor(self) -> Place:
        """Where the cursor is."""
        assert self.screen.grid.cursor
        return self.screen.grid.cursor

    @property
    def title(self) -> str:
        """What stands above the week."""
        return str(self.screen.grid.border_title)

    @property
    def said(self) -> list[str]:
        """What is said about the cell under the cursor, its title first."""
        under = self.screen.under
        return [str(under.border_title).strip(), *(line.plain.strip() for line in under.lines(200))]

    async def to(self, wall: str) -> None:
        """The cursor onto this day and hour: `03-25 14`."""
        day, hour = datetime.strptime(f"2026-{wall}", "%Y-%m-%d %H").date(), int(wall[-2:])  # noqa: DTZ007
        grid = self.screen.grid
        assert grid.grid
        grid.go(Place(day, next(each for each in grid.grid.hours if each.hour == hour)))
        await self.wait()

    async def type(self, text: str) -> None:
        """Answer a question with this, in the place of what stands there."""
        await self.press("ctrl+u", *text, "enter")


@asynccontextmanager
async def on_schedule(
    home: Path,
    *,
    zone: str = "Europe/Prague",
    size: tuple[int, int] = (120, 30),
    now: datetime = NOW,
    clock: Callable[[], datetime] | None = None,
) -> AsyncIterator[Scheduled]:
    """The schedule on the screen."""
    async with open_at(home, clock=clock or Watch(now)) as desk:
        await desk.schedule.set_zone(zone)
        app = console_of(home, now, clock)
        async with app.run_test(size=size, notifications=True) as pilot:
            await settled(pilot)
            seen = Scheduled(app, pilot)
            seen.desk = desk
            await seen.press("2")
            yield seen


def console_of(home: Path, now: datetime = NOW, clock: Callable[[], datetime] | None = None) -> Console:
    """The console of the desk in `home`."""
    told = clock or Watch(now)
    return Console(lambda: open_at(home, clock=told), clock=told)


async def fill(home: Path, *, slots: Sequence[Slot] = (), at: Sequence[datetime] = (), approved: int = 0) -> list[str]:
    """A desk with these slots, drafts at these times and approved drafts; the ids of those that have a time."""
    async with open_at(home, clock=Watch(NOW)) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        await desk.schedule.set_slots(slots)
        await put(desk, approved, text="An approved draft")
        return [await put_at(desk, each, text=f"Draft {number}") for number, each in enumerate(at, 1)]
