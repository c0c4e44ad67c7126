"""Statistics of decisions: the time they take, and the share that is undone soon after."""

from copydesk.model.serialization import Struct


class DecisionStats(Struct, frozen=True):
    """Figures of the newest decisions, at most 1,000."""

    timed: int
    """Decisions in the console whose time is known."""
    median_seconds: float | None
    """From showing a draft to the decision; None if no time is known."""
    decided: int
    """Approvals and rejections, wherever they were made."""
    undone: int
    """Those that were undone within ten minutes."""
