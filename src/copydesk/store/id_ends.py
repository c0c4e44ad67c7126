"""Find ids by their ends.

Drafts and deliveries, of which there may be millions, have an index on the last four characters; those of the other
tables are compared one by one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from copydesk.model.ids import ID_LENGTH, MIN_END_LENGTH, IdKind
from copydesk.store.column_types import from_microseconds
from copydesk.store.raw_sql import chunked, execute_sql, placeholders

MAX_TEXT_LENGTH = 200
"""Characters of a text that is read to recognize its row by."""

_DRAFT_TEXT = "coalesce(nullif(draft.text, ''), draft.about)"


class FoundId(NamedTuple):
    """An id with the status and the text of its row, as they are stored."""

    id: str
    status: str
    text: str


class _Rows(NamedTuple):
    """The SQL that reads the rows of a kind of id."""

    status: str
    text: str
    join: str = ""
    hint: str = ""
    """The index on the ends of ids, which SQLite would take only if it had statistics."""


_ROWS = {
    IdKind.SOURCE: _Rows("CASE WHEN source.enabled THEN source.health ELSE 'off' END", "source.name"),
    IdKind.ITEM: _Rows("item.state", "item.title"),
    IdKind.DRAFT: _Rows("draft.status", _DRAFT_TEXT, hint="INDEXED BY ix_draft_user_id_id_end"),
    IdKind.DELIVERY: _Rows(
        "delivery.state",
        _DRAFT_TEXT,
        join="JOIN draft ON draft.id = delivery.draft_id",
        hint="INDEXED BY ix_delivery_user_id_id_end",
    ),
    IdKind.RUN: _Rows("run.status", "CAST(run.started_at AS TEXT)"),
    IdKind.EXPERIMENT: _Rows("experiment.status", "experiment.name"),
    IdKind.WEBHOOK: _Rows("CASE WHEN webhook.disabled_at IS NULL THEN 'active' ELSE 'disabled' END", "webhook.url"),
    IdKind.TOKEN: _Rows("CASE WHEN token.revoked_at IS NULL THEN 'active' ELSE 'revoked' END", "token.name"),
}


def list_ending_with(conn: Connection, user_id: str, kind: IdKind, end: str, limit: int) -> tuple[FoundId, ...]:
    """Return at most `limit` ids that end with `end`, of at least MIN_END_LENGTH characters, newest first."""
    condition = f"{_last(kind)} = :last AND substr({kind}.id, :start) = :end"
    values = {"last": end[-MIN_END_LENGTH:], "start": ID_LENGTH + 1 - len(end), "end": end}
    return _list(conn, user_id, kind, limit, _ROWS[kind].hint, condition, values)


def list_newest(conn: Connection, user_id: str, kind: IdKind, limit: int) -> tuple[FoundId, ...]:
    """Return the ids of the `limit` newest rows."""
    return _list(conn, user_id, kind, limit, "", "TRUE", {})


def list_similar(conn: Connection, user_id: str, kind: IdKind, ids: Sequence[str]) -> tuple[str, ...]:
    """Return all ids with the last MIN_END_LENGTH characters of one of `ids`."""
    similar: list[str] = []
    for ends in chunked(list(dict.fromkeys(whole_id[-MIN_END_LENGTH:] for whole_id in ids))):
        query = f"""SELECT id FROM {kind} {_ROWS[kind].hint}
            WHERE user_id = ? AND {_last(kind)} IN ({placeholders(ends)})"""  # noqa: S608 - names of our own
        similar += (whole_id for (whole_id,) in execute_sql(conn, query, (user_id, *ends)))
    return tuple(similar)


def _last(kind: IdKind) -> str:
    """Return the expression of the index, written as it is there."""
    return f"substr({kind}.id, -{MIN_END_LENGTH})"


def _list(
    conn: Connection, user_id: str, kind: IdKind, limit: int, hint: str, condition: str, values: dict[str, Any]
) -> tuple[FoundId, ...]:
    rows = _ROWS[kind]
    query = f"""SELECT {kind}.id, {rows.status}, substr({rows.text}, 1, {MAX_TEXT_LENGTH})
        FROM {kind} {hint} {rows.join}
        WHERE {kind}.user_id = :user AND {condition} ORDER BY {kind}.id DESC LIMIT :limit"""  # noqa: S608 - as above
    found = (FoundId(*row) for row in execute_sql(conn, query, {"user": user_id, "limit": limit, **values}))
    return tuple(row._replace(text=_format_time(row.text)) if kind is IdKind.RUN else row for row in found)


def _format_time(microseconds: str) -> str:
    return f"{from_microseconds(int(microseconds)):%Y-%m-%d %H:%M} UTC"
