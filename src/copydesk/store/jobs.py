"""What is to be done by itself: what is due, and which process is at what."""

from datetime import datetime
from typing import Any

from sqlalchemy import BindParameter, Connection, Select, and_, bindparam, exists, func, or_, select, text, update
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.draft import Format, Status
from copydesk.model.job import Claim, JobState, Outlook
from copydesk.model.wire import Struct
from copydesk.store import deliveries
from copydesk.store.tables import account, delivery, draft, job, source
from copydesk.store.types import UTC


class Limits(Struct, frozen=True):
    """For each format, the instant before which a draft that is still scheduled is late by too much."""

    short: datetime
    thread: datetime
    blog: datetime

    @property
    def latest(self) -> datetime:
        """Nothing that was due after it is late."""
        return max(self.short, self.thread, self.blog)


def _outlook_query() -> Select[*tuple[Any, ...]]:
    """A few looks into indexes, and no row of a table where nothing is due."""
    user_id: BindParameter[str] = bindparam("b_user")
    now = bindparam("b_now", type_=UTC)
    mine = (draft.c.user_id == user_id, draft.c.status == Status.SCHEDULED, draft.c.scheduled_at.is_not(None))
    of_format = or_(
        *(
            and_(draft.c.format == kind, draft.c.scheduled_at < bindparam(f"b_{kind.lower()}", type_=UTC))
            for kind in Format
        )
    )
    latest, planned = bindparam("b_latest", type_=UTC), text("delivery.state = 'planned'")
    late = or_(
        exists().where(*mine, draft.c.scheduled_at < latest, of_format),
        exists().where(delivery.c.user_id == user_id, deliveries.IS_OPEN, delivery.c.due_at < latest, planned),
    )
    waiting = draft.c.status.in_([Status.PENDING_GENERATION, Status.PENDING_REGENERATION])
    to_write = exists().where(draft.c.user_id == user_id, waiting)
    passed = [or_(column.is_(None), column <= now) for column in (source.c.next_at, source.c.not_before)]
    # A source that is gone for good is asked only by hand.
    gone = func.coalesce(func.json_extract(source.c.fetch, "$.gone"), 0)
    to_read = exists().where(source.c.user_id == user_id, source.c.enabled, *passed, gone == 0)
    due = exists().where(*mine, draft.c.scheduled_at <= now)
    first = select(func.min(draft.c.scheduled_at, type_=UTC)).where(*mine, draft.c.scheduled_at > now).scalar_subquery()
    waited = or_(delivery.c.not_before.is_(None), delivery.c.not_before <= now)
    free = exists().where(account.c.id == delivery.c.account_id, deliveries.FREE)
    to_send = exists().where(delivery.c.user_id == user_id, deliveries.IS_OPEN, waited, free)
    to_measure = exists().where(delivery.c.user_id == user_id, delivery.c.figures_at <= now)
    connected = exists().where(account.c.user_id == user_id)
    named = {
        "due": due,
        "late": late,
        "connected": connected,
        "to_send": to_send,
        "to_measure": to_measure,
        "to_write": to_write,
        "to_read": to_read,
    }
    return select(first.label("next_draft"), *(found.label(name) for name, found in named.items()))


# Made once: it is asked every half minute for as long as the desk is open.
_OUTLOOK = _outlook_query()
_STATE = (job.c.name, job.c.owner, job.c.lease_until, job.c.began_at, job.c.ended_at, job.c.failed_at, job.c.error)
_STATES = select(*_STATE).where(job.c.user_id == bindparam("b_user")).order_by(job.c.name)


def outlook(conn: Connection, user_id: str, now: datetime, limits: Limits) -> Outlook:
    """What is due, and who is at what."""
    each = {f"b_{kind.lower()}": getattr(limits, kind.lower()) for kind in Format}
    values = {"b_user": user_id, "b_now": now, "b_latest": limits.latest, **each}
    row = conn.execute(_OUTLOOK, values).one()
    return Outlook(
        next_draft=row.next_draft,
        due=bool(row.due),
        late=bool(row.late),
        connected=bool(row.connected),
        to_send=bool(row.to_send),
        to_measure=bool(row.to_measure),
        to_write=bool(row.to_write),
        to_read=bool(row.to_read),
        jobs=states(conn, user_id),
    )


def states(conn: Connection, user_id: str) -> tuple[JobState, ...]:
    """Every job that was ever begun, by its name."""
    return tuple(JobState(**row._mapping) for row in conn.execute(_STATES, {"b_user": user_id}))


def claim(conn: Connection, user_id: str, claim: Claim, now: datetime, *, instead_of: str | None = None) -> bool:
    """Begin a job, unless somebody is at it: one whose lease is over, or the owner `instead_of`, is not.

    False where somebody is.
    """
    values = {"owner": claim.owner, "claim_id": claim.id, "lease_until": claim.lease_until, "began_at": now}
    free = or_(job.c.owner.is_(None), job.c.lease_until < now, job.c.owner == instead_of)
    put = upsert(job).values(user_id=user_id, name=claim.job, **values)
    return conn.execute(put.on_conflict_do_update(["user_id", "name"], set_=values, where=free)).rowcount == 1


def renew(conn: Connection, user_id: str, claim: Claim, lease_until: datetime) -> bool:
    """Go on with a job; False where somebody else took it over."""
    mine = update(job).where(job.c.user_id == user_id, job.c.name == claim.job, job.c.claim_id == claim.id)
    return conn.execute(mine.values(lease_until=lease_until)).rowcount == 1


def end(conn: Connection, user_id: str, claim: Claim, now: datetime, *, finished: bool, error: str | None) -> None:
    """Let go of a job. The last error stays until the job has finished without one."""
    values: dict[str, object] = {"owner": None, "claim_id": None, "lease_until": None, "ended_at": now}
    if finished:
        values |= {"error": error, "failed_at": now if error else None}
    mine = update(job).where(job.c.user_id == user_id, job.c.name == claim.job, job.c.claim_id == claim.id)
    conn.execute(mine.values(**values))
