"""Phrases and figures of speech that readers take for machine writing.

Evidence of frequency only: on 16 posts that people really wrote, 5 had one of them. So these never block, and what the
source says itself, or the draft quotes, is nobody's tell.
"""

import re
from collections.abc import Iterator

from copydesk.drafting.rules.reading import Reading, known
from copydesk.drafting.rules.rule import INFO, WARNING, Found, Rule, always
from copydesk.drafting.rules.voice import ENOUGH
from copydesk.drafting.subject import Subject

_STOCK = re.compile(
    r"\b(?:game[- ]chang\w+|in today['’]?s (?:fast[- ]paced|digital)|let['’]?s (?:dive|jump) (?:in|into)|dive deep"
    r"|deep dive|delv(?:e|es|ed|ing)|unlock(?:s|ing)? the|unleash\w*|revolutioni[sz]\w+|seamless(?:ly)?|cutting[- ]edge"
    r"|leverag(?:e|es|ed|ing)|testament to|tapestry|ever[- ]evolving|here['’]?s (?:what|why|the thing|the kicker)"
    r"|buckle up|mind[- ]blowing|it['’]?s worth noting|in conclusion|at the end of the day|you won['’]?t believe"
    r"|the future of \w+ is|elevate your|supercharg\w+|treasure trove|robust|pivotal|crucial|underscor\w+|showcas\w+"
    r"|foster(?:s|ing)|navigat(?:e|es|ing) the|realm of|what do you think\?|thoughts\?)",
    re.IGNORECASE,
)
_NOT_JUST = re.compile(
    r"\b(?:not (?:just|only|merely)|isn['’]?t (?:just|only|about)|it['’]?s not about)\b"
    r"[^.!?\n]{2,80}?(?:\bbut\b|\bit['’]?s\b|[—–])",
    re.IGNORECASE,
)
_TRIPLE = re.compile(r"\b\w+(?: \w+)?, \w+(?: \w+)?,? and \w+")


def _stock(reading: Reading, subject: Subject) -> Iterator[Found]:
    for match in _STOCK.finditer(reading.own):
        if not _is_sources(match[0], subject):
            yield Found(WARNING, f"A stock phrase: “{match[0]}”.", *match.span())


def _not_just(reading: Reading, subject: Subject) -> Iterator[Found]:
    for match in _NOT_JUST.finditer(reading.own):
        if not _is_sources(match[0], subject):
            yield Found(WARNING, "“Not just this but that”.", *match.span())


def _triples(reading: Reading, subject: Subject) -> Iterator[Found]:
    found = [match for match in _TRIPLE.finditer(reading.own) if not _is_sources(match[0], subject)]
    if len(found) >= 2:
        yield Found(INFO, f"{len(found)} lists of three.", *found[1].span())


def _em_dash(reading: Reading, _: Subject) -> Iterator[Found]:
    count = reading.own.count("—")
    if count > max(1, len(reading.words) / 60):
        yield Found(INFO, f"{count} em dashes in {len(reading.words)} words.")


def _is_sources(words: str, subject: Subject) -> bool:
    return bool(subject.source) and words.lower().replace("’", "'") in known(subject.source).lower


RULES = (
    Rule("stock", _stock, always),
    Rule("not-just", _not_just, always),
    Rule("triples", _triples, always),
    # With enough examples, `style` judges dashes by the user's own habit.
    Rule("em-dash", _em_dash, lambda subject: len(subject.voice.examples) < ENOUGH),
)
