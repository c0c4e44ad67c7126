"""Unicode text segmentation: grapheme clusters, emoji, hashtags, stacked combining marks.

Import this module inside functions and only for text that needs it: importing `regex` takes as long as loading the
first screen of drafts.
"""

import regex

# Flags first: `\X` counts the letters before each letter of a flag, which takes quadratic time for a row of them.
_CLUSTER = regex.compile(r"\p{RI}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+|\X")
_EMOJI = regex.compile(
    r"[\p{Emoji_Presentation}\p{RI}\U0001F000-\U0001FAFF]|\p{Extended_Pictographic}\uFE0F|[0-9#*]\uFE0F?\u20E3"
)
# Unlike re's, this \w includes combining marks and joiners, which many words of Hindi, Thai, Arabic and Persian have.
HASHTAG = regex.compile(r"(?<![\w&/#])[#＃](?=\d*[^\W\d\p{M}\u200c\u200d])\w+(?<![\u200c\u200d])")
"""A hashtag: a word that does not end with a joiner. It needs a letter: `#12` is none."""
_STACKED = regex.compile(r"([\p{Mn}\p{Me}]{2})[\p{Mn}\p{Me}]+")


def split_graphemes(text: str) -> list[str]:
    """Return the extended grapheme clusters of `text` (UAX #29)."""
    clusters: list[str] = _CLUSTER.findall(text)
    return clusters


def has_emoji(text: str) -> bool:
    """Return True if `text` contains an emoji."""
    return _EMOJI.search(text) is not None


def limit_stacked_marks(text: str) -> str:
    """Return `text` with at most two combining marks on each character.

    More are used to paint over neighbouring lines ("Zalgo text").
    """
    return _STACKED.sub(r"\1", text)
