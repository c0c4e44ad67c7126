"""The images of a draft: a line of facts about each, and the image itself where the terminal can draw it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from textual.content import Content

from copydesk.model.picture import Look
from copydesk.tui.cells import cell
from copydesk.tui.layout import Block, Paragraph

INDENT = 2


class Pictured(NamedTuple):
    """An image on a page. `thumbnail` is None until it is loaded; `lines` its drawing, if it can be drawn."""

    alt: str
    look: Look | None = None
    lines: tuple[Content, ...] = ()


class Lines(NamedTuple):
    """Lines drawn in advance. Where they do not fit, nothing is shown: a cropped image is misleading."""

    drawn: Sequence[Content]

    def lines(self, width: int) -> list[Content]:
        """Return the lines, or none if they do not fit into `width` cells."""
        fits = all(line.cell_length + INDENT <= width for line in self.drawn)
        return [line.pad_left(INDENT) for line in self.drawn] if fits else []


def picture_blocks(pictures: Sequence[Pictured]) -> Iterator[Block]:
    """Yield a line per image, as `picture 1 1200x800, 84 kB “A boat.”`, and below it the image or why it is missing."""
    for number, image in enumerate(pictures, 1):
        description = Content(f"“{cell(image.alt)}”") if image.alt.strip() else Content.styled("no description", "warn")
        yield Paragraph(Content.assemble((f"picture {number}  {_size_facts(image.look)}", "dim"), description))
        if image.look is not None and image.look.says:
            yield Paragraph(Content.styled(cell(image.look.says), "dim"), indent=INDENT)
        if image.lines:
            yield Lines(image.lines)


def _size_facts(look: Look | None) -> str:
    if look is None or not look.content:
        return ""
    return f"{look.width}x{look.height}, {weight(look.weight)}  "


def weight(size: int) -> str:
    """Format a size in bytes with decimal units, as `84 kB` or `1.5 MB`."""
    for unit, factor in (("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}" if size < 10 * factor else f"{size // factor} {unit}"
    return f"{size} B"
