"""Apply the user's decision about a delivery whose outcome Copydesk cannot determine."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection

from copydesk.desk.ended import record_delivery, settle_draft
from copydesk.desk.letting_go import mark_posting
from copydesk.desk.planning import text_digest
from copydesk.desk.telling import describe
from copydesk.errors import ConflictError, NotFoundError
from copydesk.model.change import MAX_ID_LENGTH
from copydesk.model.delivery import Delivery, DeliveryState
from copydesk.model.draft import Action, Status
from copydesk.model.transitions import next_status
from copydesk.posting import delivery as delivery_states
from copydesk.posting.platform import DeliveryGuarantees
from copydesk.store import changes, deliveries
from copydesk.store.deliveries import DeliveryRow
from copydesk.store.delivery_changes import DeliveryRestart, DeliveryUpdate
from copydesk.store.ids import new_id

DOUBTFUL = frozenset({DeliveryState.UNKNOWN, DeliveryState.NEEDS_USER})
"""States in which the post may or may not have arrived."""
UNSUCCESSFUL = frozenset({DeliveryState.FAILED, DeliveryState.ABANDONED})
"""States in which nothing more is done about a delivery."""


class Decision(NamedTuple):
    """A decision of the user about a delivery."""

    event: str
    allowed_states: frozenset[DeliveryState]
    apply: Callable[[Delivery], Delivery]
    restart: bool = False
    """Send it again, with new idempotency keys."""
    guarantees: DeliveryGuarantees = DeliveryGuarantees()


def reset_lookup(progress: Delivery) -> Delivery:
    """Return the delivery in UNKNOWN with its lookups reset, so that it is looked up now."""
    return replace(progress, state=DeliveryState.UNKNOWN, not_before=None, looks=0)


def apply_decision(conn: Connection, user_id: str, delivery_id: str, decision: Decision, now: datetime) -> DeliveryRow:
    """Store the decision and what follows for the draft; return the delivery.

    Raise NotFoundError, and ConflictError if the state does not allow it, the account was removed, or the last request
    may still arrive.
    """
    row = get_delivery(conn, user_id, delivery_id)
    if row.progress.state not in decision.allowed_states:
        raise ConflictError(f"Nothing was changed. {describe(row)}")
    if decision.restart and row.account_id is None:
        raise ConflictError("The account was removed; nothing was sent.", hint="Connect it, and post the draft again.")
    # Sending again while the first request may still arrive could post twice.
    if decision.restart and delivery_states.may_still_arrive(row.progress, decision.guarantees, now):
        raise ConflictError("The last request may arrive yet; nothing was sent.", hint="Look once more in two minutes.")
    snapshot = changes.load_snapshot(conn, user_id, row.draft_id, include_text=True)
    if snapshot.get_status is not Status.POSTING:
        next_status(Action.POST, snapshot.get_status, archived=snapshot.archived)
        # The draft left POSTING when this delivery ended; a decision brings it back.
        mark_posting(conn, user_id, snapshot, now)
    update = DeliveryUpdate(progress=decision.apply(row.progress), event=decision.event)
    if decision.restart:
        digest = text_digest(snapshot.value("text"))
        restart = DeliveryRestart(account_id=row.account_id, seed=new_id(now), digest=digest, due_at=now, anyway=True)
        update = replace(update, progress=delivery_states.restart_delivery(row.progress, row.intent), restart=restart)
    record_delivery(conn, user_id, row, update, now)
    settle_draft(conn, user_id, row.draft_id, now)
    return get_delivery(conn, user_id, delivery_id)


def get_delivery(conn: Connection, user_id: str, delivery_id: str) -> DeliveryRow:
    """Return one of the user's deliveries. Raise NotFoundError if there is none with this id."""
    row = deliveries.get(conn, user_id, delivery_id)
    if row is None:
        raise NotFoundError(f"There is no delivery {delivery_id[:MAX_ID_LENGTH]!r}.", hint="copydesk delivery list")
    return row
