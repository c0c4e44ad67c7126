"""The draft state machine: allowed actions per status, and where they lead. The only definition, for all interfaces.

Tables, and a few functions that read them. The store applies each change with compare-and-set on the status it read.
The history of a draft has one event per change, in the order of the draft's versions.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from copydesk.errors import ConflictError, CopydeskError
from copydesk.model.draft import STATUS_LABELS, Action, Status
from copydesk.model.serialization import Struct
from copydesk.problems import problem_type
from copydesk.text.formatting import join_with_or

NEW_VERSION = Status.AWAITING_REVIEW
"""Initial status of a regenerated draft."""

_S = Status
_IN_REVIEW = (_S.PENDING_REVIEW, _S.AWAITING_REVIEW, _S.CHANGES_REQUESTED)
# Work by the system is pending; archiving would hide its outcome.
_IN_PROGRESS = (_S.PENDING_GENERATION, _S.PENDING_REGENERATION, _S.SCHEDULED, _S.POSTING)

FEEDBACK_STATUSES: Mapping[Action, Status] = {Action.UNAPPROVE: _S.CHANGES_REQUESTED}
"""Actions that lead to a different status if feedback is given."""

EDIT_STATUSES: Mapping[Status, Status] = {
    _S.GENERATION_FAILED: _S.AWAITING_REVIEW,
    _S.PENDING_REVIEW: _S.PENDING_REVIEW,
    _S.AWAITING_REVIEW: _S.AWAITING_REVIEW,
    _S.CHANGES_REQUESTED: _S.AWAITING_REVIEW,
    _S.APPROVED: _S.APPROVED,
    _S.SCHEDULED: _S.SCHEDULED,
    _S.MISSED: _S.MISSED,
}
"""Statuses in which the text may be edited -> the status after the edit."""

POSTING_HINT = "Unfinished deliveries continue while `copydesk daemon` runs. See: copydesk delivery list"
_WAIT = {
    _S.PENDING_GENERATION: "Wait until its text is generated.",
    _S.PENDING_REGENERATION: "Wait until its new version is generated.",
    _S.POSTING: POSTING_HINT,
}
COMMAND_NAMES: Mapping[str, str] = {
    **{action: action.value for action in Action},
    Action.CANCEL_SCHEDULE: "unschedule",
}
"""Action -> the name of its command."""
RESTORE_HINT = "Restore it first: copydesk draft restore ID"
_VERBS = {**COMMAND_NAMES, "edit": "edit"}
# A second press of a key, or a second client: told apart from a mistake in the message.
_REPETITIONS = {
    (Action.APPROVE, _S.APPROVED),
    (Action.REJECT, _S.REJECTED),
    (Action.REGENERATE, _S.PENDING_REGENERATION),
    (Action.SCHEDULE, _S.SCHEDULED),
    (Action.POST, _S.POSTING),
}

USER, PIPELINE, SYSTEM = "user", "pipeline", "system"
"""The actors that change drafts."""
CREATE, EDIT, COUNTERSIGN = "create", "edit", "countersign"
"""Changes that are neither an `Action` nor a system event. To countersign is to approve what somebody else approved."""


class SystemEvent(StrEnum):
    """Changes made by the system."""

    TEXT_GENERATED = "text_written"
    GENERATION_FAILED = "writing_failed"
    """The existing text is kept."""
    NEW_VERSION_GENERATED = "new_version_written"
    """Applies to the draft that was regenerated, which is archived too. The new draft starts as NEW_VERSION."""
    POSTING_STARTED = "picked_up"
    """Posting has started, because the draft was due."""
    MISSED = "late"
    """The grace period has passed and nothing was sent."""
    SOURCE_CHANGED = "source_changed"
    """Its source changed or vanished after the approval. Its time is kept."""
    DELIVERED = "ended_live"
    """All deliveries have ended, and the draft is live on at least one platform, now or from before."""
    NOT_DELIVERED = "ended_not_live"
    """All deliveries have ended, and the draft is live nowhere."""


class Transition(NamedTuple):
    """A transition from any of several statuses to one; None leaves the status unchanged."""

    from_statuses: tuple[Status, ...]
    to_status: Status | None


ACTIONS: Mapping[Action, Transition] = {
    Action.APPROVE: Transition((*_IN_REVIEW, _S.REJECTED), _S.APPROVED),
    Action.REJECT: Transition((_S.GENERATION_FAILED, *_IN_REVIEW, _S.APPROVED, _S.MISSED), _S.REJECTED),
    Action.REGENERATE: Transition((_S.GENERATION_FAILED, *_IN_REVIEW, _S.REJECTED), _S.PENDING_REGENERATION),
    Action.SCHEDULE: Transition((_S.APPROVED,), _S.SCHEDULED),
    Action.ARCHIVE: Transition(tuple(status for status in Status if status not in _IN_PROGRESS), None),
    Action.UNAPPROVE: Transition((_S.APPROVED,), _S.AWAITING_REVIEW),
    Action.RESCHEDULE: Transition((_S.SCHEDULED, _S.MISSED), _S.SCHEDULED),
    Action.CANCEL_SCHEDULE: Transition((_S.SCHEDULED, _S.MISSED), _S.APPROVED),
    # POSTED too, so that a draft can be posted to further accounts.
    Action.POST: Transition((_S.APPROVED, _S.SCHEDULED, _S.MISSED, _S.POSTED), _S.POSTING),
}


SYSTEM_EVENTS: Mapping[SystemEvent, Transition] = {
    SystemEvent.TEXT_GENERATED: Transition((_S.PENDING_GENERATION,), _S.PENDING_REVIEW),
    SystemEvent.GENERATION_FAILED: Transition((_S.PENDING_GENERATION, _S.PENDING_REGENERATION), _S.GENERATION_FAILED),
    SystemEvent.NEW_VERSION_GENERATED: Transition((_S.PENDING_REGENERATION,), _S.CHANGES_REQUESTED),
    SystemEvent.POSTING_STARTED: Transition((_S.SCHEDULED,), _S.POSTING),
    SystemEvent.MISSED: Transition((_S.SCHEDULED,), _S.MISSED),
    SystemEvent.SOURCE_CHANGED: Transition((_S.APPROVED, _S.SCHEDULED), _S.AWAITING_REVIEW),
    SystemEvent.DELIVERED: Transition((_S.POSTING,), _S.POSTED),
    SystemEvent.NOT_DELIVERED: Transition((_S.POSTING,), _S.APPROVED),
}


def allowed_actions(status: Status, *, archived: bool) -> tuple[Action, ...]:
    """Return the actions allowed now, in the order of the interface; none for an archived draft."""
    return () if archived else tuple(action for action, move in ACTIONS.items() if status in move.from_statuses)


def can_edit(status: Status, *, archived: bool) -> bool:
    """Return True if the draft's text may be edited now."""
    return not archived and status in EDIT_STATUSES


