"""Judge the quotations of a draft: verbatim or not, complete or not, and from whom."""

import re
from collections.abc import Sequence

from copydesk.drafting.claims.compare import Comparison
from copydesk.drafting.claims.people import find_speakers, has_speaking_pronoun, people_in, similar_quotation
from copydesk.drafting.claims.source_index import Sentence
from copydesk.drafting.claims.statement import Quotation, Statement
from copydesk.drafting.claims.verdict import Case, Verdict, cannot_tell, contradicts, supported

_MIN_WORDS = 2
"""Words from which text in quotation marks is taken for a quotation."""
_ELLIPSIS = re.compile(r"\[?(?:…|\.\.\.)\]?")
_REACH = 6
"""Words before a quoted part in which a negation or a condition changes its meaning."""


def judge_quotations(case: Case) -> list[Verdict]:
    """Return a verdict for each quotation of the sentence."""
    return [_judge(case, quotation) for quotation in case.ours.quotations if len(quotation.text.split()) >= _MIN_WORDS]


def _judge(case: Case, quotation: Quotation) -> Verdict:
    pieces = [piece for piece in _ELLIPSIS.split(quotation.text) if piece.strip()]
    found = [case.source.find_quotation(piece) for piece in pieces]
    if not all(found):
        return _judge_unfound(case, quotation)
    sentences = [sentence for group in found for sentence in group]
    ours, theirs = _speakers(case), _speakers_in_source(case, sentences)
    if ours and theirs and not ours & theirs:
        return contradicts(f"The source has this from {_names(theirs)}.", *sentences)
    if any(_is_cut(case, piece, group) for piece, group in zip(pieces, found, strict=True)):
        return cannot_tell("Only a part of the sentence is quoted.", *sentences)
    if not _is_same_speaker(case, ours, theirs):
        return cannot_tell("The source does not show who says this.", *sentences)
    return supported(*sentences)


def _judge_unfound(case: Case, quotation: Quotation) -> Verdict:
    candidates = case.source.find(case.ours)
    for sentence in candidates:
        statement = case.source.statement(sentence)
        if other := similar_quotation(quotation.text, statement) or _replaced_quotation(case, statement):
            return contradicts(f"The source quotes “{other.text}”.", sentence)
    return cannot_tell("This quotation is not in the source.", *candidates[:1])


def _replaced_quotation(case: Case, theirs: Statement) -> Quotation | None:
    """Return the quotation that the source has with the words around it."""
    if not theirs.quotations or len(case.ours.content) < 2 or Comparison(case.ours, theirs).uncovered():
        return None
    return theirs.quotations[0]


def _is_cut(case: Case, piece: str, sentences: Sequence[Sentence]) -> bool:
    """Return True if a part of a sentence is quoted without the negation or the condition before it."""
    statement = case.source.statement(sentences[0])
    first = piece.split(maxsplit=1)[0].lower()
    start = next((token for token in statement.tokens if token.text.lower() == first), None)
    if start is None or len(sentences) > 1:
        return False
    before = [token.word for token in statement.tokens[: start.position] if token.is_quoted == start.is_quoted]
    return bool((statement.language.hedges | statement.language.negators) & set(before[-_REACH:]))


def _speakers(case: Case) -> set[str]:
    """Return who speaks in the draft, without those that a draft may credit for the whole text."""
    return set(find_speakers(case.ours, case.source.known_names)) - case.credits


def _speakers_in_source(case: Case, sentences: Sequence[Sentence]) -> set[str]:
    """Return who may say what stands in `sentences`: those named there, or before it where there is a pronoun."""
    names = case.source.known_names
    statements = [case.source.statement(sentence) for sentence in sentences]
    if speakers := {speaker for statement in statements for speaker in find_speakers(statement, names)}:
        return speakers
    if any(map(has_speaking_pronoun, statements)):
        # A pronoun mostly stands for the last person that was named.
        before = reversed(case.source.before(sentences[0]))
        return next((people for statement in before if (people := people_in([statement], names))), set())
    after = case.source.after(sentences[-1])
    return people_in(statements, names) or {name for statement in after for name in find_speakers(statement, names)}


def _is_same_speaker(case: Case, ours: set[str], theirs: set[str]) -> bool:
    if ours:
        return bool(ours & theirs)
    if not has_speaking_pronoun(case.ours):
        return True
    return bool(case.previous and people_in([case.previous], case.source.known_names) & theirs)


def _names(surnames: set[str]) -> str:
    return " or ".join(sorted(surname.title() for surname in surnames))
