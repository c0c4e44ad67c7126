"""The images of a draft: a line of facts about each, and the image itself where the terminal can draw it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from textual.content import Content

from copydesk.model.picture import Thumbnail
from copydesk.tui.cells import safe_line
from copydesk.tui.layout import Block, Paragraph

INDENT = 2


class ImageView(NamedTuple):
    """An image on a page. `thumbnail` is None until it is loaded; `lines` its drawing, if it can be drawn."""

    alt: str
    thumbnail: Thumbnail | None = None
    lines: tuple[Content, ...] = ()


class ImageLines(NamedTuple):
    """Lines drawn in advance. Where they do not fit, nothing is shown: a cropped image is misleading."""

    rendered: Sequence[Content]

    def lines(self, width: int) -> list[Content]:
        """Return the lines, or none if they do not fit into `width` cells."""
        fits = all(line.cell_length + INDENT <= width for line in self.rendered)
        return [line.pad_left(INDENT) for line in self.rendered] if fits else []


def image_blocks(images: Sequence[ImageView]) -> Iterator[Block]:
    """Yield a line per image, as `picture 1 1200x800, 84 kB “A boat.”`, and below it the image or why it is missing."""
    for number, image in enumerate(images, 1):
        description = (
            Content(f"“{safe_line(image.alt)}”") if image.alt.strip() else Content.styled("no description", "warn")
        )
        yield Paragraph(Content.assemble((f"picture {number}  {_size_facts(image.thumbnail)}", "dim"), description))
        if image.thumbnail is not None and image.thumbnail.message:
            yield Paragraph(Content.styled(safe_line(image.thumbnail.message), "dim"), indent=INDENT)
        if image.lines:
            yield ImageLines(image.lines)


def _size_facts(look: Thumbnail | None) -> str:
    if look is None or not look.content:
        return ""
    return f"{look.width}x{look.height}, {format_bytes(look.size)}  "


def format_bytes(size: int) -> str:
    """Format a size in bytes with decimal units, as `84 kB` or `1.5 MB`."""
    for unit, factor in (("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}" if size < 10 * factor else f"{size // factor} {unit}"
    return f"{size} B"
