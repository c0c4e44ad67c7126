"""How the user writes."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec

from copydesk.errors import FieldError
from copydesk.model.asked import CONTROL_BUT_BREAKS, Asked
from copydesk.model.draft import Checks, Format
from copydesk.model.wire import Struct

LONGEST_STYLE = LONGEST_EXAMPLE = LONGEST_INSTRUCTIONS = 5_000
MOST_AVOIDED, LONGEST_AVOIDED = 200, 100
MOST_EXAMPLES = 50
LARGEST_LENGTH, LARGEST_WORDS = 50_000, 20_000


class Emoji(StrEnum):
    """How free a draft may be with emoji."""

    NEVER = "never"
    SPARING = "sparing"
    FREE = "free"


class Link(StrEnum):
    """Whether a draft carries the item's link."""

    ALWAYS = "always"
    NEVER = "never"
    AUTO = "auto"


class FormatVoice(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one format looks like; None leaves it to the format's own default."""

    max_length: Annotated[int, msgspec.Meta(ge=40)] | None = None
    """Graphemes; of one part, for a THREAD."""
    max_parts: Annotated[int, msgspec.Meta(ge=2, le=25)] | None = None
    target_words: Annotated[int, msgspec.Meta(ge=50)] | None = None
    hashtags: Annotated[int, msgspec.Meta(ge=0, le=5)] | None = None
    emoji: Emoji | None = None
    link: Link | None = None
    instructions: str | None = None


class Voice(Struct, frozen=True):
    """What a writer needs of a voice profile."""

    style: str = ""
    avoid: tuple[str, ...] = ()
    """Words and phrases that never appear in a draft."""
    examples: tuple[str, ...] = ()
    """Posts that the user wrote."""
    formats: dict[Format, FormatVoice] = {}

    def of(self, format: Format) -> FormatVoice:
        """The settings of one format."""
        return self.formats.get(format, FormatVoice())


class VoiceProfile(Voice, frozen=True, kw_only=True):
    """The voice profile as the interface shows it."""

    id: str
    created_at: datetime
    updated_at: datetime


class Tried(Struct, frozen=True):
    """What a writer made of an item with a voice that is not kept yet."""

    title: str
    """The item's."""
    item_id: str
    writer: str
    text: str
    checks: Checks
    tags: tuple[str, ...] = ()
    """The item's, of which hashtags are made."""


class ChangeVoice(Struct, frozen=True, forbid_unknown_fields=True):
    """What of a voice profile is to be replaced; None for what stays as it is."""

    style: str | None = None
    avoid: tuple[str, ...] | None = None
    examples: tuple[str, ...] | None = None
    formats: dict[Format, FormatVoice] | None = None


def checked_voice(given: ChangeVoice | Mapping[str, object]) -> ChangeVoice:
    """`given` with texts trimmed and the limits kept. Raises InvalidError with every field, such as
    `formats.SHORT.hashtags`.

    Each field replaces the whole of what was there; null is the same as not given. Empty ones clear: "", [], {}.
    """
    asked = Asked(ChangeVoice, given)
    avoid = asked.texts("avoid", MOST_AVOIDED, LONGEST_AVOIDED)
    examples = asked.texts("examples", MOST_EXAMPLES, LONGEST_EXAMPLE, unfit=CONTROL_BUT_BREAKS)
    formats = {kind: _format(one) for kind, one in asked.by_choice("formats", Format, FormatVoice).items()}
    change = ChangeVoice(
        style=asked.lines("style", LONGEST_STYLE),
        avoid=avoid if asked.has("avoid") else None,
        examples=examples if asked.has("examples") else None,
        formats=formats if asked.has("formats") else None,
    )
    asked.refuse()
    return change


def wrong_with_setting(name: str, value: object) -> str:
    """Why `value` can be no value of a format's setting, and what can; empty where it is one, or null."""
    problems: list[FieldError] = []
    _format(Asked(FormatVoice, {name: value}, problems=problems))
    return problems[0].message if problems else ""


def laid_over(voice: Voice, formats: Mapping[str, object]) -> dict[str, object]:
    """The settings of `voice` by format, with those of `formats` over them, as JSON; null takes a setting away."""
    before: dict[str, dict[str, object]] = msgspec.to_builtins(voice.formats)
    return before | {
        kind: {**before.get(kind, {}), **settings} if isinstance(settings, Mapping) else settings
        for kind, settings in formats.items()
    }


def _format(asked: Asked) -> FormatVoice:
    return FormatVoice(
        max_length=asked.number("maxLength", 40, LARGEST_LENGTH),
        max_parts=asked.number("maxParts", 2, 25),
        target_words=asked.number("targetWords", 50, LARGEST_WORDS),
        hashtags=asked.number("hashtags", 0, 5),
        emoji=asked.choice("emoji", Emoji),
        link=asked.choice("link", Link),
        instructions=asked.lines("instructions", LONGEST_INSTRUCTIONS) or None,
    )
