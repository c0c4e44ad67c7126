"""Rules for what a draft claims: a sentence that contradicts its source, and one that rests on nothing there."""

from collections.abc import Iterator

from copydesk.drafting.check_context import WARNING, CheckContext, Rule, RuleMatch
from copydesk.drafting.claims.find_claims import find_claims
from copydesk.drafting.rules.analyzed_text import AnalyzedText
from copydesk.model.draft import Claim, ClaimVerdict


def draft_claims(analyzed: AnalyzedText, context: CheckContext) -> tuple[Claim, ...]:
    """Return the claims of a draft. A prompt of the user's own is no source to compare with."""
    if context.is_prompt_only:
        return ()
    return find_claims(analyzed.statements, context.materials, context.names, context.days)


def _contradiction(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    for claim in draft_claims(analyzed, context):
        if claim.verdict is ClaimVerdict.CONTRADICTS:
            yield RuleMatch(WARNING, f"May contradict the source. {claim.reason}", claim.start, claim.end)


def _unsupported(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    for claim in draft_claims(analyzed, context):
        if claim.verdict is ClaimVerdict.CANNOT_TELL and claim.source is None:
            yield RuleMatch(WARNING, claim.reason, claim.start, claim.end)


def _has_materials(context: CheckContext) -> bool:
    return bool(context.materials) and not context.is_prompt_only


RULES = (
    Rule("contradiction", _contradiction, _has_materials),
    Rule("unsupported", _unsupported, _has_materials),
)
