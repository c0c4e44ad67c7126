"""Rank sentences by recurring words, early position and words of the title, and leave out those that say the same.

Centroid, position and title score. On 64 articles it came closest to the publishers' own summaries, with maximal
marginal relevance (ROUGE-1 F 0.254; the first sentence 0.227, TextRank 0.204).
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

from copydesk.drafting.extract.passages import UNSPACED, Passage, refers_to_page
from copydesk.drafting.extract.standalone import find_flaw, is_first_person, is_time_bound
from copydesk.drafting.writer import Field

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_UNSPACED_RUN = re.compile(f"{UNSPACED.pattern}+")
_COMMON_WORDS = (
    "a about above after again all also am an and any are as at be because been before being below between both but"
    " by can could did do does doing down during each few for from further had has have having he her here hers him his"
    " how i if in into is it its itself just like me more most my no nor not now of off on once only or other our out"
    " over own said same say says she should so some such than that the their them then there these they this those"
    " through to too under until up very was we were what when where which while who whom why will with would you your"
    " one new"
)
STOP_WORDS = frozenset(_COMMON_WORDS.split())
"""English stop words."""
_SUFFIXES = ("'s", "’s", "ing", "edly", "ed", "ies", "es", "s", "ly")
_DEFINITE_START = re.compile(r"The ([a-z]+ ?[a-z]*)")
_LEAD_SENTENCES = 3
_MIN_TITLE_WORDS = 2
"""Significant words of a title that tells what the text is about."""
_FIRST_PERSON, RELATIVE, _BESIDE_TITLE, _OUT_OF_CONTEXT = 0.75, 0.65, 0.6, 0.4
"""Fitness of sentences that say "I" or "today", of first ones about something else than the title, and of those that
need the ones before them."""
_MIN_KEYWORD = 4
"""Characters of a word that is more than a particle, whatever the language."""
_STEM = 6
"""Characters by which keywords are compared, so that inflections agree."""
_COVERED = 0.6
"""Share of the title's keywords in a sentence that makes the title needless."""
_MIN_COVERED = 3
"""Keywords of a title, at least, that such a sentence has."""
_MIN_ADDED = 3
"""Keywords that a sentence adds to a title."""
_NUMBER = re.compile(r"\b\d[\d.,]*\b")
_VERSION = re.compile(r"\b\d+(?:\.\d+)+\b")
_HABIT = re.compile(r"\bI(?:['’]ve| have) been\b|\bI(?:['’]m| am|['’]ll| will| often| usually| always)\b")
_SUBJECT = re.compile(r"([A-Z][\w’'-]{2,}) (?=[a-z])")


class ScoredPassage(NamedTuple):
    """A passage with its score, comparable within one item only, and its fitness to stand alone (0 to 1)."""

    passage: Passage
    score: float
    standalone: float


def score_passages(passages: list[Passage], title: str, language: str | None) -> list[ScoredPassage]:
    """Return every passage with its score, in the order given."""
    tokens = [_tokens(passage.text) for passage in passages]
    weights = _word_weights(tokens, frozenset(_tokens(title)))
    return [
        _score(passage, words, weights, standalone_fitness(passage, title, language, passages[:index]))
        for index, (passage, words) in enumerate(zip(passages, tokens, strict=True))
    ]


def standalone_fitness(passage: Passage, title: str, language: str | None, earlier: Sequence[Passage] = ()) -> float:
    """Return how well a sentence reads below `title` without the ones around it, 0 to 1; 0 if it has a flaw."""
    text = passage.text
    if refers_to_page(text) or find_flaw(text, language):
        return 0.0
    if language in {"en", None} and _was_introduced(text, title, earlier):
        return _OUT_OF_CONTEXT
    if not _continues_title(passage, title):
        return _BESIDE_TITLE if _is_lead(passage) else _OUT_OF_CONTEXT
    if not is_first_person(text, language):
        return RELATIVE if is_time_bound(text) else 1.0
    # What somebody does or thinks is news only if the title announces it, or with a number.
    is_report = is_first_person(title, language) or bool(_NUMBER.search(text) and not _HABIT.search(text))
    is_near = (
        is_report
        and _is_lead(passage)
        and len(keywords(text) & keywords(title)) >= min(_MIN_TITLE_WORDS, len(keywords(title)))
    )
    return _FIRST_PERSON if is_near and not is_time_bound(text) else _OUT_OF_CONTEXT


def _is_lead(passage: Passage) -> bool:
    return passage.field is Field.SUMMARY or passage.position < _LEAD_SENTENCES


