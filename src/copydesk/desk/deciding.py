"""The columns an action or an edit changes on a draft. Pure: values in, values out.

Notes about a state are cleared with it: `rejection_feedback` when a draft is no longer rejected, `last_error` when its
status changes, its time when it is neither scheduled nor missed any more. `feedback` is the change the user last asked
for; it stays until the draft is approved or rejected. The event log keeps all of it.
"""

from datetime import datetime
from typing import Any

from copydesk.errors import ConflictError
from copydesk.model.change import ChangeDraft
from copydesk.model.draft import Action, Checks, Status, Trace
from copydesk.model.transitions import after, after_edit, allowed_actions
from copydesk.model.wire import Struct
from copydesk.scheduling.meant import Moment
from copydesk.store.changes import Seen

_SCHEDULED_STATUSES = (Status.SCHEDULED, Status.MISSED, Status.POSTING)


class Edited(Struct, frozen=True):
    """A new text with its check results."""

    text: str
    checks: Checks
    confidence: float
    sentences: tuple[Trace, ...]
    """Traces of the sentences of the old text that are still in the new one."""


def decided(
    seen: Seen, asked: ChangeDraft, now: datetime, *, edited: Edited | None = None, at: Moment | None = None
) -> dict[str, Any]:
    """Return the columns to set for `request`, the edit applied first; unchanged ones may be among them.

    `edited` accompanies a new text, `at` the actions schedule and reschedule. Raise ConflictError if the draft's status
    does not allow the change, and for the action post while no platform is connected.
    """
    status, values = seen.status, dict[str, Any]()
    if edited is not None:
        status = after_edit(status, archived=seen.archived)
        values |= {name: getattr(edited, name) for name in Edited.__struct_fields__}
    if asked.action is not None:
        try:
            status = after(asked.action, status, archived=seen.archived, feedback=asked.feedback)
        except ConflictError:
            # The edit is refused along with the action, so the error has to name the draft's stored status.
            after(asked.action, seen.status, archived=seen.archived)
            raise
        values |= _action_columns(asked.action, seen, asked.feedback, now)
    if at is not None:
        values |= timed(at)
    if asked.action is Action.POST:
        raise _not_connected_error(seen)
    return _cleared_columns(seen, status) | values | {"status": status}


def _action_columns(action: Action, snapshot: Seen, feedback: str | None, now: datetime) -> dict[str, Any]:
    """Return the columns an action sets besides the status."""
    match action:
        case Action.APPROVE:
            return {"feedback": None}
        case Action.REJECT:
            return {"feedback": None, "rejection_feedback": feedback}
        case Action.UNAPPROVE:
            return {"feedback": feedback}
        case Action.REGENERATE:
            # Without new feedback repeat the last one: it is the reason for writing the draft again.
            return {"feedback": feedback or snapshot.value("rejection_feedback") or snapshot.value("feedback")}
        case Action.ARCHIVE:
            return {"archived_at": now}
        case _:
            return {}


def timed(at: Moment | None) -> dict[str, Any]:
    """Return the columns of a draft's scheduled time; all None without one."""
    return {
        "scheduled_at": at.at if at else None,
        "scheduled_wall": at.meant.wall if at else None,
        "scheduled_zone": at.meant.zone if at else None,
    }


def _cleared_columns(snapshot: Seen, status: Status) -> dict[str, Any]:
    """Return the columns to clear because the draft leaves its status."""
    cleared: dict[str, Any] = {}
    if status is not snapshot.status:
        cleared["last_error"] = None
    if status is not Status.REJECTED:
        cleared["rejection_feedback"] = None
    if status not in _SCHEDULED_STATUSES:
        cleared |= timed(None)
    return cleared


def _not_connected_error(snapshot: Seen) -> ConflictError:
    alternatives = [
        action for action in allowed_actions(snapshot.status, archived=snapshot.archived) if action is not Action.POST
    ]
    return ConflictError(
        "No platform is connected; nothing was posted.",
        hint=f"Possible now: {', '.join(alternatives)}." if alternatives else "",
        current_status=snapshot.status,
        allowed=alternatives,
    )
