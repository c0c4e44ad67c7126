"""Find words and phrases in text at word boundaries, ignoring case, accents and plural."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from copydesk.ranking.words import UNSPACED, fold

_PLURAL = re.compile(r"[a-z]{2}[a-rt-z]s\Z")
_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")


class _Phrase(NamedTuple):
    given: str
    longest: str
    """Longest word, folded and singular. Nearly every text lacks it, which spares the regex."""
    pattern: re.Pattern[str]


class Phrases:
    """Words and phrases compiled for searching. Blank ones are ignored."""

    __slots__ = ("_phrases",)

    def __init__(self, phrases: Iterable[str]) -> None:
        by_folded = {" ".join(fold(phrase).split()): phrase.strip() for phrase in phrases if phrase.strip()}
        self._phrases = [
            _Phrase(
                given, max(_without_plural(folded).split(" "), key=len), _word_boundary_pattern(_without_plural(folded))
            )
            for folded, given in by_folded.items()
        ]

    def __bool__(self) -> bool:
        return bool(self._phrases)

    def find(self, folded: str) -> list[str]:
        """Return the phrases that occur in a text processed by `fold`, as given and in the given order."""
        return [phrase.given for phrase in self._phrases if phrase.longest in folded and phrase.pattern.search(folded)]


def _without_plural(phrase: str) -> str:
    """Return `phrase` without the s of its last word: whoever follows databases also wants "database"."""
    return phrase[:-1] if _PLURAL.search(phrase) else phrase


def _word_boundary_pattern(phrase: str) -> re.Pattern[str]:
    """Return a pattern for one phrase. Scripts without spaces have no word boundaries."""
    pattern = r"\s+".join(map(re.escape, phrase.split(" ")))
    before = "" if _UNSPACED_LETTER.match(phrase) else r"(?<!\w)"
    # The optional ending matches the plural.
    after = "" if _UNSPACED_LETTER.match(phrase[-1]) else r"(?:e?s)?(?!\w)"
    return re.compile(before + pattern + after)
