"""How many drafts there are, from the counts that triggers keep: nothing here grows with the drafts."""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, bindparam, func, select

from copydesk.model.draft import Status
from copydesk.model.filters import Counts
from copydesk.store.statements import run
from copydesk.store.tables import draft_count

APPROVED: Final = frozenset((Status.APPROVED, Status.SCHEDULED, Status.POSTING, Status.POSTED, Status.MISSED))
"""The user said yes to these, whatever became of them."""

_KEPT = draft_count.c
_BY_STATUS = (
    select(_KEPT.status, _KEPT.archived, func.sum(_KEPT.drafts))
    .where(_KEPT.user_id == bindparam("user"))
    .group_by(_KEPT.status, _KEPT.archived)
)
_YES = ", ".join(f"'{status.value}'" for status in sorted(APPROVED))
_NO = f"'{Status.REJECTED.value}'"
_BY_SOURCE = f"""SELECT source_id,
        coalesce(sum(drafts) FILTER (WHERE status IN ({_YES})), 0),
        coalesce(sum(drafts) FILTER (WHERE status = {_NO}), 0)
    FROM draft_count WHERE user_id = ? AND source_id <> '' AND status IN ({_YES}, {_NO})
    GROUP BY source_id"""  # noqa: S608 - words of our own


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
    return {source_id: (yes, no) for source_id, yes, no in run(conn, _BY_SOURCE, (user_id,))}
