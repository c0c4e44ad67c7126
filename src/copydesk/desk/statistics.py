"""Aggregate statistics of the user's pipeline runs."""

from datetime import datetime, timedelta

from sqlalchemy import Connection

from copydesk.model.run import RunStatistics
from copydesk.store import runs

RECENT_WINDOW = timedelta(days=30)
MAX_ERRORS = 10


def statistics(conn: Connection, user_id: str, now: datetime) -> RunStatistics:
    """Return the statistics of the user's runs. Rates and averages cover ended runs; see
    `RunStatistics` for the fields.
    """
    totals = runs.load_totals(conn, user_id)
    ended = totals.ended
    return RunStatistics(
        total_runs=ended + runs.count_unfinished(conn, user_id),
        success_rate=totals.succeeded / ended if ended else 0.0,
        average_duration=totals.microseconds / 1e6 / ended if ended else None,
        average_items_per_run=totals.items / ended if ended else 0.0,
        average_drafts_per_run=totals.drafts / ended if ended else 0.0,
        top_errors=runs.list_errors(conn, user_id, MAX_ERRORS),
        last30_days=runs.summarize_since(conn, user_id, now - RECENT_WINDOW),
        ended_runs=ended,
    )
