"""A scrolling widget of drawn lines, and one that only stands there."""

from abc import abstractmethod

from textual.content import Content
from textual.scroll_view import ScrollView
from textual.strip import Strip

from copydesk.tui.widgets.ink import Ink


class Drawn(Ink, ScrollView, can_focus=True, inherit_bindings=False):
    """Lines to scroll over; only those on the screen are drawn.

    Textual takes the default styles of the first base only, so what it scrolls by stands in the style sheet.
    """


class Standing(Ink, can_focus=False, inherit_bindings=False):
    """A few lines that do not scroll."""

    @abstractmethod
    def lines(self, width: int) -> list[Content]:
        """What is on it, in lines of `width` cells."""

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        lines = self.lines(self.room.width)
        return self.strip(lines[y] if y < len(lines) else Content(""))
