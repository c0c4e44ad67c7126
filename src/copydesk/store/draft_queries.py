"""Draft queries: pages, the review queue, single drafts and their versions.

A page of a million drafts costs as much as one of a thousand: its statement is compiled once for each shape of page and
names the index to use, and its rows are read as plain tuples.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

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
from copydesk.store.column_types import to_microseconds
from copydesk.store.draft_json import encode_drafts
from copydesk.store.draft_rows import DRAFT_COLUMNS, Driver, hydrate, list_queue, query_by_ids
from copydesk.store.draft_updates import draft_not_found
from copydesk.store.raw_sql import dbapi_connection, raw_execute, to_sql
from copydesk.store.tables import draft, draft_tag, item, tag

D = TypeVar("D")
ROW_COLUMNS = (*(draft.c[name] for name in DRAFT_COLUMNS), item.c.title, draft.c.source_type, item.c.published)
"""The columns that `hydrate` takes."""
UNINDEXED_COLUMNS: Mapping[str, ColumnElement[Any]] = {
    column.name: literal_column(f"+draft.{column.name}") for column in draft.columns
}
"""The draft's columns with a unary plus, which keeps SQLite from using an index on them."""
MAX_SORTED = 1000
"""More drafts than this are not sorted for one page, and not counted further."""

_EQUALITY_FILTERS = ("format", "source_id", "source_type")

_IS_OWNED = draft.c.user_id == bindparam("user")
_VERSION_ROW = select(draft.c.id, draft.c.regenerated_from_id)
# UNION, not UNION ALL: it terminates even if a damaged chain has a cycle.
_ancestors = _VERSION_ROW.where(_IS_OWNED, draft.c.id == bindparam("draft")).cte("up", recursive=True)
_ancestors = _ancestors.union(_VERSION_ROW.where(_IS_OWNED, draft.c.id == _ancestors.c.regenerated_from_id))
_family = select(_ancestors.c.id).cte("versions", recursive=True)
# Without the user, whom `list_versions` checks: for a second condition SQLite reads all drafts into a Bloom filter.
_family = _family.union(select(draft.c.id).where(draft.c.regenerated_from_id == _family.c.id))
_VERSIONS = select(_family.c.id).order_by(_family.c.id)
_EARLIER_TEXTS = select(draft.c.text).where(
    _IS_OWNED, draft.c.id.in_(select(_ancestors.c.id)), draft.c.id != bindparam("draft"), draft.c.text != ""
)
_EARLIER_TEXTS = _EARLIER_TEXTS.order_by(draft.c.id.desc())


class DraftPage(NamedTuple, Generic[D]):
    """Drafts of a list, and the position of the last one if there are more."""

    drafts: D
    position: str | None


def list_page(
    conn: Connection, user_id: str, filters: Filters, *, limit: int, before: str | None
) -> DraftPage[tuple[ListedDraft, ...]]:
    """Return at most `limit` drafts older than the draft `before`, newest first."""
    return _load_page(hydrate, conn, user_id, filters, limit, before)


def list_page_json(
    conn: Connection, user_id: str, filters: Filters, *, limit: int, before: str | None
) -> DraftPage[bytes]:
    """Return the page as `list_page` does, its drafts as a JSON array."""
    return _load_page(encode_drafts, conn, user_id, filters, limit, before)


def _load_page(
    build: Callable[[Driver, str, Sequence[Sequence[Any]]], D],
    conn: Connection,
    user_id: str,
    filters: Filters,
    limit: int,
    before: str | None,
) -> DraftPage[D]:
    shape, values = _plan(conn, user_id, filters, limit + 1, before)
    driver = dbapi_connection(conn)
    rows = driver.execute(_page_sql(shape), values).fetchall()
    # The first column is the id.
    return DraftPage(build(driver, user_id, rows[:limit]), rows[limit - 1][0] if len(rows) > limit else None)


def list_ids(conn: Connection, user_id: str, filters: Filters, *, limit: int, before: str | None) -> tuple[str, ...]:
    """Return the ids of the drafts on a page."""
    shape, values = _plan(conn, user_id, filters, limit, before)
    return tuple(draft_id for (draft_id,) in raw_execute(conn)(_ids_sql(shape), values))


def list_best(conn: Connection, user_id: str, statuses: Sequence[Status], limit: int) -> tuple[ListedDraft, ...]:
    """Return the drafts in these states that are not archived, highest score first: the review queue."""
    return list_queue(dbapi_connection(conn), user_id, statuses, limit)


def get(conn: Connection, user_id: str, draft_id: str) -> ListedDraft | None:
    """Return the draft, or None if the user has no such draft."""
    drafts = query_by_ids(dbapi_connection(conn), user_id, [draft_id])()
    return drafts[0] if drafts else None


