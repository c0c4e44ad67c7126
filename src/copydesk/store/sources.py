"""Sources as they are kept."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.draft import Status
from copydesk.model.source import FetchState, Health, Source, SourceConfig, SourceSpec
from copydesk.model.wire import Struct
from copydesk.store.statements import Columns, places, run, run_many
from copydesk.store.tables import draft, host_cooldown, item, source
from copydesk.store.types import microseconds, moment_of

_SHOWN = Columns(source.c[name] for name in Source.__struct_fields__)
_TO_FETCH = Columns([*(source.c[name] for name in _SHOWN.names), source.c.fetch])
_OUTCOME = Columns(
    source.c[name] for name in ("fetch", "last_fetch", "next_at", "not_before", "health", "fail_count", "last_error")
)
_SAVE = f"""UPDATE source SET {_OUTCOME.places}, url = coalesce(?, url)
    WHERE id = ? AND user_id = ? AND url IS ?"""  # noqa: S608 - names of our own
"""The hottest write of a run in which nothing is new."""


class StoredSource(Struct, frozen=True):
    """A source with what is remembered between two fetches of it."""

    source: Source
    state: FetchState

    @property
    def spec(self) -> SourceSpec:
        """What it takes to read it."""
        kept = self.source
        return SourceSpec(type=kept.type, url=kept.url or "", config=kept.config or SourceConfig(), name=kept.name)


def add(conn: Connection, user_id: str, new: Iterable[Source]) -> None:
    """Keep new sources."""
    more = {"user_id": user_id, "fetch": FetchState()}
    rows = [{name: getattr(each, name) for name in _SHOWN.names} | more for each in new]
    if rows:
        conn.execute(insert(source), rows)


def every(conn: Connection, user_id: str) -> tuple[Source, ...]:
    """All the user's sources, oldest first."""
    query = f"SELECT {_SHOWN.text} FROM source WHERE user_id = ? ORDER BY id"  # noqa: S608 - names of our own
    return tuple(_source(row) for row in _SHOWN.read(run(conn, query, (user_id,))))


def one(conn: Connection, user_id: str, source_id: str) -> Source | None:
    """One of the user's sources."""
    query = f"SELECT {_SHOWN.text} FROM source WHERE user_id = ? AND id = ?"  # noqa: S608 - names of our own
    row = next(_SHOWN.read(run(conn, query, (user_id, source_id))), None)
    return _source(row) if row else None


def to_fetch(conn: Connection, user_id: str, ids: Collection[str] | None) -> tuple[StoredSource, ...]:
    """The enabled sources, or those of `ids`, with their state; oldest first."""
    wanted = "enabled" if ids is None else f"id IN ({places(ids)})"
    query = f"SELECT {_TO_FETCH.text} FROM source WHERE user_id = ? AND {wanted} ORDER BY id"  # noqa: S608
    rows = _TO_FETCH.read(run(conn, query, (user_id, *(ids or ()))))
    return tuple(StoredSource(source=_source(shown), state=state) for *shown, state in rows)


def _source(row: Sequence[Any]) -> Source:
    return Source(**dict(zip(_SHOWN.names, row, strict=True)))


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
    return dict(run(conn, "SELECT id, judged_by FROM source WHERE user_id = ?", (user_id,)).fetchall())


def judge_by(conn: Connection, user_id: str, rules: Mapping[str, str]) -> None:
    """Note by which rules the items of these sources are judged from now on."""
    rows = [(named, source_id, user_id) for source_id, named in rules.items()]
    run_many(conn, "UPDATE source SET judged_by = ? WHERE id = ? AND user_id = ?", rows)


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
    return run_many(conn, _SAVE, [_kept(user_id, outcome) for outcome in outcomes])


def _kept(user_id: str, outcome: FetchOutcome) -> list[Any]:
    """What `_SAVE` takes."""
    state = outcome.state
    told = [state, state.last_fetch, state.next_at, state.not_before, outcome.health, state.fails, state.error]
    return [*_OUTCOME.keep(told), outcome.url, outcome.source_id, user_id, outcome.asked]


def cooldowns(conn: Connection, user_id: str, now: datetime) -> dict[str, datetime]:
    """The hosts that asked to be left alone, and until when."""
    query = "SELECT host, until FROM host_cooldown WHERE user_id = ? AND until > ?"
    return {host: moment_of(until) for host, until in run(conn, query, (user_id, microseconds(now)))}


def save_cooldowns(conn: Connection, user_id: str, hosts: Mapping[str, datetime], now: datetime) -> None:
    """Keep the hosts that asked to be left alone, forget those whose time is over."""
    conn.execute(delete(host_cooldown).where(host_cooldown.c.user_id == user_id, host_cooldown.c.until <= now))
    rows = [{"user_id": user_id, "host": host, "until": until} for host, until in hosts.items() if until > now]
    if rows:
        put = upsert(host_cooldown)
        conn.execute(put.on_conflict_do_update(["user_id", "host"], set_={"until": put.excluded.until}), rows)


def _is(user_id: str, source_id: str) -> tuple[ColumnElement[bool], ...]:
    return source.c.user_id == user_id, source.c.id == source_id
