"""Voice profiles: how the user writes."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from copydesk.errors import FieldError
from copydesk.model.draft import Checks, Format
from copydesk.model.serialization import Struct
from copydesk.model.validation import CONTROL_EXCEPT_BREAKS, FieldReader, wire_fields
from copydesk.model.writer import OFFLINE

MAX_STYLE_LENGTH = MAX_EXAMPLE_LENGTH = MAX_INSTRUCTIONS_LENGTH = 5_000
MAX_AVOIDED, MAX_AVOIDED_LENGTH = 200, 100
MAX_EXAMPLES = 50
MAX_HASHTAGS, MAX_HASHTAG_LENGTH = 100, 50
MAX_FORMAT_LENGTH, MAX_TARGET_WORDS = 50_000, 20_000


class Emoji(StrEnum):
    """Amount of emoji in drafts."""

    NEVER = "never"
    SPARING = "sparing"
    FREE = "free"


class Link(StrEnum):
    """Inclusion of the item's link in drafts."""

    ALWAYS = "always"
    NEVER = "never"
    AUTO = "auto"


class FormatVoice(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Voice settings of one format; None uses the format's default."""

    max_length: Annotated[int, Meta(ge=40, extra_json_schema={"maximum": MAX_FORMAT_LENGTH})] | None = None
    """Graphemes; per part for a THREAD."""
    max_parts: Annotated[int, Meta(ge=2, le=25)] | None = None
    """Posts of a THREAD."""
    target_words: Annotated[int, Meta(ge=50, extra_json_schema={"maximum": MAX_TARGET_WORDS})] | None = None
    """Words of a BLOG."""
    hashtags: Annotated[int, Meta(ge=0, le=5)] | None = None
    emoji: Emoji | None = None
    link: Link | None = None
    instructions: Annotated[str, Meta(extra_json_schema={"maxLength": MAX_INSTRUCTIONS_LENGTH})] | None = None


class Voice(Struct, frozen=True):
    """The part of a voice profile that a writer needs."""

    style: str = ""
    avoid: tuple[str, ...] = ()
    """Words and phrases that must not appear in drafts."""
    examples: tuple[str, ...] = ()
    """Posts written by the user."""
    formats: dict[Format, FormatVoice] = {}
    hashtag_list: tuple[str, ...] = ()
    """The user's own hashtags, used where an item is about them."""

    def format_settings(self, format: Format) -> FormatVoice:
        """Return the settings of one format."""
        return self.formats.get(format, FormatVoice())


class VoiceProfile(Voice, frozen=True, kw_only=True):
    """The voice profile as the interface returns it."""

    id: str
    created_at: datetime
    updated_at: datetime


class VoicePreview(Struct, frozen=True):
    """A preview: a draft of an item written with a voice that is not saved yet."""

    title: str
    """The item's title."""
    item_id: str
    writer: str
    text: str
    checks: Checks
    tags: tuple[str, ...] = ()
    """The item's tags, from which hashtags are built."""


class VoiceComparison(Struct, frozen=True):
    """A draft of an item with the voice as it is, and as it would be."""

    title: str
    """The item's title."""
    item_id: str
    before: str | None
    """Null if the writer declines the item."""
    after: str | None
    writer: str = OFFLINE
    """The model that wrote them, or `offline`."""


class ExampleSuggestion(Struct, frozen=True):
    """A text that the user edited and approved: an example of their voice, if they want it to be one."""

    draft_id: str
    format: Format
    text: str


class ImportedPosts(Struct, frozen=True):
    """The result of an import."""

    found: int
    """Posts in the file that can be examples."""
    added: int
    """Those that became examples; the others were there already, or are too many."""
    examples: tuple[str, ...]
    """All examples of the voice profile."""


class OwnPosts(Struct, frozen=True):
    """Posts of a connected account that can be examples."""

    posts: tuple[str, ...]
    """Newest first."""


class ImportPosts(Struct, frozen=True, forbid_unknown_fields=True):
    """Posts that the user wrote elsewhere."""

    content: Annotated[str, Meta(min_length=1)]
    """A file: posts separated by lines of hyphens, a JSON list, or an archive of Mastodon, X or Bluesky."""


class ChangeVoice(Struct, frozen=True, forbid_unknown_fields=True):
    """Replacements for fields of a voice profile; None leaves a field unchanged."""

    style: Annotated[str, Meta(max_length=MAX_STYLE_LENGTH)] | None = None
    avoid: (
        Annotated[
            tuple[Annotated[str, Meta(min_length=1, max_length=MAX_AVOIDED_LENGTH, pattern=r"\S")], ...],
            Meta(max_length=MAX_AVOIDED),
        ]
        | None
    ) = None
    """Words and phrases that must not appear in drafts."""
    examples: (
        Annotated[
            tuple[Annotated[str, Meta(min_length=1, max_length=MAX_EXAMPLE_LENGTH, pattern=r"\S")], ...],
            Meta(max_length=MAX_EXAMPLES),
        ]
        | None
    ) = None
    """Posts written by the user."""
    formats: dict[Format, FormatVoice] | None = None
    hashtag_list: (
        Annotated[
            tuple[Annotated[str, Meta(min_length=1, max_length=MAX_HASHTAG_LENGTH, pattern=r"\S")], ...],
            Meta(max_length=MAX_HASHTAGS),
        ]
        | None
    ) = None
    """The user's own hashtags, with or without `#`."""


def validate_voice_change(request: ChangeVoice | Mapping[str, object]) -> ChangeVoice:
    """Return the validated change. Raise InvalidError with every invalid field, such as `formats.SHORT.hashtags`.

    A field replaces the whole previous value; null is the same as not given. Empty values clear: "", [], {}.
    """
    reader = FieldReader(ChangeVoice, request)
    avoid = reader.texts("avoid", MAX_AVOIDED, MAX_AVOIDED_LENGTH)
    examples = reader.texts("examples", MAX_EXAMPLES, MAX_EXAMPLE_LENGTH, forbidden=CONTROL_EXCEPT_BREAKS)
    hashtags = reader.texts("hashtagList", MAX_HASHTAGS, MAX_HASHTAG_LENGTH)
    formats = {
        name: _read_format(fields) for name, fields in reader.objects_by_choice("formats", Format, FormatVoice).items()
    }
    change = ChangeVoice(
        style=reader.lines("style", MAX_STYLE_LENGTH),
        # An empty list clears the field, so absence has to be told apart from emptiness.
        avoid=avoid if reader.has("avoid") else None,
        examples=examples if reader.has("examples") else None,
        formats=formats if reader.has("formats") else None,
        hashtag_list=hashtags if reader.has("hashtagList") else None,
    )
    reader.raise_if_invalid()
    return change


def setting_problem(name: str, value: object) -> str:
    """Return why `value` is invalid for a format's setting, naming valid values, or "" if it is valid or null."""
    problems: list[FieldError] = []
    _read_format(FieldReader(FormatVoice, {name: value}, problems=problems))
    return problems[0].message if problems else ""


def merge(voice: Voice, formats: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of `voice` per format, updated by `formats`, as JSON. A null value removes a setting."""
    current: dict[str, dict[str, object]] = msgspec.to_builtins(voice.formats)
    # Not validated here: the caller passes the result to `validate_voice_change`.
    return current | {
        name: {**current.get(name, {}), **settings} if isinstance(settings, Mapping) else settings
        for name, settings in ((name, _given_settings(settings)) for name, settings in formats.items())
    }


def _given_settings(settings: object) -> object:
    """Return the settings of a struct that were given; a struct cannot tell null from not given."""
    if not isinstance(settings, FormatVoice):
        return settings
    return {name: value for name, value in wire_fields(settings).items() if value is not None}


def _read_format(reader: FieldReader) -> FormatVoice:
    return FormatVoice(
        max_length=reader.number("maxLength", 40, MAX_FORMAT_LENGTH),
        max_parts=reader.number("maxParts", 2, 25),
        target_words=reader.number("targetWords", 50, MAX_TARGET_WORDS),
        hashtags=reader.number("hashtags", 0, 5),
        emoji=reader.choice("emoji", Emoji),
        link=reader.choice("link", Link),
        instructions=reader.lines("instructions", MAX_INSTRUCTIONS_LENGTH) or None,
    )
