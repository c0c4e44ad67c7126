"""Deliveries: drafts on their way to accounts. Each state change is a compare-and-set on the delivery's version."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, Protocol, TypeVar

from msgspec.structs import asdict, replace
from sqlalchemy import (
    Connection,
    Update,
    and_,
    bindparam,
    case,
    exists,
    func,
    insert,
    or_,
    select,
    text,
    union_all,
    update,
)

from copydesk.model.delivery import Delivery, DeliveryState, GiveUpReason, Intent
from copydesk.model.draft import Format, Status
from copydesk.model.engagement import RecordStatus
from copydesk.model.serialization import Struct
from copydesk.store.column_types import UtcDateTime
from copydesk.store.ids import min_id
from copydesk.store.raw_sql import POSTGRESQL
from copydesk.store.tables import account, delivery, delivery_event, draft, engagement, removed_send

SENDING_EVENT = "sending"
"""Logged by the commit before a request leaves. Never pruned: marks outside the database refer to it."""
BATCH_SIZE = 100
"""Deliveries loaded in one query."""

_COLUMNS = (
    delivery.c.id,
    delivery.c.draft_id,
    delivery.c.account_id,
    delivery.c.identity,
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
_OWNED = delivery.c.user_id == bindparam("b_user")
_ALL_USERS = select(*_COLUMNS).join(engagement, engagement.c.id == delivery.c.id)
_JOINED = _ALL_USERS.where(_OWNED)
_BY_ID = _JOINED.where(delivery.c.id == bindparam("b_id"))
# The plus keeps SQLite from walking through everything the user ever sent, also to get the order from an index.
_OF_DRAFT = _ALL_USERS.where(text("+delivery.user_id = :b_user"), delivery.c.draft_id == bindparam("b_draft")).order_by(
    text("+delivery.id")
)
# As literals, as in the partial index: with bound values SQLite would not use it.
IS_OPEN = text("delivery.state IN ('planned', 'sending', 'unknown')")
_NOW = bindparam("b_now", type_=UtcDateTime)
_CAN_BE_PROCESSED = (_OWNED, IS_OPEN, or_(delivery.c.not_before.is_(None), delivery.c.not_before <= _NOW))
_READY = (
    _JOINED.where(*_CAN_BE_PROCESSED[1:], delivery.c.account_id == bindparam("b_account"))
    .order_by(delivery.c.due_at, delivery.c.id)
    .limit(BATCH_SIZE)
)
# An interrupted delivery is checked even if the account has an error: otherwise its outcome stays unknown.
CAN_PROCEED = or_(account.c.trouble.is_(None), text("delivery.state = 'sending'"))
READY_ACCOUNTS = (
    select(account.c.id)
    .where(account.c.user_id == bindparam("b_user"))
    .where(
        select(delivery.c.id)
        .where(*_CAN_BE_PROCESSED, CAN_PROCEED, delivery.c.account_id == account.c.id)
        .correlate(account)
        .exists()
    )
)
_IS_UNFINISHED = text("delivery.state IN ('planned', 'sending', 'unknown', 'needs_user')")
# The plus as above.
_PLANNED = _ALL_USERS.where(
    text("+delivery.user_id = :b_user"),
    text("delivery.state = 'planned'"),
    delivery.c.due_at < bindparam("b_latest", type_=UtcDateTime),
)
_IS_FAILED = text("delivery.state IN ('failed', 'abandoned')")
# The draft of an unfinished delivery is always POSTING: its index leads to the few there are.
_OF_POSTING_DRAFT = (
    delivery.c.draft_id == draft.c.id,
    draft.c.user_id == bindparam("b_user"),
    draft.c.status == Status.POSTING,
    text("+delivery.user_id = :b_user"),
    _IS_UNFINISHED,
)
_UNFINISHED = select(*_COLUMNS).join(engagement, engagement.c.id == delivery.c.id).where(*_OF_POSTING_DRAFT)
# A delivery whose account was disconnected is not sent either.
_HAS_USABLE_ACCOUNT = (
    exists().where(account.c.id == delivery.c.account_id, account.c.trouble.is_(None)).correlate(delivery)
)
_WAITS_FOR_USER = (
    *_OF_POSTING_DRAFT,
    or_(
        text("delivery.state IN ('unknown', 'needs_user')"),
        and_(text("delivery.state = 'planned'"), ~_HAS_USABLE_ACCOUNT),
    ),
)
# The draft of an ended delivery may have been rejected or archived since: then nobody waits for it any more. Joined,
# SQLite would scan all drafts where its statistics are old; without the name of the index, the records of a small desk,
# and still as it grows.
_ENDED_UNANSWERED = text(
    """SELECT delivery.id
    FROM engagement INDEXED BY ix_engagement_user_id_status_retry_after
    JOIN delivery ON delivery.id = engagement.id
    WHERE engagement.user_id = :b_user AND engagement.status IN ('failed', 'abandoned')
        AND delivery.state IN ('failed', 'abandoned')
        AND coalesce(delivery.progress ->> 'givenUp', '') <> :b_given_up
        AND EXISTS (
            SELECT 1 FROM draft
            WHERE draft.id = engagement.draft_id AND draft.archived_at IS NULL
                AND draft.status IN ('approved', 'posted')
        )"""
).bindparams(b_given_up=GiveUpReason.USER.value)
# Two branches, one per index.
_NEEDING_USER = union_all(
    select(delivery.c.id).where(*_WAITS_FOR_USER), _ENDED_UNANSWERED.columns(delivery.c.id)
).subquery("needing_user")
_LIST_NEEDING_USER = _JOINED.where(delivery.c.id.in_(select(_NEEDING_USER.c.id))).order_by(delivery.c.id)
_COUNT_NEEDING_USER = select(func.count()).select_from(_NEEDING_USER)
_RECENTLY_FAILED = _JOINED.where(_IS_FAILED, delivery.c.id >= bindparam("b_first"))
# Drafts that started posting, deliveries that were sent, and those that are sent again soon. By the index that suits
# each: the draft of an unfinished delivery is always POSTING. Grouped by account, SQLite would scan all deliveries.
_RECENTLY_STARTED = (
    select(delivery.c.account_id, draft.c.updated_at)
    .join(delivery, delivery.c.draft_id == draft.c.id)
    .where(draft.c.user_id == bindparam("b_user"), draft.c.status == Status.POSTING)
    .where(draft.c.updated_at > bindparam("b_since", type_=UtcDateTime), draft.c.scheduled_at.is_not(None))
)
_RECENTLY_SENT = (
    select(delivery.c.account_id, delivery.c.sent_at)
    .join(draft, draft.c.id == delivery.c.draft_id)
    .where(_OWNED, delivery.c.sent_at >= bindparam("b_since", type_=UtcDateTime), draft.c.scheduled_at.is_not(None))
)
_RETRIED_SOON = (
    select(delivery.c.account_id, delivery.c.not_before)
    .join(delivery, delivery.c.draft_id == draft.c.id)
    .where(draft.c.user_id == bindparam("b_user"), draft.c.status == Status.POSTING, draft.c.scheduled_at.is_not(None))
    .where(IS_OPEN, delivery.c.not_before > bindparam("b_since", type_=UtcDateTime))
    .where(delivery.c.not_before < bindparam("b_until", type_=UtcDateTime))
)
# The plus leads SQLite to the digest index instead of everything sent since.
_LAST_SENT_DUPLICATE = (
    select(func.max(text("+delivery.sent_at"), type_=UtcDateTime))
    .where(_OWNED, delivery.c.digest == bindparam("b_digest"), text("+delivery.account_id = :b_account"))
    .where(text("+delivery.sent_at >= :b_since").bindparams(bindparam("b_since", type_=UtcDateTime)))
    .where(delivery.c.draft_id != bindparam("b_draft"))
)

_DUPLICATES = _JOINED.where(
    delivery.c.digest == bindparam("b_digest"),
    text("+delivery.account_id = :b_account"),
    delivery.c.draft_id != bindparam("b_draft"),
).limit(BATCH_SIZE)
_UNFINISHED_OF_DRAFT = (
    select(delivery.c.id).where(_OWNED, delivery.c.draft_id == bindparam("b_draft"), _IS_UNFINISHED).limit(1)
)
_UNFINISHED_OF_ACCOUNT = (
    select(delivery.c.id).where(_OWNED, delivery.c.account_id == bindparam("b_account"), _IS_UNFINISHED).limit(1)
)
_METRICS_DUE = _JOINED.where(delivery.c.figures_at <= _NOW).order_by(delivery.c.account_id, delivery.c.id)
_ARE_METRICS_UNREAD = (
    delivery.c.sent_at > bindparam("b_since", type_=UtcDateTime),
    delivery.c.gone_at.is_(None),
    delivery.c.figures_at.is_(None),
)
# The plus keeps SQLite from walking through everything that the user ever sent.
_ASSIGN_ACCOUNT = (
    update(delivery)
    .where(delivery.c.account_id.is_(None), text("+delivery.user_id = :b_user"))
    .where(delivery.c.identity == bindparam("b_identity"))
    .values(
        account_id=bindparam("b_account"),
        figures_at=case((and_(*_ARE_METRICS_UNREAD), _NOW), else_=delivery.c.figures_at),
    )
)

# SQLite's own number for applications: part of the transaction and of every copy, and no table of ours.
_ARE_SENDS_MARKED: Final = {"sqlite": "PRAGMA user_version", POSTGRESQL: "SELECT sends_marked FROM desk"}
_MARK_SENDS: Final = {"sqlite": "PRAGMA user_version = 1", POSTGRESQL: "UPDATE desk SET sends_marked = TRUE"}

OPEN_STATES = (DeliveryState.PLANNED, DeliveryState.SENDING, DeliveryState.UNKNOWN)
"""States in which the worker still has something to do."""
_INSERT_EVENT = insert(delivery_event)

_ENGAGEMENT_STATUS = {
    DeliveryState.PLANNED: RecordStatus.PENDING,
    DeliveryState.SENDING: RecordStatus.PENDING,
    DeliveryState.UNKNOWN: RecordStatus.PENDING,
    DeliveryState.NEEDS_USER: RecordStatus.PENDING,
    DeliveryState.SENT: RecordStatus.POSTED,
    DeliveryState.FAILED: RecordStatus.FAILED,
    DeliveryState.ABANDONED: RecordStatus.ABANDONED,
}


class DeliveryRow(Struct, frozen=True):
    """A delivery, joined with its engagement row."""

    id: str
    draft_id: str
    account_id: str | None
    """None if the account was removed since."""
    identity: str | None
    """`Account.identity`; None if the account was removed before it was stored."""
    platform: str
    account: str
    """The account's name."""
    format: Format
    version: int
    due_at: datetime
    seed: str
    anyway: bool
    """Send it even though the same text was posted there before."""
    digest: str
    created_at: datetime
    sent_at: datetime | None
    gone_at: datetime | None
    progress: Delivery
    intent: Intent | None

    @property
    def label(self) -> str:
        """Platform and account: `bluesky:me.example`."""
        return f"{self.platform}:{self.account}"

    @property
    def post_id(self) -> str | None:
        """The id of the post that people react to, the first of a thread; None if none is visible or it has no id."""
        visible = self.progress.public_results(self.intent)
        return visible[0].ids[0] if visible and visible[0].ids else None


