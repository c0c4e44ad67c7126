"""Settle a draft once all its deliveries have ended."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from copydesk.desk.engagement.collect_metrics import METRIC_READ_DELAYS
from copydesk.model.delivery import FINAL_STATES, DeliveryState
from copydesk.model.draft import Status
from copydesk.model.history import SYSTEM, EventKind
from copydesk.model.transitions import SystemEvent, status_after_event
from copydesk.store import deliveries, delivery_updates, draft_updates
from copydesk.store.database import Transaction
from copydesk.store.deliveries import DeliveryRow
from copydesk.store.delivery_updates import DeliveryUpdate
from copydesk.store.draft_updates import DraftChange


def settle_draft(conn: Transaction, user_id: str, draft_id: str, now: datetime) -> None:
    """Set the draft to posted, or back to approved, if every delivery has ended; otherwise leave it."""
    if deliveries.has_unfinished_for_draft(conn, user_id, draft_id):
        return
    snapshot = draft_updates.load_snapshot(conn, user_id, draft_id)
    # Settled already, by another process.
    if snapshot.status is not Status.POSTING:
        return
    rows = deliveries.list_by_draft(conn, user_id, draft_id)
    live_rows = [row for row in rows if is_live(row)]
    event = SystemEvent.DELIVERED if live_rows else SystemEvent.NOT_DELIVERED
    values: dict[str, object] = {
        "status": status_after_event(event, snapshot.status),
        "last_error": _error_summary(rows),
    }
    if live_rows:
        first = min(live_rows, key=lambda row: row.sent_at or now)
        # A draft posted before keeps its first time and post id.
        values["posted_at"] = snapshot.value("posted_at") or first.sent_at or now
        values["post_id"] = snapshot.value("post_id") or _post_id(first)
    change = DraftChange(
        kind=EventKind.PERMANENT, action=event, after=draft_updates.to_column_values(values), at=now, actor=SYSTEM
    )
    draft_updates.apply_change(conn, user_id, snapshot, change)


def record_delivery(
    conn: Transaction, user_id: str, row: DeliveryRow, update: DeliveryUpdate, now: datetime
) -> DeliveryRow | None:
    """Store a delivery update, and settle the draft if the delivery ended by it.

    Return the stored row, or None if the delivery was changed in the meantime (compare-and-set on its version).
    """
    if update.progress.state is DeliveryState.SENT:
        # The first metrics reading is due shortly after the post went out.
        update = replace(update, metrics_at=now + METRIC_READ_DELAYS[0])
    stored = delivery_updates.save_update(conn, user_id, row, update, now)
    if stored is not None and stored.progress.state in FINAL_STATES:
        settle_draft(conn, user_id, row.draft_id, now)
    return stored


def is_live(row: DeliveryRow) -> bool:
    """Return True if anything of the delivery is publicly visible, even only a part of a thread."""
    return row.progress.state is DeliveryState.SENT or bool(row.progress.public_results(row.intent))


def _error_summary(rows: Sequence[DeliveryRow]) -> str | None:
    messages = [
        f"{row.label}: {row.progress.error}"
        for row in rows
        if row.progress.state is not DeliveryState.SENT and row.progress.error
    ]
    return " ".join(messages) or None


def _post_id(row: DeliveryRow) -> str | None:
    visible = row.progress.public_results(row.intent)
    return visible[0].ids[0] if visible and visible[0].ids else None
