"""How long the user's decisions took, and how many were undone soon after."""

from datetime import datetime, timedelta

from sqlalchemy import Connection

from copydesk.store.column_types import to_microseconds
from copydesk.store.raw_sql import execute_sql

MAX_ROWS = 1000
"""Decision times that are kept, and decisions that are looked at: the newest ones of the user."""

_RECENT = """SELECT decided.at, (SELECT min(undone.at) FROM draft_event AS undone
        WHERE undone.draft_id = decided.draft_id AND undone.kind = 'undo' AND undone.of_rid = decided.rid)
    FROM draft_event AS decided
    WHERE decided.user_id = ? AND decided.kind = 'change' AND decided.action IN ('approve', 'reject')
    ORDER BY decided.rid DESC LIMIT ?"""
_ADD = "INSERT INTO decision_time (user_id, at, seconds) VALUES (?, ?, ?)"
_OLD = """DELETE FROM decision_time WHERE user_id = ? AND rid <= (
    SELECT rid FROM decision_time WHERE user_id = ? ORDER BY rid DESC LIMIT 1 OFFSET ?)"""


def add_time(conn: Connection, user_id: str, seconds: float, now: datetime) -> None:
    """Store how long a decision took, with the day; only the newest MAX_ROWS are kept."""
    # The time would tell for which draft: that of its event.
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    execute_sql(conn, _ADD, (user_id, to_microseconds(day), seconds))
    execute_sql(conn, _OLD, (user_id, user_id, MAX_ROWS))


def list_seconds(conn: Connection, user_id: str) -> list[float]:
    """Return how long the newest decisions took."""
    query = "SELECT seconds FROM decision_time WHERE user_id = ? ORDER BY rid DESC LIMIT ?"
    return [seconds for (seconds,) in execute_sql(conn, query, (user_id, MAX_ROWS))]


def count_undone(conn: Connection, user_id: str, within: timedelta) -> tuple[int, int]:
    """Return the number of the newest approvals and rejections, and how many of them were undone within that time."""
    limit = within // timedelta(microseconds=1)
    rows = execute_sql(conn, _RECENT, (user_id, MAX_ROWS)).fetchall()
    return len(rows), sum(undone is not None and undone - at <= limit for at, undone in rows)
