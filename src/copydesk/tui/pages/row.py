"""A draft as one line of the queue."""

from datetime import datetime, tzinfo

from rich.cells import cell_len
from textual.content import Content

from copydesk.model.draft import ListedDraft
from copydesk.text import clean_lines
from copydesk.tui.cells import cell, fit
from copydesk.tui.week_clock import time_shown
from copydesk.tui.words import FLAG, FORMAT, SOURCE, STATUS, Sign, age, bar

AGE, TIME = 3, 9
"""Cells of how old a draft is, and of a time on a clock."""
BAR_FROM = 42
"""From so many cells on a row has room for a bar, as it has beside the draft; more where it tells a time."""
SOURCE_FROM = 72
"""From so many cells on it has room for the source, too."""
SOURCE_WIDTH = 16
TEXT = 30
"""So many cells, and half of the row, the first line has before there are tags."""
SHORTEST_TAGS = 10
"""In fewer cells no tag could be told from another."""
LONGEST_TAGS = 24


def draft_row(draft: ListedDraft, now: datetime, width: int, zone: tzinfo | None = None) -> Content:
    """Status, what the checks found, confidence, format, age, source, first line and tags, as far as there is room.

    With a zone not the age stands there but when the draft goes out, or went, on that zone's clock.
    Free text stands last: terminals do not agree on the width of every character, and no column may shift.
    """
    sign = STATUS[draft.status]
    worst = flag(draft) or Sign(" ", "dim", "")
    more = 0 if zone is None else TIME - AGE
    head = Content.assemble(
        (sign.letter, sign.role),
        (worst.letter, worst.role),
        confidence(draft.confidence, with_bar=width >= BAR_FROM + more),
        " ",
        (FORMAT[draft.format].letter, FORMAT[draft.format].role),
        (f" {_when(draft, now, zone)} ", "dim"),
        (f"{fit(_source(draft), SOURCE_WIDTH)} " if width >= SOURCE_FROM else "", "dim"),
    )
    room = width - head.cell_length
    tags = _tags(draft, min(room - max(TEXT, width // 2) - 1, LONGEST_TAGS))
    return head + fit(first_line(draft.text), room - cell_len(tags)) + Content.styled(tags, "dim")


def confidence(share: float, *, with_bar: bool) -> Content:
    """What a draft's checks give it, of 100, and a bar of that where there is room."""
    full, empty = bar(share, 5) if with_bar else ("", "")
    return Content.assemble(f"{share * 100:3.0f}", " " * with_bar, (full, "accent"), (empty, "faint"))


def flag(draft: ListedDraft) -> Sign | None:
    """The worst of what the checks found, where that is worth a sign."""
    found = {finding.severity for finding in draft.checks.findings}
    return next((sign for severity, sign in FLAG.items() if severity in found), None)


def first_line(text: str) -> str:
    """The first line that has something on it."""
    return next((line for line in (cell(line) for line in clean_lines(text).split("\n")) if line.strip()), "").strip()


def _tags(draft: ListedDraft, room: int) -> str:
    """The draft's tags in at most `room` cells, with the space before them; a draft without any gives its room back."""
    if room < SHORTEST_TAGS or not draft.tags:
        return ""
    named = " ".join(f"#{cell(tag)}" for tag in draft.tags)
    return " " + fit(named, min(cell_len(named), room))


def _when(draft: ListedDraft, now: datetime, zone: tzinfo | None) -> str:
    """How old it is, or when it goes out or went; a draft that has lost its time is as old as any other."""
    at = draft.posted_at or draft.scheduled_at
    shown = time_shown(at, zone, now) if zone is not None and at is not None else age(draft.created_at, now)
    return f"{shown:>{AGE if zone is None else TIME}}"


def _source(draft: ListedDraft) -> str:
    named = draft.score.sources if draft.score else ()
    return cell(named[0].name) if named else SOURCE[draft.item.source_type]
