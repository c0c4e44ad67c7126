"""A window over one of the review's tabs: some of its drafts, from wherever one stands, in both directions.

Of each state an index gives the drafts in the tab's order, and SQLite merges them: nothing is sorted, and nothing is
read but what is answered. Only where a filter leads to few drafts are those sorted.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from copydesk.model.draft import ListedDraft, Status
from copydesk.model.window import STATES, Order, Place, Slice, Tab, View, order_of
from copydesk.store.listed import PLAIN, Run, filled
from copydesk.store.parts import in_parts
from copydesk.store.statements import runner

FEW: Final = 2000
"""So many drafts of a source or a tag are sorted; of more the tab's order is walked."""
_KEYS: Final = {Order.BEST: "total_score", Order.SOONEST: "scheduled_at", Order.NEWEST: "NULL"}
_COLUMNS = ", ".join(f"draft.{name}" for name in PLAIN)
_TAG = "(SELECT id FROM tag WHERE user_id = :user AND name = :tag{})"


class Shape(NamedTuple):
    """Of a slice what its statement depends on."""

    tab: Tab
    format: bool = False
    source: bool = False
    tags: int = 0
    led: bool = False
    """Whether the filters lead to few drafts."""
    backwards: bool = False
    place: bool = False
    """Whether it begins at a place, and whether that has a key."""
    keyed: bool = False

    @property
    def descending(self) -> bool:
        """Whether the index is read from its end."""
        return (order_of(self.tab) is not Order.SOONEST) is not self.backwards


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
    run = runner(conn)
    found = _found(run, user_id, view, limit=limit + 1, place=place, backwards=backwards, offset=offset)
    more = len(found) > limit
    found = found[:limit][::-1] if backwards else found[:limit]
    drafts = {draft.id: draft for draft in these(conn, user_id, [each.id for each in found])}
    # One that is deleted between the two statements is not shown.
    kept = [each for each in found if each.id in drafts]
    return Slice(tuple(drafts[each.id] for each in kept), tuple(kept), more)


def places(conn: Connection, user_id: str, view: View, *, limit: int, after: Place | None) -> list[Place]:
    """Where the view's drafts stand that come after a place."""
    return _found(runner(conn), user_id, view, limit=limit, place=after, backwards=False, offset=0)


def before(conn: Connection, user_id: str, view: View, place: Place) -> int:
    """How many of the view's drafts stand before the place; each of them is counted in its index."""
    run = runner(conn)
    shape, values = _planned(run, user_id, view, place)
    counted: int = next(iter(run(_count_of(shape._replace(backwards=True)), values)))[0]
    return counted


def total(conn: Connection, user_id: str, view: View) -> int:
    """How many drafts the view shows; each of them is counted."""
    run = runner(conn)
    shape, values = _planned(run, user_id, view, None)
    counted: int = next(iter(run(_count_of(shape), values)))[0]
    return counted


def newest(conn: Connection, user_id: str) -> str:
    """The id of the user's newest draft, of whichever tab; empty where there is none."""
    return _one(runner(conn), "SELECT max(id) FROM draft WHERE user_id = :user", {"user": user_id}) or ""


def since(conn: Connection, user_id: str, view: View, than: str, most: int) -> int:
    """How many of the view's drafts are newer than the draft `than`; counted no further than `most`."""
    shape, values = _planned(runner(conn), user_id, view, None)
    counted: int = _one(runner(conn), _since_of(shape), values | {"than": than, "limit": most})
    return counted


def these(conn: Connection, user_id: str, ids: Sequence[str]) -> tuple[ListedDraft, ...]:
    """The drafts with these ids that there are, in no order."""
    run = runner(conn)
    found: list[ListedDraft] = []
    for some in in_parts(ids):
        found += filled(run, user_id, list(run(_these_of(len(some)), (user_id, *some))))
    return tuple(found)


def tags(conn: Connection, user_id: str, limit: int) -> tuple[str, ...]:
    """The names of the user's tags, in their order."""
    named = "SELECT name FROM tag WHERE user_id = :user ORDER BY name LIMIT :limit"
    return tuple(name for (name,) in runner(conn)(named, {"user": user_id, "limit": limit}))


def _found(
    run: Run, user_id: str, view: View, *, limit: int, place: Place | None, backwards: bool, offset: int
) -> list[Place]:
    shape, values = _planned(run, user_id, view, place)
    statement = _places_of(shape._replace(backwards=backwards))
    return [Place(*row) for row in run(statement, values | {"limit": limit, "offset": offset})]


def _planned(run: Run, user_id: str, view: View, place: Place | None) -> tuple[Shape, dict[str, Any]]:
    """The shape of the view from that place, and its values, after a look at how much its filters lead to."""
    shape = Shape(
        tab=view.tab,
        format=view.format is not None,
        source=view.source_id is not None,
        tags=len(view.tags),
        place=place is not None,
        keyed=place is not None and place.key is not None,
    )
    values: dict[str, Any] = {"user": user_id, "source": view.source_id, "format": view.format and view.format.value}
    values |= {f"tag{at}": name for at, name in enumerate(view.tags)}
    values |= {f"status{at}": status.value for at, status in enumerate(STATES[view.tab])}
    values |= {"key": place.key, "id": place.id} if place else {}
    if shape.source or shape.tags:
        shape = shape._replace(led=_one(run, _led_to(shape), values | {"limit": FEW}) < FEW)
    return shape, values


