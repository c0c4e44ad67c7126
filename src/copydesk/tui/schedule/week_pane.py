"""The week on the schedule screen: a warning about the clock, the grid, and the cell under its cursor."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message

from copydesk.errors import CopydeskError, NotFoundError
from copydesk.model.draft import Status
from copydesk.model.transitions import EventKind
from copydesk.tui import empty_states, labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import key_label
from copydesk.tui.layout import Paragraph
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.schedule.week import (
    CalendarEntry,
    ClockChange,
    GridPosition,
    Hour,
    HourCell,
    WeekLayout,
    format_slot,
    format_utc_offset,
    grid_position,
    reschedule_draft,
)
from copydesk.tui.schedule.week_grid import SELECTION_MARK, WeekGrid
from copydesk.tui.terminal.cells import safe_line
from copydesk.tui.undo_stack import DraftIds, UndoStack, UndoStep
from copydesk.tui.widgets.lines import MessageLines, set_title

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.job import ClockWarning
    from copydesk.model.schedule import Week, WeekDraft
    from copydesk.tui.desk_screen import DeskScreen

CLOCK_REFRESH_INTERVAL = 20.0
"""Seconds between updates of the displayed time."""
_MORNING = Hour(9)
Work = Callable[["Desk"], Awaitable[None]]


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
        """`WeekPane.change_count` at the time of the request."""


class WeekPane(Vertical):
    """Loads a week from the desk and moves the cursor in it, also to other weeks."""

    app = getters.app(DeskApp)
    grid = getters.query_one("#week", WeekGrid)
    detail_pane = getters.query_one("#cell", MessageLines)

    def __init__(self, screen: "DeskScreen") -> None:
        super().__init__()
        self._desk_screen = screen
        self.week: Week | None = None
        self._day: date | None = None
        """A day of the displayed or requested week; None for the current one."""
        self._target: tuple[GridPosition, str] | None = None
        """Cursor position, and key of the entry to select there, once the requested week is loaded."""
        self._target_set_at: GridPosition | None = None
        """The displayed cursor position when the target was set."""
        self._clock_warning: ClockWarning | None = None
        self._approved_count = 0
        self._pending_writes = 0
        """Writes that are displayed but not finished; a week loaded meanwhile is outdated."""
        self.change_count = 0
        """Incremented when a write starts and when it ends; a week requested before that is outdated, too."""
        self._loader: Coalescer[Desk] = Coalescer(self._load)

    def compose(self) -> ComposeResult:
        yield MessageLines(id="doubt")
        yield WeekGrid(id="week")
        yield MessageLines(id="cell")

    def on_mount(self) -> None:
        set_title(self.grid, labels.SCHEDULE)
        self.grid.show_note(empty_states.opening(self.app.opening_text))
        self.set_interval(CLOCK_REFRESH_INTERVAL, self.update_time)
        self.grid.focus()

    @property
    def zone(self) -> ZoneInfo:
        """Return the user's time zone; UTC until a week is loaded."""
        return ZoneInfo(self.week.zone if self.week else "UTC")

    @property
    def entry(self) -> CalendarEntry | None:
        """Return the entry that keys act on."""
        return self.grid.entry

    @property
    def draft(self) -> "WeekDraft | None":
        """Return the draft that keys act on: the selected one, or the one that the cursor is about to follow."""
        # The grid shows where it was until the other week is loaded. If the user moves the cursor meanwhile, keys act
        # on what is under it.
        target = self._target[1] if self._target and self.grid.cursor == self._target_set_at else ""
        followed = (draft for draft in (self.week.drafts if self.week else ()) if draft.id == target)
        return next(followed, self.entry.draft if self.entry else None)

    def now(self) -> datetime:
        return self.app.clock()

    def reload(self, *, keys_wait: bool = False) -> None:
        """Load the week again; with `keys_wait`, keys typed meanwhile wait for it."""
        self._desk_screen.load_with_retry(self._loader.submit_and_wait, keys_wait=keys_wait)

    async def _load(self, desk: "Desk") -> None:
        requested_day, changes = self._day, self.change_count
        week = await desk.schedule.week(requested_day)
        clock_warning = await desk.schedule.clock_warning()
        approved = (await desk.drafts.counts()).by_status[Status.APPROVED]
        self.post_message(WeekLoaded(week, clock_warning, approved, requested_day=requested_day, changes=changes))

    @on(WeekLoaded)
    def _show_loaded(self, message: WeekLoaded) -> None:
        """Show the week, unless it is outdated. The cursor stays on its hour and on the selected entry."""
        # Outdated by a change that is displayed already, or another week than the one requested last.
        if self._pending_writes or message.changes != self.change_count or message.requested_day != self._day:
            return
        self._desk_screen.is_loaded = True
        self.week, self._clock_warning, self._approved_count = message.week, message.clock_warning, message.approved
        # Later loads stay with this week even when the next one has begun.
        self._day = message.week.monday
        position, selected = self._target or (self._default_position(), self.entry.key if self.entry else "")
        is_update = self._target is None and position == self.grid.cursor
        self._target = None
        self._show_clock_warning()
        self.show(position, selected, is_update=is_update)

    def show_error(self, note: empty_states.Note) -> None:
        """Show, in place of the week, why it could not be loaded."""
        self.week = None
        self.grid.show_note(note)

    def _default_position(self) -> GridPosition:
        """Return the cursor position, at first the current hour; the Monday morning if that is in another week."""
        # Only called once a week is loaded.
        assert self.week
        current_hour = grid_position(self.now(), self.zone)
        position = self.grid.cursor or current_hour
        return position if self._is_in_week(position.day) else GridPosition(self.week.monday, _MORNING)

    def _is_in_week(self, day: date) -> bool:
        return self.week is not None and 0 <= (day - self.week.monday).days < 7

    def show(self, position: GridPosition, selected: str = "", *, is_update: bool = False) -> None:
        """Move the cursor to `position` and select the entry with key `selected`; load another week first if needed.

        An update does not scroll to a cursor that the user has scrolled away from.
        """
        if self.week is not None and self._is_in_week(position.day):
            self.grid.show(self.week, self.now(), position, selected, is_update=is_update)
        else:
            self._set_target(position, selected)
            self.reload(keys_wait=True)

    def show_rescheduled(self, draft_id: str, at: datetime) -> None:
        """Show a draft at another time before that is written; the cursor follows it."""
        if self.week is not None:
            self.week = reschedule_draft(self.week, draft_id, at)
            self.show(grid_position(at, self.zone), draft_id)

    def follow(self, draft_id: str, at: datetime) -> None:
        """Move the cursor to a draft once the week is loaded again."""
        self._set_target(grid_position(at, self.zone), draft_id)

    def _set_target(self, position: GridPosition, selected: str) -> None:
        """Move the cursor to `position` and select the entry with key `selected` once that week has been loaded."""
        self._day, self._target, self._target_set_at = position.day, (position, selected), self.grid.cursor

    def update_time(self) -> None:
        """Update the displayed time; a covered screen does it when it is shown again."""
        if self._desk_screen.is_current and self.grid.cursor:
            self.show(self.grid.cursor, self.entry.key if self.entry else "", is_update=True)

    def _show_clock_warning(self) -> None:
        banner = self.query_one("#doubt", MessageLines)
        banner.set_class(self._clock_warning is not None, "-there")
        banner.set_lines([clock_warning_line(self._clock_warning)] if self._clock_warning else [])

    def on_resize(self) -> None:
        """Fill the height that the lower pane has now."""
        self.call_after_refresh(self._show_cell)

    @on(WeekGrid.Moved)
    def _show_cell(self) -> None:
        cell, grid = self.grid.cell, self.grid.grid
        if cell is None or grid is None or self.week is None:
            set_title(self.detail_pane, "")
            self.detail_pane.set_lines([])
            return
        set_title(self.detail_pane, cell_title(cell, self.zone, self.now()))
        lines = [*self._cell_lines(cell, self.entry)]
        room = self.detail_pane.drawable_size.height - len(lines)
        self.detail_pane.set_lines([*lines, *later_drafts(grid, cell.position, self.zone, room)])

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
            yield Content(" ") + Content.assemble(*empty_hour_hint(cell, self.week, self._approved_count))

    def move_to_hour(self, index: int) -> None:
        """Move to the first hour (`index` 0) or the last one (-1)."""
        if self.grid.grid and self.grid.cursor:
            self.grid.move_to(GridPosition(self.grid.cursor.day, self.grid.grid.hours[index]))

    def move_by_weeks(self, by: int) -> None:
        """Move by weeks, starting from the cursor or from where it is about to be."""
        position = self._target[0] if self._target else self.grid.cursor
        if position:
            self.show(GridPosition(position.day + timedelta(weeks=by), position.hour))

    def move_to_now(self) -> None:
        """Move to the current hour."""
        if self.week is not None:
            self.show(grid_position(self.now(), self.zone))

    @on(WeekGrid.OtherWeekRequested)
    def _show_other_week(self, message: WeekGrid.OtherWeekRequested) -> None:
        self.show(message.position)

    def start_write(self) -> None:
        """Drop weeks requested so far: they are older than what is displayed."""
        self._pending_writes += 1
        self.change_count += 1

    def finish_write(self, *, keys_wait: bool) -> None:
        """Load the week again after the last of the pending writes."""
        self._pending_writes -= 1
        self.change_count += 1
        if not self._pending_writes and self.app.desk is not None:
            self.reload(keys_wait=keys_wait)


