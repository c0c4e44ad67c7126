"""A window over one of the review's tabs: some of its drafts, from wherever one stands, in both directions.

Of each state an index gives the drafts in the tab's order, and SQLite merges them: nothing is sorted, and nothing is
read but what is answered. Only where a filter leads to few drafts are those sorted. Words are looked for in the full
text index, which gives the drafts in the order in which they were stored.
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
"""So many drafts of a source or a tag are sorted; of more the tab's order is walked. In a tab of as few each is looked
at for the words that are searched for; in one of more all that have the words are gone through."""


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
    """Drafts of the view, in its order: those after the place, or from the beginning.

    `backwards` those before it, or the last ones. An offset is walked: 100,000 take some milliseconds.
    """
    found = _found(conn, user_id, view, limit=limit + 1, place=place, backwards=backwards, offset=offset)
    more = len(found) > limit
    found = found[:limit][::-1] if backwards else found[:limit]
    drafts = {draft.id: draft for draft in these(conn, user_id, [each.id for each in found])}
    # One that is deleted between the two statements is not shown.
    kept = [each for each in found if each.id in drafts]
    return Slice(tuple(drafts[each.id] for each in kept), tuple(kept), more)


def places(
    conn: Connection, user_id: str, view: View, *, limit: int, after: Place | None, offset: int = 0
) -> list[Place]:
    """Where the view's drafts stand that come after a place."""
    return _found(conn, user_id, view, limit=limit, place=after, backwards=False, offset=offset)


def before(conn: Connection, user_id: str, view: View, place: Place) -> int:
    """How many of the view's drafts stand before the place; each of them is counted in its index."""
    shape, values = _planned(conn, user_id, view, place)
    counted: int = _one(runner(conn), statements.count_of(shape._replace(backwards=True)), values)
    return counted


def total(conn: Connection, user_id: str, view: View, after: Place | None = None) -> int:
    """How many drafts the view shows, all or those after a place; each of them is counted."""
    shape, values = _planned(conn, user_id, view, after)
    counted: int = _one(runner(conn), statements.count_of(shape), values)
    return counted


def standing(conn: Connection, user_id: str, view: View, ids: Sequence[str]) -> tuple[Place, ...]:
    """Where those of these drafts stand that the view shows, in no order."""
    run = runner(conn)
    shape, values = _planned(conn, user_id, view, None)
    found: list[Place] = []
    for some in in_parts(ids):
        these_ids = {f"each{at}": draft_id for at, draft_id in enumerate(some)}
        found += [Place(*row) for row in run(statements.standing_of(shape, len(some)), values | these_ids)]
    return tuple(found)


def newest(conn: Connection, user_id: str) -> str:
    """The id of the user's newest draft, of whichever tab; empty where there is none."""
    return _one(runner(conn), "SELECT max(id) FROM draft WHERE user_id = :user", {"user": user_id}) or ""


def since(conn: Connection, user_id: str, view: View, than: str, most: int) -> int:
    """How many of the view's drafts are newer than the draft `than`; counted no further than `most`."""
    shape, values = _planned(conn, user_id, view, None)
    counted: int = _one(runner(conn), statements.since_of(shape), values | {"than": than, "limit": most})
    return counted


def moment(conn: Connection, user_id: str) -> int:
    """The number of the last thing that happened to any draft, whoever's: numbers only grow."""
    del user_id
    last: int = _one(runner(conn), "SELECT coalesce(max(rid), 0) FROM draft_event", {})
    return last


def came_since(conn: Connection, user_id: str, tab: Tab, moment: int, ids: Sequence[str]) -> frozenset[str]:
    """Those of these drafts that the tab did not show at that moment: made since, or in another state then."""
    run = runner(conn)
    found: set[str] = set()
    for some in in_parts(ids):
        values = {"user": user_id, "than": moment} | {f"each{at}": draft_id for at, draft_id in enumerate(some)}
        found.update(draft_id for (draft_id,) in run(statements.came_since(tab, len(some)), values))
    return frozenset(found)


def these(conn: Connection, user_id: str, ids: Sequence[str]) -> tuple[ListedDraft, ...]:
    """The drafts with these ids that there are, in no order."""
    run = runner(conn)
    found: list[ListedDraft] = []
    for some in in_parts(ids):
        found += filled(run, user_id, list(run(statements.these_of(len(some)), (user_id, *some))))
    return tuple(found)


def tags(conn: Connection, user_id: str, limit: int) -> tuple[str, ...]:
    """The names of the user's tags, in their order."""
    named = "SELECT name FROM tag WHERE user_id = :user ORDER BY name LIMIT :limit"
    return tuple(name for (name,) in runner(conn)(named, {"user": user_id, "limit": limit}))


def _found(
    conn: Connection, user_id: str, view: View, *, limit: int, place: Place | None, backwards: bool, offset: int
) -> list[Place]:
    shape, values = _planned(conn, user_id, view, place)
    statement = statements.places_of(shape._replace(backwards=backwards))
    return [Place(*row) for row in runner(conn)(statement, values | {"limit": limit, "offset": offset})]


def _planned(conn: Connection, user_id: str, view: View, place: Place | None) -> tuple[Shape, dict[str, Any]]:
    """The shape of the view from that place, and its values, after a look at how much its filters lead to."""
    shape = Shape(
        tab=view.tab,
        format=view.format is not None,
        source=view.source_id is not None,
        tags=len(view.tags),
        words=bool(view.query),
        place=place is not None,
        keyed=place is not None and place.key is not None,
    )
    run = runner(conn)
    values: dict[str, Any] = {"user": user_id, "source": view.source_id, "format": view.format and view.format.value}
    values |= {f"tag{at}": name for at, name in enumerate(view.tags)}
    values |= {f"status{at}": status.value for at, status in enumerate(STATES[view.tab])}
    values |= {"key": place.key, "id": place.id} if place else {}
    if shape.words:
        query = query_of(view.query, half_typed=True)
        values["words"] = search.expression(conn, user_id, query, source_id=view.source_id, tags=view.tags)
    if shape.source or shape.tags or shape.words:
        shape = shape._replace(led=_one(run, statements.led_to(shape), values | {"limit": FEW}) < FEW)
    return shape, values


def _one(run: Run, statement: str, values: dict[str, Any]) -> Any:
    return next(iter(run(statement, values)))[0]
