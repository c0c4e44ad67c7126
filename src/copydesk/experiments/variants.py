"""Assign variants to drafts, and apply a variant to a draft's voice.

Variants are assigned in permuted blocks, which keeps them balanced even with few drafts. Hashing each draft
independently would leave 10 drafts of two variants unbalanced by 2.5 on average, and by 6 in 1 of 20 cases.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from copydesk.model.draft import Format
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
