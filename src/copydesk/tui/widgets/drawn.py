"""A scrolling widget of drawn lines, and one that only stands there."""

from abc import abstractmethod
from typing import ClassVar

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from copydesk.tui.widgets.ink import Ink

THUMB = "▐"


class Drawn(Ink, ScrollView, can_focus=True, inherit_bindings=False):
    """Lines to scroll over; only those on the screen are drawn. The last cell of each is left for the scroll bar.

    The bar is drawn with the lines: as a widget beside them it is half of what a key draws anew. Textual takes the
    default styles of the first base only, so what it scrolls by stands in the style sheet.
    """

    STANDING: ClassVar[int] = 0
    """Lines at the top that do not scroll."""
    # As Textual has it, but without laying out the screen and drawing all lines each time: what there is to scroll over
    # changes with every step through the queue, and moves nothing. Who changes it knows which lines have changed.
    virtual_size = reactive(Size(0, 0), repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._thumb = range(0)
        """The lines of the screen that have the thumb, as it was drawn last."""
        self._grabbed = False

    @property
    def room(self) -> Size:
        """Cells for the lines: without borders, padding and scroll bar."""
        width, height = super().room
        return Size(max(width - 1, 0), height)

    @property
    def allow_vertical_scroll(self) -> bool:
        """Whether there is something to scroll to, by the wheel too."""
        return self.max_scroll_y > 0

    def watch_virtual_size(self, size: Size) -> None:
        """The scroll bar follows."""
        self._scroll_update(size)
        self._move_thumb()

    def watch_scroll_y(self, before: float, now: float) -> None:
        """The lines move as they are drawn, and the scroll bar follows."""
        drawn, by = self._painted, round(now) - round(before)
        self._painted = {}
        super().watch_scroll_y(before, now)
        lines, edge = range(self.STANDING, self.content_region.height), self.edge
        stay = {y: line for y, line in drawn.items() if y not in lines}
        move = {y - by: line for y, line in drawn.items() if y in lines and y - by in lines and edge(y) == edge(y - by)}
        self._painted = stay | move
        self._move_thumb()

    def on_resize(self) -> None:
        """The scroll bar follows. Textual calls the handlers of the other classes, too."""
        self._move_thumb()

    def _move_thumb(self) -> None:
        """Draw the bar anew where it changes, with all lines: it is a part of them."""
        thumb = self._where_thumb()
        if thumb != self._thumb:
            self._thumb = thumb
            self.refresh(self.size.region)

    def _where_thumb(self) -> range:
        """The lines of the screen that the thumb is on; none where everything is shown."""
        height, all_lines = self.room.height, self.virtual_size.height
        if not 0 < height < all_lines:
            return range(0)
        size = max(1, height * height // all_lines)
        # At either end only where there is nothing beyond it.
        top = round(self.scroll_offset.y / (all_lines - height) * (height - size))
        return range(top, top + size)

    def edge(self, y: int) -> str:
        """What stands in the last cell of a line of the screen."""
        return THUMB if y in self._thumb else " "

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of the bar."""
        if self._thumb and event.x == self.gutter.left + self.room.width:
            self._grabbed = True
            self.capture_mouse()
            self._drag_to(event.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag the bar."""
        if self._grabbed:
            self._drag_to(event.y)

    def on_mouse_up(self) -> None:
        """Let go of it."""
        if self._grabbed:
            self._grabbed = False
            self.release_mouse()

    def _drag_to(self, y: int) -> None:
        part = (y - self.gutter.top) / max(self.room.height - 1, 1)
        self.scroll_to(y=round(min(max(part, 0), 1) * self.max_scroll_y), animate=False, immediate=True)


class Standing(Ink, can_focus=False, inherit_bindings=False):
    """A few lines that do not scroll."""

    @abstractmethod
    def lines(self, width: int) -> list[Content]:
        """What is on it, in lines of `width` cells."""

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        lines = self.lines(self.room.width)
        return self.strip(lines[y] if y < len(lines) else Content(""))
