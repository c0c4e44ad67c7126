"""Apply variants: as settings of the voice, or as words that a writer with language understanding follows."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from copydesk.model.draft import Format
from copydesk.model.experiment import VoiceSettingChange
from copydesk.model.serialization import to_json_value
from copydesk.model.validation import as_whole_number
from copydesk.model.voice import FormatVoice, Voice, setting_problem

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


def belongs_to_voice(parameter: str, value: object) -> bool:
    """Return True if the value can become a setting of the voice; null is the setting it has."""
    if value is None or parameter_problem(parameter, value):
        return value is None
    if parameter in VOICE_PARAMETERS or (parameter == "length" and not isinstance(value, str)):
        return True
    return isinstance(value, str) and parameter in {"style", "tone", "length", "instructions"}


def list_changes(before: Voice, after: Voice) -> Iterator[VoiceSettingChange]:
    """Yield the settings that differ, named as on the wire."""
    if before.style != after.style:
        yield VoiceSettingChange(setting="style", before=before.style, after=after.style)
    for kind in Format:
        old, new = before.format_settings(kind), after.format_settings(kind)
        for field in msgspec.structs.fields(FormatVoice):
            was, becomes = (to_json_value(getattr(settings, field.name)) for settings in (old, new))
            if was != becomes:
                yield VoiceSettingChange(setting=f"formats.{kind}.{field.encode_name}", before=was, after=becomes)
