"""Totals of all users, read from indexes and maintained counts: their cost does not grow with the number of posts."""

from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from copydesk.model.delivery import DeliveryState
from copydesk.model.draft import Status
from copydesk.model.run import RunStatus
from copydesk.model.totals import QueueTotals, StandbyTotals, Totals
from copydesk.store.column_types import to_microseconds
from copydesk.store.raw_sql import POSTGRESQL, execute_sql

_DRAFTS: Final = "SELECT status, sum(drafts) FROM draft_count WHERE NOT archived GROUP BY status"
# By user, and joined in this order, so that each status is a range of an index. A delivery that was sent has a record
# that is posted: their number is maintained, as there may be a million.
_DELIVERIES: Final = """SELECT delivery.state, count(*) FROM "user"
    CROSS JOIN engagement ON engagement.user_id = "user".id AND engagement.status IN ('pending', 'failed', 'abandoned')
    CROSS JOIN delivery ON delivery.id = engagement.id GROUP BY delivery.state"""
_POSTS: Final = "SELECT coalesce(sum(posts), 0) FROM engagement_total"
_RUNS: Final = "SELECT status, count(*) FROM run GROUP BY status"
_OLDEST_DUE: Final = """SELECT min(at) FROM (
    SELECT min(scheduled_at) AS at FROM "user"
        JOIN draft ON draft.user_id = "user".id AND draft.status = 'scheduled' AND scheduled_at IS NOT NULL
    UNION ALL
    SELECT min(due_at) FROM "user"
        JOIN delivery ON delivery.user_id = "user".id AND delivery.state IN ('planned', 'sending', 'unknown')
    ) AS due"""
_WEBHOOK_DELIVERIES: Final = """SELECT count(*) FROM "user"
    JOIN webhook_delivery ON webhook_delivery.user_id = "user".id AND next_at IS NOT NULL"""

# All but the number is hidden from roles without pg_monitor. Backups and receivers of the log replay nothing. The lag
# alone would be that of before a standby stopped to replay, and is missing once it has caught up.
_STANDBYS: Final = """SELECT count(pid), max(pg_wal_lsn_diff(
        CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, replay_lsn)),
    extract(epoch FROM max(replay_lag)) FROM pg_stat_replication WHERE state IS NULL OR replay_lsn IS NOT NULL"""


def load_totals(conn: Connection, now: datetime) -> Totals:
    """Return the totals of all users."""
    drafts, runs = dict.fromkeys(Status, 0), dict.fromkeys(RunStatus, 0)
    deliveries = dict.fromkeys(DeliveryState, 0)
    drafts |= {Status(status): count for status, count in execute_sql(conn, _DRAFTS)}
    runs |= {RunStatus(status): count for status, count in execute_sql(conn, _RUNS)}
    deliveries |= {DeliveryState(state): count for state, count in execute_sql(conn, _DELIVERIES)}
    (deliveries[DeliveryState.SENT],) = execute_sql(conn, _POSTS).fetchone()
    (oldest_due,) = execute_sql(conn, _OLDEST_DUE).fetchone()
    (webhook_deliveries,) = execute_sql(conn, _WEBHOOK_DELIVERIES).fetchone()
    return Totals(
        drafts=drafts,
        deliveries=deliveries,
        oldest_due=0.0 if oldest_due is None else max(0.0, (to_microseconds(now) - oldest_due) / 1e6),
        runs=runs,
        webhook_deliveries=webhook_deliveries,
        queue=_load_queue(conn),
        standbys=_load_standbys(conn),
    )


def _load_queue(conn: Connection) -> QueueTotals | None:
    if conn.dialect.name != POSTGRESQL:
        return None
    from copydesk.store.postgresql import work_queue  # noqa: PLC0415 - imported only where it is used

    return work_queue.load_totals(conn)


def _load_standbys(conn: Connection) -> StandbyTotals | None:
    if conn.dialect.name != POSTGRESQL:
        return None
    count, bytes_behind, seconds = execute_sql(conn, _STANDBYS).fetchone()
    if not count:
        return None
    if bytes_behind is None:
        return StandbyTotals(count=count, bytes_behind=None, seconds_behind=None)
    # Less than none: written and replayed since the position of this server was read.
    left = max(0, int(bytes_behind))
    lag = (None if seconds is None else float(seconds)) if left else 0.0
    return StandbyTotals(count=count, bytes_behind=left, seconds_behind=lag)


def read_revision(conn: Connection) -> str:
    """Return the revision of the schema."""
    (revision,) = execute_sql(conn, "SELECT version_num FROM alembic_version").fetchone()
    return str(revision)
