"""The state of the voice form, and the request that it makes to the desk. Pure."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import msgspec

from copydesk.model.draft import Format
from copydesk.model.serialization import to_json_value
from copydesk.model.voice import Emoji, Link, Voice
from copydesk.text import clean, clean_lines

NUMBERS = ("maxLength", "maxParts", "targetWords", "hashtags")
SETTINGS = (*NUMBERS, "emoji", "link", "instructions")
EXAMPLE_SEPARATOR = "\n---\n"
# Three or more hyphens alone on a line.
_SEPARATOR_LINE = re.compile(r"(?:^|\n)[^\S\n]*-{3,}[^\S\n]*(?=\n|\Z)")

FormatSettings = Mapping[str, str]
"""The settings of one format by name; an empty text means the default."""


class VoiceFields(NamedTuple):
    """The values of the form fields."""

    style: str
    avoid: str
    """One word or phrase per line."""
    examples: str
    """Posts separated by lines of hyphens."""
    formats: Mapping[Format, FormatSettings]


class VoiceSession(NamedTuple):
    """The voice to edit, and the callbacks that autosave the form."""

    voice: Voice
    save: Callable[[VoiceFields], Awaitable[None]]
    """Autosaves the form; raises OSError."""
    discard: Callable[[], Awaitable[None]]
    """Deletes the autosaved form."""
    restored: VoiceFields | None = None
    """The autosaved form of an earlier session."""
    notice: str = ""


def dump_fields(fields: VoiceFields) -> str:
    """Encode the form as stored in its autosave file."""
    return msgspec.json.encode(fields).decode()


def parse_fields(text: str) -> VoiceFields | None:
    """Decode an autosave file into values that are safe to display; None for a file in another format."""
    try:
        entered = msgspec.json.decode(text, type=VoiceFields)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return VoiceFields(
        style=clean_lines(entered.style),
        avoid=clean_lines(entered.avoid),
        examples=clean_lines(entered.examples),
        formats={
            draft_format: {name: _valid_setting(entered, draft_format, name) for name in SETTINGS}
            for draft_format in Format
        },
    )


def _valid_setting(entered: VoiceFields, draft_format: Format, name: str) -> str:
    """Return the value of a setting, or an empty string if it cannot be typed in the form."""
    # The file may come from another version of Copydesk, or have been edited by hand.
    value = clean(entered.formats.get(draft_format, {}).get(name, ""))
    choices = {"emoji": Emoji, "link": Link}.get(name)
    invalid = (name in NUMBERS and not (value.isascii() and value.isdigit())) or (choices and value not in set(choices))
    return "" if invalid else value


def voice_fields(voice: Voice) -> VoiceFields:
    """Return the form values of an existing voice, safe to display in the fields."""
    return VoiceFields(
        style=clean_lines(voice.style),
        avoid="\n".join(clean(phrase) for phrase in voice.avoid),
        examples=EXAMPLE_SEPARATOR.join(clean_lines(example) for example in voice.examples),
        formats={draft_format: _settings(voice, draft_format) for draft_format in Format},
    )


def build_voice_update(initial: VoiceFields, fields: VoiceFields) -> dict[str, object]:
    """Return the update request as JSON values; it contains only fields that were edited."""
    request: dict[str, object] = {}
    # Compare with the initial form, not with the voice: cleaning a text for display is not an edit.
    if fields.style.strip() != initial.style.strip():
        request["style"] = fields.style.strip()
    if fields.avoid != initial.avoid:
        request["avoid"] = [line.strip() for line in fields.avoid.split("\n") if line.strip()]
    if fields.examples != initial.examples:
        pieces = _SEPARATOR_LINE.split(fields.examples)
        request["examples"] = [piece.strip() for piece in pieces if piece.strip()]
    if fields.formats != initial.formats:
        request["formats"] = {
            draft_format.value: _non_empty(settings) for draft_format, settings in fields.formats.items()
        }
    return request


def _settings(voice: Voice, draft_format: Format) -> FormatSettings:
    wire = to_json_value(voice.format_settings(draft_format))
    assert isinstance(wire, Mapping)
    return {name: clean(str(wire[name])) if name in wire else "" for name in SETTINGS}


def _non_empty(settings: FormatSettings) -> dict[str, object]:
    return {name: int(value) if name in NUMBERS else value.strip() for name, value in settings.items() if value.strip()}
