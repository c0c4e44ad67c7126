"""The draft state machine: allowed actions per status, and where they lead. The only definition, for all interfaces.

Tables, and a few functions that read them. The store applies each change with compare-and-set on the status it read.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from copydesk.errors import ConflictError
from copydesk.model.draft import Action, Status


class Happening(StrEnum):
    """Changes made by the system."""

    TEXT_WRITTEN = "text_written"
    WRITING_FAILED = "writing_failed"
    """The existing text is kept."""
    NEW_VERSION_WRITTEN = "new_version_written"
    """Applies to the draft that was regenerated, which is archived too. The new draft starts as NEW_VERSION."""
    PICKED_UP = "picked_up"
    """Posting has started, because the draft was due."""
    LATE = "late"
    """The grace period has passed and nothing was sent."""
    ENDED_LIVE = "ended_live"
    """All deliveries have ended, and the draft is live on at least one platform, now or from before."""
    ENDED_NOT_LIVE = "ended_not_live"
    """All deliveries have ended, and the draft is live nowhere."""


class Move(NamedTuple):
    """A transition from any of several statuses to one; None leaves the status unchanged."""

    origins: tuple[Status, ...]
    to: Status | None


NEW_VERSION = Status.AWAITING_REVIEW
"""Initial status of a regenerated draft."""

_S = Status
_IN_REVIEW = (_S.PENDING_REVIEW, _S.AWAITING_REVIEW, _S.CHANGES_REQUESTED)
# Work by the system is pending; archiving would hide its outcome.
_IN_PROGRESS = (_S.PENDING_GENERATION, _S.PENDING_REGENERATION, _S.SCHEDULED, _S.POSTING)

ACTIONS: Mapping[Action, Move] = {
    Action.APPROVE: Move((*_IN_REVIEW, _S.REJECTED), _S.APPROVED),
    Action.REJECT: Move((_S.GENERATION_FAILED, *_IN_REVIEW, _S.APPROVED, _S.MISSED), _S.REJECTED),
    Action.REGENERATE: Move((_S.GENERATION_FAILED, *_IN_REVIEW, _S.REJECTED), _S.PENDING_REGENERATION),
    Action.SCHEDULE: Move((_S.APPROVED,), _S.SCHEDULED),
    Action.ARCHIVE: Move(tuple(status for status in Status if status not in _IN_PROGRESS), None),
    Action.UNAPPROVE: Move((_S.APPROVED,), _S.AWAITING_REVIEW),
    Action.RESCHEDULE: Move((_S.SCHEDULED, _S.MISSED), _S.SCHEDULED),
    Action.CANCEL_SCHEDULE: Move((_S.SCHEDULED, _S.MISSED), _S.APPROVED),
    # POSTED too, so that a draft can be posted to further accounts.
    Action.POST: Move((_S.APPROVED, _S.SCHEDULED, _S.MISSED, _S.POSTED), _S.POSTING),
}
WITH_FEEDBACK: Mapping[Action, Status] = {Action.UNAPPROVE: _S.CHANGES_REQUESTED}
"""Actions that lead to a different status if feedback is given."""

EDITS: Mapping[Status, Status] = {
    _S.GENERATION_FAILED: _S.AWAITING_REVIEW,
    _S.PENDING_REVIEW: _S.PENDING_REVIEW,
    _S.AWAITING_REVIEW: _S.AWAITING_REVIEW,
    _S.CHANGES_REQUESTED: _S.AWAITING_REVIEW,
    _S.APPROVED: _S.APPROVED,
    _S.SCHEDULED: _S.SCHEDULED,
    _S.MISSED: _S.MISSED,
}
"""Statuses in which the text may be edited -> the status after the edit."""

HAPPENINGS: Mapping[Happening, Move] = {
    Happening.TEXT_WRITTEN: Move((_S.PENDING_GENERATION,), _S.PENDING_REVIEW),
    Happening.WRITING_FAILED: Move((_S.PENDING_GENERATION, _S.PENDING_REGENERATION), _S.GENERATION_FAILED),
    Happening.NEW_VERSION_WRITTEN: Move((_S.PENDING_REGENERATION,), _S.CHANGES_REQUESTED),
    Happening.PICKED_UP: Move((_S.SCHEDULED,), _S.POSTING),
    Happening.LATE: Move((_S.SCHEDULED,), _S.MISSED),
    Happening.ENDED_LIVE: Move((_S.POSTING,), _S.POSTED),
    Happening.ENDED_NOT_LIVE: Move((_S.POSTING,), _S.APPROVED),
}

_WAIT = {
    _S.PENDING_GENERATION: "Wait until its text is written.",
    _S.PENDING_REGENERATION: "Wait until its new version is written.",
    _S.POSTING: "Wait until its deliveries have ended; copydesk delivery list tells how they get on.",
}


def allowed_actions(status: Status, *, archived: bool) -> tuple[Action, ...]:
    """Return the actions allowed now, in the order of the interface; none for an archived draft."""
    return () if archived else tuple(action for action, move in ACTIONS.items() if status in move.origins)


def may_edit(status: Status, *, archived: bool) -> bool:
    """Return True if the draft's text may be edited now."""
    return not archived and status in EDITS


def after(action: Action, status: Status, *, archived: bool, feedback: str | None = None) -> Status:
    """Return the status after `action`. Blank feedback counts as none.

    Raise ConflictError with the current status and the allowed actions.
    """
    if archived or status not in ACTIONS[action].origins:
        raise _conflict(action, status, archived=archived)
    if feedback and feedback.strip() and action in WITH_FEEDBACK:
        return WITH_FEEDBACK[action]
    return ACTIONS[action].to or status


def after_edit(status: Status, *, archived: bool) -> Status:
    """Return the status after an edit. Raise ConflictError as `next_status` does."""
    if not may_edit(status, archived=archived):
        raise _conflict("edit", status, archived=archived)
    return EDITS[status]


def after_happening(happening: Happening, status: Status) -> Status:
    """Return the status after a system event. Raise ConflictError if the draft has left the required status."""
    move = HAPPENINGS[happening]
    if status not in move.origins:
        raise _conflict(happening, status, archived=False)
    return move.to or status


def _conflict(attempted: str, status: Status, *, archived: bool) -> ConflictError:
    """Return the error: `This draft is posted; approve is not possible. Possible now: archive, post.`"""
    allowed = allowed_actions(status, archived=archived)
    if archived:
        current, hint = "archived", "Undo the archiving first."
    else:
        current, hint = status.value, _WAIT.get(status) or f"Possible now: {', '.join(allowed)}."
    message = f"This draft is {current}; {attempted} is not possible."
    return ConflictError(message, hint=hint, current_status=status, allowed=allowed)
