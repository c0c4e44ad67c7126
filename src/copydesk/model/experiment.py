"""An experiment over one parameter of drafting."""

from datetime import datetime
from enum import StrEnum

from copydesk.model.wire import Json, Struct


class ExperimentStatus(StrEnum):
    """Where an experiment is."""

    ACTIVE = "active"
    CONCLUDED = "concluded"
    ARCHIVED = "archived"


class Variant(Struct, frozen=True):
    """One of the values that are compared; `config` holds it under the parameter's own name."""

    id: str
    label: str
    config: dict[str, Json]


class Experiment(Struct, frozen=True):
    """An experiment as the interface shows it."""

    id: str
    name: str
    parameter: str
    status: ExperimentStatus
    variants: tuple[Variant, ...]
    results: dict[str, Json]
    started_at: datetime
    ended_at: datetime | None
    created_at: datetime
