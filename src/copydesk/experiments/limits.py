"""The limits of an experiment that is asked for."""

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
    """`given` with texts trimmed and the limits kept. Raises InvalidError with every field that breaks one."""
    asked = Asked(NewExperiment, given)
    asked.need("name", "parameter", "variants")
    name, parameter = asked.line("name", LONGEST_NAME), asked.line("parameter", LONGEST_PARAMETER)
    variants = _variants(asked, parameter)
    asked.refuse()
    assert name is not None  # it would have been refused
    assert parameter is not None
    return NewExperiment(name=name, parameter=parameter, variants=variants)


def checked_experiment_change(given: ChangeExperiment | Mapping[str, object]) -> ChangeExperiment:
    """`given`, with a winner only where the experiment is concluded. Raises InvalidError with every field."""
    asked = Asked(ChangeExperiment, given)
    asked.need("action")
    action, winner = asked.choice("action", ExperimentAction), asked.text("winner", LONGEST_VARIANT_ID)
    if action is ExperimentAction.ARCHIVE and asked.has("winner"):
        asked.problem("winner", "goes only with conclude")
    asked.refuse()
    assert action is not None  # it would have been refused
    return ChangeExperiment(action=action, winner=winner)


def _variants(asked: Asked, parameter: str | None) -> tuple[Variant, ...]:
    """The variants; those with problems have been remembered and are left out."""
    found: list[Variant] = []
    for variant in asked.objects("variants", Variant, MOST_VARIANTS, least=LEAST_VARIANTS):
        variant.need("id", "label", "config")
        variant_id, label = variant.line("id", LONGEST_VARIANT_ID), variant.line("label", LONGEST_LABEL)
        config = variant.mapping("config")
        if parameter and not variant.is_wrong("config"):
            _look_into(variant, config, parameter)
        if any(other.id == variant_id for other in found):
            variant.problem("id", "is another variant's already")
        if variant_id and label:
            found.append(Variant(id=variant_id, label=label, config=cast("dict[str, Json]", config)))
    return tuple(found)


def _look_into(variant: Asked, config: dict[str, object], parameter: str) -> None:
    """Remember what is wrong with a variant's config."""
    raw = _kept(config)
    if raw is None:
        variant.problem("config", "holds what cannot be kept as JSON")
    elif len(raw) > LARGEST_CONFIG:
        variant.problem("config", f"is {len(raw):,} bytes of JSON; {LARGEST_CONFIG:,} are the most")
    elif parameter not in config:
        right = f'{{"{parameter}": ...}}'
        variant.problem("config", f"takes the value under the parameter's own name: {right}")
    elif wrong := wrong_with(parameter, config[parameter]):
        variant.problem(f"config.{parameter}", wrong)


def _kept(config: dict[str, object]) -> bytes | None:
    """`config` as JSON; None where it would not come back as it is, or a database would not take it."""
    try:
        raw = msgspec.json.encode(config)
        return raw if msgspec.json.decode(raw) == config and b"\\u0000" not in raw else None
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return None
