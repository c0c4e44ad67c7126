"""Settle a draft once all its deliveries have ended."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace
from sqlalchemy import Connection

from copydesk.desk.figures import READINGS
from copydesk.model.delivery import ENDED, State
from copydesk.model.draft import Status
from copydesk.model.history import SYSTEM, EventKind
from copydesk.model.transitions import Happening, after_happening
from copydesk.store import changes, deliveries, delivery_changes
from copydesk.store.changes import Step
from copydesk.store.deliveries import KeptDelivery
from copydesk.store.delivery_changes import Happened


def settle(conn: Connection, user_id: str, draft_id: str, now: datetime) -> None:
    """Set the draft to posted, or back to approved, if every delivery has ended; otherwise leave it."""
    if deliveries.unended(conn, user_id, draft_id):
        return
    snapshot = changes.one_seen(conn, user_id, draft_id)
    # Settled already, by another process.
    if snapshot.status is not Status.POSTING:
        return
    rows = deliveries.of_draft(conn, user_id, draft_id)
    live_rows = [row for row in rows if is_live(row)]
    event = Happening.ENDED_LIVE if live_rows else Happening.ENDED_NOT_LIVE
    values: dict[str, object] = {
        "status": after_happening(event, snapshot.status),
        "last_error": _error_summary(rows),
    }
    if live_rows:
        first = min(live_rows, key=lambda row: row.sent_at or now)
        # A draft posted before keeps its first time and post id.
        values["posted_at"] = snapshot.value("posted_at") or first.sent_at or now
        values["post_id"] = snapshot.value("post_id") or _post_id(first)
    change = Step(kind=EventKind.FIXED, action=event, after=changes.stored(values), at=now, who=SYSTEM)
    changes.put(conn, user_id, snapshot, change)


def keep(conn: Connection, user_id: str, kept: KeptDelivery, happened: Happened, now: datetime) -> KeptDelivery | None:
    """Store a delivery update, and settle the draft if the delivery ended by it.

    Return the stored row, or None if the delivery was changed in the meantime (compare-and-set on its version).
    """
    if happened.progress.state is State.SENT:
        # The first metrics reading is due shortly after the post went out.
        happened = replace(happened, figures_at=now + READINGS[0])
    stored = delivery_changes.keep(conn, user_id, kept, happened, now)
    if stored is not None and stored.progress.state in ENDED:
        settle(conn, user_id, kept.draft_id, now)
    return stored


def is_live(kept: KeptDelivery) -> bool:
    """Return True if anything of the delivery is publicly visible, even only a part of a thread."""
    return kept.progress.state is State.SENT or bool(kept.progress.seen(kept.intent))


def _error_summary(rows: Sequence[KeptDelivery]) -> str | None:
    messages = [
        f"{row.label}: {row.progress.error}"
        for row in rows
        if row.progress.state is not State.SENT and row.progress.error
    ]
    return " ".join(messages) or None


def _post_id(row: KeptDelivery) -> str | None:
    visible = row.progress.seen(row.intent)
    return visible[0].ids[0] if visible and visible[0].ids else None