def next_status(
    action: Action, status: Status, *, archived: bool, feedback: str | None = None, scheduled_for: str = ""
) -> Status:
    """Return the status after `action`. Blank feedback counts as none.

    Raise ConflictError with the current status, the draft's time if given in `scheduled_for`, and the allowed actions.
    """
    if archived or status not in ACTIONS[action].from_statuses:
        raise _conflict(action, status, archived=archived, scheduled_for=scheduled_for)
    if feedback and feedback.strip() and action in FEEDBACK_STATUSES:
        return FEEDBACK_STATUSES[action]
    return ACTIONS[action].to_status or status


def status_after_edit(status: Status, *, archived: bool) -> Status:
    """Return the status after an edit. Raise ConflictError as `next_status` does."""
    if not can_edit(status, archived=archived):
        raise _conflict("edit", status, archived=archived)
    return EDIT_STATUSES[status]


def status_after_event(event: SystemEvent, status: Status) -> Status:
    """Return the status after a system event. Raise ConflictError if the draft has left the required status."""
    # The user may have acted while the system worked; the user wins, and the result of the work is discarded.
    move = SYSTEM_EVENTS[event]
    if status not in move.from_statuses:
        raise _conflict(event, status, archived=False)
    return move.to_status or status


def _conflict(attempted: str, status: Status, *, archived: bool, scheduled_for: str = "") -> ConflictError:
    """Return the error: `Cannot approve a draft with the status “posted”. Use archive or post instead.`"""
    allowed = allowed_actions(status, archived=archived)
    verb, label = _VERBS.get(attempted, "update"), STATUS_LABELS[status]
    hint = _WAIT.get(status) or alternatives_hint(allowed)
    if archived:
        message, hint = f"Cannot {verb} an archived draft.", RESTORE_HINT
    elif (attempted, status) in _REPETITIONS:
        message = f"Already {label}{f' for {scheduled_for}' if scheduled_for and status is _S.SCHEDULED else ''}."
    else:
        message = f"Cannot {verb} a draft with the status “{label}”."
    return ConflictError(message, hint=hint, current_status=status, allowed=allowed)


