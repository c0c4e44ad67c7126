"""The queue of `copydesk worker`: Procrastinate's tables, and triggers that defer a job in the transaction of a change.

The first worker creates them; databases that no worker uses do not have them. A job names a user who may have work: the
worker looks up what is due. So a job that is lost, or runs twice, does no harm, and one waiting job per user is enough.
"""

import math
from importlib import resources
from typing import Final, cast

from sqlalchemy import Connection

from copydesk.errors import StoreError
from copydesk.model.totals import QueueTotals
from copydesk.store.database_file import fingerprint
from copydesk.store.postgresql.connection import PostgresConnection
from copydesk.store.raw_sql import dbapi_connection, execute_sql
from copydesk.version import install_hint

PREFIX: Final = "worker_"
"""Of the names of what is here; Procrastinate's begin with its own."""
HORIZON: Final = 60
"""Seconds. What is due later is not in the queue: Procrastinate reads over all jobs that wait for their time."""
# Stored with jobs: under another name nobody would take those that workers of an older version have left.
POLL: Final = "look"
"""The task that finds out what is due, and its queue."""
POLL_PRIORITY: Final = 10
QUEUES: Final = (POLL, "work", "run", "post", "fetch")
"""A worker registers itself with each."""
WAKE: Final = f"SELECT {PREFIX}wake(id, NULL) FROM unnest(%(user_ids)s::text[]) AS id"  # noqa: S608 - the word above
"""Defers a poll for each of these users, unless one is waiting already."""
_NOW: Final = "(extract(epoch FROM now()) * 1000000)::bigint"
_SOON: Final = f"(extract(epoch FROM now()) * 1000000)::bigint + {HORIZON * 1_000_000}"

_IS_SOON: Final = f"coalesce(new.{{0}}, 0) <= {_SOON}"
_WAKE_UPS: Final = {
    "draft": (
        "INSERT OR UPDATE OF status, scheduled_at ON draft",
        f"""new.status IN ('pending_generation', 'pending_regeneration', 'approved', 'rejected')
            OR new.status = 'scheduled' AND {_IS_SOON.format("scheduled_at")}""",
        "CASE WHEN new.status = 'scheduled' THEN new.scheduled_at END",
    ),
    # One that is being sent is left out: its worker goes on with it.
    "delivery": (
        "INSERT OR UPDATE OF state, not_before, account_id ON delivery",
        f"new.state IN ('planned', 'unknown') AND {_IS_SOON.format('not_before')}",
        "new.not_before",
    ),
    "source": (
        "INSERT OR UPDATE OF enabled, url, next_at, not_before ON source",
        f"new.enabled AND {_IS_SOON.format('next_at')} AND {_IS_SOON.format('not_before')}",
        "greatest(new.next_at, new.not_before)",
    ),
    "webhook_delivery": (
        "INSERT OR UPDATE OF next_at ON webhook_delivery",
        f"new.next_at <= {_SOON}",
        "new.next_at",
    ),
    "account": ("INSERT OR UPDATE OF trouble ON account", "new.trouble IS NULL", "NULL"),
}
"""By table: the event, the condition, and the time from which there may be work, in microseconds."""


def _create_trigger(table: str, event: str, condition: str, at: str) -> str:
    name = f"{PREFIX}wake_{table}"
    return f"""CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
PERFORM {PREFIX}wake(new.user_id, {at});
RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {name} AFTER {event} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION {name}();
"""


# A waiting job is enough, unless it has begun since: then it reads the change only if that is committed before. Both
# take the lock of the user, the transaction of the change first.
_CREATE: Final = f"""CREATE TABLE IF NOT EXISTS {PREFIX}queue (version TEXT NOT NULL, fingerprint TEXT NOT NULL);
CREATE OR REPLACE FUNCTION {PREFIX}wake(woken text, at bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    later timestamptz := CASE WHEN at > {_NOW} THEN to_timestamp(at / 1000000.0) END;
    key text := '{POLL}:' || woken || coalesce(':' || extract(epoch FROM later), '');
BEGIN
    -- While no worker runs, nobody takes them: one job per user is left, and the next sweep finds the rest.
    IF later IS NOT NULL AND NOT EXISTS
        (SELECT FROM procrastinate_workers WHERE last_heartbeat > now() - interval '1 min') THEN
        RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM procrastinate_jobs WHERE queueing_lock = key AND status = 'todo') THEN
        PERFORM procrastinate_defer_jobs_v1(ARRAY[ROW('{POLL}', '{POLL}', {POLL_PRIORITY}, NULL, key,
            jsonb_build_object('user_id', woken), later)::procrastinate_job_to_defer_v1]);
    END IF;
EXCEPTION WHEN unique_violation THEN
    NULL;
END $$;
{"".join(_create_trigger(table, *wake_up) for table, wake_up in _WAKE_UPS.items())}"""  # noqa: S608 - the words above

