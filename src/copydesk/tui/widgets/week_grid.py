"""The week as a grid: days from left to right, hours down, a cursor on one cell."""

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
    """One line an hour, below a line with the days that does not scroll."""

    COMPONENT_CLASSES = {"week-grid--cursor", "week-grid--block"}
    STANDING = 1

    class Moved(Message):
        """The cursor stands on another cell, or on another thing in it; only the last one counts."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, WeekGrid.Moved)

    class Beyond(Message):
        """The cursor wants to a place in another week."""

        def __init__(self, where: Place) -> None:
            super().__init__()
            self.where = where

    class Opened(Message):
        """What is under the cursor was asked for."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._week: Week | None = None
        self._now: datetime | None = None
        self._note: Sequence[Block] = ()
        self._chosen = ""
        self.grid: Grid | None = None
        self.cursor: Place | None = None

    @property
    def cell(self) -> Cell | None:
        """The cell under the cursor."""
        return self.grid.cells.get(self.cursor) if self.grid and self.cursor else None

    @property
    def thing(self) -> Thing | None:
        """The chosen one of the things in it, the first where none was chosen."""
        things = self.cell.things if self.cell else ()
        return next((each for each in things if each.key == self._chosen), things[0] if things else None)

    def show(self, week: Week, now: datetime, cursor: Place, chosen: str = "") -> None:
        """Take over a week, with the cursor on a place in it, and on the thing of this key."""
        self._week, self._now, self._note, self._chosen = week, now, (), chosen
        self.set_title(title(week, now))
        self._put(cursor)

    def say(self, note: Sequence[Block]) -> None:
        """Show a note in place of the week."""
        self._week = self.grid = self.cursor = None
        self._note = note
        self.virtual_size = Size(0, 0)
        self.forget_lines()
        self.post_message(self.Moved())

    def _put(self, cursor: Place) -> None:
        """Lay out what there is room for, with the cursor on this place or on the nearest that is shown."""
        if self._week is None or self._now is None:
            return
        only = cursor.day if days_at_once(self.room.width) == 1 else None
        self.grid = lay_out_week(self._week, self._now, only=only, rows=self.room.height - 1)
        self.cursor = self.grid.nearest(cursor)
        self.virtual_size = Size(0, len(self.grid.hours) + 1)
        self.forget_lines()
        self._follow()
        self.post_message(self.Moved())

    def step(self, days: int, hours: int) -> None:
        """Move the cursor by cells."""
        if self.grid is None or self.cursor is None:
            return
        at = self.grid.hours.index(self.cursor.hour) + hours
        hour = self.grid.hours[min(max(at, 0), len(self.grid.hours) - 1)]
        self.go(Place(self.cursor.day + timedelta(days=days), hour))

    def go(self, where: Place) -> None:
        """Move the cursor to a place, in another week too."""
        if self._week is None or not 0 <= (where.day - self._week.monday).days < 7:
            self.post_message(self.Beyond(where))
            return
        before, self._chosen = self.cursor, ""
        if self.grid and before and where.hour in self.grid.hours and where.day in self.grid.days:
            self.cursor = where
            self._repaint(before.hour)
            self._repaint(where.hour)
            self._follow()
            self.post_message(self.Moved())
        else:
            self._put(where)

    def choose_next(self) -> None:
        """The next thing in the cell."""
        if self.cell and self.thing:
            things = self.cell.things
            self._chosen = things[(things.index(self.thing) + 1) % len(things)].key
            self._repaint(self.cell.where.hour)
            self.post_message(self.Moved())

    def _repaint(self, hour: Hour) -> None:
        if self.grid:
            self.refresh_line(self.grid.hours.index(hour) + 1)

    def _follow(self) -> None:
        """Scroll so far that the cursor is on the screen, below the days."""
        if self.grid is None or self.cursor is None:
            return
        at, top, height = self.grid.hours.index(self.cursor.hour), self.scroll_offset.y, self.room.height - 1
        if at < top:
            self.scroll_to(y=at, animate=False)
        elif height > 0 and at >= top + height:
            self.scroll_to(y=at - height + 1, animate=False)

    def on_resize(self) -> None:
        """Another width may have room for more days."""
        if self.cursor is not None:
            self._put(self.cursor)
        else:
            self.forget_lines()

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        if self.grid is None or self._week is None or self._now is None:
            said = lay_out(self._note, max(self.room.width - 1, 1))
            return self.strip(said[y].pad_left(1) if y < len(said) else Content(""))
        zone = ZoneInfo(self._week.zone)
        if y == 0:
            return self.strip(head(self.grid, self._day_width, self._now.astimezone(zone).date()), key="head")
        at = self.scroll_offset.y + y - 1
        return self._row(at, self._now.astimezone(zone)) if at < len(self.grid.hours) else self.strip(Content(""))

    @property
    def _day_width(self) -> int:
        return max((self.room.width - LABEL) // (len(self.grid.days) if self.grid else 7), 4)

    def _row(self, at: int, now: datetime) -> Strip:
        assert self.grid
        assert self.cursor
        hour, here = self.grid.hours[at], self.cursor
        key = (at, here.day if here.hour == hour else None, self._chosen if here.hour == hour else "")
        if key in self._strips:
            return self._strips[key]
        cells = [self.grid.cells[Place(day, hour)] for day in self.grid.days]
        is_now = any(self.grid.cells[Place(day, hour)].now for day in _week_of(self.grid))
        line = label(hour, now if is_now else None)
        for cell in cells:
            line += self._drawn(cell, now, chosen=cell.where == here)
        return self.strip(line, key=key)

    def _drawn(self, cell: Cell, now: datetime, *, chosen: bool) -> Content:
        line = cell_line(cell, self._day_width, now=now, chosen=self.thing if chosen else None)
        if chosen:
            return (Content.styled(CHOSEN, "accent") + line[1:]).stylize(self._below("week-grid--cursor"))
        drafts = any(thing.draft for thing in cell.things[:1])
        return line[:1] + line[1:].stylize(self._below("week-grid--block")) if drafts else line

    def _below(self, component: str) -> Style:
        """What the component lays below words that keep their colour."""
        whole = self.get_visual_style(component)
        return Style(background=whole.background, bold=whole.bold or None)

    def on_click(self, event: events.Click) -> None:
        """The cell that was clicked is the current one; clicked twice it is opened."""
        spot = event.get_content_offset(self)
        if spot is None or self.grid is None or spot.x < LABEL or spot.y < 1:
            return
        column, row = (spot.x - LABEL) // self._day_width, self.scroll_offset.y + spot.y - 1
        if column < len(self.grid.days) and row < len(self.grid.hours):
            self.go(Place(self.grid.days[column], self.grid.hours[row]))
            if event.chain > 1:
                self.post_message(self.Opened())


def _week_of(grid: Grid) -> Sequence[date]:
    return sorted({where.day for where in grid.cells})