class WeekEdits:
    """Changes of the week: displayed at once or soon, written one after the other, and undone by `u`."""

    def __init__(self, screen: "DeskScreen", pane: WeekPane) -> None:
        self._screen = screen
        self._pane = pane
        self._undo_stack = UndoStack("schedule.undo")

    def record(self, step: UndoStep | DraftIds) -> None:
        """Record a change that was written, so that it can be undone."""
        self._undo_stack.record(step)

    def enqueue(self, work: Work, *, keys_wait: bool = True) -> None:
        """Queue a write behind the earlier ones, then load the week again, unless more writes are pending."""
        app = self._pane.app
        if app.desk is None:
            app.notify_error(app.open_error or CopydeskError(labels.DESK_NOT_LOADED))
            return
        self._pane.start_write()
        app.enqueue_write(
            work,
            hold_keys=Hold.RESULT if keys_wait else None,
            on_finished=lambda: self._pane.finish_write(keys_wait=keys_wait),
        )

    def undo(self) -> None:
        """Undo the last change."""
        self.enqueue(self._undo)

    def redo(self) -> None:
        """Redo the change undone last."""
        self.enqueue(self._redo)

    async def _undo(self, desk: "Desk") -> None:
        with self._screen.report_progress(labels.UNDO_IN_PROGRESS[EventKind.UNDO]) as on_progress:
            message = await self._undo_stack.undo(desk, lambda: self._pane.app.stopping, on_progress)
        self._report(message)
        await self._follow(desk)

    async def _redo(self, desk: "Desk") -> None:
        with self._screen.report_progress(labels.UNDO_IN_PROGRESS[EventKind.REDO]) as on_progress:
            message = await self._undo_stack.redo(desk, lambda: self._pane.app.stopping, on_progress)
        self._report(message)
        await self._follow(desk)

    async def _follow(self, desk: "Desk") -> None:
        """Let the cursor follow the draft that was undone or redone, if it is one and it has a time."""
        if len(self._undo_stack.changed_drafts) != 1:
            return
        # Deleted meanwhile: the week that is loaded next shows it.
        with suppress(NotFoundError):
            draft = await desk.drafts.get(self._undo_stack.changed_drafts[0])
            if draft.status is Status.SCHEDULED and draft.scheduled_at is not None:
                self._pane.follow(draft.id, draft.scheduled_at)

    def _report(self, message: str) -> None:
        """Notify of the result; print it in the terminal if the console exits before it could be read."""
        app = self._pane.app
        app.notify_latest(message)
        if app.stopping:
            app.exit_message = message


