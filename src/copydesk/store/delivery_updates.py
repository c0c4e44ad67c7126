"""State changes of deliveries: each is a compare-and-set on the version of the delivery."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from msgspec.structs import asdict, replace
from sqlalchemy import Connection, Update, bindparam, insert, update

from copydesk.model.delivery import Delivery, DeliveryState, Intent
from copydesk.model.draft import Format
from copydesk.model.engagement import RecordStatus
from copydesk.model.serialization import Struct
from copydesk.store.deliveries import DeliveryRow
from copydesk.store.tables import delivery, delivery_event, engagement

OPEN_STATES = (DeliveryState.PLANNED, DeliveryState.SENDING, DeliveryState.UNKNOWN)
"""States in which the worker still has something to do."""
_INSERT_EVENT = insert(delivery_event)


class NewDelivery(Struct, frozen=True):
    """A delivery to insert."""

    id: str
    account_id: str
    platform: str
    account: str
    digest: str
    seed: str
    error: str = ""
    """Why nothing can be posted to the account for now; empty if it can."""


class DeliveryRestart(Struct, frozen=True):
    """The columns to set when a delivery starts over; its payload is settled again."""

    account_id: str | None
    seed: str
    digest: str
    due_at: datetime
    anyway: bool


class DeliveryUpdate(Struct, frozen=True):
    """The new state of a delivery, and the event that records it."""

    progress: Delivery
    event: str
    message: str = ""
    intent: Intent | None = None
    """The payload, once it is settled."""
    restart: DeliveryRestart | None = None
    """Set if the delivery starts over."""
    metrics_at: datetime | None = None
    """When to read the metrics first, if it is sent now."""


def insert_deliveries(
    conn: Connection,
    user_id: str,
    draft_id: str,
    format: Format,
    new_deliveries: Sequence[NewDelivery],
    due_at: datetime,
    now: datetime,
) -> None:
    """Insert deliveries of a draft in state PLANNED, with their engagement rows and first events."""
    for new in new_deliveries:
        progress = Delivery(error=new.error)
        conn.execute(
            insert(engagement).values(
                id=new.id,
                user_id=user_id,
                draft_id=draft_id,
                platform=new.platform,
                account=new.account,
                format=format,
                created_at=now,
                **_status_values(progress, now),
            )
        )
        conn.execute(
            insert(delivery).values(
                id=new.id,
                user_id=user_id,
                draft_id=draft_id,
                account_id=new.account_id,
                state=DeliveryState.PLANNED,
                due_at=due_at,
                seed=new.seed,
                digest=new.digest,
                progress=progress,
            )
        )
        _insert_event(conn, user_id, new.id, "planned", new.error, now)


def save_update(
    conn: Connection, user_id: str, row: DeliveryRow, change: DeliveryUpdate, now: datetime
) -> DeliveryRow | None:
    """Store the new state of a delivery and return the updated row.

    Return None and store nothing if the delivery was changed since `row` was loaded.
    """
    progress = change.progress
    values: dict[str, Any] = {
        "state": progress.state,
        "version": row.version + 1,
        "not_before": progress.not_before,
        "progress": progress,
    }
    if change.intent is not None:
        values["intent"] = change.intent
    if change.restart is not None:
        # The old payload would repeat what failed, or post an outdated text.
        values |= {"intent": None, **asdict(change.restart)}
    if progress.state is DeliveryState.SENT:
        values |= {"sent_at": now, "figures_at": change.metrics_at}
    unchanged = {"b_user": user_id, "b_id": row.id, "b_version": row.version}
    if conn.execute(_delivery_update(tuple(values)), unchanged | values).rowcount == 0:
        return None
    # Only after the compare-and-set succeeded: the engagement row has no version of its own.
    engagement_values = _engagement_values(row, change, now)
    conn.execute(_engagement_update(tuple(engagement_values)), {"b_user": user_id, "b_id": row.id, **engagement_values})
    _insert_event(conn, user_id, row.id, change.event, change.message, now)
    changed_fields = {name: value for name, value in values.items() if name in DeliveryRow.__struct_fields__}
    return replace(row, **changed_fields)


@cache
def _delivery_update(names: tuple[str, ...]) -> Update:
    """Return the compare-and-set statement for these columns. Cached: it runs for every step of every delivery."""
    is_owned = delivery.c.user_id == bindparam("b_user")
    unchanged = (is_owned, delivery.c.id == bindparam("b_id"), delivery.c.version == bindparam("b_version"))
    return update(delivery).where(*unchanged).values({name: bindparam(name) for name in names})


@cache
def _engagement_update(names: tuple[str, ...]) -> Update:
    """Return the statement that updates the engagement row, which shows the same in the terms of the interface."""
    conditions = (engagement.c.user_id == bindparam("b_user"), engagement.c.id == bindparam("b_id"))
    return update(engagement).where(*conditions).values({name: bindparam(name) for name in names})


def schedule_metrics(conn: Connection, user_id: str, delivery_id: str, at: datetime | None) -> None:
    """Schedule the next reading of metrics of a post; None for never."""
    conditions = (delivery.c.user_id == user_id, delivery.c.id == delivery_id)
    conn.execute(update(delivery).where(*conditions).values(figures_at=at))


def request_metrics(conn: Connection, user_id: str, draft_ids: Sequence[str], now: datetime) -> int:
    """Schedule a reading of metrics at once for the posts of these drafts that still exist; return their number."""
    still_exists = (delivery.c.sent_at.is_not(None), delivery.c.gone_at.is_(None))
    conditions = (delivery.c.user_id == user_id, delivery.c.draft_id.in_(draft_ids))
    return conn.execute(update(delivery).where(*conditions, *still_exists).values(figures_at=now)).rowcount


def mark_deleted_remotely(conn: Connection, user_id: str, delivery_id: str, now: datetime) -> None:
    """Record that a post was deleted on the platform. Its last metrics stay."""
    conditions = (delivery.c.user_id == user_id, delivery.c.id == delivery_id)
    conn.execute(update(delivery).where(*conditions).values(gone_at=now, figures_at=None))
    _insert_event(conn, user_id, delivery_id, "gone", "", now)


def _engagement_values(row: DeliveryRow, change: DeliveryUpdate, now: datetime) -> dict[str, object]:
    """Return the columns of the engagement row."""
    visible_posts = change.progress.public_results(change.intent or row.intent)
    # Left out while no post is visible, which keeps the stored id.
    post_id = {"post_id": visible_posts[0].ids[0]} if visible_posts and visible_posts[0].ids else {}
    return {**_status_values(change.progress, now), **post_id}


def _status_values(progress: Delivery, now: datetime) -> dict[str, object]:
    status, message = _ENGAGEMENT_STATUS[progress.state], progress.error
    if progress.state is DeliveryState.PLANNED and (progress.attempts or message):
        status = RecordStatus.FAILED  # it is retried, or waits for the user
    if progress.state in (DeliveryState.UNKNOWN, DeliveryState.NEEDS_USER):
        message = f"It is unknown whether it was posted. {message}".strip()
    failed = status in (RecordStatus.FAILED, RecordStatus.ABANDONED)
    return {
        "status": status,
        "retry_count": progress.retries,
        "retry_after": progress.not_before if progress.state in OPEN_STATES else None,
        "error_message": message or None,
        "failed_at": now if failed else None,
    }


_ENGAGEMENT_STATUS = {
    DeliveryState.PLANNED: RecordStatus.PENDING,
    DeliveryState.SENDING: RecordStatus.PENDING,
    DeliveryState.UNKNOWN: RecordStatus.PENDING,
    DeliveryState.NEEDS_USER: RecordStatus.PENDING,
    DeliveryState.SENT: RecordStatus.POSTED,
    DeliveryState.FAILED: RecordStatus.FAILED,
    DeliveryState.ABANDONED: RecordStatus.ABANDONED,
}


def _insert_event(conn: Connection, user_id: str, delivery_id: str, event: str, message: str, now: datetime) -> None:
    values = {"user_id": user_id, "delivery_id": delivery_id, "at": now, "what": event, "says": message}
    conn.execute(_INSERT_EVENT, values)
