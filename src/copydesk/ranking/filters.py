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

_PLURAL = re.compile(r"[a-z]{2}[a-rt-z]s\Z")
_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")
_HYPHEN = re.compile(r"(?<=\w)[\u2010-](?=\w)")


class _Phrase(NamedTuple):
    given: str
    longest: str
    """Longest word, folded and singular. Nearly every text lacks it, which spares the regex."""
    pattern: re.Pattern[str]


class Phrases:
    """Words and phrases compiled for searching. Blank ones are ignored."""

    __slots__ = ("_phrases",)

    def __init__(self, phrases: Iterable[str]) -> None:
        by_folded = {_normalize(phrase): phrase.strip() for phrase in phrases if phrase.strip()}
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


_BASE_TIMEOUT = 0.05
"""Seconds per text that a pattern may always take. Sound ones take less than a thousandth of a second."""
_MAX_TIMEOUT = 1.0
"""Maximum seconds per text, generous because a slow or busy machine is far from the usual time."""
_EXTRA_BUDGET = 3.0
"""Seconds beyond the usual for all texts together, so that a slow pattern cannot stall a whole run."""
_MAX_PATTERN_LENGTH = 500
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


def rejection_reason(item: Item, rules: FilterRules, now: datetime, source_language: str | None = None) -> str | None:
    """Return the reason why the item is filtered out, None if it passes.

    `source_language` decides where the item does not tell its language; see `detect_common_language`.
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
        language = detect_language(entry) or source_language
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


LANGUAGES = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
"""Languages that can be detected, by ISO 639-1 code."""

_MIN_DETECTED, _MIN_SHARE = 5, 0.9
"""Entries that must tell their language, and the share of them in one language, to speak for their source."""
_MAX_SAMPLE_LENGTH = 600
"""Characters that are examined."""
_MIN_SCRIPT_LETTERS = 3
_MIN_WORDS = 3
_MIN_EVIDENCE = 1.5
"""Distinct function words; a word shared by n languages counts 1/n for each."""
_MARGIN = 1.5
"""Required ratio to the evidence of the second language."""

# The most frequent function words per language, without those that are content words in another (en "die", "son").
_FUNCTION_WORDS = {
    "en": """the of and to in is for on that with was as it by at from are this be have has an not but his her they
        its will which were been their who after over into about more than you your we our what how why when would
        can says said new he she or if out up no all do does did i my so just only there these those could should""",
    "de": """der die das und ist nicht von mit den dem des ein eine einen einer im auf für sich auch als es wie bei
        nach aus wird werden wurde sind oder zum zur über vor durch hat haben noch nur mehr sie ich wir ihr kann kein
        keine gegen unter zwischen diese dieser dieses am um was warum so aber""",
    "fr": """le la les des du et est une un dans pour que qui sur avec par au aux pas plus ce cette ces sont ont été
        il elle nous vous ils mais ou où leur leurs comme après entre contre sans sous fait être son sa ses se en à de
        qu""",
    "es": """el la los las de del y en que un una es por con para se su sus al lo como más pero no sobre este esta
        entre ha han fue son desde hasta cuando muy sin también ya está están tras contra según o""",
    "it": """il lo la gli le di del della dei delle dell che e è un una per con non sono da dal dalla nel nella si al
        alla come più anche ma ha hanno su sul sulla questo questa tra dopo contro essere stato i ai in""",
    "pt": """o a os as de do da dos das e em no na nos nas que um uma é por para com não se ao à mais como mas foi são
        sua seu pelo pela entre após sobre também está tem ser contra até já diz""",
    "nl": """de het een en van in is dat op te zijn met voor niet aan er om ook als bij door naar uit maar wordt werd
        hebben heeft over nog meer dan deze dit die ze je we hun tegen geen wat hoe waarom tot na""",
    "sv": """och att det som en är av för på med till den har inte om ett i de var från kan vi så men hon han efter
        vid eller när ska sig mot nu också över under jag du""",
    "da": """og at det som en er af for på med til den har ikke om et i de var fra kan vi så men hun han efter ved
        eller når skal sig mod nu også over under jeg du blev bliver hvad hvordan mere""",
    "no": """og at det som en er av for på med til den har ikke om et i de var fra kan vi så men hun han etter ved
        eller når skal seg mot nå også over under jeg du ble blir hva hvordan mer""",
    "pl": """i na się nie do to że jest o jak po od za przez dla przy ale czy tym są co ze tego oraz będzie był
        była jego jej może już tylko który która które""",
    "cs": """a na se je že o do pro to jak po ve si jsou za od ale podle který která které také při už jako
        není být bude byl byla nebo jeho její""",
    "fi": """ja on ei että se oli hän joka ovat kun mutta myös niin kuin ole mukaan jälkeen voi sen tämä vain nyt
        mitä jos tai sekä olla ollut kanssa""",
    "tr": """ve bir bu için ile da de çok daha olarak olan gibi sonra kadar ama ne var yeni en göre değil her o mi mı
        ki ise oldu olduğu""",
    "hu": """a az és hogy nem is egy van ez volt de meg már csak mint el ki még lesz lehet ha vagy után szerint ezt
        azt pedig kell""",
    "ro": """și în de la a cu pe din este un o nu care să că pentru mai au fost sunt după prin dar între lui către
        sau cum ce al ale""",
    "id": """yang dan di dari untuk dengan ini itu pada tidak dalam akan ke oleh adalah juga sudah bisa atau lebih
        karena ada mereka saat telah""",
    "vi": """và của là có cho không được trong một những các với người này khi đã để ở từ đến về như cũng""",
    "ru": "и в не на что с по как это для из его от за к он но о все у так же был было быть она после более или",
    "uk": "і в не на що з та як це для від за до про його але він у й є був бути після через її також або",
    "bg": "и в не на че с по как това за от до той но се е са да със след като към или ще при има беше",
}
_LANGUAGES_BY_WORD: dict[str, tuple[str, ...]] = {}
for _code, _word_list in _FUNCTION_WORDS.items():
    for _word in dict.fromkeys(_word_list.split()):
        _LANGUAGES_BY_WORD[_word] = (*_LANGUAGES_BY_WORD.get(_word, ()), _code)

_WORD = re.compile(r"[^\W\d_]+")
# Letters of the scripts below. Latin and Cyrillic are shared by too many languages to tell one.
_SCRIPT_LETTER = re.compile(
    "[\u0370-\u03ff\u0590-\u06ff\u0750-\u077f\u0900-\u097f\u0e01-\u0e5b\u1100-\u11ff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_SCRIPTS = (
    # First match wins: Japanese before Chinese, whose characters it uses; Persian before Arabic.
    ("ja", re.compile("[\u3041-\u30ff]"), 0.1),
    ("ko", re.compile("[\u1100-\u11ff\uac00-\ud7af]"), 0.4),
    ("zh", re.compile("[\u3400-\u9fff]"), 0.6),
    ("fa", re.compile("[\u067e\u0686\u0698\u06af\u06a9\u06cc]"), 0.06),
    ("ar", re.compile("[\u0600-\u06ff\u0750-\u077f]"), 0.6),
    ("el", re.compile("[\u0370-\u03ff]"), 0.6),
    ("he", re.compile("[\u0590-\u05ff]"), 0.6),
    ("hi", re.compile("[\u0900-\u097f]"), 0.6),
    ("th", re.compile("[\u0e01-\u0e5b]"), 0.6),
)


def base_language(tag: str | None) -> str | None:
    """Return the primary subtag of a language tag (`en` of `en-US`); None if empty."""
    base = re.split(r"[-_]", tag.strip().lower(), maxsplit=1)[0] if tag else ""
    return {"nb": "no", "nn": "no", "iw": "he", "in": "id"}.get(base, base) or None


def detect_text_language(text: str) -> str | None:
    """Return the ISO 639-1 code of the language of `text`, None if it is too short or too mixed to tell."""
    text = text[:_MAX_SAMPLE_LENGTH]
    if not text.isascii():
        by_script = _detect_by_script(text)
        if by_script is not None:
            return by_script
    return _detect_by_function_words(text)


def _detect_by_script(text: str) -> str | None:
    letters = _SCRIPT_LETTER.findall(text)
    if len(letters) < _MIN_SCRIPT_LETTERS:
        return None
    share_of_text = len(letters) / max(1, sum(map(len, _WORD.findall(text))))
    # A name in another script does not change the language of the text.
    if share_of_text < 0.5:
        return None
    joined = "".join(letters)
    for code, script, share in _SCRIPTS:
        if len(script.findall(joined)) >= share * len(letters):
            return code
    return None


def _detect_by_function_words(text: str) -> str | None:
    evidence: dict[str, float] = {}
    function_words = _LANGUAGES_BY_WORD.keys() & _WORD.findall(text.lower())
    for word in function_words:
        codes = _LANGUAGES_BY_WORD[word]
        for code in codes:
            evidence[code] = evidence.get(code, 0.0) + 1 / len(codes)
    ranked = sorted(evidence.items(), key=lambda item: (-item[1], item[0]))[:2]
    if len(function_words) < _MIN_WORDS or ranked[0][1] < _MIN_EVIDENCE:
        return None
    if len(ranked) == 2 and ranked[0][1] < _MARGIN * ranked[1][1]:
        return None
    return ranked[0][0]