def cell_title(cell: HourCell, zone: ZoneInfo, now: datetime) -> str:
    """Return the cell's hour in words, with its UTC offset and its distance from today."""
    day, hour = cell.position
    date_text = f"{labels.format_day(day)} {day.year}"
    if cell.span is None:
        return labels.missing_hour(date_text, hour.hour, is_repeat=hour.is_repeat)
    first, last = time(hour.hour, cell.span.first), time(hour.hour, cell.span.end - 1)
    start = cell.span.start.astimezone(zone)
    is_repeated = hour.is_repeat or bool(cell.repeated_offset)
    occurrence = labels.hour_occurrence(is_repeat=hour.is_repeat) if is_repeated else ""
    days = (day - now.astimezone(zone).date()).days
    distance = labels.day_distance(days, is_now=cell.is_now, is_past=cell.is_past)
    return labels.hour_title(date_text, f"{first:%H:%M}–{last:%H:%M}", occurrence, format_utc_offset(start), distance)


def cell_details(
    cell: HourCell, zone: ZoneInfo, selected: CalendarEntry | None, width: int, room: int
) -> list[Content]:
    """Return the cell's entries, one per line and at most `room`; the selected one is always among them.

    Below them follow the selected draft's text, if its line was cut off, and the reason if it is held.
    """
    # A pane that has not been laid out yet has no height.
    room = max(room, 1)
    index = cell.entries.index(selected) if selected in cell.entries else 0
    # Scroll just far enough that the selected entry is the first or the list's end is visible.
    start = min(index, max(len(cell.entries) - room, 0))
    lines = []
    for entry in cell.entries[start : start + room]:
        mark = Content.styled(SELECTION_MARK, "accent") if entry is selected else Content(" ")
        lines.append(mark + _detail_line(entry, cell.position, zone))
    draft = selected.draft if selected else None
    if draft is not None and lines[index - start].cell_length > width:
        lines += [Content(""), *Paragraph(Content(safe_line(draft.text)), indent=1).lines(max(width, 2))]
    if draft is not None and draft.held:
        reason = Content.styled(safe_line(draft.held), "bad")
        lines += [Content(""), *Paragraph(reason, indent=1).lines(max(width, 2))]
    return lines


