"""The statements of `copydesk.store.window`, each made once for each shape of what is asked.

Only names of ours stand in them. A plus before a column keeps SQLite from looking there first.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from copydesk.model.draft import Status
from copydesk.model.history import CREATE
from copydesk.model.window import STATES, Order, Tab, order_of
from copydesk.store.listed import PLAIN

_KEYS: Final = {Order.BEST: "total_score", Order.SOONEST: "scheduled_at", Order.NEWEST: "NULL"}
_COLUMNS = ", ".join(f"draft.{name}" for name in PLAIN)
_TAG = "(SELECT id FROM tag WHERE user_id = :user AND name = :tag{})"


class Shape(NamedTuple):
    """Of a slice what its statement depends on."""

    tab: Tab
    format: bool = False
    source: bool = False
    tags: int = 0
    words: bool = False
    """Whether words are looked for."""
    led: bool = False
    """Whether the filters, or beside words the tab, lead to few drafts."""
    backwards: bool = False
    place: bool = False
    """Whether it begins at a place, and whether that has a key."""
    keyed: bool = False

    @property
    def descending(self) -> bool:
        """Whether the index is read from its end."""
        return (self.order is not Order.SOONEST) is not self.backwards

    @property
    def order(self) -> Order:
        """As that of the view."""
        return Order.NEWEST if self.words else order_of(self.tab)


@lru_cache
def places_of(shape: Shape) -> str:
    """Where drafts stand, in the view's order."""
    way = "DESC" if shape.descending else "ASC"
    if shape.words:
        return (
            f"SELECT draft.rid, draft.id FROM {_worded(shape)} ORDER BY {_row(shape)} {way} LIMIT :limit OFFSET :offset"  # noqa: S608
        )
    key = _KEYS[shape.order]
    branches = " UNION ALL ".join(f"SELECT {key}, id FROM {each}" for each in _branches(shape))  # noqa: S608
    by = f"2 {way}" if shape.order is Order.NEWEST else f"1 {way}, 2 {way}"
    return f"{branches} ORDER BY {by} LIMIT :limit OFFSET :offset"


@lru_cache
def standing_of(shape: Shape, count: int) -> str:
    """Where those of so many drafts stand that the view shows."""
    among = f"draft.id IN ({', '.join(f':each{at}' for at in range(count))})"
    if shape.words:
        return f"SELECT draft.rid, draft.id FROM {_worded(shape._replace(led=True), among)}"  # noqa: S608
    conditions = [among, "+user_id = :user", *_in_tab(shape), *_filters(shape)]
    return f"SELECT {_KEYS[shape.order]}, id FROM draft WHERE {' AND '.join(conditions)}"  # noqa: S608


@lru_cache
def count_of(shape: Shape) -> str:
    """How many drafts there are."""
    parts = " UNION ALL ".join(f"SELECT count(*) AS part FROM {each}" for each in _branches(shape))  # noqa: S608
    return f"SELECT sum(part) FROM ({parts})"  # noqa: S608


@lru_cache
def since_of(shape: Shape) -> str:
    """How many drafts are newer than one."""
    if shape.words:
        than = "SELECT rid FROM draft WHERE user_id = :user AND id <= :than ORDER BY id DESC LIMIT 1"
        newer = f"{_row(shape)} > coalesce(({than}), 0)"
        return f"SELECT count(*) FROM (SELECT 1 FROM {_worded(shape)} AND {newer} LIMIT :limit)"  # noqa: S608
    kept = "".join(f" AND {condition}" for condition in _filters(shape))
    each = " UNION ALL ".join(
        f"SELECT 1 FROM draft WHERE {' AND '.join(one)} AND id > :than{kept}"  # noqa: S608
        for one in _states(shape)
    )
    return f"SELECT count(*) FROM ({each} LIMIT :limit)"  # noqa: S608


@lru_cache
def came_since(tab: Tab, count: int) -> str:
    """Those of so many drafts whose first event since one says that the tab did not show them before."""
    states = ", ".join(f"'{status.value}'" for status in STATES[tab])
    other = f" OR status NOT IN ({states}) OR archived_at IS NOT NULL" if states else ""
    among = ", ".join(f":each{at}" for at in range(count))
    first = (
        "SELECT draft_id, min(rid), action, before ->> 'status' AS status, before ->> 'archived_at' AS archived_at"  # noqa: S608
        f" FROM draft_event WHERE draft_id IN ({among}) AND +rid > :than AND +user_id = :user GROUP BY draft_id"
    )
    return f"SELECT draft_id FROM ({first}) WHERE action = '{CREATE}'{other}"  # noqa: S608


