"""The pipeline's statistics: how often it succeeds, what it brings, and what it fails of."""

from datetime import datetime, timedelta

from sqlalchemy import Connection

from copydesk.model.run import RunStatistics
from copydesk.store import runs

LATELY = timedelta(days=30)
MOST_ERRORS = 10


def statistics(conn: Connection, user_id: str, now: datetime) -> RunStatistics:
    """The statistics of the user's runs; see RunStatistics for what the figures mean."""
    sums = runs.sums(conn, user_id)
    ended = sums.ended
    return RunStatistics(
        total_runs=ended + runs.under_way_or_queued(conn, user_id),
        success_rate=sums.succeeded / ended if ended else 0.0,
        average_duration=sums.microseconds / 1e6 / ended if ended else None,
        average_items_per_run=sums.items / ended if ended else 0.0,
        average_drafts_per_run=sums.drafts / ended if ended else 0.0,
        top_errors=runs.errors(conn, user_id, MOST_ERRORS),
        last30_days=runs.since(conn, user_id, now - LATELY),
        ended_runs=ended,
    )
