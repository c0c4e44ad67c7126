"""Text to read: paragraphs and tables, wrapped to the available width and scrolled by lines."""

from collections.abc import Callable, Sequence
from itertools import takewhile

from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import Block, lay_out_blocks
from copydesk.tui.widgets.lines import LineScrollView

PageText = Sequence[Block] | Callable[[], Sequence[Block]]


# Not a Static in a VerticalScroll: each key may show the next draft, and only lines that differ are drawn again.
class Page(LineScrollView, inherit_bindings=False):
    """A scrollable page of text blocks."""

    BINDINGS = bindings(KeyContext.PAGE)

    class WidthChanged(Message):
        """The width changed."""

        def __init__(self, page: "Page") -> None:
            super().__init__()
            self.page = page

    def __init__(self, blocks: Sequence[Block] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._blocks = blocks
        self._build: Callable[[], Sequence[Block]] | None = None
        self._lines: list[Content] = []
        self._wrapped_width = 0

    def show(self, text: PageText) -> None:
        """Show another text from its start.

        A text with relative times is passed as a function, which `refresh_times` calls again.
        """
        self._set_text(text)
        # Scrolling to where the page already is would still cost a layout, on every key that moves the cursor.
        if self.scroll_y or self.scroll_target_y:
            self.scroll_to(y=0, animate=False)

    def show_more(self, text: PageText) -> None:
        """Show an extended or updated version of the same text, at the current scroll position."""
        self._set_text(text)
        if top := self.scroll_offset.y:
            self.scroll_to(y=top, animate=False)  # clamps to the new end

    def _set_text(self, text: PageText) -> None:
        self._build = text if callable(text) else None
        self._blocks = text() if callable(text) else text
        self._lay_out()

    def refresh_times(self) -> None:
        """Rebuild a text with relative times, at the current scroll position."""
        if self._build is not None:
            self._set_text(self._build)

    def _lay_out(self) -> None:
        previous, self._lines = self._lines, self._wrap()
        self._wrapped_width = self.drawable_size.width
        # The width is 0: text is wrapped, so there is never anything to scroll to at the right.
        self.virtual_size = Size(0, len(self._lines))
        # Often text was only appended: redraw from the first line that differs.
        unchanged = sum(1 for _ in takewhile(_are_equal, zip(previous, self._lines, strict=False)))
        if changed := max(len(previous), len(self._lines)) - unchanged:
            self.refresh_lines(unchanged, changed)

    def _wrap(self) -> list[Content]:
        # One cell stays free next to the scroll bar.
        return lay_out_blocks(self._blocks, self.drawable_size.width - 1) if self.drawable_size.width > 1 else []

    def on_resize(self) -> None:
        """Wrap the text again if the width changed."""
        # A change of the height alone leaves the lines as they are.
        if self.drawable_size.width != self._wrapped_width:
            self._lay_out()
            self.post_message(self.WidthChanged(self))

    def render_line(self, y: int) -> Strip:
        """Render one line on screen."""
        index = self.scroll_offset.y + y
        if index < len(self._lines):
            return self.painter.draw(self._lines[index])
        return self.painter.draw(Content(""))

    def action_move(self, by: int) -> None:
        """Scroll down by this many lines; negative is up."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False)

    def action_half_page(self, direction: int) -> None:
        """Scroll half a screen down (1) or up (-1)."""
        self.action_move(direction * max(self.drawable_size.height // 2, 1))

    def action_first(self) -> None:
        self.scroll_to(y=0, animate=False)

    def action_last(self) -> None:
        self.scroll_to(y=self.virtual_size.height, animate=False)


def _are_equal(lines: tuple[Content, Content]) -> bool:
    """Return True if two lines look the same. Textual's own comparison ignores styles."""
    left, right = lines
    return left.plain == right.plain and left.spans == right.spans
