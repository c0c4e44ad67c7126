"""A list that draws its own lines, one row each, and moves a cursor over them."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from textual import events
from textual.content import Content
from textual.geometry import Size, clamp
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from copydesk.tui.keys import Where, bindings
from copydesk.tui.layout import Block, lay_out
from copydesk.tui.widgets.drawn import Drawn

Row = TypeVar("Row")
CURSOR = "▌"
"""Marks the row of the cursor where colours do not."""


class LineList(Drawn, Generic[Row], inherit_bindings=False):
    """Rows, of which only those on the screen are ever drawn."""

    COMPONENT_CLASSES = {"line-list--cursor"}
    BINDINGS = bindings(Where.LIST)
    cursor = reactive(0, repaint=False, always_update=False)
    """The row that keys act on, counted from 0."""

    class Moved(Message):
        """The cursor stands on another row, or that row's content changed; only the last one counts."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, LineList.Moved)

    class Opened(Message):
        """The row under the cursor was asked for."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: Sequence[Row] = ()
        self._note: Sequence[Block] = ()

    @abstractmethod
    def draw(self, row: Row, width: int) -> Content:
        """One row in `width` cells."""

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def show(self, rows: Sequence[Row], cursor: int = 0) -> None:
        """Take over these rows, with the cursor on one of them."""
        self.rows, self._note = rows, ()
        self.virtual_size = Size(0, len(rows))
        self.forget_lines()
        self.cursor = cursor
        self._follow()
        self.post_message(self.Moved())

    def say(self, note: Sequence[Block]) -> None:
        """Show a note in place of the rows."""
        self.rows, self._note = (), note
        self.virtual_size = Size(0, 0)
        self.cursor = 0
        self.forget_lines()
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        at = self.scroll_offset.y + y
        width = self.room.width
        if at < len(self.rows):
            return self._row(at, width)
        if not self._note:
            return self.strip(Content(""))
        said = lay_out(self._note, width - 1)
        return self.strip(said[y].pad_left(1) if y < len(said) else Content(""))

    def on_screen(self) -> range:
        """The positions of the rows on the screen."""
        top = self.scroll_offset.y
        return range(top, min(top + self.room.height, len(self.rows)))

    def _row(self, at: int, width: int) -> Strip:
        here = at == self.cursor
        key = (at, here, width)
        if key in self._strips:
            return self._strips[key]
        mark = Content.styled(CURSOR, "accent") if here else Content(" ")
        line = mark + self.draw(self.rows[at], width - 1)
        return self.strip(line, key=key, below="line-list--cursor" if here else "")

    def validate_cursor(self, cursor: int) -> int:
        """The cursor stays on the rows."""
        return clamp(cursor, 0, max(len(self.rows) - 1, 0))

    def watch_cursor(self, before: int, now: int) -> None:
        """Only the two rows change."""
        self.refresh_line(before)
        self.refresh_line(now)
        self._follow()
        self.post_message(self.Moved())

    def _follow(self) -> None:
        """Scroll so far that the cursor is on the screen."""
        top, height = self.scroll_offset.y, self.room.height
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, immediate=True)
        elif height and self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, immediate=True)

    def on_resize(self) -> None:
        """Another width is another drawing."""
        self.forget_lines()
        self._follow()

    def on_click(self, event: events.Click) -> None:
        """The row that was clicked is the current one; clicked twice it is opened."""
        line = event.get_content_offset(self)
        if line is None or line.x >= self.room.width or self.scroll_offset.y + line.y >= len(self.rows):
            return
        self.cursor = self.scroll_offset.y + line.y
        if event.chain > 1:
            self.action_open()

    def action_move(self, by: int) -> None:
        """So many rows down; negative is up."""
        self.cursor += by

    def action_half_page(self, way: int) -> None:
        """Half a screen down (1) or up (-1)."""
        self.cursor += way * max(self.room.height // 2, 1)

    def action_first(self) -> None:
        """To the first row."""
        self.cursor = 0

    def action_last(self) -> None:
        """To the last row."""
        self.cursor = len(self.rows) - 1

    def action_open(self) -> None:
        """Ask for the current row."""
        if self.rows:
            self.post_message(self.Opened())
