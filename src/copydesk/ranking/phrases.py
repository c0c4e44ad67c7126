"""Words and phrases looked for in a text, at word edges, whatever their case and accents."""

import re
from collections.abc import Iterable

from copydesk.ranking.words import UNSPACED, fold

_SPACES = re.compile(r"\s+")
_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")


class Phrases:
    """A list of words and phrases, ready to be looked for. Blank ones are left out."""

    __slots__ = ("_named", "_pattern")

    def __init__(self, phrases: Iterable[str]) -> None:
        self._named = {_SPACES.sub(" ", fold(phrase)).strip(): phrase.strip() for phrase in phrases if phrase.strip()}
        # The longest first, so that "machine learning" is not read as "machine".
        listed = sorted(self._named, key=lambda phrase: (-len(phrase), phrase))
        self._pattern = re.compile("|".join(map(_at_edges, listed))) if listed else None

    def __bool__(self) -> bool:
        return bool(self._named)

    def found(self, folded: str) -> list[str]:
        """The phrases that are in a text which went through `fold`, as they were given, in order of appearance.

        Where two overlap only the first is found, and of two that begin together the longer.
        """
        if self._pattern is None:
            return []
        matches = {_SPACES.sub(" ", match): None for match in self._pattern.findall(folded)}
        return [self._named[match] for match in matches]

    def any_in(self, folded: str) -> bool:
        """Whether one of the phrases is in a text which went through `fold`."""
        return self._pattern is not None and self._pattern.search(folded) is not None


def _at_edges(phrase: str) -> str:
    """A pattern for one phrase. Scripts without spaces have no word edges to ask for."""
    pattern = r"\s+".join(map(re.escape, phrase.split(" ")))
    before = "" if _UNSPACED_LETTER.match(phrase) else r"(?<!\w)"
    after = "" if _UNSPACED_LETTER.match(phrase[-1]) else r"(?!\w)"
    return before + pattern + after
