"""Apply the user's decision about a delivery whose outcome Copydesk cannot determine."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection

from copydesk.desk.ended import keep, settle
from copydesk.desk.letting_go import let_go
from copydesk.desk.planning import digest_of
from copydesk.desk.telling import told
from copydesk.errors import ConflictError, NotFoundError
from copydesk.model.change import LONGEST_ID
from copydesk.model.delivery import Delivery, State
from copydesk.model.draft import Action, Status
from copydesk.model.transitions import after
from copydesk.posting import delivery as may
from copydesk.posting.platform import Trust
from copydesk.store import changes, deliveries
from copydesk.store.deliveries import KeptDelivery
from copydesk.store.delivery_changes import Anew, Happened
from copydesk.store.ids import new_id

DOUBTFUL = frozenset({State.UNKNOWN, State.NEEDS_USER})
"""States in which the post may or may not have arrived."""
OVER = frozenset({State.FAILED, State.ABANDONED})
"""States in which nothing more is done about a delivery."""


class Decision(NamedTuple):
    """A decision of the user about a delivery."""

    what: str
    possible: frozenset[State]
    after: Callable[[Delivery], Delivery]
    anew: bool = False
    """Send it again, with new idempotency keys."""
    trust: Trust = Trust()


def looked_for(progress: Delivery) -> Delivery:
    """Return the delivery in UNKNOWN with its lookups reset, so that it is looked up now."""
    return replace(progress, state=State.UNKNOWN, not_before=None, looks=0)


def decide(conn: Connection, user_id: str, delivery_id: str, decision: Decision, now: datetime) -> KeptDelivery:
    """Store the decision and what follows for the draft; return the delivery.

    Raise NotFoundError, and ConflictError if the state does not allow it, the account was removed, or the last request
    may still arrive.
    """
    row = kept_delivery(conn, user_id, delivery_id)
    if row.progress.state not in decision.possible:
        raise ConflictError(f"Nothing was changed. {told(row)}")
    if decision.anew and row.account_id is None:
        raise ConflictError("The account was removed; nothing was sent.", hint="Connect it, and post the draft again.")
    # Sending again while the first request may still arrive could post twice.
    if decision.anew and may.still_coming(row.progress, decision.trust, now):
        raise ConflictError("The last request may arrive yet; nothing was sent.", hint="Look once more in two minutes.")
    snapshot = changes.one_seen(conn, user_id, row.draft_id, whole=True)
    if snapshot.status is not Status.POSTING:
        after(Action.POST, snapshot.status, archived=snapshot.archived)
        # The draft left POSTING when this delivery ended; a decision brings it back.
        let_go(conn, user_id, snapshot, now)
    update = Happened(progress=decision.after(row.progress), what=decision.what)
    if decision.anew:
        digest = digest_of(snapshot.value("text"))
        restart = Anew(account_id=row.account_id, seed=new_id(now), digest=digest, due_at=now, anyway=True)
        update = replace(update, progress=may.sent_again(row.progress, row.intent), anew=restart)
    keep(conn, user_id, row, update, now)
    settle(conn, user_id, row.draft_id, now)
    return kept_delivery(conn, user_id, delivery_id)


def kept_delivery(conn: Connection, user_id: str, delivery_id: str) -> KeptDelivery:
    """Return one of the user's deliveries. Raise NotFoundError if there is none with this id."""
    row = deliveries.one(conn, user_id, delivery_id)
    if row is None:
        raise NotFoundError(f"There is no delivery {delivery_id[:LONGEST_ID]!r}.", hint="copydesk delivery list")
    return row
