"""State transitions of an experiment: active, then concluded with or without a winner, then archived."""

from collections.abc import Sequence

from copydesk.errors import ConflictError, FieldError, InvalidError
from copydesk.model.experiment import ChangeExperiment, ExperimentAction, ExperimentStatus, Variant

TRANSITIONS = {
    ExperimentAction.CONCLUDE: (ExperimentStatus.ACTIVE, ExperimentStatus.CONCLUDED),
    ExperimentAction.ARCHIVE: (ExperimentStatus.CONCLUDED, ExperimentStatus.ARCHIVED),
}
"""Action -> (required status, next status)."""
_HINTS = {
    ExperimentStatus.ACTIVE: "Conclude it first.",
    ExperimentStatus.CONCLUDED: "It can be archived.",
    ExperimentStatus.ARCHIVED: "Nothing more can be done with it.",
}


def status_after_change(
    change: ChangeExperiment, status: ExperimentStatus, variants: Sequence[Variant]
) -> ExperimentStatus:
    """Return the status after a change.

    Raise ConflictError if the action is not allowed in `status`, InvalidError if the winner is not one of the variants.
    """
    required, next_status = TRANSITIONS[change.action]
    if status is not required:
        allowed = [action for action, (origin, _) in TRANSITIONS.items() if origin is status]
        message = f"This experiment is {status}; {change.action} is not possible."
        raise ConflictError(message, hint=_HINTS[status], current_status=status, allowed=allowed)
    ids = [variant.id for variant in variants]
    if change.winner is not None and change.winner not in ids:
        raise InvalidError(FieldError("winner", f"takes one of {', '.join(ids)}"))
    return next_status