def load(conn: Connection, user_id: str, draft_id: str) -> ListedDraft:
    """Return the draft. Raise NotFoundError if the user has no such draft."""
    found = get(conn, user_id, draft_id)
    if found is None:
        raise draft_not_found(draft_id)
    return found


class PageShape(NamedTuple):
    """The properties of a page that its statement depends on."""

    statuses: int
    equal: tuple[str, ...]
    manual: bool
    tags: int
    after: bool
    before: bool
    wide: bool
    """True if the time window has so many drafts that walking all of them is faster than sorting those."""
    archived: Archived
    has_cursor: bool


def page_shape(filters: Filters, before: str | None) -> PageShape:
    """Return the shape of a page that starts after the draft `before`."""
    manual = filters.source_type == MANUAL
    equal = (name for name in _EQUALITY_FILTERS if getattr(filters, name) is not None)
    return PageShape(
        statuses=len(filters.status),
        equal=tuple(name for name in equal if not (manual and name == "source_type")),
        manual=manual,
        tags=len(filters.tags),
        after=filters.scheduled_after is not None,
        before=filters.scheduled_before is not None,
        wide=False,
        archived=filters.archived,
        has_cursor=before is not None,
    )


def page_parameters(user_id: str, filters: Filters, limit: int, before: str | None) -> dict[str, Any]:
    """Return the statement's parameters by name, with stored values."""
    values: dict[str, Any] = {"user": user_id, "limit": limit, "before": before}
    values |= {name: str(getattr(filters, name)) for name in _EQUALITY_FILTERS}
    values |= {f"status{index}": status.value for index, status in enumerate(filters.status)}
    values |= {f"tag{index}": name for index, name in enumerate(filters.tags)}
    for name in ("scheduled_after", "scheduled_before"):
        instant = getattr(filters, name)
        values[name] = None if instant is None else to_microseconds(instant)
    return values


def _plan(
    conn: Connection, user_id: str, filters: Filters, limit: int, before: str | None
) -> tuple[PageShape, dict[str, Any]]:
    """Return the shape of the page and its values; counts up to MAX_SORTED rows to choose the index."""
    if len(filters.tags) > 1:
        # The statement starts from the drafts of the first tag.
        found = find_tags(conn, user_id, filters.tags)
        filters = msgspec.structs.replace(filters, tags=tuple(name for name, _ in found))
    shape, values = page_shape(filters, before), page_parameters(user_id, filters, limit, before)
    if (shape.after or shape.before) and not shape.tags:
        count = raw_execute(conn)(_in_window(shape.after, shape.before), values | {"limit": MAX_SORTED}).fetchone()[0]
        # The count stops at the limit: more are there, and how many does not matter.
        shape = shape._replace(wide=count == MAX_SORTED)
    return shape, values