class DeliveryEvent(Struct, frozen=True):
    """One entry in a delivery's log."""

    at: datetime
    what: str
    says: str


def assign_account(
    conn: Connection, user_id: str, identity: str, account_id: str, now: datetime, *, metrics_since: datetime
) -> None:
    """Assign the deliveries of an account that was removed to it, as it is connected again.

    The metrics of posts since `metrics_since` are due for reading, which ended with the account.
    """
    values = {"b_user": user_id, "b_identity": identity, "b_account": account_id}
    conn.execute(_ASSIGN_ACCOUNT, {**values, "b_now": now, "b_since": metrics_since})


def get(conn: Connection, user_id: str, delivery_id: str) -> DeliveryRow | None:
    """Return the delivery, or None if the user has no such delivery."""
    row = conn.execute(_BY_ID, {"b_user": user_id, "b_id": delivery_id}).first()
    return DeliveryRow(**row._mapping) if row else None


def list_by_draft(conn: Connection, user_id: str, draft_id: str) -> tuple[DeliveryRow, ...]:
    """Return the draft's deliveries, in the order in which they were planned."""
    rows = conn.execute(_OF_DRAFT, {"b_user": user_id, "b_draft": draft_id})
    return tuple(DeliveryRow(**row._mapping) for row in rows)


