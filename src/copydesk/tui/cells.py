"""Text from outside in the cells of a line."""

import re

from rich.cells import cell_len, set_cell_size

from copydesk.text import clean
from copydesk.tui.widths import agree

agree()
# Terminals do not agree on the width of these, and columns after them would shift: variation selectors and the keycap
# mark, what is joined to an emoji, skin tones.
_UNSTEADY = re.compile("[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]|\u200d[\u2190-\u2bff\U0001f000-\U0001faff]?")

LONGEST = 1000
"""Characters of a line that are shown; no terminal is as wide, and a hostile name may have a million."""


def cell(text: str) -> str:
    """`text` on one line, made safe and as wide on every terminal."""
    safe = clean(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")
    return safe if safe.isascii() else _UNSTEADY.sub("", safe)


def fit(text: str, width: int) -> str:
    """`text` in exactly `width` cells: cut with an ellipsis, or padded."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…" if width > 0 else ""
