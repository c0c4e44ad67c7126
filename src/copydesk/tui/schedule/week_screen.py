"""The read-only part of the schedule screen: loads a week, moves the cursor, describes the cell."""

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
from copydesk.tui import empty_states
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.schedule.week_clock import GridPosition, Hour, grid_position
from copydesk.tui.schedule.week_grid import WeekGrid
from copydesk.tui.schedule.week_layout import CalendarEntry, HourCell
from copydesk.tui.schedule.week_lines import (
    cell_details,
    cell_title,
    clock_warning_line,
    empty_week_hint,
    format_clock_change,
)
from copydesk.tui.widgets.line_views import MessageLines

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.job import ClockWarning
    from copydesk.model.schedule import Week

CLOCK_REFRESH_INTERVAL = 20.0
"""Seconds between updates of the displayed time."""
_MORNING = Hour(9)


class WeekLoaded(Message, bubble=False):
    """A week was loaded."""

    def __init__(
        self,
        week: "Week",
        clock_warning: "ClockWarning | None",
        approved: int,
        *,
        requested_day: date | None,
        changes: int,
    ) -> None:
        super().__init__()
        self.week = week
        self.clock_warning = clock_warning
        self.approved = approved
        """Number of approved drafts without a time."""
        self.requested_day = requested_day
        """The day whose week was requested; None for the current one."""
        self.changes = changes
        """`WeekScreen.change_count` at the time of the request."""


