"""Characters in the cells of a line: their widths, text fitted into a width, and replacements without UTF-8.

Terminals disagree about some widths: the one that draws a character widest counts. Rich uses the widths of the newest
Unicode version. A terminal that draws a character wider than counted pushes the rest of the line out of its column; one
that draws it narrower leaves a gap, which `driver.correct_widths` fills.
"""

import re
import unicodedata
from bisect import bisect_left
from codecs import lookup
from collections.abc import Mapping
from functools import cache, lru_cache

from rich import cells
from rich.cells import cell_len, set_cell_size

from copydesk.text import clean
from copydesk.tui.terminal.private_api import rich_width_table

_DOUBLE_WIDTH = frozenset({*range(0x3248, 0x3250), 0x302E, 0x302F, 0x16FF0, 0x16FF1})
"""Numbers in black squares, and tone marks: two cells wide unless drawn narrow."""
_LAST_VISIBLE = 0x1FFFF
"""Beyond it there are only tags and variation selectors, which are invisible."""
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""The values to which Python sets LC_CTYPE in the C locale (PEP 538): they say nothing about the terminal."""
_GLYPHS = {
    "▌": ">",
    "●○◉": "*oo",
    "…·•": "~-*",
    "←↑→↓↕": "<^>v|",
    "▲▼▶◀▸": "^v><>",
    "‹›«»⟨⟩": "<><><>",
    "“”„‘’‚": '"""' + "'''",
    "–—−": "---",
    "✓✗×⚠": "+xx!",
    "▁▂▃▄▅▆▇█": "._-=+ox#",
    "░▒▓": ".:#",
    "─━┄┅┈┉╌╍═╴╶╸╺╼╾": "-" * 15,
    "│┃┆┇┊┋╎╏║╵╷╹╻▏▎▍▊▋▐▕": "|" * 20,
    "▔▀": "^^",
    "\u00a0": " ",
}
_REPLACEMENTS = {
    glyph: plain for glyphs, plains in _GLYPHS.items() for glyph, plain in zip(glyphs, plains, strict=True)
}
_NON_ASCII = re.compile(r"[^\x00-\x7f]")


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
# columns after them would shift. Compiled by `re` when it is first needed, after the first paint.
_AMBIGUOUS_WIDTH = "[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]|\u200d[\u2190-\u2bff\U0001f000-\U0001faff]?"

MAX_LINE_CHARS = 1000
"""Characters of a line that are processed. No terminal is wider, and a hostile name may have a million."""


def safe_line(text: str) -> str:
    """Return `text` on one line, safe for the terminal and of the same width on every terminal."""
    safe = clean(text if len(text) <= MAX_LINE_CHARS else f"{text[:MAX_LINE_CHARS]}…")
    return safe if safe.isascii() else re.sub(_AMBIGUOUS_WIDTH, "", safe)


def fit(text: str, width: int) -> str:
    """Return `text` in exactly `width` cells: truncated with an ellipsis, or padded."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…" if width > 0 else ""


def terminal_encoding(environ: Mapping[str, str]) -> str:
    """Return the terminal's encoding according to the locale variables; UTF-8 if they do not tell."""
    coerced = environ.get("LC_CTYPE") if environ.get("LC_CTYPE") not in _COERCED else None
    locale = environ.get("LC_ALL") or coerced or environ.get("LANG") or environ.get("LC_CTYPE") or "C.UTF-8"
    if locale in {"C", "POSIX"}:
        return "ascii"
    _, dot, codeset = locale.partition(".")
    try:
        return lookup(codeset.partition("@")[0]).name if dot else "utf-8"
    except LookupError:
        return "utf-8"


def replace_unencodable(text: str, encoding: str) -> str:
    """Replace characters that `encoding` lacks, so that every column keeps its position."""
    return _NON_ASCII.sub(lambda match: _replacement(match[0], encoding), text)


@lru_cache(4096)
def _replacement(glyph: str, encoding: str) -> str:
    try:
        glyph.encode(encoding)
    except UnicodeEncodeError:
        return _REPLACEMENTS.get(glyph) or _fallback(glyph)
    return glyph


def _fallback(glyph: str) -> str:
    if "─" <= glyph <= "╿":
        return "+"
    if "▀" <= glyph <= "▟" or "⠁" <= glyph <= "⣿":
        return "#"
    return "?" * cell_len(glyph)