_FINGERPRINT: Final = fingerprint({PREFIX: _CREATE})


def prepare(connection: Connection, version: str) -> None:
    """Create the queue for Procrastinate `version`, or migrate that of an older one; raise StoreError for a newer one.

    In the current transaction, which holds the lock of all users: of several workers that start at once, one does it.
    Raise LockNotAvailable while changes are being made; then it is to be repeated.
    """
    found = read_version(connection)
    if found == version and _has_wake_ups(connection):
        return
    if found is not None and _numbers(found) > _numbers(version):
        raise StoreError(
            f"The queue of the workers was migrated to Procrastinate {found}; {version} is installed.",
            hint=f"Upgrade Copydesk. {install_hint('cluster')}",
        )
    # Less than the server's deadlock_timeout: of a worker and a change that wait for each other, the worker gives up.
    _driver(connection).control("SET LOCAL lock_timeout = '500ms'")
    # In one round trip each; of Procrastinate only what its documentation tells to execute.
    for script in [_read_schema()] if found is None else list_migrations(found, version):
        _driver(connection).control(script)
    _driver(connection).control(_CREATE)
    execute_sql(connection, f"DELETE FROM {PREFIX}queue")  # noqa: S608 - the word above
    execute_sql(connection, f"INSERT INTO {PREFIX}queue VALUES (?, ?)", (version, _FINGERPRINT))  # noqa: S608 - as above


def _has_wake_ups(connection: Connection) -> bool:
    """Return False if the triggers are missing, as after a restore, or are those of another version of Copydesk."""
    names = [f"{PREFIX}wake_{table}" for table in _WAKE_UPS]
    triggers = execute_sql(connection, "SELECT count(*) FROM pg_trigger WHERE tgname = ANY (?)", (names,)).fetchone()
    created_by = execute_sql(connection, f"SELECT fingerprint FROM {PREFIX}queue").fetchone()  # noqa: S608 - as above
    return (triggers[0], created_by[0]) == (len(names), _FINGERPRINT)


def read_version(connection: Connection) -> str | None:
    """Return the version of Procrastinate that the queue was created for, None if there is no queue."""
    if not exists(connection):
        return None
    return str(execute_sql(connection, f"SELECT version FROM {PREFIX}queue").fetchone()[0])  # noqa: S608 - as above


def exists(connection: Connection) -> bool:
    """Return True if a worker has created the queue."""
    return bool(connection.exec_driver_sql(f"SELECT to_regclass('{PREFIX}queue') IS NOT NULL").scalar())


def list_migrations(older: str, newer: str) -> list[str]:
    """Return the scripts that bring the tables of Procrastinate from one version to another, in their order.

    Those for before and for after the exchange of the workers together: the others are stopped, as the documentation
    of `copydesk worker` says.
    """
    files = sorted(
        (
            file
            for file in (resources.files("procrastinate.sql") / "migrations").iterdir()
            if file.name.endswith(".sql")
        ),
        key=lambda file: file.name,
    )
    # Each is named after the version that it leads to: 03.04.00_01_pre_add_retry.sql.
    return [
        file.read_text(encoding="utf-8")
        for file in files
        if _numbers(older) < _numbers(file.name.split("_")[0]) <= _numbers(newer)
    ]


def load_totals(connection: Connection) -> QueueTotals | None:
    """Return the numbers of jobs and workers, None if there is no queue."""
    if not exists(connection):
        return None
    # By the clock of the server, which dates the jobs and the heartbeats.
    query = """SELECT count(*) FILTER (WHERE status = 'todo'), count(*) FILTER (WHERE status = 'doing'),
        count(*) FILTER (WHERE status = 'doing' AND (worker.id IS NULL OR last_heartbeat < now() - interval '60 s')),
        coalesce(extract(epoch FROM now() - min(coalesce(scheduled_at, deferred.at))
            FILTER (WHERE status = 'todo' AND coalesce(scheduled_at, deferred.at) <= now())), 0),
        (SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat >= now() - interval '60 s')
        FROM procrastinate_jobs AS job
        LEFT JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
        LEFT JOIN procrastinate_events AS deferred ON deferred.job_id = job.id AND deferred.type = 'deferred'"""
    waiting, running, stuck, oldest, readers = connection.exec_driver_sql(query).one()
    return QueueTotals(
        waiting=waiting,
        running=running,
        stuck=stuck,
        oldest=max(0.0, float(oldest)),
        # Fewer while one is starting.
        workers=math.ceil(readers / len(QUEUES)),
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdecimal())


def _read_schema() -> str:
    return (resources.files("procrastinate.sql") / "schema.sql").read_text(encoding="utf-8")


def _driver(connection: Connection) -> PostgresConnection:
    return cast("PostgresConnection", dbapi_connection(connection))
