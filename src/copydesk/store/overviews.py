"""Figures for the source list: next fetch, drafts by state, items of the last days."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, case, func, select

from copydesk.model.draft import Status
from copydesk.store.tables import draft_count, item, source


def list_next_fetches(conn: Connection, user_id: str) -> Mapping[str, datetime | None]:
    """Return, by source id, the instant before which it is not fetched automatically; None if nothing delays it."""
    rows = conn.execute(select(source.c.id, source.c.next_at, source.c.not_before).where(source.c.user_id == user_id))
    return {source_id: max((limit for limit in limits if limit), default=None) for source_id, *limits in rows}


def count_drafts_by_source(conn: Connection, user_id: str) -> Mapping[str, Mapping[Status, int]]:
    """Return the number of drafts by source id and state, archived drafts included. Sources without any are missing."""
    columns = (draft_count.c.source_id, draft_count.c.status)
    query = select(*columns, func.sum(draft_count.c.drafts)).where(draft_count.c.user_id == user_id)
    counts: dict[str, dict[Status, int]] = {}
    for source_id, status, count in conn.execute(query.where(draft_count.c.source_id != "").group_by(*columns)):
        counts.setdefault(source_id, {})[Status(status)] = int(count)
    return counts


def count_items_by_day(conn: Connection, user_id: str, day_starts: Sequence[datetime]) -> Mapping[str, tuple[int, ...]]:
    """Return, by source id, the number of items dated on each of the days that start at `day_starts`, ascending.

    The last day has no end: items dated in the future count in it. Sources without items in the range are missing. Only
    rows of these days are read, through their index.
    """
    # The latest day first: CASE takes the first condition that holds.
    cases = [(item.c.published >= edge, day) for day, edge in reversed(list(enumerate(day_starts)))]
    day = case(*cases).label("day")
    conditions = (item.c.user_id == user_id, item.c.published >= day_starts[0], item.c.source_id.is_not(None))
    counts: dict[str, list[int]] = {}
    for source_id, day_index, count in conn.execute(
        select(item.c.source_id, day, func.count()).where(*conditions).group_by("source_id", day)
    ):
        counts.setdefault(source_id, [0] * len(day_starts))[day_index] = count
    return {source_id: tuple(day_counts) for source_id, day_counts in counts.items()}


def list_newest_titles(conn: Connection, user_id: str, source_id: str, limit: int) -> tuple[tuple[str, datetime], ...]:
    """Return (title, date) of the items that the source brought last, newest first."""
    # The user id is checked on the source: as a condition on the items, it would make SQLite read all items of the
    # user.
    query = select(item.c.title, item.c.published).join(source, source.c.id == item.c.source_id)
    query = query.where(source.c.id == source_id, source.c.user_id == user_id)
    rows = conn.execute(query.order_by(item.c.seen.desc(), item.c.published.desc(), item.c.rid.desc()).limit(limit))
    return tuple((title, published) for title, published in rows)


def list_failing(conn: Connection, user_id: str) -> tuple[tuple[str, str, str], ...]:
    """Return (id, name, error) of every enabled source whose last fetch failed, oldest source first."""
    query = select(source.c.id, source.c.name, source.c.last_error).where(source.c.user_id == user_id)
    rows = conn.execute(query.where(source.c.enabled, source.c.fail_count > 0).order_by(source.c.id))
    return tuple((source_id, name, error or "") for source_id, name, error in rows)
