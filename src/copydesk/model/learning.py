"""Results of learning from the user's decisions."""

from datetime import datetime

from copydesk.model.confidence import ConfidenceReport
from copydesk.model.serialization import Struct


class LearningReset(Struct, frozen=True):
    """Which decisions count."""

    since: datetime | None
    """Decisions before this time do not count; null if all do."""
    reset_at: datetime | None
    """Time of the last reset, which can be taken back; null if there is none."""


class LearningReport(LearningReset, frozen=True, kw_only=True):
    """Counts of the decisions learnt from, and how well the model predicts them."""

    approved: int
    """Decisions that the preference for subjects is learnt from."""
    rejected: int
    preference_share: float
    """Share of its weight that the preference has with that many decisions."""
    confidence: ConfidenceReport
