"""Deliveries: drafts on their way to accounts."""

from datetime import datetime

from sqlalchemy import Connection, bindparam, func, or_, select, text

from copydesk.model.delivery import Delivery, Intent
from copydesk.model.draft import Format, Status
from copydesk.model.wire import Struct
from copydesk.store.ids import least_id
from copydesk.store.tables import account, delivery, delivery_event, draft, engagement
from copydesk.store.types import UTC

AT_ONCE = 100
"""Deliveries that are read in one go."""


class KeptDelivery(Struct, frozen=True):
    """A delivery as it is kept."""

    id: str
    draft_id: str
    account_id: str | None
    """None where the account was removed since."""
    platform: str
    account: str
    """The account's name."""
    format: Format
    version: int
    due_at: datetime
    seed: str
    anyway: bool
    digest: str
    created_at: datetime
    sent_at: datetime | None
    gone_at: datetime | None
    progress: Delivery
    intent: Intent | None

    @property
    def label(self) -> str:
        """What names its account: `bluesky:me.example`."""
        return f"{self.platform}:{self.account}"


class Told(Struct, frozen=True):
    """One thing that happened to a delivery."""

    at: datetime
    what: str
    says: str


_KEPT = (
    delivery.c.id,
    delivery.c.draft_id,
    delivery.c.account_id,
    engagement.c.platform,
    engagement.c.account,
    engagement.c.format,
    delivery.c.version,
    delivery.c.due_at,
    delivery.c.seed,
    delivery.c.anyway,
    delivery.c.digest,
    engagement.c.created_at,
    delivery.c.sent_at,
    delivery.c.gone_at,
    delivery.c.progress,
    delivery.c.intent,
)
_MINE = delivery.c.user_id == bindparam("b_user")
_JOINED = select(*_KEPT).join(engagement, engagement.c.id == delivery.c.id).where(_MINE)
_ONE = _JOINED.where(delivery.c.id == bindparam("b_id"))
# The plus keeps SQLite from going through all that the user ever sent, in the order that is asked for.
_OF_DRAFT = _JOINED.where(delivery.c.draft_id == bindparam("b_draft")).order_by(text("+delivery.id"))
# The words of the index, one by one: with bound values SQLite would not take it.
IS_OPEN = text("delivery.state IN ('planned', 'sending', 'unknown')")
_NOW = bindparam("b_now", type_=UTC)
_DUE = (_MINE, IS_OPEN, or_(delivery.c.not_before.is_(None), delivery.c.not_before <= _NOW))
_READY = (
    _JOINED.where(*_DUE[1:], delivery.c.account_id == bindparam("b_account"))
    .order_by(delivery.c.due_at, delivery.c.id)
    .limit(AT_ONCE)
)
# What was broken off is looked into even where nothing can go to the account: else nobody could say what became of it.
FREE = or_(account.c.trouble.is_(None), text("delivery.state = 'sending'"))
_ACCOUNTS = (
    select(account.c.id)
    .where(account.c.user_id == bindparam("b_user"))
    .where(select(delivery.c.id).where(*_DUE, FREE, delivery.c.account_id == account.c.id).correlate(account).exists())
)
_NEXT = select(func.min(delivery.c.not_before, type_=UTC)).where(_MINE, IS_OPEN, delivery.c.not_before > _NOW)
_WAITS = text("delivery.state IN ('planned', 'sending', 'unknown', 'needs_user')")
_WAITING = _JOINED.where(
    text("delivery.state = 'planned'"), IS_OPEN, delivery.c.due_at < bindparam("b_latest", type_=UTC)
)
_CAME_TO_NOTHING = text("delivery.state IN ('failed', 'abandoned')")
# Two, for each has its index: what has not ended has a draft that is posting.
_NOT_ENDED = (
    select(*_KEPT)
    .join(engagement, engagement.c.id == delivery.c.id)
    .join(draft, draft.c.id == delivery.c.draft_id)
    .where(draft.c.user_id == bindparam("b_user"), draft.c.status == Status.POSTING)
    .where(text("+delivery.user_id = :b_user"), _WAITS)
)
_FAILED_LATELY = _JOINED.where(_CAME_TO_NOTHING, delivery.c.id >= bindparam("b_first"))
# Two, for each has its index.
_PICKED_UP_LATELY = (
    select(delivery.c.account_id, func.max(draft.c.updated_at, type_=UTC))
    .join(delivery, delivery.c.draft_id == draft.c.id)
    .where(draft.c.user_id == bindparam("b_user"), draft.c.status == Status.POSTING)
    .where(draft.c.updated_at > bindparam("b_since", type_=UTC), draft.c.scheduled_at.is_not(None))
    .group_by(delivery.c.account_id)
)
_SENT_LATELY = (
    select(delivery.c.account_id, func.max(delivery.c.sent_at, type_=UTC))
    .join(draft, draft.c.id == delivery.c.draft_id)
    .where(_MINE, delivery.c.sent_at >= bindparam("b_since", type_=UTC), draft.c.scheduled_at.is_not(None))
    .group_by(delivery.c.account_id)
)
# With the plus by its digest, and not through all that was sent since.
_SAME = (
    select(func.max(text("+delivery.sent_at"), type_=UTC))
    .where(_MINE, delivery.c.digest == bindparam("b_digest"), text("+delivery.account_id = :b_account"))
    .where(text("+delivery.sent_at >= :b_since").bindparams(bindparam("b_since", type_=UTC)))
    .where(delivery.c.draft_id != bindparam("b_draft"))
)


