"""Validation of new experiments and of changes to them."""

from collections.abc import Mapping
from typing import cast

import msgspec

from copydesk.experiments.treatment import wrong_with
from copydesk.model.asked import Asked
from copydesk.model.experiment import ChangeExperiment, ExperimentAction, NewExperiment, Variant
from copydesk.model.wire import Json

LONGEST_NAME = LONGEST_PARAMETER = LONGEST_LABEL = 100
LONGEST_VARIANT_ID = 50
LEAST_VARIANTS, MOST_VARIANTS = 2, 5
LARGEST_CONFIG = 10_000
"""Bytes of JSON."""


def checked_experiment(given: NewExperiment | Mapping[str, object]) -> NewExperiment:
    """Return the request with texts trimmed and limits checked. Raise InvalidError with every invalid field."""
    reader = Asked(NewExperiment, given)
    reader.need("name", "parameter", "variants")
    name, parameter = reader.line("name", LONGEST_NAME), reader.line("parameter", LONGEST_PARAMETER)
    variants = _variants(reader, parameter)
    reader.refuse()
    assert name is not None  # raise_if_invalid has raised otherwise
    assert parameter is not None
    return NewExperiment(name=name, parameter=parameter, variants=variants)


def checked_experiment_change(given: ChangeExperiment | Mapping[str, object]) -> ChangeExperiment:
    """Return the validated change; only concluding takes a winner. Raise InvalidError with every invalid field."""
    reader = Asked(ChangeExperiment, given)
    reader.need("action")
    action, winner = reader.choice("action", ExperimentAction), reader.text("winner", LONGEST_VARIANT_ID)
    if action is ExperimentAction.ARCHIVE and reader.has("winner"):
        reader.problem("winner", "goes only with conclude")
    reader.refuse()
    assert action is not None  # raise_if_invalid has raised otherwise
    return ChangeExperiment(action=action, winner=winner)


def _variants(reader: Asked, parameter: str | None) -> tuple[Variant, ...]:
    """Return the valid variants. Problems of the others are recorded in `reader`."""
    variants: list[Variant] = []
    for fields in reader.objects("variants", Variant, MOST_VARIANTS, least=LEAST_VARIANTS):
        fields.need("id", "label", "config")
        variant_id, label = fields.line("id", LONGEST_VARIANT_ID), fields.line("label", LONGEST_LABEL)
        config = fields.mapping("config")
        if parameter and not fields.is_wrong("config"):
            _check_config(fields, config, parameter)
        if any(other.id == variant_id for other in variants):
            fields.problem("id", "is another variant's already")
        if variant_id and label:
            variants.append(Variant(id=variant_id, label=label, config=cast("dict[str, Json]", config)))
    return tuple(variants)


def _check_config(reader: Asked, config: dict[str, object], parameter: str) -> None:
    """Record what is invalid about a variant's config."""
    encoded = _encode_config(config)
    if encoded is None:
        reader.problem("config", "holds what cannot be kept as JSON")
    elif len(encoded) > LARGEST_CONFIG:
        reader.problem("config", f"is {len(encoded):,} bytes of JSON; {LARGEST_CONFIG:,} are the most")
    elif parameter not in config:
        example = f'{{"{parameter}": ...}}'
        reader.problem("config", f"takes the value under the parameter's own name: {example}")
    elif problem := wrong_with(parameter, config[parameter]):
        reader.problem(f"config.{parameter}", problem)


def _encode_config(config: dict[str, object]) -> bytes | None:
    """Return `config` as JSON, or None if it would not survive a round trip or a database would reject it.

    PostgreSQL's jsonb cannot store U+0000.
    """
    try:
        encoded = msgspec.json.encode(config)
        return encoded if msgspec.json.decode(encoded) == config and b"\\u0000" not in encoded else None
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return None
