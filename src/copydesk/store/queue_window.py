"""A window over a tab of the review queue: some of its drafts, from any position, in both directions.

An index gives the drafts of each state in the tab's order, and SQLite merges them: nothing is sorted, and only what is
returned is read. Drafts are sorted only if a filter leads to few of them, and in orders that are for small tabs. Words
are looked up in the full text index, which returns the drafts in the order in which they were inserted; on PostgreSQL
that index has the drafts of all users in no order, so the search is in the order of ids.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from copydesk.model.draft import ListedDraft, Status
from copydesk.model.filters import (
    ASCENDING,
    TAB_STATUSES,
    DraftPosition,
    DraftSlice,
    DraftView,
    Order,
    Tab,
    get_order,
    has_index,
    parse_query,
)
from copydesk.model.transitions import CREATE
from copydesk.store import draft_queries, search
from copydesk.store.draft_rows import query_by_ids
from copydesk.store.raw_sql import (
    POSTGRESQL,
    chunked,
    dbapi_connection,
    execute_sql,
    placeholders,
    raw_execute,
    send_query,
)
from copydesk.store.tables import TO_REVIEW_CONDITION

_KEY_COLUMNS: Final = {
    Order.BEST: "total_score",
    Order.SOONEST: "scheduled_at",
    Order.CONFIDENT: "confidence",
    Order.SOURCE: "source_id",
    Order.NEWEST: "NULL",
    Order.OLDEST: "NULL",
}
_BY_ID: Final = (Order.NEWEST, Order.OLDEST)
# Named, because without statistics SQLite prefers the index of all drafts.
_AGENT_DRAFTS: Final = "draft INDEXED BY ix_draft_user_id_status_id_archived_at_agent WHERE agent IS NOT NULL"
MAX_SORTED: Final = 2000
"""Fewer drafts of a source, a tag or agents than this are sorted; with more, the tab is walked in its order. In a tab
with fewer, each draft is checked for the words of a search; in a larger one, all drafts with the words are walked.
"""

MIN_WALKED: Final = 100
"""If fewer drafts of a source than this are in a tab, a page of them is found by walking all of the tab."""

# The SQL is built once for each shape of request. Only names from this module are formatted into it. A plus before a
# column keeps SQLite from using its index.


class Lead(Enum):
    """What a statement starts from, because it leads to few drafts."""

    TAB = auto()
    """In a search."""
    TAGS = auto()
    """All of them, from the rarest one."""
    SOURCE = auto()
    AGENT = auto()
    """The drafts of the tab that agents have proposed."""


class WindowShape(NamedTuple):
    """The properties of a window that its statement depends on."""

    tab: Tab
    sort: Order | None = None
    format: bool = False
    source: bool = False
    tags: int = 0
    by_agent: bool = False
    has_query: bool = False
    """True if words are searched for."""
    lead: Lead | None = None
    """None if nothing leads to few drafts."""
    on_server: bool = False
    """True on PostgreSQL."""
    backwards: bool = False
    has_position: bool = False
    """True if the window starts at a position; `position_has_key` is True if that has a key."""
    position_has_key: bool = False

    @property
    def descending(self) -> bool:
        """True if the index is read from its end."""
        return (self.order not in ASCENDING) is not self.backwards

    @property
    def order(self) -> Order:
        """The view's order: search results are ordered by age."""
        return Order.NEWEST if self.has_query else self.sort or get_order(self.tab)


@lru_cache
def positions_sql(shape: WindowShape) -> str:
    """Return the SQL for the positions of drafts in the view's order."""
    direction = "DESC" if shape.descending else "ASC"
    if shape.has_query:
        return (
            f"SELECT {_search_key(shape)}, draft.id FROM {_search_from(shape)}"  # noqa: S608
            f" ORDER BY {_search_order(shape)} {direction} LIMIT :limit OFFSET :offset"
        )
    key = _KEY_COLUMNS[shape.order]
    # The default where there is no NULL: PostgreSQL does not use an index that differs in this.
    nulls = "" if shape.order is Order.CONFIDENT else f" NULLS {'LAST' if shape.descending else 'FIRST'}"
    # By column number: the key may be NULL, which has no name.
    order_by = f"ORDER BY {'' if shape.order in _BY_ID else f'1 {direction}{nulls}, '}2 {direction}"
    branches = [f"SELECT {key}, id FROM {branch}" for branch in _branches(shape)]  # noqa: S608
    if shape.on_server and len(branches) > 1:
        # PostgreSQL plans each branch by itself: without order and limit for all its drafts, which it then sorts.
        branches = [f"({branch} {order_by} LIMIT :stop)" for branch in branches]
    return f"{' UNION ALL '.join(branches)} {order_by} LIMIT :limit OFFSET :offset"