def list_planned_before(conn: Connection, user_id: str, due_before: datetime) -> tuple[DeliveryRow, ...]:
    """Return the deliveries due before `due_before` of which no request was started."""
    values = {"b_user": user_id, "b_latest": due_before}
    return tuple(DeliveryRow(**row._mapping) for row in conn.execute(_PLANNED, values))


def list_unsettled(conn: Connection, user_id: str, since: datetime) -> tuple[DeliveryRow, ...]:
    """Return the unfinished deliveries, and the failed ones planned since `since`, by id."""
    values = {"b_user": user_id, "b_first": min_id(since)}
    rows = [*conn.execute(_UNFINISHED, values), *conn.execute(_RECENTLY_FAILED, values)]
    return tuple(sorted((DeliveryRow(**row._mapping) for row in rows), key=lambda row: row.id))


def list_needing_user(conn: Connection, user_id: str) -> tuple[DeliveryRow, ...]:
    """Return the deliveries that need the user, by id; those that the user gave up are left out.

    Their outcome is unknown, they wait for a login or a new connection of their account, or they ended without success.
    """
    return tuple(DeliveryRow(**row._mapping) for row in conn.execute(_LIST_NEEDING_USER, {"b_user": user_id}))


def count_needing_user(conn: Connection, user_id: str) -> int:
    """Return the number of deliveries that `list_needing_user` returns, without decoding them."""
    count: int = conn.execute(_COUNT_NEEDING_USER, {"b_user": user_id}).scalar_one()
    return count


