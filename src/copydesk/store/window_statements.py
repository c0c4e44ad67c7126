"""SQL of the queue window, built once for each shape of request.

Only names from this module are formatted into the statements. A plus before a column keeps SQLite from using its index.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from copydesk.model.draft import Status
from copydesk.model.history import CREATE
from copydesk.model.window import TAB_STATUSES, Order, Tab, get_order
from copydesk.store.listed import DRAFT_COLUMNS

_KEY_COLUMNS: Final = {Order.BEST: "total_score", Order.SOONEST: "scheduled_at", Order.NEWEST: "NULL"}
_COLUMNS = ", ".join(f"draft.{name}" for name in DRAFT_COLUMNS)
_TAG = "(SELECT id FROM tag WHERE user_id = :user AND name = :tag{})"


class WindowShape(NamedTuple):
    """The properties of a window that its statement depends on."""

    tab: Tab
    format: bool = False
    source: bool = False
    tags: int = 0
    has_query: bool = False
    """True if words are searched for."""
    is_selective: bool = False
    """True if the filters, or in a search the tab, lead to few drafts."""
    backwards: bool = False
    has_position: bool = False
    """True if the window starts at a position; `position_has_key` is True if that has a key."""
    position_has_key: bool = False

    @property
    def descending(self) -> bool:
        """True if the index is read from its end."""
        return (self.order is not Order.SOONEST) is not self.backwards

    @property
    def order(self) -> Order:
        """The view's order: search results are ordered by age."""
        return Order.NEWEST if self.has_query else get_order(self.tab)


@lru_cache
def positions_sql(shape: WindowShape) -> str:
    """Return the SQL for the positions of drafts in the view's order."""
    direction = "DESC" if shape.descending else "ASC"
    if shape.has_query:
        return (
            f"SELECT draft.rid, draft.id FROM {_search_from(shape)}"  # noqa: S608
            f" ORDER BY {_rowid_column(shape)} {direction} LIMIT :limit OFFSET :offset"
        )
    key = _KEY_COLUMNS[shape.order]
    branches = " UNION ALL ".join(f"SELECT {key}, id FROM {branch}" for branch in _branches(shape))  # noqa: S608
    order_by = f"2 {direction}" if shape.order is Order.NEWEST else f"1 {direction}, 2 {direction}"
    return f"{branches} ORDER BY {order_by} LIMIT :limit OFFSET :offset"


@lru_cache
def positions_of_drafts_sql(shape: WindowShape, count: int) -> str:
    """Return the SQL for the positions of those of `count` drafts that are in the view."""
    among = f"draft.id IN ({', '.join(f':each{index}' for index in range(count))})"
    if shape.has_query:
        return f"SELECT draft.rid, draft.id FROM {_search_from(shape._replace(is_selective=True), among)}"  # noqa: S608
    conditions = [among, "+user_id = :user", *_tab_conditions(shape), *_filter_conditions(shape)]
    return f"SELECT {_KEY_COLUMNS[shape.order]}, id FROM draft WHERE {' AND '.join(conditions)}"  # noqa: S608


@lru_cache
def count_sql(shape: WindowShape) -> str:
    """Return the SQL for the number of drafts."""
    counts = " UNION ALL ".join(f"SELECT count(*) AS part FROM {branch}" for branch in _branches(shape))  # noqa: S608
    return f"SELECT sum(part) FROM ({counts})"  # noqa: S608


@lru_cache
def count_newer_sql(shape: WindowShape) -> str:
    """Return the SQL for the number of drafts newer than one."""
    if shape.has_query:
        last_rid = "SELECT rid FROM draft WHERE user_id = :user AND id <= :than ORDER BY id DESC LIMIT 1"
        is_newer = f"{_rowid_column(shape)} > coalesce(({last_rid}), 0)"
        return f"SELECT count(*) FROM (SELECT 1 FROM {_search_from(shape)} AND {is_newer} LIMIT :limit)"  # noqa: S608
    filters = "".join(f" AND {condition}" for condition in _filter_conditions(shape))
    branches = " UNION ALL ".join(
        f"SELECT 1 FROM draft WHERE {' AND '.join(state)} AND id > :than{filters}"  # noqa: S608
        for state in _state_conditions(shape)
    )
    return f"SELECT count(*) FROM ({branches} LIMIT :limit)"  # noqa: S608


@lru_cache
def arrived_since_sql(tab: Tab, count: int) -> str:
    """Return the SQL for those of `count` drafts that the tab did not show at an event.

    The first event since then has the state before it, or is the creation of the draft.
    """
    states = ", ".join(f"'{status.value}'" for status in TAB_STATUSES[tab])
    was_elsewhere = f" OR status NOT IN ({states}) OR archived_at IS NOT NULL" if states else ""
    among = ", ".join(f":each{index}" for index in range(count))
    first_events = (
        "SELECT draft_id, min(rid), action, before ->> 'status' AS status, before ->> 'archived_at' AS archived_at"  # noqa: S608
        f" FROM draft_event WHERE draft_id IN ({among}) AND +rid > :than AND +user_id = :user GROUP BY draft_id"
    )
    return f"SELECT draft_id FROM ({first_events}) WHERE action = '{CREATE}'{was_elsewhere}"  # noqa: S608