def alternatives_hint(actions: Sequence[Action]) -> str:
    """Return the allowed actions as a hint with the names of their commands: `Use approve, edit or archive instead.`"""
    names = [COMMAND_NAMES[action] for action in actions]
    return f"Use {join_with_or(names)} instead." if names else ""


class EventKind(StrEnum):
    """Role of an event in undo and redo."""

    CHANGE = "change"
    """Made by the user, can be undone."""
    UNDO = "undo"
    REDO = "redo"
    PERMANENT = "fixed"
    """Cannot be undone: the creation, a change by the system, anything posted.

    Nor can anything before it, unless it is a failed regeneration, which leaves the draft's content as it was."""


class HistoryPosition(Struct, frozen=True):
    """Numbers of events in the history of all of a user's drafts; 0 for none. Later events have higher numbers."""

    newest: int
    change: int
    """The user's newest change, even if it was undone."""
    undo: int
    """The event that the next undo reverts."""
    redo: int
    """The event that the next redo reverts."""


class NextUndo(Struct, frozen=True):
    """What the next undo of the user's last change takes back; empty if there is nothing, or it cannot be undone."""

    action: str = ""
    draft_ids: frozenset[str] = frozenset()


class DraftEvent(Struct, frozen=True):
    """One change of a draft."""

    draft_id: str
    version: int
    """The draft's version after the change; it was one less before."""
    at: datetime
    who: str
    kind: EventKind
    action: str
    """Name of an action or system event, CREATE or EDIT; for an undo or redo, that of the change concerned."""
    before: dict[str, Any]
    """Previous values of the changed columns. Keys are Python names, values have the draft's types."""
    after: dict[str, Any]
    feedback: str | None
    bulk_id: str | None
    """Shared by all events of one bulk change."""
    of_version: int | None
    """For an undo, the version of the undone change; for a redo, that of the undo."""
    undone: bool
    """True while the change is undone."""


class BulkFailure(Struct, frozen=True, omit_defaults=True):
    """A draft to which the action could not be applied, and why."""

    id: str
    error: str
    type: str
    """The problem type, as in the response to the same action on one draft: `/problems/conflict`."""
    hint: str = ""
    """What to do next, on the command line or in the console."""

    @classmethod
    def from_error(cls, draft_id: str, error: CopydeskError) -> "BulkFailure":
        """Return the failure of a draft that `error` refused."""
        return cls(id=draft_id, error=error.message, type=problem_type(type(error)).uri, hint=error.hint)

    @property
    def text(self) -> str:
        """The error with its hint."""
        return f"{self.error} {self.hint}".strip()


class UndoResult(Struct, frozen=True):
    """Outcome of an undo or redo, per draft."""

    action: str
    """The change that was undone or redone: an action's name, or EDIT."""
    bulk_id: str | None
    succeeded: tuple[str, ...]
    failed: tuple[BulkFailure, ...] = ()
    left: int = 0
    """Drafts that were not attempted, because it was stopped before."""
    stopped_by: str | None = None
    """The error of the database that ended it; it is also the error of each draft from there on."""
    scheduled_for: str = ""
    """The time that a single draft has again, on the user's clock: `Tue 24 Nov 10:30`; empty if its time is the same,
    or if it has none."""


class InterruptedBulk(Struct, frozen=True):
    """A bulk action whose process ended before it was complete."""

    id: str
    kind: EventKind
    action: str
    started_at: datetime
    changed: int
    """Drafts that it changed."""
    total: int

    @property
    def summary(self) -> str:
        """The interrupted action, with the commands that finish and undo it."""
        name = COMMAND_NAMES.get(self.action, self.action)
        change = name if self.kind is EventKind.CHANGE else f"{self.kind} of {name}"
        return (
            f"Interrupted: {change}, {self.changed:,} of {self.total:,} drafts done."
            " To finish it: `copydesk draft resume`. To undo it: `copydesk draft resume --undo`."
        )


def change_name(action: Action | None) -> str:
    """Return the name of a change. An edit followed by an action is named after the action."""
    return EDIT if action is None else action.value
