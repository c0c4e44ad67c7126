"""What is written to the terminal, so that every column stands where it should, however wide a character is drawn."""

import re
from functools import cache

from rich.cells import cell_len

_USUAL = re.compile("[\x00-\u02ff\u2010-\u2027\u2500-\u25fc]*")
"""Text in Latin letters and what is drawn with: what most screens are made of, known sooner than what is doubtful."""
_PIECE = re.compile(
    r"\x1b\[(?P<row>\d+);(?P<column>\d+)H"
    r"|(?P<escape>\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?)"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f]+)"
    r"|(?P<text>[^\x00-\x1f]+)"
)


@cache
def _doubtful() -> re.Pattern[str]:
    """A character that some terminal draws with another width, alone or with its neighbours."""
    # All but: Latin, Greek and Cyrillic; quotes, dashes, currencies, arrows, signs, what is drawn with; the scripts of
    # China, Japan and Korea, in their whole width. It takes three milliseconds to make, which the first paint has not.
    return re.compile(
        "[^\x00-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1eff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u2319\u231c-"
        "\u23e8\u2500-\u25fc\u2713\u2717\u2800-\u28ff\u3000-\u3029\u3030-\u3098\u309b-\u30ff\u3400-\u4dbf\u4e00-\ua48c"
        "\uac00-\ud7a3\uff01-\uff60]"
    )


def _is_doubtful(text: str) -> bool:
    return not _USUAL.fullmatch(text) and _doubtful().search(text) is not None


def steady(written: str) -> str:
    """`written` with the cursor put where it should be behind every word that is doubtful.

    Its cells are emptied first: where it is drawn narrower, nothing old stands in the gap.
    """
    if not _is_doubtful(written):
        return written
    out = []
    column: int | None = None
    for piece in _PIECE.finditer(written):
        text = piece[0]
        if piece["column"]:
            column = int(piece["column"]) - 1
        elif piece["control"]:
            column = None
        elif piece["text"] and column is not None:
            text, column = _placed(text, column)
        out.append(text)
    return "".join(out)


def _placed(text: str, column: int) -> tuple[str, int]:
    """The text, and the column behind it."""
    if not _is_doubtful(text):
        return text, column + cell_len(text)
    words = []
    for word in text.split(" "):
        width = cell_len(word)
        column += width
        words.append(f"\x1b[{width}X{word}\x1b[{column + 1}G" if width and _is_doubtful(word) else word)
        column += 1
    return " ".join(words), column - 1
