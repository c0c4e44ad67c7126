"""Fit untrusted text into the cells of a line."""

import re

from rich.cells import cell_len, set_cell_size

from copydesk.text import clean
from copydesk.tui.widths import patch_rich_width_table

patch_rich_width_table()
# Terminals disagree on the width of variation selectors, the keycap mark, anything joined to an emoji and skin tones;
# columns after them would shift.
_AMBIGUOUS_WIDTH = re.compile("[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]|\u200d[\u2190-\u2bff\U0001f000-\U0001faff]?")

MAX_LINE_CHARS = 1000
"""Characters of a line that are processed. No terminal is wider, and a hostile name may have a million."""


def safe_line(text: str) -> str:
    """Return `text` on one line, safe for the terminal and of the same width on every terminal."""
    safe = clean(text if len(text) <= MAX_LINE_CHARS else f"{text[:MAX_LINE_CHARS]}…")
    return safe if safe.isascii() else _AMBIGUOUS_WIDTH.sub("", safe)


def fit(text: str, width: int) -> str:
    """Return `text` in exactly `width` cells: truncated with an ellipsis, or padded."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…" if width > 0 else ""
