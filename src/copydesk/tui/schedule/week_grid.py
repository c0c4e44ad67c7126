"""The week as a grid: days from left to right, hours from top to bottom, and a cursor on one cell."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.style import Style

from copydesk.model.schedule import MAX_WEEK_DRAFTS, Week
from copydesk.tui import labels
from copydesk.tui.layout import Block, lay_out_blocks
from copydesk.tui.schedule.week import (
    LABEL_WIDTH,
    CalendarEntry,
    GridPosition,
    Hour,
    HourCell,
    WeekLayout,
    format_utc_offset,
    lay_out_week,
    utc_offsets,
    visible_days,
)
from copydesk.tui.terminal.cells import fit, safe_line
from copydesk.tui.widgets.lines import JumpTarget, LineScrollView

MIN_WIDTH_FOR_MONTH = 14
"""Columns of at least this many cells show the month, too."""
SELECTION_MARK: Final = "▌"
"""Marks the entry that keys act on, for terminals without colours."""


class WeekGrid(LineScrollView, inherit_bindings=False):
    """One line per hour, below a fixed line with the days."""

    COMPONENT_CLASSES = {"week-grid--cursor", "week-grid--block"}
    FIXED_LINES = 1

    class Moved(Message):
        """The cursor moved to another cell, or to another entry in it; only the last one matters."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, WeekGrid.Moved)

    class OtherWeekRequested(Message):
        """The cursor should move to a position in another week."""

        def __init__(self, position: GridPosition) -> None:
            super().__init__()
            self.position = position

    class Opened(Message):
        """The entry under the cursor should be opened."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._week: Week | None = None
        self._now: datetime | None = None
        self._note: Sequence[Block] = ()
        self._selected_key = ""
        self.grid: WeekLayout | None = None
        self.cursor: GridPosition | None = None

    @property
    def cell(self) -> HourCell | None:
        """The cell under the cursor."""
        return self.grid.cells.get(self.cursor) if self.grid and self.cursor else None

    @property
    def entry(self) -> CalendarEntry | None:
        """The selected entry of that cell, by default the first."""
        entries = self.cell.entries if self.cell else ()
        return next((entry for entry in entries if entry.key == self._selected_key), entries[0] if entries else None)

    def show(
        self, week: Week, now: datetime, cursor: GridPosition, selected_key: str = "", *, is_update: bool = False
    ) -> None:
        """Show a week, with the cursor on a position in it and on the entry with the key `selected_key`.

        An update does not scroll to a cursor that the user has scrolled away from.
        """
        scrolls = not is_update or self._is_cursor_shown
        self._week, self._now, self._note, self._selected_key = week, now, (), selected_key
        legend = labels.legend(labels.STATUS[draft.status] for draft in week.drafts)
        self.legend_title.set(week_title(week, now), legend)
        self._lay_out_at(cursor, scrolls=scrolls)

    def show_note(self, note: Sequence[Block]) -> None:
        """Show a note in place of the week."""
        self._week = self.grid = self.cursor = None
        self._note = note
        self.virtual_size = Size(0, 0)
        self.painter.redraw()
        self.post_message(self.Moved())

    def _lay_out_at(self, cursor: GridPosition, *, scrolls: bool = True) -> None:
        """Lay out as many days and hours as fit, with the cursor on this position or the nearest that is shown."""
        if self._week is None or self._now is None:
            return
        only = cursor.day if visible_days(self.drawable_size.width) == 1 else None
        self.grid = lay_out_week(self._week, self._now, only=only, rows=self.drawable_size.height - 1)
        self.cursor = self.grid.nearest_visible(cursor)
        self.virtual_size = Size(0, len(self.grid.hours) + 1)
        self.painter.redraw()
        if scrolls:
            self._scroll_to_cursor()
        else:
            self.scroll_to(y=self.scroll_offset.y, animate=False)  # clamps to the new end
        self.post_message(self.Moved())

    def jump_targets(self) -> list[JumpTarget]:
        """Return the places to jump to: the grid, and the hours of the day under the cursor."""
        if self.grid is None or self.cursor is None:
            return super().jump_targets()
        day = self.cursor.day
        steps = [partial(self._jump_to, GridPosition(day, hour)) for hour in self.grid.hours]
        return [*super().jump_targets(), *self.row_targets(self.FIXED_LINES, steps)]

    def _jump_to(self, position: GridPosition) -> None:
        self.focus()
        self.move_to(position)

    def move_by(self, days: int, hours: int) -> None:
        """Move the cursor by cells."""
        if self.grid is None or self.cursor is None:
            return
        index = self.grid.hours.index(self.cursor.hour) + hours
        hour = self.grid.hours[min(max(index, 0), len(self.grid.hours) - 1)]
        self.move_to(GridPosition(self.cursor.day + timedelta(days=days), hour))

    def move_to(self, position: GridPosition) -> None:
        """Move the cursor to a position, possibly in another week."""
        if self._week is None or not 0 <= (position.day - self._week.monday).days < 7:
            self.post_message(self.OtherWeekRequested(position))
            return
        previous, self._selected_key = self.cursor, ""
        # Redraw two rows if the cell is shown; otherwise the layout changes.
        if self.grid and previous and position.hour in self.grid.hours and position.day in self.grid.days:
            self.cursor = position
            self._refresh_hour(previous.hour)
            self._refresh_hour(position.hour)
            self._scroll_to_cursor()
            self.post_message(self.Moved())
        else:
            self._lay_out_at(position)

    def select_next_entry(self) -> None:
        """Select the next entry in the cell."""
        if self.cell and self.entry:
            entries = self.cell.entries
            self._selected_key = entries[(entries.index(self.entry) + 1) % len(entries)].key
            self._refresh_hour(self.cell.position.hour)
            self.post_message(self.Moved())

    def _refresh_hour(self, hour: Hour) -> None:
        if self.grid:
            # The first line shows the days.
            self.refresh_line(self.grid.hours.index(hour) + 1)

    @property
    def _is_cursor_shown(self) -> bool:
        if self.grid is None or self.cursor is None:
            return False
        return 0 <= self.grid.hours.index(self.cursor.hour) - self.scroll_offset.y < self.drawable_size.height - 1

    def _scroll_to_cursor(self) -> None:
        """Scroll as far as needed to show the cursor below the line of days."""
        if self.grid is None or self.cursor is None:
            return
        index, top, height = (
            self.grid.hours.index(self.cursor.hour),
            self.scroll_offset.y,
            self.drawable_size.height - 1,
        )
        if index < top:
            self.scroll_to(y=index, animate=False)
        elif height > 0 and index >= top + height:
            self.scroll_to(y=index - height + 1, animate=False)

    def on_resize(self) -> None:
        """Lay out again: another width may fit more days."""
        if self.cursor is not None:
            self._lay_out_at(self.cursor)
        else:
            self.painter.redraw()

    def render_line(self, y: int) -> Strip:
        """Render one line on screen."""
        if self.grid is None or self._week is None or self._now is None:
            note_lines = lay_out_blocks(self._note, max(self.drawable_size.width - 1, 1))
            return self.painter.draw(note_lines[y].pad_left(1) if y < len(note_lines) else Content(""))
        zone = ZoneInfo(self._week.zone)
        if y == 0:
            # A constant key suffices: every new layout discards the cached lines.
            return self.painter.draw(
                week_header(self.grid, self._day_width, self._now.astimezone(zone).date()), key="head"
            )
        index = self.scroll_offset.y + y - 1
        return (
            self._row(index, self._now.astimezone(zone))
            if index < len(self.grid.hours)
            else self.painter.draw(Content(""))
        )

    @property
    def _day_width(self) -> int:
        return max((self.drawable_size.width - LABEL_WIDTH) // (len(self.grid.days) if self.grid else 7), 4)

    def _row(self, index: int, now: datetime) -> Strip:
        assert self.grid
        assert self.cursor
        hour, cursor = self.grid.hours[index], self.cursor
        # The cursor affects only its own row.
        key = (index, cursor.day if cursor.hour == hour else None, self._selected_key if cursor.hour == hour else "")
        if (drawn := self.painter.cached(key)) is not None:
            return drawn
        cells = [self.grid.cells[GridPosition(day, hour)] for day in self.grid.days]
        is_now = any(self.grid.cells[GridPosition(day, hour)].is_now for day in _days_of(self.grid))
        line = hour_label(hour, now if is_now else None)
        for cell in cells:
            line += self._render_cell(cell, now, is_selected=cell.position == cursor)
        return self.painter.draw(line, key=key)

    def _render_cell(self, cell: HourCell, now: datetime, *, is_selected: bool) -> Content:
        line = cell_line(cell, self._day_width, now=now, selected=self.entry if is_selected else None)
        if is_selected:
            style = self.get_visual_style("week-grid--cursor")
            # In one colour, which every theme has for this background; the letters tell the states apart.
            return Content(SELECTION_MARK + line.plain[1:]).stylize(style)
        has_draft = any(entry.draft for entry in cell.entries[:1])
        block = Style(background=self.get_visual_style("week-grid--block").background)
        return line[:1] + line[1:].stylize(block) if has_draft else line

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked cell; a double click opens it."""
        offset = event.get_content_offset(self)
        if offset is None or self.grid is None or offset.x < LABEL_WIDTH or offset.y < 1:
            return
        column, row = (offset.x - LABEL_WIDTH) // self._day_width, self.scroll_offset.y + offset.y - 1
        if column < len(self.grid.days) and row < len(self.grid.hours):
            self.move_to(GridPosition(self.grid.days[column], self.grid.hours[row]))
            if event.chain > 1:
                self.post_message(self.Opened())


