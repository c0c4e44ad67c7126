"""What takes Unicode's own tables: characters as a reader sees them, emoji, marks that stand on each other.

Whoever needs it imports it on a text that does: the regex package takes as long to import as the first rows to be read.
"""

import regex

_CLUSTER = regex.compile(r"\X")
_PICTURE = regex.compile(
    r"[\p{Emoji_Presentation}\p{RI}\U0001F000-\U0001FAFF]|\p{Extended_Pictographic}\uFE0F|[0-9#*]\uFE0F?\u20E3"
)
_STACKED = regex.compile(r"(\p{Mn}{2})\p{Mn}+")


def split(text: str) -> list[str]:
    """The extended grapheme clusters of `text` (UAX #29)."""
    found: list[str] = _CLUSTER.findall(text)
    return found


def has_picture(text: str) -> bool:
    """Whether there is an emoji in `text`."""
    return _PICTURE.search(text) is not None


def unstacked(text: str) -> str:
    """`text` with at most two marks on each character."""
    return _STACKED.sub(r"\1", text)
