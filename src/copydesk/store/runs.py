"""Pipeline runs as they are kept."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, func, select

from copydesk.model.run import ErrorCount, LatelyRun, Run, RunRequest, RunStats, RunStatus
from copydesk.model.wire import Struct
from copydesk.store import statements
from copydesk.store.ids import least_id
from copydesk.store.statements import Columns, Rows
from copydesk.store.tables import run, run_error, run_total
from copydesk.store.types import microseconds

_SHOWN = Columns(run.c[name] for name in ("id", "status", "stage", "started_at", "ended_at", "stats", "error"))
_ASKED = Columns([run.c.requested])
_NEW = Rows(
    run,
    ("user_id", "id", "owner", "lease_until", "started_at", "requested", "stats", "status", "cancel_requested"),
)
_OPEN = f"user_id = ? AND id = ? AND status IN ('{RunStatus.QUEUED.value}', '{RunStatus.RUNNING.value}')"
_QUEUED = f"user_id = :user AND id = :run AND status = '{RunStatus.QUEUED.value}'"
_START = f"""UPDATE run SET status = '{RunStatus.RUNNING.value}', started_at = :now WHERE {_QUEUED}
    AND NOT EXISTS (SELECT 1 FROM run WHERE user_id = :user AND status = '{RunStatus.RUNNING.value}')
    AND NOT EXISTS (SELECT 1 FROM run AS other WHERE user_id = :user AND status = '{RunStatus.QUEUED.value}'
        AND other.id < :run AND other.lease_until > :now)"""  # noqa: S608 - words of our own


class Claimed(Struct, frozen=True):
    """A run that is under way, as far as the database knows."""

    id: str
    owner: str
    lease_until: datetime


def _run(row: Sequence[Any]) -> Run:
    values = dict(zip(_SHOWN.names, row, strict=True))
    started, ended = values["started_at"], values["ended_at"]
    duration = (ended - started).total_seconds() if ended else None
    return Run(duration=duration, **values)


def add(conn: Connection, user_id: str, claimed: Claimed, request: RunRequest, now: datetime) -> None:
    """Queue a run for the process that will work on it; it holds up later ones for as long as the lease."""
    owned = [claimed.id, claimed.owner, claimed.lease_until]
    _NEW.add(conn, [[user_id, *owned, now, request, RunStats(), RunStatus.QUEUED, False]])


def one(conn: Connection, user_id: str, run_id: str) -> Run | None:
    """One of the user's runs."""
    query = f"SELECT {_SHOWN.text} FROM run WHERE user_id = ? AND id = ?"  # noqa: S608 - names of our own
    row = next(_SHOWN.read(statements.run(conn, query, (user_id, run_id))), None)
    return _run(row) if row else None


def request_of(conn: Connection, user_id: str, run_id: str) -> RunRequest | None:
    """What a run was asked to do."""
    query = f"SELECT {_ASKED.text} FROM run WHERE user_id = ? AND id = ?"  # noqa: S608 - names of our own
    return next((asked for (asked,) in _ASKED.read(statements.run(conn, query, (user_id, run_id)))), None)


def newest(conn: Connection, user_id: str, limit: int, before: str | None) -> tuple[Run, ...]:
    """Runs, most recent first, those older than the run `before`."""
    older = "" if before is None else "AND id < :before"
    query = f"""SELECT {_SHOWN.text} FROM run WHERE user_id = :user {older}
        ORDER BY id DESC LIMIT :limit"""  # noqa: S608 - names of our own
    values = {"user": user_id, "before": before, "limit": limit}
    return tuple(_run(row) for row in _SHOWN.read(statements.run(conn, query, values)))


def claim(conn: Connection, user_id: str, run_id: str, *, owner: str, now: datetime, lease_until: datetime) -> bool:
    """Start a queued run, if it is the oldest whose process waits for its turn, and none is under way."""
    moments = {"now": microseconds(now), "lease": microseconds(lease_until)}
    values = {"user": user_id, "run": run_id, "owner": owner, **moments}
    statements.run(conn, f"UPDATE run SET owner = :owner, lease_until = :lease WHERE {_QUEUED}", values)  # noqa: S608
    return statements.run(conn, _START, values).rowcount == 1


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
    still = f"user_id = ? AND id = ? AND status = '{RunStatus.RUNNING.value}'"
    return _change(conn, user_id, run_id, values, still)


def finish(conn: Connection, user_id: str, run_id: str, values: Mapping[str, object]) -> bool:
    """End a run that has not ended; False where it has."""
    ended = {"stage": None, "owner": None, "lease_until": None}
    return _change(conn, user_id, run_id, {**ended, **values}, _OPEN)


def ask_to_cancel(conn: Connection, user_id: str, run_id: str) -> bool:
    """Leave a note for whoever works on the run; False where it has ended."""
    return _change(conn, user_id, run_id, {"cancel_requested": True}, _OPEN)


def _change(conn: Connection, user_id: str, run_id: str, values: Mapping[str, object], which: str) -> bool:
    columns = _columns(tuple(values))
    change = f"UPDATE run SET {columns.places} WHERE {which}"  # noqa: S608 - names of our own
    return statements.run(conn, change, [*columns.keep(list(values.values())), user_id, run_id]).rowcount == 1


@lru_cache
def _columns(names: tuple[str, ...]) -> Columns:
    return Columns(run.c[name] for name in names)


def cancel_requested(conn: Connection, user_id: str, run_id: str) -> bool:
    """Whether somebody asked for the run to be cancelled."""
    query = "SELECT 1 FROM run WHERE user_id = ? AND id = ? AND cancel_requested"
    return statements.run(conn, query, (user_id, run_id)).fetchone() is not None


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
    row = conn.execute(query.where(run.c.id >= least_id(moment))).one()
    return LatelyRun(runs=row[0], items=row[1], drafts=row[2])
