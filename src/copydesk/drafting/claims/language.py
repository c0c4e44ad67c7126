"""A language as far as claims are compared in it: its word lists, and the stems of its words."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from copydesk.text.folding import fold

Opposites = Mapping[str, tuple[tuple[int, int], ...]]
"""Stem -> the groups of opposites that it belongs to, with its side (1 or -1)."""


# Compared by identity, so that it can be a key of caches.
@dataclass(eq=False)
class Language:
    """The word lists of one language; all words are folded."""

    code: str
    base: Callable[[str], str] = str
    """Returns the stem of a word, before synonyms."""
    function_words: frozenset[str] = frozenset()
    """Words without content."""
    light_words: frozenset[str] = frozenset()
    """Words that a paraphrase may add or leave out."""
    negators: frozenset[str] = frozenset()
    clause_words: frozenset[str] = frozenset()
    """Words that end the scope of a negation."""
    hedges: frozenset[str] = frozenset()
    """Words that make a sentence less than a fact: dropping one changes its meaning."""
    opposites: Opposites = field(default_factory=dict)
    synonyms: Mapping[str, str] = field(default_factory=dict)
    """Stem -> the stem that stands for it."""
    past_forms: frozenset[str] = frozenset()
    """Irregular forms of verbs that may tell the past."""
    months: Mapping[str, int] = field(default_factory=dict)
    weekdays: Mapping[str, int] = field(default_factory=dict)
    numerals: Mapping[str, float] = field(default_factory=dict)
    speech_verbs: frozenset[str] = frozenset()
    """Forms of verbs that attribute words to a speaker."""
    pronouns: frozenset[str] = frozenset()
    roles: Mapping[str, str] = field(default_factory=dict)
    """Word -> the role that it names."""
    passive: re.Pattern[str] | None = None
    decimal_comma: bool = False
    capital_nouns: bool = False
    """True if every noun is capitalized, so that a capital marks no name."""

    @property
    def is_covered(self) -> bool:
        """True if negation and opposites are known."""
        return bool(self.negators)

    @cached_property
    def light_stems(self) -> frozenset[str]:
        """The stems of the light words."""
        return frozenset(map(self.stem, self.light_words))

    @cached_property
    def stem(self) -> Callable[[str], str]:
        """Returns the stem of a folded word; the forms of one word, and its synonyms, have the same stem."""
        return lru_cache(maxsize=20_000)(self._stem)

    def _stem(self, word: str) -> str:
        stem = self.base(word)
        return self.synonyms.get(stem, stem)


def suffix_stripper(pattern: str) -> Callable[[str], str]:
    """Return a function that removes a suffix that matches, if at least three letters are left."""
    suffixes = re.compile(pattern)

    def strip(word: str) -> str:
        match = suffixes.search(word) if len(word) > 3 else None
        return word[: match.start()] if match and match.start() >= 3 else word

    return strip


def parse_words(text: str) -> frozenset[str]:
    """Return the folded words of `text`."""
    return frozenset(fold(text).split())


def parse_opposites(text: str, base: Callable[[str], str]) -> Opposites:
    """Return the groups of `text`, one a line with a bar between its sides; a line may begin with the bar."""
    groups: dict[str, list[tuple[int, int]]] = {}
    for number, line in enumerate(re.sub(r"\n\s*\|", " |", text.strip()).splitlines()):
        for side, words in zip((1, -1), line.split("|"), strict=True):
            for word in fold(words).split():
                groups.setdefault(base(word), []).append((number, side))
    return {stem: tuple(dict.fromkeys(found)) for stem, found in groups.items()}


def parse_synonyms(text: str, base: Callable[[str], str]) -> dict[str, str]:
    """Return the stem that stands for each other one in the groups of `text`, which semicolons separate."""
    synonyms: dict[str, str] = {}
    for group in re.split(r"[;\n]", fold(text)):
        first, *opposites = map(base, group.split()) if group.strip() else [""]
        for stem in opposites:
            synonyms.setdefault(stem, first)
    return synonyms


def parse_groups(text: str) -> dict[str, str]:
    """Return the first word of its group for each word; semicolons and line breaks separate groups."""
    return {word: group.split()[0] for group in re.split(r"[;\n]", fold(text)) for word in group.split()}


def parse_numbered(text: str) -> dict[str, int]:
    """Return the number of its group for each word, from 1; semicolons separate groups."""
    return {word: number for number, group in enumerate(fold(text).split(";"), 1) for word in group.split()}


def parse_numerals(text: str) -> dict[str, float]:
    """Return the value of each numeral of `text`, written `two=2`."""
    return {word: float(value) for word, _, value in (entry.partition("=") for entry in fold(text).split())}
