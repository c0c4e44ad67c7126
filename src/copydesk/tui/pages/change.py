"""Pages with the diff between two versions of a draft, and with a draft's history."""

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
"""Opening mark, closing mark and style per kind of change. As in `wdiff`, so that the diff is readable without
colours."""
BREAK = "¶"
"""Stands for a removed or added piece that consists of line breaks only."""


def difference_page(found: "Difference") -> list[Block]:
    """Return the page with both texts, word by word, and with the checks that improved or got worse."""
    pieces = [_diff_piece(piece.kind, piece.text) for piece in found.pieces]
    blocks: list[Block] = [Paragraph(Content("").join(pieces))]
    if all(piece.kind == "same" for piece in found.pieces):
        blocks += [plain(), plain("The words are the same.", "dim")]
    for heading, findings in (("Better", found.better), ("Worse", found.worse)):
        if findings:
            blocks += [plain(), plain(heading, "strong"), Table([_finding_row(finding) for finding in findings])]
    return blocks


def history_page(story: "Story", draft_id: str) -> list[Block]:
    """Return the page with all events of a draft and of its earlier versions, one per line."""
    return list(_history_blocks(story, draft_id))


def _history_blocks(story: "Story", draft_id: str) -> Iterator[Block]:
    current_id = ""
    version_ids = [version.id for version in story.versions]
    for event, line in zip(story.events, story.lines, strict=True):
        # A draft with a single version needs no headings.
        if len(version_ids) > 1 and event.draft_id != current_id:
            if current_id:
                yield plain()
            current_id = event.draft_id
            yield plain(f"Version {version_ids.index(current_id) + 1} of {len(version_ids)}", "strong")
        yield plain(cell(line), "dim" if event.undone else "")
    newer = story.newer_than(draft_id)
    if newer:
        yield plain()
        yield plain(f"There is a newer version: {key('review.difference')} shows what changed.", "accent")


def _diff_piece(kind: str, text: str) -> Content:
    opening, closing, role = MARKS[kind]
    visible = reveal(text)
    if not role:
        return Content(visible)
    if visible.isspace() and "\n" in visible:
        visible = BREAK + "\n" * visible.count("\n")
    # Mark every line on its own: a pair of marks that spans lines is hard to match by eye.
    lines = visible.split("\n")
    marked = [f"{opening}{line}{closing}" if line.strip() or len(lines) == 1 else line for line in lines]
    return Content.styled("\n".join(marked), role)


def _finding_row(finding: Finding) -> tuple[Content, ...]:
    sign = SEVERITY[finding.severity]
    return Content.styled(sign.letter, sign.role), Content(cell(finding.message))
