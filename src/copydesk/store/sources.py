"""Sources as they are kept."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.draft import Status
from copydesk.model.source import FetchState, Health, Source, SourceConfig, SourceSpec
from copydesk.model.wire import Struct
from copydesk.store.tables import draft, host_cooldown, item, source

_SHOWN = (
    source.c.id,
    source.c.type,
    source.c.name,
    source.c.url,
    source.c.config,
    source.c.enabled,
    source.c.last_fetch,
    source.c.health,
    source.c.fail_count,
    source.c.last_error,
    source.c.created_at,
    source.c.updated_at,
    source.c.item_count,
)


# Made once: it is the hottest write of a run in which nothing is new.
_SAVE = (
    update(source)
    .where(
        source.c.id == bindparam("b_id"),
        source.c.user_id == bindparam("b_user"),
        source.c.url.is_not_distinct_from(bindparam("b_asked")),
    )
    .values(
        url=func.coalesce(bindparam("b_url"), source.c.url),
        **{
            name: bindparam(name)
            for name in ("fetch", "last_fetch", "next_at", "not_before", "health", "fail_count", "last_error")
        },
    )
)


class StoredSource(Struct, frozen=True):
    """A source with what is remembered between two fetches of it."""

    source: Source
    state: FetchState

    @property
    def spec(self) -> SourceSpec:
        """What it takes to read it."""
        kept = self.source
        return SourceSpec(type=kept.type, url=kept.url or "", config=kept.config or SourceConfig(), name=kept.name)


def _source(row: Row[*tuple[object, ...]]) -> Source:
    return Source(**row._mapping)


def add(conn: Connection, user_id: str, new: Iterable[Source]) -> None:
    """Keep new sources."""
    more = {"user_id": user_id, "fetch": FetchState()}
    rows = [{column.name: getattr(each, column.name) for column in _SHOWN} | more for each in new]
    if rows:
        conn.execute(insert(source), rows)


def every(conn: Connection, user_id: str) -> tuple[Source, ...]:
    """All the user's sources, oldest first."""
    rows = conn.execute(select(*_SHOWN).where(source.c.user_id == user_id).order_by(source.c.id))
    return tuple(_source(row) for row in rows)


def one(conn: Connection, user_id: str, source_id: str) -> Source | None:
    """One of the user's sources."""
    row = conn.execute(select(*_SHOWN).where(*_is(user_id, source_id))).first()
    return _source(row) if row else None


def to_fetch(conn: Connection, user_id: str, ids: Collection[str] | None) -> tuple[StoredSource, ...]:
    """The enabled sources, or those of `ids`, with their state; oldest first."""
    wanted = source.c.enabled if ids is None else source.c.id.in_(ids)
    query = select(*_SHOWN, source.c.fetch).where(source.c.user_id == user_id, wanted).order_by(source.c.id)
    found = []
    for *shown, state in conn.execute(query):
        values = {column.name: value for column, value in zip(_SHOWN, shown, strict=True)}
        found.append(StoredSource(source=Source(**values), state=state))
    return tuple(found)


def change(conn: Connection, user_id: str, source_id: str, values: Mapping[str, object]) -> bool:
    """Change what the user may change; False where there is no such source."""
    done = conn.execute(update(source).where(*_is(user_id, source_id)).values(**values))
    return done.rowcount > 0


def is_posting(conn: Connection, user_id: str, source_id: str) -> bool:
    """Whether a draft of the user's source is being posted."""
    posting = select(draft.c.id).join(item, item.c.id == draft.c.item_id)
    posting = posting.where(draft.c.user_id == user_id, draft.c.status == Status.POSTING, item.c.source_id == source_id)
    return conn.execute(posting.limit(1)).first() is not None


def judged_by(conn: Connection, user_id: str) -> dict[str, str | None]:
    """By which rules the items of each source were last judged."""
    rows = conn.execute(select(source.c.id, source.c.judged_by).where(source.c.user_id == user_id))
    return {source_id: rules for source_id, rules in rows}  # noqa: C416 - a row is no pair to the type checker


def judge_by(conn: Connection, user_id: str, rules: Mapping[str, str]) -> None:
    """Note by which rules the items of these sources are judged from now on."""
    rows = [{"b_id": source_id, "b_user": user_id, "b_rules": named} for source_id, named in rules.items()]
    mine = (source.c.id == bindparam("b_id"), source.c.user_id == bindparam("b_user"))
    conn.execute(update(source).where(*mine).values(judged_by=bindparam("b_rules")), rows)


def remove(conn: Connection, user_id: str, source_id: str) -> bool:
    """Delete the source with its items and drafts; False where there is no such source."""
    return conn.execute(delete(source).where(*_is(user_id, source_id))).rowcount > 0


class FetchOutcome(Struct, frozen=True):
    """What a fetch left behind of one source."""

    source_id: str
    asked: str | None
    """The address that was read: where it is no longer the source's, the outcome is not either."""
    state: FetchState
    health: Health
    url: str | None = None
    """The new address of a source that moved."""


def save_outcomes(conn: Connection, user_id: str, outcomes: Sequence[FetchOutcome]) -> int:
    """Keep what fetches left behind; of how many sources that are still there, at the address that was read."""
    rows = [
        {
            "b_id": outcome.source_id,
            "b_user": user_id,
            "b_asked": outcome.asked,
            "b_url": outcome.url,
            "fetch": outcome.state,
            "last_fetch": outcome.state.last_fetch,
            "next_at": outcome.state.next_at,
            "not_before": outcome.state.not_before,
            "health": outcome.health,
            "fail_count": outcome.state.fails,
            "last_error": outcome.state.error,
        }
        for outcome in outcomes
    ]
    if not rows:
        return 0
    return conn.execute(_SAVE, rows).rowcount


def cooldowns(conn: Connection, user_id: str, now: datetime) -> dict[str, datetime]:
    """The hosts that asked to be left alone, and until when."""
    query = select(host_cooldown.c.host, host_cooldown.c.until)
    rows = conn.execute(query.where(host_cooldown.c.user_id == user_id, host_cooldown.c.until > now))
    return {host: until for host, until in rows}  # noqa: C416 - a row is no pair to the type checker


def save_cooldowns(conn: Connection, user_id: str, hosts: Mapping[str, datetime], now: datetime) -> None:
    """Keep the hosts that asked to be left alone, forget those whose time is over."""
    conn.execute(delete(host_cooldown).where(host_cooldown.c.user_id == user_id, host_cooldown.c.until <= now))
    rows = [{"user_id": user_id, "host": host, "until": until} for host, until in hosts.items() if until > now]
    if rows:
        put = upsert(host_cooldown)
        conn.execute(put.on_conflict_do_update(["user_id", "host"], set_={"until": put.excluded.until}), rows)


def _is(user_id: str, source_id: str) -> tuple[ColumnElement[bool], ...]:
    return source.c.user_id == user_id, source.c.id == source_id
