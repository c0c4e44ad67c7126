"""A window over a tab of the review queue: some of its drafts, from any position, in both directions.

An index gives the drafts of each state in the tab's order, and SQLite merges them: nothing is sorted, and only what is
returned is read. Only if a filter leads to few drafts are those sorted. Words are looked up in the full text index,
which returns the drafts in the order in which they were inserted.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection

from copydesk.model.draft import ListedDraft
from copydesk.model.query import parse_query
from copydesk.model.window import TAB_STATUSES, DraftPosition, DraftSlice, DraftView, Tab
from copydesk.store import search
from copydesk.store import window_statements as statements
from copydesk.store.listed import Execute, hydrate
from copydesk.store.parts import chunked
from copydesk.store.statements import raw_execute
from copydesk.store.window_statements import WindowShape

MAX_SORTED: Final = 2000
"""Fewer drafts of a source or a tag than this are sorted; with more, the tab is walked in its order. In a tab with
fewer, each draft is checked for the words of a search; in a larger one, all drafts with the words are walked.
"""


def load_slice(
    conn: Connection,
    user_id: str,
    view: DraftView,
    *,
    limit: int,
    position: DraftPosition | None = None,
    backwards: bool = False,
    offset: int = 0,
) -> DraftSlice:
    """Return the drafts of the view after the position, or the first ones, in its order.

    With `backwards`, those before it, or the last ones. An offset is walked: 100,000 take some milliseconds.
    """
    slice_positions = _select_positions(
        conn, user_id, view, limit=limit + 1, position=position, backwards=backwards, offset=offset
    )
    # One more than asked for tells if there are more.
    more = len(slice_positions) > limit
    slice_positions = slice_positions[:limit][::-1] if backwards else slice_positions[:limit]
    drafts = {draft.id: draft for draft in by_ids(conn, user_id, [entry.id for entry in slice_positions])}
    # A draft deleted between the two statements is left out.
    existing = [entry for entry in slice_positions if entry.id in drafts]
    return DraftSlice(tuple(drafts[entry.id] for entry in existing), tuple(existing), more)


def list_positions(
    conn: Connection, user_id: str, view: DraftView, *, limit: int, after: DraftPosition | None, offset: int = 0
) -> list[DraftPosition]:
    """Return the positions of the view's drafts after a position."""
    return _select_positions(conn, user_id, view, limit=limit, position=after, backwards=False, offset=offset)


def count_before(conn: Connection, user_id: str, view: DraftView, position: DraftPosition) -> int:
    """Return the number of the view's drafts before the position; each is counted in an index."""
    shape, values = _plan(conn, user_id, view, position)
    count: int = _scalar(raw_execute(conn), statements.count_sql(shape._replace(backwards=True)), values)
    return count


def count_all(conn: Connection, user_id: str, view: DraftView, after: DraftPosition | None = None) -> int:
    """Return the number of drafts in the view, or of those after a position; each is counted."""
    shape, values = _plan(conn, user_id, view, after)
    count: int = _scalar(raw_execute(conn), statements.count_sql(shape), values)
    return count


def positions(conn: Connection, user_id: str, view: DraftView, ids: Sequence[str]) -> tuple[DraftPosition, ...]:
    """Return the positions of those of the drafts that are in the view, in no particular order."""
    execute = raw_execute(conn)
    shape, values = _plan(conn, user_id, view, None)
    result: list[DraftPosition] = []
    for chunk in chunked(ids):
        id_values = {f"each{index}": draft_id for index, draft_id in enumerate(chunk)}
        result += [
            DraftPosition(*row)
            for row in execute(statements.positions_of_drafts_sql(shape, len(chunk)), values | id_values)
        ]
    return tuple(result)


def newest_id(conn: Connection, user_id: str) -> str:
    """Return the id of the user's newest draft in any tab, or an empty string."""
    return _scalar(raw_execute(conn), "SELECT max(id) FROM draft WHERE user_id = :user", {"user": user_id}) or ""


