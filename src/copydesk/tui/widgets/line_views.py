"""Widgets that draw lines: the base classes of scrolling and static ones, and two static ones."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from copydesk.tui import labels
from copydesk.tui.layout import lay_out_blocks, paragraph
from copydesk.tui.widgets.line_widget import LineWidget

THUMB = "▐"


class LineScrollView(LineWidget, ScrollView, can_focus=True, inherit_bindings=False):
    """A scroll view of lines, of which only those on screen are drawn. The last cell of each line is the scroll bar.

    The bar is part of the lines: as a separate widget it would be half of what a key press redraws. Textual takes the
    default CSS of the first base class only, so the scrolling rules are in the style sheet.
    """

    FIXED_LINES: ClassVar[int] = 0
    """Lines at the top that do not scroll."""
    # As in Textual, but without a new layout and a full redraw on each change: the size changes with every draft that
    # is shown, and moves nothing. Subclasses know which lines have changed and refresh these.
    virtual_size = reactive(Size(0, 0), repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._thumb = range(0)
        """The lines on screen that the scroll bar's thumb covers, as last drawn."""
        self._dragging = False

    @property
    def drawable_size(self) -> Size:
        """Cells for the lines, without borders, padding and scroll bar."""
        width, height = super().drawable_size
        return Size(max(width - 1, 0), height)

    @property
    def allow_vertical_scroll(self) -> bool:
        """True if there is something to scroll to, also with the mouse wheel."""
        return self.max_scroll_y > 0

    def watch_virtual_size(self, size: Size) -> None:
        """Update the scroll bar."""
        self._scroll_update(size)
        self._update_thumb()

    def watch_scroll_y(self, before: float, now: float) -> None:
        """Reuse painted lines at their new place, and update the scroll bar."""
        painted, by = self._painted, round(now) - round(before)
        self._painted = {}
        super().watch_scroll_y(before, now)
        scrolling, edge = range(self.FIXED_LINES, self.content_region.height), self.edge_text
        # Lines are keyed by screen row. Keep fixed ones; move the others by the scroll distance unless their scroll bar
        # cell differs.
        stay = {y: line for y, line in painted.items() if y not in scrolling}
        move = {
            y - by: line
            for y, line in painted.items()
            if y in scrolling and y - by in scrolling and edge(y) == edge(y - by)
        }
        self._painted = stay | move
        self._update_thumb()

    def on_resize(self) -> None:
        """Update the scroll bar. Textual calls the handlers of the base classes, too."""
        self._update_thumb()

    def _update_thumb(self) -> None:
        """If the thumb changes, redraw all lines, of which it is a part."""
        thumb = self._thumb_range()
        if thumb != self._thumb:
            self._thumb = thumb
            self.refresh(self.size.region)

    def _thumb_range(self) -> range:
        """Return the lines on screen that the thumb covers; an empty range if everything is visible."""
        height, all_lines = self.drawable_size.height, self.virtual_size.height
        if not 0 < height < all_lines:
            return range(0)
        size = max(1, height * height // all_lines)
        # Rounding by position keeps the thumb off either end until that end is reached.
        top = round(self.scroll_offset.y / (all_lines - height) * (height - size))
        return range(top, top + size)

    def edge_text(self, y: int) -> str:
        """Return the last cell of a line on screen: the scroll bar."""
        return THUMB if y in self._thumb else " "

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Start dragging the scroll bar."""
        if self._thumb and event.x == self.gutter.left + self.drawable_size.width:
            self._dragging = True
            self.capture_mouse()
            self._drag_to(event.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag the scroll bar."""
        if self._dragging:
            self._drag_to(event.y)

    def on_mouse_up(self) -> None:
        """Stop dragging."""
        if self._dragging:
            self._dragging = False
            self.release_mouse()

    def _drag_to(self, y: int) -> None:
        fraction = (y - self.gutter.top) / max(self.drawable_size.height - 1, 1)
        self.scroll_to(y=round(min(max(fraction, 0), 1) * self.max_scroll_y), animate=False, immediate=True)


class StaticLines(LineWidget, can_focus=False, inherit_bindings=False):
    """A few lines that do not scroll."""

    @abstractmethod
    def lines(self, width: int) -> list[Content]:
        """Return the content in lines of `width` cells."""

    def render_line(self, y: int) -> Strip:
        """Render one line on screen."""
        lines = self.lines(self.drawable_size.width)
        return self.render_strip(lines[y] if y < len(lines) else Content(""))


class MessageLines(StaticLines):
    """Shows the lines that were set last."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: list[Content] = []

    def set_lines(self, lines: Iterable[Content]) -> None:
        """Show these lines; those that do not fit are cut off."""
        self._lines = list(lines)
        self.redraw()

    def lines(self, width: int) -> list[Content]:
        return [line.truncate(width, ellipsis=True) for line in self._lines]


class TooSmall(StaticLines):
    """Replaces everything else."""

    def lines(self, width: int) -> list[Content]:
        return lay_out_blocks([paragraph(labels.APP_TOO_SMALL, "warn")], max(width, 1))
