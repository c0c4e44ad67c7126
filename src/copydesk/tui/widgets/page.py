"""A text to read: paragraphs and tables, wrapped to the width there is, scrolled by lines."""

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from copydesk.tui.keys import Where, bindings
from copydesk.tui.layout import Block, lay_out
from copydesk.tui.widgets.drawn import Drawn


class Page(Drawn, inherit_bindings=False):
    """Blocks of text."""

    BINDINGS = bindings(Where.PAGE)

    class Widened(Message):
        """It has another width than before."""

        def __init__(self, page: "Page") -> None:
            super().__init__()
            self.page = page

    def __init__(self, blocks: Sequence[Block] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._blocks = blocks
        self._lines: list[Content] = []
        self._laid_out_for = 0

    def show(self, blocks: Sequence[Block]) -> None:
        """Another text, from its beginning."""
        self._blocks = blocks
        self._lay_out()
        self.scroll_to(y=0, animate=False)

    def _lay_out(self) -> None:
        width = self.room.width
        self._laid_out_for = width
        # One cell is left free beside the scroll bar.
        self._lines = lay_out(self._blocks, width - 1) if width > 1 else []
        self.virtual_size = Size(0, len(self._lines))
        self.forget_lines()

    def on_resize(self) -> None:
        """Another width is another wrapping."""
        if self.room.width != self._laid_out_for:
            self._lay_out()
            self.post_message(self.Widened(self))

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        at = self.scroll_offset.y + y
        if at < len(self._lines):
            return self.strip(self._lines[at], key=at)
        return self.strip(Content(""), key="blank")

    def action_move(self, by: int) -> None:
        """So many lines down; negative is up."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False)

    def action_half_page(self, way: int) -> None:
        """Half a screen down (1) or up (-1)."""
        self.action_move(way * max(self.room.height // 2, 1))

    def action_first(self) -> None:
        """To the beginning."""
        self.scroll_to(y=0, animate=False)

    def action_last(self) -> None:
        """To the end."""
        self.scroll_to(y=self.virtual_size.height, animate=False)
