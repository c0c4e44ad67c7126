"""A text to read: paragraphs and tables, wrapped to the width there is, scrolled by lines."""

from collections.abc import Callable, Sequence
from itertools import takewhile

from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from copydesk.tui.keys import Where, bindings
from copydesk.tui.layout import Block, lay_out
from copydesk.tui.widgets.drawn import Drawn

Text = Sequence[Block] | Callable[[], Sequence[Block]]


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
        self._made: Callable[[], Sequence[Block]] | None = None
        self._lines: list[Content] = []
        self._laid_out_for = 0

    def show(self, text: Text) -> None:
        """Another text, from its beginning; one in which there are ages is given as what makes it."""
        self._take(text)
        if self.scroll_y or self.scroll_target_y:
            self.scroll_to(y=0, animate=False)

    def show_more(self, text: Text) -> None:
        """As `show`, the same text as there is more of it by now: it stays where it is read."""
        self._take(text)
        if top := self.scroll_offset.y:
            self.scroll_to(y=top, animate=False)  # but not beyond its end

    def _take(self, text: Text) -> None:
        self._made = text if callable(text) else None
        self._blocks = text() if callable(text) else text
        self._lay_out()

    def tell_time(self) -> None:
        """Show the text as it is by now, where the time has changed a word of it; it stays where it is read."""
        if self._made is not None:
            self._take(self._made)

    def _lay_out(self) -> None:
        before, self._lines = self._lines, self._wrapped()
        self._laid_out_for = self.room.width
        self.virtual_size = Size(0, len(self._lines))
        # More of the same text is often all that there is to show.
        same = sum(1 for _ in takewhile(_are_same, zip(before, self._lines, strict=False)))
        if changed := max(len(before), len(self._lines)) - same:
            self.refresh_lines(same, changed)

    def _wrapped(self) -> list[Content]:
        # One cell is left free beside the scroll bar.
        return lay_out(self._blocks, self.room.width - 1) if self.room.width > 1 else []

    def on_resize(self) -> None:
        """Another width is another wrapping."""
        if self.room.width != self._laid_out_for:
            self._lay_out()
            self.post_message(self.Widened(self))

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        at = self.scroll_offset.y + y
        if at < len(self._lines):
            return self.strip(self._lines[at])
        return self.strip(Content(""))

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


def _are_same(lines: tuple[Content, Content]) -> bool:
    """Whether two lines look the same: Textual compares their words only."""
    one, other = lines
    return one.plain == other.plain and one.spans == other.spans
