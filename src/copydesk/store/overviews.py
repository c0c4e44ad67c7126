"""What stands beside a source in its list: when it is fetched next, its drafts, its items of the last days."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, case, func, select

from copydesk.model.draft import Status
from copydesk.store.tables import draft_count, item, source


def next_fetches(conn: Connection, user_id: str) -> Mapping[str, datetime | None]:
    """The moment before which each source is not fetched by itself; None where nothing holds it back."""
    rows = conn.execute(select(source.c.id, source.c.next_at, source.c.not_before).where(source.c.user_id == user_id))
    return {source_id: max((at for at in times if at), default=None) for source_id, *times in rows}


def drafts(conn: Connection, user_id: str) -> Mapping[str, Mapping[Status, int]]:
    """How many drafts in each state there are of each source that has any, archived ones too."""
    columns = (draft_count.c.source_id, draft_count.c.status)
    query = select(*columns, func.sum(draft_count.c.drafts)).where(draft_count.c.user_id == user_id)
    counts: dict[str, dict[Status, int]] = {}
    for source_id, status, count in conn.execute(query.where(draft_count.c.source_id != "").group_by(*columns)):
        counts.setdefault(source_id, {})[Status(status)] = int(count)
    return counts


def items_by_day(conn: Connection, user_id: str, edges: Sequence[datetime]) -> Mapping[str, tuple[int, ...]]:
    """How many items of each source that has any are dated on each of the days that begin at `edges`, ascending.

    The last day has no end: what is dated ahead counts in it. Only rows of these days are read, by their index.
    """
    begins = [(item.c.published >= edge, day) for day, edge in reversed(list(enumerate(edges)))]
    day = case(*begins).label("day")
    mine = (item.c.user_id == user_id, item.c.published >= edges[0], item.c.source_id.is_not(None))
    counts: dict[str, list[int]] = {}
    for source_id, at, count in conn.execute(
        select(item.c.source_id, day, func.count()).where(*mine).group_by("source_id", day)
    ):
        counts.setdefault(source_id, [0] * len(edges))[at] = count
    return {source_id: tuple(days) for source_id, days in counts.items()}


def newest_titles(conn: Connection, user_id: str, source_id: str, limit: int) -> tuple[tuple[str, datetime], ...]:
    """(title, date) of the items that a source brought last."""
    # The user is asked of the source: asked of the items, SQLite would go through all of his.
    query = select(item.c.title, item.c.published).join(source, source.c.id == item.c.source_id)
    query = query.where(source.c.id == source_id, source.c.user_id == user_id)
    rows = conn.execute(query.order_by(item.c.seen.desc(), item.c.published.desc(), item.c.rid.desc()).limit(limit))
    return tuple((title, published) for title, published in rows)


def failing(conn: Connection, user_id: str) -> tuple[tuple[str, str, str], ...]:
    """(id, name, error) of every source that is switched on and could not be read the last time, oldest first."""
    query = select(source.c.id, source.c.name, source.c.last_error).where(source.c.user_id == user_id)
    rows = conn.execute(query.where(source.c.enabled, source.c.fail_count > 0).order_by(source.c.id))
    return tuple((source_id, name, error or "") for source_id, name, error in rows)
