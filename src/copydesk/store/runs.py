"""Pipeline runs as they are kept."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Row, exists, func, insert, select, update

from copydesk.model.run import ErrorCount, LatelyRun, Run, RunRequest, RunStats, RunStatus
from copydesk.model.wire import Struct
from copydesk.store.ids import first_id
from copydesk.store.tables import run, run_error, run_total

_SHOWN = (run.c.id, run.c.status, run.c.stage, run.c.started_at, run.c.ended_at, run.c.stats, run.c.error)


class Claimed(Struct, frozen=True):
    """A run that is under way, as far as the database knows."""

    id: str
    owner: str
    lease_until: datetime


def _run(row: Row[*tuple[object, ...]]) -> Run:
    values = dict(row._mapping)
    started, ended = values["started_at"], values["ended_at"]
    duration = (ended - started).total_seconds() if ended else None
    return Run(duration=duration, **values)


def add(conn: Connection, user_id: str, claimed: Claimed, request: RunRequest, now: datetime) -> None:
    """Queue a run for the process that will work on it; it holds up later ones for as long as the lease."""
    values = {"requested": request, "stats": RunStats(), "status": RunStatus.QUEUED, "cancel_requested": False}
    owned = {"id": claimed.id, "owner": claimed.owner, "lease_until": claimed.lease_until}
    conn.execute(insert(run).values(user_id=user_id, started_at=now, **owned, **values))


def one(conn: Connection, user_id: str, run_id: str) -> Run | None:
    """One of the user's runs."""
    row = conn.execute(select(*_SHOWN).where(*_is(user_id, run_id))).first()
    return _run(row) if row else None


def request_of(conn: Connection, user_id: str, run_id: str) -> RunRequest | None:
    """What a run was asked to do."""
    return conn.execute(select(run.c.requested).where(*_is(user_id, run_id))).scalar()


def newest(conn: Connection, user_id: str, limit: int, before: str | None) -> tuple[Run, ...]:
    """Runs, most recent first, those older than the run `before`."""
    query = select(*_SHOWN).where(run.c.user_id == user_id).order_by(run.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(run.c.id < before)
    return tuple(_run(row) for row in conn.execute(query))


def claim(conn: Connection, user_id: str, run_id: str, *, owner: str, now: datetime, lease_until: datetime) -> bool:
    """Start a queued run, if it is the oldest whose process waits for its turn, and none is under way."""
    waits = update(run).where(*_is(user_id, run_id), run.c.status == RunStatus.QUEUED)
    conn.execute(waits.values(owner=owner, lease_until=lease_until))
    other = run.alias()
    busy = exists().where(other.c.user_id == user_id, other.c.status == RunStatus.RUNNING)
    earlier = exists().where(
        other.c.user_id == user_id, other.c.status == RunStatus.QUEUED, other.c.id < run_id, other.c.lease_until > now
    )
    start = update(run).where(*_is(user_id, run_id), run.c.status == RunStatus.QUEUED, ~busy, ~earlier)
    values = {"status": RunStatus.RUNNING, "started_at": now, "owner": owner, "lease_until": lease_until}
    return conn.execute(start.values(**values)).rowcount == 1


def under_way(conn: Connection, user_id: str) -> Claimed | None:
    """The run that somebody works on, or did when it died."""
    query = select(run.c.id, run.c.owner, run.c.lease_until)
    row = conn.execute(query.where(run.c.user_id == user_id, run.c.status == RunStatus.RUNNING)).first()
    return Claimed(id=row.id, owner=row.owner, lease_until=row.lease_until) if row else None


def queued(conn: Connection, user_id: str) -> tuple[Claimed, ...]:
    """The runs that wait, with the process that queued them, oldest first."""
    query = select(run.c.id, run.c.owner, run.c.lease_until).order_by(run.c.id)
    rows = conn.execute(query.where(run.c.user_id == user_id, run.c.status == RunStatus.QUEUED))
    return tuple(Claimed(id=row.id, owner=row.owner or "", lease_until=row.lease_until) for row in rows)


def note(conn: Connection, user_id: str, run_id: str, values: Mapping[str, object]) -> bool:
    """Keep how a running run gets on; False where it is no longer running."""
    change = update(run).where(*_is(user_id, run_id), run.c.status == RunStatus.RUNNING)
    return conn.execute(change.values(**values)).rowcount == 1


def finish(conn: Connection, user_id: str, run_id: str, values: Mapping[str, object]) -> bool:
    """End a run that has not ended; False where it has."""
    open_ones = run.c.status.in_([RunStatus.QUEUED, RunStatus.RUNNING])
    ended = {"stage": None, "owner": None, "lease_until": None}
    change = update(run).where(*_is(user_id, run_id), open_ones).values(**ended, **values)
    return conn.execute(change).rowcount == 1


def ask_to_cancel(conn: Connection, user_id: str, run_id: str) -> bool:
    """Leave a note for whoever works on the run; False where it has ended."""
    open_ones = run.c.status.in_([RunStatus.QUEUED, RunStatus.RUNNING])
    change = update(run).where(*_is(user_id, run_id), open_ones).values(cancel_requested=True)
    return conn.execute(change).rowcount == 1


def cancel_requested(conn: Connection, user_id: str, run_id: str) -> bool:
    """Whether somebody asked for the run to be cancelled."""
    return bool(conn.execute(select(run.c.cancel_requested).where(*_is(user_id, run_id))).scalar())


class Sums(Struct, frozen=True):
    """What the runs that ended came to."""

    ended: int = 0
    succeeded: int = 0
    microseconds: int = 0
    items: int = 0
    drafts: int = 0


def sums(conn: Connection, user_id: str) -> Sums:
    """The sums over all the user's runs that ended; kept by triggers."""
    columns = [run_total.c[name] for name in Sums.__struct_fields__]
    row = conn.execute(select(*columns).where(run_total.c.user_id == user_id)).first()
    return Sums(**row._mapping) if row else Sums()


def under_way_or_queued(conn: Connection, user_id: str) -> int:
    """How many runs have not ended."""
    open_ones = run.c.status.in_([RunStatus.QUEUED, RunStatus.RUNNING])
    return conn.execute(select(func.count()).where(run.c.user_id == user_id, open_ones)).scalar_one()


def errors(conn: Connection, user_id: str, most: int) -> tuple[ErrorCount, ...]:
    """The errors that runs ended with, the most frequent first."""
    query = select(run_error.c.category, run_error.c.runs).where(run_error.c.user_id == user_id, run_error.c.runs > 0)
    rows = conn.execute(query.order_by(run_error.c.runs.desc(), run_error.c.category).limit(most))
    return tuple(ErrorCount(category=category, count=count) for category, count in rows)


def since(conn: Connection, user_id: str, moment: datetime) -> LatelyRun:
    """What the runs came to that began since, or wait."""
    items, drafts = (
        func.coalesce(func.sum(func.json_extract(run.c.stats, path)), 0) for path in ("$.itemsNew", "$.draftsCreated")
    )
    query = select(func.count(), items, drafts).where(run.c.user_id == user_id, run.c.started_at >= moment)
    # By the id they are found without looking at all the others; it is never earlier than the clock was.
    row = conn.execute(query.where(run.c.id >= first_id(moment))).one()
    return LatelyRun(runs=row[0], items=row[1], drafts=row[2])


def _is(user_id: str, run_id: str) -> tuple[ColumnElement[bool], ...]:
    return run.c.user_id == user_id, run.c.id == run_id
