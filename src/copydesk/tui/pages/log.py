"""What was said in toasts, in full, the newest first."""

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
    """Each with its time and a letter; an error is E, a warning W."""
    blocks: list[Block] = []
    for each in reversed(list(told)):
        when = f" {exact(each.at)} · {ago(each.at, now)}"
        blocks.append(Paragraph(Content.assemble(_SIGNS[each.severity], (when, "dim"))))
        blocks += [Paragraph(Content(clean_lines(each.text)), indent=2), plain()]
    return blocks or [plain("Nothing went wrong since the console was opened.", "dim")]
