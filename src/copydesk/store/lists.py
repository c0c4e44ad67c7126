"""Finding drafts: pages, the review queue, single ones.

A page of a million drafts costs what one of a thousand does: its statement is made once for each kind of page and names
the index that leads to it, and its rows are read as plain tuples.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    FromClause,
    ScalarSelect,
    Select,
    bindparam,
    exists,
    func,
    literal_column,
    select,
    union_all,
)

from copydesk.model.draft import MANUAL, ListedDraft, Status
from copydesk.model.filters import Archived, Filters
from copydesk.store.listed import PLAIN, filled, queue
from copydesk.store.statements import runner, text_of
from copydesk.store.tables import draft, draft_tag, item, tag
from copydesk.store.types import microseconds

ROW = (*(draft.c[name] for name in PLAIN), item.c.title, draft.c.source_type)
"""What a draft is made of."""
UNLED: Mapping[str, ColumnElement[Any]] = {each.name: literal_column(f"+draft.{each.name}") for each in draft.columns}
"""A draft's columns, none of which leads SQLite to the index that it is in: that is what the plus is for."""
MANY = 1000
"""So many drafts are not sorted for one page, and not counted further."""
_EQUAL = ("format", "source_id", "source_type")


def page(
    conn: Connection, user_id: str, filters: Filters, *, limit: int, before: str | None
) -> tuple[tuple[ListedDraft, ...], bool]:
    """Drafts, newest first, those older than the draft `before`; and whether there are more."""
    shape, values = _planned(conn, user_id, filters, limit + 1, before)
    run = runner(conn)
    rows = run(_page(shape), values).fetchall()
    return filled(run, user_id, rows[:limit]), len(rows) > limit


def ids(conn: Connection, user_id: str, filters: Filters, *, limit: int, before: str | None) -> tuple[str, ...]:
    """The ids of what `page` holds."""
    shape, values = _planned(conn, user_id, filters, limit, before)
    return tuple(draft_id for (draft_id,) in runner(conn)(_ids(shape), values))


def best(conn: Connection, user_id: str, statuses: Sequence[Status], limit: int) -> tuple[ListedDraft, ...]:
    """Drafts in these states that are not archived, the highest score first: the review queue."""
    return queue(runner(conn), user_id, statuses, limit)


def one(conn: Connection, user_id: str, draft_id: str) -> ListedDraft | None:
    """One of the user's drafts."""
    found = _read(conn, user_id, _one(), {"user": user_id, "draft": draft_id})
    return found[0] if found else None


class Shape(NamedTuple):
    """Of a page what its statement depends on."""

    statuses: int
    equal: tuple[str, ...]
    manual: bool
    tags: int
    after: bool
    before: bool
    wide: bool
    """Whether so many drafts are in that window that walking through all is quicker than sorting those."""
    archived: Archived
    further: bool


def shape_of(filters: Filters, before: str | None) -> Shape:
    """The shape of a page that begins after the draft `before`."""
    return Shape(
        statuses=len(filters.status),
        equal=tuple(name for name in _EQUAL if getattr(filters, name) not in (None, MANUAL)),
        manual=filters.source_type == MANUAL,
        tags=len(filters.tags),
        after=filters.scheduled_after is not None,
        before=filters.scheduled_before is not None,
        wide=False,
        archived=filters.archived,
        further=before is not None,
    )


def values_of(user_id: str, filters: Filters, limit: int, before: str | None) -> dict[str, Any]:
    """What the statement's parameters stand for, by name, as the database keeps it."""
    values: dict[str, Any] = {"user": user_id, "limit": limit, "before": before}
    values |= {name: str(getattr(filters, name)) for name in _EQUAL}
    values |= {f"status{place}": status.value for place, status in enumerate(filters.status)}
    values |= {f"tag{place}": name for place, name in enumerate(filters.tags)}
    for name in ("scheduled_after", "scheduled_before"):
        moment = getattr(filters, name)
        values[name] = None if moment is None else microseconds(moment)
    return values


def _planned(
    conn: Connection, user_id: str, filters: Filters, limit: int, before: str | None
) -> tuple[Shape, dict[str, Any]]:
    """The shape of the page and its values, after a look at how much there is of what leads to the drafts."""
    if len(filters.tags) > 1:
        filters = msgspec.structs.replace(filters, tags=_rarest_first(conn, user_id, filters.tags))
    shape, values = shape_of(filters, before), values_of(user_id, filters, limit, before)
    if (shape.after or shape.before) and not shape.tags:
        counted = runner(conn)(_in_window(shape.after, shape.before), values | {"limit": MANY}).fetchone()[0]
        shape = shape._replace(wide=counted == MANY)
    return shape, values


def _rarest_first(conn: Connection, user_id: str, tags: Sequence[str]) -> tuple[str, ...]:
    """The tags, those of fewer drafts first; of how many is counted no further than it matters."""
    values = {"user": user_id, "limit": MANY}
    counted = {name: runner(conn)(_with_tag(), values | {"tag0": name}).fetchone()[0] for name in tags}
    return tuple(sorted(tags, key=counted.__getitem__))


@lru_cache
def _in_window(after: bool, before: bool) -> str:  # noqa: FBT001 - as in a shape
    conditions = [draft.c.user_id == bindparam("user")]
    if after:
        conditions.append(draft.c.scheduled_at >= bindparam("scheduled_after"))
    if before:
        conditions.append(draft.c.scheduled_at < bindparam("scheduled_before"))
    some = first(select(draft.c.scheduled_at).where(*conditions)).subquery()
    return text_of(select(func.count()).select_from(some))


