"""How many drafts there are, from the counts that triggers keep: nothing here grows with the drafts."""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, bindparam, func, select

from copydesk.model.draft import Status
from copydesk.model.filters import Counts
from copydesk.store.tables import draft_count

APPROVED: Final = frozenset((Status.APPROVED, Status.SCHEDULED, Status.POSTING, Status.POSTED, Status.MISSED))
"""The user said yes to these, whatever became of them."""

_KEPT = draft_count.c
_BY_STATUS = (
    select(_KEPT.status, _KEPT.archived, func.sum(_KEPT.drafts))
    .where(_KEPT.user_id == bindparam("user"))
    .group_by(_KEPT.status, _KEPT.archived)
)
_BY_SOURCE = (
    select(
        _KEPT.source_id,
        func.coalesce(func.sum(_KEPT.drafts).filter(_KEPT.status.in_(APPROVED)), 0),
        func.coalesce(func.sum(_KEPT.drafts).filter(_KEPT.status == Status.REJECTED), 0),
    )
    .where(_KEPT.user_id == bindparam("user"), _KEPT.source_id != "", _KEPT.status.in_([*APPROVED, Status.REJECTED]))
    .group_by(_KEPT.source_id)
)


def by_status(conn: Connection, user_id: str) -> Counts:
    """How many of the user's drafts are in each state, and how many are archived."""
    found = dict.fromkeys(Status, 0)
    hidden = 0
    for status, archived, drafts in conn.execute(_BY_STATUS, {"user": user_id}):
        if archived:
            hidden += drafts
        else:
            found[status] = drafts
    return Counts(by_status=found, archived=hidden)


def decisions(conn: Connection, user_id: str) -> Mapping[str, tuple[int, int]]:
    """How many drafts of each source the user approved, and how many rejected, archived ones too."""
    return {source_id: (yes, no) for source_id, yes, no in conn.execute(_BY_SOURCE, {"user": user_id})}
