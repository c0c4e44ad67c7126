"""A scrolling widget of drawn lines, and one that only stands there."""

from abc import abstractmethod

from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from copydesk.tui.widgets.ink import Ink


class Drawn(Ink, ScrollView, can_focus=True, inherit_bindings=False):
    """Lines to scroll over; only those on the screen are drawn.

    Textual takes the default styles of the first base only, so what it scrolls by stands in the style sheet.
    """

    # As Textual has it, but without laying out the screen each time: what there is to scroll over changes with every
    # step through the queue, and moves nothing.
    virtual_size = reactive(Size(0, 0))

    def watch_virtual_size(self, size: Size) -> None:
        """The scroll bar follows."""
        self._scroll_update(size)


class Standing(Ink, can_focus=False, inherit_bindings=False):
    """A few lines that do not scroll."""

    @abstractmethod
    def lines(self, width: int) -> list[Content]:
        """What is on it, in lines of `width` cells."""

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        lines = self.lines(self.room.width)
        return self.strip(lines[y] if y < len(lines) else Content(""))
