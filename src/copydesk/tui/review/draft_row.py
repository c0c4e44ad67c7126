"""A draft as a row of the queue: one line, or in a wide terminal two.

What is the same for all rows of a list is left out, see `RowLook`. Free text comes last, or on a line of its own:
terminals disagree about the width of some characters, which would shift every later column.
"""

from datetime import datetime

from textual.content import Content

from copydesk.model.draft import ListedDraft, Severity
from copydesk.text import clean_lines
from copydesk.text.formatting import format_age
from copydesk.tui.labels import FLAG, FORMAT, Badge, failing_check, format_time, source_type_label, status_badge
from copydesk.tui.review.row_look import RowLook
from copydesk.tui.terminal.cells import fit, safe_line

AGE_WIDTH, TIME_WIDTH = 3, 9
"""Cells of a story's age, and of a time of day."""
MIN_SOURCE_WIDTH, MAX_SOURCE_WIDTH = 8, 16
"""Cells of the source in a row of one line: a fifth of the row within these limits."""
_SEPARATOR = " · "
_SEVERITIES = (Severity.ERROR, Severity.WARNING)


def draft_row(draft: ListedDraft, now: datetime, width: int, look: RowLook) -> Content:
    """Return the draft's row of one line in `width` cells.

    From the left: status, worst finding, confidence, format, age of the story, source, and the first line of the text.
    """
    source_width = min(max(width // 5, MIN_SOURCE_WIDTH), MAX_SOURCE_WIDTH)
    head = Content.assemble(
        _signs(draft, look),
        f"{draft.confidence * 100:3.0f}" if draft.confidence_known else "",
        (f" {FORMAT[draft.format].letter}", FORMAT[draft.format].role) if look.shows_format else "",
        (f" {_time(draft, now, look):>{AGE_WIDTH if look.zone is None else TIME_WIDTH}} ", "dim"),
        (f"{fit(_source_name(draft), source_width)} ", "dim"),
    )
    return head + fit(first_line(draft.text), width - head.cell_length)


def title_line(draft: ListedDraft, width: int, look: RowLook) -> Content:
    """Return the upper line of a row of two lines: status, worst finding, and the first line of the text."""
    signs = _signs(draft, look)
    return Content.assemble(signs, " ", (fit(first_line(draft.text), width - signs.cell_length - 1), "strong"))


def detail_line(draft: ListedDraft, now: datetime, width: int, look: RowLook) -> Content:
    """Return the lower line of a row of two lines.

    A state that is not the usual one, a failing check, the source, the age of the story or the time of posting, the
    format, the confidence, the part of the score that weighed most, and the tags; the last ones are left out where they
    do not fit.
    """
    parts = [part for part in _details(draft, now, look) if part.plain]
    line = Content("   ")
    for index, part in enumerate(parts):
        separator = Content.styled(_SEPARATOR, "faint") if index else Content("")
        room = width - line.cell_length - separator.cell_length
        if part.cell_length <= room:
            line += separator + part
        elif index < 2:
            line += separator + part.truncate(max(room, 0), ellipsis=True)
            break
    return line.truncate(width)


def _details(draft: ListedDraft, now: datetime, look: RowLook) -> list[Content]:
    badge, check = status_badge(draft), _worst_check(draft)
    shows_status = not _is_usual(draft, look)
    # The tags of a source are often the same; they come last.
    return [
        Content.styled(badge.text, badge.role) if shows_status else Content(""),
        Content.styled(safe_line(failing_check(check[0])), check[1].role) if check else Content(""),
        Content.styled(safe_line(_source_name(draft)), "dim"),
        Content.styled(_time(draft, now, look), "dim"),
        Content.styled(draft.format.value if look.shows_format else "", "dim"),
        Content.styled(f"{draft.confidence:.0%}", "accent") if draft.confidence_known else Content(""),
        Content.styled(_heaviest_part(draft), "dim"),
        Content.styled(" ".join(f"#{safe_line(tag)}" for tag in draft.tags), "dim"),
    ]


def _is_usual(draft: ListedDraft, look: RowLook) -> bool:
    """Return True if the draft is in the state that most drafts of the list are in."""
    if look.is_archive or draft.archived_at is not None:
        return look.is_archive and draft.archived_at is not None
    return draft.status is look.usual_status


def _signs(draft: ListedDraft, look: RowLook) -> Content:
    """Return two cells: the letter of a state that is not the usual one, and the sign of the worst finding."""
    badge, check = status_badge(draft), worst_finding_sign(draft) or Badge(" ", "dim", "")
    letter = " " if _is_usual(draft, look) and not look.is_archive else badge.letter
    return Content.assemble((letter, badge.role), (check.letter, check.role))


def _worst_check(draft: ListedDraft) -> tuple[str, Badge] | None:
    """Return the rule of the worst finding and its sign; None if nothing needs attention."""
    for severity in _SEVERITIES:
        for finding in draft.checks.findings:
            if finding.severity is severity:
                return finding.rule, FLAG[severity]
    return None


def _heaviest_part(draft: ListedDraft) -> str:
    """Return the part of the score that weighed most; empty without a score."""
    if draft.score is None or not draft.score.parts:
        return ""
    return safe_line(max(draft.score.parts, key=lambda part: part.points).name)


def worst_finding_sign(draft: ListedDraft) -> Badge | None:
    """Return the sign of the worst finding, or None if nothing needs attention."""
    worst = _worst_check(draft)
    return worst[1] if worst else None


def first_line(text: str) -> str:
    """Return the first line of `text` that is not blank."""
    return next(
        (line for line in (safe_line(line) for line in clean_lines(text).split("\n")) if line.strip()), ""
    ).strip()


def _time(draft: ListedDraft, now: datetime, look: RowLook) -> str:
    """Return the age of the story or, in lists of times, the time of posting if the draft has one."""
    instant = draft.posted_at or draft.scheduled_at
    if look.zone is not None and instant is not None:
        return format_time(instant, look.zone, now)
    return format_age(draft.item.published, now)


def _source_name(draft: ListedDraft) -> str:
    sources = draft.score.sources if draft.score else ()
    return safe_line(sources[0].name) if sources else source_type_label(draft.item.source_type)
