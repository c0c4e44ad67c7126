"""The part of the schedule that shows a week: reads it, keeps the cursor, says what is under it. It changes nothing."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from textual import getters, on
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from copydesk.errors import CopydeskError
from copydesk.model.draft import Status
from copydesk.tui.latest import Latest
from copydesk.tui.pages import note
from copydesk.tui.pages.week_lines import change_shown, details, doubt_shown, empty_words, when
from copydesk.tui.screens.desk_screen import DeskScreen
from copydesk.tui.week import Cell, Thing
from copydesk.tui.week_clock import Hour, Place, place
from copydesk.tui.widgets.said import Said
from copydesk.tui.widgets.week_grid import WeekGrid

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.job import ClockDoubt
    from copydesk.model.schedule import Week

TICK = 20.0
"""Seconds after which the time that is shown is looked at again."""
_MORNING = Hour(9)


class WeekRead(Message, bubble=False):
    """A week as the desk has it."""

    def __init__(
        self, week: "Week", doubt: "ClockDoubt | None", approved: int, *, wanted: date | None, changes: int
    ) -> None:
        super().__init__()
        self.week = week
        self.doubt = doubt
        self.approved = approved
        """How many drafts wait for a time."""
        self.wanted = wanted
        """The day whose week was asked for."""
        self.changes = changes
        """`WeekScreen.changes` when it was asked for."""


class WeekScreen(DeskScreen):
    """The week above, what is under the cursor below."""

    VERTICAL_BREAKPOINTS = [(0, "-low"), (10, "-tall"), (40, "-high")]

    grid = getters.query_one("#week", WeekGrid)
    under = getters.query_one("#cell", Said)

    def __init__(self) -> None:
        super().__init__()
        self.week: Week | None = None
        self._day: date | None = None
        """A day of the week that is shown or asked for; None for this one."""
        self._goal: tuple[Place, str] | None = None
        """Where the cursor goes, and what it chooses there, when the week is there that was asked for."""
        self._doubt: ClockDoubt | None = None
        self._approved = 0
        self.writing = 0
        """Changes that are shown already and not yet written; what the desk says until then is older."""
        self.changes = 0
        """Goes up when a change is begun and when it is written: what was asked for before that is older too."""
        self._reading: Latest[Desk] = Latest(self._read_week)

    def body(self) -> Iterable[Widget]:
        """The doubt about the clock, the week, the cell."""
        yield Said(id="doubt")
        yield WeekGrid(id="week")
        yield Said(id="cell")

    def on_mount(self) -> None:
        """Say that the desk is being opened, until it is; let the time go on."""
        self.grid.set_title("Schedule")
        self.grid.say(note.OPENING)
        self.set_interval(TICK, self._tick)
        self.grid.focus()

    def say_trouble(self, error: CopydeskError) -> None:
        """Say why there is no week."""
        self.week = None
        self.grid.say(self.trouble_note(error))

    @property
    def zone(self) -> ZoneInfo:
        """The user's zone."""
        return ZoneInfo(self.week.zone if self.week else "UTC")

    def now(self) -> datetime:
        """This moment."""
        return self.app.clock()

    # The desk.

    def read(self) -> None:
        """Read the week again."""
        self.read_week()

    def read_week(self, *, keys_wait: bool = False) -> None:
        """As `read`: the last that is asked for comes last, and keys may wait for that."""
        self.ask_for(self._reading.settle, keys_wait=keys_wait)

    async def _read_week(self, desk: "Desk") -> None:
        wanted, changes = self._day, self.changes
        week = await desk.schedule.week(wanted)
        doubt = await desk.schedule.clock_doubt()
        approved = (await desk.drafts.counts()).by_status[Status.APPROVED]
        self.post_message(WeekRead(week, doubt, approved, wanted=wanted, changes=changes))

    @on(WeekRead)
    def _take_over(self, message: WeekRead) -> None:
        """The cursor stays on its place, and on what it has chosen there."""
        if self.writing or message.changes != self.changes or message.wanted != self._day:
            return
        self.has_read = True
        self.week, self._doubt, self._approved = message.week, message.doubt, message.approved
        self._day = message.week.monday
        where, chosen = self._goal or (self._stays(), self.grid.thing.key if self.grid.thing else "")
        self._goal = None
        self._say_doubt()
        self.show(where, chosen)

    def _stays(self) -> Place:
        """Where the cursor is; at first now, or in the morning of a Monday."""
        assert self.week
        now = place(self.now(), self.zone)
        where = self.grid.cursor or now
        return where if self._holds(where.day) else Place(self.week.monday, _MORNING)

    def _holds(self, day: date) -> bool:
        return self.week is not None and 0 <= (day - self.week.monday).days < 7

    def show(self, where: Place, chosen: str = "") -> None:
        """Show the week with the cursor there, reading the week of that place first where it is another one."""
        if self.week is not None and self._holds(where.day):
            self.grid.show(self.week, self.now(), where, chosen)
        else:
            self._day, self._goal = where.day, (where, chosen)
            self.read_week(keys_wait=True)

    def _tick(self) -> None:
        """The time goes on; a screen that is not seen looks at it when it is shown again."""
        if self.is_current and self.grid.cursor:
            self.show(self.grid.cursor, self.grid.thing.key if self.grid.thing else "")

    def on_screen_resume(self) -> None:
        """What changed meanwhile, and what time it is."""
        self._tick()

    # What is said about it.

    def _say_doubt(self) -> None:
        doubt = self.query_one("#doubt", Said)
        doubt.set_class(self._doubt is not None, "-there")
        doubt.say([doubt_shown(self._doubt)] if self._doubt else [])

    @on(WeekGrid.Moved)
    def _say_cell(self) -> None:
        cell = self.grid.cell
        if cell is None or self.week is None:
            self.under.set_title("")
            self.under.say([])
            return
        self.under.set_title(when(cell, self.zone, self.now()))
        self.under.say(self._lines(cell, self.grid.thing))

    def _lines(self, cell: Cell, thing: Thing | None) -> Iterable[Content]:
        """The clock change of the cell's day, what stands in it, what to press where there is nothing at all."""
        room = self.under.room
        changes = 0
        for change in self.grid.grid.changes if self.grid.grid else ():
            if change.day == cell.where.day:
                yield Content.styled(f" {change_shown(change)}", "warn")
                changes += 1
        yield from details(cell, self.zone, thing, room.width, room.height - changes)
        if not cell.things and self.week is not None:
            yield Content(" ") + Content.assemble(*empty_words(self.week, self._approved))

    # The cursor.

    def action_move(self, days: int, hours: int) -> None:
        """So many days and hours on."""
        self.grid.step(days, hours)

    def action_hour(self, at: int) -> None:
        """The first hour (0) or the last one (-1)."""
        if self.grid.grid and self.grid.cursor:
            self.grid.go(Place(self.grid.cursor.day, self.grid.grid.hours[at]))

    def action_next_thing(self) -> None:
        """The next thing in the cell."""
        self.grid.choose_next()

    def action_week(self, by: int) -> None:
        """So many weeks on, from where the cursor is or is about to be."""
        where = self._goal[0] if self._goal else self.grid.cursor
        if where:
            self.show(Place(where.day + timedelta(weeks=by), where.hour))

    def action_today(self) -> None:
        """To the hour that is now."""
        if self.week is not None:
            self.show(place(self.now(), self.zone))

    @on(WeekGrid.Beyond)
    def _go_on(self, message: WeekGrid.Beyond) -> None:
        self.show(message.where)
