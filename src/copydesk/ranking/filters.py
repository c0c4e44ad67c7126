"""Filter items by required and excluded terms, language and age, with a reason for each rejection."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from copydesk.model.item import Entry, Item
from copydesk.model.serialization import Struct
from copydesk.ranking.language import LANGUAGES, base_language, detect_text_language
from copydesk.ranking.matchers import PatternTimeoutError, Phrases, UserPattern, compile_pattern, is_regex
from copydesk.ranking.tokens import fold

MAX_SEARCHED_TEXT = 20_000
"""Characters of an item that are searched."""
_MIN_DETECTABLE_LENGTH = 40
"""Characters from which language detection is more reliable than the feed's own claim."""


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


def rejection_reason(item: Item, rules: FilterRules, now: datetime) -> str | None:
    """Return the reason why the item is filtered out, None if it passes."""
    return _age_problem(item, rules, now) or _language_problem(item.entry, rules) or _term_problem(item.entry, rules)


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


def _age_problem(item: Item, rules: FilterRules, now: datetime) -> str | None:
    if rules.max_age is None or now - item.published <= rules.max_age:
        return None
    hours = rules.max_age.total_seconds() / 3600
    return f"older than {hours / 24:g} days" if hours >= 96 else f"older than {hours:g} hours"


def _language_problem(entry: Entry, rules: FilterRules) -> str | None:
    if rules.language is None:
        return None
    language = detect_language(entry) if rules.language in LANGUAGES else base_language(entry.language)
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
