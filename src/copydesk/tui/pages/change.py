"""Pages with the diff between two versions of a draft, and with a draft's history."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from copydesk.model.draft import Finding
from copydesk.text import reveal
from copydesk.tui.cells import safe_line
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.naming import key_label
from copydesk.tui.words import SEVERITY

if TYPE_CHECKING:
    from copydesk.desk.story import DraftHistory
    from copydesk.desk.versions import Difference

DIFF_MARKS = {"same": ("", "", ""), "removed": ("[-", "-]", "bad"), "added": ("{+", "+}", "good")}
"""Opening mark, closing mark and style per kind of change. As in `wdiff`, so that the diff is readable without
colours."""
LINE_BREAK_MARK = "¶"
"""Stands for a removed or added piece that consists of line breaks only."""


def diff_page(diff: "Difference") -> list[Block]:
    """Return the page with both texts, word by word, and with the checks that improved or got worse."""
    pieces = [_diff_piece(piece.kind, piece.text) for piece in diff.pieces]
    blocks: list[Block] = [Paragraph(Content("").join(pieces))]
    if all(piece.kind == "same" for piece in diff.pieces):
        blocks += [paragraph(), paragraph("The words are the same.", "dim")]
    for heading, findings in (("Better", diff.better), ("Worse", diff.worse)):
        if findings:
            blocks += [
                paragraph(),
                paragraph(heading, "strong"),
                Table([_finding_row(finding) for finding in findings]),
            ]
    return blocks


def history_page(history: "DraftHistory", draft_id: str) -> list[Block]:
    """Return the page with all events of a draft and of its earlier versions, one per line."""
    return list(_history_blocks(history, draft_id))


def _history_blocks(story: "DraftHistory", draft_id: str) -> Iterator[Block]:
    current_id = ""
    version_ids = [version.id for version in story.versions]
    for event, line in zip(story.events, story.lines, strict=True):
        # A draft with a single version needs no headings.
        if len(version_ids) > 1 and event.draft_id != current_id:
            if current_id:
                yield paragraph()
            current_id = event.draft_id
            yield paragraph(f"Version {version_ids.index(current_id) + 1} of {len(version_ids)}", "strong")
        yield paragraph(safe_line(line), "dim" if event.undone else "")
    newer = story.children_of(draft_id)
    if newer:
        yield paragraph()
        yield paragraph(f"There is a newer version: {key_label('review.difference')} shows what changed.", "accent")


def _diff_piece(kind: str, text: str) -> Content:
    opening, closing, role = DIFF_MARKS[kind]
    visible = reveal(text)
    if not role:
        return Content(visible)
    if visible.isspace() and "\n" in visible:
        visible = LINE_BREAK_MARK + "\n" * visible.count("\n")
    # Mark every line on its own: a pair of marks that spans lines is hard to match by eye.
    lines = visible.split("\n")
    marked = [f"{opening}{line}{closing}" if line.strip() or len(lines) == 1 else line for line in lines]
    return Content.styled("\n".join(marked), role)


def _finding_row(finding: Finding) -> tuple[Content, ...]:
    sign = SEVERITY[finding.severity]
    return Content.styled(sign.letter, sign.role), Content(safe_line(finding.message))