@lru_cache
def positions_of_drafts_sql(shape: WindowShape, count: int) -> str:
    """Return the SQL for the positions of those of `count` drafts that are in the view."""
    among = f"draft.id IN ({', '.join(f':each{index}' for index in range(count))})"
    if shape.has_query:
        matching = _search_from(shape._replace(lead=Lead.TAB), among)
        return f"SELECT {_search_key(shape)}, draft.id FROM {matching}"  # noqa: S608
    conditions = [among, "+user_id = :user", *_tab_conditions(shape), *_filter_conditions(shape)]
    return f"SELECT {_KEY_COLUMNS[shape.order]}, id FROM draft WHERE {' AND '.join(conditions)}"  # noqa: S608


@lru_cache
def count_sql(shape: WindowShape) -> str:
    """Return the SQL for the number of drafts."""
    counts = " UNION ALL ".join(f"SELECT count(*) AS part FROM {branch}" for branch in _branches(shape))  # noqa: S608
    return f"SELECT sum(part) FROM ({counts}) AS parts"  # noqa: S608


@lru_cache
def count_newer_sql(shape: WindowShape) -> str:
    """Return the SQL for the number of drafts newer than one."""
    if shape.has_query:
        last_rid = "SELECT rid FROM draft WHERE user_id = :user AND id <= :than ORDER BY id DESC LIMIT 1"
        last = ":than" if shape.on_server else f"coalesce(({last_rid}), 0)"
        is_newer = f"{_search_order(shape)} > {last}"
        return f"SELECT count(*) FROM (SELECT 1 FROM {_search_from(shape)} AND {is_newer} LIMIT :limit) AS newer"  # noqa: S608
    filters = "".join(f" AND {condition}" for condition in _filter_conditions(shape))
    branches = " UNION ALL ".join(
        f"SELECT 1 FROM draft WHERE {' AND '.join(state)} AND id > :than{filters}"  # noqa: S608
        for state in _state_conditions(shape)
    )
    return f"SELECT count(*) FROM ({branches} LIMIT :limit) AS newer"  # noqa: S608


@lru_cache
def arrived_since_sql(tab: Tab, count: int) -> str:
    """Return the SQL for those of `count` drafts that the tab did not show at an event.

    The first event since then has the state before it, or is the creation of the draft.
    """
    states = ", ".join(f"'{status.value}'" for status in TAB_STATUSES[tab])
    was_elsewhere = f" OR status NOT IN ({states})" if states else ""
    # As JSON: null if it was not archived before, missing if the event did not change that.
    was_archived = "= 'null'" if tab is Tab.ARCHIVED else "<> 'null'"
    among = ", ".join(f":each{index}" for index in range(count))
    first_rids = (
        f"SELECT min(rid) FROM draft_event WHERE draft_id IN ({among}) AND +rid > :than AND +user_id = :user"  # noqa: S608
        " GROUP BY draft_id"
    )
    first_events = (
        "SELECT draft_id, action, before ->> 'status' AS status, CAST(before -> 'archived_at' AS TEXT) AS archived_at"  # noqa: S608
        f" FROM draft_event WHERE rid IN ({first_rids})"
    )
    conditions = f"action = '{CREATE}'{was_elsewhere} OR archived_at {was_archived}"
    return f"SELECT draft_id FROM ({first_events}) AS first_event WHERE {conditions}"  # noqa: S608


@lru_cache
def count_candidates_sql(shape: WindowShape) -> str:
    """Return the SQL for the number of drafts that the lead leads to, up to a limit."""
    if shape.lead is Lead.TAGS:
        branches = [_tagged_from(shape)]
    elif shape.lead is Lead.AGENT:
        branches = [f"{_AGENT_DRAFTS} AND {' AND '.join(state)}" for state in _state_conditions(shape)]
    else:
        branches = [f"draft WHERE {' AND '.join(state)}" for state in _state_conditions(shape)]
    rows = " UNION ALL ".join(f"SELECT 1 FROM {branch}" for branch in branches)  # noqa: S608
    return f"SELECT count(*) FROM ({rows} LIMIT :limit) AS found"  # noqa: S608


