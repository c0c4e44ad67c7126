"""Tests for the experiment lifecycle: active, concluded, archived."""

import pytest

from copydesk.errors import ConflictError, InvalidError
from copydesk.experiments.validation import status_after_change
from copydesk.model.experiment import ChangeExperiment, ExperimentAction, ExperimentStatus, Variant

VARIANTS = tuple(Variant(id=name, label=name, config={"hook": name}) for name in "ab")
TRANSITIONS = {("active", "conclude"): "concluded", ("concluded", "archive"): "archived"}


def status_after(status: str, action: str, winner: str | None = None) -> str:
    change = ChangeExperiment(action=ExperimentAction(action), winner=winner)
    return status_after_change(change, ExperimentStatus(status), VARIANTS)


@pytest.mark.parametrize("status", ExperimentStatus)
@pytest.mark.parametrize("action", ExperimentAction)
def test_action_follows_table_or_is_refused(status, action):
    if (status, action) in TRANSITIONS:
        assert status_after(status, action) == TRANSITIONS[status, action]
    else:
        with pytest.raises(ConflictError) as refused:
            status_after(status, action)
        assert refused.value.current_status == status
        assert refused.value.allowed_actions == tuple(allowed for start, allowed in TRANSITIONS if start == status)


def test_active_experiment_must_be_concluded_before_archiving():
    with pytest.raises(ConflictError) as refused:
        status_after("active", "archive")
    assert str(refused.value) == "Cannot archive an experiment that is active. Conclude it first."


def test_winner_is_a_variant_or_none():
    assert status_after("active", "conclude", "b") == status_after("active", "conclude") == "concluded"
    with pytest.raises(InvalidError, match="winner: takes one of a, b"):
        status_after("active", "conclude", "c")
