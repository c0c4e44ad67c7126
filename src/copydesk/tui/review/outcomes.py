"""Describe the results of actions on drafts in one sentence for a toast. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from copydesk.model.draft import Action, Status
from copydesk.model.history import EDIT, EventKind, UndoResult
from copydesk.model.transitions import ACTIONS
from copydesk.text import clean
from copydesk.text.formatting import plural
from copydesk.tui import labels
from copydesk.tui.runtime.desk_tasks import DRAFT_DELETED_MESSAGE, to_copydesk_error

MAX_LISTED = 3
"""Failures listed in a toast."""


class Outcome(NamedTuple):
    """The result of an action on one or more drafts."""

    action: str
    succeeded: tuple[str, ...]
    failed: Mapping[str, str] = {}
    """Errors by draft id."""
    detail: str = ""
    """Appended to the action: `for Thu 12 Feb, 09:00`."""
    kind: EventKind = EventKind.CHANGE
    names: Mapping[str, str] = {}
    """Names of some of the drafts by id."""
    skipped: int = 0
    """Number of drafts left unchanged because they arrived after the list was loaded."""
    refused: bool = False
    """True if it failed only because the draft's status does not allow the action."""

    @property
    def status(self) -> Status | None:
        """The status that the action leads to; None if it does not change the status."""
        return ACTIONS[Action(self.action)].to_status if self.action != EDIT else None


def describe_action(outcome: Outcome) -> str:
    """Return the result of the action and its details: `approved`, `scheduled for Thu 12 Feb, 09:00`."""
    return labels.action_done(outcome.action, outcome.detail)


def describe_bulk(outcome: Outcome) -> str:
    """Describe a bulk action: `48 approved, 2 failed: “A missing index…”: This draft is posted … · u undo`."""
    return labels.bulk_done(
        len(outcome.succeeded),
        describe_action(outcome),
        skipped=outcome.skipped,
        failed=len(outcome.failed),
        failures=format_failures(outcome),
    )


def describe_interrupted_undo(undone: UndoResult, *, undo: bool) -> str:
    """Describe an undo or redo that was interrupted because the console exited."""
    return labels.undo_interrupted(_undo_name(undone.action), len(undone.succeeded), undone.left, undo=undo)


def describe_undo(outcome: Outcome) -> str:
    """Describe an undo or redo: `Undid approval of “A missing index…” · Ctrl+r redo`."""
    names = list(outcome.names.values())
    drafts = names[0] if len(outcome.succeeded) == 1 and names else plural(len(outcome.succeeded), "draft")
    return labels.undo_done(
        _undo_name(outcome.action),
        drafts,
        undo=outcome.kind is EventKind.UNDO,
        failed=len(outcome.failed),
        failures=format_failures(outcome),
    )


def _undo_name(action: str) -> str:
    # Actions of newer versions of Copydesk are not in the table.
    return labels.UNDO_NAMES.get(action, clean(action))


def format_failures(outcome: Outcome) -> str:
    """Return the first failures by name, each with its reason."""
    listed = [_failure(outcome, draft_id, reason) for draft_id, reason in _first(outcome.failed)]
    remaining = len(outcome.failed) - len(listed)
    return " ".join(listed) + labels.and_more(remaining)


def _failure(outcome: Outcome, draft_id: str, reason: str) -> str:
    """Return one failure; a draft without a name was deleted."""
    name = outcome.names.get(draft_id)
    return f"{name}: {reason}" if name and reason != DRAFT_DELETED_MESSAGE else DRAFT_DELETED_MESSAGE


def listed_failure_ids(failed: Mapping[str, str]) -> list[str]:
    """Return the ids of the drafts that `format_failures` lists."""
    return [draft_id for draft_id, _ in _first(failed)]


def _first(failed: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    return list(failed.items())[:MAX_LISTED]


def error_message(error: Exception) -> str:
    """Return the error message for the user."""
    return str(to_copydesk_error(error))