class WeekScreen(DeskScreen):
    """The week above, details of the cell under the cursor below."""

    VERTICAL_BREAKPOINTS = [(0, "-low"), (10, "-tall"), (40, "-high")]

    grid = getters.query_one("#week", WeekGrid)
    detail_pane = getters.query_one("#cell", MessageLines)

    def __init__(self) -> None:
        super().__init__()
        self.week: Week | None = None
        self._day: date | None = None
        """A day of the displayed or requested week; None for the current one."""
        self._target: tuple[GridPosition, str] | None = None
        """Cursor position, and key of the entry to select there, once the requested week is loaded."""
        self._clock_warning: ClockWarning | None = None
        self._approved_count = 0
        self.pending_writes = 0
        """Writes that are displayed but not finished; a week loaded meanwhile is outdated."""
        self.change_count = 0
        """Incremented when a write starts and when it ends; a week requested before that is outdated, too."""
        self._loader: Coalescer[Desk] = Coalescer(self._load_week)

    def body(self) -> Iterable[Widget]:
        yield MessageLines(id="doubt")
        yield WeekGrid(id="week")
        yield MessageLines(id="cell")

    def on_mount(self) -> None:
        self.grid.set_title("Schedule")
        self.grid.show_note(empty_states.OPENING)
        self.set_interval(CLOCK_REFRESH_INTERVAL, self._tick)
        self.grid.focus()

    def show_error(self, error: CopydeskError) -> None:
        self.week = None
        self.grid.show_note(self.error_note(error))

    @property
    def zone(self) -> ZoneInfo:
        """Return the user's time zone; UTC until a week is loaded."""
        return ZoneInfo(self.week.zone if self.week else "UTC")

    def now(self) -> datetime:
        return self.app.clock()

    def refresh_data(self) -> None:
        """Load the week again."""
        self.reload_week()

    def reload_week(self, *, keys_wait: bool = False) -> None:
        """Load the week again; with `keys_wait`, keys typed meanwhile wait for it."""
        self.load_with_retry(self._loader.submit_and_wait, keys_wait=keys_wait)

    async def _load_week(self, desk: "Desk") -> None:
        requested_day, changes = self._day, self.change_count
        week = await desk.schedule.week(requested_day)
        clock_warning = await desk.schedule.clock_warning()
        approved = (await desk.drafts.counts()).by_status[Status.APPROVED]
        self.post_message(WeekLoaded(week, clock_warning, approved, requested_day=requested_day, changes=changes))

    @on(WeekLoaded)
    def _show_loaded(self, message: WeekLoaded) -> None:
        """Show the week, unless it is outdated. The cursor stays on its hour and on the selected entry."""
        # Outdated by a change that is displayed already, or another week than the one requested last.
        if self.pending_writes or message.changes != self.change_count or message.requested_day != self._day:
            return
        self.is_loaded = True
        self.week, self._clock_warning, self._approved_count = message.week, message.clock_warning, message.approved
        # Later loads stay with this week even when the next one has begun.
        self._day = message.week.monday
        position, selected = self._target or (self._default_position(), self.grid.entry.key if self.grid.entry else "")
        self._target = None
        self._show_clock_warning()
        self.show(position, selected)

    def _default_position(self) -> GridPosition:
        """Return the cursor position, at first the current hour; the Monday morning if that is in another week."""
        # Only called once a week is loaded.
        assert self.week
        current_hour = grid_position(self.now(), self.zone)
        position = self.grid.cursor or current_hour
        return position if self._is_in_week(position.day) else GridPosition(self.week.monday, _MORNING)

    def _is_in_week(self, day: date) -> bool:
        return self.week is not None and 0 <= (day - self.week.monday).days < 7

    def show(self, position: GridPosition, selected: str = "") -> None:
        """Move the cursor to `position` and select the entry with key `selected`; load another week first if needed."""
        if self.week is not None and self._is_in_week(position.day):
            self.grid.show(self.week, self.now(), position, selected)
        else:
            # The cursor is set once the other week has been loaded.
            self._day, self._target = position.day, (position, selected)
            self.reload_week(keys_wait=True)

    def _tick(self) -> None:
        """Update the displayed time; a covered screen does it when it is shown again."""
        if self.is_current and self.grid.cursor:
            self.show(self.grid.cursor, self.grid.entry.key if self.grid.entry else "")

    def on_screen_resume(self) -> None:
        self._tick()

    def _show_clock_warning(self) -> None:
        banner = self.query_one("#doubt", MessageLines)
        banner.set_class(self._clock_warning is not None, "-there")
        banner.set_lines([clock_warning_line(self._clock_warning)] if self._clock_warning else [])

    @on(WeekGrid.Moved)
    def _show_cell(self) -> None:
        cell = self.grid.cell
        if cell is None or self.week is None:
            self.detail_pane.set_title("")
            self.detail_pane.set_lines([])
            return
        self.detail_pane.set_title(cell_title(cell, self.zone, self.now()))
        self.detail_pane.set_lines(self._cell_lines(cell, self.grid.entry))

    def _cell_lines(self, cell: HourCell, entry: CalendarEntry | None) -> Iterable[Content]:
        """Yield the day's clock change, the entries of the cell, and a hint if the week is empty."""
        available = self.detail_pane.drawable_size
        changes = 0
        for change in self.grid.grid.changes if self.grid.grid else ():
            if change.day == cell.position.day:
                yield Content.styled(f" {format_clock_change(change)}", "warn")
                changes += 1
        # The lines for clock changes come off the height that is left for the entries.
        yield from cell_details(cell, self.zone, entry, available.width, available.height - changes)
        if not cell.entries and self.week is not None:
            yield Content(" ") + Content.assemble(*empty_week_hint(self.week, self._approved_count))

    def action_move(self, days: int, hours: int) -> None:
        self.grid.move_by(days, hours)

    def action_hour(self, at: int) -> None:
        """Move to the first hour (`at` 0) or the last one (-1)."""
        if self.grid.grid and self.grid.cursor:
            self.grid.move_to(GridPosition(self.grid.cursor.day, self.grid.grid.hours[at]))

    def action_next_entry(self) -> None:
        """Select the next entry of the cell."""
        self.grid.select_next_entry()

    def action_week(self, by: int) -> None:
        """Move by weeks, starting from the cursor or from where it is about to be."""
        position = self._target[0] if self._target else self.grid.cursor
        if position:
            self.show(GridPosition(position.day + timedelta(weeks=by), position.hour))

    def action_today(self) -> None:
        """Move to the current hour."""
        if self.week is not None:
            self.show(grid_position(self.now(), self.zone))

    @on(WeekGrid.OtherWeekRequested)
    def _follow_beyond(self, message: WeekGrid.OtherWeekRequested) -> None:
        self.show(message.position)
