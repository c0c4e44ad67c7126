"""Bulk actions under way: a row is inserted when one begins, and deleted when it is complete."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, delete, func, insert, select, update

from copydesk.model.requests import ChangeDraft, CountedChange
from copydesk.model.serialization import Struct
from copydesk.model.transitions import EventKind
from copydesk.store.column_types import to_microseconds
from copydesk.store.raw_sql import chunked, execute_sql, placeholders
from copydesk.store.tables import bulk_action, draft_event

_CHANGED_SINCE: Final = "SELECT id FROM draft WHERE user_id = ? AND updated_at > ? AND id IN "


class StartedBulk(Struct, frozen=True):
    """A bulk action that began."""

    id: str
    """The bulk id of its events."""
    kind: EventKind
    action: str
    of_bulk_id: str | None
    """The bulk action that an undo or a redo reverts."""
    started_at: datetime
    owner: str
    """The process that runs it, as in leases."""
    total: int


class BulkPart(Struct, frozen=True):
    """A request, and the drafts that it is applied to."""

    request: ChangeDraft
    draft_ids: tuple[str, ...]


class BulkPlan(StartedBulk, frozen=True, kw_only=True):
    """A bulk action that began, with all that is needed to finish it."""

    request: ChangeDraft | tuple[CountedChange, ...] | None
    """The request, or one for each part of the drafts; None for an undo or a redo."""
    draft_ids: tuple[str, ...]

    @property
    def parts(self) -> tuple[BulkPart, ...]:
        """The requests with their drafts; empty for an undo or a redo."""
        if not isinstance(self.request, tuple):
            return (BulkPart(self.request, self.draft_ids),) if self.request else ()
        parts, start = [], 0
        for change in self.request:
            parts.append(BulkPart(change.request, self.draft_ids[start : start + change.drafts]))
            start += change.drafts
        return tuple(parts)


_COLUMNS = tuple(bulk_action.c[name] for name in StartedBulk.__struct_fields__)
_PLAN_COLUMNS = tuple(bulk_action.c[name] for name in BulkPlan.__struct_fields__)


def add(conn: Connection, user_id: str, plan: BulkPlan) -> None:
    """Insert a bulk action that begins."""
    values = {name: getattr(plan, name) for name in BulkPlan.__struct_fields__}
    conn.execute(insert(bulk_action).values(user_id=user_id, **values))


def remove(conn: Connection, user_id: str, bulk_id: str) -> None:
    """Delete a bulk action that is complete or undone."""
    conn.execute(delete(bulk_action).where(*_is(user_id, bulk_id)))


def exists(conn: Connection, user_id: str, bulk_id: str) -> bool:
    """Return True if the bulk action is not complete."""
    return conn.execute(select(bulk_action.c.id).where(*_is(user_id, bulk_id))).first() is not None


def get(conn: Connection, user_id: str, bulk_id: str) -> BulkPlan | None:
    """Return a bulk action that is not complete, or None."""
    row = conn.execute(select(*_PLAN_COLUMNS).where(*_is(user_id, bulk_id))).first()
    return BulkPlan(**row._mapping) if row else None


def list_started(conn: Connection, user_id: str) -> tuple[tuple[StartedBulk, int], ...]:
    """Return the bulk actions that are not complete, oldest first, each with the number of drafts it changed."""
    # Without the drafts' ids, which can be megabytes.
    rows = conn.execute(select(*_COLUMNS).where(bulk_action.c.user_id == user_id).order_by(bulk_action.c.id)).all()
    return tuple((StartedBulk(**row._mapping), _count_changed(conn, user_id, row.id)) for row in rows)


def _count_changed(conn: Connection, user_id: str, bulk_id: str) -> int:
    conditions = (draft_event.c.user_id == user_id, draft_event.c.bulk_id == bulk_id)
    return conn.execute(select(func.count()).select_from(draft_event).where(*conditions)).scalar_one()


def take_over(conn: Connection, user_id: str, bulk_id: str, dead_owner: str, owner: str) -> bool:
    """Make `owner` run the bulk action in place of `dead_owner`; return False if another process was faster."""
    statement = update(bulk_action).where(*_is(user_id, bulk_id), bulk_action.c.owner == dead_owner).values(owner=owner)
    return conn.execute(statement).rowcount == 1


def changed_since(conn: Connection, user_id: str, draft_ids: Sequence[str], since: datetime) -> frozenset[str]:
    """Return those of the drafts that were changed after `since`."""
    changed: set[str] = set()
    for chunk in chunked(draft_ids):
        values = (user_id, to_microseconds(since), *chunk)
        changed.update(row[0] for row in execute_sql(conn, f"{_CHANGED_SINCE}({placeholders(chunk)})", values))
    return frozenset(changed)


def _is(user_id: str, bulk_id: str) -> tuple[Any, ...]:
    return bulk_action.c.user_id == user_id, bulk_action.c.id == bulk_id
