"""Rules for the user's voice: avoid list, hashtags, emoji, and similarity to the user's own posts."""

import re
import statistics
from collections.abc import Iterator
from functools import lru_cache

from copydesk.drafting.check_context import ERROR, WARNING, CheckContext, Rule, RuleMatch
from copydesk.drafting.extract.passages import UNSPACED
from copydesk.drafting.rules.analyzed_text import AnalyzedText, analyze_source, ngrams, split_words
from copydesk.model.voice import Emoji
from copydesk.text import links
from copydesk.text.language import HANGUL
from copydesk.text.length import count_emoji

DEFAULT_MAX_HASHTAGS = 2
"""Hashtags allowed if the voice has no setting."""
MAX_SPARING_EMOJI = 2
"""Emoji allowed with the setting `sparing`."""
REPEAT_SIMILARITY = 0.35
"""Jaccard similarity of word trigrams above which two posts count as repetitions."""
LEAKED_LENGTH = 7
"""This many consecutive words of an example count as copied from it."""
MIN_EXAMPLES = 3
"""Minimum number of examples for a meaningful standard deviation."""
MAX_DEVIATION, MAX_MEAN_DEVIATION = 2.5, 1.6
"""Standard deviations from the examples: of one feature, and of all on average."""

_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++\s|\n++")
_FIRST_PERSON = frozenset(["i", "i'm", "i've", "i'd", "i'll", "my", "me", "we", "our", "us"])
_FEATURES = (
    ("Much longer sentences", "Much shorter sentences"),
    ("Much longer words", "Much shorter words"),
    *(
        (f"Many more {name}", f"Far fewer {name}")
        for name in (
            *("sentences in lower case", "em dashes", "exclamation marks", "question marks", "emoji"),
            *("words in the first person", "hashtags", "contractions", "commas", "colons", "semicolons"),
        )
    ),
)
"""Features of a style, each as the phrase for a higher and for a lower value."""
_LOWER_CASE = 2
"""Index in _FEATURES of the share of sentences in lower case."""
_FIRST_COUNT = 3
"""Index in _FEATURES from which on the features are counts per 100 words."""


def find_avoided(text: str, avoid: tuple[str, ...]) -> str | None:
    """Return the first listed word or phrase in `text`, as written there, or None. Links are ignored."""
    pattern = avoid_pattern(avoid)
    match = pattern.search(links.mask_links(text)) if pattern else None
    return match[0] if match else None


