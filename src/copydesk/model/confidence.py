"""Calibration of the confidence of drafts against the user's decisions."""

from copydesk.model.serialization import Struct

MIN_DECISIONS = 20
"""Decisions below which the confidence is not known."""


class DecisionProgress(Struct, frozen=True):
    """The decisions made of those that the confidence needs to be known."""

    decisions: int
    """At most `needed`."""
    needed: int


class ConfidenceBin(Struct, frozen=True):
    """The decisions on drafts with a confidence from `low` to below `high`."""

    low: float
    high: float
    drafts: int
    predicted: float | None
    """Their mean confidence; null without drafts."""
    approved: float | None
    """The share that was approved without an edit."""


class ConfidenceReport(Struct, frozen=True):
    """The reliability of the confidence. Each decision is predicted by a model that has not seen it."""

    decisions: int
    needed: int
    """Decisions from which the confidence is known."""
    known: bool
    base_rate: float | None
    """Share of decided drafts that were approved without an edit."""
    predicted: int
    """Decisions that were predicted: those after the first `needed`."""
    brier: float | None
    """Mean squared error of the confidence (Brier score); lower is better. Null before any prediction."""
    brier_of_base_rate: float | None
    """The same for the base rate as the prediction of every draft."""
    bins: tuple[ConfidenceBin, ...] = ()
