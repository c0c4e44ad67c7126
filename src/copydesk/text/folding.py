"""Fold case, accents and typographic apostrophes, so that spellings of one word are equal."""

import re
import unicodedata

# Combining marks of Latin, Greek and Cyrillic only: in other scripts marks are vowels.
_ACCENTS = re.compile("[\u0300-\u036f]+")
_REPLACEMENTS = (
    # Letters that Unicode does not decompose into a base letter and a mark.
    *(("ø", "o"), ("ł", "l"), ("đ", "d"), ("ı", "i"), ("æ", "ae"), ("œ", "oe")),
)
_APOSTROPHES = "’‘ʼ"


def fold(text: str) -> str:
    """Fold case, accents and typographic apostrophes; other marks and all spaces stay."""
    if not text.isascii():
        for apostrophe in _APOSTROPHES:
            text = text.replace(apostrophe, "'")
    # A shortcut for most titles: normalization costs far more than the check.
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text)
    folded = unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed)).casefold()
    for letter, replacement in _REPLACEMENTS:
        folded = folded.replace(letter, replacement)
    return folded