@lru_cache
def _with_tag() -> str:
    some = first(select(draft_tag.c.draft_id).where(draft_tag.c.tag_id == _tag(0))).subquery()
    return text_of(select(func.count()).select_from(some))


@lru_cache
def _page(shape: Shape) -> str:
    return text_of(_found(shape, ROW, draft.join(item, item.c.id == draft.c.item_id)))


@lru_cache
def _ids(shape: Shape) -> str:
    return text_of(_found(shape, (draft.c.id,), draft))


@lru_cache
def _one() -> str:
    return text_of(_mine().where(draft.c.id == bindparam("draft")))


def _mine() -> Select[*tuple[Any, ...]]:
    return select(*ROW).join(item, item.c.id == draft.c.item_id).where(draft.c.user_id == bindparam("user"))


def _found(shape: Shape, columns: Sequence[ColumnElement[Any]], source: FromClause) -> Select[*tuple[Any, ...]]:
    """The newest drafts of this shape, in their order."""
    leading = _leading(shape)
    kept = {each.name: each if each.name in leading else UNLED[each.name] for each in draft.columns}
    if "scheduled_at" in leading:
        # Their ids alone are sorted, not whole drafts.
        each = [_newest(shape, narrowed(shape, kept), (draft.c.id,), draft).subquery()]
    elif shape.statuses < 2 or "status" not in leading:
        return _newest(shape, narrowed(shape, kept), columns, source)
    else:
        # Of each state its newest, for each has its index: with an IN all drafts of these states would be sorted.
        states = [kept["status"] == bindparam(f"status{place}") for place in range(shape.statuses)]
        rest = narrowed(shape._replace(statuses=0), kept)
        each = [_newest(shape, [state, *rest], (draft.c.id,), draft).subquery() for state in states]
    among = union_all(*(select(newest.c.id) for newest in each))
    query = select(*columns).select_from(source).where(draft.c.id.in_(among))
    return first(query.order_by(draft.c.id.desc()))


def _newest(
    shape: Shape, conditions: list[ColumnElement[bool]], columns: Sequence[ColumnElement[Any]], source: FromClause
) -> Select[*tuple[Any, ...]]:
    # Where time leads, the order must not: there is an index for either.
    order: ColumnElement[str] = UNLED["id"] if "scheduled_at" in _leading(shape) else draft.c.id
    if shape.tags:
        tagged = draft_tag.alias("tagged")
        order = tagged.c.draft_id
        source = source.join(tagged, order == draft.c.id)
        conditions = [tagged.c.tag_id == _tag(0), *conditions]
        conditions += [has_tag(place, order) for place in range(1, shape.tags)]
    if shape.wide:
        conditions = [*conditions, draft.c.scheduled_at.is_not(None)]
    if shape.further:
        conditions = [*conditions, order < bindparam("before")]
    return first(select(*columns).select_from(source).where(*conditions).order_by(order.desc()))


def _leading(shape: Shape) -> frozenset[str]:
    """The columns by whose index the drafts are found: SQLite would choose by figures that it may not have."""
    if shape.tags:
        return frozenset()
    columns: tuple[str, ...] = ()
    if shape.after or shape.before:
        columns = () if shape.wide else ("scheduled_at", "status") if shape.statuses == 1 else ("scheduled_at",)
    elif "source_id" in shape.equal:
        columns = ("source_id",)
    elif shape.statuses:
        columns = ("status", "format") if "format" in shape.equal else ("status",)
    elif shape.equal or shape.manual:
        columns = (*shape.equal, "source_type")[:1]
    elif shape.archived is Archived.ONLY:
        columns = ("archived_at",)
    return frozenset(("user_id", *columns))


def first(query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    """As many rows as `limit` says."""
    # SQLAlchemy would write an offset of its own, with a parameter.
    return query.limit(bindparam("limit")).offset(literal_column("0"))


def _tag(place: int) -> ScalarSelect[str]:
    named = (tag.c.user_id == bindparam("user"), tag.c.name == bindparam(f"tag{place}"))
    return select(tag.c.id).where(*named).scalar_subquery()


def has_tag(place: int, draft_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether the draft has the tag at this place of the filters."""
    other = draft_tag.alias(f"tagged{place}")
    return exists().where(other.c.tag_id == _tag(place), other.c.draft_id == draft_id)


def narrowed(shape: Shape, kept: Mapping[str, ColumnElement[Any]]) -> list[ColumnElement[bool]]:
    """What a draft's own columns must be; its tags and its place in the list come on top."""
    conditions = [kept["user_id"] == bindparam("user"), *(kept[name] == bindparam(name) for name in shape.equal)]
    if shape.manual:
        conditions.append(kept["source_type"].is_(None))
    states: list[BindParameter[str]] = [bindparam(f"status{place}") for place in range(shape.statuses)]
    if states:
        conditions.append(kept["status"] == states[0] if len(states) == 1 else kept["status"].in_(states))
    if shape.after:
        conditions.append(kept["scheduled_at"] >= bindparam("scheduled_after"))
    if shape.before:
        conditions.append(kept["scheduled_at"] < bindparam("scheduled_before"))
    if shape.archived is not Archived.INCLUDE:
        archived = kept["archived_at"]
        conditions.append(archived.is_not(None) if shape.archived is Archived.ONLY else archived.is_(None))
    return conditions


def _read(conn: Connection, user_id: str, statement: str, values: dict[str, Any]) -> tuple[ListedDraft, ...]:
    run = runner(conn)
    return filled(run, user_id, run(statement, values).fetchall())
