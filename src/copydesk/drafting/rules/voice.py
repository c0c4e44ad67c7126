"""Whether a draft keeps to the user's voice: the avoid list, hashtags, emoji, and the look of their own posts."""

import re
import statistics
from collections.abc import Iterator
from functools import lru_cache

from copydesk.drafting.avoid import pattern_of
from copydesk.drafting.rules.reading import Reading, known, runs, words_of
from copydesk.drafting.rules.rule import ERROR, WARNING, Found, Rule
from copydesk.drafting.subject import Subject
from copydesk.model.voice import Emoji
from copydesk.text import links
from copydesk.text.length import count_emoji

HASHTAGS = 2
"""How many pass without remark where the voice does not say."""
SPARING = 2
"""How many emoji are sparing."""
ALIKE = 0.35
"""Two posts that share so much of their runs of three words are one post twice."""
LEAKED_WORDS = 7
"""So many words in a row out of an example are the example's, not the voice's."""
ENOUGH = 3
"""Examples below which their spread says nothing."""
FAR, FAR_OVERALL = 2.5, 1.6
"""Standard deviations from the examples: of one feature, and of all on average."""

_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++\s|\n++")
_FIRST_PERSON = frozenset(["i", "i'm", "i've", "i'd", "i'll", "my", "me", "we", "our", "us"])
_FEATURES = (
    "words per sentence", "characters per word", "sentences in lower case",
    "em dashes", "exclamation marks", "question marks", "emoji", "words in the first person", "hashtags",
    "contractions", "commas", "colons", "semicolons",
)  # fmt: skip
_COUNTED_FROM = 3
"""The features from here on are counts, per 100 words."""


def _avoid(reading: Reading, subject: Subject) -> Iterator[Found]:
    pattern = pattern_of(subject.voice.avoid)
    for match in pattern.finditer(reading.masked) if pattern else ():
        yield Found(ERROR, f"“{match[0]}” is on the avoid list.", *match.span())


def _hashtags(reading: Reading, subject: Subject) -> Iterator[Found]:
    found = list(links.HASHTAG.finditer(reading.masked))
    allowed = subject.settings.hashtags
    most = HASHTAGS if allowed is None else allowed
    if len(found) > most:
        message = f"{len(found)} hashtags; {'at most ' if most else ''}{most or 'none'} wanted."
        yield Found(WARNING if allowed is None else ERROR, message, *found[most].span())


def _emoji(reading: Reading, subject: Subject) -> Iterator[Found]:
    count = count_emoji(reading.text)
    if subject.settings.emoji is Emoji.NEVER and count:
        yield Found(ERROR, "The voice has no emoji.")
    elif subject.settings.emoji is Emoji.SPARING and count > SPARING:
        yield Found(WARNING, f"{count} emoji; the voice is sparing with them.")


def _example_leak(reading: Reading, subject: Subject) -> Iterator[Found]:
    mine = runs(reading.words, LEAKED_WORDS)
    for number, example in enumerate(subject.voice.examples, 1):
        theirs = _example_runs(example)
        leaked = next((run for run in mine if run in theirs), None)
        if leaked and not (subject.source and known(subject.source).says([leaked])):
            yield Found(ERROR, f"“{leaked}” is word for word from example {number}.")


def _repeat(reading: Reading, subject: Subject) -> Iterator[Found]:
    likeness = subject.recent.likeness(reading.text) if subject.recent else 0.0
    if likeness > ALIKE:
        yield Found(WARNING, f"Much like a recent draft: {likeness:.0%} of it is the same.")


def _style(reading: Reading, subject: Subject) -> Iterator[Found]:
    for name, score in zip(_FEATURES, _scores(reading.text, subject.voice.examples), strict=True):
        if abs(score) > FAR:
            yield Found(WARNING, f"{'More' if score > 0 else 'Fewer'} {name} than in your own posts ({score:+.1f} sd).")


def _style_distance(reading: Reading, subject: Subject) -> Iterator[Found]:
    scores = _scores(reading.text, subject.voice.examples)
    distance = statistics.fmean(min(abs(score), 4.0) for score in scores)
    if distance > FAR_OVERALL:
        yield Found(WARNING, f"It does not read like your own posts ({distance:.1f} sd on average).")


@lru_cache(maxsize=256)
def _example_runs(example: str) -> frozenset[str]:
    return frozenset(runs(words_of(links.masked(example)), LEAKED_WORDS))


@lru_cache(maxsize=8)
def _habits(examples: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    """Mean and spread of each feature; the spread is never taken as less than 15 % of the mean or a quarter."""
    columns = zip(*map(_look, examples), strict=True)
    return tuple(
        (mean := statistics.fmean(values), max(statistics.stdev(values), 0.15 * abs(mean), 0.25)) for values in columns
    )


@lru_cache(maxsize=8)
def _scores(text: str, examples: tuple[str, ...]) -> tuple[float, ...]:
    """How far each feature of `text` is from the examples, in standard deviations.

    One comma more or less is much of a short text and says nothing: it never counts as more than one deviation.
    """
    one = 100 / max(1, len(words_of(links.masked(text))))
    return tuple(
        (value - mean) / (max(spread, one) if number >= _COUNTED_FROM else spread)
        for number, (value, (mean, spread)) in enumerate(zip(_look(text), _habits(examples), strict=True))
    )


def _look(text: str) -> tuple[float, ...]:
    """The features of a text, per 100 words where they are counts."""
    hashtags = len(links.HASHTAG.findall(text))
    text = links.masked(text)
    words = words_of(text) or [""]
    pieces = [piece for piece in _SENTENCE_END.split(text) if piece.strip()] or [text]
    share = 100 / len(words)
    return (
        len(words) / len(pieces),
        sum(map(len, words)) / len(words),
        sum(piece.strip()[0].islower() for piece in pieces if piece.strip()) / len(pieces),
        share * text.count("—"),
        share * text.count("!"),
        share * text.count("?"),
        share * count_emoji(text),
        share * sum(word in _FIRST_PERSON for word in words),
        share * hashtags,
        share * sum("'" in word for word in words),
        share * text.count(","),
        share * text.count(":"),
        share * text.count(";"),
    )


def _has_habits(subject: Subject) -> bool:
    return len(subject.voice.examples) >= ENOUGH


RULES = (
    Rule("avoid", _avoid, lambda subject: bool(subject.voice.avoid)),
    Rule("hashtags", _hashtags, lambda _: True),
    Rule("emoji", _emoji, lambda subject: subject.settings.emoji in (Emoji.NEVER, Emoji.SPARING)),
    Rule("example-leak", _example_leak, lambda subject: bool(subject.voice.examples)),
    Rule("repeat", _repeat, lambda subject: subject.recent is not None),
    Rule("style", _style, _has_habits),
    Rule("style-distance", _style_distance, _has_habits),
)
