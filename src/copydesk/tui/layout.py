"""Paragraphs and tables as lines of a given width.

The styles in a Content are names of roles (`dim`, `accent`, `good`, `warn`, `bad`, `strong`); the style sheets give
them their colours.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from textual.content import Content

GAP = 2
"""Cells between two columns."""
NARROWEST = 12
"""Cells that a table's last column has at least, before the others are cut for it."""


class Block(Protocol):
    """A piece of a page."""

    def lines(self, width: int) -> list[Content]:
        """It in lines of at most `width` cells."""


class Paragraph(NamedTuple):
    """Text that is wrapped at words; its line breaks stay."""

    content: Content
    indent: int = 0

    def lines(self, width: int) -> list[Content]:
        """The text in lines of at most `width` cells."""
        if not self.content:
            return [self.content]
        room = max(width - self.indent, 1)
        return [line.pad_left(self.indent) for line in self.content.wrap(room)]


class Table(NamedTuple):
    """Aligned columns; the last one is wrapped within itself."""

    rows: Sequence[tuple[Content, ...]]
    right: frozenset[int] = frozenset()
    """Columns that are aligned to the right: numbers."""

    def lines(self, width: int) -> list[Content]:
        """The rows in lines of at most `width` cells."""
        if not self.rows:
            return []
        widths = self._widths(width)
        before = sum(widths) + GAP * len(widths)
        lines = []
        for *cells, last in self.rows:
            head = Content("").join([self._cell(at, cell, widths[at]) for at, cell in enumerate(cells)])
            first, *more = last.wrap(max(width - before, 1)) if last else [last]
            lines += [head + first, *(line.pad_left(before) for line in more)]
        return lines

    def _widths(self, width: int) -> list[int]:
        """Each column as wide as its widest cell; the widest of them gives way to the last column."""
        count = len(self.rows[0]) - 1
        widths = [max(row[at].cell_length for row in self.rows) for at in range(count)]
        while widths and sum(widths) + GAP * count + NARROWEST > width and max(widths) > 3:
            widths[widths.index(max(widths))] -= 1
        return widths

    def _cell(self, at: int, cell: Content, width: int) -> Content:
        cell = cell.truncate(width, ellipsis=True)
        missing = width - cell.cell_length
        aligned = cell.pad_left(missing) if at in self.right else cell.pad_right(missing)
        return aligned.pad_right(GAP)


def plain(text: str = "", role: str = "") -> Paragraph:
    """A paragraph in one role; without text a blank line."""
    return Paragraph(Content.styled(text, role) if role else Content(text))


def lay_out(blocks: Iterable[Block], width: int) -> list[Content]:
    """The blocks below each other, in lines of at most `width` cells."""
    return [line for block in blocks for line in block.lines(width)]
