"""Clean text from outside for display: it is data, never markup and never a command to the terminal.

Stored text is left exactly as received; clean it when it is displayed.
"""

import re

# Compiled by `re` when they are first needed: most texts are plain, and compiling them would delay the first paint.
_SEQUENCE = (
    r"\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, with its payload
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)?"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI
    r"|\x1b[ -/]*[0-~]?"  # all other escape sequences
)
_SPACE = r"[\t\n\v\f\r\x85\u2028\u2029]+"
_BREAK = r"\r\n|[\v\f\r\x85\u2028\u2029]"
HIDDEN_CHARACTERS = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but for tab and line feed, DEL, C1
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # bidi, zero width, interlinear
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # soft hyphen and blank letters
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # controls of shorthand and of musical notation
    "\U000e0000-\U000e0fff\ud800-\udfff]"  # tag characters, lone surrogates
)
"""A pattern of characters that are invisible and may move the cursor, reorder text or hide it."""
_MAY_STACK = "[^\x00-\u02ff\u2000-\u20cf\u2100-\u2cee]{3}"
"""Three characters in a row that could be combining marks. Text without such a run needs no check for stacked marks."""
_PLAIN = re.compile(r"[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u20a0-\u20bf]*")
_PLAIN_LINES = re.compile(r"[\n -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u20a0-\u20bf]*")
"""Letters of Latin script, punctuation and currencies, of which nothing has to be removed."""


def clean(text: str) -> str:
    """Return `text` on one line, without control sequences and invisible characters."""
    if _PLAIN.fullmatch(text):
        return text
    return re.sub(_SPACE, " ", clean_lines(text))


def clean_lines(text: str) -> str:
    """Return `text` with its line breaks, without control sequences and invisible characters."""
    if _PLAIN_LINES.fullmatch(text):
        return text
    text = re.sub(_SEQUENCE, "", text)
    text = re.sub(_BREAK, "\n", text)
    text = re.sub(HIDDEN_CHARACTERS, "", text)
    if not re.search(_MAY_STACK, text):
        return text
    from copydesk.text.graphemes import limit_stacked_marks  # noqa: PLC0415 - imports regex, which is slow

    return limit_stacked_marks(text)


def reveal(text: str) -> str:
    """Return `text` with each hidden character replaced by its code point, such as ⟨U+200B⟩; line breaks stay.

    Used for the draft under review: the reviewer must see that it contains such characters.
    """
    if _PLAIN_LINES.fullmatch(text):
        return text
    return re.sub(HIDDEN_CHARACTERS, lambda match: f"⟨U+{ord(match[0]):04X}⟩", re.sub(_BREAK, "\n", text))