def _one(run: Run, statement: str, values: dict[str, Any]) -> Any:
    return next(iter(run(statement, values)))[0]


# Below only names of ours stand in the statements. A plus before a column keeps SQLite from looking there first.


@lru_cache
def _places_of(shape: Shape) -> str:
    way = "DESC" if shape.descending else "ASC"
    key = _KEYS[order_of(shape.tab)]
    branches = " UNION ALL ".join(f"SELECT {key}, id FROM {each}" for each in _branches(shape))  # noqa: S608
    by = f"2 {way}" if order_of(shape.tab) is Order.NEWEST else f"1 {way}, 2 {way}"
    return f"{branches} ORDER BY {by} LIMIT :limit OFFSET :offset"


@lru_cache
def _count_of(shape: Shape) -> str:
    parts = " UNION ALL ".join(f"SELECT count(*) AS part FROM {each}" for each in _branches(shape))  # noqa: S608
    return f"SELECT sum(part) FROM ({parts})"  # noqa: S608


@lru_cache
def _since_of(shape: Shape) -> str:
    places = range(len(STATES[shape.tab]))
    states = [f"status = :status{at} AND archived_at IS NULL" for at in places] or ["TRUE"]
    kept = "".join(f" AND {condition}" for condition in _filters(shape))
    each = " UNION ALL ".join(
        f"SELECT 1 FROM draft WHERE user_id = :user AND {one} AND id > :than{kept}"  # noqa: S608
        for one in states
    )
    return f"SELECT count(*) FROM ({each} LIMIT :limit)"  # noqa: S608


@lru_cache
def _led_to(shape: Shape) -> str:
    if shape.tags:
        led = f"draft_tag WHERE tag_id = {_TAG.format(0)}"
    else:
        led = "draft WHERE user_id = :user AND source_id = :source"
    return f"SELECT count(*) FROM (SELECT 1 FROM {led} LIMIT :limit)"  # noqa: S608


@lru_cache
def _these_of(count: int) -> str:
    return f"""SELECT {_COLUMNS}, item.title, draft.source_type FROM draft JOIN item ON item.id = draft.item_id
        WHERE +draft.user_id = ? AND draft.id IN ({", ".join("?" * count)})"""  # noqa: S608


def _branches(shape: Shape) -> list[str]:
    """What is to be merged: of each state, and of what has a key and what has none, the drafts past the place."""
    if shape.led:
        return [_led(shape)]
    kept = _filters(shape)
    found = []
    for at, status in enumerate(STATES[shape.tab] or (None,)):
        state = [f"status = :status{at}", "archived_at IS NULL"] if status else []
        for past in _past(shape, status):
            conditions = " AND ".join(["user_id = :user", *state, *past, *kept])
            found.append(f"draft WHERE {conditions}")
    return found


def _led(shape: Shape) -> str:
    """The same for few drafts, found by their source or tag and then sorted."""
    states = ", ".join(f":status{at}" for at in range(len(STATES[shape.tab])))
    kept = [f"+status IN ({states})", "+archived_at IS NULL"] if states else []
    past = [f"({' OR '.join(' AND '.join(each) for each in _past(shape, None))})"] if shape.place else []
    if shape.tags:
        tagged = f"id IN (SELECT draft_id FROM draft_tag WHERE tag_id = {_TAG.format(0)})"  # noqa: S608
        kept = [tagged, "+user_id = :user", *kept, *_filters(shape)[: -shape.tags], *_tagged(shape)[1:]]
    else:
        kept = ["user_id = :user", "source_id = :source", *kept, *_filters(shape)]
    return f"draft WHERE {' AND '.join([*kept, *past])}"


def _filters(shape: Shape) -> list[str]:
    kept = ["+format = :format"] * shape.format + ["+source_id = :source"] * shape.source
    return kept + _tagged(shape)


def _tagged(shape: Shape) -> list[str]:
    return [
        f"EXISTS (SELECT 1 FROM draft_tag WHERE draft_id = draft.id AND tag_id = {_TAG.format(at)})"  # noqa: S608
        for at in range(shape.tags)
    ]


def _past(shape: Shape, status: Status | None) -> list[list[str]]:
    """The ways of being past the place: SQLite counts what has no key before all that has one."""
    order, beyond = order_of(shape.tab), "<" if shape.descending else ">"
    if order is Order.NEWEST:
        return [[f"id {beyond} :id"] if shape.place else []]
    keyed, keyless = f"{_KEYS[order]} IS NOT NULL", f"{_KEYS[order]} IS NULL"
    ways = []
    if not shape.place or shape.keyed:
        ways.append([keyed, f"({_KEYS[order]}, id) {beyond} (:key, :id)"] if shape.place else [keyed])
    elif not shape.descending:
        ways.append([keyed])
    if status is Status.SCHEDULED:
        # Each of them has its time.
        return ways
    if not shape.keyed:
        ways.append([keyless, f"id {beyond} :id"] if shape.place else [keyless])
    elif shape.descending:
        ways.append([keyless])
    return ways
