"""Experiments on drafting: validate them, assign and apply their variants, aggregate the results.

Variants are assigned in permuted blocks, which keeps them balanced even with few drafts. Hashing each draft
independently would leave 10 drafts of two variants unbalanced by 2.5 on average, and by 6 in 1 of 20 cases.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple, cast

import msgspec
from msgspec.structs import replace

from copydesk.errors import ConflictError, FieldError, InvalidError
from copydesk.model.draft import Format
from copydesk.model.experiment import (
    MAX_LABEL_LENGTH,
    MAX_NAME_LENGTH,
    MAX_PARAMETER_LENGTH,
    MAX_VARIANT_ID_LENGTH,
    MAX_VARIANTS,
    MIN_VARIANTS,
    ChangeExperiment,
    ExperimentAction,
    ExperimentResults,
    ExperimentStatus,
    NewExperiment,
    Variant,
    VariantResults,
)
from copydesk.model.serialization import Json, Struct
from copydesk.model.validation import FieldReader, as_whole_number
from copydesk.model.voice import FormatVoice, Voice, setting_problem


def get_stratum(format: Format, platforms: Iterable[str]) -> str:
    """Return the group of drafts within which variants are balanced: one format, for the same platforms."""
    return f"{format}:{'+'.join(sorted(set(platforms)))}"


def assign_variant(experiment_id: str, stratum: str, index: int, variant_ids: Sequence[str]) -> str:
    """Return the id of the variant of draft number `index` (from 0) of a stratum.

    Each block of `len(variant_ids)` drafts contains each variant once, in an order that cannot be predicted from other
    blocks and does not depend on the order of `variant_ids`. Allocate `index` in the transaction that creates the
    draft: two drafts with the same index would get the same variant.
    """
    block, position = divmod(index, len(variant_ids))
    return sorted(variant_ids, key=lambda variant: _rank(experiment_id, stratum, block, variant))[position]


def _rank(experiment_id: str, stratum: str, block: int, variant: str) -> bytes:
    return sha256(f"{experiment_id}\x1f{stratum}\x1f{block}\x1f{variant}".encode()).digest()


VOICE_PARAMETERS = ("hashtags", "emoji", "link")
"""Parameters that are voice settings of the same name and take the same values."""
MIN_LENGTH, MAX_LENGTH = 50, 50_000
"""Bounds of `length`: graphemes of a post, words of a BLOG."""


class VariantVoice(NamedTuple):
    """A voice with a variant applied.

    `is_followed` is True if the offline writer can follow the value. A value it cannot follow may still be part of the
    voice, for writers that read style and instructions. Parameters that no voice has (hook, cta, temperature) have to
    be passed to a writer by name.
    """

    voice: Voice
    is_followed: bool


def apply_variant(voice: Voice, format: Format, parameter: str, value: object) -> VariantVoice:
    """Return `voice` with the parameter set for one format.

    A null value leaves the voice unchanged; such a variant is valid.
    """
    value = as_whole_number(value)
    if value is None:
        return VariantVoice(voice, is_followed=True)
    if parameter_problem(parameter, value):
        return VariantVoice(voice, is_followed=False)
    if parameter in VOICE_PARAMETERS:
        return VariantVoice(_replace_setting(voice, format, parameter, value), is_followed=True)
    if parameter == "length" and not isinstance(value, str):
        name = "targetWords" if format is Format.BLOG else "maxLength"
        return VariantVoice(_replace_setting(voice, format, name, value), is_followed=True)
    if isinstance(value, str):
        return VariantVoice(_add_text(voice, format, parameter, value), is_followed=False)
    return VariantVoice(voice, is_followed=False)


def parameter_problem(parameter: str, value: object) -> str:
    """Return why `value` is invalid for `parameter`, or "" if it is valid. Only the voice's own settings have rules."""
    value = as_whole_number(value)
    if parameter in VOICE_PARAMETERS:
        return setting_problem(parameter, value)
    if parameter == "length" and not isinstance(value, str) and value is not None:
        fits = type(value) is int and MIN_LENGTH <= value <= MAX_LENGTH
        return "" if fits else f"takes a whole number from {MIN_LENGTH} to {MAX_LENGTH:,}, or text"
    return ""


def _add_text(voice: Voice, format: Format, parameter: str, value: str) -> Voice:
    """Return `voice` with a value that only a writer with language understanding can follow."""
    if parameter == "style":
        return replace(voice, style=value)
    if parameter in {"tone", "length"}:
        line = f"{parameter.capitalize()}: {value}"
        return replace(voice, style=_append_line(voice.style, line))
    if parameter == "instructions":
        return _replace_setting(
            voice, format, "instructions", _append_line(voice.format_settings(format).instructions or "", value)
        )
    return voice


