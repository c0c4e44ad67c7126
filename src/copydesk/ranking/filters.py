"""Filter items by required and excluded terms, language and age, with a reason for each rejection.

The user's words and phrases match at word boundaries, ignoring case, accents, plural and hyphens. Regular expressions
have a time limit that a sound one meets even on a slow machine.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from time import process_time
from typing import NamedTuple

import regex

from copydesk.errors import FieldError, InvalidError
from copydesk.model.item import Entry, Item
from copydesk.model.serialization import Struct
from copydesk.ranking.tokens import UNSPACED
from copydesk.text.folding import fold
from copydesk.text.language import LANGUAGES, base_language, detect_text_language, detect_title_language

# Not of words that mean something else without their s.
_PLURAL = re.compile(r"(?<!\bnew)(?<!\bmar)(?<=[a-z]{2}[a-rt-z])s\Z")
_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")
_HYPHEN = re.compile(r"(?<=\w)[\u2010-](?=\w)")

_BASE_TIMEOUT = 0.05
"""Seconds per text that a pattern may always take. Sound ones take less than a thousandth of a second."""
_MAX_TIMEOUT = 1.0
"""Maximum seconds per text, generous because a slow or busy machine is far from the usual time."""
_EXTRA_BUDGET = 3.0
"""Seconds beyond the usual for all texts together, so that a slow pattern cannot stall a whole run."""
_MAX_PATTERN_LENGTH = 500
_PROBE_LENGTH = 1000

MAX_SEARCHED_TEXT = 20_000
"""Characters of an item that are searched."""
_MIN_DETECTABLE_LENGTH = 40
"""Characters from which language detection is more reliable than the feed's own claim."""
_MIN_DETECTED, _MIN_SHARE = 5, 0.9
"""Entries that must tell their language, and the share of them in one language, to speak for their source."""


class _Phrase(NamedTuple):
    given: str
    longest: str
    """Longest word, folded and singular. Nearly every text lacks it, which spares the regex."""
    pattern: re.Pattern[str]


class Phrases:
    """Words and phrases compiled for searching. Blank ones are ignored, such as an accent without a letter."""

    __slots__ = ("_phrases",)

    def __init__(self, phrases: Iterable[str]) -> None:
        by_folded = {folded: phrase.strip() for phrase in phrases if (folded := _normalize(phrase))}
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


def _normalize(phrase: str) -> str:
    """Fold a phrase, with one space between its words: hyphens within it match spaces, and the other way round."""
    return _HYPHEN.sub(" ", " ".join(fold(phrase).split()))


def _without_plural(phrase: str) -> str:
    """Return `phrase` without the s of its last word: whoever follows databases also wants "database"."""
    return phrase[:-1] if _PLURAL.search(phrase) else phrase


def _word_boundary_pattern(phrase: str) -> re.Pattern[str]:
    """Return a pattern for one phrase. Scripts without spaces have no word boundaries."""
    pattern = r"(?:\s+|[\u2010-])".join(map(re.escape, phrase.split(" ")))
    before = "" if _UNSPACED_LETTER.match(phrase) else r"(?<!\w)"
    # The optional ending matches the plural.
    after = "" if _UNSPACED_LETTER.match(phrase[-1]) else r"(?:e?s)?(?!\w)"
    return re.compile(before + pattern + after)


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
    if len(term) > _MAX_PATTERN_LENGTH:
        raise InvalidError(FieldError(field, f"an expression has at most {_MAX_PATTERN_LENGTH} characters"))
    try:
        return regex.compile(term[1:-1], regex.IGNORECASE)
    except (regex.error, OverflowError, RecursionError) as error:
        raise InvalidError(FieldError(field, f"{term} is not a valid regular expression: {error}")) from None


def _probes(term: str) -> Iterator[str]:
    """Yield texts that make catastrophic backtracking likely: a letter of the pattern, repeated."""
    for letter in sorted({"a", "0", " ", *filter(str.isalnum, term[1:-1])})[:20]:
        yield letter * _PROBE_LENGTH + "\x00"


class Terms(Struct, frozen=True):
    """Compiled words and /regular expressions/ of the user."""

    phrases: Phrases = Phrases(())
    patterns: tuple[UserPattern, ...] = ()
    originals: tuple[str, ...] = ()
    """As the user wrote them."""


class FilterRules(Struct, frozen=True):
    """Filters of one source or of all; see `compile_rules`."""

    include: Terms = Terms()
    exclude: Terms = Terms()
    language: str | None = None
    max_age: timedelta | None = None