@lru_cache
def source_counts_sql(tab: Tab) -> str:
    """Return the SQL for the numbers of a source's drafts, of those in the tab, and of all in the tab."""
    states = ", ".join(f":status{index}" for index in range(len(TAB_STATUSES[tab])))
    in_tab = " AND ".join(
        [f"status IN ({states})"] * bool(states) + ["archived" if tab is Tab.ARCHIVED else "NOT archived"]
    )
    counts = (
        f"sum(drafts) FILTER (WHERE {which})"
        for which in ("source_id = :source", f"source_id = :source AND {in_tab}", in_tab)
    )
    return f"SELECT {', '.join(f'coalesce({count}, 0)' for count in counts)} FROM draft_count WHERE user_id = :user"  # noqa: S608


def _branches(shape: WindowShape) -> list[str]:
    """Return the queries to merge: the drafts past the position, by state, and by having a key or not."""
    if shape.has_query:
        return [_search_from(shape)]
    if shape.lead is not None:
        return [_selective_from(shape)]
    filters = _filter_conditions(shape)
    branches = []
    for status, state in zip(TAB_STATUSES[shape.tab] or (None,), _state_conditions(shape), strict=True):
        branches += [f"draft WHERE {' AND '.join([*state, *past, *filters])}" for past in _past_position(shape, status)]
    return branches


def _state_conditions(shape: WindowShape) -> list[list[str]]:
    """Return the conditions for each of the tab's states."""
    # Literally as in the condition of the partial indexes that give these orders.
    is_partial = shape.order in (Order.CONFIDENT, Order.SOURCE) and has_index(shape.tab, shape.order)
    literal = [TO_REVIEW_CONDITION] * is_partial
    states = [[f"status = :status{index}", *literal] for index in range(len(TAB_STATUSES[shape.tab]))]
    return [["user_id = :user", *state, _archived_condition(shape)] for state in states or [[]]]


def _archived_condition(shape: WindowShape) -> str:
    return f"archived_at IS {'NOT NULL' if shape.tab is Tab.ARCHIVED else 'NULL'}"


def _tab_conditions(shape: WindowShape, plus: str = "+") -> list[str]:
    states = ", ".join(f":status{index}" for index in range(len(TAB_STATUSES[shape.tab])))
    return [f"{plus}draft.status IN ({states})"] * bool(states) + [f"{plus}draft.{_archived_condition(shape)}"]


def _search_from(shape: WindowShape, among: str = "") -> str:
    """Return the drafts that match the search, of all or `among` some. The first table of a CROSS JOIN leads."""
    plus = "" if shape.lead is Lead.TAB and not among else "+"
    conditions = [
        f"{plus}draft.user_id = :user",
        *_tab_conditions(shape, plus),
        *_filter_conditions(shape),
        *([among] * bool(among)),
    ]
    if shape.has_position:
        position = ":id" if shape.on_server else ":key"
        conditions.append(f"{_search_order(shape)} {'<' if shape.descending else '>'} {position}")
    if shape.on_server:
        # The planner knows how common the words are, and how many drafts the user has.
        return f"draft WHERE {' AND '.join(['draft.words MATCH :words', *conditions])}"
    matches = "draft_words MATCH :words"
    if shape.lead is Lead.TAB:
        # As a subquery: probed once per draft, the index would expand a prefix term each time.
        conditions.append(f"+draft.rid IN (SELECT rowid FROM draft_words WHERE {matches})")  # noqa: S608
        return f"draft WHERE {' AND '.join(conditions)}"
    tables = "draft_words CROSS JOIN draft ON draft.rid = draft_words.rowid"
    return f"{tables} WHERE {' AND '.join([matches, *conditions])}"


def _search_key(shape: WindowShape) -> str:
    """Return the column of the keys of the drafts that match a search."""
    return "NULL" if shape.on_server else "draft.rid"


