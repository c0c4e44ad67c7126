"""Rules for what a draft claims: a sentence that contradicts its source, and one that rests on nothing there."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from copydesk.drafting.check_context import WARNING, CheckContext, Rule, RuleMatch
from copydesk.drafting.claims.find_claims import find_claims
from copydesk.drafting.rules.analyzed_text import AnalyzedText
from copydesk.model.draft import Claim, ClaimVerdict
from copydesk.text import links

# A paragraph or heading with its lines.
_BLOCK = re.compile(r"[^\n]+(?:\n[^\n]+)*")


def draft_claims(analyzed: AnalyzedText, context: CheckContext) -> tuple[Claim, ...]:
    """Return the claims of a draft. A prompt of the user's own is no source to compare with.

    In a text with several sources, a sentence beside the link to one of them is supported by that one only.
    """
    if context.is_prompt_only:
        return ()
    claims = find_claims(analyzed.statements, context.materials, context.names, context.days)
    if len(context.item_urls) < 2:
        return claims
    sections = list(_linked_sections(analyzed.text, context.item_urls))
    return tuple(_judge_by_linked_item(claim, sections, analyzed, context) for claim in claims)


class _Section(NamedTuple):
    """A part of a text that links to one of several items."""

    start: int
    end: int
    item_id: str | None
    """None for the draft's own item."""


def _linked_sections(text: str, item_urls: Iterable[tuple[str | None, str]]) -> Iterator[_Section]:
    """Yield the paragraphs that link to one item, and those without links below a heading that does."""
    items = {links.comparison_key(url): item_id for item_id, url in item_urls}
    below: list[str | None] = []
    for block in _BLOCK.finditer(text):
        keys = (links.comparison_key(block[0][start:end]) for start, end in links.spans(block[0]))
        linked = list(dict.fromkeys(items[key] for key in keys if key in items))
        if block[0].startswith("#"):
            below = linked
        item_ids = linked or below
        if len(item_ids) == 1:
            yield _Section(*block.span(), item_ids[0])


def _judge_by_linked_item(
    claim: Claim, sections: Iterable[_Section], analyzed: AnalyzedText, context: CheckContext
) -> Claim:
    """Return the claim, not supported if the words that carry it are from another item than the linked one."""
    section = next((section for section in sections if section.start <= claim.start < section.end), None)
    is_other = claim.source is not None and section is not None and claim.source.item_id != section.item_id
    if claim.verdict is not ClaimVerdict.SUPPORTED or section is None or not is_other:
        return claim
    materials = tuple(material for material in context.materials if material.item_id == section.item_id)
    by_item = find_claims(analyzed.statements, materials, context.names, context.days)
    own = next((other for other in by_item if other.start == claim.start), None)
    if own is not None and own.verdict is ClaimVerdict.SUPPORTED:
        return own
    return replace(claim, verdict=ClaimVerdict.CANNOT_TELL, reason="In another source than the one linked here.")


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
