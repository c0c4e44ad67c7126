"""The state of the voice form, and the request that it makes to the desk. Pure."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import msgspec

from copydesk.model.draft import Format
from copydesk.model.voice import Emoji, Link, Voice
from copydesk.model.wire import to_wire
from copydesk.text import clean, clean_lines

NUMBERS = ("maxLength", "maxParts", "targetWords", "hashtags")
CALLED = {"maxLength": "characters", "maxParts": "posts", "targetWords": "words"}
"""Labels of settings whose label differs from their name."""
SETTINGS = (*NUMBERS, "emoji", "link", "instructions")
BETWEEN_EXAMPLES = "\n---\n"
# Three or more hyphens alone on a line.
_SEPARATOR_LINE = re.compile(r"(?:^|\n)[^\S\n]*-{3,}[^\S\n]*(?=\n|\Z)")

Settings = Mapping[str, str]
"""The settings of one format by name; an empty text means the default."""


class VoiceEntered(NamedTuple):
    """The values of the form fields."""

    style: str
    avoid: str
    """One word or phrase per line."""
    examples: str
    """Posts separated by lines of hyphens."""
    formats: Mapping[Format, Settings]


class ToVoice(NamedTuple):
    """The voice to edit, and the callbacks that autosave the form."""

    voice: Voice
    keep: Callable[[VoiceEntered], Awaitable[None]]
    """Autosaves the form; raises OSError."""
    forget: Callable[[], Awaitable[None]]
    """Deletes the autosaved form."""
    typed: VoiceEntered | None = None
    """The autosaved form of an earlier session."""
    notice: str = ""


def kept(entered: VoiceEntered) -> str:
    """Encode the form as stored in its autosave file."""
    return msgspec.json.encode(entered).decode()


def read(text: str) -> VoiceEntered | None:
    """Decode an autosave file into values that are safe to display; None for a file in another format."""
    try:
        entered = msgspec.json.decode(text, type=VoiceEntered)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return VoiceEntered(
        style=clean_lines(entered.style),
        avoid=clean_lines(entered.avoid),
        examples=clean_lines(entered.examples),
        formats={
            draft_format: {name: _valid_setting(entered, draft_format, name) for name in SETTINGS}
            for draft_format in Format
        },
    )


def _valid_setting(entered: VoiceEntered, draft_format: Format, name: str) -> str:
    """Return the value of a setting, or an empty string if it cannot be typed in the form."""
    # The file may come from another version of Copydesk, or have been edited by hand.
    value = clean(entered.formats.get(draft_format, {}).get(name, ""))
    choices = {"emoji": Emoji, "link": Link}.get(name)
    invalid = (name in NUMBERS and not (value.isascii() and value.isdigit())) or (choices and value not in set(choices))
    return "" if invalid else value


def voice_entered(voice: Voice) -> VoiceEntered:
    """Return the form values of an existing voice, safe to display in the fields."""
    return VoiceEntered(
        style=clean_lines(voice.style),
        avoid="\n".join(clean(phrase) for phrase in voice.avoid),
        examples=BETWEEN_EXAMPLES.join(clean_lines(example) for example in voice.examples),
        formats={draft_format: _settings(voice, draft_format) for draft_format in Format},
    )


def voice_changes(begun: VoiceEntered, entered: VoiceEntered) -> dict[str, object]:
    """Return the update request as JSON values; it contains only fields that were edited."""
    request: dict[str, object] = {}
    # Compare with the initial form, not with the voice: cleaning a text for display is not an edit.
    if entered.style.strip() != begun.style.strip():
        request["style"] = entered.style.strip()
    if entered.avoid != begun.avoid:
        request["avoid"] = [line.strip() for line in entered.avoid.split("\n") if line.strip()]
    if entered.examples != begun.examples:
        pieces = _SEPARATOR_LINE.split(entered.examples)
        request["examples"] = [piece.strip() for piece in pieces if piece.strip()]
    if entered.formats != begun.formats:
        request["formats"] = {
            draft_format.value: _non_empty(settings) for draft_format, settings in entered.formats.items()
        }
    return request


def _settings(voice: Voice, draft_format: Format) -> Settings:
    wire = to_wire(voice.of(draft_format))
    assert isinstance(wire, Mapping)
    return {name: clean(str(wire[name])) if name in wire else "" for name in SETTINGS}


def _non_empty(settings: Settings) -> dict[str, object]:
    return {name: int(value) if name in NUMBERS else value.strip() for name, value in settings.items() if value.strip()}