def _continues_title(passage: Passage, title: str) -> bool:
    """Return True if a sentence can be understood from the title, and is about the same.

    It has words of the title, and "The film" at its beginning is one that the title names. The beginning of a summary
    needs none, because it was written to be read below the title.
    """
    if passage.field is Field.SUMMARY and passage.position == 0:
        return True
    title_words = keywords(title)
    if presumes_subject(passage.text, title):
        return False
    is_enough = _is_lead(passage) or len(title_words) <= _MIN_TITLE_WORDS or _UNSPACED_RUN.search(title)
    needed = 1 if is_enough else _MIN_TITLE_WORDS
    return not title_words or len(title_words & keywords(passage.text)) >= needed


def presumes_subject(text: str, title: str) -> bool:
    """Return True if a sentence begins with "The film", and `title` names none."""
    definite = _DEFINITE_START.match(text)
    return definite is not None and not keywords(title) & keywords(definite[1])


def _was_introduced(text: str, title: str, earlier: Iterable[Passage]) -> bool:
    """Return True if a sentence begins with a name by which an earlier one introduced somebody: "Ben is"."""
    subject = _SUBJECT.match(text)
    if subject is None or subject[1].lower() in STOP_WORDS or subject[1].casefold() in title.casefold():
        return False
    name = re.compile(rf"\b{re.escape(subject[1])}\b")
    return any(name.search(passage.text) for passage in earlier)


def keywords(text: str) -> frozenset[str]:
    """Return the words that tell what `text` is about, cut so that inflections agree."""
    words = _tokens(text)
    return frozenset(
        word[:_STEM]
        for word in words
        if len(word) >= _MIN_KEYWORD or _UNSPACED_RUN.match(word) or any(map(str.isdigit, word))
    )


def covers_title(text: str, title: str) -> bool:
    """Return True if `text` says what `title` says, so that a post needs only one of them."""
    title_words = keywords(title)
    shared = len(title_words & keywords(text))
    if not set(_VERSION.findall(title)) <= set(_VERSION.findall(text)):
        return False
    numbers = set(_NUMBER.findall(title))
    if numbers and set(_NUMBER.findall(text)) == numbers and shared >= _MIN_COVERED:
        return True
    return shared >= min(_MIN_COVERED, len(title_words)) and shared >= _COVERED * len(title_words) > 0


def repeats_title(text: str, title: str) -> bool:
    """Return True if `text` adds little to `title`."""
    title_words, words = keywords(title), keywords(text)
    if not words or not title_words:
        return not words
    return bool(words & title_words) and len(words - title_words) < _MIN_ADDED


def drop_duplicates(passages: list[Passage]) -> list[Passage]:
    """Return the passages without those that an earlier one repeats or contains."""
    unique: list[Passage] = []
    unique_words: list[frozenset[str]] = []
    for passage in passages:
        words = frozenset(_tokens(passage.text))
        # Repeated are summaries and first sentences, so 40 suffice; comparing all pairs would take quadratic time.
        if any(words <= earlier or len(words & earlier) > 0.85 * len(words | earlier) for earlier in unique_words[:40]):
            continue
        unique_words.append(words)
        unique.append(passage)
    return unique


@lru_cache(maxsize=2048)
def _tokens(text: str) -> tuple[str, ...]:
    """Return the stems of the significant words of `text`; overlapping character pairs in scripts without spaces.

    Cached, because each sentence is compared with several others.
    """
    pairs = [run[n : n + 2] for run in _UNSPACED_RUN.findall(text) for n in range(max(1, len(run) - 1))]
    spaced = _UNSPACED_RUN.sub(" ", text) if pairs else text
    words = _WORD.findall(spaced.lower())
    return (*pairs, *(_stem(word) for word in words if word not in STOP_WORDS and len(word) > 1))


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if len(word) - len(suffix) >= 4 and word.endswith(suffix):
            return word[: -len(suffix)]
    return word


def _word_weights(tokens: list[tuple[str, ...]], title: Set[str]) -> dict[str, float]:
    frequency = Counter(word for words in tokens for word in words)
    document_frequency = Counter(word for words in tokens for word in set(words))
    count = len(tokens)
    return {
        word: (1 + math.log(occurrences))
        * math.sqrt(math.log(1 + count / document_frequency[word]))
        * (2.0 if word in title else 1.0)
        if occurrences > 1 or word in title
        else 0.3
        for word, occurrences in frequency.items()
    }


def _score(passage: Passage, words: tuple[str, ...], weights: dict[str, float], alone: float) -> ScoredPassage:
    distinct_words = frozenset(words)
    centrality = sum(weights[word] for word in distinct_words) / (len(words) + 4) ** 0.6
    # Early sentences score up to 2.2 times as high; the bonus fades within a few sentences.
    position = 1 + 1.2 * math.exp(-passage.position / 2.5)
    size = 1.0 if 50 <= len(passage.text) <= 240 else 0.75
    number_bonus = 1.08 if re.search(r"\d", passage.text) else 1.0
    summary_bonus = 1.25 if passage.field is Field.SUMMARY else 1.0
    return ScoredPassage(passage, centrality * position * alone * size * number_bonus * summary_bonus, alone)
