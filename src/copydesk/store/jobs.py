"""Scheduled jobs: the work that is due, and the process that holds each job."""

from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    Text,
    TextClause,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    literal_column,
    or_,
    select,
    text,
    union,
    update,
)

from copydesk.model.draft import Format, Status
from copydesk.model.job import DueWork, JobLease, JobName, JobState
from copydesk.model.serialization import Struct
from copydesk.network.response import MAX_WAIT
from copydesk.store import confidence, deliveries
from copydesk.store.column_types import UtcDateTime, json_text
from copydesk.store.raw_sql import upsert
from copydesk.store.tables import account, delivery, draft, engagement, job, source, user, webhook, webhook_delivery
from copydesk.store.webhooks import LONGEST_WAIT


class MissedCutoffs(Struct, frozen=True):
    """For each format, the instant before which a draft still scheduled has missed its time."""

    short: datetime
    thread: datetime
    blog: datetime

    retry_window: timedelta = timedelta(0)
    """Time after its cutoff during which a delivery of which a request was sent is still retried."""

    @property
    def latest(self) -> datetime:
        """The latest of the cutoffs: nothing due after it has been missed."""
        return max(self.short, self.thread, self.blog)


_NOW = bindparam("b_now", type_=UtcDateTime)
_SOON = bindparam("b_soon", type_=UtcDateTime)
_LATEST = bindparam("b_latest", type_=UtcDateTime)
_LONGEST_WAIT = bindparam("b_longest_wait", type_=UtcDateTime)
_DAY_AGO = bindparam("b_day_ago", type_=UtcDateTime)
_LONGEST_WEBHOOK_WAIT = bindparam("b_longest_webhook_wait", type_=UtcDateTime)
DAY = timedelta(days=1)
DAILY_JOBS = (JobName.ZONES, JobName.RETENTION)
"""Jobs that are due for each user a day after they began."""
# As literals, as in the partial indexes.
_IS_SCHEDULED = text("draft.status = 'scheduled'")
_IS_PENDING = text("draft.status IN ('pending_generation', 'pending_regeneration')")
_IS_PLANNED = text("delivery.state = 'planned'")


def _is_passed(column: Column[datetime]) -> ColumnElement[bool]:
    return or_(column.is_(None), column <= _NOW)


def _is_wait_over(column: Column[datetime]) -> ColumnElement[bool]:
    """Return the condition for a source to be fetched, as `is_due` in `copydesk.ingest.fetch_policy`.

    A longer wait than any was written while the clock was wrong.
    """
    return or_(_is_passed(column), column > _LONGEST_WAIT)


class _Rows(NamedTuple):
    """Rows that are work for their users."""

    user_id: ColumnElement[str]
    conditions: tuple[ColumnElement[bool] | TextClause, ...]

    def exist_for(self, user_id: ColumnElement[str]) -> ColumnElement[bool]:
        """Return if there are any for a user: an index lookup, which reads no row of the table when nothing is due."""
        return exists().where(self.user_id == user_id, *self.conditions)

    def users(self) -> Select[str]:
        """Return the users who have any, found by an index that starts with the time."""
        return select(self.user_id).where(*self.conditions)


def _scheduled_before(limit: BindParameter[datetime], *conditions: ColumnElement[bool]) -> _Rows:
    return _Rows(draft.c.user_id, (_IS_SCHEDULED, draft.c.scheduled_at <= limit, *conditions))


def _cutoff(format_: Format, suffix: str = "") -> BindParameter[datetime]:
    return bindparam(f"b_{format_.lower()}{suffix}", type_=UtcDateTime)