def find_tags(conn: Connection, user_id: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the names of the tags with their ids, the rarest first; an empty id for a tag that does not exist."""
    values = {"user": user_id, "sample": MAX_SORTED} | {f"tag{index}": name for index, name in enumerate(names)}
    found = {name: (age or "", id_) for name, id_, age in raw_execute(conn)(_tags_sql(len(names)), values)}
    return [(name, found.get(name, ("", ""))[1]) for name in sorted(names, key=lambda name: found.get(name, ("", "")))]


@lru_cache
def _in_window(after: bool, before: bool) -> str:  # noqa: FBT001 - as in a shape
    conditions = [draft.c.user_id == bindparam("user")]
    if after:
        conditions.append(draft.c.scheduled_at >= bindparam("scheduled_after"))
    if before:
        conditions.append(draft.c.scheduled_at < bindparam("scheduled_before"))
    limited = apply_limit(select(draft.c.scheduled_at).where(*conditions)).subquery()
    return to_sql(select(func.count()).select_from(limited))


@lru_cache
def _tags_sql(count: int) -> str:
    # The older the draft that so many newer ones with the tag follow, the rarer is the tag; NULL if there are fewer.
    # To count them would take as long as a tag is common.
    oldest = "SELECT draft_id FROM draft_tag WHERE tag_id = tag.id ORDER BY draft_id DESC LIMIT 1 OFFSET :sample"
    # With one tag there is no order to find.
    age = f"({oldest})" if count > 1 else "NULL"
    names = ", ".join(f":tag{index}" for index in range(count))
    return f"SELECT name, id, {age} FROM tag WHERE user_id = :user AND name IN ({names})"  # noqa: S608


@lru_cache
def _page_sql(shape: PageShape) -> str:
    return to_sql(_select_newest(shape, ROW_COLUMNS, draft.join(item, item.c.id == draft.c.item_id)))


@lru_cache
def _ids_sql(shape: PageShape) -> str:
    return to_sql(_select_newest(shape, (draft.c.id,), draft))


def _select_newest(
    shape: PageShape, columns: Sequence[ColumnElement[Any]], source: FromClause
) -> Select[*tuple[Any, ...]]:
    """Return the query for the newest drafts of this shape."""
    leading = _leading_columns(shape)
    columns_by_name = {
        column.name: column if column.name in leading else UNINDEXED_COLUMNS[column.name] for column in draft.columns
    }
    if "scheduled_at" in leading:
        # Only the ids are sorted, not whole rows.
        newest_ids = [_newest(shape, column_conditions(shape, columns_by_name), (draft.c.id,), draft).subquery()]
    elif shape.statuses < 2 or "status" not in leading:
        return _newest(shape, column_conditions(shape, columns_by_name), columns, source)
    else:
        # The newest of each state through its index: with IN all drafts in these states would be sorted.
        states = [columns_by_name["status"] == bindparam(f"status{index}") for index in range(shape.statuses)]
        other_conditions = column_conditions(shape._replace(statuses=0), columns_by_name)
        newest_ids = [_newest(shape, [state, *other_conditions], (draft.c.id,), draft).subquery() for state in states]
    union = union_all(*(select(newest.c.id) for newest in newest_ids))
    query = select(*columns).select_from(source).where(draft.c.id.in_(union))
    return apply_limit(query.order_by(draft.c.id.desc()))


def _newest(
    shape: PageShape, conditions: list[ColumnElement[bool]], columns: Sequence[ColumnElement[Any]], source: FromClause
) -> Select[*tuple[Any, ...]]:
    # If the time index leads, the order must not: SQLite would use the index on ids instead.
    order: ColumnElement[str] = UNINDEXED_COLUMNS["id"] if "scheduled_at" in _leading_columns(shape) else draft.c.id
    if shape.tags:
        tagged = draft_tag.alias("tagged")
        order = tagged.c.draft_id
        source = source.join(tagged, order == draft.c.id)
        conditions = [tagged.c.tag_id == _tag(0), *conditions]
        conditions += [has_tag(index, order) for index in range(1, shape.tags)]
    if shape.wide:
        conditions = [*conditions, draft.c.scheduled_at.is_not(None)]
    if shape.has_cursor:
        conditions = [*conditions, order < bindparam("before")]
    return apply_limit(select(*columns).select_from(source).where(*conditions).order_by(order.desc()))


def _leading_columns(shape: PageShape) -> frozenset[str]:
    """Return the columns whose index leads to the drafts. SQLite would choose by statistics that it may not have."""
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


def apply_limit(query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    """Limit the query to `:limit` rows."""
    # Without an explicit offset SQLAlchemy renders one with a parameter.
    return query.limit(bindparam("limit")).offset(literal_column("0"))


def _tag(index: int) -> ScalarSelect[str]:
    conditions = (tag.c.user_id == bindparam("user"), tag.c.name == bindparam(f"tag{index}"))
    return select(tag.c.id).where(*conditions).scalar_subquery()


def has_tag(index: int, draft_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the condition that the draft has the tag number `index` of the filters."""
    tagged = draft_tag.alias(f"tagged{index}")
    return exists().where(tagged.c.tag_id == _tag(index), tagged.c.draft_id == draft_id)


def column_conditions(shape: PageShape, columns: Mapping[str, ColumnElement[Any]]) -> list[ColumnElement[bool]]:
    """Return the conditions on the draft's own columns, without those on tags and cursor."""
    conditions = [columns["user_id"] == bindparam("user"), *(columns[name] == bindparam(name) for name in shape.equal)]
    if shape.manual:
        conditions.append(columns["source_type"].is_(None))
    states: list[BindParameter[str]] = [bindparam(f"status{index}") for index in range(shape.statuses)]
    if states:
        conditions.append(columns["status"] == states[0] if len(states) == 1 else columns["status"].in_(states))
    if shape.after:
        conditions.append(columns["scheduled_at"] >= bindparam("scheduled_after"))
    if shape.before:
        conditions.append(columns["scheduled_at"] < bindparam("scheduled_before"))
    if shape.archived is not Archived.INCLUDE:
        archived = columns["archived_at"]
        conditions.append(archived.is_not(None) if shape.archived is Archived.ONLY else archived.is_(None))
    return conditions


def list_versions(conn: Connection, user_id: str, draft_id: str) -> tuple[ListedDraft, ...]:
    """Return all versions of the draft, oldest first: its ancestors, itself, and all descendants of these."""
    ids = conn.execute(_VERSIONS, {"user": user_id, "draft": draft_id}).scalars().all()
    versions = (get(conn, user_id, version) for version in ids)
    return tuple(version for version in versions if version is not None)


def list_earlier_texts(conn: Connection, user_id: str, draft_id: str) -> tuple[str, ...]:
    """Return the texts of the versions that the draft was made from, newest first, without empty ones."""
    return tuple(conn.execute(_EARLIER_TEXTS, {"user": user_id, "draft": draft_id}).scalars())
