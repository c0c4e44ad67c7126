"""A draft as one row of the queue."""

from datetime import datetime, tzinfo

from rich.cells import cell_len
from textual.content import Content

from copydesk.model.draft import ListedDraft
from copydesk.text import clean_lines
from copydesk.text.formatting import format_age
from copydesk.tui.labels import FLAG, FORMAT, Badge, format_time, source_type_label, status_badge
from copydesk.tui.layout import progress_bar
from copydesk.tui.terminal.cells import fit, safe_line

AGE_WIDTH, TIME_WIDTH = 3, 9
"""Cells of a draft's age, and of a time of day."""
MIN_WIDTH_FOR_BAR = 42
"""Rows of at least this many cells show a confidence bar; rows with a time need `TIME_WIDTH - AGE_WIDTH` more."""
BAR_WIDTH = 5
MIN_WIDTH_FOR_SOURCE = 72
"""Rows of at least this many cells show the source, too."""
SOURCE_WIDTH = 16
MIN_TEXT_WIDTH = 30
"""The first line gets this many cells, and half of the row, before tags are shown."""
MIN_TAGS_WIDTH = 10
"""In fewer cells one tag could not be told from another."""
MAX_TAGS_WIDTH = 24


def draft_row(draft: ListedDraft, now: datetime, width: int, zone: tzinfo | None = None) -> Content:
    """Return the draft's row in `width` cells.

    From the left: status, worst finding, confidence, format, age, source, first line and tags, as far as there is room.
    With `zone` the age is replaced by the time at which the draft goes out or was posted.

    Free text comes last: terminals disagree about the width of some characters, which would shift every later column.
    """
    sign = status_badge(draft)
    check_sign = worst_finding_sign(draft) or Badge(" ", "dim", "")
    extra = 0 if zone is None else TIME_WIDTH - AGE_WIDTH
    head = Content.assemble(
        (sign.letter, sign.role),
        (check_sign.letter, check_sign.role),
        confidence_gauge(
            draft.confidence if draft.confidence_known else None, with_bar=width >= MIN_WIDTH_FOR_BAR + extra
        ),
        " ",
        (FORMAT[draft.format].letter, FORMAT[draft.format].role),
        (f" {_time_column(draft, now, zone)} ", "dim"),
        (f"{fit(_source_name(draft), SOURCE_WIDTH)} " if width >= MIN_WIDTH_FOR_SOURCE else "", "dim"),
    )
    room = width - head.cell_length
    tags = _tags(draft, min(room - max(MIN_TEXT_WIDTH, width // 2) - 1, MAX_TAGS_WIDTH))
    return head + fit(first_line(draft.text), room - cell_len(tags)) + Content.styled(tags, "dim")


def confidence_gauge(share: float | None, *, with_bar: bool) -> Content:
    """Return the draft's confidence (0 to 1, None if not known yet) as a percentage, optionally with a bar."""
    if share is None:
        # As wide as a known one, so that the columns after it stay in line.
        return Content.styled("  –" + " " * (1 + BAR_WIDTH if with_bar else 0), "dim")
    full, empty = progress_bar(share, BAR_WIDTH) if with_bar else ("", "")
    return Content.assemble(f"{share * 100:3.0f}", " " * with_bar, (full, "accent"), (empty, "faint"))


def worst_finding_sign(draft: ListedDraft) -> Badge | None:
    """Return the sign of the worst finding, or None if nothing needs attention."""
    severities = {finding.severity for finding in draft.checks.findings}
    return next((sign for severity, sign in FLAG.items() if severity in severities), None)


def first_line(text: str) -> str:
    """Return the first line of `text` that is not blank."""
    return next(
        (line for line in (safe_line(line) for line in clean_lines(text).split("\n")) if line.strip()), ""
    ).strip()


def _tags(draft: ListedDraft, room: int) -> str:
    """Return the tags in at most `room` cells, including the space before them; empty if the draft has none."""
    if room < MIN_TAGS_WIDTH or not draft.tags:
        return ""
    tags = " ".join(f"#{safe_line(tag)}" for tag in draft.tags)
    return " " + fit(tags, min(cell_len(tags), room))


def _time_column(draft: ListedDraft, now: datetime, zone: tzinfo | None) -> str:
    """Return the age or, with a zone, the time of posting. A draft without a time shows its age in either case."""
    instant = draft.posted_at or draft.scheduled_at
    text = (
        format_time(instant, zone, now)
        if zone is not None and instant is not None
        else format_age(draft.created_at, now)
    )
    return f"{text:>{AGE_WIDTH if zone is None else TIME_WIDTH}}"


def _source_name(draft: ListedDraft) -> str:
    sources = draft.score.sources if draft.score else ()
    return safe_line(sources[0].name) if sources else source_type_label(draft.item.source_type)
