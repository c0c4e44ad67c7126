"""A draft as a row of the queue: one line, or in a wide terminal two.

What is the same for all rows of a list is left out, see `RowStyle`. Free text comes last, or on a line of its own:
terminals disagree about the width of some characters, which would shift every later column.
"""

from datetime import datetime

from rich.cells import cell_len
from textual.content import Content

from copydesk.model.draft import MANUAL, Format, ListedDraft, Severity
from copydesk.text import clean_lines
from copydesk.text.formatting import format_age
from copydesk.tui.labels import (
    ARRIVING,
    FORMAT_NAMES,
    SEVERITY,
    Badge,
    failing_check,
    format_time,
    source_type_label,
    status_badge,
    text_length,
)
from copydesk.tui.review.row_style import RowStyle
from copydesk.tui.terminal.cells import fit, safe_line

AGE_WIDTH, TIME_WIDTH = 3, 9
"""Cells of a story's age, and of a time of day."""
MIN_SOURCE_WIDTH, MAX_SOURCE_WIDTH = 8, 16
"""Cells of the source in a row of one line: a fifth of the row within these limits."""
MIN_SOURCE_DETAIL = 28
"""Cells to which the source in the lower line of a row is cut, so that it does not push out what comes after it."""
WORDS_WIDTH, STATE_WIDTH = 60, 9
"""Cells of a row of one line from which it has words for state and format; cells of the state in a mixed list."""
MIN_TEXT_WIDTH = 10
"""Cells of the text in a row of one line for which columns are left out."""
DETAIL_WIDTHS = {"score": 13, "tags": 14, "agent": 10, "writer": 10, "length": 6}
"""Cells of the columns that a row of one line has only if the user wants them."""
_SIGNS = ("state", "check", "confidence")
# Styled like most columns: fewer changes of style are written to the terminal.
_GAP = Content.styled(" ", "dim")
_SEPARATOR = " · "
_SEVERITIES = (Severity.ERROR, Severity.WARNING)


def draft_row(draft: ListedDraft, now: datetime, width: int, style: RowStyle) -> Content:
    """Return the draft's row of one line in `width` cells: the columns of the style, and the first line of the text.

    The text takes at least MIN_TEXT_WIDTH cells of it; columns for which there is no room are left out.
    """
    pieces: list[Content] = []
    used, previous = 0, ""
    for name in style.columns:
        cell = _column(name, draft, now, width, style)
        if not cell.plain:
            continue
        # The letter and the sign stand together, before the number.
        gap = bool(previous) and not (name in _SIGNS[1:] and previous in _SIGNS)
        if used + gap + cell.cell_length < width - MIN_TEXT_WIDTH:
            pieces += [_GAP, cell] if gap else [cell]
            used, previous = used + gap + cell.cell_length, name
    if pieces:
        pieces.append(_GAP)
        used += 1
    if width >= WORDS_WIDTH:
        words = _words(draft, style)
        pieces += words
        used += sum(word.cell_length for word in words)
    return Content.assemble(*pieces, fit(_title(draft), width - used))


def _words(draft: ListedDraft, style: RowStyle) -> list[Content]:
    """Return the state and the format in words, each with what separates it from the text, unless they are usual."""
    words = []
    if "state" in style.columns and not _is_usual(draft, style):
        badge = status_badge(draft)
        # In a list of all states every row has the word, so the texts stay aligned.
        is_mixed = style.usual_status is None
        text = f"{fit(badge.text, STATE_WIDTH)} " if is_mixed else f"{badge.text}{_SEPARATOR}"
        words.append(Content.styled(text, badge.role))
    if "format" in style.columns and style.shows_format and draft.format is not Format.SHORT:
        words.append(Content.styled(f"{FORMAT_NAMES[draft.format]}{_SEPARATOR}", "dim"))
    return words