def _replace_setting(voice: Voice, format: Format, name: str, value: object) -> Voice:
    """Return `voice` with one setting of one format replaced; `name` and `value` are as in JSON."""
    settings = msgspec.to_builtins(voice.format_settings(format)) | {name: value}
    return replace(voice, formats=voice.formats | {format: msgspec.convert(settings, FormatVoice)})


def _append_line(existing: str, line: str) -> str:
    return f"{existing}\n{line}" if existing.strip() else line


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


MAX_CONFIG_SIZE = 10_000
"""Bytes of JSON."""


def validate_experiment(request: NewExperiment | Mapping[str, object]) -> NewExperiment:
    """Return the request with texts trimmed and limits checked. Raise InvalidError with every invalid field."""
    reader = FieldReader(NewExperiment, request)
    reader.require("name", "parameter", "variants")
    name, parameter = reader.line("name", MAX_NAME_LENGTH), reader.line("parameter", MAX_PARAMETER_LENGTH)
    variants = _variants(reader, parameter)
    reader.raise_if_invalid()
    assert name is not None  # raise_if_invalid has raised otherwise
    assert parameter is not None
    return NewExperiment(name=name, parameter=parameter, variants=variants)


def validate_experiment_change(request: ChangeExperiment | Mapping[str, object]) -> ChangeExperiment:
    """Return the validated change; only concluding takes a winner. Raise InvalidError with every invalid field."""
    reader = FieldReader(ChangeExperiment, request)
    reader.require("action")
    action, winner = reader.choice("action", ExperimentAction), reader.text("winner", MAX_VARIANT_ID_LENGTH)
    if action is ExperimentAction.ARCHIVE and reader.has("winner"):
        reader.add_problem("winner", "is only allowed with conclude")
    reader.raise_if_invalid()
    assert action is not None  # raise_if_invalid has raised otherwise
    return ChangeExperiment(action=action, winner=winner)


def _variants(reader: FieldReader, parameter: str | None) -> tuple[Variant, ...]:
    """Return the valid variants. Problems of the others are recorded in `reader`."""
    variants: list[Variant] = []
    for fields in reader.objects("variants", Variant, MAX_VARIANTS, min_count=MIN_VARIANTS):
        fields.require("id", "label", "config")
        variant_id, label = fields.line("id", MAX_VARIANT_ID_LENGTH), fields.line("label", MAX_LABEL_LENGTH)
        config = fields.mapping("config")
        if parameter and not fields.has_problem("config"):
            _check_config(fields, config, parameter)
        if any(other.id == variant_id for other in variants):
            fields.add_problem("id", "is already used by another variant")
        if variant_id and label:
            variants.append(Variant(id=variant_id, label=label, config=cast("dict[str, Json]", config)))
    return tuple(variants)


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


class VariantCounts(Struct, frozen=True):
    """Counts of one variant."""

    assigned: int = 0
    drafted: int = 0
    """Assigned drafts that have a text."""
    accepted: int = 0
    rejected: int = 0
    mean_edit_ratio: float | None = None
    published: int = 0
    """Live on at least one platform."""
    measured: int = 0
    """Published, with metrics."""
    interactions: int = 0
    """Sum over the measured ones."""
    impressions: int | None = None
    """Sum over the measured ones whose platform reports impressions; None if none does."""
    interactions_with_impressions: int = 0
    """Interactions of the posts with impressions. Only these may enter a rate."""


def build_results(
    parameter: str,
    variants: Sequence[Variant],
    counts: Mapping[str, VariantCounts],
    *,
    now: datetime,
    winner: str | None = None,
) -> ExperimentResults:
    """Return the results, variants in their given order. A variant missing from `counts` has zero of everything."""
    arms = [
        _arm(variant, counts.get(variant.id, VariantCounts()), first=not index)
        for index, variant in enumerate(variants)
    ]
    return ExperimentResults(parameter=parameter, data_as_of=now, arms=tuple(arms), winner=winner)


def _arm(variant: Variant, counts: VariantCounts, *, first: bool) -> VariantResults:
    return VariantResults(
        id=variant.id,
        name=variant.label,
        is_control=first,
        assigned=counts.assigned,
        drafted=counts.drafted,
        accepted=counts.accepted,
        rejected=counts.rejected,
        acceptance_rate=_rate(counts.accepted, counts.accepted + counts.rejected),
        mean_edit_ratio=counts.mean_edit_ratio,
        published=counts.published,
        measured=counts.measured,
        impressions=counts.impressions,
        interactions=counts.interactions,
        rate_pooled=_rate(counts.interactions_with_impressions, counts.impressions),
        interactions_per_post=_rate(counts.interactions, counts.measured),
    )


def _rate(part: int, whole: int | None) -> float | None:
    return part / whole if whole else None
