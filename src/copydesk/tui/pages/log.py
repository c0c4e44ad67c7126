"""The page with the full texts of recent notifications, newest first."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from textual.content import Content

from copydesk.text import clean_lines
from copydesk.tui.layout import Block, Paragraph, paragraph
from copydesk.tui.words import format_ago, format_utc

if TYPE_CHECKING:
    from copydesk.tui.saying import LogEntry

_SIGNS = {"error": ("E", "bad"), "warning": ("W", "warn"), "information": ("i", "dim")}


def log_page(entries: Iterable["LogEntry"], now: datetime) -> list[Block]:
    """Return the notifications with time and severity letter (E, W or i), newest first."""
    blocks: list[Block] = []
    for entry in reversed(list(entries)):
        timestamp = f" {format_utc(entry.at)} · {format_ago(entry.at, now)}"
        blocks.append(Paragraph(Content.assemble(_SIGNS[entry.severity], (timestamp, "dim"))))
        blocks += [Paragraph(Content(clean_lines(entry.text)), indent=2), paragraph()]
    return blocks or [paragraph("Nothing went wrong since the console was opened.", "dim")]