def list_ready(conn: Connection, user_id: str, account_id: str, now: datetime) -> tuple[DeliveryRow, ...]:
    """Return at most BATCH_SIZE deliveries to the account that can be processed now, earliest due first."""
    values = {"b_user": user_id, "b_account": account_id, "b_now": now}
    return tuple(DeliveryRow(**row._mapping) for row in conn.execute(_READY, values))


def list_ready_accounts(conn: Connection, user_id: str, now: datetime) -> tuple[str, ...]:
    """Return the ids of the accounts with a delivery that can be processed now; see CAN_PROCEED."""
    return tuple(conn.execute(READY_ACCOUNTS, {"b_user": user_id, "b_now": now}).scalars())


def last_sent_by_account(conn: Connection, user_id: str, since: datetime, until: datetime) -> dict[str, datetime]:
    """Return, by account id, when a scheduled draft was last sent, started sending, or will be sent again.

    Only times between `since` and `until` count.
    """
    last: dict[str, datetime] = {}
    for query in (_RECENTLY_STARTED, _RECENTLY_SENT, _RETRIED_SOON):
        for account_id, at in conn.execute(query, {"b_user": user_id, "b_since": since, "b_until": until}):
            last[account_id] = max(last.get(account_id, since), at)
    return last


def last_duplicate_sent_at(
    conn: Connection, user_id: str, draft_id: str, digest: str, account_id: str | None, since: datetime
) -> datetime | None:
    """Return when the same text of another draft was last sent to the account, not before `since`; None if never."""
    values = {
        "b_user": user_id,
        "b_digest": digest,
        "b_account": account_id,
        "b_since": since,
        "b_draft": draft_id,
    }
    instant: datetime | None = conn.execute(_LAST_SENT_DUPLICATE, values).scalar()
    return instant


def list_duplicates(conn: Connection, user_id: str, original: DeliveryRow) -> tuple[DeliveryRow, ...]:
    """Return at most BATCH_SIZE deliveries with the same text, of other drafts, to the same account."""
    values = {
        "b_user": user_id,
        "b_digest": original.digest,
        "b_account": original.account_id,
        "b_draft": original.draft_id,
    }
    return tuple(DeliveryRow(**row._mapping) for row in conn.execute(_DUPLICATES, values))


