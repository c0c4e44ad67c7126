"""The sources with what a person wants to see beside them: when they are read next, and what they brought lately."""

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo

from sqlalchemy import Connection

from copydesk.model.draft import Status
from copydesk.model.source import Source
from copydesk.model.wire import Struct
from copydesk.store import overviews, schedule, sources
from copydesk.text import clean

DAYS = 14
"""Days of which the items are counted, today among them."""


class SourceOverview(Struct, frozen=True):
    """One source in the list."""

    source: Source
    next_fetch: datetime | None
    """Not fetched by itself before this; None where nothing holds it back."""
    drafts: int
    days: tuple[int, ...]
    """Items dated on each of the last DAYS days, in the user's zone; today is the last."""
    scheduled: int = 0
    """So many of the drafts."""
    posted: int = 0


class RecentItem(Struct, frozen=True):
    """One of the items that a source brought last."""

    title: str
    published: datetime


class FailingSource(Struct, frozen=True):
    """A source that could not be read the last time."""

    id: str
    name: str
    error: str


def overview(conn: Connection, user_id: str, now: datetime) -> tuple[SourceOverview, ...]:
    """All the user's sources, oldest first."""
    edges = days_before(now, schedule.zone(conn, user_id))
    counts = overviews.items_by_day(conn, user_id, edges)
    drafts = overviews.drafts(conn, user_id)
    following = overviews.next_fetches(conn, user_id)
    return tuple(
        SourceOverview(
            source=source,
            next_fetch=following.get(source.id),
            drafts=sum(drafts.get(source.id, {}).values()),
            days=counts.get(source.id, (0,) * DAYS),
            scheduled=drafts.get(source.id, {}).get(Status.SCHEDULED, 0),
            posted=drafts.get(source.id, {}).get(Status.POSTED, 0),
        )
        for source in sources.every(conn, user_id)
    )


def deletion(row: SourceOverview) -> str:
    """The question before a source is deleted: what goes with it, and what of that others wait for or have seen."""
    of_them = [f"{number} {word}" for number, word in ((row.scheduled, "scheduled"), (row.posted, "posted")) if number]
    drafts = _plural(row.drafts, "draft") + f", of them {' and '.join(of_them)}" * bool(of_them)
    sentence = f"Delete {clean(row.source.name)}, with its {_plural(row.source.item_count, 'item')} and {drafts}?"
    stays = " What was posted stays where it is, but is no longer known here." if row.posted else ""
    return f"{sentence}{stays} This cannot be undone."


def _plural(number: int, one: str) -> str:
    return f"{number:,} {one}" + "s" * (number != 1)


def recent(conn: Connection, user_id: str, source_id: str, limit: int) -> tuple[RecentItem, ...]:
    """What a source brought last, the newest first."""
    found = overviews.newest_titles(conn, user_id, source_id, limit)
    return tuple(RecentItem(title=title, published=published) for title, published in found)


def failing(conn: Connection, user_id: str) -> tuple[FailingSource, ...]:
    """The user's sources that fail, oldest first; without those that are switched off."""
    return tuple(
        FailingSource(id=each, name=name, error=error) for each, name, error in overviews.failing(conn, user_id)
    )


def days_before(now: datetime, zone: tzinfo) -> Sequence[datetime]:
    """When each of the last DAYS days began in `zone`, today's among them; where clocks change, too."""
    today = now.astimezone(zone).date()
    dates = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    return [datetime(date.year, date.month, date.day, tzinfo=zone) for date in dates]
