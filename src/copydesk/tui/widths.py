"""How wide characters are counted on whose width terminals do not agree: as the widest of them draws them.

Rich takes its widths from the newest Unicode. A terminal that draws a character wider than it was counted pushes what
stands behind it over the edge of its column; one that draws it narrower leaves a gap, which `steady` fills.
"""

import unicodedata
from bisect import bisect_left
from functools import cache

from rich import cells
from rich._unicode_data import load

_WIDE = frozenset({*range(0x3248, 0x3250), 0x302E, 0x302F, 0x16FF0, 0x16FF1})
"""Numbers in black squares, and marks of tone; drawn as wide as a Chinese sign where they are not drawn narrow."""
_LAST = 0x1FFFF
"""Behind it there are only tags and selectors, which nobody draws."""


@cache
def agree() -> None:
    """Count them so, everywhere: Textual asks Rich, which asks this table."""
    table = load("auto").widths
    assert isinstance(table, list)
    table[:] = _wider(table)
    cells.get_character_cell_size.cache_clear()
    cells.cached_cell_len.cache_clear()


def _wider(table: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The table with spacing marks, which it takes for marks without a width of their own, one cell wide."""
    found = [part for row in table for part in (_parts(*row) if row[2] == 0 else [row])]
    known = {row[0] for row in found}
    for character in sorted(_WIDE - known):
        found.insert(bisect_left(found, (character,)), (character, character, 2))
    return found


def _parts(first: int, last: int, width: int) -> list[tuple[int, int, int]]:
    """A row of characters without width, in as many rows as it takes to leave the spacing marks out."""
    spacing = [code for code in range(first, min(last, _LAST) + 1) if unicodedata.category(chr(code)) == "Mc"]
    parts = []
    for code in spacing:
        if first < code:
            parts.append((first, code - 1, width))
        parts.append((code, code, 2 if code in _WIDE else 1))
        first = code + 1
    return [*parts, (first, last, width)] if first <= last else parts
