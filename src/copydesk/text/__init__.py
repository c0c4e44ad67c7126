"""Clean text from outside for display: it is data, never markup and never a command to the terminal.

Stored text is left exactly as received; clean it when it is displayed.
"""

import re

_SEQUENCE = re.compile(
    r"\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, with its payload
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)?"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI
    r"|\x1b[ -/]*[0-~]?"  # all other escape sequences
)
_SPACE = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
_BREAK = re.compile(r"\r\n|[\v\f\r\x85\u2028\u2029]")
HIDDEN_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but for tab and line feed, DEL, C1
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # bidi, zero width, interlinear
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # soft hyphen and blank letters
    "\U000e0000-\U000e0fff\ud800-\udfff]"  # tag characters, lone surrogates
)
"""A character that is invisible and may move the cursor, reorder text or hide it."""
_MAY_STACK = re.compile("[^\x00-\u02ff\u2000-\u20cf\u2100-\u2cee]{3}")
"""Three characters in a row that could be combining marks. Text without such a run needs no check for stacked marks."""
_PLAIN = re.compile(r"[ -~\u00a1-\u00ac\u00ae-\u02ff]*")


def clean(text: str) -> str:
    """Return `text` on one line, without control sequences and invisible characters."""
    # Fast path, because most texts on a screen are plain.
    if _PLAIN.fullmatch(text):
        return text
    return _SPACE.sub(" ", clean_lines(text))


def clean_lines(text: str) -> str:
    """Return `text` with its line breaks, without control sequences and invisible characters."""
    text = _SEQUENCE.sub("", text)
    text = _BREAK.sub("\n", text)
    text = HIDDEN_CHARACTERS.sub("", text)
    if not _MAY_STACK.search(text):
        return text
    from copydesk.text.graphemes import limit_stacked_marks  # noqa: PLC0415 - imports regex, which is slow

    return limit_stacked_marks(text)


def reveal(text: str) -> str:
    """Return `text` with each hidden character replaced by its code point, such as ⟨U+200B⟩; line breaks stay.

    Used for the draft under review: the reviewer must see that it contains such characters.
    """
    return HIDDEN_CHARACTERS.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", _BREAK.sub("\n", text))