_PAST_CUTOFF = or_(*(and_(draft.c.format == format_, draft.c.scheduled_at < _cutoff(format_)) for format_ in Format))
_IS_RETRIED = json_text(delivery.c.progress, "firstSentAt").is_not(None)
# As `expires_at` in `copydesk.desk.publishing.grace`: one that is published in part, or may be, is never given up.
_HAS_EXPIRED = (
    func.coalesce(cast(json_text(delivery.c.progress, "made"), Text), "[]") == "[]",
    func.coalesce(cast(json_text(delivery.c.progress, "doubt"), Text), "").not_in(("true", "1")),
    exists().where(
        engagement.c.id == delivery.c.id,
        engagement.c.user_id == delivery.c.user_id,
        or_(
            *(
                and_(
                    engagement.c.format == format_,
                    delivery.c.due_at < case((_IS_RETRIED, _cutoff(format_, "_retried")), else_=_cutoff(format_)),
                )
                for format_ in Format
            )
        ),
    ),
)
_IS_WEBHOOK_READY = and_(
    webhook.c.id == webhook_delivery.c.webhook_id,
    or_(_is_passed(webhook.c.not_before), webhook.c.not_before > _LONGEST_WEBHOOK_WAIT),
)
_WORK: Final = {
    "due": (_scheduled_before(_NOW),),
    "late": (
        _scheduled_before(_LATEST, _PAST_CUTOFF),
        # The plus leads SQLite to what is planned instead of everything that the user ever sent.
        _Rows(literal_column("+delivery.user_id"), (_IS_PLANNED, delivery.c.due_at < _LATEST, *_HAS_EXPIRED)),
    ),
    "to_send": (
        _Rows(
            delivery.c.user_id,
            (
                deliveries.IS_OPEN,
                _is_passed(delivery.c.not_before),
                exists().where(account.c.id == delivery.c.account_id, deliveries.CAN_PROCEED),
            ),
        ),
    ),
    "to_measure": (_Rows(delivery.c.user_id, (delivery.c.figures_at <= _NOW,)),),
    "to_write": (_Rows(draft.c.user_id, (_IS_PENDING,)),),
    "to_fetch": (
        _Rows(
            source.c.user_id,
            (
                source.c.enabled,
                _is_wait_over(source.c.next_at),
                _is_wait_over(source.c.not_before),
                # A source that answered 410 Gone is fetched only on request.
                func.coalesce(cast(json_text(source.c.fetch, "gone"), Text), "").not_in(("true", "1")),
            ),
        ),
    ),
    "to_notify": (
        _Rows(webhook_delivery.c.user_id, (webhook_delivery.c.next_at <= _NOW, _IS_WEBHOOK_READY)),
        # As in `copydesk.store.webhooks`; a range of its own, which an index finds.
        _Rows(webhook_delivery.c.user_id, (webhook_delivery.c.next_at > _LONGEST_WEBHOOK_WAIT, _IS_WEBHOOK_READY)),
    ),
}
"""By the name in DueWork."""


def _due_work_query() -> Select[*tuple[Any, ...]]:
    user_id: BindParameter[str] = bindparam("b_user")
    next_draft = (
        select(func.min(draft.c.scheduled_at, type_=UtcDateTime))
        .where(draft.c.user_id == user_id, draft.c.status == Status.SCHEDULED, draft.c.scheduled_at > _NOW)
        .scalar_subquery()
    )
    connected = exists().where(account.c.user_id == user_id)
    is_due = {name: or_(*(rows.exist_for(user_id) for rows in work)) for name, work in _WORK.items()}
    # By account: by the user alone SQLite would read everything that was ever sent.
    is_due["to_send"] = deliveries.READY_ACCOUNTS.exists()
    conditions = [condition.label(name) for name, condition in {**is_due, "connected": connected}.items()]
    return select(next_draft.label("next_draft"), *conditions)


def _users_with_work_query() -> CompoundSelect[str]:
    work = [rows for name, kinds in _WORK.items() if name != "due" for rows in kinds]
    # Those that are due soon include those that are due.
    by_work = [rows.users() for rows in (_scheduled_before(_SOON), *work)]
    # Those that are started again although no other row says that they are due.
    was_interrupted = or_(job.c.ended_at.is_(None), job.c.ended_at < job.c.began_at)
    has_failed = job.c.failed_at.is_not(None)
    unfinished = select(job.c.user_id).where(
        or_(job.c.owner.is_(None), job.c.lease_until < _NOW),
        or_(
            # No source may be due.
            and_(job.c.name == JobName.PIPELINE, was_interrupted),
            # Decisions announce it. To count those of all users would read more than all the rest.
            and_(job.c.name == JobName.CONFIDENCE, or_(was_interrupted, has_failed), job.c.began_at > _DAY_AGO),
            and_(job.c.name.in_(DAILY_JOBS), job.c.owner.is_not(None)),
            and_(job.c.name == JobName.ZONES, has_failed),
        ),
    )
    return union(*by_work, unfinished, *(_users_without(name) for name in DAILY_JOBS))


def _users_without(name: JobName) -> Select[str]:
    """Return the users for whom a daily job has not begun within a day, in either direction."""
    has_begun = exists().where(
        job.c.user_id == user.c.id,
        job.c.name == name,
        job.c.began_at > _DAY_AGO,
        job.c.began_at < bindparam("b_in_a_day", type_=UtcDateTime),
    )
    return select(user.c.id).where(~has_begun)


# Built once: it runs every half minute while the desk is open.
_DUE_WORK = _due_work_query()
_USERS_WITH_WORK = _users_with_work_query()
_USERS_WITH_TEXTS = _WORK["to_write"][0].users().distinct()
_STATE_COLUMNS = (
    job.c.name,
    job.c.owner,
    job.c.lease_until,
    job.c.began_at,
    job.c.ended_at,
    job.c.failed_at,
    job.c.error,
)
_STATES = select(*_STATE_COLUMNS).where(job.c.user_id == bindparam("b_user")).order_by(job.c.name)


