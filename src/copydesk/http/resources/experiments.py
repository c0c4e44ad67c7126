"""Experiments: list, plan, create, conclude, archive."""

from typing import Any

from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.model.experiment import (
    ChangeExperiment,
    Experiment,
    ExperimentPlan,
    ExperimentStatus,
    Metric,
    NewExperiment,
    PlannedPosts,
    VariantCount,
)
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope

operations = Operations("Experiments")


class ExperimentsQuery(Struct, frozen=True):
    """Parameters of the list of experiments."""

    status: ExperimentStatus | None = None


@operations.add("GET", "/experiments", scope=Scope.READ, query=ExperimentsQuery, response=tuple[Experiment, ...])
async def list_experiments(call: Call) -> tuple[Experiment, ...]:
    """List experiments with their results, newest first."""
    status: Any = call.query.get("status")
    return await call.desk.experiments.list(status)


class PlanQuery(Struct, frozen=True):
    """Parameters of the plan of an experiment."""

    metric: Metric | None = None
    variants: VariantCount | None = None
    posts_per_variant: PlannedPosts | None = None


@operations.add("GET", "/experiments/plan", scope=Scope.READ, query=PlanQuery, response=ExperimentPlan)
async def plan_experiment(call: Call) -> ExperimentPlan:
    """Return how many posts per variant an experiment needs to find a lift, and how long that takes at your rate."""
    return await call.desk.experiments.plan(**call.query)  # type: ignore[arg-type] # the desk validates them


@operations.add(
    "POST",
    "/experiments",
    scope=Scope.REVIEW,
    body=NewExperiment,
    response=Experiment,
    status=201,
    example={
        "name": "Hashtags",
        "parameter": "hashtags",
        "variants": [
            {"id": "a", "label": "none", "config": {"hashtags": 0}},
            {"id": "b", "label": "two", "config": {"hashtags": 2}},
        ],
    },
)
async def create_experiment(call: Call) -> Experiment:
    """Create an experiment over a parameter, active at once; the first variant is the control."""
    return await call.desk.experiments.create(call.body)


@operations.add(
    "PATCH",
    "/experiments/{id}",
    scope=Scope.REVIEW,
    body=ChangeExperiment,
    response=Experiment,
    errors=(404, 409),
    example={"action": "conclude", "winner": "b", "reason": "The platform changed."},
)
async def change_experiment(call: Call) -> Experiment:
    """Conclude an experiment, with or without a winner, or archive it.

    Before its plan is complete concluding needs a reason. With `applyToVoice` the winner's value becomes the setting of
    the voice.
    """
    return await call.desk.experiments.change(call.id, call.body)