@lru_cache(maxsize=64)
def avoid_pattern(avoid: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern for the listed words and phrases, or None for an empty list.

    It matches whole words, in any case, also with a simple ending (-s, -es, -ed, -ing), or with any in Korean. Scripts
    without spaces have no whole words.
    """
    phrases = sorted({" ".join(phrase.split()) for phrase in avoid if phrase.strip()}, key=len, reverse=True)
    if not phrases:
        return None
    # Longest first: alternatives are tried in order, and the longer phrase is the better message.
    return re.compile("|".join(map(_phrase_pattern, phrases)), re.IGNORECASE)


def _phrase_pattern(phrase: str) -> str:
    before = r"(?<!\w)" if _has_boundary(phrase[0]) else ""
    # Korean particles follow their word without a space: 혁명을.
    has_end = _has_boundary(phrase[-1]) and not HANGUL.match(phrase[-1])
    after = r"(?:s|es|d|ed|ing)?(?!\w)" if has_end else ""
    return before + re.escape(phrase).replace(r"\ ", r"\s+").replace("'", "['’]") + after


def _has_boundary(character: str) -> bool:
    """Return True if a word ends beside this character: not beside a symbol, such as in C++, nor in 革命的."""
    return character.isalnum() and not UNSPACED.match(character)


def _avoid(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    pattern = avoid_pattern(context.voice.avoid)
    for match in pattern.finditer(analyzed.masked) if pattern else ():
        yield RuleMatch(ERROR, f"“{match[0]}” is on the avoid list.", *match.span())


def _hashtags(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    hashtags = links.hashtag_spans(analyzed.masked)
    allowed = context.settings.hashtags
    max_hashtags = DEFAULT_MAX_HASHTAGS if allowed is None else allowed
    if len(hashtags) > max_hashtags:
        message = f"{len(hashtags)} hashtags; {'at most ' if max_hashtags else ''}{max_hashtags or 'none'} wanted."
        # An error only if the user has set a limit: the default is a matter of taste.
        yield RuleMatch(WARNING if allowed is None else ERROR, message, *hashtags[max_hashtags])


def _emoji(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    count = count_emoji(analyzed.text)
    if context.settings.emoji is Emoji.NEVER and count:
        yield RuleMatch(ERROR, "Your voice uses no emoji.")
    elif context.settings.emoji is Emoji.SPARING and count > MAX_SPARING_EMOJI:
        yield RuleMatch(WARNING, f"{count} emoji; your voice uses few.")


def _example_leak(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    # Models copy from examples, although these are only meant to show the style.
    draft_ngrams = ngrams(analyzed.words, LEAKED_LENGTH)
    for number, example in enumerate(context.voice.examples, 1):
        example_ngrams = _example_ngrams(example)
        leaked = next((ngram for ngram in draft_ngrams if ngram in example_ngrams), None)
        # Phrases that the source contains are not a leak: the example may be about the same subject.
        if leaked and not (context.source and analyze_source(context.source).contains([leaked])):
            yield RuleMatch(ERROR, f"“{leaked}” is copied from example {number}.")


def _repeat(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    similarity = context.recent.similarity(analyzed.text) if context.recent else 0.0
    if similarity > REPEAT_SIMILARITY:
        yield RuleMatch(WARNING, f"Similar to a recent draft: {similarity:.0%} of it is the same.")


def _style(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    for (higher, lower), score in zip(_FEATURES, _feature_scores(analyzed.text, context.voice.examples), strict=True):
        if abs(score) > MAX_DEVIATION:
            yield RuleMatch(WARNING, f"{higher if score > 0 else lower} than in your own posts.")


def _style_distance(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    scores = _feature_scores(analyzed.text, context.voice.examples)
    # Capped, so that a single extreme feature does not decide alone.
    distance = statistics.fmean(min(abs(score), 4.0) for score in scores)
    if distance > MAX_MEAN_DEVIATION:
        yield RuleMatch(WARNING, "It does not read like your own posts.")


@lru_cache(maxsize=256)
def _example_ngrams(example: str) -> frozenset[str]:
    return frozenset(ngrams(split_words(links.mask_links(example)), LEAKED_LENGTH))


@lru_cache(maxsize=8)
def _feature_statistics(examples: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    """Return mean and deviation of each feature over the examples.

    The deviation is at least 15% of the mean and at least 0.25, so that uniform examples do not make any difference
    extreme.
    """
    columns = zip(*map(_features, examples), strict=True)
    return tuple(
        (mean := statistics.fmean(values), max(statistics.stdev(values), 0.15 * abs(mean), 0.25)) for values in columns
    )


@lru_cache(maxsize=8)
def _feature_scores(text: str, examples: tuple[str, ...]) -> tuple[float, ...]:
    """Return each feature's distance from the examples, in standard deviations.

    One comma more or less is a large share of a short text, so the deviation of a count is at least one occurrence, and
    so is that of the sentences in lower case: the first one may begin with a name such as pgAdmin.
    """
    masked = links.mask_links(text)
    occurrence = 100 / max(1, len(split_words(masked)))
    floors = {_LOWER_CASE: 1 / len(_split_sentences(masked))}
    return tuple(
        (value - mean) / max(spread, occurrence if index >= _FIRST_COUNT else floors.get(index, 0.0))
        for index, (value, (mean, spread)) in enumerate(
            zip(_features(text), _feature_statistics(examples), strict=True)
        )
    )


def _features(text: str) -> tuple[float, ...]:
    """Return the features of a text in the order of _FEATURES; counts are per 100 words."""
    hashtags = len(links.hashtag_spans(text))
    text = links.mask_links(text)
    words = split_words(text) or [""]
    sentences = _split_sentences(text)
    per_100_words = 100 / len(words)
    return (
        len(words) / len(sentences),
        sum(map(len, words)) / len(words),
        sum(sentence.strip()[0].islower() for sentence in sentences if sentence.strip()) / len(sentences),
        per_100_words * text.count("—"),
        per_100_words * text.count("!"),
        per_100_words * text.count("?"),
        per_100_words * count_emoji(text),
        per_100_words * sum(word in _FIRST_PERSON for word in words),
        per_100_words * hashtags,
        per_100_words * sum("'" in word for word in words),
        per_100_words * text.count(","),
        per_100_words * text.count(":"),
        per_100_words * text.count(";"),
    )


def _split_sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()] or [text]


def describe_style(examples: tuple[str, ...]) -> tuple[str, ...]:
    """Return the style of the user's posts as phrases with numbers, for a writer to keep to; empty for too few."""
    if len(examples) < MIN_EXAMPLES:
        return ()
    means = [mean for mean, _ in _feature_statistics(examples)]
    sentence, word, lower_case, *counts = means
    names = [high.removeprefix("Many more ") for high, _ in _FEATURES[_FIRST_COUNT:]]
    return (
        f"{sentence:.0f} words per sentence",
        f"{word:.1f} letters per word",
        f"{lower_case:.0%} of sentences begin in lower case",
        *(f"{count:.1f} {name} per 100 words" for name, count in zip(names, counts, strict=True)),
    )


def _has_enough_examples(context: CheckContext) -> bool:
    return len(context.voice.examples) >= MIN_EXAMPLES


RULES = (
    Rule("avoid", _avoid, lambda context: bool(context.voice.avoid)),
    Rule("hashtags", _hashtags, lambda _: True),
    Rule("emoji", _emoji, lambda context: context.settings.emoji in (Emoji.NEVER, Emoji.SPARING)),
    Rule("example-leak", _example_leak, lambda context: bool(context.voice.examples)),
    Rule("repeat", _repeat, lambda context: context.recent is not None),
    Rule("style", _style, _has_enough_examples),
    Rule("style-distance", _style_distance, _has_enough_examples),
)
