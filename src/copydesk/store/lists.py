"""Finding drafts: pages, the review queue, single ones.

A page is read at most three times a second on the smallest machine or a hundred times by a script: its statement is
made once for each set of filters, and its rows are read as plain tuples.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    FromClause,
    ScalarSelect,
    Select,
    bindparam,
    exists,
    literal_column,
    select,
    union_all,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from copydesk.model.draft import DraftImage, ListedDraft, Status
from copydesk.model.filters import Archived, Filters
from copydesk.store.listed import IMAGE, PLAIN, listed, picture
from copydesk.store.tables import draft, draft_image, draft_tag, item, tag
from copydesk.store.types import microseconds

ROW = (*(draft.c[name] for name in PLAIN), item.c.title, draft.c.source_type)
"""What `listed` makes a draft of."""
_EQUAL = ("format", "source_id", "source_type")
Kept = Mapping[str, ColumnElement[Any]] | ReadOnlyColumnCollection[str, Column[Any]]
_DIALECT = sqlite.dialect(paramstyle="named")


def page(
    conn: Connection, user_id: str, filters: Filters, *, limit: int, before: str | None
) -> tuple[ListedDraft, ...]:
    """Drafts, newest first, those older than the draft `before`."""
    return _read(conn, user_id, _page(shape_of(filters, before)), values_of(user_id, filters, limit, before))


def ids(conn: Connection, user_id: str, filters: Filters, *, limit: int, before: str | None) -> tuple[str, ...]:
    """The ids of what `page` holds."""
    found = conn.exec_driver_sql(_ids(shape_of(filters, before)), values_of(user_id, filters, limit, before))
    return tuple(draft_id for (draft_id,) in found)


def best(conn: Connection, user_id: str, statuses: Sequence[Status], limit: int) -> tuple[ListedDraft, ...]:
    """Drafts in these states that are not archived, the highest score first: the review queue."""
    given = {f"status{place}": status.value for place, status in enumerate(statuses)}
    return _read(conn, user_id, _best(len(statuses)), {"user": user_id, "limit": limit, **given})


def one(conn: Connection, user_id: str, draft_id: str) -> ListedDraft | None:
    """One of the user's drafts."""
    found = _read(conn, user_id, _one(), {"user": user_id, "draft": draft_id})
    return found[0] if found else None


class Shape(NamedTuple):
    """Of a page what its statement depends on."""

    statuses: int
    equal: tuple[str, ...]
    tags: int
    after: bool
    before: bool
    archived: Archived
    further: bool


