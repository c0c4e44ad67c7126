"""The course of an experiment: active, then concluded, with or without a winner, then archived."""

from collections.abc import Sequence

from copydesk.errors import ConflictError, FieldError, InvalidError
from copydesk.model.experiment import ChangeExperiment, ExperimentAction, ExperimentStatus, Variant

COURSE = {
    ExperimentAction.CONCLUDE: (ExperimentStatus.ACTIVE, ExperimentStatus.CONCLUDED),
    ExperimentAction.ARCHIVE: (ExperimentStatus.CONCLUDED, ExperimentStatus.ARCHIVED),
}
"""From which state to which each action leads."""
_HINTS = {
    ExperimentStatus.ACTIVE: "Conclude it first.",
    ExperimentStatus.CONCLUDED: "It can be archived.",
    ExperimentStatus.ARCHIVED: "Nothing more can be done with it.",
}


def after_change(change: ChangeExperiment, status: ExperimentStatus, variants: Sequence[Variant]) -> ExperimentStatus:
    """The state that a change leads to.

    Raises ConflictError where the experiment is not where the action starts, InvalidError for a winner that is none of
    its variants.
    """
    origin, to = COURSE[change.action]
    if status is not origin:
        allowed = [action for action, (start, _) in COURSE.items() if start is status]
        message = f"This experiment is {status}; {change.action} is not possible."
        raise ConflictError(message, hint=_HINTS[status], current_status=status, allowed=allowed)
    ids = [variant.id for variant in variants]
    if change.winner is not None and change.winner not in ids:
        raise InvalidError(FieldError("winner", f"takes one of {', '.join(ids)}"))
    return to
