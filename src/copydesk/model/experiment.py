"""Experiments: comparing values of one drafting parameter."""

from datetime import datetime
from enum import StrEnum

from copydesk.model.wire import Json, Struct


class ExperimentStatus(StrEnum):
    ACTIVE = "active"
    CONCLUDED = "concluded"
    ARCHIVED = "archived"


class ExperimentAction(StrEnum):
    CONCLUDE = "conclude"
    ARCHIVE = "archive"


class Variant(Struct, frozen=True):
    """One of the compared values; `config` holds it under the parameter's name."""

    id: str
    label: str
    config: dict[str, Json]


class Experiment(Struct, frozen=True):
    """An experiment as the interface returns it."""

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
    """Request to create an experiment; the first variant is the control."""

    name: str
    parameter: str
    variants: tuple[Variant, ...]


class ChangeExperiment(Struct, frozen=True, forbid_unknown_fields=True):
    """Request to apply an action; `winner` may name a variant when concluding."""

    action: ExperimentAction
    winner: str | None = None


class VariantResults(Struct, frozen=True):
    """Results of one variant: a funnel of counts, and raw rates without a verdict.

    A rate is None if its denominator is zero or unknown.
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
    """None if no platform reports any."""
    interactions: int
    rate_pooled: float | None
    """Interactions of the posts with impressions / their impressions."""
    interactions_per_post: float | None
    """interactions / measured"""


class ExperimentResults(Struct, frozen=True):
    """The counts of an experiment at one time."""

    parameter: str
    data_as_of: datetime
    arms: tuple[VariantResults, ...]
    winner: str | None = None
    """The variant named by the user when concluding."""
