"""A verdict on one sentence of a draft, and what the decisions on it share."""

from collections.abc import Sequence
from typing import NamedTuple

from copydesk.drafting.claims.source_index import Sentence, SourceIndex
from copydesk.drafting.claims.statement import Statement
from copydesk.model.draft import ClaimVerdict

_CERTAINTY = (ClaimVerdict.CONTRADICTS, ClaimVerdict.CANNOT_TELL, ClaimVerdict.SUPPORTED)


class Verdict(NamedTuple):
    """A verdict with its reason and the sentences of the source that it rests on."""

    verdict: ClaimVerdict
    reason: str = ""
    evidence: tuple[Sentence, ...] = ()


class Case(NamedTuple):
    """A sentence of a draft with what it is judged by."""

    ours: Statement
    previous: Statement | None
    """The sentence before it."""
    source: SourceIndex
    credits: frozenset[str]
    """Words of the names that a draft may credit: the source's, its author's."""


def contradicts(reason: str, *evidence: Sentence) -> Verdict:
    """Return the verdict that the sentence contradicts the source."""
    return Verdict(ClaimVerdict.CONTRADICTS, reason, evidence)


def cannot_tell(reason: str, *evidence: Sentence) -> Verdict:
    """Return the verdict that neither can be told."""
    return Verdict(ClaimVerdict.CANNOT_TELL, reason, evidence)


def supported(*evidence: Sentence) -> Verdict:
    """Return the verdict that the source says the same."""
    return Verdict(ClaimVerdict.SUPPORTED, "", evidence)


def weakest(verdicts: Sequence[Verdict]) -> Verdict | None:
    """Return the worst of the verdicts; None if there is none."""
    return min(verdicts, key=lambda verdict: _CERTAINTY.index(verdict.verdict), default=None)
