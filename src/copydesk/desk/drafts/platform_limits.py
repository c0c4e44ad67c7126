"""The platforms whose limits apply to a draft."""

from collections.abc import Iterable

from copydesk.drafting.writer import limiting_platforms
from copydesk.model.draft import Format
from copydesk.model.platform import PlatformInfo
from copydesk.model.voice import Voice
from copydesk.posting.registry import DEFAULT_PLATFORMS, get_platforms


def platforms_of_draft(format: Format, voice: Voice, targets: Iterable[str] = ()) -> tuple[PlatformInfo, ...]:
    """Return the platforms whose limits a draft for `targets` has to keep; without targets the default ones."""
    return limiting_platforms(format, voice, get_platforms(targets), get_platforms(DEFAULT_PLATFORMS))
