"""The pictures of a draft: a line of each, with what it shows, and it itself where it can be drawn."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from textual.content import Content

from copydesk.model.picture import Look
from copydesk.tui.cells import cell
from copydesk.tui.layout import Block, Paragraph

INDENT = 2


class Pictured(NamedTuple):
    """A picture on a page; `look` is there as soon as it was looked at, `lines` where it can be drawn."""

    alt: str
    look: Look | None = None
    lines: tuple[Content, ...] = ()


class Lines(NamedTuple):
    """Lines that were drawn before. Where they are too wide there are none: half of a picture says less."""

    drawn: Sequence[Content]

    def lines(self, width: int) -> list[Content]:
        """The lines, where they fit into `width` cells."""
        fits = all(line.cell_length + INDENT <= width for line in self.drawn)
        return [line.pad_left(INDENT) for line in self.drawn] if fits else []


def picture_blocks(pictures: Sequence[Pictured]) -> Iterator[Block]:
    """`picture 1  1200x800, 84 kB  “A boat.”`, and below it the picture, or why it cannot be seen."""
    for number, each in enumerate(pictures, 1):
        says = Content(f"“{cell(each.alt)}”") if each.alt.strip() else Content.styled("no description", "warn")
        yield Paragraph(Content.assemble((f"picture {number}  {_figures(each.look)}", "dim"), says))
        if each.look is not None and each.look.says:
            yield Paragraph(Content.styled(cell(each.look.says), "dim"), indent=INDENT)
        if each.lines:
            yield Lines(each.lines)


def _figures(look: Look | None) -> str:
    if look is None or not look.content:
        return ""
    return f"{look.width}x{look.height}, {weight(look.weight)}  "


def weight(size: int) -> str:
    """Bytes as people say them."""
    for unit, one in (("MB", 10**6), ("kB", 10**3)):
        if size >= one:
            return f"{size / one:.1f} {unit}" if size < 10 * one else f"{size // one} {unit}"
    return f"{size} B"
