"""Validate new experiments and changes to them."""

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from copydesk.errors import ConflictError, FieldError, InvalidError
from copydesk.experiments.treatment import parameter_problem
from copydesk.model.experiment import (
    MAX_LABEL_LENGTH,
    MAX_NAME_LENGTH,
    MAX_PARAMETER_LENGTH,
    MAX_PLANNED_POSTS,
    MAX_REASON_LENGTH,
    MAX_VARIANT_ID_LENGTH,
    MAX_VARIANTS,
    MIN_POSTS,
    MIN_VARIANTS,
    ChangeExperiment,
    ExperimentAction,
    ExperimentStatus,
    Metric,
    NewExperiment,
    Variant,
)
from copydesk.model.serialization import Json
from copydesk.model.validation import FieldReader, as_whole_number

TRANSITIONS = {
    ExperimentAction.CONCLUDE: (ExperimentStatus.ACTIVE, ExperimentStatus.CONCLUDED),
    ExperimentAction.ARCHIVE: (ExperimentStatus.CONCLUDED, ExperimentStatus.ARCHIVED),
}
"""Action -> (required status, next status)."""
_STATUS_HINTS = {
    ExperimentStatus.ACTIVE: "Conclude it first.",
    ExperimentStatus.CONCLUDED: "It can be archived.",
    ExperimentStatus.ARCHIVED: "It is archived for good.",
}

MAX_CONFIG_SIZE = 10_000
"""Bytes of JSON."""


def status_after_change(
    change: ChangeExperiment, status: ExperimentStatus, variants: Sequence[Variant]
) -> ExperimentStatus:
    """Return the status after a change.

    Raise ConflictError if the action is not allowed in `status`, InvalidError if the winner is not one of the variants.
    """
    required, next_status = TRANSITIONS[change.action]
    if status is not required:
        allowed = [action for action, (origin, _) in TRANSITIONS.items() if origin is status]
        message = f"Cannot {change.action} an experiment that is {status}."
        raise ConflictError(message, hint=_STATUS_HINTS[status], current_status=status, allowed=allowed)
    ids = [variant.id for variant in variants]
    if change.winner is not None and change.winner not in ids:
        raise InvalidError(FieldError("winner", f"takes one of {', '.join(ids)}"))
    return next_status


def validate_experiment(request: NewExperiment | Mapping[str, object]) -> NewExperiment:
    """Return the request with texts trimmed and limits checked. Raise InvalidError with every invalid field."""
    reader = FieldReader(NewExperiment, request)
    reader.require("name", "parameter", "variants")
    name, parameter = reader.line("name", MAX_NAME_LENGTH), reader.line("parameter", MAX_PARAMETER_LENGTH)
    variants, aa_test = _variants(reader, parameter), reader.flag("aaTest")
    metric = reader.choice("metric", Metric)
    posts = reader.number("postsPerVariant", MIN_POSTS, MAX_PLANNED_POSTS)
    reader.raise_if_invalid()
    assert name is not None  # raise_if_invalid has raised otherwise
    assert parameter is not None
    _check_values(reader, [variant.config[parameter] for variant in variants], aa_test=aa_test)
    reader.raise_if_invalid()
    return NewExperiment(
        name=name,
        parameter=parameter,
        variants=variants,
        metric=metric or Metric.ACCEPTANCE,
        posts_per_variant=posts,
        aa_test=aa_test,
    )


def validate_experiment_change(request: ChangeExperiment | Mapping[str, object]) -> ChangeExperiment:
    """Return the validated change. Only concluding takes more than the action.

    Raise InvalidError with every invalid field.
    """
    reader = FieldReader(ChangeExperiment, request)
    reader.require("action")
    action, winner = reader.choice("action", ExperimentAction), reader.text("winner", MAX_VARIANT_ID_LENGTH)
    reason, apply_to_voice = reader.line("reason", MAX_REASON_LENGTH), reader.flag("applyToVoice")
    if action is ExperimentAction.ARCHIVE:
        for name, given in (("winner", winner), ("reason", reason), ("applyToVoice", apply_to_voice)):
            if given:
                reader.add_problem(name, "is only allowed with conclude")
    elif apply_to_voice and winner is None:
        reader.add_problem("applyToVoice", "needs a winner")
    reader.raise_if_invalid()
    assert action is not None  # raise_if_invalid has raised otherwise
    return ChangeExperiment(action=action, winner=winner, reason=reason, apply_to_voice=apply_to_voice)


def _variants(reader: FieldReader, parameter: str | None) -> tuple[Variant, ...]:
    """Return the valid variants. Problems of the others are recorded in `reader`."""
    variants: list[Variant] = []
    for fields in reader.objects("variants", Variant, MAX_VARIANTS, min_count=MIN_VARIANTS):
        fields.require("id", "label", "config")
        variant_id, label = fields.line("id", MAX_VARIANT_ID_LENGTH), fields.line("label", MAX_LABEL_LENGTH)
        config = fields.mapping("config")
        if parameter and not fields.has_problem("config"):
            _check_config(fields, config, parameter)
        # Assignments are stored by the variant's id, so two of the same id could not be told apart afterwards.
        if any(other.id == variant_id for other in variants):
            fields.add_problem("id", "is already used by another variant")
        if variant_id and label:
            variants.append(Variant(id=variant_id, label=label, config=cast("dict[str, Json]", config)))
    return tuple(variants)


def _check_values(reader: FieldReader, values: Sequence[object], *, aa_test: bool) -> None:
    """Record variants with the same value, or with different ones in an A/A test."""
    keys = [_comparable(value) for value in values]
    if aa_test and len(set(keys)) > 1:
        reader.add_problem("variants", "have different values; those of an A/A test have the same")
    elif not aa_test and len(set(keys)) < len(keys):
        reader.add_problem(
            "variants", "have the same value; only an A/A test (--aa, aaTest) compares a value with itself"
        )


def _comparable(value: object) -> bytes:
    """Return a key that is the same for values that no writer tells apart."""
    value = as_whole_number(value)
    if isinstance(value, str):
        # "Question" and "question " give the same drafts; comparing them would be an A/A test without anybody noticing.
        value = " ".join(value.split()).casefold()
    return msgspec.json.encode(value, order="deterministic")


def _check_config(reader: FieldReader, config: dict[str, object], parameter: str) -> None:
    """Record what is invalid about a variant's config."""
    encoded = _encode_config(config)
    if encoded is None:
        reader.add_problem("config", "cannot be stored as JSON")
    elif len(encoded) > MAX_CONFIG_SIZE:
        reader.add_problem("config", f"is {len(encoded):,} bytes of JSON; the limit is {MAX_CONFIG_SIZE:,}")
    elif parameter not in config:
        example = f'{{"{parameter}": ...}}'
        reader.add_problem("config", f"takes the value under the parameter's own name: {example}")
    elif problem := parameter_problem(parameter, config[parameter]):
        reader.add_problem(f"config.{parameter}", problem)


def _encode_config(config: dict[str, object]) -> bytes | None:
    """Return `config` as JSON, or None if it would not survive a round trip or a database would reject it.

    PostgreSQL's jsonb cannot store U+0000.
    """
    try:
        encoded = msgspec.json.encode(config)
        return encoded if msgspec.json.decode(encoded) == config and b"\\u0000" not in encoded else None
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return None
