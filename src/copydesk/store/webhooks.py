"""Webhooks and their deliveries, which a trigger inserts with each event."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from copydesk.model.event import Event
from copydesk.model.serialization import Struct
from copydesk.model.webhook import Webhook, WebhookDelivery
from copydesk.store.column_types import from_microseconds, to_microseconds
from copydesk.store.events import make_event
from copydesk.store.raw_sql import execute_sql
from copydesk.store.tables import webhook, webhook_delivery

MAX_RETRY_AFTER = timedelta(days=1)
"""Longest wait that a server may ask for."""
LONGEST_WAIT = MAX_RETRY_AFTER + timedelta(minutes=5)
"""A later attempt was planned while the clock was wrong, and is due. The clocks of machines may differ by minutes."""
_PUBLIC = tuple(webhook.c[name] for name in Webhook.__struct_fields__)
_IS_READY = """webhook_delivery.user_id = :user AND next_at IS NOT NULL AND (next_at <= :now OR next_at > :latest)
    AND webhook.id = webhook_id AND (not_before IS NULL OR not_before <= :now OR not_before > :latest)"""
_READY_WEBHOOKS = f"SELECT DISTINCT webhook_id FROM webhook_delivery JOIN webhook ON {_IS_READY}"  # noqa: S608
_DUE = f"""SELECT attempts, event.id, event.type, event.created_at, event.data
    FROM webhook_delivery JOIN webhook ON {_IS_READY}
    JOIN event ON event.user_id = :user AND event.id = event_id
    WHERE webhook_id = :webhook ORDER BY next_at, event_id LIMIT :limit"""  # noqa: S608 - the words above
_DELIVERIES = """SELECT event_id, type, created_at, attempts, attempted_at, status, error, next_at, delivered_at
    FROM webhook_delivery JOIN event ON event.user_id = webhook_delivery.user_id AND event.id = event_id
    WHERE webhook_delivery.user_id = :user AND webhook_id = :webhook AND event_id < :before
    ORDER BY event_id DESC LIMIT :limit"""


class WebhookTarget(Struct, frozen=True):
    """Data needed to send to a webhook and to schedule the next attempt."""

    id: str
    url: str
    secret: str | None
    """None if a credential store keeps it."""
    failures: int
    """Failed attempts in a row."""
    failing_since: datetime | None


class PendingDelivery(Struct, frozen=True):
    """An event to send to a webhook."""

    event: Event
    attempts: int
    """Attempts until now."""


class AttemptResult(Struct, frozen=True):
    """The outcome of an attempt, as it is stored."""

    at: datetime
    status: int | None
    error: str | None
    """None if it was delivered."""
    next_at: datetime | None
    """The next attempt; None if there is none."""
    not_before: datetime | None
    """The time before which nothing is sent to this webhook."""
    disabled: bool = False
    sent: bool = True
    """False if the attempt does not count, since nothing was sent: the secret of the webhook could not be read."""


def add(conn: Connection, user_id: str, new: Webhook, secret: str | None) -> None:
    """Insert a webhook."""
    values = {name: getattr(new, name) for name in Webhook.__struct_fields__}
    conn.execute(insert(webhook).values(user_id=user_id, secret=secret, **values))


def list_all(conn: Connection, user_id: str) -> tuple[Webhook, ...]:
    """Return the webhooks, oldest first."""
    rows = conn.execute(select(*_PUBLIC).where(webhook.c.user_id == user_id).order_by(webhook.c.id))
    return tuple(Webhook(**row._mapping) for row in rows)


def get(conn: Connection, user_id: str, webhook_id: str) -> Webhook | None:
    """Return the webhook, or None if the user has no such webhook."""
    row = conn.execute(select(*_PUBLIC).where(webhook.c.user_id == user_id, webhook.c.id == webhook_id)).first()
    return Webhook(**row._mapping) if row else None


class RemovedWebhook(Struct, frozen=True):
    """A webhook that was deleted."""

    has_stored_secret: bool
    """Its secret is in a credential store."""


def remove(conn: Connection, user_id: str, webhook_id: str) -> RemovedWebhook | None:
    """Delete a webhook with its log; return None if there is no such webhook."""
    statement = delete(webhook).where(webhook.c.user_id == user_id, webhook.c.id == webhook_id)
    row = conn.execute(statement.returning(webhook.c.secret)).first()
    return RemovedWebhook(has_stored_secret=row.secret is None) if row else None


def list_deliveries(
    conn: Connection, user_id: str, webhook_id: str, limit: int, before: int
) -> tuple[WebhookDelivery, ...]:
    """Return at most `limit` deliveries of events with a smaller number than `before`, newest first."""
    values = {"user": user_id, "webhook": webhook_id, "before": before, "limit": limit}
    return tuple(_delivery(row) for row in execute_sql(conn, _DELIVERIES, values))


def _delivery(row: Sequence[Any]) -> WebhookDelivery:
    event_id, type_, created_at, attempts, attempted_at, status, error, next_at, delivered_at = row
    event = make_event(event_id, type_, created_at, "{}")
    return WebhookDelivery(
        event_id=event_id,
        type=event.type,
        timestamp=event.timestamp,
        attempts=attempts,
        attempted_at=_time(attempted_at),
        status=status,
        error=error,
        # Due at once, it has no time yet.
        next_attempt_at=_time(next_at) if next_at else None if next_at is None else event.timestamp,
        delivered_at=_time(delivered_at),
    )


def _time(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_microseconds(microseconds)


def list_ready(conn: Connection, user_id: str, now: datetime) -> tuple[str, ...]:
    """Return the ids of the webhooks to which something can be sent now."""
    rows = execute_sql(conn, _READY_WEBHOOKS, {"user": user_id, **_times(now)})
    return tuple(webhook_id for (webhook_id,) in rows)


def _times(now: datetime) -> dict[str, int]:
    return {"now": to_microseconds(now), "latest": to_microseconds(now + LONGEST_WAIT)}


def get_target(conn: Connection, user_id: str, webhook_id: str) -> WebhookTarget | None:
    """Return what is needed to send to the webhook, or None if it was removed."""
    query = select(*(webhook.c[name] for name in WebhookTarget.__struct_fields__))
    row = conn.execute(query.where(webhook.c.user_id == user_id, webhook.c.id == webhook_id)).first()
    return WebhookTarget(**row._mapping) if row else None


def list_due(conn: Connection, user_id: str, webhook_id: str, now: datetime, limit: int) -> tuple[PendingDelivery, ...]:
    """Return at most `limit` events to send to the webhook now, those that are due for longest first."""
    values = {"user": user_id, "webhook": webhook_id, **_times(now), "limit": limit}
    rows = execute_sql(conn, _DUE, values)
    return tuple(PendingDelivery(event=make_event(*columns), attempts=attempts) for attempts, *columns in rows)


def save_attempt(conn: Connection, user_id: str, target: WebhookTarget, event_id: int, result: AttemptResult) -> bool:
    """Store the outcome of an attempt; return False if the webhook was removed meanwhile.

    A webhook that is disabled by it gives up everything that still waits.
    """
    delivered = result.error is None
    own = (webhook_delivery.c.user_id == user_id, webhook_delivery.c.webhook_id == target.id)
    conn.execute(
        update(webhook_delivery)
        .where(*own, webhook_delivery.c.event_id == event_id)
        .values(
            attempts=webhook_delivery.c.attempts + (1 if result.sent else 0),
            attempted_at=result.at,
            status=result.status,
            error=result.error,
            next_at=result.next_at,
            delivered_at=result.at if delivered else None,
        )
    )
    state: dict[str, Any] = {"failures": 0, "failing_since": None, "not_before": None}
    if not result.sent:
        state = {"not_before": result.not_before}
    elif not delivered:
        state = {
            "failures": target.failures + 1,
            "failing_since": target.failing_since or result.at,
            "not_before": result.not_before,
        }
    if result.disabled:
        conn.execute(update(webhook_delivery).where(*own).values(next_at=None))
        state["disabled_at"] = result.at
    is_target = (webhook.c.user_id == user_id, webhook.c.id == target.id)
    return conn.execute(update(webhook).where(*is_target).values(**state)).rowcount == 1