def _search_order(shape: WindowShape) -> str:
    """Return the column that orders the drafts that match a search."""
    if shape.on_server:
        return "draft.id"
    return "+draft.rid" if shape.lead is Lead.TAB else "draft_words.rowid"


def _selective_from(shape: WindowShape) -> str:
    """Return the FROM clause for few drafts, found by their source, tags or agent and then sorted."""
    if shape.lead is Lead.AGENT:
        start = f"{_AGENT_DRAFTS} AND user_id = :user"
        conditions = _tab_conditions(shape, plus="")
    elif shape.lead is Lead.TAGS:
        start = f"draft WHERE id IN (SELECT draft_id FROM {_tagged_from(shape)}) AND +user_id = :user"  # noqa: S608
        conditions = _tab_conditions(shape)
    else:
        start = "draft WHERE user_id = :user AND source_id = :source"
        conditions = _tab_conditions(shape)
    past = (
        [f"({' OR '.join(' AND '.join(condition) for condition in _past_position(shape, None))})"]
        if shape.has_position
        else []
    )
    # The subquery has checked the tags.
    filters = _filter_conditions(shape._replace(tags=0) if shape.lead is Lead.TAGS else shape)
    return " AND ".join([start, *conditions, *filters, *past])


def _tagged_from(shape: WindowShape) -> str:
    """Return the FROM clause for the ids of all drafts with the tags."""
    others = _tag_conditions("tagged.draft_id", range(1, shape.tags))
    return f"draft_tag AS tagged WHERE {' AND '.join(['tagged.tag_id = :tag0', '+tagged.user_id = :user', *others])}"


def _filter_conditions(shape: WindowShape) -> list[str]:
    conditions = ["+draft.format = :format"] * shape.format + ["+draft.source_id = :source"] * shape.source
    conditions += ["+draft.agent IS NOT NULL"] * shape.by_agent
    return conditions + _tag_conditions("draft.id", range(shape.tags))


def _tag_conditions(draft_id: str, tags: range) -> list[str]:
    return [
        f"EXISTS (SELECT 1 FROM draft_tag WHERE draft_id = {draft_id} AND tag_id = :tag{index})"  # noqa: S608
        for index in tags
    ]


def _past_position(shape: WindowShape, status: Status | None) -> list[list[str]]:
    """Return the alternatives for being past the position. SQLite sorts NULL keys before all others."""
    order, operator = shape.order, "<" if shape.descending else ">"
    if order in _BY_ID:
        return [[f"id {operator} :id"] if shape.has_position else []]
    has_key, has_no_key = f"{_KEY_COLUMNS[order]} IS NOT NULL", f"{_KEY_COLUMNS[order]} IS NULL"
    alternatives = []
    if not shape.has_position or shape.position_has_key:
        alternatives.append(
            # A row value comparison, which SQLite answers from the index on (key, id).
            [has_key, f"({_KEY_COLUMNS[order]}, id) {operator} (:key, :id)"] if shape.has_position else [has_key]
        )
    elif not shape.descending:
        alternatives.append([has_key])
    if alternatives and (order is Order.CONFIDENT or (order is Order.SOONEST and status is Status.SCHEDULED)):
        # Every draft has a confidence, and every scheduled one a time.
        return alternatives
    if not shape.position_has_key:
        alternatives.append([has_no_key, f"id {operator} :id"] if shape.has_position else [has_no_key])
    elif shape.descending:
        alternatives.append([has_no_key])
    return alternatives


def query_slice(
    conn: Connection,
    user_id: str,
    view: DraftView,
    *,
    limit: int,
    position: DraftPosition | None = None,
    backwards: bool = False,
    offset: int = 0,
) -> Callable[[], DraftSlice]:
    """Send the query for the positions of the drafts after a position, or of the first ones, in the order of the view.

    With `backwards`, of those before it, or the last ones. An offset is walked: 100,000 take some milliseconds. Return
    what waits for them, and returns their drafts.
    """
    # One more than asked for tells if there are more.
    query_rows = _query_positions(conn, user_id, view, limit + 1, position, backwards=backwards, offset=offset)

    def load() -> DraftSlice:
        rows = query_rows()
        found = rows[:limit][::-1] if backwards else rows[:limit]
        drafts = {draft.id: draft for draft in by_ids(conn, user_id, [entry.id for entry in found])}
        # A draft deleted between the two statements is left out.
        existing = [entry for entry in found if entry.id in drafts]
        return DraftSlice(tuple(drafts[entry.id] for entry in existing), tuple(existing), len(rows) > limit)

    return load


