"""Deliveries: drafts on their way to accounts. Each change is a compare-and-set on the version that was seen."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from msgspec.structs import asdict, replace
from sqlalchemy import Connection, Update, bindparam, func, insert, or_, select, text, update

from copydesk.model.delivery import Delivery, Intent, State
from copydesk.model.draft import Format, Status
from copydesk.model.engagement import DeliveryStatus
from copydesk.model.wire import Struct
from copydesk.store.ids import first_id
from copydesk.store.tables import account, delivery, delivery_event, draft, engagement
from copydesk.store.types import UTC

OPEN = (State.PLANNED, State.SENDING, State.UNKNOWN)
"""Something is still done about these."""
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


class Planned(Struct, frozen=True):
    """A delivery that is to begin."""

    id: str
    account_id: str
    platform: str
    account: str
    digest: str
    seed: str
    trouble: str = ""
    """Why nothing can go to the account for now."""


class Anew(Struct, frozen=True):
    """What a delivery that begins once more has from then on; what is sent is settled anew."""

    account_id: str | None
    seed: str
    digest: str
    due_at: datetime
    anyway: bool


class Happened(Struct, frozen=True):
    """What a delivery comes to, and what is told of it."""

    progress: Delivery
    what: str
    says: str = ""
    intent: Intent | None = None
    """Kept from the moment when it is settled."""
    anew: Anew | None = None
    """Where it begins once more."""
    figures_at: datetime | None = None
    """When the figures of what is sent now are read first."""


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
_TELL = insert(delivery_event)
_MEASURED = _JOINED.where(delivery.c.figures_at <= _NOW).order_by(delivery.c.account_id, delivery.c.id)


def plan(
    conn: Connection, user_id: str, draft_id: str, format: Format, each: Sequence[Planned], due: datetime, now: datetime
) -> None:
    """Begin deliveries of a draft."""
    for one_ in each:
        progress = Delivery(error=one_.trouble)
        conn.execute(
            insert(engagement).values(
                id=one_.id,
                user_id=user_id,
                draft_id=draft_id,
                platform=one_.platform,
                account=one_.account,
                format=format,
                created_at=now,
                **_in_words(progress, now),
            )
        )
        conn.execute(
            insert(delivery).values(
                id=one_.id,
                user_id=user_id,
                draft_id=draft_id,
                account_id=one_.account_id,
                state=State.PLANNED,
                due_at=due,
                seed=one_.seed,
                digest=one_.digest,
                progress=progress,
            )
        )
        _tell(conn, user_id, one_.id, "planned", one_.trouble, now)


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
    values = {"b_user": user_id, "b_first": first_id(since)}
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


def keep(conn: Connection, user_id: str, seen: KeptDelivery, happened: Happened, now: datetime) -> KeptDelivery | None:
    """Keep what a delivery came to; None, and nothing is kept, where somebody else changed it since it was seen."""
    progress = happened.progress
    values: dict[str, Any] = {
        "state": progress.state,
        "version": seen.version + 1,
        "not_before": progress.not_before,
        "progress": progress,
    }
    if happened.intent is not None:
        values["intent"] = happened.intent
    if happened.anew is not None:
        values |= {"intent": None, **asdict(happened.anew)}
    if progress.state is State.SENT:
        values |= {"sent_at": now, "figures_at": happened.figures_at}
    as_seen = {"b_user": user_id, "b_id": seen.id, "b_version": seen.version}
    if conn.execute(_changing(tuple(values)), as_seen | values).rowcount == 0:
        return None
    record = _record(seen, happened, now)
    conn.execute(_recording(tuple(record)), {"b_user": user_id, "b_id": seen.id, **record})
    _tell(conn, user_id, seen.id, happened.what, happened.says, now)
    known = {name: value for name, value in values.items() if name in KeptDelivery.__struct_fields__}
    return replace(seen, **known)


@cache
def _changing(names: tuple[str, ...]) -> Update:
    """Built once for each set of columns, for it is run for every step of every delivery."""
    as_seen = (_MINE, delivery.c.id == bindparam("b_id"), delivery.c.version == bindparam("b_version"))
    return update(delivery).where(*as_seen).values({name: bindparam(name) for name in names})


@cache
def _recording(names: tuple[str, ...]) -> Update:
    """As above, for the same in the interface's words."""
    mine = (engagement.c.user_id == bindparam("b_user"), engagement.c.id == bindparam("b_id"))
    return update(engagement).where(*mine).values({name: bindparam(name) for name in names})


