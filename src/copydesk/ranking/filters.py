"""Which items are left out, and why: words that must or must not be there, language, age."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from copydesk.model.item import Entry, Item
from copydesk.model.wire import Struct
from copydesk.ranking.expressions import Expression, TooSlowError, compiled, is_expression
from copydesk.ranking.language import LANGUAGES, base_language, guess_language
from copydesk.ranking.phrases import Phrases
from copydesk.ranking.words import fold

MAX_TEXT = 20_000
"""Characters of an item that are looked at."""
_ENOUGH_TEXT = 40
"""Letters: from here on the text says its language better than the feed does."""


class Terms(Struct, frozen=True):
    """A list of the user's words and /regular expressions/, ready to be looked for."""

    words: Phrases = Phrases(())
    expressions: tuple[Expression, ...] = ()
    listed: tuple[str, ...] = ()
    """As the user wrote them."""


class Rules(Struct, frozen=True):
    """What an item must be like, of one source or of all. See `compile_rules`."""

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
) -> Rules:
    """Make rules ready for use, once for many items of one run. It may take seconds: a thread's work.

    Raises InvalidError, naming `field.include` and the like, for an expression that is none or that takes too long.
    """
    return Rules(
        include=_terms(include, f"{field}.include"),
        exclude=_terms(exclude, f"{field}.exclude"),
        language=base_language(language),
        max_age=max_age,
    )


def judge(item: Item, rules: Rules, now: datetime) -> str | None:
    """Why the item is left out, in words; None where it passes."""
    return _too_old(item, rules, now) or _foreign(item.entry, rules) or _worded_wrongly(item.entry, rules)


def language_of(entry: Entry) -> str | None:
    """The two-letter code of the language an entry is in, None where neither its text nor its feed tells.

    The text decides where it is long enough; the feed where it names a language that cannot be told by the text.
    """
    text = f"{entry.title}\n{entry.summary or entry.text[:500]}"
    guessed = guess_language(text)
    declared = base_language(entry.language)
    if guessed is None or (declared and (len(text) < _ENOUGH_TEXT or declared not in LANGUAGES)):
        return declared
    return guessed


def _too_old(item: Item, rules: Rules, now: datetime) -> str | None:
    if rules.max_age is None or now - item.published <= rules.max_age:
        return None
    hours = rules.max_age.total_seconds() / 3600
    return f"older than {hours / 24:g} days" if hours >= 96 else f"older than {hours:g} hours"


def _foreign(entry: Entry, rules: Rules) -> str | None:
    if rules.language is None:
        return None
    found = language_of(entry) if rules.language in LANGUAGES else base_language(entry.language)
    if found is None or found == rules.language:
        return None
    return f"in {LANGUAGES.get(found, found)}, not in {LANGUAGES.get(rules.language, rules.language)}"


def _worded_wrongly(entry: Entry, rules: Rules) -> str | None:
    if not rules.include.listed and not rules.exclude.listed:
        return None
    text = "\n".join((entry.title, entry.summary, entry.text, " ".join(entry.tags)))[:MAX_TEXT]
    folded = fold(text)
    try:
        unwanted = next(_found(rules.exclude, text, folded), None)
        if unwanted is not None:
            return f"has the excluded {unwanted}"
        if rules.include.listed and next(_found(rules.include, text, folded), None) is None:
            return f"has none of {', '.join(rules.include.listed[:5])}{', …' * (len(rules.include.listed) > 5)}"
    except TooSlowError as slow:
        return f"the expression {slow} took too long on it"
    return None


def _found(terms: Terms, text: str, folded: str) -> Iterator[str]:
    yield from terms.words.found(folded)
    for expression in terms.expressions:
        if expression.found_in(text):
            yield str(expression)


def _terms(listed: Iterable[str], field: str) -> Terms:
    terms = tuple(term.strip() for term in listed if term.strip())
    expressions = [term for term in terms if is_expression(term)]
    return Terms(
        words=Phrases(term for term in terms if not is_expression(term)),
        expressions=tuple(compiled(term, field) for term in expressions),
        listed=terms,
    )
