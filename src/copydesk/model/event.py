"""Events: what happened to a user's drafts, runs, deliveries and sources, for event streams and webhooks."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from copydesk.model.serialization import Struct


class EventType(StrEnum):
    """The types of events."""

    DRAFT_CREATED = "draft.created"
    DRAFT_CHANGED = "draft.changed"
    """By an action, an edit, an undo or the system."""
    DRAFT_MISSED = "draft.missed"
    """Nothing was sent before the grace period passed; follows a DRAFT_CHANGED."""
    RUN_STARTED = "run.started"
    RUN_PROGRESSED = "run.progressed"
    """A run reached a stage. A stage of less than a second may have no event."""
    RUN_ENDED = "run.ended"
    DELIVERY_ENDED = "delivery.ended"
    """A delivery was posted, or failed, or was given up."""
    DELIVERY_OUTCOME_UNKNOWN = "delivery.outcome_unknown"
    """A post may or may not have been made; Copydesk finds out."""
    DELIVERY_NEEDS_USER = "delivery.needs_user"
    """It cannot be found out whether a post was made, or the account cannot be used."""
    SOURCE_HEALTH_CHANGED = "source.health_changed"
    WEBHOOK_DISABLED = "webhook.disabled"
    """Every attempt failed for days."""


class Event(Struct, frozen=True):
    """Something that happened. It holds ids and the facts that changed, no texts of drafts and no secrets."""

    id: int
    """Counts from 1 for each user, without gaps."""
    type: EventType
    timestamp: datetime
    data: dict[str, Any]
    """Depends on the type."""


class EventRange(Struct, frozen=True):
    """The events that are kept. Both are 0 if there never was any."""

    oldest: int
    newest: int
