"""Rules for phrases and figures of speech that readers associate with generated text.

They measure frequency only: of 16 posts known to be written by people, 5 contained one. So they never block, and text
that is the source's or quoted is not reported.
"""

import re
from collections.abc import Iterator

from copydesk.drafting.check_context import INFO, WARNING, CheckContext, Rule, RuleMatch, always
from copydesk.drafting.rules.analyzed_text import AnalyzedText, analyze_source
from copydesk.drafting.rules.voice import MIN_EXAMPLES

_STOCK_PHRASE = re.compile(
    r"\b(?:game[- ]chang\w+|in today['’]?s (?:fast[- ]paced|digital)|let['’]?s (?:dive|jump) (?:in|into)|dive deep"
    r"|deep dive|delv(?:e|es|ed|ing)|unlock(?:s|ing)? the|unleash\w*|revolutioni[sz]\w+|seamless(?:ly)?|cutting[- ]edge"
    r"|leverag(?:e|es|ed|ing)|testament to|tapestry|ever[- ]evolving|here['’]?s (?:what|why|the thing|the kicker)"
    r"|buckle up|mind[- ]blowing|it['’]?s worth noting|in conclusion|at the end of the day|you won['’]?t believe"
    r"|the future of \w+ is|elevate your|supercharg\w+|treasure trove|robust|pivotal|crucial|underscor\w+|showcas\w+"
    r"|foster(?:s|ing)|navigat(?:e|es|ing) the|realm of|what do you think\?|thoughts\?)",
    re.IGNORECASE,
)
_NOT_JUST_BUT = re.compile(
    r"\b(?:not (?:just|only|merely)|isn['’]?t (?:just|only|about)|it['’]?s not about)\b"
    r"[^.!?\n]{2,80}?(?:\bbut\b|\bit['’]?s\b|[—–])",
    re.IGNORECASE,
)
_LIST_OF_THREE = re.compile(r"\b\w+(?: \w+)?, \w+(?: \w+)?,? and \w+")


def _stock(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    # Not in quotations, whose words are the source's.
    for match in _STOCK_PHRASE.finditer(analyzed.own_text):
        if not _is_in_source(match[0], context):
            yield RuleMatch(WARNING, f"A stock phrase: “{match[0]}”.", *match.span())


def _not_just(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    for match in _NOT_JUST_BUT.finditer(analyzed.own_text):
        if not _is_in_source(match[0], context):
            yield RuleMatch(WARNING, "“Not just this but that”.", *match.span())


def _lists_of_three(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    matches = [match for match in _LIST_OF_THREE.finditer(analyzed.own_text) if not _is_in_source(match[0], context)]
    # A single list of three is normal; repeating them is the habit.
    if len(matches) >= 2:
        yield RuleMatch(INFO, f"{len(matches)} lists of three.", *matches[1].span())


def _em_dash(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    count = analyzed.own_text.count("—")
    # One dash is allowed in the shortest post; more grow with the length.
    if count > max(1, len(analyzed.words) / 60):
        yield RuleMatch(INFO, f"{count} em dashes in {len(analyzed.words)} words.")


def _is_in_source(words: str, context: CheckContext) -> bool:
    return bool(context.source) and words.lower().replace("’", "'") in analyze_source(context.source).lower


RULES = (
    Rule("stock", _stock, always),
    Rule("not-just", _not_just, always),
    Rule("triples", _lists_of_three, always),
    # With enough examples, `style` compares dashes with the user's own posts.
    Rule("em-dash", _em_dash, lambda context: len(context.voice.examples) < MIN_EXAMPLES),
)