def list_positions(
    conn: Connection, user_id: str, view: DraftView, *, limit: int, after: DraftPosition | None, offset: int = 0
) -> list[DraftPosition]:
    """Return the positions of the view's drafts after a position."""
    return _query_positions(conn, user_id, view, limit, after, backwards=False, offset=offset)()


def count_before(conn: Connection, user_id: str, view: DraftView, position: DraftPosition) -> int:
    """Return the number of the view's drafts before the position; each is counted in an index."""
    shape, values = _plan(conn, user_id, view, position)
    count: int = _scalar(conn, count_sql(shape._replace(backwards=True)), values)
    return count


def count_all(conn: Connection, user_id: str, view: DraftView, after: DraftPosition | None = None) -> int:
    """Return the number of drafts in the view, or of those after a position; each is counted."""
    shape, values = _plan(conn, user_id, view, after)
    count: int = _scalar(conn, count_sql(shape), values)
    return count


def positions(conn: Connection, user_id: str, view: DraftView, ids: Sequence[str]) -> tuple[DraftPosition, ...]:
    """Return the positions of those of the drafts that are in the view, in no particular order."""
    execute = raw_execute(conn)
    shape, values = _plan(conn, user_id, view, None)
    result: list[DraftPosition] = []
    for chunk in chunked(ids):
        id_values = {f"each{index}": draft_id for index, draft_id in enumerate(chunk)}
        result += [
            DraftPosition(*row) for row in execute(positions_of_drafts_sql(shape, len(chunk)), values | id_values)
        ]
    return tuple(result)


def query_count_newer(
    conn: Connection, user_id: str, view: DraftView, newer_than: str, limit: int
) -> Callable[[], int]:
    """Send the query for the number of the view's drafts newer than the draft `newer_than`, counted up to `limit`;
    return what waits for it, once.
    """
    shape, values = _plan(conn, user_id, view, None)
    rows = send_query(conn, count_newer_sql(shape), values | {"than": newer_than, "limit": limit})
    return lambda: int(rows()[0][0])


class Newest(NamedTuple):
    """What a list can be compared with later, to find what is new."""

    event_rid: int
    """The number of the latest event of any user's draft; numbers only grow."""
    draft_id: str
    """The id of the user's newest draft in any tab, or an empty string."""


_NEWEST: Final = """SELECT (SELECT coalesce(max(rid), 0) FROM draft_event),
    coalesce((SELECT max(id) FROM draft WHERE user_id = ?), '')"""


def query_newest(conn: Connection, user_id: str) -> Callable[[], Newest]:
    """Send the query for the newest draft and event; return what waits for it, once."""
    # Events of other users only cause a reload too many.
    rows = send_query(conn, _NEWEST, (user_id,))
    return lambda: Newest(*rows()[0])


def list_arrived_since(conn: Connection, user_id: str, tab: Tab, event_rid: int, ids: Sequence[str]) -> frozenset[str]:
    """Return those of the drafts that the tab did not show at `event_rid`: created since, or in another state."""
    execute = raw_execute(conn)
    arrived: set[str] = set()
    for chunk in chunked(ids):
        values = {"user": user_id, "than": event_rid} | {
            f"each{index}": draft_id for index, draft_id in enumerate(chunk)
        }
        arrived.update(draft_id for (draft_id,) in execute(arrived_since_sql(tab, len(chunk)), values))
    return frozenset(arrived)


def by_ids(conn: Connection, user_id: str, ids: Sequence[str]) -> tuple[ListedDraft, ...]:
    """Return those of the drafts that exist, in no particular order."""
    return query_drafts(conn, user_id, ids)()


def query_drafts(conn: Connection, user_id: str, ids: Sequence[str]) -> Callable[[], tuple[ListedDraft, ...]]:
    """Send the queries for these drafts; return what waits for them, once."""
    parts = [query_by_ids(dbapi_connection(conn), user_id, chunk) for chunk in chunked(ids)]
    return lambda: tuple(draft for part in parts for draft in part())


