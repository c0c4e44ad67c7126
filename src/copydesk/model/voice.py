"""How the user writes."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec

from copydesk.model.draft import Format
from copydesk.model.wire import Struct


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
