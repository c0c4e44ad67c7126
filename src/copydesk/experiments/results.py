"""Aggregate the drafts of each variant into plain counts and raw rates."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from copydesk.model.experiment import ExperimentResults, Variant, VariantResults
from copydesk.model.serialization import Struct


class VariantCounts(Struct, frozen=True):
    """Counts of one variant."""

    assigned: int = 0
    drafted: int = 0
    """Assigned drafts that have a text."""
    accepted: int = 0
    rejected: int = 0
    mean_edit_ratio: float | None = None
    published: int = 0
    """Live on at least one platform."""
    measured: int = 0
    """Published, with metrics."""
    interactions: int = 0
    """Sum over the measured ones."""
    impressions: int | None = None
    """Sum over the measured ones whose platform reports impressions; None if none does."""
    interactions_with_impressions: int = 0
    """Interactions of the posts with impressions. Only these may enter a rate."""


def build_results(
    parameter: str,
    variants: Sequence[Variant],
    counts: Mapping[str, VariantCounts],
    *,
    now: datetime,
    winner: str | None = None,
) -> ExperimentResults:
    """Return the results, variants in their given order. A variant missing from `counts` has zero of everything."""
    arms = [
        _arm(variant, counts.get(variant.id, VariantCounts()), first=not index)
        for index, variant in enumerate(variants)
    ]
    return ExperimentResults(parameter=parameter, data_as_of=now, arms=tuple(arms), winner=winner)


def _arm(variant: Variant, counts: VariantCounts, *, first: bool) -> VariantResults:
    return VariantResults(
        id=variant.id,
        name=variant.label,
        is_control=first,
        assigned=counts.assigned,
        drafted=counts.drafted,
        accepted=counts.accepted,
        rejected=counts.rejected,
        acceptance_rate=_rate(counts.accepted, counts.accepted + counts.rejected),
        mean_edit_ratio=counts.mean_edit_ratio,
        published=counts.published,
        measured=counts.measured,
        impressions=counts.impressions,
        interactions=counts.interactions,
        rate_pooled=_rate(counts.interactions_with_impressions, counts.impressions),
        interactions_per_post=_rate(counts.interactions, counts.measured),
    )


def _rate(part: int, whole: int | None) -> float | None:
    return part / whole if whole else None
