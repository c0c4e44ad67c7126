"""Rules made from the reasons of rejections. Nothing makes one without the user's consent."""

from enum import StrEnum


class RuleKind(StrEnum):
    """The effect of a rule."""

    EXCLUDE = "exclude"
    """Items with the words are filtered out, as with `pipeline.exclude`."""
    AVOID = "avoid"
    """The words must not appear in drafts, as with the voice's `avoid`."""