def load_due_work(
    conn: Connection, user_id: str, now: datetime, cutoffs: MissedCutoffs, decisions_per_estimate: int
) -> DueWork:
    """Return the work that is due, and the state of every job.

    Confidences are computed again after each `decisions_per_estimate` decisions.
    """
    row = conn.execute(_DUE_WORK, {"b_user": user_id, **_times(now, cutoffs)}).one()
    return DueWork(
        next_draft=row.next_draft,
        due=bool(row.due),
        late=bool(row.late),
        connected=bool(row.connected),
        to_send=bool(row.to_send),
        to_measure=bool(row.to_measure),
        to_write=bool(row.to_write),
        to_estimate=confidence.is_refresh_due(conn, user_id, decisions_per_estimate),
        to_fetch=bool(row.to_fetch),
        to_notify=bool(row.to_notify),
        jobs=list_states(conn, user_id),
    )


def list_users_with_work(conn: Connection, now: datetime, cutoffs: MissedCutoffs, within: timedelta) -> tuple[str, ...]:
    """Return the ids of all users for whom something may be due, a draft within that time, or daily jobs."""
    values = {"b_soon": now + within, "b_day_ago": now - DAY, "b_in_a_day": now + DAY, **_times(now, cutoffs)}
    return tuple(sorted(conn.execute(_USERS_WITH_WORK, values).scalars()))


def list_users_with_texts(conn: Connection) -> tuple[str, ...]:
    """Return the ids of all users who have drafts that wait for their text."""
    return tuple(sorted(conn.execute(_USERS_WITH_TEXTS).scalars()))


def _times(now: datetime, cutoffs: MissedCutoffs) -> dict[str, datetime]:
    by_name = {f"b_{format_.lower()}": getattr(cutoffs, format_.lower()) for format_ in Format}
    retried = {f"{name}_retried": cutoff - cutoffs.retry_window for name, cutoff in by_name.items()}
    waits = {"b_longest_wait": now + timedelta(seconds=MAX_WAIT), "b_longest_webhook_wait": now + LONGEST_WAIT}
    return {"b_now": now, "b_latest": cutoffs.latest, **waits, **by_name, **retried}


def list_states(conn: Connection, user_id: str) -> tuple[JobState, ...]:
    """Return every job that was ever started, by name."""
    return tuple(JobState(**row._mapping) for row in conn.execute(_STATES, {"b_user": user_id}))


def acquire_lease(
    conn: Connection,
    user_id: str,
    lease: JobLease,
    now: datetime,
    *,
    last_began_at: datetime | None = None,
    abandoned_owner: str | None = None,
    repeats_killed: bool = False,
) -> bool:
    """Claim a job; return False if another process holds it, or has begun it after `last_began_at`.

    A job is free if it has no owner, if its lease has expired, or if its owner is `abandoned_owner`. With
    `repeats_killed` it counts as failed until it ends.
    """
    values = {"owner": lease.owner, "claim_id": lease.id, "lease_until": lease.lease_until, "began_at": now}
    if repeats_killed:
        values["failed_at"] = now
    is_free = or_(job.c.owner.is_(None), job.c.lease_until < now, job.c.owner == abandoned_owner)
    statement = upsert(conn, job).values(user_id=user_id, name=lease.job, **values)
    return (
        conn.execute(
            statement.on_conflict_do_update(
                index_elements=["user_id", "name"],
                set_=values,
                where=and_(is_free, job.c.began_at.is_not_distinct_from(last_began_at)),
            )
        ).rowcount
        == 1
    )


def renew_lease(conn: Connection, user_id: str, lease: JobLease, lease_until: datetime) -> bool:
    """Extend the lease of a job; return False if another process has taken it over."""
    statement = update(job).where(job.c.user_id == user_id, job.c.name == lease.job, job.c.claim_id == lease.id)
    return conn.execute(statement.values(lease_until=lease_until)).rowcount == 1


def release_lease(
    conn: Connection, user_id: str, lease: JobLease, now: datetime, *, finished: bool, error: str | None
) -> None:
    """Release a job. With `finished`, store its end and `error`; otherwise those of the time before stay."""
    values: dict[str, object] = {"owner": None, "claim_id": None, "lease_until": None}
    if finished:
        values |= {"ended_at": now, "error": error, "failed_at": now if error else None}
    statement = update(job).where(job.c.user_id == user_id, job.c.name == lease.job, job.c.claim_id == lease.id)
    conn.execute(statement.values(**values))
