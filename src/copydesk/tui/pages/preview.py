"""How a text will stand at each place that it is meant for: what it comes to there, and what would be refused."""

from collections.abc import Iterator, Sequence

from textual.content import Content

from copydesk.model.posting import Preview, PreviewPart
from copydesk.text import links
from copydesk.tui.cells import cell
from copydesk.tui.layout import Block, Paragraph, Table, plain
from copydesk.tui.naming import key
from copydesk.tui.pages.pictures import Pictured, picture_blocks
from copydesk.tui.words import plural

MOST_PARTS = 30
"""Posts of a thread whose counts are shown; no platform takes so many."""
HEAD = 60
"""Characters by which a post of a thread is known again."""


def preview_page(previews: Sequence[Preview], pictures: Sequence[Pictured] = ()) -> list[Block]:
    """A heading, the places, and the pictures with what they show, which is what those hear who cannot see them."""
    heading = Paragraph(Content.assemble(("Where it would go", "strong"), "  ", _summary(previews)))
    blocks: list[Block] = [heading]
    if not previews:
        blocks.append(plain(f"No account takes this. Connect one: Setup, {key('console.setup')}.", "dim"))
    for one in previews:
        blocks += _place(one)
    return [*blocks, plain(), *picture_blocks(pictures)] if pictures else blocks


def _summary(previews: Sequence[Preview]) -> Content:
    """In how many places it would be refused."""
    if not any(each.parts for each in previews):
        return Content("")
    refused = sum(not each.fits for each in previews)
    if not refused:
        return Content.styled("fits everywhere", "good")
    return Content.styled(f"{refused} of {len(previews)} would refuse it", "bad")


def _place(one: Preview) -> Iterator[Block]:
    said = [] if one.connected else ["not connected"]
    if len(one.parts) > 1:
        said.append(plural(len(one.parts), "post"))
    name = Content.styled(cell(one.account), "accent")
    head = [name, *(Content.styled(each, "dim") for each in said)]
    if len(one.parts) == 1:
        head.append(_count(one.parts[0]))
    yield Paragraph(Content.styled("  ").join(head))
    if len(one.parts) > 1:
        yield Table([_part(number, part) for number, part in enumerate(one.parts[:MOST_PARTS], 1)], frozenset({0, 1}))
    for says in one.stops:
        yield Paragraph(Content.styled(f"refused: {cell(says)}", "bad"), indent=2)
    for number, part in enumerate(one.parts, 1):
        for says in part.stops:
            yield Paragraph(Content.styled(f"refused, post {number}: {cell(says)}", "bad"), indent=2)
    if link := _first_link(one.parts):
        what = "card of" if one.card else "link, no card:"
        yield Paragraph(Content.assemble((f"{what} ", "dim"), (cell(link), "link")), indent=2)


def _count(part: PreviewPart) -> Content:
    """`257/280`; what is too much is said in words."""
    if part.limit is None:
        return Content.styled(plural(part.length, "character"), "dim")
    figures = f"{part.length:,}/{part.limit:,}"
    over = part.length - part.limit
    return Content.styled(f"{figures}, {over:,} too long" if over > 0 else figures, "bad" if over > 0 else "good")


def _part(number: int, part: PreviewPart) -> tuple[Content, ...]:
    head = cell(part.text[:HEAD].strip())
    return Content.styled(f"  {number}", "dim"), _count(part), Content.styled(head, "dim")


def _first_link(parts: Sequence[PreviewPart]) -> str:
    """What a card would be made of."""
    for part in parts[:1]:
        for start, end in links.spans(part.text):
            return part.text[start:end]
    return ""
