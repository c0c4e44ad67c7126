"""The columns an action or an edit changes on a draft. Pure: values in, values out.

Notes about a state are cleared with it: `rejection_feedback` when a draft is no longer rejected, `last_error` when its
status changes, its time when it is neither scheduled nor missed any more. `feedback` is the change the user last asked
for; it stays until the draft is approved or rejected. The event log keeps all of it.
"""

from datetime import datetime
from typing import Any

from copydesk.errors import ConflictError
from copydesk.model.draft import Action, Checks, Status, Trace
from copydesk.model.requests import ChangeDraft
from copydesk.model.serialization import Struct
from copydesk.model.transitions import allowed_actions, alternatives_hint, next_status, status_after_edit
from copydesk.scheduling.time_text import DAYS, MONTHS
from copydesk.scheduling.wall_time import ScheduledTime
from copydesk.store.draft_updates import DraftSnapshot

_SCHEDULED_STATUSES = (Status.SCHEDULED, Status.MISSED, Status.POSTING)


class EditedText(Struct, frozen=True):
    """A new text with its check results."""

    text: str
    checks: Checks
    confidence: float
    sentences: tuple[Trace, ...]
    """Traces of the sentences of the old text that are still in the new one."""


def changed_columns(
    snapshot: DraftSnapshot,
    request: ChangeDraft,
    now: datetime,
    *,
    edited: EditedText | None = None,
    at: ScheduledTime | None = None,
) -> dict[str, Any]:
    """Return the columns to set for `request`, the edit applied first; unchanged ones may be among them.

    `edited` accompanies a new text, `at` the actions schedule and reschedule. Raise ConflictError if the draft's status
    does not allow the change, and for the action post while no platform is connected.
    """
    status, values = snapshot.status, dict[str, Any]()
    if edited is not None:
        status = status_after_edit(status, archived=snapshot.archived)
        values |= {name: getattr(edited, name) for name in EditedText.__struct_fields__}
    if request.action is not None:
        time = format_scheduled_time(snapshot)
        try:
            status = next_status(
                request.action, status, archived=snapshot.archived, feedback=request.feedback, scheduled_for=time
            )
        except ConflictError:
            # The edit is refused along with the action, so the error has to name the draft's stored status.
            next_status(request.action, snapshot.status, archived=snapshot.archived, scheduled_for=time)
            raise
        values |= _action_columns(request.action, snapshot, request.feedback, now)
    if at is not None:
        values |= schedule_columns(at)
    if request.action is Action.POST:
        raise _not_connected_error(snapshot)
    return _cleared_columns(snapshot, status) | values | {"status": status}


def _action_columns(action: Action, snapshot: DraftSnapshot, feedback: str | None, now: datetime) -> dict[str, Any]:
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


def format_scheduled_time(snapshot: DraftSnapshot) -> str:
    """Return the draft's scheduled time on the user's clock: `Mon 30 Nov 09:00`; empty without one."""
    wall = snapshot.stored["scheduled_wall"]
    if not wall:
        return ""
    day = datetime.fromisoformat(wall[:16])
    # Not strftime's names, which follow the machine's locale.
    weekday, month = DAYS[day.isoweekday() % 7][:3].title(), MONTHS[day.month - 1][:3].title()
    return f"{weekday} {day.day} {month} {day:%H:%M}"


def schedule_columns(at: ScheduledTime | None) -> dict[str, Any]:
    """Return the columns of a draft's scheduled time; all None without one."""
    return {
        "scheduled_at": at.at if at else None,
        "scheduled_wall": at.wall_time.wall if at else None,
        "scheduled_zone": at.wall_time.zone if at else None,
    }


def _cleared_columns(snapshot: DraftSnapshot, status: Status) -> dict[str, Any]:
    """Return the columns to clear because the draft leaves its status."""
    cleared: dict[str, Any] = {}
    if status is not snapshot.status:
        cleared["last_error"] = None
    if status is not Status.REJECTED:
        cleared["rejection_feedback"] = None
    if status not in _SCHEDULED_STATUSES:
        cleared |= schedule_columns(None)
    return cleared


def _not_connected_error(snapshot: DraftSnapshot) -> ConflictError:
    alternatives = [
        action for action in allowed_actions(snapshot.status, archived=snapshot.archived) if action is not Action.POST
    ]
    return ConflictError(
        "No accounts connected; nothing was posted.",
        hint=alternatives_hint(alternatives),
        current_status=snapshot.status,
        allowed=alternatives,
    )
