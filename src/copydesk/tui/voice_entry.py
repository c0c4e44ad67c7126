"""What stands in the form of the voice, and what the desk is asked to change by it. Pure."""

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
"""What settings are called on the screen; others by their own names."""
SETTINGS = (*NUMBERS, "emoji", "link", "instructions")
BETWEEN_EXAMPLES = "\n---\n"
_BETWEEN = re.compile(r"(?:^|\n)[^\S\n]*-{3,}[^\S\n]*(?=\n|\Z)")

Settings = Mapping[str, str]
"""The settings of a format by their names; empty for what is as it comes."""


class VoiceEntered(NamedTuple):
    """What stands in the fields."""

    style: str
    avoid: str
    """A word or phrase a line."""
    examples: str
    """Posts with a line of hyphens between them."""
    formats: Mapping[Format, Settings]


class ToVoice(NamedTuple):
    """The voice that is to be edited, and where what is typed is kept."""

    voice: Voice
    keep: Callable[[VoiceEntered], Awaitable[None]]
    """Keeps what is typed; raises OSError."""
    forget: Callable[[], Awaitable[None]]
    """What was kept is not wanted."""
    typed: VoiceEntered | None = None
    """What was typed before and not saved."""
    notice: str = ""


def kept(entered: VoiceEntered) -> str:
    """As it stands in its file."""
    return msgspec.json.encode(entered).decode()


def read(text: str) -> VoiceEntered | None:
    """What stands in a file, safe to stand in the fields; None for a file that is none of ours."""
    try:
        found = msgspec.json.decode(text, type=VoiceEntered)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return VoiceEntered(
        style=clean_lines(found.style),
        avoid=clean_lines(found.avoid),
        examples=clean_lines(found.examples),
        formats={kind: {name: _safe(found, kind, name) for name in SETTINGS} for kind in Format},
    )


def _safe(found: VoiceEntered, kind: Format, name: str) -> str:
    """A setting as it can be typed."""
    value = clean(found.formats.get(kind, {}).get(name, ""))
    choices = {"emoji": Emoji, "link": Link}.get(name)
    wrong = (name in NUMBERS and not (value.isascii() and value.isdigit())) or (choices and value not in set(choices))
    return "" if wrong else value


def voice_entered(voice: Voice) -> VoiceEntered:
    """The fields of a voice that is to be edited, safe to stand in them."""
    return VoiceEntered(
        style=clean_lines(voice.style),
        avoid="\n".join(clean(each) for each in voice.avoid),
        examples=BETWEEN_EXAMPLES.join(clean_lines(each) for each in voice.examples),
        formats={kind: _settings(voice, kind) for kind in Format},
    )


def voice_changes(begun: VoiceEntered, entered: VoiceEntered) -> dict[str, object]:
    """What the desk is asked to change, as JSON has it; what was not touched is not named."""
    asked: dict[str, object] = {}
    if entered.style.strip() != begun.style.strip():
        asked["style"] = entered.style.strip()
    if entered.avoid != begun.avoid:
        asked["avoid"] = [line.strip() for line in entered.avoid.split("\n") if line.strip()]
    if entered.examples != begun.examples:
        pieces = _BETWEEN.split(entered.examples)
        asked["examples"] = [piece.strip() for piece in pieces if piece.strip()]
    if entered.formats != begun.formats:
        asked["formats"] = {kind.value: _given(settings) for kind, settings in entered.formats.items()}
    return asked


def _settings(voice: Voice, kind: Format) -> Settings:
    wire = to_wire(voice.of(kind))
    assert isinstance(wire, Mapping)
    return {name: clean(str(wire[name])) if name in wire else "" for name in SETTINGS}


def _given(settings: Settings) -> dict[str, object]:
    return {name: int(value) if name in NUMBERS else value.strip() for name, value in settings.items() if value.strip()}
