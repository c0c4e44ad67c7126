"""Sources as the source list shows them, with next fetch, item counts per day and draft counts."""

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo

from copydesk.model.desk_status import FailingSource
from copydesk.model.draft import Status
from copydesk.model.serialization import Struct
from copydesk.model.source import Source
from copydesk.store import schedule, sources
from copydesk.store.database import Transaction
from copydesk.text import clean
from copydesk.text.formatting import plural

DAYS = 14
"""Days covered by the item counts, including today."""


class SourceOverview(Struct, frozen=True):
    """A row of the source list."""

    source: Source
    next_fetch: datetime | None
    """Earliest time of the next automatic fetch; None if it may be fetched at once."""
    drafts: int
    days: tuple[int, ...]
    """Items per day of the last `DAYS` days in the user's time zone, today last."""
    scheduled: int = 0
    """Part of `drafts`, as is `posted`."""
    posted: int = 0


class RecentItem(Struct, frozen=True):
    """Title and date of a recently fetched item."""

    title: str
    published: datetime


def list_overviews(conn: Transaction, user_id: str, now: datetime) -> tuple[SourceOverview, ...]:
    """Return all sources of the user, oldest first."""
    # Three queries for all sources together, so that the list stays fast with many of them.
    day_starts = start_of_days(now, schedule.get_time_zone(conn, user_id))
    counts = sources.count_items_by_day(conn, user_id, day_starts)
    drafts = sources.count_drafts_by_source(conn, user_id)
    next_fetches = sources.list_next_fetches(conn, user_id)
    return tuple(
        SourceOverview(
            source=source,
            next_fetch=next_fetches.get(source.id),
            drafts=sum(drafts.get(source.id, {}).values()),
            days=counts.get(source.id, (0,) * DAYS),
            scheduled=drafts.get(source.id, {}).get(Status.SCHEDULED, 0),
            posted=drafts.get(source.id, {}).get(Status.POSTED, 0),
        )
        for source in sources.list_all(conn, user_id)
    )


def deletion_prompt(row: SourceOverview) -> str:
    """Return the confirmation question for deleting a source: what is deleted with it, and how much is in use."""
    in_use = [f"{number} {state}" for number, state in ((row.scheduled, "scheduled"), (row.posted, "posted")) if number]
    drafts = plural(row.drafts, "draft") + f", including {' and '.join(in_use)}" * bool(in_use)
    contents = f", with its {plural(row.source.item_count, 'item')} and {drafts}"
    has_contents = bool(row.source.item_count or row.drafts)
    sentence = f"Delete {clean(row.source.name)}{contents * has_contents}?"
    note = " Posts stay online but are no longer tracked." if row.posted else ""
    return f"{sentence}{note} This cannot be undone."


def list_recent_items(conn: Transaction, user_id: str, source_id: str, limit: int) -> tuple[RecentItem, ...]:
    """Return the source's most recent items, newest first."""
    rows = sources.list_newest_titles(conn, user_id, source_id, limit)
    return tuple(RecentItem(title=title, published=published) for title, published in rows)


def list_failing(conn: Transaction, user_id: str) -> tuple[FailingSource, ...]:
    """Return the enabled sources whose last fetch failed, oldest first."""
    return tuple(
        FailingSource(id=source_id, name=name, error=error)
        for source_id, name, error in sources.list_failing(conn, user_id)
    )


def start_of_days(now: datetime, zone: tzinfo) -> Sequence[datetime]:
    """Return the start of each of the last `DAYS` days in `zone`, oldest first.

    Computed from calendar dates and not by subtracting 24 hours, so days on which the clocks change are right.
    """
    today = now.astimezone(zone).date()
    dates = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    return [datetime(date.year, date.month, date.day, tzinfo=zone) for date in dates]