def has_unfinished_for_draft(conn: Connection, user_id: str, draft_id: str) -> bool:
    """Return True if a delivery of the draft is unfinished."""
    return conn.execute(_UNFINISHED_OF_DRAFT, {"b_user": user_id, "b_draft": draft_id}).first() is not None


def has_unfinished_for_account(conn: Connection, user_id: str, account_id: str) -> bool:
    """Return True if a delivery to the account is unfinished."""
    return conn.execute(_UNFINISHED_OF_ACCOUNT, {"b_user": user_id, "b_account": account_id}).first() is not None


def has_unfinished(conn: Connection, user_id: str) -> bool:
    """Return True if any delivery of the user is unfinished."""
    query = select(delivery.c.id).where(delivery.c.user_id == user_id, delivery.c.state.in_(OPEN_STATES))
    return conn.execute(query.limit(1)).first() is not None


def list_due_for_metrics(conn: Connection, user_id: str, now: datetime) -> tuple[DeliveryRow, ...]:
    """Return the deliveries whose metrics are due for reading, grouped by account."""
    return tuple(DeliveryRow(**row._mapping) for row in conn.execute(_METRICS_DUE, {"b_user": user_id, "b_now": now}))


def list_events(conn: Connection, user_id: str, delivery_id: str) -> tuple[DeliveryEvent, ...]:
    """Return the delivery's log, oldest first."""
    conditions = (delivery_event.c.user_id == user_id, delivery_event.c.delivery_id == delivery_id)
    query = select(delivery_event.c.at, delivery_event.c.what, delivery_event.c.says).where(*conditions)
    return tuple(DeliveryEvent(**row._mapping) for row in conn.execute(query.order_by(delivery_event.c.rid)))


class SendEvent(Protocol):
    """A delivery and the time of one of its "sending" events."""

    @property
    def delivery_id(self) -> str: ...

    @property
    def at(self) -> datetime: ...


S = TypeVar("S", bound=SendEvent)


def find_sends(conn: Connection, sends: Collection[S]) -> set[S]:
    """Return those of `sends`, at most some hundred, that the log contains or once contained; of all users."""
    ids = {send.delivery_id for send in sends}
    query = select(delivery_event.c.delivery_id, delivery_event.c.at).where(
        delivery_event.c.delivery_id.in_(ids), delivery_event.c.what == SENDING_EVENT
    )
    removed = select(removed_send.c.delivery_id, removed_send.c.at).where(removed_send.c.delivery_id.in_(ids))
    logged = {(row.delivery_id, row.at) for row in (*conn.execute(query), *conn.execute(removed))}
    return {send for send in sends if (send.delivery_id, send.at) in logged}


def last_send_before(conn: Connection, at: datetime) -> datetime | None:
    """Return the time of the last "sending" event before `at`, of all users. Reads the whole log."""
    query = select(func.max(delivery_event.c.at, type_=UtcDateTime))
    instant: datetime | None = conn.execute(
        query.where(delivery_event.c.what == SENDING_EVENT, delivery_event.c.at < at)
    ).scalar()
    return instant


def are_sends_marked(conn: Connection) -> bool:
    """Return True if requests of this database were also marked outside it."""
    return bool(conn.exec_driver_sql(_ARE_SENDS_MARKED[conn.dialect.name]).scalar())


def set_sends_marked(conn: Connection) -> None:
    """Record that requests of this database are marked outside it from now on."""
    if not are_sends_marked(conn):
        conn.exec_driver_sql(_MARK_SENDS[conn.dialect.name])


class NewDelivery(Struct, frozen=True):
    """A delivery to insert."""

    id: str
    account_id: str
    identity: str
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
                identity=new.identity,
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


def _insert_event(conn: Connection, user_id: str, delivery_id: str, event: str, message: str, now: datetime) -> None:
    values = {"user_id": user_id, "delivery_id": delivery_id, "at": now, "what": event, "says": message}
    conn.execute(_INSERT_EVENT, values)
