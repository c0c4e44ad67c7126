"""A list that draws its rows and moves a cursor over them, and a pane with headings above it."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size, clamp
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import Block, lay_out_blocks
from copydesk.tui.widgets.lines import JumpTarget, LegendTitle, LineScrollView, StaticLines

Row = TypeVar("Row")
CURSOR = "▌"
"""Marks the row under the cursor, for terminals without colours."""


# Not Textual's OptionList or DataTable: they hold and measure every row, and a queue has up to a million of them, of
# which only a window is loaded.
class LineList(LineScrollView, Generic[Row], inherit_bindings=False):
    """A list of which only the rows on screen are drawn, by `draw_row` in the given number of cells."""

    SIGN_WIDTH: ClassVar[int] = 1
    """Cells before each row for cursor and mark."""
    COMPONENT_CLASSES = {"line-list--cursor"}
    BINDINGS = bindings(KeyContext.LIST)
    cursor = reactive(0, repaint=False, always_update=False)
    """The index of the row that keys act on."""

    class Moved(Message):
        """The cursor moved to another row, or that row's content changed; only the last one matters."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, LineList.Moved)

    class Opened(Message):
        """The row under the cursor should be opened."""

    def __init__(
        self, draw_row: Callable[[Row, int], Content], *, shows_times: bool = False, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._draw_row = draw_row
        self._shows_times = shows_times
        """True if rows contain relative times, whose text changes as time passes."""
        self.row_height = 1
        """Lines per row."""
        self.rows: Sequence[Row] = ()
        self._note: Sequence[Block] = ()
        self._note_lines: list[Content] = []
        """The note as wrapped to the width."""

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def show(self, rows: Sequence[Row], cursor: int = 0) -> None:
        """Replace the rows and put the cursor on one of them."""
        self.rows, self._note, self._note_lines = rows, (), []
        self._update_height()
        self.painter.redraw()
        # Post `Moved` in any case: at the same index there may be another row now.
        self.cursor = cursor
        self._scroll_to_cursor()
        self.post_message(self.Moved())

    def show_note(self, note: Sequence[Block]) -> None:
        """Show a note in place of the rows. The keys that move the cursor scroll it."""
        # A note that replaces another is mostly the same one, loaded again.
        top = 0 if self.rows else self.scroll_offset.y
        self.rows, self._note = (), note
        self.cursor = 0
        self._wrap_note()
        self._scroll_note(top)
        self.painter.redraw()
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        """Render one line on screen."""
        line = self.scroll_offset.y + y
        index, part = divmod(line, self.row_height)
        if index < len(self.rows):
            return self._render_row(index, self.drawable_size.width, part)
        return self.painter.draw(self._note_lines[line].pad_left(1) if line < len(self._note_lines) else Content(""))

    def jump_targets(self) -> list[JumpTarget]:
        """Return the places to jump to: the list and its rows on screen."""
        rows = self.visible_range()
        steps = [partial(self._jump_to, index) for index in rows]
        return [*super().jump_targets(), *self.row_targets(rows.start * self.row_height, steps, self.row_height)]

    def _jump_to(self, index: int) -> None:
        self.focus()
        self.cursor = index

    def visible_range(self) -> range:
        """Return the indexes of the rows on screen, of which the first and the last may be cut off."""
        top, height = self.scroll_offset.y, max(self.drawable_size.height, 1)
        return range(top // self.row_height, min(-(-(top + height) // self.row_height), len(self.rows)))

    @property
    def page_rows(self) -> int:
        """Number of rows that fit on the screen, at least one."""
        return max(self.drawable_size.height // self.row_height, 1)

    def _update_height(self) -> None:
        self.virtual_size = Size(0, len(self.rows) * self.row_height or len(self._note_lines))

    def _wrap_note(self) -> None:
        width = self.drawable_size.width - 1
        self._note_lines = lay_out_blocks(self._note, width) if width > 0 else []
        self._update_height()

    def _scroll_note(self, top: int) -> None:
        # Clamps to the lines that there are.
        self.scroll_to(y=top, animate=False, immediate=True)

    def refresh_row(self, index: int) -> None:
        """Draw the lines of one row again."""
        for part in range(self.row_height):
            self.refresh_line(index * self.row_height + part)

    def _render_row(self, at: int, width: int, part: int) -> Strip:
        """Return line `part` of a row, counted from 0; most lists have one line per row."""
        del part
        is_current = at == self.cursor
        # By index, not by content: `show` clears the cache, and hashing a draft costs more than drawing its row.
        key = (at, is_current, width)
        # Look up before drawing: formatting the row is the expensive part.
        if (drawn := self.painter.cached(key)) is not None:
            return drawn
        # A character besides the colour: terminals without colours, and users who cannot tell them apart.
        mark = Content.styled(CURSOR, "accent") if is_current else Content(" ")
        line = mark + self._draw_row(self.rows[at], width - self.SIGN_WIDTH)
        return self.painter.draw(line, key=key, background="line-list--cursor" if is_current else "")

    def refresh_times(self) -> None:
        """Redraw the rows on screen if the text of any of them has changed."""
        # Other rows change only when they are shown again: save the comparison.
        if not self._shows_times:
            return
        width = self.drawable_size.width
        if any(
            self._render_row(index, width, part).text[self.SIGN_WIDTH :].rstrip()
            != self._current_text(index, width, part)
            for index in self.visible_range()
            for part in range(self.row_height)
        ):
            self.painter.redraw()

    def _current_text(self, index: int, width: int, part: int) -> str:
        del part
        return self._draw_row(self.rows[index], width - self.SIGN_WIDTH).plain.rstrip()

    def validate_cursor(self, cursor: int) -> int:
        """Keep the cursor on the rows."""
        return clamp(cursor, 0, max(len(self.rows) - 1, 0))

    def watch_cursor(self, before: int, now: int) -> None:
        """Redraw only the two affected rows."""
        self.refresh_row(before)
        self.refresh_row(now)
        self._scroll_to_cursor()
        self.post_message(self.Moved())

    def _scroll_to_cursor(self) -> None:
        """Scroll as far as needed to show the cursor."""
        top, height = self.scroll_offset.y, self.drawable_size.height
        first = self.cursor * self.row_height
        if first < top:
            self.scroll_to(y=first, animate=False, immediate=True)
        # The height is 0 until the first layout; `on_resize` scrolls then.
        elif height and first + self.row_height > top + height:
            # Whole rows from the top: where the height is odd, the one below the cursor is cut off.
            last_top = max(self.cursor - self.page_rows + 1, 0) * self.row_height
            self.scroll_to(y=last_top, animate=False, immediate=True)

    def on_resize(self) -> None:
        """Redraw, because rows and notes depend on the width."""
        if self._note:
            self._wrap_note()
        self.painter.redraw()
        self._scroll_to_cursor()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row; a double click opens it."""
        offset = event.get_content_offset(self)
        # Clicks on the scroll bar and below the last row select nothing.
        if offset is None or offset.x >= self.drawable_size.width:
            return
        index = (self.scroll_offset.y + offset.y) // self.row_height
        if index >= len(self.rows):
            return
        self.cursor = index
        # The first click of a double click has moved the cursor already.
        if event.chain > 1:
            self.action_open()

    def action_move(self, by: int) -> None:
        """Move down by this many rows, or scroll a note by as many lines; negative is up."""
        self.cursor += by
        if not self.rows:
            self._scroll_note(self.scroll_offset.y + by)

    def action_half_page(self, direction: int) -> None:
        """Move half a screen down (1) or up (-1)."""
        self.action_move(direction * max(self.page_rows // 2, 1))

    def action_first(self) -> None:
        self.action_move(-(len(self.rows) or len(self._note_lines)))

    def action_last(self) -> None:
        self.action_move(len(self.rows) or len(self._note_lines))

    def action_open(self) -> None:
        """Open the current row."""
        if self.rows:
            self.post_message(self.Opened())


class ColumnHeadings(StaticLines):
    """The column headings for the available width; the first cell is the cursor's."""

    def __init__(self, format_headings: Callable[[int], str]) -> None:
        super().__init__()
        self._format_headings = format_headings

    def lines(self, width: int) -> list[Content]:
        return [Content.styled(" " + self._format_headings(width - 1), "dim").truncate(max(width, 1))]


class ListPane(Vertical):
    """Column headings above a list; the title is in the border."""

    def __init__(self, format_headings: Callable[[int], str], rows: Widget, *, id: str) -> None:
        super().__init__(id=id)
        self._headings = ColumnHeadings(format_headings)
        self._rows = rows
        self.legend_title = LegendTitle(self)

    def compose(self) -> Iterable[Widget]:
        """Yield the headings and the list, both created by the constructor."""
        yield self._headings
        yield self._rows

    def on_resize(self) -> None:
        """Fit the title into the new width."""
        self.legend_title.fit()

    def show_headings(self, *, visible: bool) -> None:
        """Show or hide the headings, as they are now; without rows there are no columns."""
        self._headings.display = visible
        self._headings.refresh()
