"""The tables of the drafts' state machine, written out a second time for the reference model."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

GENERATING, FAILED, PENDING, AWAITING = "pending_generation", "generation_failed", "pending_review", "awaiting_review"
CHANGES, REGENERATING, APPROVED, REJECTED = "changes_requested", "pending_regeneration", "approved", "rejected"
SCHEDULED, POSTING, MISSED, POSTED = "scheduled", "posting", "missed", "posted"
STATES = (
    *(GENERATING, FAILED, PENDING, AWAITING, CHANGES, REGENERATING),
    *(APPROVED, REJECTED, SCHEDULED, POSTING, MISSED, POSTED),
)

ALLOWED_FROM = {
    "approve": {PENDING, AWAITING, CHANGES, REJECTED},
    "reject": {FAILED, PENDING, AWAITING, CHANGES, APPROVED, MISSED},
    "regenerate": {FAILED, PENDING, AWAITING, CHANGES, REJECTED},
    "unapprove": {APPROVED},
    "schedule": {APPROVED},
    "reschedule": {SCHEDULED, MISSED},
    "cancel_schedule": {SCHEDULED, MISSED},
    "post": {APPROVED, SCHEDULED, MISSED, POSTED},
    "archive": {FAILED, PENDING, AWAITING, CHANGES, APPROVED, REJECTED, MISSED, POSTED},
}
STATUS_AFTER_ACTION = {
    "approve": APPROVED,
    "reject": REJECTED,
    "regenerate": REGENERATING,
    "unapprove": AWAITING,
    "schedule": SCHEDULED,
    "reschedule": SCHEDULED,
    "cancel_schedule": APPROVED,
}
STATUS_AFTER_EDIT = {
    FAILED: AWAITING,
    PENDING: PENDING,
    AWAITING: AWAITING,
    CHANGES: AWAITING,
    APPROVED: APPROVED,
    SCHEDULED: SCHEDULED,
    MISSED: MISSED,
}
STATUS_AFTER_EVENT = {
    "text_written": {GENERATING: PENDING},
    "writing_failed": {GENERATING: FAILED, REGENERATING: FAILED},
    "picked_up": {SCHEDULED: POSTING},
    "late": {SCHEDULED: MISSED},
    "ended_live": {POSTING: POSTED},
    "ended_not_live": {POSTING: APPROVED},
}
TIMED_STATES = {SCHEDULED, POSTING, MISSED}
SLOT_STATES = {SCHEDULED, POSTING}
GRACE_PERIODS = {"SHORT": timedelta(minutes=30), "THREAD": timedelta(minutes=30), "BLOG": timedelta(hours=24)}
POST_INTERVAL = timedelta(minutes=5)
"""Minimum interval between two posts of one account."""
SLOT_HOURS = (9, 17)
"""Hours of each day (UTC) with a slot."""
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Values:
    """The user-visible fields of a draft."""

    status: str
    text: str
    scheduled_at: datetime | None = None
    archived: bool = False
    feedback: str | None = None
    rejection_feedback: str | None = None


def clear_stale_fields(values: Values) -> Values:
    """Return the values without the fields of states that the draft has left."""
    if values.status != REJECTED:
        values = replace(values, rejection_feedback=None)
    return values if values.status in TIMED_STATES else replace(values, scheduled_at=None)