def later_drafts(grid: WeekLayout, position: GridPosition, zone: ZoneInfo, room: int) -> list[Content]:
    """Return the drafts of the week after an hour below a heading, in at most `room` lines; nothing if there is none.

    If not all of them fit, the last line counts the others.
    """
    later = [
        (at.day, entry)
        for at in sorted(grid.cells)
        for entry in grid.cells[at].entries
        if at > position and entry.draft is not None
    ]
    # A blank line, the heading, and at least one draft.
    if not later or room < 3:
        return []
    lines, previous = [Content(""), Content.styled(f" {labels.LATER_THIS_WEEK}", "dim")], None
    fitting = later if len(later) <= room - 2 else later[: room - 3]
    for day, entry in fitting:
        name = f"{labels.DAYS[day.weekday()]} {day.day}" if day != previous else ""
        lines.append(Content.styled(f" {name:7}", "dim") + _detail_line(entry, position, zone))
        previous = day
    if len(fitting) < len(later):
        lines.append(Content.styled(f" {labels.more_drafts(len(later) - len(fitting))}", "dim"))
    return lines


def _detail_line(entry: CalendarEntry, position: GridPosition, zone: ZoneInfo) -> Content:
    local_time = f"{entry.at.astimezone(zone):%H:%M} "
    if entry.draft is None:
        return Content.assemble(local_time, (_free_slot(entry, position), "dim"))
    draft, sign = entry.draft, labels.STATUS[entry.draft.status]
    conflict = f" · {labels.conflict(entry.conflict_minutes)}" if entry.conflict_minutes is not None else ""
    return Content.assemble(
        local_time,
        (f"{sign.letter} {sign.text}", sign.role),
        (conflict, "bad"),
        (f" · {_original_time(entry, zone)}{draft.format.lower()}", "dim"),
        f"  {safe_line(draft.text)}",
    )


def _free_slot(entry: CalendarEntry, position: GridPosition) -> str:
    # An entry without a draft is a slot.
    assert entry.slot
    slot = entry.slot.slot
    is_skipped = slot.hour != position.hour.hour or slot.minute != entry.minute
    return labels.free_slot(format_slot(slot), is_skipped=is_skipped)


def _original_time(entry: CalendarEntry, zone: ZoneInfo) -> str:
    """Return the time that the user entered, if it was entered in another time zone than the current one."""
    draft = entry.draft
    if draft is None or draft.zone is None or draft.wall is None or draft.zone == zone.key:
        return ""
    return f"{labels.time_in_other_zone(safe_line(draft.wall[11:16]), safe_line(draft.zone))} · "


def format_clock_change(change: ClockChange) -> str:
    """Describe a clock change in a sentence."""
    times = f"{change.first:%H:%M}–{change.last:%H:%M}"
    return labels.clock_change(labels.format_day(change.day), times, forward=change.forward)


def clock_warning_line(warning: "ClockWarning") -> Content:
    """Return the warning about the clock, with the key that accepts its time."""
    key = key_label("schedule.accept_clock"), "key"
    return Content.assemble(key, (labels.ACCEPT_CLOCK, "dim"), (labels.clock_jumped(warning.seconds), "bad"))


def empty_hour_hint(cell: HourCell, week: "Week", approved: int) -> Sequence[tuple[str, str]]:
    """Return a hint in styled pieces for an hour without entries; empty if it has passed in a week with slots."""
    fill, add = (key_label("schedule.fill"), "key"), (key_label("schedule.new_slot"), "key")
    if not week.every_slot:
        before, after = labels.no_slots(approved)
        return (before, "dim"), add, (after, "dim")
    if cell.is_past or cell.span is None:
        return ()
    return fill, (labels.FILL_HOUR, "dim"), add, (labels.ADD_SLOT_HERE, "dim")
