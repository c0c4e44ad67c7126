"""Words and phrases looked for in a text, at word edges, whatever their case, accents and plural."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from copydesk.ranking.words import UNSPACED, fold

_PLURAL = re.compile(r"[a-z]{2}[a-rt-z]s\Z")
_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")


class _Phrase(NamedTuple):
    given: str
    longest: str
    """Its longest word, folded, singular: a text without it, which is nearly every one, needs no closer look."""
    pattern: re.Pattern[str]


class Phrases:
    """A list of words and phrases, ready to be looked for. Blank ones are left out."""

    __slots__ = ("_phrases",)

    def __init__(self, phrases: Iterable[str]) -> None:
        by_folded = {" ".join(fold(phrase).split()): phrase.strip() for phrase in phrases if phrase.strip()}
        self._phrases = [
            _Phrase(given, max(_singular(folded).split(" "), key=len), _at_edges(_singular(folded)))
            for folded, given in by_folded.items()
        ]

    def __bool__(self) -> bool:
        return bool(self._phrases)

    def found(self, folded: str) -> list[str]:
        """The phrases that are in a text which went through `fold`, as they were given, in the order of the list."""
        return [each.given for each in self._phrases if each.longest in folded and each.pattern.search(folded)]


def _singular(phrase: str) -> str:
    """`phrase` without the s of its last word: who follows databases wants to hear of a database."""
    return phrase[:-1] if _PLURAL.search(phrase) else phrase


def _at_edges(phrase: str) -> re.Pattern[str]:
    """A pattern for one phrase. Scripts without spaces have no word edges to ask for."""
    pattern = r"\s+".join(map(re.escape, phrase.split(" ")))
    before = "" if _UNSPACED_LETTER.match(phrase) else r"(?<!\w)"
    after = "" if _UNSPACED_LETTER.match(phrase[-1]) else r"(?:e?s)?(?!\w)"
    return re.compile(before + pattern + after)