def unended(conn: Connection, user_id: str, draft_id: str) -> bool:
    """Whether a delivery of the draft has not ended."""
    return conn.execute(_UNENDED, {"b_user": user_id, "b_draft": draft_id}).first() is not None


def under_way(conn: Connection, user_id: str, account_id: str) -> bool:
    """Whether a delivery to the account has not ended."""
    return conn.execute(_UNDER_WAY, {"b_user": user_id, "b_account": account_id}).first() is not None


def read_at(conn: Connection, user_id: str, delivery_id: str, at: datetime | None) -> None:
    """Note when the figures of a post are read next; None for never again."""
    mine = (delivery.c.user_id == user_id, delivery.c.id == delivery_id)
    conn.execute(update(delivery).where(*mine).values(figures_at=at))


def measure_now(conn: Connection, user_id: str, draft_ids: Sequence[str], now: datetime) -> int:
    """Note that the figures of these drafts' posts are to be read now, where they are there; of how many posts."""
    there = (delivery.c.sent_at.is_not(None), delivery.c.gone_at.is_(None))
    mine = (delivery.c.user_id == user_id, delivery.c.draft_id.in_(draft_ids))
    return conn.execute(update(delivery).where(*mine, *there).values(figures_at=now)).rowcount


def to_measure(conn: Connection, user_id: str, now: datetime) -> tuple[KeptDelivery, ...]:
    """The posts whose figures are to be read now."""
    return tuple(KeptDelivery(**row._mapping) for row in conn.execute(_MEASURED, {"b_user": user_id, "b_now": now}))


def gone(conn: Connection, user_id: str, delivery_id: str, now: datetime) -> None:
    """Note that a post is not there any more; its figures stay as they were last."""
    mine = (delivery.c.user_id == user_id, delivery.c.id == delivery_id)
    conn.execute(update(delivery).where(*mine).values(gone_at=now, figures_at=None))
    _tell(conn, user_id, delivery_id, "gone", "", now)


def events(conn: Connection, user_id: str, delivery_id: str) -> tuple[Told, ...]:
    """What happened to a delivery, in order."""
    mine = (delivery_event.c.user_id == user_id, delivery_event.c.delivery_id == delivery_id)
    query = select(delivery_event.c.at, delivery_event.c.what, delivery_event.c.says).where(*mine)
    return tuple(Told(**row._mapping) for row in conn.execute(query.order_by(delivery_event.c.rid)))


def _record(seen: KeptDelivery, happened: Happened, now: datetime) -> dict[str, object]:
    """The delivery in the interface's words."""
    visible = happened.progress.seen(happened.intent or seen.intent)
    post_id = {"post_id": visible[0].ids[0]} if visible and visible[0].ids else {}
    return {**_in_words(happened.progress, now), **post_id}


def _in_words(progress: Delivery, now: datetime) -> dict[str, object]:
    status, says = _STATUS[progress.state], progress.error
    if progress.state is State.PLANNED and (progress.attempts or says):
        status = DeliveryStatus.FAILED  # and is tried again, or waits for the user
    if progress.state in (State.UNKNOWN, State.NEEDS_USER):
        says = f"It is not known whether it was posted. {says}".strip()
    failed = status in (DeliveryStatus.FAILED, DeliveryStatus.ABANDONED)
    return {
        "status": status,
        "retry_count": progress.retries,
        "retry_after": progress.not_before if progress.state in OPEN else None,
        "error_message": says or None,
        "failed_at": now if failed else None,
    }


_STATUS = {
    State.PLANNED: DeliveryStatus.PENDING,
    State.SENDING: DeliveryStatus.PENDING,
    State.UNKNOWN: DeliveryStatus.PENDING,
    State.NEEDS_USER: DeliveryStatus.PENDING,
    State.SENT: DeliveryStatus.POSTED,
    State.FAILED: DeliveryStatus.FAILED,
    State.ABANDONED: DeliveryStatus.ABANDONED,
}


def _tell(conn: Connection, user_id: str, delivery_id: str, what: str, says: str, now: datetime) -> None:
    values = {"user_id": user_id, "delivery_id": delivery_id, "at": now, "what": what, "says": says}
    conn.execute(_TELL, values)