def _days_of(grid: WeekLayout) -> Sequence[date]:
    return sorted({position.day for position in grid.cells})


def week_title(week: Week, now: datetime) -> str:
    """Return the dates of the week and its time zone.

    The UTC offsets of the whole week are listed, since a clock change may fall into it, and today's offset if it is
    another one.
    """
    zone, sunday = ZoneInfo(week.zone), week.monday + timedelta(days=6)
    (_, first), *later = utc_offsets(week.monday, zone)
    clock = ", ".join([first, *(labels.offset_from(labels.DAYS[day.weekday()], text) for day, text in later)])
    today = format_utc_offset(now.astimezone(zone))
    current = "" if today in {first, *(text for _, text in later)} else today
    dates = f"{labels.format_day(week.monday)} – {labels.format_day(sunday)} {sunday.year}"
    return labels.week_title(dates, week.zone, clock, current, MAX_WEEK_DRAFTS if week.more else 0)


def week_header(grid: WeekLayout, width: int, today: date) -> Content:
    """Return the line with the days above their columns of `width` cells."""
    changed = {change.day for change in grid.changes}
    line = Content(" " * LABEL_WIDTH)
    for day in grid.days:
        name = labels.format_day(day) if width >= MIN_WIDTH_FOR_MONTH else f"{labels.DAYS[day.weekday()]} {day.day}"
        role = "accent" if day == today else "warn" if day in changed else "dim"
        line += Content.styled(fit(f" {name}{' ±' * (day in changed)}", width), role)
    return line


