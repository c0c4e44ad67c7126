"""Character widths, and text fitted into the cells of a line.

Terminals disagree about some widths: the one that draws a character widest counts. Rich uses the widths of the newest
Unicode version. A terminal that draws a character wider than counted pushes the rest of the line out of its column; one
that draws it narrower leaves a gap, which `driver.correct_widths` fills.
"""

import re
import unicodedata
from bisect import bisect_left
from functools import cache

from rich import cells
from rich.cells import cell_len, set_cell_size

from copydesk.text import clean
from copydesk.tui.terminal.private_api import rich_width_table

_DOUBLE_WIDTH = frozenset({*range(0x3248, 0x3250), 0x302E, 0x302F, 0x16FF0, 0x16FF1})
"""Numbers in black squares, and tone marks: two cells wide unless drawn narrow."""
_LAST_VISIBLE = 0x1FFFF
"""Beyond it there are only tags and variation selectors, which are invisible."""


@cache
def patch_rich_width_table() -> None:
    """Patch Rich's width table, which Textual uses as well. Only the first call has an effect."""
    table = rich_width_table()
    # In place: Rich looks up widths in this very list.
    table[:] = _widen(table)
    # Rich caches widths, and some may have been computed with the old table.
    cells.get_character_cell_size.cache_clear()
    cells.cached_cell_len.cache_clear()


def _widen(table: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return the table with spacing marks, which it counts as zero-width, one cell wide."""
    rows = [split for row in table for split in (_split_row(*row) if row[2] == 0 else [row])]
    first_codes = {row[0] for row in rows}
    for character in sorted(_DOUBLE_WIDTH - first_codes):
        rows.insert(bisect_left(rows, (character,)), (character, character, 2))
    return rows


def _split_row(first: int, last: int, width: int) -> list[tuple[int, int, int]]:
    """Split a row of zero-width characters into rows that leave out the spacing marks."""
    spacing = [code for code in range(first, min(last, _LAST_VISIBLE) + 1) if unicodedata.category(chr(code)) == "Mc"]
    rows = []
    for code in spacing:
        if first < code:
            rows.append((first, code - 1, width))
        rows.append((code, code, 2 if code in _DOUBLE_WIDTH else 1))
        first = code + 1
    return [*rows, (first, last, width)] if first <= last else rows


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
