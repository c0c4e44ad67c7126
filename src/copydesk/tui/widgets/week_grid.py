"""The week as a grid: days from left to right, hours from top to bottom, and a cursor on one cell."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.style import Style

from copydesk.model.schedule import Week
from copydesk.tui.layout import Block, lay_out
from copydesk.tui.pages.week_lines import CHOSEN, cell_line, head, label, title
from copydesk.tui.week import LABEL, Cell, Grid, Thing, days_at_once
from copydesk.tui.week import lay_out as lay_out_week
from copydesk.tui.week_clock import Hour, Place
from copydesk.tui.widgets.drawn import Drawn


class WeekGrid(Drawn, inherit_bindings=False):
    """One line per hour, below a fixed line with the days."""

    COMPONENT_CLASSES = {"week-grid--cursor", "week-grid--block"}
    STANDING = 1

    class Moved(Message):
        """The cursor moved to another cell, or to another entry in it; only the last one matters."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, WeekGrid.Moved)

    class Beyond(Message):
        """The cursor should move to a position in another week."""

        def __init__(self, where: Place) -> None:
            super().__init__()
            self.where = where

    class Opened(Message):
        """The entry under the cursor should be opened."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._week: Week | None = None
        self._now: datetime | None = None
        self._note: Sequence[Block] = ()
        self._selected_key = ""
        self.grid: Grid | None = None
        self.cursor: Place | None = None

    @property
    def cell(self) -> Cell | None:
        """The cell under the cursor."""
        return self.grid.cells.get(self.cursor) if self.grid and self.cursor else None

    @property
    def thing(self) -> Thing | None:
        """The selected entry of that cell, by default the first."""
        entries = self.cell.things if self.cell else ()
        return next((entry for entry in entries if entry.key == self._selected_key), entries[0] if entries else None)

    def show(self, week: Week, now: datetime, cursor: Place, chosen: str = "") -> None:
        """Show a week, with the cursor on a position in it and on the entry with the key `selected_key`."""
        self._week, self._now, self._note, self._selected_key = week, now, (), chosen
        self.set_title(title(week, now))
        self._lay_out_at(cursor)

    def say(self, note: Sequence[Block]) -> None:
        """Show a note in place of the week."""
        self._week = self.grid = self.cursor = None
        self._note = note
        self.virtual_size = Size(0, 0)
        self.forget_lines()
        self.post_message(self.Moved())

    def _lay_out_at(self, cursor: Place) -> None:
        """Lay out as many days and hours as fit, with the cursor on this position or the nearest that is shown."""
        if self._week is None or self._now is None:
            return
        only = cursor.day if days_at_once(self.room.width) == 1 else None
        self.grid = lay_out_week(self._week, self._now, only=only, rows=self.room.height - 1)
        self.cursor = self.grid.nearest(cursor)
        self.virtual_size = Size(0, len(self.grid.hours) + 1)
        self.forget_lines()
        self._scroll_to_cursor()
        self.post_message(self.Moved())

    def step(self, days: int, hours: int) -> None:
        """Move the cursor by cells."""
        if self.grid is None or self.cursor is None:
            return
        index = self.grid.hours.index(self.cursor.hour) + hours
        hour = self.grid.hours[min(max(index, 0), len(self.grid.hours) - 1)]
        self.go(Place(self.cursor.day + timedelta(days=days), hour))

    def go(self, where: Place) -> None:
        """Move the cursor to a position, possibly in another week."""
        if self._week is None or not 0 <= (where.day - self._week.monday).days < 7:
            self.post_message(self.Beyond(where))
            return
        previous, self._selected_key = self.cursor, ""
        # Redraw two rows if the cell is shown; otherwise the layout changes.
        if self.grid and previous and where.hour in self.grid.hours and where.day in self.grid.days:
            self.cursor = where
            self._refresh_hour(previous.hour)
            self._refresh_hour(where.hour)
            self._scroll_to_cursor()
            self.post_message(self.Moved())
        else:
            self._lay_out_at(where)

    def choose_next(self) -> None:
        """Select the next entry in the cell."""
        if self.cell and self.thing:
            entries = self.cell.things
            self._selected_key = entries[(entries.index(self.thing) + 1) % len(entries)].key
            self._refresh_hour(self.cell.where.hour)
            self.post_message(self.Moved())

    def _refresh_hour(self, hour: Hour) -> None:
        if self.grid:
            self.refresh_line(self.grid.hours.index(hour) + 1)

    def _scroll_to_cursor(self) -> None:
        """Scroll as far as needed to show the cursor below the line of days."""
        if self.grid is None or self.cursor is None:
            return
        index, top, height = self.grid.hours.index(self.cursor.hour), self.scroll_offset.y, self.room.height - 1
        if index < top:
            self.scroll_to(y=index, animate=False)
        elif height > 0 and index >= top + height:
            self.scroll_to(y=index - height + 1, animate=False)

    def on_resize(self) -> None:
        """Lay out again: another width may fit more days."""
        if self.cursor is not None:
            self._lay_out_at(self.cursor)
        else:
            self.forget_lines()

    def render_line(self, y: int) -> Strip:
        """Render one line on screen."""
        if self.grid is None or self._week is None or self._now is None:
            note_lines = lay_out(self._note, max(self.room.width - 1, 1))
            return self.strip(note_lines[y].pad_left(1) if y < len(note_lines) else Content(""))
        zone = ZoneInfo(self._week.zone)
        if y == 0:
            # A constant key suffices: every new layout discards the cached lines.
            return self.strip(head(self.grid, self._day_width, self._now.astimezone(zone).date()), key="head")
        index = self.scroll_offset.y + y - 1
        return self._row(index, self._now.astimezone(zone)) if index < len(self.grid.hours) else self.strip(Content(""))

    @property
    def _day_width(self) -> int:
        return max((self.room.width - LABEL) // (len(self.grid.days) if self.grid else 7), 4)

    def _row(self, index: int, now: datetime) -> Strip:
        assert self.grid
        assert self.cursor
        hour, cursor = self.grid.hours[index], self.cursor
        # The cursor affects only its own row.
        key = (index, cursor.day if cursor.hour == hour else None, self._selected_key if cursor.hour == hour else "")
        if key in self._strips:
            return self._strips[key]
        cells = [self.grid.cells[Place(day, hour)] for day in self.grid.days]
        is_now = any(self.grid.cells[Place(day, hour)].now for day in _days_of(self.grid))
        line = label(hour, now if is_now else None)
        for cell in cells:
            line += self._render_cell(cell, now, is_selected=cell.where == cursor)
        return self.strip(line, key=key)

    def _render_cell(self, cell: Cell, now: datetime, *, is_selected: bool) -> Content:
        line = cell_line(cell, self._day_width, now=now, chosen=self.thing if is_selected else None)
        if is_selected:
            return (Content.styled(CHOSEN, "accent") + line[1:]).stylize(self._background_style("week-grid--cursor"))
        has_draft = any(entry.draft for entry in cell.things[:1])
        return line[:1] + line[1:].stylize(self._background_style("week-grid--block")) if has_draft else line

    def _background_style(self, component: str) -> Style:
        """Return the component's background and weight, which leave the text's colours unchanged."""
        style = self.get_visual_style(component)
        return Style(background=style.background, bold=style.bold or None)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked cell; a double click opens it."""
        offset = event.get_content_offset(self)
        if offset is None or self.grid is None or offset.x < LABEL or offset.y < 1:
            return
        column, row = (offset.x - LABEL) // self._day_width, self.scroll_offset.y + offset.y - 1
        if column < len(self.grid.days) and row < len(self.grid.hours):
            self.go(Place(self.grid.days[column], self.grid.hours[row]))
            if event.chain > 1:
                self.post_message(self.Opened())


def _days_of(grid: Grid) -> Sequence[date]:
    return sorted({position.day for position in grid.cells})
