"""What an action or an edit makes of a draft. Pure: values in, values out.

What is written about a state goes with it: `rejection_feedback` when a draft is no longer rejected, `last_error` when
its state changes, its time when it is neither scheduled nor missed any more. `feedback` is what the user last asked
to be changed; it stays until the draft is approved or rejected. The events keep all of it.
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

_WITH_TIME = (Status.SCHEDULED, Status.MISSED, Status.POSTING)


class Edited(Struct, frozen=True):
    """A new text, checked."""

    text: str
    checks: Checks
    confidence: float
    sentences: tuple[Trace, ...]
    """Those of the old text that still stand in the new one."""


def decided(
    seen: Seen, asked: ChangeDraft, now: datetime, *, edited: Edited | None = None, at: Moment | None = None
) -> dict[str, Any]:
    """The columns of the draft after what is asked, the edit first; those that stay may be among them.

    `edited` goes with a text, `at` with schedule and reschedule. Raises ConflictError where the draft's state does not
    allow it, and for a post while no platform is connected.
    """
    status, values = seen.status, dict[str, Any]()
    if edited is not None:
        status = after_edit(status, archived=seen.archived)
        values |= {name: getattr(edited, name) for name in Edited.__struct_fields__}
    if asked.action is not None:
        try:
            status = after(asked.action, status, archived=seen.archived, feedback=asked.feedback)
        except ConflictError:
            # The edit is not made either: the state to be told is the one that the draft is in.
            after(asked.action, seen.status, archived=seen.archived)
            raise
        values |= _by_action(asked.action, seen, asked.feedback, now)
    if at is not None:
        values |= timed(at)
    if asked.action is Action.POST:
        raise _not_connected(seen)
    return _of_status(seen, status) | values | {"status": status}


def _by_action(action: Action, seen: Seen, feedback: str | None, now: datetime) -> dict[str, Any]:
    """What an action sets besides the state."""
    match action:
        case Action.APPROVE:
            return {"feedback": None}
        case Action.REJECT:
            return {"feedback": None, "rejection_feedback": feedback}
        case Action.UNAPPROVE:
            return {"feedback": feedback}
        case Action.REGENERATE:
            # Without a new word the writer is told the last one: that is why the draft is written anew.
            return {"feedback": feedback or seen.value("rejection_feedback") or seen.value("feedback")}
        case Action.ARCHIVE:
            return {"archived_at": now}
        case _:
            return {}


def timed(at: Moment | None) -> dict[str, Any]:
    """The columns of a draft's time."""
    return {
        "scheduled_at": at.at if at else None,
        "scheduled_wall": at.meant.wall if at else None,
        "scheduled_zone": at.meant.zone if at else None,
    }


def _of_status(seen: Seen, status: Status) -> dict[str, Any]:
    """What goes with the state that a draft leaves."""
    gone: dict[str, Any] = {}
    if status is not seen.status:
        gone["last_error"] = None
    if status is not Status.REJECTED:
        gone["rejection_feedback"] = None
    if status not in _WITH_TIME:
        gone |= timed(None)
    return gone


def _not_connected(seen: Seen) -> ConflictError:
    others = [action for action in allowed_actions(seen.status, archived=seen.archived) if action is not Action.POST]
    return ConflictError(
        "No platform is connected; nothing was posted.",
        hint=f"Possible now: {', '.join(others)}." if others else "",
        current_status=seen.status,
        allowed=others,
    )
