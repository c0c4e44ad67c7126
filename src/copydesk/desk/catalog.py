"""The source types that Copydesk reads and the platforms it posts to, for front ends: values that need no open desk.

Importing this is cheap, because the console does it before its first paint.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from copydesk.ingest.registry import DEFAULT_TYPE, SOURCE_TYPES, get_source_type, guess_source_type
from copydesk.posting.registry import PLATFORMS, platform_label

if TYPE_CHECKING:
    from copydesk.model.delivery import ConnectedAccount

__all__ = [
    "DEFAULT_TYPE",
    "PLATFORMS",
    "SOURCE_TYPES",
    "get_source_type",
    "guess_source_type",
    "known_platforms",
    "normalize_platform",
    "platform_label",
]


def known_platforms(accounts: "Iterable[ConnectedAccount]") -> list[str]:
    """Return the platforms that a draft may name, given the connected accounts."""
    # An account may be on a platform of a plug-in that is missing today, or on that of the sample desk.
    return list(dict.fromkeys([*PLATFORMS, *(account.details.platform for account in accounts)]))


def normalize_platform(name: str, known: Sequence[str]) -> str | None:
    """Return the name of a platform or account with the platform as it is stored; None if that is unknown."""
    platform, separator, account = name.strip().partition(":")
    return f"{platform.lower()}{separator}{account}" if platform.lower() in known else None