def _column(name: str, draft: ListedDraft, now: datetime, width: int, style: RowStyle) -> Content:  # noqa: PLR0911 - one for each name
    """Return a column in its fixed width; empty if it is left out of all rows of the list."""
    match name:
        case "state":
            return _state_sign(draft, style)
        case "check":
            return _check_sign(draft)
        case "confidence":
            return Content(f"{draft.confidence:4.0%}" if draft.confidence_known else " " * 4 * style.shows_confidence)
        case "format":
            # A word before the text, where it is not the usual one.
            return Content("")
        case "age":
            return Content.styled(
                f"{_time(draft, now, style):>{AGE_WIDTH if style.zone is None else TIME_WIDTH}}", "dim"
            )
        case "source" if not style.shows_source:
            return Content("")
        case "source":
            return Content.styled(
                fit(_source_name(draft), min(max(width // 5, MIN_SOURCE_WIDTH), MAX_SOURCE_WIDTH)), "dim"
            )
    return Content.styled(fit(_detail(name, draft), DETAIL_WIDTHS[name]), "dim")


def title_line(draft: ListedDraft, width: int, style: RowStyle) -> Content:
    """Return the upper line of a row of two lines: status, worst finding, and the first line of the text."""
    signs = _signs(draft, style)
    return Content.assemble(signs, " ", (fit(_title(draft), width - signs.cell_length - 1), "strong"))


def arriving_line(text: str, width: int) -> Content:
    """Return the row, or its upper line, of a draft whose text is being written: the words that arrived last."""
    line, room = safe_line(" ".join(text.split())), width - len(ARRIVING)
    # From the start of a word.
    tail = line if len(line) <= room else line[-room:].partition(" ")[2]
    while cell_len(tail) > room:
        tail = tail[1:]
    return Content.assemble((ARRIVING, "accent"), tail)


def detail_line(draft: ListedDraft, now: datetime, width: int, style: RowStyle) -> Content:
    """Return the lower line of a row of two lines: the facts of the style; the last ones only where they fit."""
    line = Content("   ")
    facts = {name: fact for name in style.details if (fact := _fact(name, draft, now, style)).plain}
    if "source" in facts:
        taken = sum(fact.cell_length + len(_SEPARATOR) for name, fact in facts.items() if name != "source")
        room = max(width - line.cell_length - taken, MIN_SOURCE_DETAIL)
        facts["source"] = facts["source"].truncate(room, ellipsis=True)
    parts = list(facts.values())
    for index, part in enumerate(parts):
        separator = Content.styled(_SEPARATOR, "faint") if index else Content("")
        room = width - line.cell_length - separator.cell_length
        if part.cell_length <= room:
            line += separator + part
        elif index < 2:
            line += separator + part.truncate(max(room, 0), ellipsis=True)
            break
    return line.truncate(width)


def _fact(name: str, draft: ListedDraft, now: datetime, style: RowStyle) -> Content:  # noqa: PLR0911 - one for each name
    """Return a fact in words; empty if there is none, or it is that of most drafts of the list."""
    match name:
        case "state":
            badge = status_badge(draft)
            return Content.styled("" if _is_usual(draft, style) else badge.text, badge.role)
        case "check":
            check = _worst_check(draft)
            return Content.styled(safe_line(failing_check(check[0])), check[1].role) if check else Content("")
        case "confidence":
            return Content.styled(f"{draft.confidence:.0%}" if draft.confidence_known else "", "accent")
        case "format":
            is_named = style.shows_format and draft.format is not Format.SHORT
            return Content.styled(FORMAT_NAMES[draft.format] if is_named else "", "dim")
        case "age":
            return Content.styled(_time(draft, now, style), "dim")
        case "source" if not style.shows_source:
            return Content("")
        case "source":
            return Content.styled(safe_line(_source_name(draft)), "dim")
        case "score":
            part = heaviest_part(draft)
            return Content.styled("" if part == style.usual_part else part, "dim")
    return Content.styled(_detail(name, draft), "dim")


def _detail(name: str, draft: ListedDraft) -> str:
    """Return a fact that reads the same in both kinds of rows."""
    match name:
        case "score":
            return heaviest_part(draft)
        case "tags":
            return " ".join(f"#{safe_line(tag)}" for tag in draft.tags)
        case "agent":
            return safe_line(draft.agent.token or draft.agent.name) if draft.agent is not None else ""
        case "writer":
            return safe_line(draft.writer)
    return text_length(len(draft.text))


def _is_usual(draft: ListedDraft, style: RowStyle) -> bool:
    """Return True if the draft is in the state that most drafts of the list are in."""
    if style.is_archive or draft.archived_at is not None:
        return style.is_archive and draft.archived_at is not None
    return draft.status is style.usual_status


def _signs(draft: ListedDraft, style: RowStyle) -> Content:
    """Return two cells: the letter of a state that is not the usual one, and the sign of the worst finding."""
    return _state_sign(draft, style) + _check_sign(draft)


def _state_sign(draft: ListedDraft, style: RowStyle) -> Content:
    badge = status_badge(draft)
    return Content.styled(" " if _is_usual(draft, style) and not style.is_archive else badge.letter, badge.role)


def _check_sign(draft: ListedDraft) -> Content:
    check = worst_finding_sign(draft) or Badge(" ", "dim", "")
    return Content.styled(check.letter, check.role)


def _worst_check(draft: ListedDraft) -> tuple[str, Badge] | None:
    """Return the rule of the worst finding and its sign; None if nothing needs attention."""
    for severity in _SEVERITIES:
        for finding in draft.checks.findings:
            if finding.severity is severity:
                return finding.rule, SEVERITY[severity]
    return None


def heaviest_part(draft: ListedDraft) -> str:
    """Return the part of the score that weighed most; empty without a score."""
    if draft.score is None or not draft.score.parts:
        return ""
    return safe_line(max(draft.score.parts, key=lambda part: part.points).name)


def worst_finding_sign(draft: ListedDraft) -> Badge | None:
    """Return the sign of the worst finding, or None if nothing needs attention."""
    worst = _worst_check(draft)
    return worst[1] if worst else None


def _title(draft: ListedDraft) -> str:
    """Return the first line of the draft, or while it has no text the title of its item: a page, or the prompt."""
    return first_line(draft.text) or safe_line(draft.item.title)


def first_line(text: str) -> str:
    """Return the first line of `text` that is not blank."""
    return next(
        (line for line in (safe_line(line) for line in clean_lines(text).split("\n")) if line.strip()), ""
    ).strip()


def _time(draft: ListedDraft, now: datetime, style: RowStyle) -> str:
    """Return the age of the story or, in lists of times, the time of posting if the draft has one."""
    instant = draft.posted_at or draft.scheduled_at
    if style.zone is not None and instant is not None:
        return format_time(instant, style.zone, now)
    return format_age(draft.item.published, now)


def has_source(draft: ListedDraft) -> bool:
    """Return True if the draft was written from an item of a source."""
    return bool(draft.score and draft.score.sources) or draft.item.source_type != MANUAL


def _source_name(draft: ListedDraft) -> str:
    sources = draft.score.sources if draft.score else ()
    return safe_line(sources[0].name) if sources else source_type_label(draft.item.source_type)