def hour_label(hour: Hour, now: datetime | None) -> Content:
    """Return the hour's label at the left; `now` is the current time if it falls into this hour."""
    if now is not None:
        return Content.styled(f"▸{now:%H:%M} ", "accent")
    return (
        Content.styled(labels.REPEATED_HOUR, "warn")
        if hour.is_repeat
        else Content.styled(f" {hour.hour:02}:00 ", "dim")
    )


def cell_line(cell: HourCell, width: int, *, now: datetime, selected: CalendarEntry | None = None) -> Content:
    """Return a cell's line in `width` cells, the first of which is reserved for the cursor.

    It shows `selected`, or else the first entry, and how many more there are.
    """
    room = width - 1
    if not cell.entries:
        text, role = _empty_cell(cell, room, now)
        return Content.styled(f" {fit(text, room)}", role)
    more = f"+{len(cell.entries) - 1}" if len(cell.entries) > 1 else ""
    line = _entry_line(selected or cell.entries[0], room - len(more), past=cell.is_past)
    return Content(" ") + line + Content.styled(more, "strong")


def _empty_cell(cell: HourCell, room: int, now: datetime) -> tuple[str, str]:
    if cell.is_now:
        return f"─{now:%H:%M}".ljust(room, "─"), "accent"
    if cell.is_skipped:
        return labels.SKIPPED_HOUR, "warn"
    if cell.span is None:
        return "", ""
    if not cell.span.is_complete:
        return labels.partial_hour(cell.span.first, cell.span.end - 1), "warn"
    # "UTC+02:00" takes nine cells.
    return (
        (f"UTC{cell.repeated_offset}" if room >= 9 else cell.repeated_offset, "warn")
        if cell.repeated_offset
        else ("·", "faint")
    )


def _entry_line(entry: CalendarEntry, room: int, *, past: bool) -> Content:
    """Return a slot as an outline, a draft as minute, conflict mark, status letter and beginning of its text."""
    if entry.draft is None:
        return Content.styled(f"[:{entry.minute:02}".ljust(room - 1) + "]", "faint" if past else "dim")
    sign = labels.STATUS[entry.draft.status]
    # Minute, conflict mark, letter and a space take six cells.
    text = fit(safe_line(entry.draft.text), max(room - 6, 0))
    mark = ("!", "bad") if entry.conflict_minutes is not None else (" ", "")
    return Content.assemble((f":{entry.minute:02}", sign.role), mark, (sign.letter, sign.role), f" {text}").truncate(
        room
    )
