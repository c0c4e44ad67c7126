"""Draft counts, read from a table that triggers maintain: the cost does not grow with the drafts."""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, bindparam, func, select

from copydesk.model.draft import Status
from copydesk.model.filters import DraftCounts
from copydesk.store.statements import execute_sql
from copydesk.store.tables import draft_count

APPROVED_STATUSES: Final = frozenset((Status.APPROVED, Status.SCHEDULED, Status.POSTING, Status.POSTED, Status.MISSED))
"""States of drafts that the user approved, whatever happened to them since."""

_COUNTS = draft_count.c
_BY_STATUS = (
    select(_COUNTS.status, _COUNTS.archived, func.sum(_COUNTS.drafts))
    .where(_COUNTS.user_id == bindparam("user"))
    .group_by(_COUNTS.status, _COUNTS.archived)
)
_APPROVED_VALUES = ", ".join(f"'{status.value}'" for status in sorted(APPROVED_STATUSES))
_REJECTED_VALUE = f"'{Status.REJECTED.value}'"
_BY_SOURCE = f"""SELECT source_id,
        coalesce(sum(drafts) FILTER (WHERE status IN ({_APPROVED_VALUES})), 0),
        coalesce(sum(drafts) FILTER (WHERE status = {_REJECTED_VALUE}), 0)
    FROM draft_count WHERE user_id = ? AND source_id <> '' AND status IN ({_APPROVED_VALUES}, {_REJECTED_VALUE})
    GROUP BY source_id"""  # noqa: S608 - words of our own


def count_by_status(conn: Connection, user_id: str) -> DraftCounts:
    """Return the number of the user's drafts in each state, and the number of archived ones."""
    counts = dict.fromkeys(Status, 0)
    archived_count = 0
    for status, archived, count in conn.execute(_BY_STATUS, {"user": user_id}):
        if archived:
            archived_count += count
        else:
            counts[status] = count
    return DraftCounts(by_status=counts, archived=archived_count)


def count_decisions_by_source(conn: Connection, user_id: str) -> Mapping[str, tuple[int, int]]:
    """Return (approved, rejected) draft counts by source id, archived drafts included."""
    return {
        source_id: (approved, rejected) for source_id, approved, rejected in execute_sql(conn, _BY_SOURCE, (user_id,))
    }
