"""Aggregate statistics of the user's pipeline runs."""

from datetime import datetime, timedelta

from sqlalchemy import Connection

from copydesk.model.run import RunStatistics
from copydesk.store import runs

LATELY = timedelta(days=30)
MOST_ERRORS = 10


def statistics(conn: Connection, user_id: str, now: datetime) -> RunStatistics:
    """Return the statistics of the user's runs. Rates and averages cover ended runs; see
    `RunStatistics` for the fields.
    """
    totals = runs.sums(conn, user_id)
    ended = totals.ended
    return RunStatistics(
        total_runs=ended + runs.under_way_or_queued(conn, user_id),
        success_rate=totals.succeeded / ended if ended else 0.0,
        average_duration=totals.microseconds / 1e6 / ended if ended else None,
        average_items_per_run=totals.items / ended if ended else 0.0,
        average_drafts_per_run=totals.drafts / ended if ended else 0.0,
        top_errors=runs.errors(conn, user_id, MOST_ERRORS),
        last30_days=runs.since(conn, user_id, now - LATELY),
        ended_runs=ended,
    )
