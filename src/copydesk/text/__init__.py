"""Text from outside, made safe to show: it is data, never markup and never a command to the terminal.

What is stored stays as it came; these are for the moment of showing it.
"""

import re

_SEQUENCE = re.compile(
    r"\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, with its payload
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)?"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI
    r"|\x1b[ -/]*[0-~]?"  # the other escapes
)
_SPACE = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
_BREAK = re.compile(r"\r\n|[\v\f\r\x85\u2028\u2029]")
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but for tab and line feed, DEL, C1
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # bidi, zero width, interlinear
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # soft hyphen and blank letters
    "\U000e0000-\U000e0fff\ud800-\udfff]"  # tag characters, lone surrogates
)
"""A character that cannot be seen and may move the cursor, reorder or hide text."""
_MAY_STACK = re.compile("[^\x00-\u02ff\u2000-\u20cf\u2100-\u2cee]{3}")
"""Three characters where there may be marks: nowhere else there are any."""
_PLAIN = re.compile(r"[ -~\u00a1-\u00ac\u00ae-\u02ff]*")


def clean(text: str) -> str:
    """`text` on one line, without control sequences or invisible characters."""
    if _PLAIN.fullmatch(text):
        return text
    return _SPACE.sub(" ", clean_lines(text))


def clean_lines(text: str) -> str:
    """`text` with its line breaks, without control sequences or invisible characters."""
    text = _SEQUENCE.sub("", text)
    text = _BREAK.sub("\n", text)
    text = HIDDEN.sub("", text)
    if not _MAY_STACK.search(text):
        return text
    from copydesk.text.clusters import unstacked  # noqa: PLC0415 - see there

    return unstacked(text)


def reveal(text: str) -> str:
    """`text` with each hidden character written out as its code point; line breaks stay.

    For the draft under review: a reviewer must see that it carries them.
    """
    return HIDDEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", _BREAK.sub("\n", text))
