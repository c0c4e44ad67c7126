"""What changed from one version of a draft to another, and what happened to a draft."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from copydesk.model.draft import Finding
from copydesk.text import reveal
from copydesk.tui.cells import cell
from copydesk.tui.layout import Block, Paragraph, Table, plain
from copydesk.tui.naming import key
from copydesk.tui.words import SEVERITY

if TYPE_CHECKING:
    from copydesk.desk.story import Story
    from copydesk.desk.versions import Difference

MARKS = {"same": ("", "", ""), "removed": ("[-", "-]", "bad"), "added": ("{+", "+}", "good")}
"""As `wdiff` has them: they say it without colours too."""
BREAK = "¶"
"""Stands for line breaks where nothing else was removed or added."""


def difference_page(found: "Difference") -> list[Block]:
    """Both texts, word by word, and which checks got better and worse."""
    pieces = [_piece(piece.kind, piece.text) for piece in found.pieces]
    blocks: list[Block] = [Paragraph(Content("").join(pieces))]
    if all(piece.kind == "same" for piece in found.pieces):
        blocks += [plain(), plain("The words are the same.", "dim")]
    for heading, findings in (("Better", found.better), ("Worse", found.worse)):
        if findings:
            blocks += [plain(), plain(heading, "strong"), Table([_finding(each) for each in findings])]
    return blocks


def history_page(story: "Story", draft_id: str) -> list[Block]:
    """Everything that happened to a draft and to the versions before it, a line each."""
    return list(_history(story, draft_id))


def _history(story: "Story", draft_id: str) -> Iterator[Block]:
    about = ""
    order = [each.id for each in story.versions]
    for event, line in zip(story.events, story.lines, strict=True):
        if len(order) > 1 and event.draft_id != about:
            if about:
                yield plain()
            about = event.draft_id
            yield plain(f"Version {order.index(about) + 1} of {len(order)}", "strong")
        yield plain(cell(line), "dim" if event.undone else "")
    newer = story.newer_than(draft_id)
    if newer:
        yield plain()
        yield plain(f"There is a newer version: {key('review.difference')} shows what changed.", "accent")


def _piece(kind: str, text: str) -> Content:
    opening, closing, role = MARKS[kind]
    shown = reveal(text)
    if not role:
        return Content(shown)
    if shown.isspace() and "\n" in shown:
        shown = BREAK + "\n" * shown.count("\n")
    # Each line has marks of its own: a pair that spans lines cannot be seen to belong together.
    lines = shown.split("\n")
    marked = [f"{opening}{line}{closing}" if line.strip() or len(lines) == 1 else line for line in lines]
    return Content.styled("\n".join(marked), role)


def _finding(finding: Finding) -> tuple[Content, ...]:
    sign = SEVERITY[finding.severity]
    return Content.styled(sign.letter, sign.role), Content(cell(finding.message))
