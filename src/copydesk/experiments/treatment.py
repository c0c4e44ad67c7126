"""What a variant changes about a draft: the value of an experiment's parameter becomes part of the voice."""

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from copydesk.model.draft import Format
from copydesk.model.voice import FormatVoice, Voice, wrong_with_setting

SETTINGS = ("hashtags", "emoji", "link")
"""Parameters that are settings of the voice by the same name, with the same values."""
LEAST_LENGTH, MOST_LENGTH = 50, 50_000
"""What a `length` may be: graphemes of a post, words of a BLOG."""


class Treated(NamedTuple):
    """A voice with a variant's value in it.

    `followed` says whether the offline writer keeps to it. What it cannot follow may still stand in the voice, for
    writers that read style and instructions; what is in no voice at all (hook, cta, temperature and the like) has to
    be handed to a writer by name.
    """

    voice: Voice
    followed: bool


def voice_with(voice: Voice, format: Format, parameter: str, value: object) -> Treated:
    """`voice` as it is for one draft of a variant; null leaves it as it is, which is a variant like another."""
    if value is None:
        return Treated(voice, followed=True)
    if wrong_with(parameter, value):
        return Treated(voice, followed=False)
    if parameter in SETTINGS:
        return Treated(_set(voice, format, parameter, value), followed=True)
    if parameter == "length" and not isinstance(value, str):
        name = "targetWords" if format is Format.BLOG else "maxLength"
        return Treated(_set(voice, format, name, value), followed=True)
    if isinstance(value, str):
        return Treated(_told(voice, format, parameter, value), followed=False)
    return Treated(voice, followed=False)


def wrong_with(parameter: str, value: object) -> str:
    """Why `value` can be no value of `parameter`; empty where it can. Only the voice's own settings have rules."""
    if parameter in SETTINGS:
        return wrong_with_setting(parameter, value)
    if parameter == "length" and not isinstance(value, str) and value is not None:
        fits = type(value) is int and LEAST_LENGTH <= value <= MOST_LENGTH
        return "" if fits else f"takes a whole number of {LEAST_LENGTH} to {MOST_LENGTH:,}, or words"
    return ""


def _told(voice: Voice, format: Format, parameter: str, value: str) -> Voice:
    """`voice` with something that only a writer that understands words can do."""
    if parameter == "style":
        return replace(voice, style=value)
    if parameter in {"tone", "length"}:
        told = f"{parameter.capitalize()}: {value}"
        return replace(voice, style=_joined(voice.style, told))
    if parameter == "instructions":
        return _set(voice, format, "instructions", _joined(voice.of(format).instructions or "", value))
    return voice


def _set(voice: Voice, format: Format, name: str, value: object) -> Voice:
    """`voice` with another setting of one format, both as JSON has them."""
    settings = msgspec.to_builtins(voice.of(format)) | {name: value}
    return replace(voice, formats=voice.formats | {format: msgspec.convert(settings, FormatVoice)})


def _joined(before: str, told: str) -> str:
    return f"{before}\n{told}" if before.strip() else told
