"""The preview of a draft on its accounts: its length there, what would be refused, and its images.

An image has a line of facts, and is drawn where the terminal can do it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from textual.content import Content

from copydesk.model.delivery import Preview, PreviewPart
from copydesk.model.draft import Thumbnail
from copydesk.text import links
from copydesk.text.formatting import plural
from copydesk.tui import labels
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.terminal.cells import safe_line

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
    """Yield a line per image, as `Image 1  1200x800, 84 kB  “A boat.”`, and below it the image or why it is missing."""
    for number, image in enumerate(images, 1):
        description = (
            Content(f"“{safe_line(image.alt)}”") if image.alt.strip() else Content.styled(labels.NO_ALT_TEXT, "warn")
        )
        yield Paragraph(
            Content.assemble((labels.image_heading(number, _size_facts(image.thumbnail)), "dim"), description)
        )
        if image.thumbnail is not None and image.thumbnail.message:
            yield Paragraph(Content.styled(safe_line(image.thumbnail.message), "dim"), indent=INDENT)
        if image.lines:
            yield ImageLines(image.lines)


def _size_facts(thumbnail: Thumbnail | None) -> str:
    if thumbnail is None or not thumbnail.content:
        return ""
    return f"{thumbnail.width}x{thumbnail.height}, {format_bytes(thumbnail.size)}  "


def format_bytes(size: int) -> str:
    """Format a size in bytes with decimal units, as `84 kB` or `1.5 MB`."""
    for unit, factor in (("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}" if size < 10 * factor else f"{size // factor} {unit}"
    return f"{size} B"


MAX_LISTED_PARTS = 30
"""Posts of a thread whose lengths are listed; no platform accepts as many."""
EXCERPT_LENGTH = 60
"""Characters that identify a post of a thread in the table."""


def preview_page(previews: Sequence[Preview], images: Sequence[ImageView] = ()) -> list[Block]:
    """Return the preview per account and the images with their descriptions, as screen readers get them."""
    heading = Paragraph(Content.assemble((labels.PREVIEW_HEADING, "strong"), "  ", _summary(previews)))
    blocks: list[Block] = [heading]
    if not previews:
        blocks.append(paragraph(labels.no_matching_account(), "dim"))
    for preview in previews:
        blocks += _account_blocks(preview)
    return [*blocks, paragraph(), *image_blocks(images)] if images else blocks


def _summary(previews: Sequence[Preview]) -> Content:
    """Return how many of the accounts would refuse the text."""
    # There is nothing to judge before there is text.
    if not any(preview.parts for preview in previews):
        return Content("")
    refused = sum(not preview.fits for preview in previews)
    if not refused:
        return Content.styled(labels.FITS_ALL_ACCOUNTS, "good")
    return Content.styled(labels.rejected_by(refused, len(previews)), "bad")


def _account_blocks(preview: Preview) -> Iterator[Block]:
    remarks = [] if preview.connected else [labels.NOT_CONNECTED]
    if len(preview.parts) > 1:
        remarks.append(plural(len(preview.parts), "post"))
    name = Content.styled(safe_line(preview.account), "accent")
    head = [name, *(Content.styled(remark, "dim") for remark in remarks)]
    if len(preview.parts) == 1:
        head.append(_length(preview.parts[0]))
    yield Paragraph(Content.styled("  ").join(head))
    if len(preview.parts) > 1:
        yield Table(
            [_part_row(number, part) for number, part in enumerate(preview.parts[:MAX_LISTED_PARTS], 1)],
            frozenset({0, 1}),
        )
    for problem in preview.stops:
        yield Paragraph(Content.styled(labels.problem(safe_line(problem)), "bad"), indent=2)
    for number, part in enumerate(preview.parts, 1):
        for problem in part.stops:
            yield Paragraph(Content.styled(labels.problem(safe_line(problem), number), "bad"), indent=2)
    if link := _first_link(preview.parts):
        label = labels.LINK_CARD if preview.card else labels.PLAIN_LINK
        yield Paragraph(Content.assemble((f"{label} ", "dim"), (safe_line(link), "link")), indent=2)


def _length(part: PreviewPart) -> Content:
    """Return `257/280`. An exceeded limit is marked in words, not by colour alone."""
    if part.limit is None:
        return Content.styled(plural(part.length, "character"), "dim")
    count = f"{part.length:,}/{part.limit:,}"
    excess = part.length - part.limit
    return Content.styled(
        labels.length_over_limit(count, excess) if excess > 0 else count, "bad" if excess > 0 else "good"
    )


def _part_row(number: int, part: PreviewPart) -> tuple[Content, ...]:
    head = safe_line(part.text[:EXCERPT_LENGTH].strip())
    return Content.styled(f"  {number}", "dim"), _length(part), Content.styled(head, "dim")


def _first_link(parts: Sequence[PreviewPart]) -> str:
    """Return the first link of the first post, which a link card would be made from, or an empty string."""
    for part in parts[:1]:
        for start, end in links.spans(part.text):
            return part.text[start:end]
    return ""
