"""What the user says of a delivery where it cannot be told what became of it, and what follows from that."""

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
"""Nobody knows whether these arrived."""
OVER = frozenset({State.FAILED, State.ABANDONED})
"""Nothing is done about these any more."""


class Decision(NamedTuple):
    """What the user says of a delivery."""

    what: str
    possible: frozenset[State]
    after: Callable[[Delivery], Delivery]
    anew: bool = False
    """Whether it goes out under new keys."""
    trust: Trust = Trust()


def looked_for(progress: Delivery) -> Delivery:
    """A delivery that is to be looked for now, as if it was not yet."""
    return replace(progress, state=State.UNKNOWN, not_before=None, looks=0)


def decide(conn: Connection, user_id: str, delivery_id: str, decision: Decision, now: datetime) -> KeptDelivery:
    """Keep what the user says, and what the draft comes to by it."""
    kept = kept_delivery(conn, user_id, delivery_id)
    if kept.progress.state not in decision.possible:
        raise ConflictError(f"Nothing was changed. {told(kept)}")
    if decision.anew and kept.account_id is None:
        raise ConflictError("The account was removed; nothing was sent.", hint="Connect it, and post the draft again.")
    if decision.anew and may.still_coming(kept.progress, decision.trust, now):
        raise ConflictError("The last request may arrive yet; nothing was sent.", hint="Look once more in two minutes.")
    seen = changes.one_seen(conn, user_id, kept.draft_id, whole=True)
    if seen.status is not Status.POSTING:
        after(Action.POST, seen.status, archived=seen.archived)
        let_go(conn, user_id, seen, now)
    happened = Happened(progress=decision.after(kept.progress), what=decision.what)
    if decision.anew:
        digest = digest_of(seen.value("text"))
        anew = Anew(account_id=kept.account_id, seed=new_id(now), digest=digest, due_at=now, anyway=True)
        happened = replace(happened, progress=may.sent_again(kept.progress, kept.intent), anew=anew)
    keep(conn, user_id, kept, happened, now)
    settle(conn, user_id, kept.draft_id, now)
    return kept_delivery(conn, user_id, delivery_id)


def kept_delivery(conn: Connection, user_id: str, delivery_id: str) -> KeptDelivery:
    """One of the user's deliveries; NotFoundError."""
    kept = deliveries.one(conn, user_id, delivery_id)
    if kept is None:
        raise NotFoundError(f"There is no delivery {delivery_id[:LONGEST_ID]!r}.", hint="copydesk delivery list")
    return kept
