"""Sources, their fetch state, the cooldowns of their hosts, and the numbers in the source list."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, case, delete, func, insert, literal_column, select, update

from copydesk.model.draft import Status
from copydesk.model.serialization import Struct
from copydesk.model.source import FetchState, Health, Source, SourceConfig, SourceSpec
from copydesk.store.column_types import from_microseconds, to_microseconds
from copydesk.store.raw_sql import ColumnCodec, execute_many, execute_sql, placeholders, upsert
from copydesk.store.tables import draft, draft_count, host_cooldown, item, source

_COLUMNS = ColumnCodec(source.c[name] for name in Source.__struct_fields__)
_TO_FETCH = ColumnCodec([*(source.c[name] for name in _COLUMNS.names), source.c.fetch])
_OUTCOME = ColumnCodec(
    source.c[name] for name in ("fetch", "last_fetch", "next_at", "not_before", "health", "fail_count", "last_error")
)
# The condition on the address drops the result of a fetch that began before the user changed it.
_SAVE = f"""UPDATE source SET {_OUTCOME.assignments}, url = coalesce(?, url)
    WHERE id = ? AND user_id = ? AND url IS ?"""  # noqa: S608 - names of our own
"""The hottest write of a run that finds nothing new."""


class StoredSource(Struct, frozen=True):
    """A source with the state remembered between two fetches."""

    source: Source
    state: FetchState

    @property
    def spec(self) -> SourceSpec:
        """The part of the source that is needed to fetch it."""
        stored = self.source
        return SourceSpec(
            type=stored.type, url=stored.url or "", config=stored.config or SourceConfig(), name=stored.name
        )


def add(conn: Connection, user_id: str, new: Iterable[Source]) -> None:
    """Insert new sources."""
    defaults = {"user_id": user_id, "fetch": FetchState()}
    rows = [{name: getattr(new_source, name) for name in _COLUMNS.names} | defaults for new_source in new]
    if rows:
        conn.execute(insert(source), rows)


def list_all(conn: Connection, user_id: str) -> tuple[Source, ...]:
    """Return the user's sources, oldest first."""
    query = f"SELECT {_COLUMNS.column_list} FROM source WHERE user_id = ? ORDER BY id"  # noqa: S608 - names of our own
    return tuple(_source(row) for row in _COLUMNS.decode(execute_sql(conn, query, (user_id,))))


def get(conn: Connection, user_id: str, source_id: str) -> Source | None:
    """Return the source, or None if the user has no such source."""
    query = f"SELECT {_COLUMNS.column_list} FROM source WHERE user_id = ? AND id = ?"  # noqa: S608 - names of our own
    row = next(_COLUMNS.decode(execute_sql(conn, query, (user_id, source_id))), None)
    return _source(row) if row else None


def list_to_fetch(conn: Connection, user_id: str, ids: Collection[str] | None) -> tuple[StoredSource, ...]:
    """Return the enabled sources, or those of `ids` even if disabled, with their state; oldest first."""
    condition = "enabled" if ids is None else f"id IN ({placeholders(ids)})"
    query = f"SELECT {_TO_FETCH.column_list} FROM source WHERE user_id = ? AND {condition} ORDER BY id"  # noqa: S608
    rows = _TO_FETCH.decode(execute_sql(conn, query, (user_id, *(ids or ()))))
    return tuple(StoredSource(source=_source(columns), state=state) for *columns, state in rows)


def _source(row: Sequence[Any]) -> Source:
    return Source(**dict(zip(_COLUMNS.names, row, strict=True)))


def update_source(conn: Connection, user_id: str, source_id: str, values: Mapping[str, object]) -> bool:
    """Update columns that the user may change; return False if there is no such source."""
    result = conn.execute(update(source).where(*_is_source(user_id, source_id)).values(**values))
    return result.rowcount > 0


def has_posting_draft(conn: Connection, user_id: str, source_id: str) -> bool:
    """Return True if a draft of the source is being posted."""
    query = select(draft.c.id).join(item, item.c.id == draft.c.item_id)
    query = query.where(draft.c.user_id == user_id, draft.c.status == Status.POSTING, item.c.source_id == source_id)
    return conn.execute(query.limit(1)).first() is not None


def list_rule_fingerprints(conn: Connection, user_id: str) -> dict[str, str | None]:
    """Return, by source id, the fingerprint of the filter rules last applied to its items."""
    return dict(execute_sql(conn, "SELECT id, judged_by FROM source WHERE user_id = ?", (user_id,)).fetchall())


def save_rule_fingerprints(conn: Connection, user_id: str, fingerprints: Mapping[str, str]) -> None:
    """Store the fingerprints of the filter rules that apply from now on, by source id."""
    rows = [(fingerprint, source_id, user_id) for source_id, fingerprint in fingerprints.items()]
    execute_many(conn, "UPDATE source SET judged_by = ? WHERE id = ? AND user_id = ?", rows)


def remove(conn: Connection, user_id: str, source_id: str) -> bool:
    """Delete the source with its items and drafts; return False if there is no such source."""
    return conn.execute(delete(source).where(*_is_source(user_id, source_id))).rowcount > 0


class FetchOutcome(Struct, frozen=True):
    """The result of a fetch, to be stored with its source."""

    source_id: str
    requested_url: str | None
    """The address that was fetched. The outcome is dropped if it is no longer the source's."""
    state: FetchState
    health: Health
    url: str | None = None
    """The new address of a source that moved permanently."""


def save_fetch_outcomes(conn: Connection, user_id: str, outcomes: Sequence[FetchOutcome]) -> int:
    """Store fetch results; return the number of sources that still exist at the address that was fetched."""
    return execute_many(conn, _SAVE, [_outcome_values(user_id, outcome) for outcome in outcomes])


def _outcome_values(user_id: str, outcome: FetchOutcome) -> list[Any]:
    """Return the parameters of `_SAVE`."""
    state = outcome.state
    columns = [state, state.last_fetch, state.next_at, state.not_before, outcome.health, state.fails, state.error]
    return [*_OUTCOME.encode(columns), outcome.url, outcome.source_id, user_id, outcome.requested_url]


def list_cooldowns(conn: Connection, user_id: str, now: datetime) -> dict[str, datetime]:
    """Return the hosts that must not be requested yet, and until when."""
    query = "SELECT host, until FROM host_cooldown WHERE user_id = ? AND until > ?"
    return {host: from_microseconds(until) for host, until in execute_sql(conn, query, (user_id, to_microseconds(now)))}


def save_cooldowns(conn: Connection, user_id: str, hosts: Mapping[str, datetime], now: datetime) -> None:
    """Store cooldowns by host and delete the expired ones."""
    # Cleaned up here, because a host that is never fetched again would stay forever.
    conn.execute(delete(host_cooldown).where(host_cooldown.c.user_id == user_id, host_cooldown.c.until <= now))
    rows = [{"user_id": user_id, "host": host, "until": until} for host, until in hosts.items() if until > now]
    if rows:
        statement = upsert(conn, host_cooldown)
        conn.execute(
            statement.on_conflict_do_update(
                index_elements=["user_id", "host"], set_={"until": statement.excluded.until}
            ),
            rows,
        )


def _is_source(user_id: str, source_id: str) -> tuple[ColumnElement[bool], ...]:
    return source.c.user_id == user_id, source.c.id == source_id


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
    # The days as they are: PostgreSQL would take parameters for text.
    days = reversed(list(enumerate(day_starts)))
    cases = [(item.c.published >= edge, literal_column(str(day), Integer())) for day, edge in days]
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
