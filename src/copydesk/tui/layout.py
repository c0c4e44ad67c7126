"""Paragraphs and tables as lines of a given width.

Styles in a Content are role names (`dim`, `accent`, `good`, `warn`, `bad`, `strong`); the style sheets assign them
colours.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple, Protocol

from textual.content import Content

COLUMN_GAP = 2
"""Cells between two columns."""
SEPARATOR = Content.styled(" · ", "dim")
"""Between two facts."""
MIN_LAST_COLUMN = 12
"""Minimum cells of a table's last column; the other columns are truncated to provide them."""
MIN_TEXT_COLUMN = 36
"""Cells of each of two texts beside each other, at least."""
BAR_WIDTH = 10
"""Cells of a progress bar in a text."""


class Block(Protocol):
    """A part of a page."""

    def lines(self, width: int) -> list[Content]:
        """Render it in lines of at most `width` cells."""


class Paragraph(NamedTuple):
    """Text wrapped at words; its line breaks are kept."""

    content: Content
    indent: int = 0

    def lines(self, width: int) -> list[Content]:
        """Render the text in lines of at most `width` cells."""
        if not self.content:
            return [self.content]
        room = max(width - self.indent, 1)
        return [line.pad_left(self.indent) for line in self.content.wrap(room)]


class Facts(NamedTuple):
    """Short facts one after another, separated by dots. A line ends between two of them, where one fits into a line."""

    facts: Sequence[Content]
    indent: int = 0

    def lines(self, width: int) -> list[Content]:
        """Render the facts in lines of at most `width` cells."""
        room = max(width - self.indent, 1)
        lines: list[Content] = []
        for fact in self.facts:
            if lines and lines[-1].cell_length + SEPARATOR.cell_length + fact.cell_length <= room:
                lines[-1] += SEPARATOR + fact
            else:
                lines += fact.wrap(room) if fact else []
        return [line.pad_left(self.indent) for line in lines]


class OneLine(NamedTuple):
    """The first of some texts that fits in a line; the last one is cut if need be."""

    texts: Sequence[Content]

    def lines(self, width: int) -> list[Content]:
        """Render one line of at most `width` cells."""
        fitting = (text for text in self.texts if text.cell_length <= width)
        return [next(fitting, self.texts[-1].truncate(max(width, 1), ellipsis=True))]


class Table(NamedTuple):
    """Aligned columns; the cells of the last one are wrapped."""

    rows: Sequence[tuple[Content, ...]]
    right_aligned: frozenset[int] = frozenset()
    """Indexes of right-aligned columns: numbers."""

    def lines(self, width: int) -> list[Content]:
        """Render the rows in lines of at most `width` cells."""
        if not self.rows:
            return []
        widths = self._widths(width)
        indent = sum(widths) + COLUMN_GAP * len(widths)
        lines = []
        for *cells, last in self.rows:
            leading = Content("").join([self._cell(column, cell, widths[column]) for column, cell in enumerate(cells)])
            first_line, *more_lines = last.wrap(max(width - indent, 1)) if last else [last]
            lines += [leading + first_line, *(line.pad_left(indent) for line in more_lines)]
        return lines

    def _widths(self, width: int) -> list[int]:
        """Return the width of each column but the last: its widest cell, reduced until the last column fits."""
        count = len(self.rows[0]) - 1
        widths = [max(row[column].cell_length for row in self.rows) for column in range(count)]
        while widths and sum(widths) + COLUMN_GAP * count + MIN_LAST_COLUMN > width and max(widths) > 3:
            widths[widths.index(max(widths))] -= 1
        return widths

    def _cell(self, column: int, cell: Content, width: int) -> Content:
        cell = cell.truncate(width, ellipsis=True)
        missing = width - cell.cell_length
        aligned = cell.pad_left(missing) if column in self.right_aligned else cell.pad_right(missing)
        return aligned.pad_right(COLUMN_GAP)


class Columns(NamedTuple):
    """Two texts beside each other, or where there is no room for that, one that stands for both."""

    left: Sequence[Block]
    right: Sequence[Block]
    narrow: Block

    def lines(self, width: int) -> list[Content]:
        """Render the texts in lines of at most `width` cells."""
        room = (width - COLUMN_GAP - 1) // 2
        if room < MIN_TEXT_COLUMN:
            return self.narrow.lines(width)
        pairs = zip_longest(lay_out_blocks(self.left, room), lay_out_blocks(self.right, room), fillvalue=Content(""))
        separator = Content.styled(" │ ", "faint")
        return [left.pad_right(room - left.cell_length) + separator + right for left, right in pairs]


def paragraph(text: str = "", role: str = "") -> Paragraph:
    """Return a paragraph in one role; without text, a blank line."""
    return Paragraph(Content.styled(text, role) if role else Content(text))


def facts(texts: Iterable[str], role: str = "") -> Facts:
    """Return facts in one role."""
    return Facts([Content.styled(text, role) if role else Content(text) for text in texts])


def lay_out_blocks(blocks: Iterable[Block], width: int) -> list[Content]:
    """Render the blocks below each other, in lines of at most `width` cells."""
    return [line for block in blocks for line in block.lines(width)]


# Not Textual's ProgressBar: it tells the rest from the bar by colour alone, and needs a widget per bar.
def progress_bar(share: float, width: int = BAR_WIDTH) -> tuple[str, str]:
    """Return the full and the empty part of a bar; `share` is clamped to 0 to 1."""
    full = round(width * min(max(share, 0.0), 1.0))
    return "━" * full, "╌" * (width - full)
