"""Pipeline runs: their queue, progress, results and totals."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import msgspec
from sqlalchemy import BigInteger, Connection, cast, func, select

from copydesk.model.run import ErrorCount, PeriodTotals, Run, RunRequest, RunStats, RunStatus
from copydesk.model.serialization import Struct
from copydesk.store import raw_sql
from copydesk.store.column_types import json_text, to_microseconds
from copydesk.store.ids import min_id
from copydesk.store.raw_sql import BulkInsert, ColumnCodec
from copydesk.store.tables import run, run_error, run_total

_COLUMNS = ColumnCodec(run.c[name] for name in ("id", "status", "stage", "started_at", "ended_at", "stats", "error"))
_REQUEST = ColumnCodec([run.c.requested])
_INSERT = BulkInsert(
    run,
    ("user_id", "id", "owner", "lease_until", "started_at", "requested", "stats", "status", "cancel_requested"),
)
_IS_UNFINISHED = f"user_id = ? AND id = ? AND status IN ('{RunStatus.QUEUED.value}', '{RunStatus.RUNNING.value}')"
_IS_QUEUED = f"user_id = :user AND id = :run AND status = '{RunStatus.QUEUED.value}'"
# An older queued run goes first, unless its lease has expired because its process died, or was written by a clock that
# was ahead. Ids sort by creation time.
_START = f"""UPDATE run SET status = '{RunStatus.RUNNING.value}', started_at = :now WHERE {_IS_QUEUED}
    AND NOT EXISTS (SELECT 1 FROM run WHERE user_id = :user AND status = '{RunStatus.RUNNING.value}')
    AND NOT EXISTS (SELECT 1 FROM run AS other WHERE user_id = :user AND status = '{RunStatus.QUEUED.value}'
        AND other.id < :run AND other.lease_until > :now AND other.lease_until <= :latest)"""  # noqa: S608 - words of our own


class RunLease(Struct, frozen=True):
    """A queued or running run, and the lease of the process it belongs to."""

    id: str
    owner: str
    lease_until: datetime


def _run(row: Sequence[Any]) -> Run:
    values = dict(zip(_COLUMNS.names, row, strict=True))
    started, finished = values["started_at"], values["ended_at"]
    duration = (finished - started).total_seconds() if finished else None
    values["stats"] = _current_stats(values["stats"])
    return Run(duration=duration, **values)


def _current_stats(stats: RunStats) -> RunStats:
    """Return the figures of a run as they are counted now: `items_ingested` used to include the waiting items."""
    if stats.items_considered or not stats.items_ingested:
        return stats
    return msgspec.structs.replace(stats, items_ingested=stats.items_new, items_considered=stats.items_ingested)


def add(conn: Connection, user_id: str, lease: RunLease, request: RunRequest, now: datetime) -> None:
    """Queue a run for the process that will execute it. It holds up later runs until its lease expires."""
    lease_values = [lease.id, lease.owner, lease.lease_until]
    _INSERT.insert(conn, [[user_id, *lease_values, now, request, RunStats(), RunStatus.QUEUED, False]])


def get(conn: Connection, user_id: str, run_id: str) -> Run | None:
    """Return the run, or None if the user has no such run."""
    query = f"SELECT {_COLUMNS.column_list} FROM run WHERE user_id = ? AND id = ?"  # noqa: S608 - names of our own
    row = next(_COLUMNS.decode(raw_sql.execute_sql(conn, query, (user_id, run_id))), None)
    return _run(row) if row else None


def get_request(conn: Connection, user_id: str, run_id: str) -> RunRequest | None:
    """Return the request of the run, or None if there is no such run."""
    query = f"SELECT {_REQUEST.column_list} FROM run WHERE user_id = ? AND id = ?"  # noqa: S608 - names of our own
    return next((request for (request,) in _REQUEST.decode(raw_sql.execute_sql(conn, query, (user_id, run_id)))), None)


def list_newest(conn: Connection, user_id: str, limit: int, before: str | None) -> tuple[Run, ...]:
    """Return at most `limit` runs, newest first, those older than the run `before`."""
    condition = "" if before is None else "AND id < :before"
    query = f"""SELECT {_COLUMNS.column_list} FROM run WHERE user_id = :user {condition}
        ORDER BY id DESC LIMIT :limit"""  # noqa: S608 - names of our own
    values = {"user": user_id, "before": before, "limit": limit}
    return tuple(_run(row) for row in _COLUMNS.decode(raw_sql.execute_sql(conn, query, values)))


def claim(conn: Connection, user_id: str, lease: RunLease, now: datetime, *, tolerance: timedelta) -> bool:
    """Start a queued run and return True, if no other run is running and no older one waits with a valid lease.

    A valid lease ends at most `tolerance` later than this one. Renews the lease of the queued run in any case.
    """
    latest = lease.lease_until + tolerance
    times = {
        "now": to_microseconds(now),
        "lease": to_microseconds(lease.lease_until),
        "latest": to_microseconds(latest),
    }
    values = {"user": user_id, "run": lease.id, "owner": lease.owner, **times}
    # Two statements: the lease is renewed even if the run cannot start yet, or later runs would pass it.
    raw_sql.execute_sql(conn, f"UPDATE run SET owner = :owner, lease_until = :lease WHERE {_IS_QUEUED}", values)  # noqa: S608
    return raw_sql.execute_sql(conn, _START, values).rowcount == 1


def get_running(conn: Connection, user_id: str) -> RunLease | None:
    """Return the lease of the running run, which may belong to a dead process, or None."""
    query = select(run.c.id, run.c.owner, run.c.lease_until)
    row = conn.execute(query.where(run.c.user_id == user_id, run.c.status == RunStatus.RUNNING)).first()
    return RunLease(id=row.id, owner=row.owner, lease_until=row.lease_until) if row else None


def list_queued(conn: Connection, user_id: str) -> tuple[RunLease, ...]:
    """Return the leases of the queued runs, oldest first."""
    query = select(run.c.id, run.c.owner, run.c.lease_until).order_by(run.c.id)
    rows = conn.execute(query.where(run.c.user_id == user_id, run.c.status == RunStatus.QUEUED))
    return tuple(RunLease(id=row.id, owner=row.owner or "", lease_until=row.lease_until) for row in rows)


def update_running(conn: Connection, user_id: str, run_id: str, values: Mapping[str, object]) -> bool:
    """Update columns of a running run; return False if it is no longer running."""
    condition = f"user_id = ? AND id = ? AND status = '{RunStatus.RUNNING.value}'"
    return _update(conn, user_id, run_id, values, condition)


def finish(conn: Connection, user_id: str, run_id: str, values: Mapping[str, object]) -> bool:
    """Finish a queued or running run; return False if it has finished already."""
    defaults = {"stage": None, "owner": None, "lease_until": None}
    return _update(conn, user_id, run_id, {**defaults, **values}, _IS_UNFINISHED)


def request_cancel(conn: Connection, user_id: str, run_id: str) -> bool:
    """Flag the run for cancellation by its process; return False if it has finished."""
    return _update(conn, user_id, run_id, {"cancel_requested": True}, _IS_UNFINISHED)


def _update(conn: Connection, user_id: str, run_id: str, values: Mapping[str, object], condition: str) -> bool:
    columns = _columns_for(tuple(values))
    statement = f"UPDATE run SET {columns.assignments} WHERE {condition}"  # noqa: S608 - names of our own
    return raw_sql.execute_sql(conn, statement, [*columns.encode(list(values.values())), user_id, run_id]).rowcount == 1


@lru_cache
def _columns_for(names: tuple[str, ...]) -> ColumnCodec:
    return ColumnCodec(run.c[name] for name in names)


def is_cancel_requested(conn: Connection, user_id: str, run_id: str) -> bool:
    """Return True if cancellation of the run was requested."""
    query = "SELECT 1 FROM run WHERE user_id = ? AND id = ? AND cancel_requested"
    return raw_sql.execute_sql(conn, query, (user_id, run_id)).fetchone() is not None


class RunTotals(Struct, frozen=True):
    """Totals of the finished runs."""

    ended: int = 0
    succeeded: int = 0
    microseconds: int = 0
    """Total duration."""
    items: int = 0
    drafts: int = 0


def load_totals(conn: Connection, user_id: str) -> RunTotals:
    """Return the totals of the user's finished runs, maintained by triggers."""
    columns = [run_total.c[name] for name in RunTotals.__struct_fields__]
    row = conn.execute(select(*columns).where(run_total.c.user_id == user_id)).first()
    return RunTotals(**row._mapping) if row else RunTotals()


