"""A window over a tab of the review queue: some of its drafts, from any position, in both directions.

An index gives the drafts of each state in the tab's order, and SQLite merges them: nothing is sorted, and only what is
returned is read. Only if a filter leads to few drafts are those sorted. Words are looked up in the full text index,
which returns the drafts in the order in which they were inserted.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection

from copydesk.model.draft import ListedDraft
from copydesk.model.query import query_of
from copydesk.model.window import STATES, Place, Slice, Tab, View
from copydesk.store import search
from copydesk.store import window_statements as statements
from copydesk.store.listed import Run, filled
from copydesk.store.parts import in_parts
from copydesk.store.statements import runner
from copydesk.store.window_statements import Shape

FEW: Final = 2000
"""Fewer drafts of a source or a tag than this are sorted; with more, the tab is walked in its order. In a tab with
fewer, each draft is checked for the words of a search; in a larger one, all drafts with the words are walked.
"""


def read(
    conn: Connection,
    user_id: str,
    view: View,
    *,
    limit: int,
    place: Place | None = None,
    backwards: bool = False,
    offset: int = 0,
) -> Slice:
    """Return the drafts of the view after the position, or the first ones, in its order.

    With `backwards`, those before it, or the last ones. An offset is walked: 100,000 take some milliseconds.
    """
    slice_positions = _select_positions(
        conn, user_id, view, limit=limit + 1, position=place, backwards=backwards, offset=offset
    )
    # One more than asked for tells if there are more.
    more = len(slice_positions) > limit
    slice_positions = slice_positions[:limit][::-1] if backwards else slice_positions[:limit]
    drafts = {draft.id: draft for draft in these(conn, user_id, [entry.id for entry in slice_positions])}
    # A draft deleted between the two statements is left out.
    existing = [entry for entry in slice_positions if entry.id in drafts]
    return Slice(tuple(drafts[entry.id] for entry in existing), tuple(existing), more)


def places(
    conn: Connection, user_id: str, view: View, *, limit: int, after: Place | None, offset: int = 0
) -> list[Place]:
    """Return the positions of the view's drafts after a position."""
    return _select_positions(conn, user_id, view, limit=limit, position=after, backwards=False, offset=offset)


def before(conn: Connection, user_id: str, view: View, place: Place) -> int:
    """Return the number of the view's drafts before the position; each is counted in an index."""
    shape, values = _planned(conn, user_id, view, place)
    count: int = _scalar(runner(conn), statements.count_of(shape._replace(backwards=True)), values)
    return count


def total(conn: Connection, user_id: str, view: View, after: Place | None = None) -> int:
    """Return the number of drafts in the view, or of those after a position; each is counted."""
    shape, values = _planned(conn, user_id, view, after)
    count: int = _scalar(runner(conn), statements.count_of(shape), values)
    return count


def standing(conn: Connection, user_id: str, view: View, ids: Sequence[str]) -> tuple[Place, ...]:
    """Return the positions of those of the drafts that are in the view, in no particular order."""
    execute = runner(conn)
    shape, values = _planned(conn, user_id, view, None)
    result: list[Place] = []
    for chunk in in_parts(ids):
        id_values = {f"each{index}": draft_id for index, draft_id in enumerate(chunk)}
        result += [Place(*row) for row in execute(statements.standing_of(shape, len(chunk)), values | id_values)]
    return tuple(result)


def newest(conn: Connection, user_id: str) -> str:
    """Return the id of the user's newest draft in any tab, or an empty string."""
    return _scalar(runner(conn), "SELECT max(id) FROM draft WHERE user_id = :user", {"user": user_id}) or ""


def since(conn: Connection, user_id: str, view: View, than: str, most: int) -> int:
    """Return the number of the view's drafts newer than the draft `newer_than`, counted up to `limit`."""
    shape, values = _planned(conn, user_id, view, None)
    count: int = _scalar(runner(conn), statements.since_of(shape), values | {"than": than, "limit": most})
    return count


def moment(conn: Connection, user_id: str) -> int:
    """Return the number of the latest event of any user's draft; numbers only grow."""
    # Part of the signature of every read, but events of other users only cause a reload too many.
    del user_id
    last: int = _scalar(runner(conn), "SELECT coalesce(max(rid), 0) FROM draft_event", {})
    return last


def came_since(conn: Connection, user_id: str, tab: Tab, moment: int, ids: Sequence[str]) -> frozenset[str]:
    """Return those of the drafts that the tab did not show at `event_rid`: created since, or in another state."""
    execute = runner(conn)
    arrived: set[str] = set()
    for chunk in in_parts(ids):
        values = {"user": user_id, "than": moment} | {f"each{index}": draft_id for index, draft_id in enumerate(chunk)}
        arrived.update(draft_id for (draft_id,) in execute(statements.came_since(tab, len(chunk)), values))
    return frozenset(arrived)


def these(conn: Connection, user_id: str, ids: Sequence[str]) -> tuple[ListedDraft, ...]:
    """Return those of the drafts that exist, in no particular order."""
    execute = runner(conn)
    drafts: list[ListedDraft] = []
    for chunk in in_parts(ids):
        drafts += filled(execute, user_id, list(execute(statements.these_of(len(chunk)), (user_id, *chunk))))
    return tuple(drafts)


def tags(conn: Connection, user_id: str, limit: int) -> tuple[str, ...]:
    """Return the names of the user's tags, sorted."""
    statement = "SELECT name FROM tag WHERE user_id = :user ORDER BY name LIMIT :limit"
    return tuple(name for (name,) in runner(conn)(statement, {"user": user_id, "limit": limit}))


def _select_positions(
    conn: Connection, user_id: str, view: View, *, limit: int, position: Place | None, backwards: bool, offset: int
) -> list[Place]:
    shape, values = _planned(conn, user_id, view, position)
    statement = statements.places_of(shape._replace(backwards=backwards))
    return [Place(*row) for row in runner(conn)(statement, values | {"limit": limit, "offset": offset})]


def _planned(conn: Connection, user_id: str, view: View, position: Place | None) -> tuple[Shape, dict[str, Any]]:
    """Return the shape of the view from that position and its values; counts up to a limit to choose the index."""
    shape = Shape(
        tab=view.tab,
        format=view.format is not None,
        source=view.source_id is not None,
        tags=len(view.tags),
        words=bool(view.query),
        place=position is not None,
        keyed=position is not None and position.key is not None,
    )
    execute = runner(conn)
    values: dict[str, Any] = {"user": user_id, "source": view.source_id, "format": view.format and view.format.value}
    values |= {f"tag{index}": name for index, name in enumerate(view.tags)}
    values |= {f"status{index}": status.value for index, status in enumerate(STATES[view.tab])}
    values |= {"key": position.key, "id": position.id} if position else {}
    if shape.words:
        query = query_of(view.query, half_typed=True)
        values["words"] = search.expression(conn, user_id, query, source_id=view.source_id, tags=view.tags)
    if shape.source or shape.tags or shape.words:
        shape = shape._replace(led=_scalar(execute, statements.led_to(shape), values | {"limit": FEW}) < FEW)
    return shape, values


def _scalar(execute: Run, statement: str, values: dict[str, Any]) -> Any:
    return next(iter(execute(statement, values)))[0]
