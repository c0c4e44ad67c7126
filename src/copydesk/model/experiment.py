"""Experiments: comparing values of one drafting parameter. Users type variants as `none=0`, `two=2`."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from string import ascii_lowercase
from typing import Annotated

import msgspec
from msgspec import Meta

from copydesk.errors import FieldError, InvalidError
from copydesk.model.serialization import Json, Struct

MAX_NAME_LENGTH = MAX_PARAMETER_LENGTH = MAX_LABEL_LENGTH = 100
MAX_VARIANT_ID_LENGTH = 50
MIN_VARIANTS, MAX_VARIANTS = 2, 5
VariantId = Annotated[str, Meta(min_length=1, max_length=MAX_VARIANT_ID_LENGTH, pattern=r"\S")]


class ExperimentStatus(StrEnum):
    ACTIVE = "active"
    CONCLUDED = "concluded"
    ARCHIVED = "archived"


class ExperimentAction(StrEnum):
    CONCLUDE = "conclude"
    ARCHIVE = "archive"


class Variant(Struct, frozen=True):
    """One of the compared values; `config` holds it under the parameter's name."""

    id: VariantId
    label: Annotated[str, Meta(min_length=1, max_length=MAX_LABEL_LENGTH, pattern=r"\S")]
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

    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH, pattern=r"\S")]
    parameter: Annotated[str, Meta(min_length=1, max_length=MAX_PARAMETER_LENGTH, pattern=r"\S")]
    """What the variants differ in, such as `hashtags` or `length`; any name is allowed."""
    variants: Annotated[tuple[Variant, ...], Meta(min_length=MIN_VARIANTS, max_length=MAX_VARIANTS)]


class ChangeExperiment(Struct, frozen=True, forbid_unknown_fields=True):
    """Request to apply an action; `winner` may name a variant when concluding."""

    action: ExperimentAction
    winner: VariantId | None = None
    """Id of a variant; only with conclude."""


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


WRITER_PARAMETERS = (
    "hashtags",
    "length",
    "emoji",
    "link",
    "hook",
    "tone",
    "style",
    "cta",
    "instructions",
    "writer",
    "temperature",
)
"""Parameters known to some writer; the offline writer follows the first four. Any other name is allowed, too."""


def parse_variants(definitions: Sequence[str], parameter: str) -> tuple[Variant, ...]:
    """Return the variants, with letters as ids. Raise InvalidError if one is malformed or has a duplicate label."""
    variants: list[Variant] = []
    for index, definition in enumerate(definitions):
        label, equals, value = definition.partition("=")
        label = label.strip()
        if not equals:
            raise InvalidError(FieldError("variants", f"{definition!r} is not LABEL=VALUE"))
        if any(variant.label == label for variant in variants):
            raise InvalidError(FieldError("variants", f"{label!r} is a duplicate"))
        config = {parameter.strip(): parse_variant_value(value.strip())}
        variants.append(Variant(id=ascii_lowercase[index % 26], label=label, config=config))
    return tuple(variants)


def parse_variant_value(text: str) -> Json:
    """Parse a number, true, false or null; anything else is a string."""
    try:
        value: Json = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return text if isinstance(value, dict | list) else value


def format_variant_value(value: object) -> str:
    """Format a value so that `parse_variant_value` reads it back; null becomes "default"."""
    if value is None:
        return "default"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