def count_unfinished(conn: Connection, user_id: str) -> int:
    """Return the number of queued and running runs."""
    is_unfinished = run.c.status.in_([RunStatus.QUEUED, RunStatus.RUNNING])
    return conn.execute(select(func.count()).where(run.c.user_id == user_id, is_unfinished)).scalar_one()


def list_errors(conn: Connection, user_id: str, limit: int) -> tuple[ErrorCount, ...]:
    """Return the error categories of failed and interrupted runs, most frequent first."""
    query = select(run_error.c.category, run_error.c.runs).where(run_error.c.user_id == user_id, run_error.c.runs > 0)
    rows = conn.execute(query.order_by(run_error.c.runs.desc(), run_error.c.category).limit(limit))
    return tuple(ErrorCount(category=category, count=count) for category, count in rows)


def summarize_since(conn: Connection, user_id: str, start: datetime) -> PeriodTotals:
    """Return the totals of the runs started since `start`, those still queued included."""
    items, drafts = (
        func.coalesce(func.sum(cast(json_text(run.c.stats, name), BigInteger)), 0)
        for name in ("itemsNew", "draftsCreated")
    )
    query = select(func.count(), items, drafts).where(run.c.user_id == user_id, run.c.started_at >= start)
    # The id bounds the scan through its index. Ids are never earlier than the clock was.
    row = conn.execute(query.where(run.c.id >= min_id(start))).one()
    return PeriodTotals(runs=row[0], items=row[1], drafts=row[2])