_ALIKE = _JOINED.where(
    delivery.c.digest == bindparam("b_digest"),
    text("+delivery.account_id = :b_account"),
    delivery.c.draft_id != bindparam("b_draft"),
).limit(AT_ONCE)
_UNENDED = select(delivery.c.id).where(_MINE, delivery.c.draft_id == bindparam("b_draft"), _WAITS).limit(1)
_UNDER_WAY = select(delivery.c.id).where(_MINE, delivery.c.account_id == bindparam("b_account"), _WAITS).limit(1)
_MEASURED = _JOINED.where(delivery.c.figures_at <= _NOW).order_by(delivery.c.account_id, delivery.c.id)


def one(conn: Connection, user_id: str, delivery_id: str) -> KeptDelivery | None:
    """One of the user's deliveries."""
    row = conn.execute(_ONE, {"b_user": user_id, "b_id": delivery_id}).first()
    return KeptDelivery(**row._mapping) if row else None


def of_draft(conn: Connection, user_id: str, draft_id: str) -> tuple[KeptDelivery, ...]:
    """The deliveries of a draft, in the order in which they were planned."""
    rows = conn.execute(_OF_DRAFT, {"b_user": user_id, "b_draft": draft_id})
    return tuple(KeptDelivery(**row._mapping) for row in rows)


def planned_before(conn: Connection, user_id: str, latest: datetime) -> tuple[KeptDelivery, ...]:
    """The deliveries that wait since before, of which nothing is on its way."""
    values = {"b_user": user_id, "b_latest": latest}
    return tuple(KeptDelivery(**row._mapping) for row in conn.execute(_WAITING, values))


def unsettled(conn: Connection, user_id: str, since: datetime) -> tuple[KeptDelivery, ...]:
    """The deliveries that have not ended, and those that were planned since and came to nothing."""
    values = {"b_user": user_id, "b_first": least_id(since)}
    rows = [*conn.execute(_NOT_ENDED, values), *conn.execute(_FAILED_LATELY, values)]
    return tuple(sorted((KeptDelivery(**row._mapping) for row in rows), key=lambda kept: kept.id))


def ready(conn: Connection, user_id: str, account_id: str, now: datetime) -> tuple[KeptDelivery, ...]:
    """The deliveries to an account about which something can be done now, those that are due first; AT_ONCE at most."""
    values = {"b_user": user_id, "b_account": account_id, "b_now": now}
    return tuple(KeptDelivery(**row._mapping) for row in conn.execute(_READY, values))


def accounts_ready(conn: Connection, user_id: str, now: datetime) -> tuple[str, ...]:
    """The accounts with a delivery about which something can be done now; see FREE."""
    return tuple(conn.execute(_ACCOUNTS, {"b_user": user_id, "b_now": now}).scalars())


def next_at(conn: Connection, user_id: str, now: datetime) -> datetime | None:
    """When something can be done next about a delivery that has to wait; None where there is none."""
    found: datetime | None = conn.execute(_NEXT, {"b_user": user_id, "b_now": now}).scalar()
    return found


def last_sent(conn: Connection, user_id: str, since: datetime) -> dict[str, datetime]:
    """When a scheduled draft last went out on each account, or began to, not before `since`; by the accounts' ids."""
    last: dict[str, datetime] = {}
    for query in (_PICKED_UP_LATELY, _SENT_LATELY):
        for account_id, at in conn.execute(query, {"b_user": user_id, "b_since": since}):
            last[account_id] = max(last.get(account_id, since), at)
    return last


def same_text(
    conn: Connection, user_id: str, draft_id: str, digest: str, account_id: str | None, since: datetime
) -> datetime | None:
    """When the same text of another draft last went to the same account, not before `since`."""
    values = {
        "b_user": user_id,
        "b_digest": digest,
        "b_account": account_id,
        "b_since": since,
        "b_draft": draft_id,
    }
    found: datetime | None = conn.execute(_SAME, values).scalar()
    return found


def alike(conn: Connection, user_id: str, kept: KeptDelivery) -> tuple[KeptDelivery, ...]:
    """The deliveries of the same text of other drafts to the same account."""
    values = {"b_user": user_id, "b_digest": kept.digest, "b_account": kept.account_id, "b_draft": kept.draft_id}
    return tuple(KeptDelivery(**row._mapping) for row in conn.execute(_ALIKE, values))


def unended(conn: Connection, user_id: str, draft_id: str) -> bool:
    """Whether a delivery of the draft has not ended."""
    return conn.execute(_UNENDED, {"b_user": user_id, "b_draft": draft_id}).first() is not None


def under_way(conn: Connection, user_id: str, account_id: str) -> bool:
    """Whether a delivery to the account has not ended."""
    return conn.execute(_UNDER_WAY, {"b_user": user_id, "b_account": account_id}).first() is not None


def to_measure(conn: Connection, user_id: str, now: datetime) -> tuple[KeptDelivery, ...]:
    """The posts whose figures are to be read now."""
    return tuple(KeptDelivery(**row._mapping) for row in conn.execute(_MEASURED, {"b_user": user_id, "b_now": now}))


def events(conn: Connection, user_id: str, delivery_id: str) -> tuple[Told, ...]:
    """What happened to a delivery, in order."""
    mine = (delivery_event.c.user_id == user_id, delivery_event.c.delivery_id == delivery_id)
    query = select(delivery_event.c.at, delivery_event.c.what, delivery_event.c.says).where(*mine)
    return tuple(Told(**row._mapping) for row in conn.execute(query.order_by(delivery_event.c.rid)))
