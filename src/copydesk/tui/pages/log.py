"""The page with the full texts of recent notifications, newest first."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from textual.content import Content

from copydesk.text import clean_lines
from copydesk.tui.layout import Block, Paragraph, plain
from copydesk.tui.words import ago, exact

if TYPE_CHECKING:
    from copydesk.tui.saying import Told

_SIGNS = {"error": ("E", "bad"), "warning": ("W", "warn"), "information": ("i", "dim")}


def log_page(told: Iterable["Told"], now: datetime) -> list[Block]:
    """Return the notifications with time and severity letter (E, W or i), newest first."""
    blocks: list[Block] = []
    for entry in reversed(list(told)):
        timestamp = f" {exact(entry.at)} · {ago(entry.at, now)}"
        blocks.append(Paragraph(Content.assemble(_SIGNS[entry.severity], (timestamp, "dim"))))
        blocks += [Paragraph(Content(clean_lines(entry.text)), indent=2), plain()]
    return blocks or [plain("Nothing went wrong since the console was opened.", "dim")]
