"""Correct terminal output so that columns stay aligned even if the terminal draws a character with another width."""

import re
from functools import cache

from rich.cells import cell_len

_COMMON_TEXT = re.compile("[\x00-\u02ff\u2010-\u2027\u2500-\u25fc]*")
"""Latin text and box drawing, of which most screens consist: a cheap check before the expensive one."""
_OUTPUT_TOKEN = re.compile(
    r"\x1b\[(?P<row>\d+);(?P<column>\d+)H"
    r"|(?P<escape>\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?)"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f]+)"
    r"|(?P<text>[^\x00-\x1f]+)"
)


@cache
def _ambiguous_pattern() -> re.Pattern[str]:
    """Return the pattern of characters that some terminal draws with another width, alone or with their neighbours."""
    # All but: Latin, Greek and Cyrillic; quotes, dashes, currencies, arrows, signs, box drawing; full-width scripts of
    # China, Japan and Korea. Compiled on first use: that takes three milliseconds, too long before the first paint.
    return re.compile(
        "[^\x00-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1eff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u2319\u231c-"
        "\u23e8\u2500-\u25fc\u2713\u2717\u2800-\u28ff\u3000-\u3029\u3030-\u3098\u309b-\u30ff\u3400-\u4dbf\u4e00-\ua48c"
        "\uac00-\ud7a3\uff01-\uff60]"
    )


def _is_ambiguous(text: str) -> bool:
    return not _COMMON_TEXT.fullmatch(text) and _ambiguous_pattern().search(text) is not None


def correct_widths(data: str) -> str:
    """Return `data` with the cursor repositioned after every word of uncertain width.

    The word's cells are erased first: if it is drawn narrower, no old content remains in the gap.
    """
    if not _is_ambiguous(data):
        return data
    output = []
    column: int | None = None
    for token in _OUTPUT_TOKEN.finditer(data):
        text = token[0]
        if token["column"]:
            column = int(token["column"]) - 1
        # A control character such as a newline moves the cursor: its column is unknown until the next positioning.
        elif token["control"]:
            column = None
        elif token["text"] and column is not None:
            text, column = _corrected(text, column)
        output.append(text)
    return "".join(output)


def _corrected(text: str, column: int) -> tuple[str, int]:
    """Return the corrected text, and the column after it."""
    if not _is_ambiguous(text):
        return text, column + cell_len(text)
    words = []
    for word in text.split(" "):
        width = cell_len(word)
        column += width
        # ECH erases `width` cells; CHA then moves the cursor to the expected column (counted from 1).
        words.append(f"\x1b[{width}X{word}\x1b[{column + 1}G" if width and _is_ambiguous(word) else word)
        column += 1
    return " ".join(words), column - 1
