"""Webhooks: addresses that a user's events are sent to, and the log of their deliveries."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from copydesk.model.event import EventType
from copydesk.model.serialization import Struct
from copydesk.model.validation import WebAddress


class Webhook(Struct, frozen=True):
    """A webhook, without its secret."""

    id: str
    url: str
    types: tuple[EventType, ...] | None
    """The events that are sent; None for all."""
    created_at: datetime
    failing_since: datetime | None
    """When the first of the failed attempts was made that no successful one followed."""
    disabled_at: datetime | None
    """When it was disabled, because every attempt had failed for days."""


class CreatedWebhook(Webhook, frozen=True):
    """A new webhook with its secret, which cannot be read later."""

    secret: str
    """Verifies the signatures: `whsec_` and the key in base64."""

    def __repr__(self) -> str:
        return f"CreatedWebhook(id={self.id!r}, url={self.url!r})"


class NewWebhook(Struct, frozen=True, forbid_unknown_fields=True):
    """A webhook to create."""

    url: WebAddress
    """http or https; to an address of the public internet, unless `network.allow_private` is set."""
    types: Annotated[tuple[EventType, ...], Meta(min_length=1, max_length=len(EventType))] | None = None
    """The events to send; all if left out."""


class WebhookDelivery(Struct, frozen=True):
    """The delivery of one event to a webhook."""

    event_id: int
    type: EventType
    timestamp: datetime
    """When the event happened."""
    attempts: int
    attempted_at: datetime | None
    """The last attempt."""
    status: int | None
    """Status of the last response; None if there was none."""
    error: str | None
    """Why the last attempt failed."""
    next_attempt_at: datetime | None
    """None if it was delivered or given up."""
    delivered_at: datetime | None