@lru_cache
def led_to(shape: Shape) -> str:
    """How many drafts the filters, or beside words the tab, lead to, counted up to a limit."""
    if shape.words:
        each = (f"SELECT 1 FROM draft WHERE {' AND '.join(state)}" for state in _states(shape))  # noqa: S608
        return f"SELECT count(*) FROM ({' UNION ALL '.join(each)} LIMIT :limit)"  # noqa: S608
    if shape.tags:
        led = f"draft_tag WHERE tag_id = {_TAG.format(0)}"
    else:
        led = "draft WHERE user_id = :user AND source_id = :source"
    return f"SELECT count(*) FROM (SELECT 1 FROM {led} LIMIT :limit)"  # noqa: S608


@lru_cache
def these_of(count: int) -> str:
    """The drafts with so many ids."""
    return f"""SELECT {_COLUMNS}, item.title, draft.source_type FROM draft JOIN item ON item.id = draft.item_id
        WHERE +draft.user_id = ? AND draft.id IN ({", ".join("?" * count)})"""  # noqa: S608


def _branches(shape: Shape) -> list[str]:
    """What is to be merged: of each state, and of what has a key and what has none, the drafts past the place."""
    if shape.words:
        return [_worded(shape)]
    if shape.led:
        return [_led(shape)]
    kept = _filters(shape)
    found = []
    for status, state in zip(STATES[shape.tab] or (None,), _states(shape), strict=True):
        found += [f"draft WHERE {' AND '.join([*state, *past, *kept])}" for past in _past(shape, status)]
    return found


def _states(shape: Shape) -> list[list[str]]:
    """Of each of the tab's states which drafts are in it."""
    states = [[f"status = :status{at}", "archived_at IS NULL"] for at in range(len(STATES[shape.tab]))]
    return [["user_id = :user", *state] for state in states or [[]]]


def _in_tab(shape: Shape, plus: str = "+") -> list[str]:
    states = ", ".join(f":status{at}" for at in range(len(STATES[shape.tab])))
    return [f"{plus}draft.status IN ({states})", f"{plus}draft.archived_at IS NULL"] if states else []


def _worded(shape: Shape, among: str = "") -> str:
    """The drafts that have the words, of all or among some. What stands first in a cross join leads."""
    plus = "" if shape.led and not among else "+"
    kept = [f"{plus}draft.user_id = :user", *_in_tab(shape, plus), *_filters(shape), *([among] * bool(among))]
    if shape.place:
        kept.append(f"{_row(shape)} {'<' if shape.descending else '>'} :key")
    has_words = "draft_words MATCH :words"
    if shape.led:
        # Asked for one draft after the other the index would look up each time what begins with some letters.
        kept.append(f"+draft.rid IN (SELECT rowid FROM draft_words WHERE {has_words})")  # noqa: S608
        return f"draft WHERE {' AND '.join(kept)}"
    joined = "draft_words CROSS JOIN draft ON draft.rid = draft_words.rowid"
    return f"{joined} WHERE {' AND '.join([has_words, *kept])}"


def _row(shape: Shape) -> str:
    """By which column the drafts that have the words follow each other."""
    return "+draft.rid" if shape.led else "draft_words.rowid"


def _led(shape: Shape) -> str:
    """The same for few drafts, found by their source or tag and then sorted."""
    kept = _in_tab(shape)
    past = [f"({' OR '.join(' AND '.join(each) for each in _past(shape, None))})"] if shape.place else []
    if shape.tags:
        tagged = f"id IN (SELECT draft_id FROM draft_tag WHERE tag_id = {_TAG.format(0)})"  # noqa: S608
        kept = [tagged, "+user_id = :user", *kept, *_filters(shape)[: -shape.tags], *_tagged(shape)[1:]]
    else:
        kept = ["user_id = :user", "source_id = :source", *kept, *_filters(shape)]
    return f"draft WHERE {' AND '.join([*kept, *past])}"


def _filters(shape: Shape) -> list[str]:
    kept = ["+draft.format = :format"] * shape.format + ["+draft.source_id = :source"] * shape.source
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
