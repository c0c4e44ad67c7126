"""An experiment over one parameter of drafting."""

from datetime import datetime
from enum import StrEnum

from copydesk.model.wire import Json, Struct


class ExperimentStatus(StrEnum):
    """Where an experiment is."""

    ACTIVE = "active"
    CONCLUDED = "concluded"
    ARCHIVED = "archived"


class ExperimentAction(StrEnum):
    """What a person may ask of an experiment."""

    CONCLUDE = "conclude"
    ARCHIVE = "archive"


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


class NewExperiment(Struct, frozen=True, forbid_unknown_fields=True):
    """An experiment that is asked for; the first variant is the control."""

    name: str
    parameter: str
    variants: tuple[Variant, ...]


class ChangeExperiment(Struct, frozen=True, forbid_unknown_fields=True):
    """An action on an experiment; `winner` is the id of a variant, where one is named on concluding."""

    action: ExperimentAction
    winner: str | None = None


class Arm(Struct, frozen=True):
    """What became of one variant's drafts: a funnel of counts, and raw rates without any verdict.

    A rate is None where it has no denominator.
    """

    id: str
    name: str
    is_control: bool
    assigned: int
    drafted: int
    accepted: int
    rejected: int
    acceptance_rate: float | None
    """accepted / (accepted + rejected)"""
    mean_edit_ratio: float | None
    """Share of words changed before approval, 0 to 1."""
    published: int
    measured: int
    impressions: int | None
    """None where no platform reports any."""
    interactions: int
    rate_pooled: float | None
    """Interactions of the posts with impressions / their impressions."""
    interactions_per_post: float | None
    """interactions / measured"""


class Results(Struct, frozen=True):
    """The counts of an experiment at one moment."""

    parameter: str
    data_as_of: datetime
    arms: tuple[Arm, ...]
    winner: str | None = None
    """The variant that the user named on concluding."""
