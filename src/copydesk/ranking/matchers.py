"""Find the user's words, phrases and regular expressions in text.

Words and phrases match at word boundaries, ignoring case, accents and plural. Regular expressions have a time limit
that a sound one meets even on a slow machine.
"""

import re
from collections.abc import Iterable, Iterator
from time import process_time
from typing import NamedTuple

import regex

from copydesk.errors import FieldError, InvalidError
from copydesk.ranking.tokens import UNSPACED, fold

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


_BASE_TIMEOUT = 0.05
"""Seconds per text that a pattern may always take. Sound ones take less than a thousandth of a second."""
_MAX_TIMEOUT = 1.0
"""Maximum seconds per text, generous because a slow or busy machine is far from the usual time."""
_EXTRA_BUDGET = 3.0
"""Seconds beyond the usual for all texts together, so that a slow pattern cannot stall a whole run."""
_MAX_LENGTH = 500
_PROBE_LENGTH = 1000


class PatternTimeoutError(Exception):
    """A pattern exceeded its time limit; the message is the pattern."""


class UserPattern:
    """A compiled pattern, for one thread at a time.

    `regex` measures the processor time of the whole process, other threads included. Hence the generous limit per text;
    only a pattern that has used up its extra budget is held to the usual time.
    """

    __slots__ = ("_budget", "_pattern")

    def __init__(self, pattern: "regex.Pattern[str]") -> None:
        self._pattern = pattern
        self._budget = _EXTRA_BUDGET

    def __str__(self) -> str:
        return f"/{self._pattern.pattern}/"

    def matches(self, text: str) -> bool:
        """Return True if the pattern occurs in `text`. Raise PatternTimeoutError if the search takes too long."""
        started = process_time()
        try:
            return self._pattern.search(text, timeout=min(_MAX_TIMEOUT, _BASE_TIMEOUT + self._budget)) is not None
        except TimeoutError:
            raise PatternTimeoutError(str(self)) from None
        finally:
            self._budget = max(0.0, self._budget - max(0.0, process_time() - started - _BASE_TIMEOUT))


def is_regex(term: str) -> bool:
    """Return True if the user's term is a /regular expression/."""
    return len(term) > 2 and term.startswith("/") and term.endswith("/")


def compile_pattern(term: str, field: str) -> UserPattern:
    """Compile a term and try it on texts that provoke backtracking.

    Raise InvalidError for `field` if it is invalid or too slow.
    """
    pattern = _pattern(term, field)
    candidate = UserPattern(pattern)
    try:
        for probe in _probes(term):
            candidate.matches(probe)
    except PatternTimeoutError:
        hint = "Nested repetitions such as (a+)+ make an expression slow."
        raise InvalidError(FieldError(field, f"{term} takes too long on some texts"), hint=hint) from None
    # A fresh one: the probes have used up part of the candidate's budget.
    return UserPattern(pattern)


def _pattern(term: str, field: str) -> "regex.Pattern[str]":
    if len(term) > _MAX_LENGTH:
        raise InvalidError(FieldError(field, f"an expression has at most {_MAX_LENGTH} characters"))
    try:
        return regex.compile(term[1:-1], regex.IGNORECASE)
    except (regex.error, OverflowError, RecursionError) as error:
        raise InvalidError(FieldError(field, f"{term} is not a valid regular expression: {error}")) from None


def _probes(term: str) -> Iterator[str]:
    """Yield texts that make catastrophic backtracking likely: a letter of the pattern, repeated."""
    for letter in sorted({"a", "0", " ", *filter(str.isalnum, term[1:-1])})[:20]:
        yield letter * _PROBE_LENGTH + "\x00"