def compile_rules(
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    language: str | None = None,
    max_age: timedelta | None = None,
    *,
    field: str = "config",
) -> FilterRules:
    """Compile the filters, once for all items of a run. It may take seconds: call it in a thread.

    Raise InvalidError for `field.include` or `field.exclude` if an expression is invalid or too slow.
    """
    return FilterRules(
        include=_compile_terms(include, f"{field}.include"),
        exclude=_compile_terms(exclude, f"{field}.exclude"),
        language=base_language(language),
        max_age=max_age,
    )


def rejection_reason(item: Item, rules: FilterRules, now: datetime, source_language: str | None = None) -> str | None:
    """Return the reason why the item is filtered out, None if it passes.

    `source_language` decides where the item does not tell its language, see `detect_common_language`, and where that is
    unknown too, the extra `languages`, if it is installed.
    """
    return (
        _age_problem(item, rules, now)
        or _language_problem(item.entry, rules, source_language)
        or _term_problem(item.entry, rules)
    )


def detect_language(entry: Entry) -> str | None:
    """Return the ISO 639-1 code of the entry's language, None if neither text nor feed tells.

    Detection decides if the text is long enough; the feed decides if it names a language that cannot be detected.
    """
    text = f"{entry.title}\n{entry.summary or entry.text[:500]}"
    detected = detect_text_language(text)
    declared = base_language(entry.language)
    if detected is None or (declared and (len(text) < _MIN_DETECTABLE_LENGTH or declared not in LANGUAGES)):
        return declared
    return detected


def detect_common_language(entries: Sequence[Entry]) -> str | None:
    """Return the language of nearly all entries of a source, None if they differ or do not tell.

    Bare titles, most of which are too short one by one, are detected together.
    """
    counts = Counter(language for entry in entries if (language := detect_language(entry)) is not None)
    if counts.total() >= _MIN_DETECTED:
        language, count = counts.most_common(1)[0]
        return language if count >= _MIN_SHARE * counts.total() else None
    together = detect_text_language(" ".join(entry.title for entry in entries))
    return together if counts.keys() <= {together} else None


def _age_problem(item: Item, rules: FilterRules, now: datetime) -> str | None:
    if rules.max_age is None or now - item.published <= rules.max_age:
        return None
    hours = rules.max_age.total_seconds() / 3600
    return f"older than {hours / 24:g} days" if hours >= 96 else f"older than {hours:g} hours"


def _language_problem(entry: Entry, rules: FilterRules, source_language: str | None) -> str | None:
    if rules.language is None:
        return None
    if rules.language in LANGUAGES:
        language = detect_language(entry) or source_language or detect_title_language(entry.title)
    else:
        language = base_language(entry.language)
    if language is None or language == rules.language:
        return None
    return f"in {LANGUAGES.get(language, language)}, not in {LANGUAGES.get(rules.language, rules.language)}"


def _term_problem(entry: Entry, rules: FilterRules) -> str | None:
    if not rules.include.originals and not rules.exclude.originals:
        return None
    text = "\n".join((entry.title, entry.summary, entry.text, " ".join(entry.tags)))[:MAX_SEARCHED_TEXT]
    # Phrases match folded text, regular expressions the original.
    folded = fold(text)
    try:
        excluded_term = next(_find_terms(rules.exclude, text, folded), None)
        if excluded_term is not None:
            return f"has the excluded {excluded_term}"
        if rules.include.originals and next(_find_terms(rules.include, text, folded), None) is None:
            return f"has none of {', '.join(rules.include.originals[:5])}{', …' * (len(rules.include.originals) > 5)}"
    except PatternTimeoutError as error:
        return f"the expression {error} took too long on it"
    return None


def _find_terms(terms: Terms, text: str, folded: str) -> Iterator[str]:
    # Phrases first: they are far cheaper than regular expressions.
    yield from terms.phrases.find(folded)
    for expression in terms.patterns:
        if expression.matches(text):
            yield str(expression)


def _compile_terms(raw_terms: Iterable[str], field: str) -> Terms:
    terms = tuple(term.strip() for term in raw_terms if term.strip())
    expressions = [term for term in terms if is_regex(term)]
    return Terms(
        phrases=Phrases(term for term in terms if not is_regex(term)),
        patterns=tuple(compile_pattern(term, field) for term in expressions),
        originals=terms,
    )