@lru_cache
def count_candidates_sql(shape: WindowShape) -> str:
    """Return the SQL for the number of drafts that the filters, or in a search the tab, lead to, up to a limit."""
    if shape.has_query:
        branches = (f"SELECT 1 FROM draft WHERE {' AND '.join(state)}" for state in _state_conditions(shape))  # noqa: S608
        return f"SELECT count(*) FROM ({' UNION ALL '.join(branches)} LIMIT :limit)"  # noqa: S608
    if shape.tags:
        candidates = f"draft_tag WHERE tag_id = {_TAG.format(0)}"
    else:
        candidates = "draft WHERE user_id = :user AND source_id = :source"
    return f"SELECT count(*) FROM (SELECT 1 FROM {candidates} LIMIT :limit)"  # noqa: S608


@lru_cache
def drafts_sql(count: int) -> str:
    """Return the SQL for the rows of `count` drafts."""
    return f"""SELECT {_COLUMNS}, item.title, draft.source_type FROM draft JOIN item ON item.id = draft.item_id
        WHERE +draft.user_id = ? AND draft.id IN ({", ".join("?" * count)})"""  # noqa: S608


def _branches(shape: WindowShape) -> list[str]:
    """Return the queries to merge: the drafts past the position, by state, and by having a key or not."""
    if shape.has_query:
        return [_search_from(shape)]
    if shape.is_selective:
        return [_selective_from(shape)]
    filters = _filter_conditions(shape)
    branches = []
    for status, state in zip(TAB_STATUSES[shape.tab] or (None,), _state_conditions(shape), strict=True):
        branches += [f"draft WHERE {' AND '.join([*state, *past, *filters])}" for past in _past_position(shape, status)]
    return branches


def _state_conditions(shape: WindowShape) -> list[list[str]]:
    """Return the conditions for each of the tab's states."""
    states = [[f"status = :status{index}", "archived_at IS NULL"] for index in range(len(TAB_STATUSES[shape.tab]))]
    return [["user_id = :user", *state] for state in states or [[]]]


def _tab_conditions(shape: WindowShape, plus: str = "+") -> list[str]:
    states = ", ".join(f":status{index}" for index in range(len(TAB_STATUSES[shape.tab])))
    return [f"{plus}draft.status IN ({states})", f"{plus}draft.archived_at IS NULL"] if states else []


def _search_from(shape: WindowShape, among: str = "") -> str:
    """Return the drafts that match the search, of all or `among` some. The first table of a CROSS JOIN leads."""
    plus = "" if shape.is_selective and not among else "+"
    conditions = [
        f"{plus}draft.user_id = :user",
        *_tab_conditions(shape, plus),
        *_filter_conditions(shape),
        *([among] * bool(among)),
    ]
    if shape.has_position:
        conditions.append(f"{_rowid_column(shape)} {'<' if shape.descending else '>'} :key")
    matches = "draft_words MATCH :words"
    if shape.is_selective:
        # As a subquery: probed once per draft, the index would expand a prefix term each time.
        conditions.append(f"+draft.rid IN (SELECT rowid FROM draft_words WHERE {matches})")  # noqa: S608
        return f"draft WHERE {' AND '.join(conditions)}"
    tables = "draft_words CROSS JOIN draft ON draft.rid = draft_words.rowid"
    return f"{tables} WHERE {' AND '.join([matches, *conditions])}"


def _rowid_column(shape: WindowShape) -> str:
    """Return the column that orders the drafts that match a search."""
    return "+draft.rid" if shape.is_selective else "draft_words.rowid"


def _selective_from(shape: WindowShape) -> str:
    """Return the FROM clause for few drafts, found by their source or tag and then sorted."""
    conditions = _tab_conditions(shape)
    past = (
        [f"({' OR '.join(' AND '.join(condition) for condition in _past_position(shape, None))})"]
        if shape.has_position
        else []
    )
    if shape.tags:
        # The first tag is checked by the subquery: drop its condition from the filters, keep those of the others.
        has_first_tag = f"id IN (SELECT draft_id FROM draft_tag WHERE tag_id = {_TAG.format(0)})"  # noqa: S608
        conditions = [
            has_first_tag,
            "+user_id = :user",
            *conditions,
            *_filter_conditions(shape)[: -shape.tags],
            *_tag_conditions(shape)[1:],
        ]
    else:
        conditions = ["user_id = :user", "source_id = :source", *conditions, *_filter_conditions(shape)]
    return f"draft WHERE {' AND '.join([*conditions, *past])}"


def _filter_conditions(shape: WindowShape) -> list[str]:
    conditions = ["+draft.format = :format"] * shape.format + ["+draft.source_id = :source"] * shape.source
    return conditions + _tag_conditions(shape)


def _tag_conditions(shape: WindowShape) -> list[str]:
    return [
        f"EXISTS (SELECT 1 FROM draft_tag WHERE draft_id = draft.id AND tag_id = {_TAG.format(index)})"  # noqa: S608
        for index in range(shape.tags)
    ]


def _past_position(shape: WindowShape, status: Status | None) -> list[list[str]]:
    """Return the alternatives for being past the position. SQLite sorts NULL keys before all others."""
    order, operator = get_order(shape.tab), "<" if shape.descending else ">"
    if order is Order.NEWEST:
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
    if status is Status.SCHEDULED:
        # Every scheduled draft has a time.
        return alternatives
    if not shape.position_has_key:
        alternatives.append([has_no_key, f"id {operator} :id"] if shape.has_position else [has_no_key])
    elif shape.descending:
        alternatives.append([has_no_key])
    return alternatives