def load_states(conn: Connection, user_id: str, ids: Sequence[str]) -> dict[str, tuple[Status, bool]]:
    """Return the status of those of the drafts that exist, and True for each that is archived."""
    execute = raw_execute(conn)
    states: dict[str, tuple[Status, bool]] = {}
    for chunk in chunked(ids):
        statement = f"""SELECT id, status, archived_at IS NOT NULL FROM draft
            WHERE +user_id = ? AND id IN ({placeholders(chunk)})"""  # noqa: S608 - placeholders only
        rows = execute(statement, (user_id, *chunk))
        states.update((draft_id, (Status(status), bool(archived))) for draft_id, status, archived in rows)
    return states


def list_tags(conn: Connection, user_id: str, limit: int) -> tuple[str, ...]:
    """Return the names of the user's tags, sorted."""
    statement = "SELECT name FROM tag WHERE user_id = :user ORDER BY name LIMIT :limit"
    return tuple(name for (name,) in raw_execute(conn)(statement, {"user": user_id, "limit": limit}))


def _query_positions(
    conn: Connection,
    user_id: str,
    view: DraftView,
    limit: int,
    position: DraftPosition | None,
    *,
    backwards: bool,
    offset: int,
) -> Callable[[], list[DraftPosition]]:
    shape, values = _plan(conn, user_id, view, position)
    statement = positions_sql(shape._replace(backwards=backwards))
    rows = send_query(conn, statement, values | {"limit": limit, "offset": offset, "stop": offset + limit})
    return lambda: [DraftPosition(*row) for row in rows()]


def _plan(
    conn: Connection, user_id: str, view: DraftView, position: DraftPosition | None
) -> tuple[WindowShape, dict[str, Any]]:
    """Return the shape of the view from that position and its values; counts up to a limit to choose the index."""
    shape = WindowShape(
        tab=view.tab,
        sort=view.sort,
        format=view.format is not None,
        source=view.source_id is not None,
        tags=len(view.tags),
        by_agent=view.by_agent,
        has_query=bool(view.query),
        on_server=conn.dialect.name == POSTGRESQL,
        has_position=position is not None,
        position_has_key=position is not None and position.key is not None,
    )
    values: dict[str, Any] = {"user": user_id, "source": view.source_id, "format": view.format and view.format.value}
    values |= {f"status{index}": status.value for index, status in enumerate(TAB_STATUSES[view.tab])}
    values |= {"key": position.key, "id": position.id} if position else {}
    if shape.has_query:
        # The user may still be typing, so the last word is a prefix.
        query = parse_query(view.query, incomplete=True)
        # A server finds them by the index of tags: with their words it would read all drafts that have all the words.
        tags = () if shape.on_server else view.tags
        values["words"] = search.build_match_expression(conn, user_id, query, source_id=view.source_id, tags=tags)
    if view.tags:
        found = draft_queries.find_tags(conn, user_id, view.tags)
        values |= {f"tag{index}": tag_id for index, (_, tag_id) in enumerate(found)}
    for lead in _possible_leads(shape):
        if _is_selective(conn, shape, values, lead):
            return shape._replace(lead=lead), values
    return shape, values


def _is_selective(conn: Connection, shape: WindowShape, values: dict[str, Any], lead: Lead) -> bool:
    """Return True if the lead leads to few drafts, or to fewer than walking the tab for a page of them."""
    if lead is Lead.SOURCE:
        of_source, of_source_in_tab, in_tab = execute_sql(conn, source_counts_sql(shape.tab), values).fetchone()
        return bool(of_source < MAX_SORTED or (of_source_in_tab < MIN_WALKED and of_source < in_tab))
    candidates: int = _scalar(conn, count_candidates_sql(shape._replace(lead=lead)), values | {"limit": MAX_SORTED})
    return candidates < MAX_SORTED


def _possible_leads(shape: WindowShape) -> list[Lead]:
    if shape.has_query:
        # On a server the planner knows how many drafts a tab has.
        return [] if shape.on_server else [Lead.TAB]
    return [Lead.TAGS] * bool(shape.tags) + [Lead.SOURCE] * shape.source + [Lead.AGENT] * shape.by_agent


def _scalar(conn: Connection, statement: str, values: dict[str, Any]) -> Any:
    return execute_sql(conn, statement, values).fetchone()[0]