def count_newer(conn: Connection, user_id: str, view: DraftView, newer_than: str, limit: int) -> int:
    """Return the number of the view's drafts newer than the draft `newer_than`, counted up to `limit`."""
    shape, values = _plan(conn, user_id, view, None)
    count: int = _scalar(
        raw_execute(conn), statements.count_newer_sql(shape), values | {"than": newer_than, "limit": limit}
    )
    return count


def latest_event_rid(conn: Connection, user_id: str) -> int:
    """Return the number of the latest event of any user's draft; numbers only grow."""
    # Part of the signature of every read, but events of other users only cause a reload too many.
    del user_id
    last: int = _scalar(raw_execute(conn), "SELECT coalesce(max(rid), 0) FROM draft_event", {})
    return last


def list_arrived_since(conn: Connection, user_id: str, tab: Tab, event_rid: int, ids: Sequence[str]) -> frozenset[str]:
    """Return those of the drafts that the tab did not show at `event_rid`: created since, or in another state."""
    execute = raw_execute(conn)
    arrived: set[str] = set()
    for chunk in chunked(ids):
        values = {"user": user_id, "than": event_rid} | {
            f"each{index}": draft_id for index, draft_id in enumerate(chunk)
        }
        arrived.update(draft_id for (draft_id,) in execute(statements.arrived_since_sql(tab, len(chunk)), values))
    return frozenset(arrived)


def by_ids(conn: Connection, user_id: str, ids: Sequence[str]) -> tuple[ListedDraft, ...]:
    """Return those of the drafts that exist, in no particular order."""
    execute = raw_execute(conn)
    drafts: list[ListedDraft] = []
    for chunk in chunked(ids):
        drafts += hydrate(execute, user_id, list(execute(statements.drafts_sql(len(chunk)), (user_id, *chunk))))
    return tuple(drafts)


def list_tags(conn: Connection, user_id: str, limit: int) -> tuple[str, ...]:
    """Return the names of the user's tags, sorted."""
    statement = "SELECT name FROM tag WHERE user_id = :user ORDER BY name LIMIT :limit"
    return tuple(name for (name,) in raw_execute(conn)(statement, {"user": user_id, "limit": limit}))


def _select_positions(
    conn: Connection,
    user_id: str,
    view: DraftView,
    *,
    limit: int,
    position: DraftPosition | None,
    backwards: bool,
    offset: int,
) -> list[DraftPosition]:
    shape, values = _plan(conn, user_id, view, position)
    statement = statements.positions_sql(shape._replace(backwards=backwards))
    return [DraftPosition(*row) for row in raw_execute(conn)(statement, values | {"limit": limit, "offset": offset})]


def _plan(
    conn: Connection, user_id: str, view: DraftView, position: DraftPosition | None
) -> tuple[WindowShape, dict[str, Any]]:
    """Return the shape of the view from that position and its values; counts up to a limit to choose the index."""
    shape = WindowShape(
        tab=view.tab,
        format=view.format is not None,
        source=view.source_id is not None,
        tags=len(view.tags),
        has_query=bool(view.query),
        has_position=position is not None,
        position_has_key=position is not None and position.key is not None,
    )
    execute = raw_execute(conn)
    values: dict[str, Any] = {"user": user_id, "source": view.source_id, "format": view.format and view.format.value}
    values |= {f"tag{index}": name for index, name in enumerate(view.tags)}
    values |= {f"status{index}": status.value for index, status in enumerate(TAB_STATUSES[view.tab])}
    values |= {"key": position.key, "id": position.id} if position else {}
    if shape.has_query:
        query = parse_query(view.query, incomplete=True)
        values["words"] = search.build_match_expression(conn, user_id, query, source_id=view.source_id, tags=view.tags)
    if shape.source or shape.tags or shape.has_query:
        shape = shape._replace(
            is_selective=_scalar(execute, statements.count_candidates_sql(shape), values | {"limit": MAX_SORTED})
            < MAX_SORTED
        )
    return shape, values


def _scalar(execute: Execute, statement: str, values: dict[str, Any]) -> Any:
    return next(iter(execute(statement, values)))[0]
