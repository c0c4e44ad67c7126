"""Which action a draft takes in which state and where it leads: the one place that says so, for every way in.

Tables, and a few functions that read them. The store makes each change a compare-and-set on the state that was read.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from copydesk.errors import ConflictError
from copydesk.model.draft import Action, Status


class Happening(StrEnum):
    """What the system does to a draft by itself."""

    TEXT_WRITTEN = "text_written"
    WRITING_FAILED = "writing_failed"
    """The text that there was stays."""
    NEW_VERSION_WRITTEN = "new_version_written"
    """To the draft whose new version it is: it is archived too. The new one starts as NEW_VERSION."""
    PICKED_UP = "picked_up"
    """For posting, its time having come."""
    LATE = "late"
    """By more than the grace period, and nothing was sent."""
    ENDED_LIVE = "ended_live"
    """Every delivery ended, and the draft is live on at least one platform, now or from before."""
    ENDED_NOT_LIVE = "ended_not_live"
    """Every delivery ended, and the draft is live nowhere."""


class Move(NamedTuple):
    """From any of some states to one; None leaves the state as it is."""

    origins: tuple[Status, ...]
    to: Status | None


NEW_VERSION = Status.AWAITING_REVIEW
"""How the draft starts that a regeneration makes."""

_S = Status
_WRITTEN = (_S.PENDING_REVIEW, _S.AWAITING_REVIEW, _S.CHANGES_REQUESTED)
_UNDER_WAY = (_S.PENDING_GENERATION, _S.PENDING_REGENERATION, _S.SCHEDULED, _S.POSTING)

ACTIONS: Mapping[Action, Move] = {
    Action.APPROVE: Move((*_WRITTEN, _S.REJECTED), _S.APPROVED),
    Action.REJECT: Move((_S.GENERATION_FAILED, *_WRITTEN, _S.APPROVED, _S.MISSED), _S.REJECTED),
    Action.REGENERATE: Move((_S.GENERATION_FAILED, *_WRITTEN, _S.REJECTED), _S.PENDING_REGENERATION),
    Action.SCHEDULE: Move((_S.APPROVED,), _S.SCHEDULED),
    Action.ARCHIVE: Move(tuple(status for status in Status if status not in _UNDER_WAY), None),
    Action.UNAPPROVE: Move((_S.APPROVED,), _S.AWAITING_REVIEW),
    Action.RESCHEDULE: Move((_S.SCHEDULED, _S.MISSED), _S.SCHEDULED),
    Action.CANCEL_SCHEDULE: Move((_S.SCHEDULED, _S.MISSED), _S.APPROVED),
    Action.POST: Move((_S.APPROVED, _S.SCHEDULED, _S.MISSED, _S.POSTED), _S.POSTING),
}
WITH_FEEDBACK: Mapping[Action, Status] = {Action.UNAPPROVE: _S.CHANGES_REQUESTED}
"""Actions that lead elsewhere where the user says what is wrong."""

EDITS: Mapping[Status, Status] = {
    _S.GENERATION_FAILED: _S.AWAITING_REVIEW,
    _S.PENDING_REVIEW: _S.PENDING_REVIEW,
    _S.AWAITING_REVIEW: _S.AWAITING_REVIEW,
    _S.CHANGES_REQUESTED: _S.AWAITING_REVIEW,
    _S.APPROVED: _S.APPROVED,
    _S.SCHEDULED: _S.SCHEDULED,
    _S.MISSED: _S.MISSED,
}
"""Where the text may be edited, and the state after it."""

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
    """What a draft takes now, in the order of the interface; an archived one takes nothing."""
    return () if archived else tuple(action for action, move in ACTIONS.items() if status in move.origins)


def may_edit(status: Status, *, archived: bool) -> bool:
    """Whether a draft's text may be edited now."""
    return not archived and status in EDITS


def after(action: Action, status: Status, *, archived: bool, feedback: str | None = None) -> Status:
    """The state that `action` leads to; blank `feedback` is none.

    Raises ConflictError with the current state and the actions that are allowed in it.
    """
    if archived or status not in ACTIONS[action].origins:
        raise _refused(action, status, archived=archived)
    if feedback and feedback.strip() and action in WITH_FEEDBACK:
        return WITH_FEEDBACK[action]
    return ACTIONS[action].to or status


def after_edit(status: Status, *, archived: bool) -> Status:
    """The state after an edit of the text. Raises ConflictError as `after` does."""
    if not may_edit(status, archived=archived):
        raise _refused("edit", status, archived=archived)
    return EDITS[status]


def after_happening(happening: Happening, status: Status) -> Status:
    """The state after what the system did; ConflictError where the draft is no longer where that can happen."""
    move = HAPPENINGS[happening]
    if status not in move.origins:
        raise _refused(happening, status, archived=False)
    return move.to or status


def _refused(what: str, status: Status, *, archived: bool) -> ConflictError:
    """Why not, and what else: `This draft is posted; approve is not possible. Possible now: archive, post.`"""
    allowed = allowed_actions(status, archived=archived)
    if archived:
        shown, hint = "archived", "Undo the archiving first."
    else:
        shown, hint = status.value, _WAIT.get(status) or f"Possible now: {', '.join(allowed)}."
    message = f"This draft is {shown}; {what} is not possible."
    return ConflictError(message, hint=hint, current_status=status, allowed=allowed)