def shape_of(filters: Filters, before: str | None) -> Shape:
    """The shape of a page that begins after the draft `before`."""
    return Shape(
        statuses=len(filters.status),
        equal=tuple(name for name in _EQUAL if getattr(filters, name) is not None),
        tags=len(filters.tags),
        after=filters.scheduled_after is not None,
        before=filters.scheduled_before is not None,
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


@lru_cache
def _page(shape: Shape) -> str:
    return text_of(_found(shape, ROW, draft.join(item, item.c.id == draft.c.item_id)))


@lru_cache
def _ids(shape: Shape) -> str:
    return text_of(_found(shape, (draft.c.id,), draft))


@lru_cache
def _best(statuses: int) -> str:
    waiting = draft.c.status.in_([bindparam(f"status{place}") for place in range(statuses)])
    order = (draft.c.total_score.desc().nulls_last(), draft.c.id.desc())
    return text_of(first(_mine().where(waiting, draft.c.archived_at.is_(None)).order_by(*order)))


@lru_cache
def _one() -> str:
    return text_of(_mine().where(draft.c.id == bindparam("draft")))


def _mine() -> Select[*tuple[Any, ...]]:
    return select(*ROW).join(item, item.c.id == draft.c.item_id).where(draft.c.user_id == bindparam("user"))


def _found(shape: Shape, columns: Sequence[ColumnElement[Any]], source: FromClause) -> Select[*tuple[Any, ...]]:
    """The newest drafts of this shape, in their order."""
    if shape.statuses < 2:
        return _newest(shape, columns, source)
    # Of each state its newest, for each has its index: with an IN all drafts of these states would be sorted.
    each = [_newest(shape, (draft.c.id,), draft, place).subquery() for place in range(shape.statuses)]
    among = union_all(*(select(newest.c.id) for newest in each))
    query = select(*columns).select_from(source).where(draft.c.id.in_(among))
    return first(query.order_by(draft.c.id.desc()))


def _newest(
    shape: Shape, columns: Sequence[ColumnElement[Any]], source: FromClause, status: int = 0
) -> Select[*tuple[Any, ...]]:
    conditions = narrowed(shape, draft.c, status)
    query = select(*columns)
    if shape.tags:
        tagged = draft_tag.alias("tagged")
        source = source.join(tagged, tagged.c.draft_id == draft.c.id)
        # The user is asked of the tag alone: asked of the draft too, the database would walk through all drafts.
        conditions += [tagged.c.tag_id == _tag(0), tagged.c.user_id == bindparam("user")]
        conditions += [has_tag(place) for place in range(1, shape.tags)]
        order: ColumnElement[str] = tagged.c.draft_id
    else:
        conditions.append(draft.c.user_id == bindparam("user"))
        order = draft.c.id
    if shape.further:
        conditions.append(order < bindparam("before"))
    return first(query.select_from(source).where(*conditions).order_by(order.desc()))


def first(query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    """As many rows as `limit` says."""
    # SQLAlchemy would write an offset of its own, with a parameter.
    return query.limit(bindparam("limit")).offset(literal_column("0"))


def _tag(place: int) -> ScalarSelect[str]:
    named = (tag.c.user_id == bindparam("user"), tag.c.name == bindparam(f"tag{place}"))
    return select(tag.c.id).where(*named).scalar_subquery()


def has_tag(place: int) -> ColumnElement[bool]:
    """Whether a draft has the tag at this place of the filters."""
    other = draft_tag.alias(f"tagged{place}")
    return exists().where(other.c.tag_id == _tag(place), other.c.draft_id == draft.c.id)


def narrowed(shape: Shape, kept: Kept, status: int = 0) -> list[ColumnElement[bool]]:
    """What a draft's own columns must be, with one of the states; tags, owner and place in the list come on top."""
    conditions = [kept[name] == bindparam(name) for name in shape.equal]
    if shape.statuses:
        conditions.append(kept["status"] == bindparam(f"status{status}"))
    if shape.after:
        conditions.append(kept["scheduled_at"] >= bindparam("scheduled_after"))
    if shape.before:
        conditions.append(kept["scheduled_at"] < bindparam("scheduled_before"))
    if shape.archived is not Archived.INCLUDE:
        archived = kept["archived_at"]
        conditions.append(archived.is_not(None) if shape.archived is Archived.ONLY else archived.is_(None))
    return conditions


def text_of(query: Select[*tuple[Any, ...]]) -> str:
    """The statement with its parameters by name, for SQLite's driver itself: taking it there again costs nothing."""
    return str(query.compile(dialect=_DIALECT))


def _read(conn: Connection, user_id: str, statement: str, values: dict[str, Any]) -> tuple[ListedDraft, ...]:
    return filled(conn, user_id, conn.exec_driver_sql(statement, values).all())


def filled(conn: Connection, user_id: str, rows: Sequence[Sequence[Any]]) -> tuple[ListedDraft, ...]:
    """The drafts of rows that hold the columns of ROW, with their pictures and tags."""
    found = [row[0] for row in rows]
    return listed(rows, _images(conn, user_id, found), _tags(conn, user_id, found)) if found else ()


def _images(conn: Connection, user_id: str, draft_ids: Sequence[str]) -> dict[str, tuple[DraftImage, ...]]:
    found: dict[str, tuple[DraftImage, ...]] = {}
    for draft_id, *values in conn.exec_driver_sql(_images_of(len(draft_ids)), _of(user_id, draft_ids)):
        found[draft_id] = (*found.get(draft_id, ()), picture(values))
    return found


def _tags(conn: Connection, user_id: str, draft_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for draft_id, name in conn.exec_driver_sql(_tags_of(len(draft_ids)), _of(user_id, draft_ids)):
        found[draft_id] = (*found.get(draft_id, ()), name)
    return found


def _of(user_id: str, draft_ids: Sequence[str]) -> dict[str, str]:
    return {"user": user_id, **{f"draft{place}": draft_id for place, draft_id in enumerate(draft_ids)}}


@lru_cache
def _images_of(count: int) -> str:
    kept = draft_image.c
    query = select(kept.draft_id, *(kept[name] for name in IMAGE)).where(kept.draft_id.in_(_each(count)))
    return text_of(query.where(kept.user_id == bindparam("user")).order_by(kept.position))


@lru_cache
def _tags_of(count: int) -> str:
    kept = draft_tag.c
    query = select(kept.draft_id, tag.c.name).join(tag, tag.c.id == kept.tag_id).where(kept.draft_id.in_(_each(count)))
    return text_of(query.where(kept.user_id == bindparam("user")).order_by(tag.c.name))


def _each(count: int) -> list[BindParameter[str]]:
    return [bindparam(f"draft{place}") for place in range(count)]
